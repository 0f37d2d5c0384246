"""What is elected: least disparity, most welfare within a disparity, or welfare less a price for disparity.

W_k(a) is the mean utility of alternative a to group k, W(a) that to all voters (welfare), and ΔW(a) the greatest W_k(a)
less the least (disparity). Of features that overlap, ΔW(a) is the greatest disparity between the groups of any of them.
Everything is compared as exact fractions, so that a tie is a tie on every machine.

Source: the paper's ΔW (Algorithms for Fair and Private Voting Rules); reading F5 for the other objectives, F6 for any
number of groups, F3 for why floats would not do.
"""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from .features import Partition

__all__ = ["Objective", "ObjectiveName", "Utilities", "disparity_of", "joined", "welfare_of"]

ObjectiveName: TypeAlias = Literal["parity", "constrained", "penalized"]

Utilities: TypeAlias = Sequence[Sequence[Fraction]]
"""W_k(a): a row for each group, a column for each alternative."""


def disparity_of(utilities: Utilities, alternative: int) -> Fraction:
    """Return ΔW of an alternative: how far apart the groups' mean utilities are."""
    of_groups = [row[alternative] for row in utilities]
    return max(of_groups) - min(of_groups)


def welfare_of(utilities: Utilities, sizes: Sequence[int], alternative: int) -> Fraction:
    """Return W of an alternative: the mean utility of all voters."""
    total = sum((row[alternative] * size for row, size in zip(utilities, sizes, strict=True)), Fraction(0))
    return total / sum(sizes)


def joined(utilities: Utilities, sizes: Sequence[int], partition: Partition, alternative: int) -> list[Fraction]:
    """Return the mean utility of an alternative to each group of a feature: the mean of its crossings', by their sizes.

    Args:
        utilities: of the crossings.
        sizes: theirs.
        partition: which crossings each group has.
        alternative: whose.
    """
    return [
        sum((utilities[place][alternative] * sizes[place] for place in places), Fraction(0))
        / sum(sizes[place] for place in places)
        for places in partition
    ]


@dataclasses.dataclass(frozen=True)
class Objective:
    """What makes an alternative win.

    Args:
        name: `parity`: the least ΔW (the paper's); `constrained`: the most W among those with ΔW ≤ `max_disparity`, or
            the least ΔW where there are none; `penalized`: the most W − `fairness_weight`·ΔW.
        max_disparity: t ≥ 0, in units of the utilities.
        fairness_weight: λ ≥ 0.
        partitions: for each feature, the groups that each of its groups is made of; none where the groups are compared
            themselves.
    """

    name: ObjectiveName
    max_disparity: Fraction = Fraction(0)
    fairness_weight: Fraction = Fraction(1)
    partitions: tuple[Partition, ...] = ()

    def disparity(self, utilities: Utilities, sizes: Sequence[int], alternative: int) -> Fraction:
        """Return ΔW of an alternative: between the groups, or the greatest between the groups of any feature."""
        if not self.partitions:
            return disparity_of(utilities, alternative)
        of_features = (joined(utilities, sizes, partition, alternative) for partition in self.partitions)
        return max(max(own) - min(own) for own in of_features)

    def best(self, utilities: Utilities, sizes: Sequence[int]) -> list[int]:
        """Return the alternatives that are best, more than one where they tie, in their order.

        Args:
            utilities: of G groups and m alternatives.
            sizes: the groups', for welfare.
        """
        merits = [self._merit(utilities, sizes, place) for place in range(len(utilities[0]))]
        most = max(merits)
        return [place for place, merit in enumerate(merits) if merit == most]

    def quality(self, utilities: Utilities, sizes: Sequence[int], alternative: int) -> Fraction:
        """Return one number for an alternative that a single voter changes little, for the exponential mechanism.

        −ΔW, or W − λ·ΔW; `constrained` becomes W − λ·max(0, ΔW − t), since a limit that one voter can cross would have
        a large sensitivity.
        """
        disparity = self.disparity(utilities, sizes, alternative)
        if self.name == "parity":
            return -disparity
        if self.name == "constrained":
            disparity = max(disparity - self.max_disparity, Fraction(0))
        return welfare_of(utilities, sizes, alternative) - self.fairness_weight * disparity

    def quality_sensitivity(self, change: int, sizes: Sequence[int], group: int) -> Fraction:
        """Return how far one voter of a group moves the quality of an alternative at most.

        W_k moves by d/n_k, and ΔW by no more; W moves by d/n, at worst against ΔW: d/n_k, or d/n + λ·d/n_k. A voter of
        the group that is worst off, whose gain raises W and lowers ΔW, attains it, where no limit hides a part of ΔW.
        Of features that overlap, n_k is the size of the smallest group of a feature that the voter is in: its utility
        moves the mean of each of them by d over its size, and the greatest of some disparities by no more than the one
        of them that moves most.

        Args:
            change: d, the greatest change of one voter's utility.
            sizes: n_k of all groups; n is their sum.
            group: the voter's, k.
        """
        own = [places for partition in self.partitions for places in partition if group in places] or [(group,)]
        of_disparity = Fraction(change, min(sum(sizes[place] for place in places) for places in own))
        if self.name == "parity":
            return of_disparity
        return Fraction(change, sum(sizes)) + self.fairness_weight * of_disparity

    def _merit(self, utilities: Utilities, sizes: Sequence[int], alternative: int) -> tuple[Fraction, ...]:
        disparity = self.disparity(utilities, sizes, alternative)
        if self.name == "parity":
            return (-disparity,)
        welfare = welfare_of(utilities, sizes, alternative)
        if self.name == "penalized":
            return (welfare - self.fairness_weight * disparity,)
        is_within = disparity <= self.max_disparity
        return (Fraction(is_within), welfare if is_within else -disparity)
