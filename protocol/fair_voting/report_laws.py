"""The laws of the noise in the estimates of two alternatives, whatever the rankings are.

Tests of a winner hold one alternative against another. What a randomized report adds to the two depends on the
mechanism's draws and on the positions that the voter gives them, and on nothing else: m(m − 1) laws over a few
outcomes, exactly. So a sum of reports has a proven bound (`estimators.sum_tests`). Laplace noise has one law
(`estimators.noise_tails`).
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
"""Different sums times laws times outcomes, and of one law for each group; what is beyond takes seconds."""
_MOST_LAWS: Final = 16
"""The most laws of Laplace noise that are cached, a millisecond each."""


class ReportLaw(NamedTuple):
    """The law of a report's contribution to the estimated utilities of two alternatives in each group.

    Args:
        values: of each outcome, shape (outcomes, groups, 2).
        channel: the outcomes' probabilities for each two positions, shape (m(m − 1), outcomes).
    """

    values: FloatArray
    channel: FloatArray


class UtilityReportSums(NamedTuple):
    """The reports that estimates of mean utilities are made of, and whose law is one of `laws`.

    Args:
        laws: of the reports of each kind of voter.
        numbers: how many voters of each kind have reported.
        sizes: the divisors of the groups' sums, shape (G,).
    """

    laws: tuple[ReportLaw, ...]
    numbers: tuple[int, ...]
    sizes: tuple[int, ...]

    def tails(self, weights: FloatArray, reach: float) -> FloatArray:
        """Return how likely the noise of each weighted sum of two alternatives' estimates is `reach` or more, at most.

        Args:
            weights: shape (sums, G, 2).
            reach: ≥ 0.

        Returns:
            Shape (sums,), in [2^−20, ½].
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
        groups: the group of each part of the noise: one of each, or as many as its voters have levels of ε.
        scales: of a draw, in the group's mean utility of one alternative.
        draws: how many are added up there; no integer of noise shares that are more than those of a draw.
        grains: a scale, in steps of the grid that it is on.
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

        Noise of this kind is symmetric with one mode, so that a sum reaches the farther, the larger its parts are: of
        many sums, one with the largest part in each place stands for all.
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
    """Return the law where a pair of alternatives is drawn and signs say which one is preferred; None of a long one.

    Args:
        factor: what a preference adds to the preferred one, and takes from the other.
        signs: what a report may say of each group: 1 for the pair's first, −1 for its second, 0 for nothing; shape
            (answers, groups).
        right: each answer's probability for a voter who prefers the first.
        wrong: for one who prefers the second.
    """
    if _is_long(size, 3 * len(signs), signs.shape[1]):
        return None
    first, second = _positions(size)
    # Of the m − 2 others, so many are below each of the two.
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
    """Return the law where an alternative is drawn and its cell reported by randomized response; None of a long one.

    Args:
        factor: what a reported score counts.
        response: among the cells, group·m + position.
        group: the voter's.
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
    """Return the law where group and ranking are reported by randomized response. See `law_of_positions`."""
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
