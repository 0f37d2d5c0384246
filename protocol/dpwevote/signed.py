"""Variants with one report for each candidate, of weight and opinion together: `two_point`, `signed_rr`, `optimal`.

A decision needs the margin alone, and the margin is a sum of signed weights: w·(φ − τ) over all partners for a quota
that is a share τ of all weight (±w/2 for the majority), and w·φ less the quota for a fixed one. So each partner reports
its signed weight by an unbiased local randomizer, and nothing is spent on telling weight and opinion apart
(reading W8).
"""

import abc
import functools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import require
from ..estimators import Estimate, LinearEstimator, Verdict, binomial_bounds
from ..estimators.frequencies import inverse_matrix
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
from ..phases import Inputs, Phase
from ..privacy import local_loss
from ..tally import Tally
from .outcome import DecisionVerdict
from .variant import Holdings, Offer, Sums, Variant

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName

__all__ = [
    "OPTIMAL_LIMITS",
    "OptimalVariant",
    "SignedResponseVariant",
    "SignedVariant",
    "TwoPointVariant",
    "VotesPhase",
    "make_report",
    "signed_weights",
]

OPTIMAL_LIMITS: Final = (
    f"at most {MOST_SYMMETRIC_VALUES // 2} where the quota is the majority, {MOST_VALUES - 1} where it is fixed or all "
    f"of the weight ({MOST_SYMMETRIC_VALUES - 1} if they and 0 are an even number that is symmetric about its middle, "
    f"as 0 to {MOST_SYMMETRIC_VALUES - 1} are), and {MOST_VALUES // 2} where it is another share of the weight"
)
"""Of how many weights, or groups of weights, the optimal mechanism is computed.

The majority's signed weights are ±w/2, twice as many and symmetric; those of a fixed quota are the weights and 0; those
of another share are twice as many, and never symmetric.
"""


def signed_weights(parameters: "Parameters") -> tuple[Fraction, ...]:
    """Return the public set of signed weights, increasing: those of a "no", then those of a "yes"."""
    means = [Fraction(mean) for mean in parameters.group_means]
    share = Fraction(parameters.fraction)
    return tuple(sorted({mean * (opinion - share) for mean in means for opinion in (0, 1)}))


def make_report(parameters: "Parameters") -> UnbiasedReport:
    """Return the randomizer that a variant of this module applies to each signed weight.

    Raises:
        ConfigurationError: of variant "optimal": there are more weights than `OPTIMAL_LIMITS` says.
    """
    kind = parameters.kind
    if not issubclass(kind, SignedVariant):
        raise ValueError(f"variant {parameters.variant!r} does not report signed weights")  # noqa: TRY004  by its value
    return kind.report_of(signed_weights(parameters), parameters)


class VotesPhase(Phase):
    """Randomized votes: every partner reports its signed weight for each candidate.

    The tally counts reports by candidate, shape (candidates, reports).
    """

    def __init__(self, name: str, *, columns: range, report: UnbiasedReport) -> None:
        law, event = f"{report.name} of signed weights", report.mechanism.event
        loss = local_loss(law, event, unit="weight and opinion", claimed=report.epsilon)
        super().__init__(name, columns=columns, mechanism=report.mechanism, losses=[loss] * len(columns))
        self._num_reports = len(report.estimates)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        counts = [np.bincount(column, minlength=self._num_reports) for column in reports.T]
        return Tally(len(reports), np.array(counts, dtype=np.int64).reshape(self.num_values, self._num_reports))


