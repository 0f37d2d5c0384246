"""The interface of a variant of the protocol: its phases, its rows, its estimates."""

import abc
import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..estimators import Estimate, Verdict
from ..estimators.sum_tests import Alike, decisive_reach
from ..phases import Inputs, Phase
from ..privacy import TrustModel
from ..tally import Decisions, Tally, TallyBlock
from .outcome import CandidateOutcome, DecisionVerdict, LevelCount, Outcome, PossibleRanges, WeightsOutcome
from .rounding import quotas_within, verdict_within, votes_within

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName


MOST_UNITS: Final = 1 << 20
"""The most units in a weight or estimate for which sums are counted in that unit."""


def unit_of(numbers: Iterable[Fraction]) -> Fraction:
    """Return the greatest number of which all of these are multiples; not all are 0."""
    fractions = list(numbers)
    denominator = math.lcm(*(number.denominator for number in fractions))
    return Fraction(math.gcd(*(int(number * denominator) for number in fractions)), denominator)


class Holdings(NamedTuple):
    """The partners' weights and opinions, before they become rows.

    Args:
        places: the index of each partner's weight in the public set, int64, shape (n,).
        opinions: 1 for yes and 0 for no, int64, shape (n, candidates).
    """

    places: IntArray
    opinions: IntArray


class Sums(NamedTuple):
    """The estimates of one candidate in many sessions, float64 of shape (sessions,) each.

    Args:
        support: the weight of the yes votes; None if the reports determine only the margin.
        quota: the threshold of the support; None if `support` is None.
        margin: support minus quota by the variant's rule, which decides.
        unbiased: support minus quota by an unbiased rule.
    """

    support: FloatArray | None
    quota: FloatArray | None
    margin: FloatArray
    unbiased: FloatArray


class Errors(NamedTuple):
    """The standard errors of one candidate's estimates in one session, except for the unbiased margin."""

    support: float
    quota: float
    margin: float


class ReportSums(NamedTuple):
    """The terms of a candidate's margin: c₀ for each partner, and for each report the multiples of some numbers."""

    channel: FloatArray
    """The chance of each report, shape (2·groups, reports): of "no" and "yes" of each group of weights."""
    constant: Fraction
    columns: Sequence[tuple[Fraction, IntArray]]
    """Each number, and how many times each report adds it, int64 of shape (reports,)."""


VERDICTS: Final = (Verdict.PASSES, Verdict.FAILS, Verdict.TOO_CLOSE)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class VoteDecisions(Decisions):
    """The decisions of many sessions; arrays have shape (sessions, candidates), except for the last.

    Args:
        sums: the estimates of each candidate; empty if only decisions are released.
        leans_yes: whether the released margin, or decision, is on the side of yes.
        verdicts: indices in `VERDICTS`, computed on first call: the tests behind them take most of the time.
        weight_counts: the estimated number of partners with each weight, shape (sessions, weights); without columns if
            the reports do not determine it.
    """

    sums: Sequence[Sums]
    leans_yes: NDArray[np.bool_]
    verdicts: Callable[[], IntArray]
    weight_counts: FloatArray


def count_verdicts(verdicts: IntArray) -> IntArray:
    """Return how many candidates of each session have each verdict: a name's length is all that bytes tell of it."""
    return np.stack([(verdicts == place).sum(axis=1) for place in range(len(VERDICTS))], axis=1)


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """An alternative: a variant at a given privacy cost.

    Args:
        epsilon_weight: the cost of one report of the weight; 0 if there is none.
        epsilon_opinion: the cost of one report of an opinion or of a signed weight.
        epsilon_total: the cost of the session to one partner.
        worst_variance: the greatest variance of one partner's part of a candidate's margin, in squared units of weight.
        server_variance: the variance of a trusted server's noise on a margin, in squared units of weight.

    Examples:
        >>> price = {"epsilon_weight": 0.5, "epsilon_opinion": 0.5, "epsilon_total": 1.0}
        >>> offer = Offer(variant="joint", **price, worst_variance=36.0)
        >>> offer.error(num_partners=25)
        30.0
    """

    variant: str
    epsilon_weight: float
    epsilon_opinion: float
    epsilon_total: float
    worst_variance: float
    server_variance: float = 0.0

    def error(self, num_partners: float) -> float:
        """Return the standard error of a margin if all of so many partners were the worst."""
        return math.sqrt(num_partners * self.worst_variance + self.server_variance)


