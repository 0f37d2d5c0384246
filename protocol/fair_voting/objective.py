"""Objectives: least disparity, with or without a floor on welfare; most welfare, with a limit or a price on disparity.

W_k(a) is the mean utility of alternative a to group k, and W(a) that to all voters (welfare). ΔW(a) is the greatest
minus the least W_k(a) (disparity); with overlapping features, the greatest disparity of any feature. All comparisons
use exact fractions, so that ties are the same on every machine.

Source: the paper's ΔW (Algorithms for Fair and Private Voting Rules), and for `welfare_constrained` its reference [7];
reading F5 for the other objectives, F6 for any number of groups, F3 for why floats would not do.
"""

import dataclasses
import math
import numbers
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import PluginError
from ..plugin_faults import blaming_function
from .features import Partition
from .pairwise import PAIRWISE

ObjectiveName: TypeAlias = Literal["parity", "constrained", "penalized", "welfare_constrained", "welfare"]

OBJECTIVES: Final = (*get_args(ObjectiveName), *PAIRWISE)
"""All built-in objectives."""

Utilities: TypeAlias = Sequence[Sequence[Fraction]]
"""W_k(a): a row for each group, a column for each alternative."""

ObjectiveFunction: TypeAlias = Callable[[Utilities, Sequence[int]], Sequence[Fraction | float]]
"""A user-defined objective, registered in the group `psephos.objectives`. It is a pure function of W_k(a), a tuple of
fractions for each group, and of the groups' sizes. It returns a number for each alternative; the greatest wins.
"""


def disparity_of(utilities: Utilities, alternative: int) -> Fraction:
    """Return ΔW of an alternative: the greatest minus the least of the groups' mean utilities.

    Examples:
        >>> utilities = [[Fraction(2), Fraction(1)], [Fraction(0), Fraction(1)]]
        >>> [int(disparity_of(utilities, place)) for place in range(2)]
        [2, 0]
    """
    of_groups = [row[alternative] for row in utilities]
    return max(of_groups) - min(of_groups)


def welfare_of(utilities: Utilities, sizes: Sequence[int], alternative: int) -> Fraction:
    """Return W of an alternative: the mean utility of all voters.

    Examples:
        >>> utilities = [[Fraction(2), Fraction(1)], [Fraction(0), Fraction(1)]]
        >>> welfare_of(utilities, (3, 1), 0)  # of the first alternative, to three voters and one
        Fraction(3, 2)
    """
    total = sum((row[alternative] * size for row, size in zip(utilities, sizes, strict=True)), Fraction(0))
    return total / sum(sizes)


def join_groups(utilities: Utilities, sizes: Sequence[int], partition: Partition, alternative: int) -> list[Fraction]:
    """Return the mean utility of an alternative to each group of a feature: that of its crossings, by their sizes."""
    return [
        sum((utilities[place][alternative] * sizes[place] for place in places), Fraction(0))
        / sum(sizes[place] for place in places)
        for places in partition
    ]


