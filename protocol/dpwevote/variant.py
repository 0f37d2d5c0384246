"""What a variant of the protocol is: its phases, its rows, its estimates."""

import abc
import dataclasses
import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..estimators import Estimate, Verdict
from ..estimators.sum_tests import Alike, decisive_reach
from ..kept_reports import Scope
from ..mechanisms import RowMechanism
from ..phases import Inputs, Phase
from ..privacy import PrivacyLoss, TrustModel
from ..tally import Tally
from .outcome import CandidateOutcome, DecisionVerdict, LevelCount, Outcome, PossibleRanges, WeightsOutcome
from .rounding import quotas_within, verdict_within, votes_within

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName


def unit_of(numbers: Iterable[Fraction]) -> Fraction:
    """Return the greatest number of which all of these are multiples; not all are 0."""
    exact = list(numbers)
    denominator = math.lcm(*(number.denominator for number in exact))
    return Fraction(math.gcd(*(int(number * denominator) for number in exact)), denominator)


@dataclasses.dataclass(frozen=True, eq=False)
class Holdings:
    """What partners hold, before it becomes rows.

    Args:
        places: of each partner's weight in the public set, int64, shape (n,).
        opinions: 1 for yes and 0 for no, int64, shape (n, candidates).
    """

    places: IntArray
    opinions: IntArray


