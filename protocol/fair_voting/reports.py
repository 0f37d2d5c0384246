"""Locally randomized rankings: the tally of each mechanism's reports, and the estimates of a group's utilities.

Estimates are unbiased, linear in the tally, and exact fractions, so that ties are recognized. The variance of one
voter's estimate, averaged over the alternatives, is the same for every ranking. Let v be the mean square of the scores
about their mean, g the gap between consecutive scores, and p and q the probabilities of the true and of one other
answer:

    sampled_pair:      g²·m(m − 1)²/8 / (2p − 1)² − v        p = e^ε/(e^ε + 1)
    sampled_position:  m·v/(p − q)² − v                       p = e^ε/(e^ε + m − 1)
    whole_ranking:     v/(p − q)² − v                         p = e^ε/(e^ε + m! − 1)
    noisy_scores:      that of the noise                      2·(Σ|s₍ᵢ₎ − s₍ₘ₊₁₋ᵢ₎|/ε)²

`local` is the mechanism with the least variance. For Borda scores this is the pair if ε is small, since its report has
one bit; for large ε, the whole ranking of few alternatives, or noisy scores of many.
"""

import abc
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from ..arrays import IntArray, exact_column_sums
from ..elementary import square
from ..mechanisms import (
    MAX_RANKED,
    GeneralizedRandomizedResponse,
    NoisyScores,
    RowMechanism,
    SampledPair,
    SampledPosition,
    VectorLaplace,
    WholeRanking,
    rankings_of_codes,
)
from .kinds import LOCAL, MECHANISMS, MechanismName
from .parameters import Parameters
from .report_laws import ReportLaw, law_of_pairs, law_of_positions, law_of_rankings
from .scoring import Scoring


class LocalReport(abc.ABC):
    """A local mechanism for voters, with the scores that it estimates.

    Attributes:
        is_balanced: whether the estimates of all alternatives always add up to the sum of the scores.
        laplace: the noise of the estimates in steps of `step`, if it is Laplace noise.
        width: the number of numbers in a group's tally, in addition to its number of reports, if known.
        size: m, the number of alternatives.
        step: the grid step of the scores.
        mean: the mean of the scores.
        centered: the scores minus their mean.
        range: the best score minus the worst.
        spread: the mean square of the centered scores.
    """

    name: ClassVar[MechanismName]
    is_balanced: ClassVar[bool] = False
    laplace: VectorLaplace | None = None
    mechanism: RowMechanism
    width: int

    def __init__(self, scoring: Scoring, epsilon: float) -> None:
        self.epsilon = epsilon
        self.size = scoring.num_alternatives
        self.step = Fraction(scoring.step)
        scores = [(num_steps + scoring.center) * self.step for num_steps in scoring.steps]
        self.mean = sum(scores, Fraction(0)) / self.size
        self._center = scoring.center * self.step - self.mean
        self.centered = [score - self.mean for score in scores]
        self.range = float(scores[0] - scores[-1])
        self.spread = math.fsum(square(float(score)) for score in self.centered) / self.size

    def law(self, group: int) -> ReportLaw | None:  # noqa: B027  most mechanisms have one
        """Return the law of the report of a voter of this group; None for additive noise, or if it takes too long.

        Args:
            group: the index of the group; 0 if reports concern only their group.
        """

    @abc.abstractmethod
    def totals_of(self, reports: IntArray) -> IntArray:
        """Return the tally of some reports, shape (n, numbers of a report): int64, (width,), or (G, width) if joint."""

    @abc.abstractmethod
    def estimates(self, totals: Sequence[int], count: int) -> Iterator[Fraction]:
        """Yield for each alternative the estimated mean utility of `count` ≥ 1 voters, about the scores' mean."""


class ByPositions(LocalReport):
    """The tally has how often each alternative was reported at each position: m² numbers, one alternative's first."""

    _factor: Fraction
    """The factor that removes the mechanism's bias."""

    def estimates(self, totals: Sequence[int], count: int) -> Iterator[Fraction]:
        for start in range(0, self.size * self.size, self.size):
            numbers = zip(totals[start : start + self.size], self.centered, strict=True)
            yield self._factor * sum((number * score for number, score in numbers if number), Fraction(0)) / count


class ByScores(LocalReport):
    """The tally has noisy sums of scores, in steps of the scoring's grid, from its center."""

    def estimates(self, totals: Sequence[int], count: int) -> Iterator[Fraction]:
        for total in totals:
            yield total * self.step / count + self._center


class RankingReport(LocalReport):
    """One local mechanism for rankings, its tally and its estimator. See `LocalReport`."""

    mean_variance: float
    """The variance of one voter's estimate, averaged over the alternatives, in squared units of the scores."""


class _PairReport(RankingReport):
    name: ClassVar[MechanismName] = "sampled_pair"
    is_balanced = True

    def __init__(self, scoring: Scoring, epsilon: float) -> None:
        super().__init__(scoring, epsilon)
        self.mechanism = self._randomizer = SampledPair(epsilon, self.size)
        self.width = 2 * self._randomizer.num_questions
        gap = (self.centered[0] - self.centered[-1]) / (self.size - 1)
        keep = Fraction(self._randomizer.response.keep_probability)
        # A pair adds half a gap to its preferred alternative, and one of all pairs is asked.
        self._factor = gap * self._randomizer.num_questions / 2 / (2 * keep - 1)
        self.mean_variance = square(float(self._factor)) * 2 / self.size - self.spread

    def law(self, group: int) -> ReportLaw | None:
        keep = self._randomizer.response.keep_probability
        right = np.array([keep, 1 - keep])
        return law_of_pairs(self.size, float(self._factor), np.array([[1], [-1]]), right, right[::-1])

    def totals_of(self, reports: IntArray) -> IntArray:
        return np.bincount(reports[:, 0], minlength=self.width).astype(np.int64)

    def estimates(self, totals: Sequence[int], count: int) -> Iterator[Fraction]:
        wins = [0] * self.size
        firsts, seconds = (side.tolist() for side in self._randomizer.pairs)
        for question, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
            for_first, for_second = totals[2 * question], totals[2 * question + 1]
            wins[first] += for_first - for_second
            wins[second] += for_second - for_first
        for won in wins:
            yield self._factor * won / count


