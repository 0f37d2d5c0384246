"""The laws of what one voter's randomized report adds to the estimates of two alternatives, whatever its ranking is.

Tests of a winner hold one alternative against another. What a report adds to the two depends on the mechanism's draws
and on the positions that the voter gives them, and on nothing else: m(m − 1) laws over a few outcomes, exactly. So a
sum of reports has a proven bound (`estimators.sum_tests`).
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..estimators.sum_tests import Alike, tails_of_sums
from ..mechanisms import GeneralizedRandomizedResponse

__all__ = ["ReportLaw", "ReportSums", "in_group", "law_of_pairs", "law_of_positions", "law_of_rankings"]

_MOST_CELLS: Final = 4_000_000
"""Sums times laws times outcomes; what is beyond takes seconds, and decides nothing."""


class ReportLaw(NamedTuple):
    """What a report adds to the estimated sums of two alternatives' utilities in each group.

    Args:
        values: of each outcome, shape (outcomes, groups, 2).
        channel: the outcomes' probabilities for each two positions, shape (m(m − 1), outcomes).
    """

    values: FloatArray
    channel: FloatArray


class ReportSums(NamedTuple):
    """The reports that estimates of mean utilities are made of, and whose law is one of `laws`.

    Args:
        laws: of the reports of each kind of voter.
        numbers: how many voters of each kind have reported.
        sizes: what each group's sum is divided by, shape (G,).
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
        cells = sum(law.channel.size for law in self.laws)
        if len(weights) * cells > _MOST_CELLS:
            return np.full(len(weights), 0.5)
        scaled = weights / np.array(self.sizes, dtype=np.float64)[:, None]
        parts = [
            Alike(np.tensordot(scaled, law.values, axes=([1, 2], [1, 2])), law.channel, number)
            for law, number in zip(self.laws, self.numbers, strict=True)
        ]
        return tails_of_sums(parts, reach)


def in_group(law: ReportLaw, group: int, groups: int) -> ReportLaw:
    """Return the law of a report of one group's sums, among those of all groups.

    Args:
        law: of one group.
        group: its place.
        groups: G.
    """
    values = np.zeros((len(law.values), groups, 2))
    values[:, group] = law.values[:, 0]
    return ReportLaw(values, law.channel)


def law_of_pairs(size: int, factor: float, signs: IntArray, right: FloatArray, wrong: FloatArray) -> ReportLaw:
    """Return the law where a pair of alternatives is drawn and signs say which one is preferred.

    Args:
        size: m.
        factor: what a preference adds to the preferred one, and takes from the other.
        signs: what a report may say of each group: 1 for the pair's first, −1 for its second, 0 for nothing; shape
            (answers, groups).
        right: each answer's probability for a voter who prefers the first.
        wrong: for one who prefers the second.
    """
    first, second = _positions(size)
    # Of the m − 2 others, so many are below each of the two.
    below = np.stack([size - 1 - first - (second > first), size - 1 - second - (first > second)])
    prefers_first = (first < second)[:, None]
    of_both = np.where(prefers_first, right, wrong)
    alone = [own[:, None] * right + (size - 2 - own)[:, None] * wrong for own in below]
    nothing = np.full((len(first), 1), (size - 2) * (size - 3) / 2)
    channel = np.hstack([of_both, *alone, nothing]) / (size * (size - 1) / 2)
    told: FloatArray = factor * signs[:, :, None].astype(np.float64)
    none: FloatArray = np.zeros((1, signs.shape[1], 2))
    values = np.concatenate(
        [told * np.array([1.0, -1.0]), told * np.array([1.0, 0.0]), told * np.array([0.0, 1.0]), none]
    )
    return ReportLaw(values, channel)


def law_of_positions(
    scores: Sequence[Fraction], factor: Fraction, response: GeneralizedRandomizedResponse, *, group: int, groups: int
) -> ReportLaw:
    """Return the law where an alternative is drawn and its cell reported by randomized response.

    Args:
        scores: of the positions.
        factor: what a reported score counts.
        response: among the cells, group·m + position.
        group: the voter's.
        groups: G.
    """
    size, keep, lie = len(scores), response.keep_probability, response.lie_probability
    first, second = _positions(size)
    cells = np.full((len(first), 2, groups * size), lie / size)
    for side, places in enumerate((first, second)):
        cells[np.arange(len(first)), side, group * size + places] = keep / size
    channel = np.hstack([cells.reshape(len(first), -1), np.full((len(first), 1), (size - 2) / size)])
    values = np.zeros((2, groups, size, groups, 2))
    for side, own in itertools.product(range(2), range(groups)):
        values[side, own, :, own, side] = [float(factor * score) for score in scores]
    return ReportLaw(np.concatenate([values.reshape(-1, groups, 2), np.zeros((1, groups, 2))]), channel)


def law_of_rankings(
    scores: Sequence[Fraction], factor: Fraction, response: GeneralizedRandomizedResponse, *, group: int, groups: int
) -> ReportLaw:
    """Return the law where group and ranking are reported by randomized response. See `law_of_positions`."""
    size, keep, lie = len(scores), response.keep_probability, response.lie_probability
    first, second = _positions(size)
    number = len(first)
    chances = np.full((number, groups, number), lie * math.factorial(size - 2))
    chances[np.arange(number), group, np.arange(number)] += keep - lie
    told = np.array([float(factor * score) for score in scores])
    values = np.zeros((groups, number, groups, 2))
    for own in range(groups):
        values[own, :, own] = np.stack([told[first], told[second]], axis=1)
    return ReportLaw(values.reshape(-1, groups, 2), chances.reshape(number, -1))


def _positions(size: int) -> tuple[IntArray, IntArray]:
    """Return all pairs of different positions, the best being 0."""
    pairs = np.array(list(itertools.permutations(range(size), 2)), dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]
