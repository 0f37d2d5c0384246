"""The phases and estimates of the variants `joint` and `printed`: k-RR on weights, binary RR on opinions.

Either may be replaced by a matrix of one's own (`mechanisms.own_matrix`); the estimates invert what was drawn by.

Both variants send the same reports and differ in what is computed from them. Write ŵ(g) for the debiased weight
of reported group g (E[ŵ(g) | w] = w), φ̂(o) for the debiased opinion, μ(g) for the group's own weight. A partner
adds to the support

    joint      ŵ(g)·φ̂(o)      unbiased: it inverts both matrices at once (reading W2)
    printed    μ(g)·φ̂(o)      equations (5) to (8b); shrinks weights towards their mean

and τ·ŵ(g) to the quota (equation 4b with τ = 1/2). Where weights are public, ŵ = μ and the two agree.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from ..arrays import FloatArray, IntArray
from ..elementary import square
from ..estimators import Estimate, LinearEstimator, Verdict, estimate_counts, project_to_simplex
from ..estimators.frequencies import Invertible, debiased_values, inverse_matrix
from ..estimators.linear import is_nearly_singular
from ..estimators.sum_tests import Alike
from ..mechanisms import MAX_EPSILON, MIN_EPSILON, FiniteChannel, GeneralizedRandomizedResponse
from ..phases import Phase
from ..privacy import local_loss
from ..tally import Tally
from .outcome import DecisionVerdict, WeightCount, WeightsOutcome
from .variant import Offer, PublishedWeights, TwoReports
from .worst_case import MOST_SCHEMERS, greatest_budget, greatest_chance

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName

_OPINIONS = (0, 1)
# Splits that are tried: so many hundredths of the price go to the weight.
_SPLITS = range(1, 100)


class WeightsPhase(PublishedWeights):
    """Randomized weights: every partner reports its group by k-RR.

    The tally counts the reports of each group, shape (groups,).
    """

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        num_groups = self.mechanism.report_range[1] + 1
        return Tally(len(reports), np.bincount(reports[:, 0], minlength=num_groups).astype(np.int64))


class OpinionsPhase(Phase):
    """Randomized opinions: every partner reports its opinion on some candidates by binary RR.

    The tally counts reports by candidate, group and opinion, shape (candidates, groups, 2). The group is the one
    that the partner reported in the weights phase just before (reading W1), or its public one.
    """

    def __init__(self, name: str, *, columns: range, parameters: "Parameters") -> None:
        mechanism = parameters.make_opinion_mechanism()
        law = _named(mechanism, "randomized response")
        loss = local_loss(law, mechanism.event, unit="opinion", claimed=parameters.loss_of_opinion)
        super().__init__(name, columns=columns, mechanism=mechanism, losses=[loss] * len(columns))
        self._num_groups = len(parameters.group_means)
        self._public_weights = parameters.public_weights

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        if self._num_groups == 1:  # whose opinions are counted several times as fast
            yes = np.count_nonzero(reports, axis=0)
            return Tally(len(reports), np.stack([len(reports) - yes, yes], axis=1)[:, None])
        groups = public[:, 0] if self._public_weights else earlier[-1][:, 0]
        cells = 2 * groups
        counts = [
            np.bincount(cells + reports[:, candidate], minlength=2 * self._num_groups)
            for candidate in range(self.num_values)
        ]
        totals = np.array(counts, dtype=np.int64).reshape(self.num_values, self._num_groups, len(_OPINIONS))
        return Tally(len(reports), totals)


class JointVariant(TwoReports):
    """The variant `joint`: the two phases above and all estimates from their tallies.

    Contributions are fractions of the exact channel probabilities, so that a tie is decided as a tie.
    """

    name: "ClassVar[VariantName]" = "joint"
    counts_by_group: ClassVar[bool] = True

    def __init__(self, parameters: "Parameters") -> None:
        super().__init__(parameters)
        self._means = tuple(Fraction(mean) for mean in parameters.group_means)
        self._fraction = parameters.exact_fraction
        self._fixed_quota = Fraction(parameters.quota or 0)
        self._opinion = parameters.make_opinion_mechanism()
        self._opinions = debiased_values(self._opinion, _OPINIONS)

    @classmethod
    def offer_of(cls, parameters: "Parameters") -> Offer | None:
        """Return the best split of the price; None where no part of it is large enough, and of a biased variant."""
        if cls.is_biased:
            return None
        number = len(parameters.candidates)
        price = number * parameters.epsilon
        best: Offer | None = None
        for part in _SPLITS:
            # What is more than one report may cost is not spent.
            weight = min(price * part / 100, MAX_EPSILON)
            opinion = min(price * (100 - part) / 100 / number, MAX_EPSILON)
            if min(weight, opinion) < MIN_EPSILON:
                continue
            variance = joint_worst_variance(parameters, epsilon_weight=weight, epsilon_opinion=opinion)
            if best is None or variance < best.worst_variance:
                best = Offer(
                    variant=cls.name,
                    epsilon_weight=weight,
                    epsilon_opinion=opinion,
                    epsilon_total=weight + number * opinion,
                    worst_variance=variance,
                )
        return best

    @property
    def worst_variance(self) -> float:
        """That of ŵ·φ̂ − τ·ŵ, by the mechanisms that are drawn by."""
        return _joint_worst_variance(self._parameters, self._weight, self._opinion)

    def make_weights_phase(self, name: str, *, column: int) -> Phase:
        mechanism = self._parameters.make_weight_mechanism()
        loss = local_loss(
            _named(mechanism, "k-RR"), mechanism.event, unit="weight", claimed=self._parameters.loss_of_weight
        )
        return WeightsPhase(name, column, mechanism, loss, scope=self._parameters.scope, publish=self.weights_of)

    def make_opinions_phase(self, name: str, *, columns: range) -> Phase:
        return OpinionsPhase(name, columns=columns, parameters=self._parameters)

    def weights_of(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        counts: list[int] = functools.reduce(Tally.merge, tallies).totals.tolist()
        total = self.total_weight_of(tallies)
        return WeightsOutcome(
            quota=self.quota(total), total_weight=total, weight_counts=self._weight_counts(counts, len(tallies))
        )

    def total_weight_of(self, tallies: Sequence[Tally]) -> Estimate:
        pooled = self._total_weight.estimate(functools.reduce(Tally.merge, tallies).totals.tolist())
        # The reports of several rounds are independent given the weights, so the average of `rounds` has the pooled
        # sum's standard error divided by their number.
        return Estimate(pooled.value / len(tallies), pooled.standard_error / len(tallies))

    def reach(self, numbers: Sequence[int]) -> float | None:
        if self.is_biased:
            return None
        if (
            self._parameters.public_weights
            and not self._parameters.rounding
            and (reach := self._reach_on_lattice(numbers)) is not None
        ):
            return reach
        reports = np.array(numbers, dtype=np.int64)[:, None]
        return self.reach_of(self._parts(reports, None), num_partners=sum(numbers))

    def verdict_on(self, margin: float, totals: IntArray, weights: Tally | None, opinions: Tally) -> DecisionVerdict:
        if weights is None:
            numbers, table = self.voters_by_weight(opinions), totals.tolist()
            if (verdict := self._on_lattice(margin, table, numbers)) is not None:
                return verdict
        judged = opinions if weights is None else weights
        return self.judge(margin, self._parts(totals, weights), num_partners=judged.num_reports)

    def _parts(self, totals: IntArray, weights: Tally | None) -> list[Alike]:
        """Return the reports of one candidate's unbiased margin."""
        if isinstance(self._margin, _SumsByWeight):
            return [self._margin.reports(totals)]
        voted = int(totals.sum())
        absent = 0 if weights is None else weights.num_reports - voted
        return [self._margin.reports(voted), self._share_of_quota.reports(absent)]

    def voters_by_weight(self, opinions: Tally) -> list[int]:
        numbers: list[int] = opinions.totals[0].sum(axis=1).tolist()
        return numbers

    def _on_lattice(
        self, margin: float, table: Sequence[Sequence[int]], numbers: Sequence[int]
    ) -> DecisionVerdict | None:
        """Return the verdict that holds for every truth, by a bound on all of them; None where that takes too long.

        In units of which all weights are multiples, "passes" is held against truths that fail by as little as
        possible; "fails" likewise, "no" in place of "yes".
        """
        parameters = self._parameters
        if sum(numbers) > MOST_SCHEMERS:
            return None
        units, quota = self._in_units(numbers)
        total = sum(units)
        failing = math.ceil(quota) - 1 if parameters.passes == "at_least" else math.floor(quota)
        told = self._told_yes
        yes = sum(weight * row[told] for weight, row in zip(self.lattice[1], table, strict=True))
        if margin > 0:
            decided, budget, needed, meant = Verdict.PASSES, failing, yes, 1
        else:
            decided, budget, needed, meant = Verdict.FAILS, total - failing - 1, total - yes, 0
        chance = greatest_chance(units, budget, needed, **self._law_of(meant)) if budget >= 0 else 0.0
        if chance is None:
            return None
        return DecisionVerdict(decided if chance <= parameters.level else Verdict.TOO_CLOSE, parameters.level)

    def _reach_on_lattice(self, numbers: Sequence[int]) -> float | None:
        """Return from which margin on decisions are right but for the level, by the bound of verdicts; None likewise.

        Reports that tie are taken for the wrong decision on either side.
        """
        if not 0 < sum(numbers) <= MOST_SCHEMERS:
            return None
        units, quota = self._in_units(numbers)
        total, told = sum(units), self._told_yes
        no, yes = self._opinions[1 - told], self._opinions[told]
        tie = (quota - total * no) / (yes - no)
        reach = Fraction(0)
        # Those who mean "no" may report enough "yes" that it passes, and those who mean "yes" enough "no".
        for meant, needed, within in ((1, math.ceil(tie), quota), (0, total - math.floor(tie), total - quota)):
            most = math.floor(within)
            budget = greatest_budget(units, most, needed, self._parameters.level, **self._law_of(meant))
            if budget is None:
                return None
            if budget < most:
                reach = max(reach, within - budget)
        return float(reach * self.lattice[0])

    def _in_units(self, numbers: Sequence[int]) -> tuple[tuple[int, ...], Fraction]:
        """Return the weights of so many partners by weight, and the quota, in units of the lattice."""
        unit, weights = self.lattice
        units = tuple(itertools.chain.from_iterable([weight] * n for weight, n in zip(weights, numbers, strict=True)))
        return units, self._parameters.exact_fraction * sum(units) + Fraction(str(self._parameters.quota or 0)) / unit

    @functools.cached_property
    def _told_yes(self) -> int:
        """Which report counts for a "yes": of a matrix, what is reported less often by those who mean it may."""
        return 1 if self._opinions[1] > self._opinions[0] else 0

    def _law_of(self, meant: int) -> dict[str, float]:
        """Return how often an opinion's report comes from those who mean it, and from those who do not."""
        report = self._told_yes if meant else 1 - self._told_yes
        channel = self._opinion.channel_matrix()
        return {"keep": channel[meant][report], "lie": channel[1 - meant][report]}

    def support_and_margins(
        self, totals: IntArray, weights: Tally | None, opinions: Tally
    ) -> tuple[Estimate, Estimate, float]:
        # Whoever reported a weight and then no opinion counts in the quota alone.
        absent: list[int] = [] if weights is None else (weights.totals - totals.sum(axis=1)).tolist()
        total, variance = _add_up(self._support, totals)
        support = Estimate(float(total), math.sqrt(variance))
        margin = self._margin_of(self._margin, totals, absent)
        if not self.is_biased:
            return support, margin, margin.value
        return support, self._margin_of(self._printed_margin, totals, absent), margin.value

    def contributions_of(self, weights: IntArray | None, opinions: IntArray, public: IntArray) -> FloatArray:
        rows = self._rows(self._deciding, fraction=self._fraction)
        groups = public[:, :1] if weights is None else weights
        return np.array([[float(number) for number in row] for row in rows])[groups, opinions]

    def _margin_of(self, estimator: "_Sums", totals: IntArray, absent: Sequence[int]) -> Estimate:
        total, variance = _add_up(estimator, totals)
        if any(absent) and self._fraction:
            total -= self._fraction * self._total_weight.total(absent)
            variance += square(self._parameters.fraction) * self._total_weight.total_variance(absent)
        return Estimate(float(total - self._fixed_quota), math.sqrt(variance))

    @functools.cached_property
    def _debiased(self) -> tuple[Fraction, ...]:
        """ŵ(g): the numbers whose expectation, over the report of a partner of weight w, is w."""
        return self._means if self._parameters.public_weights else debiased_values(self._weight, self._means)

    @property
    def _deciding(self) -> tuple[Fraction, ...]:
        """What a reported weight counts for in the support that decides."""
        return self._means if self.is_biased else self._debiased

    @functools.cached_property
    def _weight(self) -> Invertible:
        return self._parameters.make_weight_mechanism()

    @functools.cached_property
    def _total_weight(self) -> LinearEstimator:
        return LinearEstimator(self._debiased, *self._matrices_of_weight)

    @functools.cached_property
    def _share_of_quota(self) -> LinearEstimator:
        """What a partner adds to a margin that reports a weight and no opinion."""
        contributions = [-self._fraction * debiased for debiased in self._debiased]
        return LinearEstimator(contributions, *self._matrices_of_weight)

    @functools.cached_property
    def _support(self) -> "_Sums":
        return self._estimator(self._deciding, fraction=Fraction(0))

    @functools.cached_property
    def _margin(self) -> "_Sums":
        return self._estimator(self._debiased, fraction=self._fraction)

    @functools.cached_property
    def _printed_margin(self) -> "_Sums":
        return self._estimator(self._means, fraction=self._fraction)

    def _rows(self, weights: Sequence[Fraction], *, fraction: Fraction) -> list[list[Fraction]]:
        """Return weights[g]·φ̂(o) − fraction·ŵ(g), a row for each group g and a column for each opinion o."""
        pairs = zip(weights, (fraction * debiased for debiased in self._debiased), strict=True)
        return [[weight * opinion - share for opinion in self._opinions] for weight, share in pairs]

    def _estimator(self, weights: Sequence[Fraction], *, fraction: Fraction) -> "_Sums":
        """Return the sum of weights[g]·φ̂(o) − fraction·ŵ(g) over the reports (g, o).

        Where weights are public, every weight is a stratum of its own; otherwise there is one, over both.
        """
        if self._parameters.public_weights:
            each = [opinion - fraction for opinion in self._opinions]
            return _SumsByWeight(self, each, *_matrices_of(self._opinion))
        contributions = list(itertools.chain.from_iterable(self._rows(weights, fraction=fraction)))
        return LinearEstimator(contributions, *self._matrices)

    @functools.cached_property
    def _matrices(self) -> list[FloatArray]:
        """The channel of weight and opinion together, and its inverse."""
        return [
            np.multiply.outer(*both).swapaxes(1, 2).reshape(2 * len(self._means), -1)
            for both in zip(self._matrices_of_weight, _matrices_of(self._opinion), strict=True)
        ]

    @functools.cached_property
    def _matrices_of_weight(self) -> list[FloatArray]:
        return _matrices_of(self._weight)

    def _weight_counts(self, counts: Sequence[int], rounds: int) -> tuple[WeightCount, ...]:
        pooled = estimate_counts(self._weight, counts)
        estimates = [Estimate(pool.value / rounds, pool.standard_error / rounds) for pool in pooled]
        weights = self._parameters.group_means
        if not self._parameters.project_counts:
            return tuple(map(WeightCount, weights, estimates))
        projected = project_to_simplex([e.value for e in estimates], total=sum(counts) / rounds)
        return tuple(map(WeightCount, weights, estimates, projected))


