"""The laws of the noise in the estimates of two alternatives, for all rankings.

Tests of a winner compare two alternatives. The contribution of a randomized report to the two depends only on the
mechanism's draws and on their positions in the voter's ranking: so there are m(m − 1) exact laws over a few outcomes,
and a sum of reports has a proven bound (`estimators.sum_tests`). Laplace noise has one law (`estimators.noise_tails`).
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..estimators.noise_tails import NoisePart, tail_of_noise
from ..estimators.sum_tests import Alike, are_nearly_normal, is_nearly_normal, tails_of_sums
from ..mechanisms import GeneralizedRandomizedResponse

_MOST_CELLS: Final = 2_000_000
"""The most cells, sums times laws times outcomes, for all groups, and for the law of one group; more take seconds."""
_MOST_LAWS: Final = 16
"""The most cached laws of Laplace noise, each of which takes a millisecond."""


class ReportLaw(NamedTuple):
    """The law of a report's contribution to the estimated utilities of two alternatives in each group.

    Args:
        values: the contribution of each outcome, shape (outcomes, groups, 2).
        channel: the probability of each outcome for each pair of positions, shape (m(m − 1), outcomes).
    """

    values: FloatArray
    channel: FloatArray


class UtilityReportSums(NamedTuple):
    """The sums of reports that are estimates of mean utilities.

    Args:
        laws: the law of the reports of each kind of voter.
        numbers: the number of reports of each kind of voter.
        sizes: the divisors of the groups' sums, shape (G,).
    """

    laws: tuple[ReportLaw, ...]
    numbers: tuple[int, ...]
    sizes: tuple[int, ...]

    def tails(self, weights: FloatArray, reach: float) -> FloatArray:
        """Return bounds on the probability that the noise of weighted sums of two alternatives' estimates is ≥ `reach`.

        Args:
            weights: the weights of each sum, shape (sums, G, 2).
            reach: the reach, ≥ 0.

        Returns:
            Bounds, shape (sums,), in [2^−20, ½].
        """
        scaled = weights / np.array(self.sizes, dtype=np.float64)[:, None]
        parts: list[Alike] = []
        cells = 0
        for law, number in zip(self.laws, self.numbers, strict=True):
            groups = law.values.any(axis=(0, 2))
            rows, places = np.unique(scaled[:, groups].reshape(len(scaled), -1), axis=0, return_inverse=True)
            cells += len(rows) * law.channel.size
            if cells > _MOST_CELLS:
                return np.full(len(weights), 0.5)
            contributions = rows @ law.values[:, groups].reshape(len(law.values), -1).T
            parts.append(Alike(contributions, law.channel, number, places.reshape(-1)))
        return tails_of_sums(parts, reach)

    @property
    def is_nearly_normal(self) -> bool:
        """Whether each group's noise is, whatever the rankings are: not of few reports of which hardly any lies."""
        pairs = list(zip(self.laws, self.numbers, strict=True))
        return all(
            are_nearly_normal([Alike(law.values[:, group, 0], law.channel, number) for law, number in pairs])
            for group in range(len(self.sizes))
        )


class LaplaceSums(NamedTuple):
    """Laplace noise in estimates of mean utilities, independent between groups and alternatives.

    Args:
        groups: the group of each part of the noise: one part for each group, or for each level of ε in it.
        scales: the scale of a draw in the group's mean utility of one alternative.
        draws: the number of draws that are added up there; may be fractional for noise shares.
        grains: the scale of a draw in steps of its grid.
    """

    groups: tuple[int, ...]
    scales: tuple[float, ...]
    draws: tuple[float, ...]
    grains: tuple[float, ...]

    @property
    def is_nearly_normal(self) -> bool:
        """Whether each group's noise is: of many draws, on a grid as fine as the scores'."""
        return is_nearly_normal(2.0, 0.0, 12.0 / min(self.draws))

    def noise_of(self, weights: FloatArray) -> list[NoisePart]:
        """Return the noise of a weighted sum of one alternative's estimates, weights of shape (G,)."""
        factors = np.abs(weights[list(self.groups)]) * np.array(self.scales)
        rows = zip(factors.tolist(), self.draws, self.grains, strict=True)
        return [NoisePart(factor, shape, factor / grain) for factor, shape, grain in rows]

    def tails(self, weights: FloatArray, reach: float) -> FloatArray:
        """Return the tail bounds of `UtilityReportSums.tails`, at most ½, for a `reach` > 0.

        This noise is symmetric and unimodal, so tails increase with the size of each part. For many sums, one with the
        largest weight at each position is a bound for all.
        """
        parts = (np.abs(weights[:, list(self.groups)]) * np.array(self.scales)[:, None]).reshape(len(weights), -1)
        kinds: list[tuple[float, float]] = [
            kind for kind in zip(self.draws, self.grains, strict=True) for _ in range(2)
        ]
        if len(set(kinds)) == 1:
            parts = np.sort(parts, axis=1)
        laws, places = np.unique(parts, axis=0, return_inverse=True)
        if len(laws) > _MOST_LAWS:
            laws, places = laws.max(axis=0)[None], np.zeros(len(weights), dtype=np.int64)
        tails = [
            tail_of_noise(
                [NoisePart(factor, shape, factor / grain) for factor, (shape, grain) in zip(law, kinds, strict=True)],
                reach,
            )
            for law in laws.tolist()
        ]
        return np.array(tails)[places]