class _PositionReport(ByPositions, RankingReport):
    name: ClassVar[MechanismName] = "sampled_position"

    def __init__(self, scoring: Scoring, epsilon: float) -> None:
        super().__init__(scoring, epsilon)
        self.mechanism = self._randomizer = SampledPosition(epsilon, self.size)
        self.width = self.size * self.size
        keep, lie = chances_of(self._randomizer.response)
        self._factor = self.size / (keep - lie)
        self.mean_variance = self.spread * square(float(self._factor)) / self.size - self.spread

    def law(self, group: int) -> ReportLaw | None:
        return law_of_positions(self.centered, self._factor, self._randomizer.response, group=group, groups=1)

    def totals_of(self, reports: IntArray) -> IntArray:
        return np.bincount(reports[:, 0], minlength=self.width).astype(np.int64)


class _WholeReport(ByPositions, RankingReport):
    name: ClassVar[MechanismName] = "whole_ranking"
    is_balanced = True

    def __init__(self, scoring: Scoring, epsilon: float) -> None:
        super().__init__(scoring, epsilon)
        self.mechanism = self._randomizer = WholeRanking(epsilon, self.size)
        self.width = self.size * self.size
        keep, lie = chances_of(self._randomizer.response)
        self._factor = 1 / (keep - lie)
        self.mean_variance = self.spread * square(float(self._factor)) - self.spread

    def law(self, group: int) -> ReportLaw | None:
        return law_of_rankings(self.centered, self._factor, self._randomizer.response, group=group, groups=1)

    def totals_of(self, reports: IntArray) -> IntArray:
        positions = rankings_of_codes(reports[:, 0], self.size)
        cells = positions + np.arange(self.size) * self.size
        return np.bincount(cells.reshape(-1), minlength=self.width).astype(np.int64)


class _ScoresReport(ByScores, RankingReport):
    name: ClassVar[MechanismName] = "noisy_scores"

    def __init__(self, scoring: Scoring, epsilon: float) -> None:
        super().__init__(scoring, epsilon)
        self.mechanism = self._randomizer = NoisyScores(epsilon, scoring.steps)
        self.laplace = self._randomizer.laplace
        self.width = self.size
        self.mean_variance = self._randomizer.laplace.noise_variance * square(float(self.step))

    def totals_of(self, reports: IntArray) -> IntArray:
        return exact_column_sums(reports)


_REPORTS: Final[tuple[type[RankingReport], ...]] = (_PairReport, _PositionReport, _WholeReport, _ScoresReport)


def mean_utilities(reports: Sequence[RankingReport], rows: Sequence[Sequence[int]]) -> list[Fraction]:
    """Return a group's mean utilities, in units of the scores, from reports of one level of ε or several.

    Every voter has the same weight at every ε: each report is debiased by its mechanism, and their mean is unbiased for
    every profile. Weighting by inverse variance would reduce errors, but give voters with a large ε more influence. A
    group without reports counts as indifferent.

    Args:
        reports: the local report of each level.
        rows: for each level the number of its reports, then their tally.
    """
    number = sum(count for count, *_ in rows)
    values = [reports[0].mean] * reports[0].size
    for report, (count, *totals) in zip(reports, rows, strict=True):
        if count:
            estimates = report.estimates(totals, count)
            values = [
                value + Fraction(count, number) * estimate for value, estimate in zip(values, estimates, strict=True)
            ]
    return values


def is_possible(name: MechanismName, scoring: Scoring, *, with_ties: bool = False) -> bool:
    """Return whether a mechanism can be had for these utilities, of rankings that may have ties."""
    kind = MECHANISMS[name]
    if with_ties and not kind.takes_ties:
        return False
    is_estimated = scoring.is_equally_spaced or not kind.compares_pairs
    return is_estimated and (scoring.num_alternatives <= MAX_RANKED or not kind.ranks_whole)


def possible_reports(scoring: Scoring, epsilon: float, *, with_ties: bool = False) -> list[RankingReport]:
    """Return a report by each local mechanism that these utilities allow, of rankings that may have ties."""
    return [kind(scoring, epsilon) for kind in _REPORTS if is_possible(kind.name, scoring, with_ties=with_ties)]


def make_reports(parameters: Parameters) -> tuple[RankingReport, ...]:
    """Return the report of each level of ε of a session in the local model, all by one mechanism.

    "local" is replaced by the mechanism with the least mean variance for equally many voters at each level.
    """
    scoring, levels = parameters.make_scoring(is_centered=True), parameters.levels
    if not parameters.kind.is_choice:
        return tuple(_REPORTS[LOCAL.index(parameters.mechanism)](scoring, level) for level in levels)
    has_ties = bool(parameters.ties)
    ways = zip(*(possible_reports(scoring, level, with_ties=has_ties) for level in levels), strict=True)
    return min(ways, key=lambda reports: math.fsum(report.mean_variance for report in reports))


def chances_of(response: GeneralizedRandomizedResponse) -> tuple[Fraction, Fraction]:
    """Return p and q of randomized response, exactly so that all chances sum to 1."""
    keep = Fraction(response.keep_probability)
    return keep, (1 - keep) / (response.num_choices - 1)