class Variant(abc.ABC):
    """One variant of the vote.

    Args:
        parameters: the parameters of the session, with this variant.
    """

    name: "ClassVar[VariantName]"
    model: ClassVar[TrustModel] = TrustModel.LOCAL
    """The trust model."""
    reports_signed_weights: ClassVar[bool] = False
    """Whether weight and opinion are one report, for each candidate."""
    has_one_price: ClassVar[bool] = False
    """Whether weight and opinion together cost ε for each candidate."""
    counts_by_group: ClassVar[bool] = False
    """Whether groups and opinions are reported by k-RR or by a user-defined matrix."""
    has_finite_reports: ClassVar[bool] = True
    """Whether reports are counted by kind; otherwise they are noisy numbers, which are added up."""
    is_biased: ClassVar[bool] = False
    """Whether it decides by a biased margin."""
    tells_margin: ClassVar[bool] = True
    """Whether it releases margins; otherwise only decisions."""
    takes_groups: ClassVar[bool] = True
    """Whether weights may be reported by groups."""
    takes_levels: ClassVar[bool] = False
    """Whether partners may have different levels of ε."""
    takes_prior: ClassVar[bool] = False
    """Whether it may minimize the mean variance over a prior."""
    least_epsilon: ClassVar[float] = 0.0
    """The least ε of one report, in addition to the limits of the mechanisms."""
    law_of_weights: ClassVar[str] = "k-RR"

    def __init__(self, parameters: "Parameters") -> None:
        self._parameters = parameters

    @classmethod
    def offer_of(cls, parameters: "Parameters") -> Offer | None:
        """Return the alternative at a cost of `len(candidates)`·ε; None if the variant does not offer this cost.

        Args:
            parameters: parameters with private weights; variant and split are ignored.
        """
        return cls(parameters.with_variant(cls.name)).offer if cls.has_one_price else None

    @property
    def offer(self) -> Offer:
        """The alternative if weight and opinion have one cost."""
        parameters = self._parameters
        return Offer(
            variant=self.name,
            epsilon_weight=0.0,
            epsilon_opinion=parameters.epsilon,
            epsilon_total=len(parameters.candidates) * parameters.epsilon,
            worst_variance=self.worst_variance,
            server_variance=self.server_variance,
        )

    @property
    @abc.abstractmethod
    def worst_variance(self) -> float:
        """The greatest variance of what a partner with a private weight adds to a candidate's unbiased margin."""

    @property
    def server_variance(self) -> float:
        """The variance of what a trusted server adds to a candidate's margin, once."""
        return 0.0

    @property
    def tells_support(self) -> bool:
        """Whether it tells support and quota apart, whatever the quota is; else the margin alone."""
        return not self.reports_signed_weights

    @abc.abstractmethod
    def make_phases(self) -> Iterator[Phase]:
        """Yield the phases."""

    def check_roster(self, num_partners: int) -> None:
        """Raise ConfigurationError if so many partners are more than it has room for."""
        del num_partners

    def check_rows(self, inputs: Inputs) -> None:
        """Raise ValueError if rows hold what their weights and opinions do not say."""
        del inputs

    def release_noise(self, uniforms: FloatArray) -> FloatArray | float:
        """Return a trusted server's noise on one margin in many releases, from a uniform each: shape (n,)."""
        del uniforms
        return 0.0

    def response_noise(self, opinion: int, uniforms: FloatArray, public: IntArray) -> FloatArray | float:
        """Return the noise of a trusted server's randomized response to opinions, in partners' parts of a margin.

        Args:
            opinion: the opinion of all these partners.
            uniforms: a uniform for each partner, shape (n, 1).
            public: the partners' public rows.

        Returns:
            float64, shape (n,), in units of weight; 0 if the server randomizes no single opinions.
        """
        del opinion, uniforms, public
        return 0.0

    def encode(self, holdings: Holdings) -> Inputs:
        """Return the rows of partners with these holdings: of public weights, group and place are the public ones."""
        if self._parameters.public_weights:
            public = np.zeros((2, len(holdings.places)), dtype=np.int64).T
            if len(self._parameters.weights) > 1:  # with one weight no lookup is needed
                public[:, 0], public[:, 1] = self.groups_of(holdings.places), holdings.places
            times = self.greatest_opinion
            return Inputs(holdings.opinions * times if times > 1 else holdings.opinions, public)
        return Inputs(self.private_rows(holdings), np.empty((len(holdings.places), 0), dtype=np.int64))

    @abc.abstractmethod
    def private_rows(self, holdings: Holdings) -> IntArray:
        """Return the private rows of partners whose weights are private."""

    @property
    def greatest_opinion(self) -> int:
        """The value of "yes" in a row."""
        return 1

    def groups_of(self, places: IntArray) -> IntArray:
        """Return the groups of weights, by their places in the public set."""
        return np.array(self._parameters.group_of_weight, dtype=np.int64).take(places)

    @abc.abstractmethod
    def decode(self, inputs: Inputs) -> Holdings:
        """Return the holdings behind rows."""

    @abc.abstractmethod
    def weights_outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome | None:
        """Return the public outcome of the weights; None if the session has none."""

    @abc.abstractmethod
    def sums(self, number: int, tallies: Sequence[TallyBlock]) -> Sums:
        """Return the estimates of the candidate at place `number`, from the tallies of all phases."""

    @abc.abstractmethod
    def errors(self, number: int, tallies: Sequence[Tally]) -> Errors:
        """Return the errors of that in one session."""

    @abc.abstractmethod
    def verdicts(self, number: int, margins: FloatArray, tallies: Sequence[TallyBlock]) -> list[Verdict]:
        """Return the verdict of each session on the candidate at place `number`, by its unbiased margins."""

    @property
    def report_sums(self) -> ReportSums | None:
        """The terms of one partner's reports in a margin; None if they are not known as multiples of some numbers."""
        return None

    def weight_counts(self, tallies: Sequence[TallyBlock]) -> FloatArray:
        """Return how many hold each weight, shape (sessions, weights), where reports tell; else (sessions, 0)."""
        return np.empty((len(tallies[0]), 0))

    @abc.abstractmethod
    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        """Return the contribution of each partner's reports to each margin. See `DPWeVote.contributions`."""

    @property
    def adds_up_margins(self) -> bool:
        """Whether what is reported holds the quota's share of the weight, and tells nothing of another quota."""
        return self.reports_signed_weights and self._parameters.quota is None

    @property
    def weight_deviation(self) -> float:
        """The most by which what stands for a partner's weight differs from it."""
        return self._parameters.group_deviation

    def bias_bound(self, num_partners: int) -> float:
        """Return a bound on the bias of a margin from weights that are represented by other numbers.

        If μ represents the weight w, a partner's part of the margin has the error (w − μ)(φ − τ).
        """
        fraction = self._parameters.fraction
        return num_partners * self.weight_deviation * max(fraction, 1 - fraction)

    def rounding_bound(self, num_partners: int) -> float:
        """Return how far a margin has to be from 0 since weights are rounded; 0 where two quotas see to that."""
        parameters = self._parameters
        if not (parameters.rounding and self.adds_up_margins):
            return 0.0
        return num_partners * parameters.weights[-1] * self.share_rounded

    @property
    def share_rounded(self) -> float:
        """How far the quotas that decide about weights before rounding are from the quota, at most, in its own unit."""
        quota = self._parameters.quota or self._parameters.fraction
        other_quotas = quotas_within(self._parameters) if self._parameters.rounding else ()
        return max((abs(other_quota - quota) for other_quota in other_quotas), default=0.0)

    @functools.cached_property
    def _votes_within(self) -> "tuple[Variant, ...]":
        """The vote with either quota; none if weights are not rounded, or if sums tell of one quota alone."""
        parameters = self._parameters
        return () if self.adds_up_margins else tuple(parameters.kind(vote) for vote in votes_within(parameters))

    def total_range(self, tallies: Sequence[Tally]) -> tuple[float, float]:
        """Return the least and the greatest weight that all partners can have together."""
        number = tallies[0].num_reports
        return number * self._parameters.weights[0], number * self._parameters.weights[-1]

    def reach(self, numbers: Sequence[int]) -> float | None:
        """Return the error of a margin that noise exceeds with probability at most the level. See `DPWeVote.reach`.

        `numbers` are the numbers of partners by weight. If weights are private, they are by level of ε, or their total.
        """
        del numbers

    def reach_of(self, parts: Sequence[Alike], *, num_partners: int) -> float:
        """Return the error of a sum of these reports that is exceeded with at most the level, on either side.

        It is for planning many hypothetical votes. The bound of verdicts is at most this, and a few percent less.
        """
        reach = max(self.reach_towards(parts, sign, is_quick=True) for sign in (1, -1))
        return reach + self.bias_bound(num_partners) + self.rounding_bound(num_partners)

    def judge(
        self, margins: FloatArray, keys: Iterable[Hashable], reach: Callable[[Any, float], float], *, num_partners: int
    ) -> list[Verdict]:
        """Return the verdict on each unbiased margin.

        `reach` returns the error that noise exceeds with at most the level, from a margin's key and its sign, 1 or −1.
        It is called once for each key and sign.
        """
        bias, rounding = self.bias_bound(num_partners), self.rounding_bound(num_partners)
        reach_of_side = functools.cache(reach)
        verdicts: list[Verdict] = []
        for margin, key in zip(margins.tolist(), keys, strict=False):
            threshold = reach_of_side(key, 1.0 if margin > 0 else -1.0) + bias + rounding
            undecided = Verdict.FAILS if margin <= -threshold else Verdict.TOO_CLOSE
            verdicts.append(Verdict.PASSES if margin >= threshold else undecided)
        return verdicts

    def reach_towards(self, parts: Sequence[Alike], sign: float, *, is_quick: bool = False) -> float:
        """Return how far noise brings a margin that is a sum of these reports on one side, but for the level."""
        towards = [part._replace(contributions=np.multiply(part.contributions, sign)) for part in parts]
        return decisive_reach(towards, self._parameters.level, is_quick=is_quick)

    @functools.cached_property
    def lattice(self) -> tuple[Fraction, list[int]]:
        """The greatest number of which all weights are multiples, as they are written, and how many times each is."""
        fractions = [Fraction(str(weight)) for weight in self._parameters.weights]
        unit = unit_of(fractions)
        return unit, [int(weight / unit) for weight in fractions]

    def decisions(self, tallies: Sequence[TallyBlock]) -> VoteDecisions:
        """Return the decisions of many sessions, from the tallies of all phases."""
        numbers = range(len(self._parameters.candidates))
        sums = [self.sums(number, tallies) for number in numbers]
        margins = np.stack([candidate_sums.margin for candidate_sums in sums], axis=1)

        @functools.cache
        def verdicts() -> IntArray:
            return np.array([self._verdict_codes(number, sums[number], tallies) for number in numbers]).T

        return VoteDecisions(
            kinds=lambda: count_verdicts(verdicts()),
            sums=sums,
            leans_yes=margins >= 0 if self._parameters.passes == "at_least" else margins > 0,
            verdicts=verdicts,
            weight_counts=self.weight_counts(tallies),
        )

    def _verdict_codes(self, number: int, sums: Sums, tallies: Sequence[TallyBlock]) -> list[int]:
        """Return the verdict of each session on a candidate, as its place in `VERDICTS`."""
        if not self._votes_within:
            return list(map(VERDICTS.index, self.verdicts(number, sums.unbiased, tallies)))
        other_verdicts = [
            variant.verdicts(number, variant.sums(number, tallies).unbiased, tallies) for variant in self._votes_within
        ]
        return [VERDICTS.index(verdict_within(*pair)) for pair in zip(*other_verdicts, strict=True)]

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        """Return the release, from the tallies of all phases."""
        parameters = self._parameters
        weights = self.weights_outcome(tallies)
        num_partners = tallies[0].num_reports
        decisions = self.decisions([TallyBlock.from_tallies([tally]) for tally in tallies])
        numbers = range(len(parameters.candidates))
        return Outcome(
            candidates=tuple(self._candidate(number, decisions, tallies) for number in numbers),
            num_partners=num_partners,
            total_weight=None if weights is None else weights.total_weight,
            weight_counts=() if weights is None else weights.weight_counts,
            weight_bias_bound=self.bias_bound(num_partners),
            joint_level=min(1.0, len(parameters.candidates) * parameters.level),
            possible=self._possible_ranges(tallies),
            epsilon_weight=parameters.loss_of_weight,
            epsilon_opinion=parameters.loss_of_opinion,
            epsilon_total=parameters.epsilon_total,
            levels=self.level_counts(tallies),
            weights_within=parameters.weights_within,
            noise_weight=parameters.noise_weight,
            passes="more_than" if parameters.passes == "more_than" else msgspec.UNSET,
        )

    def level_counts(self, tallies: Sequence[Tally]) -> tuple[LevelCount, ...] | msgspec.UnsetType:
        """Return how many reported at each level of ε; unset where all have one ε."""
        del tallies
        return msgspec.UNSET

    def _candidate(self, number: int, decisions: VoteDecisions, tallies: Sequence[Tally]) -> CandidateOutcome:
        """Return the released outcome of one candidate in a single session."""
        decided = CandidateOutcome(
            name=self._parameters.candidates[number],
            leans_yes=bool(decisions.leans_yes[0, number]),
            verdict=DecisionVerdict(VERDICTS[int(decisions.verdicts()[0, number])], self._parameters.level),
            support=None,
            quota=None,
            margin=None,
            bias=0.0,
        )
        if not self.tells_margin:
            return decided
        sums, errors = decisions.sums[number], self.errors(number, tallies)
        margin = float(sums.margin[0])
        return msgspec.structs.replace(
            decided,
            support=None if sums.support is None else Estimate(float(sums.support[0]), errors.support),
            quota=None if sums.quota is None else Estimate(float(sums.quota[0]), errors.quota),
            margin=Estimate(margin, errors.margin),
            bias=margin - float(sums.unbiased[0]),
        )

    def _possible_ranges(self, tallies: Sequence[Tally]) -> PossibleRanges:
        least, greatest = self.total_range(tallies)
        quota, fraction = self._parameters.quota, self._parameters.fraction
        quotas = (fraction * least, fraction * greatest) if quota is None else (quota, quota)
        quota_total = fraction * greatest if quota is None else quota
        return PossibleRanges(
            total_weight=(least, greatest),
            support=(0.0, greatest),
            quota=quotas,
            margin=(-quota_total, greatest - quota_total),
            count=(0.0, float(tallies[0].num_reports)),
        )
