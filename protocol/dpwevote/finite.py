"""The phases and estimates of the variants `joint` and `printed`: k-RR on weights, binary RR on opinions.

A user-defined matrix may replace either (`mechanisms.own_matrix`); the estimates invert the matrix that was used.

Both variants send the same reports, and differ in their estimates. Let ŵ(g) be the debiased weight of reported group g
(E[ŵ(g) | w] = w), φ̂(o) the debiased opinion, and μ(g) the mean weight of the group. A partner contributes to the
support

    joint      ŵ(g)·φ̂(o)      unbiased: it inverts both matrices at once (reading W2)
    printed    μ(g)·φ̂(o)      equations (5) to (8b); shrinks weights towards their mean

and τ·ŵ(g) to the quota (equation 4b with τ = 1/2). If weights are public, ŵ = μ, and the two variants agree.
"""

import functools
import itertools
import math
import operator
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

import numpy as np

from ..arrays import ExactSums, FloatArray, IntArray, counts_of_rows
from ..elementary import square
from ..estimators import Estimate, LinearEstimator, Verdict, estimate_counts, project_to_simplex
from ..estimators.frequencies import Invertible, debiased_values, inverse_matrix
from ..estimators.linear import is_nearly_singular
from ..estimators.sum_tests import Alike
from ..mechanisms import MAX_EPSILON, MIN_EPSILON, FiniteChannel, GeneralizedRandomizedResponse
from ..phases import Phase
from ..privacy import local_loss
from ..tally import Tally, TallyBlock
from .outcome import WeightCount, WeightsOutcome
from .two_reports import PublishedWeights, TwoReports
from .variant import MOST_UNITS, Offer, ReportSums, unit_of
from .worst_case import MOST_PARTNERS, greatest_budget, greatest_chance

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName

_OPINIONS = (0, 1)
# The splits that are tried, as hundredths of the cost for the weight's report.
_SPLITS = range(1, 100)
_MOST_KNOWN: Final = 1 << 12  # cached verdicts with public weights


class WeightsPhase(PublishedWeights):
    """Randomized weights: every partner reports its group by k-RR.

    The tally counts the reports of each group, shape (groups,).
    """

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return self.tally_block(reports[None], earlier=(), public=public).tally(0)

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        return TallyBlock(reports.shape[1], counts_of_rows(reports[:, :, 0], self.mechanism.report_range[1] + 1))


class OpinionsPhase(Phase):
    """Randomized opinions: every partner reports its opinion on some candidates by binary RR.

    The tally counts reports by candidate, group and opinion, shape (candidates, groups, 2). The group is the one that
    the partner reported in the preceding weights phase (reading W1), or its public one.
    """

    def __init__(self, name: str, *, columns: range, parameters: "Parameters") -> None:
        mechanism = parameters.make_opinion_mechanism()
        law = _mechanism_name(mechanism, "randomized response")
        loss = local_loss(law, mechanism.event, unit="opinion", claimed=parameters.loss_of_opinion)
        super().__init__(name, columns=columns, mechanism=mechanism, losses=[loss] * len(columns))
        self._num_groups = len(parameters.group_means)
        self._public_weights = parameters.public_weights

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        if self._num_groups == 1:  # a special case that is several times as fast
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

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        groups = public[:, 0] if self._public_weights else earlier[-1][:, :, 0]
        cells = 2 * groups[..., None] + reports
        shape = (len(reports), self.num_values, self._num_groups, len(_OPINIONS))
        counts = counts_of_rows(cells.swapaxes(1, 2).reshape(-1, reports.shape[1]), 2 * self._num_groups)
        return TallyBlock(reports.shape[1], counts.reshape(shape))