class SignedVariant(Variant):
    """One phase of signed weights, and the margins from its tally.

    A private row is (the place of the signed weight for each candidate, the weight's place in the public set).
    """

    reports_signed_weights: ClassVar[bool] = True
    has_one_price: ClassVar[bool] = True

    def __init__(self, parameters: "Parameters") -> None:
        super().__init__(parameters)
        self._values = signed_weights(parameters)
        share = Fraction(parameters.fraction)
        means = [Fraction(mean) for mean in parameters.group_means]
        places = [[self._values.index(mean * (opinion - share)) for opinion in (0, 1)] for mean in means]
        self._place_of_vote = np.array(places, dtype=np.int64)

    @classmethod
    @abc.abstractmethod
    def report_of(cls, values: Sequence[Fraction], parameters: "Parameters") -> UnbiasedReport:
        """Return the randomizer of signed weights."""

    @classmethod
    def offer_of(cls, parameters: "Parameters") -> Offer | None:
        """Return what it offers for each candidate at ε."""
        return Offer(
            variant=cls.name,
            epsilon_weight=0.0,
            epsilon_opinion=parameters.epsilon,
            epsilon_total=len(parameters.candidates) * parameters.epsilon,
            worst_variance=make_report(parameters.as_variant(cls.name)).worst_variance,
        )

    @property
    def worst_variance(self) -> float:
        return self.report.worst_variance

    @functools.cached_property
    def report(self) -> UnbiasedReport:
        """The randomizer of each signed weight, with what its reports stand for."""
        return make_report(self._parameters)

    def make_phases(self) -> Iterator[Phase]:
        yield VotesPhase("votes", columns=range(len(self._parameters.candidates)), report=self.report)

    def encode(self, holdings: Holdings) -> Inputs:
        groups = np.array(self._parameters.group_of_weight, dtype=np.int64)[holdings.places]
        votes = self._place_of_vote[groups[:, None], holdings.opinions]
        return Inputs(np.hstack([votes, holdings.places[:, None]]), np.empty((len(votes), 0), dtype=np.int64))

    def decode(self, inputs: Inputs) -> Holdings:
        """Return what rows were made of: a "yes" has a signed weight that no "no" has."""
        least_yes = int(self._place_of_vote[:, 1].min())
        return Holdings(inputs.private[:, -1], (inputs.private[:, :-1] >= least_yes).astype(np.int64))

    def weights_outcome(self, tallies: Sequence[Tally]) -> None:
        """Return nothing: signed weights do not tell how many hold which weight."""

    def sums(self, number: int, tallies: Sequence[Tally]) -> Sums:
        """Return the margin of one candidate; with a fixed quota its support as well."""
        counts: list[int] = tallies[0].totals[number].tolist()
        total = self._estimator.total(counts)
        error = math.sqrt(self._estimator.total_variance(counts))
        quota = self._parameters.quota
        margin = Estimate(float(total - Fraction(quota or 0)), error)
        number_of_all = tallies[0].num_reports
        worst = math.sqrt(number_of_all * self._estimator.worst_variance)
        plausible = Estimate(margin.value, min(error, worst))
        verdict = self._verdict_on(margin.value, counts, number_of_all)
        electorate = self.private_electorate(number_of_all, num_voting=number_of_all)
        if quota is None:
            return Sums(None, None, margin, plausible, verdict, electorate)
        return Sums(Estimate(float(total), error), Estimate(quota, 0.0), margin, plausible, verdict, electorate)

    def reach(self, numbers: Sequence[int]) -> float | None:
        return self.reach_of([self._estimator.reports(sum(numbers))], num_partners=sum(numbers))

    def _verdict_on(self, margin: float, counts: Sequence[int], number: int) -> DecisionVerdict:
        """Return the verdict on a margin: of reports of two kinds by their number, and of others by their sum.

        The probability of the greater report rises by one and the same amount with each unit of the margin, so that a
        margin of 0 tells the mean of these probabilities, and which partner has which does not matter.
        """
        if len(counts) > 2:  # noqa: PLR2004  two points
            return self.judge(margin, [self._estimator.reports(number)], num_partners=number)
        low, high = self.report.estimates
        level, bias = self._parameters.level, Fraction(self.bias_bound(number))
        tied = Fraction(self._parameters.quota or 0)
        shares = [((tied + off) / number - low) / (high - low) for off in (-bias, bias)]
        below, above = (float(min(max(share, Fraction(0)), Fraction(1))) for share in shares)
        too_few, _ = binomial_bounds(number, below, level)
        _, too_many = binomial_bounds(number, above, level)
        greater = counts[1]
        verdict = Verdict.PASSES if greater >= too_many else Verdict.FAILS if greater <= too_few else Verdict.TOO_CLOSE
        return DecisionVerdict(verdict, level)

    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        """Return what each report stands for."""
        return np.array([float(estimate) for estimate in self.report.estimates])[reports[0]]

    @functools.cached_property
    def _estimator(self) -> LinearEstimator:
        report, mechanism = self.report, self.report.mechanism
        # That of k-RR is known; solving for it again would take ten seconds for 200 signed weights.
        is_krr = isinstance(mechanism, GeneralizedRandomizedResponse)
        inverse = inverse_matrix(mechanism) if is_krr else report.debiasing
        return LinearEstimator(report.estimates, mechanism.channel_matrix(), inverse)


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
        """Return the optimal channel, where there are not more weights than `OPTIMAL_LIMITS` says."""
        value = f"{len(parameters.group_means)} in variant 'optimal'"
        require(has_optimal(values), "weights", value, OPTIMAL_LIMITS)
        prior = (1 / len(values),) * len(values) if parameters.prior == "uniform" else parameters.prior
        return optimal(values, epsilon=parameters.loss_of_opinion, prior=prior or ())

    @classmethod
    def offer_of(cls, parameters: "Parameters") -> Offer | None:
        """Return nothing where there are more weights than it is computed for."""
        return super().offer_of(parameters) if has_optimal(signed_weights(parameters)) else None
