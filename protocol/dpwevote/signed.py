"""Variants with one report for each candidate, of weight and opinion together: `two_point`, `signed_rr`, `optimal`.

A decision depends only on the margin, which is a sum of signed weights: of w·(φ − τ) over all partners if the quota is
a share τ of all weight (±w/2 for the majority), and of w·φ, minus the quota, for a fixed one. So each partner reports
its signed weight by an unbiased local randomizer, and no budget is spent on distinguishing weight and opinion (reading
W8).
"""

import abc
import functools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
import numpy as np

from ..arrays import ExactSums, FloatArray, IntArray, counts_of_rows
from ..errors import require
from ..estimators import LinearEstimator, Verdict, binomial_bounds
from ..estimators.frequencies import inverse_matrix
from ..estimators.sum_tests import least_probability
from ..mechanisms import (
    MOST_SYMMETRIC_VALUES,
    MOST_VALUES,
    GeneralizedRandomizedResponse,
    UnbiasedReport,
    has_optimal,
    optimal,
    randomized_response,
    two_point,
)
from ..phases import Inputs, PersonalizedPhase, Phase
from ..privacy import local_loss
from ..tally import Tally, TallyBlock
from .outcome import LevelCount
from .variant import MOST_UNITS, Errors, Holdings, Offer, ReportSums, Sums, Variant, unit_of

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName

OPTIMAL_LIMITS: Final = (
    f"at most {MOST_SYMMETRIC_VALUES // 2} where the quota is the majority, {MOST_VALUES - 1} where it is fixed or all "
    f"of the weight ({MOST_SYMMETRIC_VALUES - 1} if they and 0 are an even number that is symmetric about its middle, "
    f"as 0 to {MOST_SYMMETRIC_VALUES - 1} are), and {MOST_VALUES // 2} where it is another share of the weight"
)
"""The most weights, or groups of weights, for which the optimal mechanism is computed.

For the majority, signed weights are ±w/2, twice as many and symmetric; for a fixed quota, the weights and 0; for
another share, twice as many, and not symmetric.
"""


def signed_weights(parameters: "Parameters") -> tuple[Fraction, ...]:
    """Return the public set of signed weights, increasing: those of a "no", then those of a "yes"."""
    means = [Fraction(mean) for mean in parameters.group_means]
    share = parameters.exact_fraction
    return tuple(sorted({mean * (opinion - share) for mean in means for opinion in (0, 1)}))


def make_report(parameters: "Parameters") -> UnbiasedReport:
    """Return the randomizer that a variant of this module applies to each signed weight.

    Raises:
        ConfigurationError: there are more weights than `OPTIMAL_LIMITS` allows for variant "optimal".
    """
    kind = parameters.kind
    if not issubclass(kind, SignedVariant):
        raise ValueError(f"variant {parameters.variant!r} does not report signed weights")  # noqa: TRY004  by its value
    return kind.report_of(signed_weights(parameters), parameters)


class VotesPhase(PersonalizedPhase):
    """Randomized votes: every partner reports its signed weight for each candidate, with its level of ε if there are.

    The tally counts reports by candidate, shape (candidates, reports); with levels, (levels, candidates, reports).
    """

    person = "partner"

    def __init__(
        self, name: str, *, columns: range, reports: Sequence[UnbiasedReport], epsilons: Sequence[float]
    ) -> None:
        laws = [f"{report.name} of signed weights" for report in reports]
        losses = [
            local_loss(law, report.mechanism.event, unit="weight and opinion", claimed=report.epsilon)
            for law, report in zip(laws, reports, strict=True)
        ]
        super().__init__(
            name,
            columns=columns,
            mechanisms=[report.mechanism for report in reports],
            losses=[(loss,) * len(columns) for loss in losses],
            epsilons=epsilons,
        )
        self._num_reports = max(len(report.estimates) for report in reports)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return self.tally_block(reports[None], earlier=(), public=public).tally(0)

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        totals = np.zeros((len(reports), len(self.mechanisms), self.num_values, self._num_reports), dtype=np.int64)
        for level, places in self.level_places(public):
            votes = reports[:, places].swapaxes(1, 2)
            sessions, values, parties = votes.shape
            counts = counts_of_rows(votes.reshape(sessions * values, parties), self._num_reports)
            totals[:, level] = counts.reshape(totals[:, level].shape)
        return TallyBlock(reports.shape[1], totals if self.is_personal else totals[:, 0])