class JointVariant(TwoReports):
    """The variant `joint`: the two phases above and all estimates from their tallies.

    Contributions are exact fractions of the channel probabilities, so that ties are recognized.
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
        self._known_verdict = functools.lru_cache(maxsize=_MOST_KNOWN)(self._verdict_on_lattice)

    @classmethod
    def offer_of(cls, parameters: "Parameters") -> Offer | None:
        """Return the best split of the price; None where no part of it is large enough, and of a biased variant."""
        if cls.is_biased:
            return None
        number = len(parameters.candidates)
        price = number * parameters.epsilon
        best: Offer | None = None
        for part in _SPLITS:
            # A report cannot cost more than this; the remainder is not spent.
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
        """The greatest variance of ŵ·φ̂ − τ·ŵ over a partner's values, by the mechanisms that draw."""
        return _joint_worst_variance(self._parameters, self._weight, self._opinion)

    @property
    def report_sums(self) -> ReportSums | None:
        """A group's weight x in units of a lattice, the opinion o, and x·o, each times a number."""
        unit, is_public = unit_of(self._means), self._parameters.public_weights
        units = [int(mean / unit) for mean in self._means]
        if units[-1] > MOST_UNITS or (not is_public and isinstance(self._weight, FiniteChannel)):
            return None
        rows = self._rows(self._decision_weights, fraction=self._fraction)
        (no, yes), span = rows[0], units[-1] - units[0] or 1
        of_both, of_weight = (rows[-1][1] - rows[-1][0] - yes + no) / span, (rows[-1][0] - no) / span
        x, o = (np.array(values, dtype=np.int64) for values in zip(*itertools.product(units, _OPINIONS), strict=True))
        columns = [(of_both, x * o), (of_weight, x), (yes - no - of_both * units[0], o)]
        weights = np.eye(len(units)) if is_public else self._matrices_of_weight[0]
        channel: FloatArray = np.kron(weights, _matrices_of(self._opinion)[0]).astype(np.float64)
        return ReportSums(channel, no - of_weight * units[0], columns)

    def make_weights_phase(self, name: str, *, column: int) -> Phase:
        mechanism = self._parameters.make_weight_mechanism()
        loss = local_loss(
            _mechanism_name(mechanism, "k-RR"), mechanism.event, unit="weight", claimed=self._parameters.loss_of_weight
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

    def total_weights(self, tallies: Sequence[TallyBlock]) -> FloatArray:
        pooled = functools.reduce(operator.add, (tally.totals for tally in tallies))
        return self._exact_total.to_floats(pooled) / len(tallies)

    def error_of_total(self, tallies: Sequence[Tally]) -> float:
        pooled = self._total_weight.total_variance(functools.reduce(Tally.merge, tallies).totals.tolist())
        # Given the weights, the reports of several rounds are independent. So the standard error of their average is
        # that of the sum divided by the number of rounds.
        return math.sqrt(pooled) / len(tallies)

    def weight_counts(self, tallies: Sequence[TallyBlock]) -> FloatArray:
        if self._parameters.public_weights:
            return super().weight_counts(tallies)
        rounds = tallies[::2] if self._is_per_candidate else tallies[:1]
        pooled = functools.reduce(operator.add, (tally.totals for tally in rounds))
        if isinstance(self._weight, FiniteChannel):
            return np.stack([sums.to_floats(pooled) for sums in self._exact_counts], axis=1) / len(rounds)
        # With k-RR, equal numbers of reports have equal estimates.
        numbers, places = np.unique(pooled, return_inverse=True)
        count_pairs = np.stack([numbers, sum(tally.num_reports for tally in rounds) - numbers], axis=1)
        return (self._exact_count.to_floats(count_pairs) / len(rounds))[places].reshape(pooled.shape)

    @functools.cached_property
    def _exact_count(self) -> ExactSums:
        """How many hold a weight, by how many reported it, and another one, by k-RR."""
        return ExactSums(inverse_matrix(self._weight)[0][:2])

    @functools.cached_property
    def _exact_total(self) -> ExactSums:
        return ExactSums(self._debiased_weights)

    @functools.cached_property
    def _exact_counts(self) -> list[ExactSums]:
        """Of each weight, what `estimate_counts` adds up."""
        return list(map(ExactSums, inverse_matrix(self._weight)))

    def reach(self, numbers: Sequence[int]) -> float | None:
        if self.is_biased:
            return None
        if (
            self._parameters.public_weights
            and not self._parameters.rounding
            and (reach := self._reach_on_lattice(numbers)) is not None
        ):
            return reach
        number = sum(numbers)
        voted = numbers if self._parameters.public_weights else number
        return self.reach_of(self._parts(voted, number), num_partners=number)

    def verdicts_on(
        self, margins: FloatArray, totals: IntArray, weights: TallyBlock | None, opinions: TallyBlock
    ) -> list[Verdict]:
        if weights is not None:
            return self._judge_sums(margins, totals.sum(axis=(1, 2)).tolist(), weights.num_reports)
        voters: list[list[int]] = self.voters_by_weight(opinions).tolist()
        numbers = [tuple(count_row) for count_row in voters]
        counts = totals[:, :, self._yes_report].tolist()
        yes = [sum(map(operator.mul, self.lattice[1], row)) for row in counts]
        keys = zip((margins > 0).tolist(), yes, numbers, strict=True)
        verdicts = [self._known_verdict(*key) for key in keys]
        if None not in verdicts:
            return [verdict for verdict in verdicts if verdict is not None]
        by_sums = self._judge_sums(margins, numbers, opinions.num_reports)
        return [on_lattice or verdict_by_sums for on_lattice, verdict_by_sums in zip(verdicts, by_sums, strict=True)]

    def _judge_sums(self, margins: FloatArray, keys: Iterable[Hashable], num_partners: int) -> list[Verdict]:
        """Return verdicts by the sum of reports: keys are how many voted, or as many of each public weight."""

        def reach(key: Any, sign: float) -> float:
            return self.reach_towards(self._parts(key, num_partners), sign)

        return self.judge(margins, keys, reach, num_partners=num_partners)

    def _parts(self, voted: int | Sequence[int], num_partners: int) -> list[Alike]:
        """Return the reports of one candidate's unbiased margin."""
        if isinstance(self._margin, _SumsByWeight):
            return [self._margin.reports(np.array(voted, dtype=np.int64))]
        assert isinstance(voted, int)  # noqa: S101  of private weights
        return [self._margin.reports(voted), self._share_of_quota.reports(num_partners - voted)]

    def voters_by_weight(self, opinions: TallyBlock) -> IntArray:
        return opinions.totals[:, 0].sum(axis=2)

    def _verdict_on_lattice(self, is_ahead: bool, yes: int, numbers: tuple[int, ...]) -> Verdict | None:  # noqa: FBT001  of a key
        """Return the verdict that holds for every truth, by a bound on all truths; None if that takes too long.

        Weights are multiples of one unit. "passes" is tested against truths that fail by the least amount; "fails" in
        the same way, with "no" in place of "yes".

        Args:
            is_ahead: whether the margin is above 0.
            yes: the reported weight of "yes", in these units.
            numbers: the number of partners with each weight.
        """
        parameters = self._parameters
        if sum(numbers) > MOST_PARTNERS:
            return None
        units, quota = self._to_units(numbers)
        total = sum(units)
        failing = math.ceil(quota) - 1 if parameters.passes == "at_least" else math.floor(quota)
        if is_ahead:
            decided, budget, num_needed, meant = Verdict.PASSES, failing, yes, 1
        else:
            decided, budget, num_needed, meant = Verdict.FAILS, total - failing - 1, total - yes, 0
        chance = greatest_chance(units, budget, num_needed, **self._report_chances(meant)) if budget >= 0 else 0.0
        if chance is None:
            return None
        return decided if chance <= parameters.level else Verdict.TOO_CLOSE

    def _reach_on_lattice(self, numbers: Sequence[int]) -> float | None:
        """Return the margin from which on decisions are wrong with probability at most the level; None if that is slow.

        It uses the bound of verdicts. Reports that tie count as the wrong decision on either side.
        """
        if not 0 < sum(numbers) <= MOST_PARTNERS:
            return None
        units, quota = self._to_units(numbers)
        total, report = sum(units), self._yes_report
        no, yes = self._opinions[1 - report], self._opinions[report]
        tie = (quota - total * no) / (yes - no)
        reach = Fraction(0)
        # Either enough partners with opinion "no" report "yes" that it passes, or the reverse.
        for meant, num_needed, limit in ((1, math.ceil(tie), quota), (0, total - math.floor(tie), total - quota)):
            most = math.floor(limit)
            budget = greatest_budget(units, most, num_needed, self._parameters.level, **self._report_chances(meant))
            if budget is None:
                return None
            if budget < most:
                reach = max(reach, limit - budget)
        return float(reach * self.lattice[0])

    def _to_units(self, numbers: Sequence[int]) -> tuple[tuple[int, ...], Fraction]:
        """Return the weights of so many partners by weight, and the quota, in units of the lattice."""
        unit, weights = self.lattice
        units = tuple(itertools.chain.from_iterable([weight] * n for weight, n in zip(weights, numbers, strict=True)))
        return units, self._parameters.exact_fraction * sum(units) + Fraction(str(self._parameters.quota or 0)) / unit

    @functools.cached_property
    def _yes_report(self) -> int:
        """Which report counts for a "yes": of a matrix, what is reported less often by those who mean it may."""
        return 1 if self._opinions[1] > self._opinions[0] else 0

    def _report_chances(self, meant: int) -> dict[str, float]:
        """Return how often an opinion's report comes from those who mean it, and from those who do not."""
        report = self._yes_report if meant else 1 - self._yes_report
        channel = self._opinion.channel_matrix()
        return {"keep": channel[meant][report], "flip": channel[1 - meant][report]}

    def support_and_margins(
        self, totals: IntArray, weights: TallyBlock | None, opinions: TallyBlock
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        counts = totals.reshape(len(totals), -1)
        if weights is not None:
            # A partner that reported a weight but no opinion counts only in the quota.
            counts = np.concatenate([counts, weights.totals - totals.sum(axis=2)], axis=1)
        support, unbiased, printed = self._exact_sums
        margin = unbiased.to_floats(counts)
        return support.to_floats(counts), printed.to_floats(counts) if self.is_biased else margin, margin

    def errors_of(self, totals: IntArray, weights: Tally | None, opinions: Tally) -> tuple[float, float]:
        absent: list[int] = [] if weights is None else (weights.totals - totals.sum(axis=1)).tolist()
        variance = _variance_of(self._printed_margin if self.is_biased else self._margin, totals)
        if any(absent) and self._fraction:
            variance += square(self._parameters.fraction) * self._total_weight.total_variance(absent)
        return math.sqrt(_variance_of(self._support, totals)), math.sqrt(variance)

    @functools.cached_property
    def _exact_sums(self) -> tuple[ExactSums, ExactSums, ExactSums]:
        """Support, unbiased and printed margin, of reports by group and opinion, then of the absent by group."""
        means, absent = self._means, [-self._fraction * debiased for debiased in self._debiased_weights]
        if self._parameters.public_weights:
            absent = []
        unbiased, printed = (
            ExactSums([*self._flat_rows(weights, self._fraction), *absent], -self._fixed_quota)
            for weights in (self._debiased_weights, means)
        )
        return (
            ExactSums([*self._flat_rows(self._decision_weights, Fraction(0)), *(0 for _ in absent)]),
            unbiased,
            printed,
        )

    def _flat_rows(self, weights: Sequence[Fraction], fraction: Fraction) -> list[Fraction]:
        return list(itertools.chain.from_iterable(self._rows(weights, fraction=fraction)))

    def contributions_of(self, weights: IntArray | None, opinions: IntArray, public: IntArray) -> FloatArray:
        rows = self._rows(self._decision_weights, fraction=self._fraction)
        groups = public[:, :1] if weights is None else weights
        return np.array([[float(number) for number in row] for row in rows])[groups, opinions]

    @functools.cached_property
    def _debiased_weights(self) -> tuple[Fraction, ...]:
        """ŵ(g): the numbers whose expectation, over the report of a partner of weight w, is w."""
        return self._means if self._parameters.public_weights else debiased_values(self._weight, self._means)

    @property
    def _decision_weights(self) -> tuple[Fraction, ...]:
        """The contribution of each reported weight to the support that decides."""
        return self._means if self.is_biased else self._debiased_weights

    @functools.cached_property
    def _weight(self) -> Invertible:
        return self._parameters.make_weight_mechanism()

    @functools.cached_property
    def _total_weight(self) -> LinearEstimator:
        return LinearEstimator(self._debiased_weights, *self._matrices_of_weight)

    @functools.cached_property
    def _share_of_quota(self) -> LinearEstimator:
        """The contribution to a margin of a partner that reports a weight and no opinion."""
        contributions = [-self._fraction * debiased for debiased in self._debiased_weights]
        return LinearEstimator(contributions, *self._matrices_of_weight)

    @functools.cached_property
    def _support(self) -> "_Sums":
        return self._estimator(self._decision_weights, fraction=Fraction(0))

    @functools.cached_property
    def _margin(self) -> "_Sums":
        return self._estimator(self._debiased_weights, fraction=self._fraction)

    @functools.cached_property
    def _printed_margin(self) -> "_Sums":
        return self._estimator(self._means, fraction=self._fraction)

    def _rows(self, weights: Sequence[Fraction], *, fraction: Fraction) -> list[list[Fraction]]:
        """Return weights[g]·φ̂(o) − fraction·ŵ(g), a row for each group g and a column for each opinion o."""
        pairs = zip(weights, (fraction * debiased for debiased in self._debiased_weights), strict=True)
        return [[weight * opinion - share for opinion in self._opinions] for weight, share in pairs]

    def _estimator(self, weights: Sequence[Fraction], *, fraction: Fraction) -> "_Sums":
        """Return the sum of weights[g]·φ̂(o) − fraction·ŵ(g) over the reports (g, o).

        If weights are public, every weight is a stratum; otherwise there is one stratum.
        """
        if self._parameters.public_weights:
            values = [opinion - fraction for opinion in self._opinions]
            return _SumsByWeight(self._parameters.weights, values, *_matrices_of(self._opinion))
        return LinearEstimator(self._flat_rows(weights, fraction), *self._matrices)

    @functools.cached_property
    def _matrices(self) -> list[FloatArray]:
        """The channel of weight and opinion together, and its inverse."""
        return [
            np.multiply.outer(*pair).swapaxes(1, 2).reshape(2 * len(self._means), -1)
            for pair in zip(self._matrices_of_weight, _matrices_of(self._opinion), strict=True)
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
    """Return the greatest variance of ŵ·φ̂ − τ·ŵ, a partner's contribution to a margin in variant `joint`, by k-RR.

    Since the two reports are independent, it is E[ŵ² | w]·E[(φ̂ − τ)² | φ] − w²(φ − τ)² for weight w and opinion φ.
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
    keep, flip = mechanism.keep_probability, mechanism.flip_probability
    of_flips = flip * math.fsum(square(number) for number in debiased)
    return [
        (keep - flip) * square(number) + of_flips - square(value)
        for number, value in zip(debiased, values, strict=True)
    ]


def _matrices_of(mechanism: Invertible) -> list[FloatArray]:
    return [np.array(mechanism.channel_matrix()), np.array(inverse_matrix(mechanism))]


def _mechanism_name(mechanism: Invertible, otherwise: str) -> str:
    return "a matrix of one's own" if isinstance(mechanism, FiniteChannel) else otherwise


class _SumsByWeight:
    """Sums over partners with public weights, whose reports count as their weight times a number for the opinion.

    Variances are those of a `LinearEstimator` for each weight, bit for bit, since sums of two terms have one order.

    Args:
        weights: the public set, increasing.
        values: the number for each opinion.
    """

    def __init__(
        self, weights: Sequence[float], values: Sequence[Fraction], channel: FloatArray, inverse: FloatArray
    ) -> None:
        self._channel = channel
        ratios = [weight.as_integer_ratio() for weight in weights]
        products = [
            [top * number.numerator, bottom * number.denominator] for top, bottom in ratios for number in values
        ]
        self._numbers = np.array([top / bottom for top, bottom in products]).reshape(len(weights), -1)  # rounded once
        terms = self._numbers[:, None, :]
        off = terms - (self._channel * terms).sum(axis=2, keepdims=True)
        variances = (self._channel * (off * off)).sum(axis=2)
        self._least = variances.min(axis=1)
        self._of_reports: FloatArray = (inverse.T * variances[:, None, :]).sum(axis=2)
        if is_nearly_singular(inverse):
            self._least = variances.max(axis=1)
            self._of_reports = np.zeros_like(self._of_reports)

    def variance(self, totals: IntArray) -> float:
        """Return the variance, from the numbers of reports by weight and opinion."""
        numbers = totals.sum(axis=1)
        plug_in = (totals * self._of_reports).sum(axis=1)
        return math.fsum(np.maximum(plug_in, numbers * self._least).tolist())

    def reports(self, numbers: IntArray) -> Alike:
        """Return the numbers of reports of each weight as parts of a sum; weights without reports are left out."""
        return Alike(self._numbers[numbers > 0], self._channel, numbers[numbers > 0])


_Sums: TypeAlias = LinearEstimator | _SumsByWeight


def _variance_of(estimator: _Sums, totals: IntArray) -> float:
    """Return the variance of a sum over reports, by group and opinion."""
    if isinstance(estimator, _SumsByWeight):
        return estimator.variance(totals)
    return estimator.total_variance(totals.reshape(-1).tolist())