class PrintedVariant(JointVariant):
    """The variant `printed`: the same reports, and the paper's biased estimate of the support."""

    name: "ClassVar[VariantName]" = "printed"
    is_biased: ClassVar[bool] = True


def joint_worst_variance(parameters: "Parameters", *, epsilon_weight: float, epsilon_opinion: float) -> float:
    """Return the greatest variance of ŵ·φ̂ − τ·ŵ, what a partner of variant `joint` adds to a margin.

    Both reported by k-RR. Var = E[ŵ² | w]·E[(φ̂ − τ)² | φ] − w²(φ − τ)², since the two reports are independent.
    """
    of_weight = GeneralizedRandomizedResponse(epsilon_weight, len(parameters.group_means))
    return _joint_worst_variance(parameters, of_weight, GeneralizedRandomizedResponse(epsilon_opinion, 2))


def _joint_worst_variance(parameters: "Parameters", of_weight: Invertible, of_opinion: Invertible) -> float:
    weights = parameters.group_means
    variances = zip(weights, debiased_variances(of_weight, weights), strict=True)
    second_moments = [variance + square(weight) for weight, variance in variances]
    spread = debiased_variances(of_opinion, (0.0, 1.0))
    share = parameters.fraction
    return max(
        moment * (noise + square(opinion - share)) - square(weight * (opinion - share))
        for weight, moment in zip(weights, second_moments, strict=True)
        for opinion, noise in enumerate(spread)
    )