class SignedVariant(Variant):
    """One phase of signed weights, and the margins from its tally.

    A private row has the index of the signed weight for each candidate, then the weight's index in the public set.
    """

    reports_signed_weights: ClassVar[bool] = True
    has_one_price: ClassVar[bool] = True
    takes_levels: ClassVar[bool] = True

    def __init__(self, parameters: "Parameters") -> None:
        super().__init__(parameters)
        self._values = signed_weights(parameters)
        share = parameters.exact_fraction
        means = [Fraction(mean) for mean in parameters.group_means]
        place_of = {value: place for place, value in enumerate(self._values)}
        places = [[place_of[mean * (opinion - share)] for opinion in (0, 1)] for mean in means]
        self._place_of_vote = np.array(places, dtype=np.int64)

    @classmethod
    @abc.abstractmethod
    def report_of(cls, values: Sequence[Fraction], parameters: "Parameters") -> UnbiasedReport:
        """Return the randomizer of signed weights."""

    @property
    def worst_variance(self) -> float:
        return max(report.worst_variance for report in self.reports)

    @functools.cached_property
    def reports(self) -> tuple[UnbiasedReport, ...]:
        """The randomizers of signed weights, with what reports stand for: one for each level of ε, or for all."""
        return tuple(map(make_report, self._parameters.level_parameters))

    @property
    def report_sums(self) -> ReportSums | None:
        """One whole number, where all have one ε and estimates are multiples of a unit of some size."""
        report, *other_reports = self.reports
        differences = [estimate - report.estimates[0] for estimate in report.estimates]
        unit = unit_of(differences)
        if other_reports or max(map(abs, differences)) > MOST_UNITS * unit:
            return None
        channel = np.array(report.mechanism.channel_matrix())[self._place_of_vote.reshape(-1)]
        times = np.array([int(difference / unit) for difference in differences], dtype=np.int64)
        return ReportSums(channel, report.estimates[0], [(unit, times)])

    def make_phases(self) -> Iterator[Phase]:
        columns = range(len(self._parameters.candidates))
        yield VotesPhase("votes", columns=columns, reports=self.reports, epsilons=self._parameters.own_levels.epsilons)

    def private_rows(self, holdings: Holdings) -> IntArray:
        groups = self.groups_of(holdings.places)
        return np.column_stack([self._place_of_vote[groups[:, None], holdings.opinions], holdings.places])

    def decode(self, inputs: Inputs) -> Holdings:
        """Return the holdings behind rows: a "yes" has a signed weight that no "no" has."""
        least_yes = int(self._place_of_vote[:, 1].min())
        return Holdings(inputs.private[:, -1], (inputs.private[:, :-1] >= least_yes).astype(np.int64))

    def weights_outcome(self, tallies: Sequence[Tally]) -> None:
        """Return nothing: signed weights do not tell how many hold which weight."""

    def _counts(self, number: int, tallies: Sequence[TallyBlock]) -> IntArray:
        """Return how often each report came for a candidate, level by level: shape (sessions, levels, reports)."""
        (tally,) = tallies
        return tally.totals.reshape(len(tally), len(self.reports), len(self._parameters.candidates), -1)[:, :, number]

    def sums(self, number: int, tallies: Sequence[TallyBlock]) -> Sums:
        """Return the margins of one candidate; with a fixed quota its supports as well."""
        counts, quota = self._counts(number, tallies), self._parameters.quota
        counts = counts.reshape(len(counts), -1)
        support, margin = (sums.to_floats(counts) for sums in self._exact_sums)
        quotas = None if quota is None else np.full(len(counts), quota)
        return Sums(None if quota is None else support, quotas, margin, margin)

    @functools.cached_property
    def _exact_sums(self) -> tuple[ExactSums, ExactSums]:
        """Support and margin of reports by level."""
        width = max(len(report.estimates) for report in self.reports)
        estimates = [
            estimate
            for report in self.reports
            for estimate in (*report.estimates, *[Fraction(0)] * (width - len(report.estimates)))
        ]
        return ExactSums(estimates), ExactSums(estimates, -Fraction(self._parameters.quota or 0))

    def errors(self, number: int, tallies: Sequence[Tally]) -> Errors:
        (counts,) = self._counts(number, [TallyBlock.from_tallies(tallies)]).tolist()
        levels = zip(self._estimators, self.reports, counts, strict=True)
        variances = (
            estimator.total_variance(level_counts[: len(report.estimates)])
            for estimator, report, level_counts in levels
        )
        error = math.sqrt(math.fsum(variances))
        return Errors(error, 0.0, error)

    def verdicts(self, number: int, margins: FloatArray, tallies: Sequence[TallyBlock]) -> list[Verdict]:
        """Return verdicts on margins: from the number of the greater reports if there are two kinds, else from sums.

        With two kinds of reports, the probability of the greater one is linear in the signed weight. So a margin of 0
        determines the mean of these probabilities, and the bound needs no more. This requires a single level of ε;
        reports of several levels are summed.
        """
        counts = self._counts(number, tallies)
        of_level, num_partners = counts.sum(axis=2).tolist(), tallies[0].num_reports
        levels_heard = [level for level, num_votes in enumerate(of_level[0]) if num_votes]
        if len(levels_heard) == 1 and len(self.reports[levels_heard[0]].estimates) == 2:  # noqa: PLR2004  two points
            too_few, too_many = self._two_point_bounds(levels_heard[0], num_partners)
            greater: list[int] = counts[:, levels_heard[0], 1].tolist()
            fails = [Verdict.FAILS if num_votes <= too_few else Verdict.TOO_CLOSE for num_votes in greater]
            return [
                Verdict.PASSES if num_votes >= too_many else verdict
                for num_votes, verdict in zip(greater, fails, strict=True)
            ]

        def reach(numbers: Sequence[int], sign: float) -> float:
            pairs = zip(self._estimators, numbers, strict=True)
            return self.reach_towards(
                [estimator.reports(num_reports) for estimator, num_reports in pairs if num_reports], sign
            )

        return self.judge(margins, map(tuple, of_level), reach, num_partners=num_partners)

    def _two_point_bounds(self, level_heard: int, number: int) -> tuple[int, int]:
        """Return how many of the greater of two reports are too few, and too many, where the margin is 0."""
        low, high = self.reports[level_heard].estimates
        level = self._parameters.level
        bias = Fraction(self.bias_bound(number)) + Fraction(self.rounding_bound(number))
        tied = Fraction(self._parameters.quota or 0)
        shares = [((tied + off) / number - low) / (high - low) for off in (-bias, bias)]
        low_share, high_share = (float(min(max(share, Fraction(0)), Fraction(1))) for share in shares)
        return binomial_bounds(number, low_share, level)[0], binomial_bounds(number, high_share, level)[1]

    def level_counts(self, tallies: Sequence[Tally]) -> tuple[LevelCount, ...] | msgspec.UnsetType:
        levels = self._parameters.own_levels.epsilons
        if not levels:
            return msgspec.UNSET
        numbers: list[int] = tallies[0].totals[:, 0].sum(axis=1).tolist()
        return tuple(LevelCount(level, number) for level, number in zip(levels, numbers, strict=True) if number)

    def reach(self, numbers: Sequence[int]) -> float | None:
        levels_heard, number = [level for level, count in enumerate(numbers) if count], sum(numbers)
        if len(levels_heard) != 1 or len(self.reports[levels_heard[0]].estimates) > 2:  # noqa: PLR2004  two points
            return self.reach_of(
                [self._estimators[level].reports(numbers[level]) for level in levels_heard], num_partners=number
            )
        # The bound of verdicts. Reports that tie count as the wrong decision on either side.
        low, high = self.reports[levels_heard[0]].estimates
        quota, level = Fraction(self._parameters.quota or 0), self._parameters.level
        tie = (quota - number * low) / (high - low)
        few, many = float(tie), float(number - tie)
        if few == many:  # otherwise rounding to integers would let the margin sometimes increase with ε
            few = many = math.floor(few)
        sides = ((few, number * high - quota), (many, quota - number * low))
        spread = number * float(high - low)
        reach = (float(most) - (1 - least_probability(number, count, level)) * spread for count, most in sides)
        return max(*reach, 0.0) + self.bias_bound(number) + self.rounding_bound(number)

    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        """Return the estimate that each report stands for, at its sender's ε."""
        numbers = np.zeros((len(self.reports), max(len(report.estimates) for report in self.reports)))
        for row, report in zip(numbers, self.reports, strict=True):
            row[: len(report.estimates)] = [float(estimate) for estimate in report.estimates]
        return numbers[public[:, -1:] if self._parameters.own_levels.epsilons else 0, reports[0]]

    @functools.cached_property
    def _estimators(self) -> list[LinearEstimator]:
        estimators: list[LinearEstimator] = []
        for report in self.reports:
            # The inverse of k-RR is known; computing it would take ten seconds for 200 signed weights.
            mechanism = report.mechanism
            is_krr = isinstance(mechanism, GeneralizedRandomizedResponse)
            inverse = inverse_matrix(mechanism) if is_krr else report.debiasing
            estimators.append(LinearEstimator(report.estimates, mechanism.channel_matrix(), inverse))
        return estimators