def group_law(law: ReportLaw, group: int, groups: int) -> ReportLaw:
    """Return the law of a report of one group's sums, among those of all groups."""
    values = np.zeros((len(law.values), groups, 2))
    values[:, group] = law.values[:, 0]
    return ReportLaw(values, law.channel)


def law_of_pairs(size: int, factor: float, signs: IntArray, right: FloatArray, wrong: FloatArray) -> ReportLaw | None:
    """Return the law if a pair of alternatives is drawn, and signs show the preferred one; None if it is too long.

    Args:
        size: the number of alternatives.
        factor: the number that a preference adds to the preferred alternative, and subtracts from the other.
        signs: the possible signs of each group in a report: 1 for the pair's first, −1 for its second, 0 for none;
            shape (answers, groups).
        right: the probability of each answer for a voter who prefers the first.
        wrong: the probability of each answer for a voter who prefers the second.
    """
    if _is_long(size, 3 * len(signs), signs.shape[1]):
        return None
    first, second = _positions(size)
    # The numbers of the m − 2 others that are below each of the two.
    below = np.stack([size - 1 - first - (second > first), size - 1 - second - (first > second)])
    prefers_first = (first < second)[:, None]
    of_both = np.where(prefers_first, right, wrong)
    group_laws = [num_right[:, None] * right + (size - 2 - num_right)[:, None] * wrong for num_right in below]
    nothing = np.full((len(first), 1), (size - 2) * (size - 3) / 2)
    channel = np.hstack([of_both, *group_laws, nothing]) / (size * (size - 1) / 2)
    preferred: FloatArray = factor * signs[:, :, None].astype(np.float64)
    none: FloatArray = np.zeros((1, signs.shape[1], 2))
    values = np.concatenate(
        [preferred * np.array([1.0, -1.0]), preferred * np.array([1.0, 0.0]), preferred * np.array([0.0, 1.0]), none]
    )
    return ReportLaw(values, channel)


def law_of_positions(
    scores: Sequence[Fraction], factor: Fraction, response: GeneralizedRandomizedResponse, *, group: int, groups: int
) -> ReportLaw | None:
    """Return the law if the cell of a drawn alternative is reported by randomized response; None if it is too long.

    Args:
        scores: the score of each position.
        factor: the factor of a reported score.
        response: the randomized response among the cells, group·m + position.
        group: the index of the voter's group.
        groups: the number of groups.
    """
    size, keep, lie = len(scores), response.keep_probability, response.flip_probability
    if _is_long(size, 2 * groups * size, groups):
        return None
    first, second = _positions(size)
    cells = np.full((len(first), 2, groups * size), lie / size)
    for side, places in enumerate((first, second)):
        cells[np.arange(len(first)), side, group * size + places] = keep / size
    channel = np.hstack([cells.reshape(len(first), -1), np.full((len(first), 1), (size - 2) / size)])
    values = np.zeros((2, groups, size, groups, 2))
    for side, own_group in itertools.product(range(2), range(groups)):
        values[side, own_group, :, own_group, side] = [float(factor * score) for score in scores]
    return ReportLaw(np.concatenate([values.reshape(-1, groups, 2), np.zeros((1, groups, 2))]), channel)


def law_of_rankings(
    scores: Sequence[Fraction], factor: Fraction, response: GeneralizedRandomizedResponse, *, group: int, groups: int
) -> ReportLaw | None:
    """Return the law if group and ranking are reported by randomized response. See `law_of_positions`."""
    size, keep, lie = len(scores), response.keep_probability, response.flip_probability
    if _is_long(size, groups * size * size, groups):
        return None
    first, second = _positions(size)
    number = len(first)
    chances = np.full((number, groups, number), lie * math.factorial(size - 2))
    chances[np.arange(number), group, np.arange(number)] += keep - lie
    numbers = np.array([float(factor * score) for score in scores])
    values = np.zeros((groups, number, groups, 2))
    for own_group in range(groups):
        values[own_group, :, own_group] = np.stack([numbers[first], numbers[second]], axis=1)
    return ReportLaw(values.reshape(-1, groups, 2), chances.reshape(number, -1))


def _is_long(size: int, outcomes: int, groups: int) -> bool:
    """Return whether a law has too many probabilities: of each two of so many positions, for each group."""
    return size * size * outcomes * groups > _MOST_CELLS


def _positions(size: int) -> tuple[IntArray, IntArray]:
    """Return all pairs of different positions, the best being 0."""
    pairs = np.array(list(itertools.permutations(range(size), 2)), dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]
