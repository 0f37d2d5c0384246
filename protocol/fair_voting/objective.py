"""What is elected: least disparity, of all or of the efficient; most welfare, within a disparity or less its price.

W_k(a) is the mean utility of alternative a to group k, W(a) that to all voters (welfare), and ΔW(a) the greatest W_k(a)
less the least (disparity). Of features that overlap, ΔW(a) is the greatest disparity between the groups of any of them.
Everything is compared as exact fractions, so that a tie is a tie on every machine.

Source: the paper's ΔW (Algorithms for Fair and Private Voting Rules), and for `welfare_constrained` its reference [7];
reading F5 for the other objectives, F6 for any number of groups, F3 for why floats would not do.
"""

import dataclasses
import math
import numbers
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias, cast, get_args

import numpy as np

from ..errors import PluginError
from ..plugin_faults import blaming_function
from .features import Partition
from .pairwise import PAIRWISE

ObjectiveName: TypeAlias = Literal["parity", "constrained", "penalized", "welfare_constrained", "welfare"]

OBJECTIVES: Final = (*get_args(ObjectiveName), *PAIRWISE)
"""All that have a name of ours."""

Utilities: TypeAlias = Sequence[Sequence[Fraction]]
"""W_k(a): a row for each group, a column for each alternative."""

ObjectiveFunction: TypeAlias = Callable[[Utilities, Sequence[int]], Sequence[Fraction | float]]
"""An objective of anybody's own, registered as `psephos.objectives`: from W_k(a), a tuple of fractions for each group,
and the groups' sizes, to a number for each alternative, of which the greatest wins. A pure function.
"""


def disparity_of(utilities: Utilities, alternative: int) -> Fraction:
    """Return ΔW of an alternative: how far apart the groups' mean utilities are."""
    of_groups = [row[alternative] for row in utilities]
    return max(of_groups) - min(of_groups)


def welfare_of(utilities: Utilities, sizes: Sequence[int], alternative: int) -> Fraction:
    """Return W of an alternative: the mean utility of all voters."""
    total = sum((row[alternative] * size for row, size in zip(utilities, sizes, strict=True)), Fraction(0))
    return total / sum(sizes)