@dataclasses.dataclass(frozen=True)
class Objective:
    """The rule by which an alternative wins.

    Args:
        name: `parity`: the least ΔW (the paper's); `constrained`: the greatest W among alternatives with ΔW ≤
            `max_disparity`, or the least ΔW if there are none; `penalized`: the greatest W − `fairness_weight`·ΔW;
            `welfare_constrained`: the least ΔW among alternatives with W ≥ `welfare_share` times the greatest W. The
            parameters' `welfare`, the greatest W, is "penalized" with `fairness_weight` 0.
        max_disparity: t ≥ 0, in units of the utilities.
        fairness_weight: λ ≥ 0.
        partitions: for each feature, the session's groups in each of its groups; empty if the groups themselves are
            compared.
        welfare_share: β in (0, 1].
        least_utility: the utility of a ranking's last position, from which welfare is counted for `welfare_share`.
        function: a registered objective, for any other name; only `best_alternatives` uses it.
        is_private: whether exceptions of the function may contain private data, and so are not shown.

    Examples:
        >>> utilities = [[Fraction(2), Fraction(1)], [Fraction(0), Fraction(1)]]  # two groups, two alternatives
        >>> Objective("parity").best_alternatives(utilities, (1, 1))
        [1]
        >>> Objective("penalized", fairness_weight=Fraction(0)).best_alternatives(utilities, (1, 1))
        [0, 1]
    """

    name: str
    max_disparity: Fraction = Fraction(0)
    fairness_weight: Fraction = Fraction(1)
    partitions: tuple[Partition, ...] = ()
    welfare_share: Fraction = Fraction(1)
    least_utility: Fraction = Fraction(0)
    function: ObjectiveFunction | None = None
    is_private: bool = False

    def disparities(self, utilities: Utilities, sizes: Sequence[int]) -> list[Fraction]:
        """Return ΔW of each alternative: between the groups, or the greatest between the groups of any feature."""
        return self._exact_numbers(disparities_of, utilities, sizes)

    def best_alternatives(self, utilities: Utilities, sizes: Sequence[int]) -> list[int]:
        """Return the indices of the best alternatives, several if they tie, in order.

        Args:
            utilities: W_k(a).
            sizes: the sizes of the groups.

        Raises:
            PluginError: a registered function raises an exception, or does not return a finite number for each.
        """
        if self.function is not None:
            merits = self.merits_by_function(utilities, sizes)
        else:
            merits = self._exact_numbers(merits_of, utilities, sizes)
        most = max(merits)
        return [place for place, merit in enumerate(merits) if merit == most]

    def merits_by_function(self, utilities: Utilities, sizes: Sequence[int]) -> list[Fraction]:
        """Return the values of a registered objective, one for each alternative. See `best_alternatives`."""
        assert self.function is not None  # noqa: S101  so it is named
        plugin = f"objective {self.name!r}"
        with blaming_function(plugin, self.function, is_private=self.is_private):
            returned: object = self.function(tuple(map(tuple, utilities)), tuple(sizes))
        if isinstance(returned, np.ndarray):
            returned = returned.tolist()
        merits = list(cast("Sequence[object]", returned)) if isinstance(returned, (list, tuple)) else []
        if len(merits) != len(utilities[0]) or not all(
            isinstance(merit, numbers.Rational) or (isinstance(merit, numbers.Real) and math.isfinite(merit))
            for merit in merits
        ):
            reason = f"return {len(utilities[0])} finite numbers from it, one for each alternative"
            raise PluginError(plugin=plugin, step="its call", reason=reason)
        return [Fraction(cast("float", merit.item() if isinstance(merit, np.generic) else merit)) for merit in merits]

    def qualities(self, utilities: Utilities, sizes: Sequence[int]) -> list[Fraction]:
        """Return a quality of small sensitivity for each alternative, for the exponential mechanism.

        It is −ΔW, or W − λ·ΔW. A limit that one voter can cross would have a large sensitivity, so it is replaced by a
        price: `constrained` becomes W − λ·max(0, ΔW − t), and `welfare_constrained` −ΔW − λ·max(0, floor − W).
        """
        return self._exact_numbers(qualities_of, utilities, sizes)

    def quality_sensitivity(self, change: int, sizes: Sequence[int], group: int) -> Fraction:
        """Return the sensitivity of an alternative's quality to one voter of a group.

        W_k changes by at most d/n_k, and so does ΔW. W changes by at most d/n, in the worst case opposite to ΔW. So the
        sensitivity is d/n_k for −ΔW, and d/n + λ·d/n_k for W − λ·ΔW. A voter of the worst-off group attains it, since
        its gain raises W and lowers ΔW, if no limit hides a part of ΔW. With overlapping features, n_k is the size of
        the smallest group of any feature that the voter is in: its utility changes the mean of each such group by d
        over its size, and a maximum of disparities changes by at most the greatest of their changes. The difference
        between the floor and W changes by at most d/n with W, and β·d/n with the greatest W.

        Args:
            change: d, the greatest change of one voter's utility.
            sizes: n_k of all groups; n is their sum.
            group: k, the voter's group.
        """
        partitions = [places for partition in self.partitions for places in partition if group in places] or [(group,)]
        of_disparity = Fraction(change, min(sum(sizes[place] for place in places) for places in partitions))
        if self.name == "parity":
            return of_disparity
        of_welfare = Fraction(change, sum(sizes))
        if self.name == "welfare_constrained":
            return of_disparity + self.fairness_weight * (1 + self.welfare_share) * of_welfare
        return of_welfare + self.fairness_weight * of_disparity

    def _exact_numbers(
        self,
        numbers_of: Callable[[NDArray[Any], "Objective", NDArray[Any]], NDArray[Any]],
        utilities: Utilities,
        sizes: Sequence[int],
    ) -> list[Fraction]:
        of_groups = np.array(list(map(Fraction, sizes)), dtype=object)
        return numbers_of(np.array([utilities], dtype=object), self, of_groups)[0].tolist()