def debiased_variances(mechanism: Invertible, values: Sequence[float]) -> list[float]:
    """Return the variance of the debiased report of each value."""
    debiased = [float(number) for number in debiased_values(mechanism, values)]
    if isinstance(mechanism, FiniteChannel):
        return [
            math.fsum(chance * square(number - value) for chance, number in zip(row, debiased, strict=True))
            for value, row in zip(values, mechanism.channel_matrix(), strict=True)
        ]
    keep, lie = mechanism.keep_probability, mechanism.lie_probability
    of_lies = lie * math.fsum(square(number) for number in debiased)
    return [
        (keep - lie) * square(number) + of_lies - square(value) for number, value in zip(debiased, values, strict=True)
    ]


def _matrices_of(mechanism: Invertible) -> list[FloatArray]:
    return [np.array(mechanism.channel_matrix()), np.array(inverse_matrix(mechanism))]


def _named(mechanism: Invertible, otherwise: str) -> str:
    return "a matrix of one's own" if isinstance(mechanism, FiniteChannel) else otherwise


class _SumsByWeight:
    """Sums over partners whose weights are public: a report counts for the weight times a number of its opinion.

    Values and variances are those of a `LinearEstimator` for each weight, bit for bit: two terms have one sum.

    Args:
        variant: whose weights, increasing.
        each: the number of each opinion.
    """

    def __init__(
        self,
        variant: TwoReports,
        each: Sequence[Fraction],
        channel: FloatArray,
        inverse: FloatArray,
    ) -> None:
        self._weigh, self._each, self._channel = variant.weigh, each, channel
        self._numbers = variant.multiples_of(each)
        terms = self._numbers[:, None, :]
        off = terms - (self._channel * terms).sum(axis=2, keepdims=True)
        variances = (self._channel * (off * off)).sum(axis=2)
        self._least = variances.min(axis=1)
        self._of_reports: FloatArray = (inverse.T * variances[:, None, :]).sum(axis=2)
        if is_nearly_singular(inverse):
            self._least = variances.max(axis=1)
            self._of_reports = np.zeros_like(self._of_reports)

    def add_up(self, totals: IntArray) -> tuple[Fraction, float]:
        """Return value and variance, from the numbers of reports by weight and opinion."""
        columns: list[list[int]] = totals.T.tolist()
        value = sum((own * self._weigh(of) for own, of in zip(self._each, columns, strict=True)), start=Fraction(0))
        numbers = totals.sum(axis=1)
        plug_in = (totals * self._of_reports).sum(axis=1)
        return value, math.fsum(np.maximum(plug_in, numbers * self._least).tolist())

    def reports(self, totals: IntArray) -> Alike:
        """Return the reports as parts of a sum, one for each weight that has any."""
        numbers = totals.sum(axis=1)
        return Alike(self._numbers[numbers > 0], self._channel, numbers[numbers > 0])


_Sums: TypeAlias = LinearEstimator | _SumsByWeight


def _add_up(estimator: _Sums, totals: IntArray) -> tuple[Fraction, float]:
    """Return value and variance of a sum over reports, by group and opinion."""
    if isinstance(estimator, _SumsByWeight):
        return estimator.add_up(totals)
    counts: list[int] = totals.reshape(-1).tolist()
    return estimator.total(counts), estimator.total_variance(counts)