def joined(utilities: Utilities, sizes: Sequence[int], partition: Partition, alternative: int) -> list[Fraction]:
    """Return the mean utility of an alternative to each group of a feature: that of its crossings, by their sizes."""
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
            the least ΔW where there are none; `penalized`: the most W − `fairness_weight`·ΔW; `welfare_constrained`:
            the least ΔW among those with W ≥ `welfare_share` of the greatest W, which the best itself always has. The
            most W alone, `welfare` of the parameters, is "penalized" with `fairness_weight` 0.
        max_disparity: t ≥ 0, in units of the utilities.
        fairness_weight: λ ≥ 0.
        partitions: for each feature, the groups that each of its groups is made of; none where the groups are compared
            themselves.
        welfare_share: β in (0, 1].
        least_utility: of a ranking's last place: welfare is counted from there where a share of it is asked for.
        function: what wins by a name that is none of these: anybody's own objective, which `best` alone asks.
        is_private: whether what the function raises may tell what is private, and is left out.
    """

    name: str
    max_disparity: Fraction = Fraction(0)
    fairness_weight: Fraction = Fraction(1)
    partitions: tuple[Partition, ...] = ()
    welfare_share: Fraction = Fraction(1)
    least_utility: Fraction = Fraction(0)
    function: ObjectiveFunction | None = None
    is_private: bool = False

    def disparity(self, utilities: Utilities, sizes: Sequence[int], alternative: int) -> Fraction:
        """Return ΔW of an alternative: between the groups, or the greatest between the groups of any feature."""
        if not self.partitions:
            return disparity_of(utilities, alternative)
        of_features = (joined(utilities, sizes, partition, alternative) for partition in self.partitions)
        return max(max(own) - min(own) for own in of_features)

    def best(self, utilities: Utilities, sizes: Sequence[int]) -> list[int]:
        """Return the alternatives that are best, more than one where they tie, in order; `sizes` are the groups'.

        PluginError: somebody's own function raises something, or returns what is no finite number for each.
        """
        places = range(len(utilities[0]))
        if self.function is not None:
            own = self.merits_by_function(utilities, sizes)
            return [place for place in places if own[place] == max(own)]
        floor = None
        if self.name == "welfare_constrained":
            floor = self.floor_below(max(welfare_of(utilities, sizes, place) for place in places))
        merits = [self._merit(utilities, sizes, place, floor) for place in places]
        most = max(merits)
        return [place for place, merit in enumerate(merits) if merit == most]

    def merits_by_function(self, utilities: Utilities, sizes: Sequence[int]) -> list[Fraction]:
        """Return what somebody's own function says of each alternative, as exact numbers. See `best`."""
        assert self.function is not None  # noqa: S101  so it is named
        plugin = f"objective {self.name!r}"
        with blaming_function(plugin, self.function, is_private=self.is_private):
            told: object = self.function(tuple(map(tuple, utilities)), tuple(sizes))
        if isinstance(told, np.ndarray):
            told = told.tolist()
        merits = list(cast("Sequence[object]", told)) if isinstance(told, (list, tuple)) else []
        if len(merits) != len(utilities[0]) or not all(
            isinstance(each, numbers.Rational) or (isinstance(each, numbers.Real) and math.isfinite(each))
            for each in merits
        ):
            reason = f"it must return {len(utilities[0])} finite numbers, one for each alternative"
            raise PluginError(plugin=plugin, step="its call", reason=reason)
        return [Fraction(cast("float", each.item() if isinstance(each, np.generic) else each)) for each in merits]

    def qualities(self, utilities: Utilities, sizes: Sequence[int]) -> list[Fraction]:
        """Return one number for each alternative that a single voter changes little, for the exponential mechanism.

        −ΔW, or W − λ·ΔW. A limit that one voter can cross would have a large sensitivity, so that it gets a price:
        `constrained` becomes W − λ·max(0, ΔW − t), and `welfare_constrained` −ΔW − λ·max(0, floor − W).
        """
        places = range(len(utilities[0]))
        disparities = [self.disparity(utilities, sizes, place) for place in places]
        if self.name == "parity":
            return [-disparity for disparity in disparities]
        welfares = [welfare_of(utilities, sizes, place) for place in places]
        if self.name == "welfare_constrained":
            floor = self.floor_below(max(welfares))
            lacking = [max(floor - welfare, Fraction(0)) for welfare in welfares]
            return [-own - self.fairness_weight * less for own, less in zip(disparities, lacking, strict=True)]
        if self.name == "constrained":
            disparities = [max(disparity - self.max_disparity, Fraction(0)) for disparity in disparities]
        return [own - self.fairness_weight * less for own, less in zip(welfares, disparities, strict=True)]

    def quality_sensitivity(self, change: int, sizes: Sequence[int], group: int) -> Fraction:
        """Return how far one voter of a group moves the quality of an alternative at most.

        W_k moves by d/n_k, and ΔW by no more; W moves by d/n, at worst against ΔW: d/n_k, or d/n + λ·d/n_k. A voter of
        the group that is worst off, whose gain raises W and lowers ΔW, attains it, where no limit hides a part of ΔW.
        Of features that overlap, n_k is the size of the smallest group of a feature that the voter is in: its utility
        moves the mean of each of them by d over its size, and the greatest of some disparities by no more than the one
        of them that moves most.
        What an alternative lacks to the floor moves by d/n with W, and by β·d/n with the greatest W.

        Args:
            change: d, the greatest change of one voter's utility.
            sizes: n_k of all groups; n is their sum.
            group: the voter's, k.
        """
        own = [places for partition in self.partitions for places in partition if group in places] or [(group,)]
        of_disparity = Fraction(change, min(sum(sizes[place] for place in places) for places in own))
        if self.name == "parity":
            return of_disparity
        of_welfare = Fraction(change, sum(sizes))
        if self.name == "welfare_constrained":
            return of_disparity + self.fairness_weight * (1 + self.welfare_share) * of_welfare
        return of_welfare + self.fairness_weight * of_disparity

    def floor_below(self, greatest: Fraction) -> Fraction:
        """Return the W that `welfare_constrained` asks for: β of the greatest, counted from the least utility.

        Noise may put all estimates below that; the floor is then the greatest W, so that there always is a winner.
        """
        return greatest - (1 - self.welfare_share) * max(greatest - self.least_utility, Fraction(0))

    def _merit(
        self, utilities: Utilities, sizes: Sequence[int], alternative: int, floor: Fraction | None
    ) -> tuple[Fraction, ...]:
        disparity = self.disparity(utilities, sizes, alternative)
        if self.name == "parity":
            return (-disparity,)
        welfare = welfare_of(utilities, sizes, alternative)
        if floor is not None:
            return (Fraction(welfare >= floor), -disparity)
        if self.name == "penalized":
            return (welfare - self.fairness_weight * disparity,)
        is_within = disparity <= self.max_disparity
        return (Fraction(is_within), welfare if is_within else -disparity)