@dataclasses.dataclass(frozen=True)
class Sums:
    """What is estimated of one candidate.

    Args:
        support: the weight of the yes votes; None where the reports tell the margin alone.
        quota: what the support is held against; None with it.
        margin: support minus quota, by the variant's own rule, which decides.
        unbiased: the same, by an unbiased rule.
    """

    support: Estimate | None
    quota: Estimate | None
    margin: Estimate
    unbiased: float
    verdict: DecisionVerdict


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a variant offers at a price.

    Args:
        epsilon_weight: of one report of the weight; 0 where there is none.
        epsilon_opinion: of one report of an opinion or of a signed weight.
        epsilon_total: of the session, for one partner.
        worst_variance: of what one partner adds to the margin of one candidate, in squared units of weight.
        server_variance: of what a trusted server adds to it once.
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
    """One way to hold the vote.

    Args:
        parameters: the session's; of this variant.
    """

    name: "ClassVar[VariantName]"
    model: ClassVar[TrustModel] = TrustModel.LOCAL
    """Whom it trusts."""
    reports_signed_weights: ClassVar[bool] = False
    """Whether weight and opinion are one report, for each candidate."""
    has_one_price: ClassVar[bool] = False
    """Whether weight and opinion have one price together, ε for each candidate."""
    counts_by_group: ClassVar[bool] = False
    """Whether groups and opinions are reported as they are or as others: by k-RR, or by a matrix of one's own."""
    has_finite_reports: ClassVar[bool] = True
    """Whether reports are counted by kind; else they are noisy numbers, which are added up."""
    is_biased: ClassVar[bool] = False
    """Whether it decides by a margin that is not right on average."""
    takes_groups: ClassVar[bool] = True
    """Whether weights may be reported by groups."""
    takes_levels: ClassVar[bool] = False
    """Whether partners may have an ε of their own."""
    takes_prior: ClassVar[bool] = False
    """Whether its variance may be least on average over a prior."""
    least_epsilon: ClassVar[float] = 0.0
    """Of one report; all reports have the mechanisms' least."""
    law_of_weights: ClassVar[str] = "k-RR"

    def __init__(self, parameters: "Parameters") -> None:
        self._parameters = parameters

    @classmethod
    def offer_of(cls, parameters: "Parameters") -> Offer | None:
        """Return what it offers at the price of `len(candidates)`·ε; None where it is no choice at this price.

        Args:
            parameters: any with private weights; variant and split are not used.
        """
        return cls(parameters.as_variant(cls.name)).offer if cls.has_one_price else None

    @property
    def offer(self) -> Offer:
        """What it offers where weight and opinion have one price."""
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
        """Return what a trusted server adds to one margin in so many releases, from a uniform each: shape (n,)."""
        del uniforms
        return 0.0

    def encode(self, holdings: Holdings) -> Inputs:
        """Return the rows of partners with these holdings: of public weights, group and place are the public ones."""
        if self._parameters.public_weights:
            public = np.stack([self.groups_of(holdings.places), holdings.places]).T
            return Inputs(holdings.opinions * self.greatest_opinion, public)
        return Inputs(self.private_rows(holdings), np.empty((len(holdings.places), 0), dtype=np.int64))

    @abc.abstractmethod
    def private_rows(self, holdings: Holdings) -> IntArray:
        """Return the private rows of partners whose weights are private."""

    @property
    def greatest_opinion(self) -> int:
        """What "yes" is in a row."""
        return 1

    def groups_of(self, places: IntArray) -> IntArray:
        """Return the groups of weights, by their places in the public set."""
        return np.array(self._parameters.group_of_weight, dtype=np.int64).take(places)

    @abc.abstractmethod
    def decode(self, inputs: Inputs) -> Holdings:
        """Return what rows were made of."""

    @abc.abstractmethod
    def weights_outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome | None:
        """Return what the session tells of the weights; None where it tells nothing."""

    @abc.abstractmethod
    def sums(self, number: int, tallies: Sequence[Tally]) -> Sums:
        """Return what is estimated of the candidate at place `number`, from the tallies of all phases."""

    @abc.abstractmethod
    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        """Return what each partner's reports add to each candidate's margin. See `DPWeVote.contributions`."""

    @property
    def adds_up_margins(self) -> bool:
        """Whether what is reported holds the quota's share of the weight, and tells nothing of another quota."""
        return self.reports_signed_weights and self._parameters.quota is None

    @property
    def weight_deviation(self) -> float:
        """The most by which what stands for a partner's weight differs from it."""
        return self._parameters.group_deviation

    def bias_bound(self, num_partners: int) -> float:
        """Return the most by which it moves a margin that weights differ from what stands for them.

        Each partner's margin is (w − μ)(φ − τ) off at most, where μ stands for w.
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
        others = quotas_within(self._parameters) if self._parameters.rounding else ()
        return max((abs(other - quota) for other in others), default=0.0)

    @functools.cached_property
    def _within(self) -> "tuple[Variant, ...]":
        """The same vote with either of these quotas; none where weights are not rounded, or sums tell of one alone."""
        parameters = self._parameters
        return () if self.adds_up_margins else tuple(parameters.kind(each) for each in votes_within(parameters))

    def total_range(self, tallies: Sequence[Tally]) -> tuple[float, float]:
        """Return the least and the greatest weight that all partners can have together."""
        number = tallies[0].num_reports
        return number * self._parameters.weights[0], number * self._parameters.weights[-1]

    def reach(self, numbers: Sequence[int]) -> float | None:
        """Return how far noise brings a margin, but for the level. See `DPWeVote.reach`.

        `numbers` are of partners by weight; where weights are private, of all alone, or by their level of ε.
        """
        del numbers

    def reach_of(self, parts: Sequence[Alike], *, num_partners: int) -> float:
        """Return how far noise brings a margin on either side, but for the level, that is a sum of these reports."""
        sides = [
            [part._replace(contributions=np.multiply(part.contributions, sign)) for part in parts] for sign in (1, -1)
        ]
        level = self._parameters.level
        reach = max(decisive_reach(side, level) for side in sides)
        return reach + self.bias_bound(num_partners) + self.rounding_bound(num_partners)

    def judge(self, margin: float, parts: Sequence[Alike], *, num_partners: int) -> DecisionVerdict:
        """Return the verdict on an unbiased margin that is a sum of these reports."""
        sign = 1.0 if margin > 0 else -1.0
        towards = [part._replace(contributions=np.multiply(part.contributions, sign)) for part in parts]
        return self.judge_reach(margin, decisive_reach(towards, self._parameters.level), num_partners=num_partners)

    def judge_reach(self, margin: float, reach: float, *, num_partners: int) -> DecisionVerdict:
        """Return the verdict on an unbiased margin that noise brings no farther than so, but for the level."""
        needed = reach + self.bias_bound(num_partners) + self.rounding_bound(num_partners)
        verdict = Verdict.PASSES if margin >= needed else Verdict.FAILS if margin <= -needed else Verdict.TOO_CLOSE
        return DecisionVerdict(verdict, self._parameters.level)

    @functools.cached_property
    def lattice(self) -> tuple[Fraction, list[int]]:
        """The greatest number of which all weights are multiples, as they are written, and how many times each is."""
        exact = [Fraction(str(weight)) for weight in self._parameters.weights]
        unit = unit_of(exact)
        return unit, [int(weight / unit) for weight in exact]

    def outcome(self, tallies: Sequence[Tally]) -> Outcome:
        """Return the release, from the tallies of all phases."""
        parameters = self._parameters
        weights = self.weights_outcome(tallies)
        num_partners = tallies[0].num_reports
        return Outcome(
            candidates=tuple(self._candidate(number, tallies) for number in range(len(parameters.candidates))),
            num_partners=num_partners,
            total_weight=None if weights is None else weights.total_weight,
            weight_counts=() if weights is None else weights.weight_counts,
            weight_bias_bound=self.bias_bound(num_partners),
            joint_level=min(1.0, len(parameters.candidates) * parameters.level),
            possible=self._possible(tallies),
            epsilon_weight=parameters.loss_of_weight,
            epsilon_opinion=parameters.loss_of_opinion,
            epsilon_total=parameters.epsilon_total,
            levels=self.levels_told(tallies),
            weights_within=parameters.weights_within,
            passes="more_than" if parameters.passes == "more_than" else msgspec.UNSET,
        )

    def levels_told(self, tallies: Sequence[Tally]) -> tuple[LevelCount, ...] | msgspec.UnsetType:
        """Return how many reported at each level of ε; unset where all have one ε."""
        del tallies
        return msgspec.UNSET

    def _candidate(self, number: int, tallies: Sequence[Tally]) -> CandidateOutcome:
        sums = self.sums(number, tallies)
        others = [other.sums(number, tallies).verdict for other in self._within]
        margin = sums.margin.value
        passed = margin >= 0 if self._parameters.passes == "at_least" else margin > 0
        return CandidateOutcome(
            name=self._parameters.candidates[number],
            leans_yes=passed,
            verdict=verdict_within(*others) if others else sums.verdict,
            support=sums.support,
            quota=sums.quota,
            margin=sums.margin,
            bias=margin - sums.unbiased,
        )

    def _possible(self, tallies: Sequence[Tally]) -> PossibleRanges:
        least, greatest = self.total_range(tallies)
        quota, fraction = self._parameters.quota, self._parameters.fraction
        quotas = (fraction * least, fraction * greatest) if quota is None else (quota, quota)
        held = fraction * greatest if quota is None else quota
        return PossibleRanges(
            total_weight=(least, greatest),
            support=(0.0, greatest),
            quota=quotas,
            margin=(-held, greatest - held),
            count=(0.0, float(tallies[0].num_reports)),
        )


class PublishedWeights(Phase):
    """Weights are reported, each by itself, and the approximate quota is published. Subclasses tally.

    Args:
        column: of the private row.
        scope: where reports are kept for later votes.
        publish: computes the quota, from the tally.
    """

    def __init__(
        self,
        name: str,
        column: int,
        mechanism: RowMechanism,
        loss: PrivacyLoss,
        *,
        scope: Scope | None,
        publish: Callable[[Sequence[Tally]], WeightsOutcome],
    ) -> None:
        columns = range(column, column + 1)
        super().__init__(name, columns=columns, mechanism=mechanism, losses=[loss], kept=scope)
        self._publish = publish

    def outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        return self._publish(tallies[-1:])


class TwoReports(Variant):
    """Variants in which weights and opinions are reported apart: `joint`, `printed` and `laplace`.

    A private row is (what the weights phase randomizes, an opinion for each candidate, the weight's place in the public
    set); where weights are public, the first is missing and the last is in the public row.
    """

    @abc.abstractmethod
    def make_weights_phase(self, name: str, *, column: int) -> Phase:
        """Return a phase in which weights are reported."""

    @abc.abstractmethod
    def make_opinions_phase(self, name: str, *, columns: range) -> Phase:
        """Return a phase in which opinions are reported."""

    def encode_weights(self, places: IntArray) -> IntArray:
        """Return what is reported of weights by their places in the public set."""
        return self.groups_of(places)

    @abc.abstractmethod
    def weights_of(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        """Return quota, total weight and group sizes from one weights phase, or the average of several."""

    @abc.abstractmethod
    def total_weight_of(self, tallies: Sequence[Tally]) -> Estimate:
        """Return the total weight from one weights phase, or the average of several."""

    @abc.abstractmethod
    def support_and_margins(
        self, totals: IntArray, weights: Tally | None, opinions: Tally
    ) -> tuple[Estimate, Estimate, float]:
        """Return support, margin and unbiased margin of one candidate.

        Args:
            totals: its own of the opinions phase.
            weights: the tally of the weights phase before; None where weights are public.
            opinions: the tally of that opinions phase.
        """

    @abc.abstractmethod
    def verdict_on(self, margin: float, totals: IntArray, weights: Tally | None, opinions: Tally) -> DecisionVerdict:
        """Return the verdict on an unbiased margin, the other arguments being as in `support_and_margins`."""

    def public_total(self, opinions: Tally) -> Fraction:
        """Return the weight of all who reported opinions, known where weights are public."""
        return self.weigh(self.voters_by_weight(opinions))

    def weigh(self, numbers: Sequence[int]) -> Fraction:
        """Return the weight of so many partners of each weight together, exactly."""
        units, denominator = self._units
        return Fraction(sum(map(operator.mul, units, numbers)), denominator)

    def multiples_of(self, each: Sequence[Fraction]) -> FloatArray:
        """Return each weight times each of some numbers, rounded once: shape (weights, numbers)."""
        units, denominator = self._units
        return np.array([[unit * own.numerator / (denominator * own.denominator) for own in each] for unit in units])

    @functools.cached_property
    def _units(self) -> tuple[list[int], int]:
        """The weights' numerators, and their common denominator."""
        ratios = [weight.as_integer_ratio() for weight in self._parameters.weights]
        denominator = math.lcm(*(below for _, below in ratios))
        return [above * (denominator // below) for above, below in ratios], denominator

    @abc.abstractmethod
    def voters_by_weight(self, opinions: Tally) -> list[int]:
        """Return how many of those who reported opinions have each public weight."""

    @abc.abstractmethod
    def contributions_of(self, weights: IntArray | None, opinions: IntArray, public: IntArray) -> FloatArray:
        """Return what one pair of reports adds to each candidate's margin, shape (n, columns of opinions)."""

    def make_phases(self) -> Iterator[Phase]:
        parameters = self._parameters
        opinions = self._opinion_columns
        if self._is_per_candidate:
            for number, column in enumerate(opinions, start=1):
                yield self.make_weights_phase(f"weights-{number}", column=0)
                yield self.make_opinions_phase(f"opinions-{number}", columns=range(column, column + 1))
            return
        if not parameters.public_weights:
            yield self.make_weights_phase("weights", column=0)
        yield self.make_opinions_phase("opinions", columns=opinions)

    def private_rows(self, holdings: Holdings) -> IntArray:
        rows = np.column_stack([self.encode_weights(holdings.places), holdings.opinions, holdings.places])
        rows[:, -1 - holdings.opinions.shape[1] : -1] *= self.greatest_opinion
        return rows

    def decode(self, inputs: Inputs) -> Holdings:
        places = inputs.public[:, 1] if self._parameters.public_weights else inputs.private[:, -1]
        columns = self._opinion_columns
        yes: NDArray[np.bool_] = inputs.private[:, columns.start : columns.stop] > 0
        return Holdings(places, yes.astype(np.int64))

    def weights_outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        if self._parameters.public_weights:
            total = Estimate(float(self.public_total(tallies[0])), 0.0)
            return WeightsOutcome(quota=self.quota(total), total_weight=total, weight_counts=())
        return self.weights_of(tallies[::2] if self._is_per_candidate else tallies[:1])

    def sums(self, number: int, tallies: Sequence[Tally]) -> Sums:
        weights: Tally | None
        if self._is_per_candidate:
            weights, opinions, place = tallies[2 * number], tallies[2 * number + 1], 0
        else:
            weights, opinions, place = tallies[0], tallies[-1], number
        if self._parameters.public_weights:
            weights = None
            quota = self.quota(Estimate(float(self.public_total(opinions)), 0.0))
        else:
            quota = self.quota(self.total_weight_of([weights]))
        totals = opinions.totals[place]
        support, margin, unbiased = self.support_and_margins(totals, weights, opinions)
        return Sums(support, quota, margin, unbiased, self.verdict_on(unbiased, totals, weights, opinions))

    def total_range(self, tallies: Sequence[Tally]) -> tuple[float, float]:
        if not self._parameters.public_weights:
            return super().total_range(tallies)
        total = float(self.public_total(tallies[0]))
        return total, total

    def contributions(self, reports: Sequence[IntArray], public: IntArray) -> FloatArray:
        if self._is_per_candidate:
            pairs = zip(reports[::2], reports[1::2], strict=True)
            return np.hstack([self.contributions_of(weights, opinions, public) for weights, opinions in pairs])
        return self.contributions_of(None if self._parameters.public_weights else reports[0], reports[-1], public)

    def quota(self, total_weight: Estimate) -> Estimate:
        """Return the quota: fixed, or the share of all weight."""
        if self._parameters.quota is not None:
            return Estimate(self._parameters.quota, 0.0)
        fraction = self._parameters.fraction
        return Estimate(fraction * total_weight.value, fraction * total_weight.standard_error)

    @property
    def _is_per_candidate(self) -> bool:
        return self._parameters.weight_collection == "per_candidate"

    @property
    def _opinion_columns(self) -> range:
        first = 0 if self._parameters.public_weights else 1
        return range(first, first + len(self._parameters.candidates))