class TwoPointVariant(SignedVariant):
    """The variant `two_point`: one of two numbers."""

    name: "ClassVar[VariantName]" = "two_point"

    @classmethod
    def report_of(cls, values: Sequence[Fraction], parameters: "Parameters") -> UnbiasedReport:
        return two_point(values, epsilon=parameters.loss_of_opinion)


class SignedResponseVariant(SignedVariant):
    """The variant `signed_rr`: k-RR among all signed weights."""

    name: "ClassVar[VariantName]" = "signed_rr"

    @classmethod
    def report_of(cls, values: Sequence[Fraction], parameters: "Parameters") -> UnbiasedReport:
        return randomized_response(values, epsilon=parameters.loss_of_opinion)


class OptimalVariant(SignedVariant):
    """The variant `optimal`: the channel with the least variance in the worst case, or on average over a prior."""

    name: "ClassVar[VariantName]" = "optimal"
    takes_prior: ClassVar[bool] = True

    @classmethod
    def report_of(cls, values: Sequence[Fraction], parameters: "Parameters") -> UnbiasedReport:
        value = f"{len(parameters.group_means)} in variant 'optimal'"
        require(has_optimal(values), "weights", value, OPTIMAL_LIMITS)
        prior = (1 / len(values),) * len(values) if parameters.prior == "uniform" else parameters.prior
        return optimal(values, epsilon=parameters.loss_of_opinion, prior=prior or ())

    @classmethod
    def offer_of(cls, parameters: "Parameters") -> Offer | None:
        return super().offer_of(parameters) if has_optimal(signed_weights(parameters)) else None