def merits_of(utilities: NDArray[Any], objective: Objective, sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the number that the objective maximizes, for each alternative.

    An alternative within the limit of `constrained` or `welfare_constrained` is ahead of all that are not.

    Args:
        utilities: W_k(a), shape (K, G, m): floats, or fractions as objects for exact results.
        objective: the objective.
        sizes: the sizes of the groups, shape (G,), of the same type.

    Returns:
        The merits, shape (K, m), of the same type.
    """
    disparities = disparities_of(utilities, objective, sizes)
    if objective.name == "parity":
        return -disparities
    welfare = welfares_of(utilities, sizes)
    if objective.name == "penalized":
        return welfare - _number(welfare, objective.fairness_weight) * disparities
    if objective.name == "welfare_constrained":
        deficits = -disparities.max(axis=1, keepdims=True) - 1
        floors = floors_of(welfare.max(axis=1, keepdims=True), objective)
        return np.where(welfare >= floors, -disparities, deficits)
    leads = welfare - welfare.min(axis=1, keepdims=True)
    return np.where(disparities <= _number(welfare, objective.max_disparity), leads, -disparities - 1)


def qualities_of(utilities: NDArray[Any], objective: Objective, sizes: NDArray[Any]) -> NDArray[Any]:
    """Return `Objective.qualities` of each alternative, shape (K, m). See `merits_of`."""
    disparities = disparities_of(utilities, objective, sizes)
    if objective.name == "parity":
        return -disparities
    welfare = welfares_of(utilities, sizes)
    weight = _number(welfare, objective.fairness_weight)
    if objective.name == "welfare_constrained":
        floors = floors_of(welfare.max(axis=1, keepdims=True), objective)
        return -disparities - weight * np.maximum(floors - welfare, 0)
    if objective.name == "constrained":
        excess = disparities - _number(welfare, objective.max_disparity)
        disparities = np.maximum(excess, 0)
    return welfare - weight * disparities


def welfares_of(utilities: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
    """Return W, shape (K, m). See `merits_of`."""
    return (utilities * (sizes / sizes.sum())[:, None]).sum(axis=1)


def disparities_of(utilities: NDArray[Any], objective: Objective, sizes: NDArray[Any]) -> NDArray[Any]:
    """Return ΔW, between groups or those of any feature, shape (K, m). See `merits_of`."""
    if not objective.partitions:
        return utilities.max(axis=1) - utilities.min(axis=1)
    ranges: list[NDArray[Any]] = []
    for partition in objective.partitions:
        # Sums by additions in a fixed order, since the rounding of a matrix product may depend on the processor.
        of_groups = [(utilities * shares[:, None]).sum(axis=1) for shares in shares_of(partition, sizes)]
        ranges.append(np.maximum.reduce(of_groups) - np.minimum.reduce(of_groups))
    return np.maximum.reduce(ranges)


def shares_of(partition: Partition, sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the share of each session's group in each group of a feature: shape (groups, G)."""
    shares = np.zeros((len(partition), len(sizes)), dtype=sizes.dtype)
    for group, places in enumerate(partition):
        columns = list(places)
        shares[group, columns] = sizes[columns] / sizes[columns].sum()
    return shares


def floors_of(greatest: NDArray[Any], objective: Objective) -> NDArray[Any]:
    """Return the floor of `welfare_constrained`: β times the greatest W, counted from the least utility.

    If noise makes all estimates smaller than the least utility, the floor is the greatest W, so that there is always a
    winner.
    """
    least, share = (_number(greatest, number) for number in (objective.least_utility, objective.welfare_share))
    return greatest - (1 - share) * np.maximum(greatest - least, 0)


def _number(like: NDArray[Any], number: Fraction | int) -> Fraction | float:
    return Fraction(number) if like.dtype == object else float(number)
