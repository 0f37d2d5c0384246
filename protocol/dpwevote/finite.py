"""The phases and estimates of the variants `joint` and `printed`: k-RR on weights, binary RR on opinions.

Both variants send the same reports and differ in what is computed from them. Write ŵ(g) for the debiased weight
of reported group g (E[ŵ(g) | w] = w), φ̂(o) for the debiased opinion, μ(g) for the group's own weight. A partner
adds to the support

    joint      ŵ(g)·φ̂(o)      unbiased: it inverts both matrices at once (reading W2)
    printed    μ(g)·φ̂(o)      equations (5) to (8b); shrinks weights towards their mean

and τ·ŵ(g) to the quota (equation 4b with τ = 1/2). Where weights are public, ŵ = μ and the two agree.
"""

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from ..arrays import IntArray
from ..estimators import Estimate, LinearEstimator, estimate_counts, project_to_simplex
from ..estimators.frequencies import inverse_matrix
from ..mechanisms import GeneralizedRandomizedResponse
from ..phases import Phase
from ..privacy import NeighboringRelation, PrivacyLoss, TrustModel
from ..tally import Tally
from .outcome import WeightCount, WeightsOutcome
from .parameters import Parameters

__all__ = ["FiniteEstimates", "OpinionsPhase", "WeightsPhase"]

_OPINIONS = (0, 1)


class WeightsPhase(Phase):
    """Randomized weights: every partner reports its group by k-RR.

    The tally counts the reports of each group, shape (groups,).
    """

    def __init__(self, name: str, *, column: int, parameters: Parameters) -> None:
        epsilon = parameters.loss_of_weight
        mechanism = GeneralizedRandomizedResponse(epsilon, len(parameters.group_means))
        loss = PrivacyLoss(
            mechanism="k-RR",
            event=mechanism.event,
            unit="weight",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.LOCAL,
            claimed=epsilon,
        )
        super().__init__(name, columns=range(column, column + 1), mechanism=mechanism, losses=[loss])
        self._estimates = FiniteEstimates(parameters)

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Count the reports of each group."""
        del earlier, public
        num_groups = self.mechanism.report_range[1] + 1
        return Tally(len(reports), np.bincount(reports[:, 0], minlength=num_groups).astype(np.int64))

    def outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        """Publish the approximate quota."""
        return self._estimates.weights_outcome(tallies[-1:])


class OpinionsPhase(Phase):
    """Randomized opinions: every partner reports its opinion on some candidates by binary RR.

    The tally counts reports by candidate, group and opinion, shape (candidates, groups, 2). The group is the one
    that the partner reported in the weights phase just before (reading W1), or its public one.
    """

    def __init__(self, name: str, *, columns: range, parameters: Parameters) -> None:
        epsilon = parameters.loss_of_opinion
        mechanism = GeneralizedRandomizedResponse(epsilon, len(_OPINIONS))
        loss = PrivacyLoss(
            mechanism="randomized response",
            event=mechanism.event,
            unit="opinion",
            relation=NeighboringRelation.REPLACE_ONE,
            model=TrustModel.LOCAL,
            claimed=epsilon,
        )
        super().__init__(name, columns=columns, mechanism=mechanism, losses=[loss] * len(columns))
        self._num_groups = len(parameters.group_means)
        self._public_weights = parameters.public_weights

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Count the reports by candidate, group and opinion."""
        groups = public[:, 0] if self._public_weights else earlier[-1][:, 0]
        cells = 2 * groups
        counts = [
            np.bincount(cells + reports[:, candidate], minlength=2 * self._num_groups)
            for candidate in range(self.num_values)
        ]
        totals = np.array(counts, dtype=np.int64).reshape(self.num_values, self._num_groups, len(_OPINIONS))
        return Tally(len(reports), totals)


class FiniteEstimates:
    """All estimates from the tallies of the two phases above.

    Args:
        parameters: the session's.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._means = parameters.group_means
        self._fraction = parameters.fraction
        self._opinion = GeneralizedRandomizedResponse(parameters.loss_of_opinion, len(_OPINIONS))
        lie, gap = self._opinion.lie_probability, self._opinion.keep_probability - self._opinion.lie_probability
        self._opinions = tuple((opinion - lie) / gap for opinion in _OPINIONS)

    def weights_outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        """Return quota, total weight and group sizes from one weights phase, or the average of several."""
        counts: list[int] = functools.reduce(Tally.merge, tallies).totals.tolist()
        rounds = len(tallies)
        averaged = [weight / rounds for weight in self._debiased]
        total = self._of_weights(averaged).estimate(counts)
        return WeightsOutcome(
            quota=self.quota(total),
            total_weight=total,
            weight_counts=self._weight_counts(counts, rounds),
        )

    def quota(self, total_weight: Estimate) -> Estimate:
        """Return the quota: fixed, or the share of all weight."""
        if self._parameters.quota is not None:
            return Estimate(self._parameters.quota, 0.0)
        return Estimate(self._fraction * total_weight.value, self._fraction * total_weight.standard_error)

    def support(self, counts: IntArray) -> Estimate:
        """Return Σ w·φ by the session's variant, from one candidate's counts, shape (groups, 2)."""
        if self._parameters.variant == "printed":
            return self._sum(counts, weights=self._means, quota_weights=None)
        return self._sum(counts, weights=self._debiased, quota_weights=None)

    def margin(self, counts: IntArray, absent: Sequence[int], *, printed: bool) -> Estimate:
        """Return support minus quota.

        Args:
            counts: one candidate's, shape (groups, 2).
            absent: how many in each group reported a weight and then no opinion; they count in the quota alone.
            printed: by the paper's estimate rather than the consistent one.
        """
        weights = self._means if printed else self._debiased
        margin = self._sum(counts, weights=weights, quota_weights=self._debiased)
        if any(absent) and self._fraction:
            held_against = [-self._fraction * weight for weight in self._debiased]
            margin += self._of_weights(held_against).estimate(absent)
        if self._parameters.quota is not None:
            margin = Estimate(margin.value - self._parameters.quota, margin.standard_error)
        return margin

    @functools.cached_property
    def _debiased(self) -> tuple[float, ...]:
        """ŵ(g): the numbers whose expectation, over the report of a partner of weight w, is w."""
        if self._parameters.public_weights:
            return self._means
        mechanism = self._weight
        total = sum(self._means)
        gap = mechanism.keep_probability - mechanism.lie_probability
        return tuple((mean - mechanism.lie_probability * total) / gap for mean in self._means)

    @functools.cached_property
    def _weight(self) -> GeneralizedRandomizedResponse:
        return GeneralizedRandomizedResponse(self._parameters.loss_of_weight, len(self._means))

    @functools.cached_property
    def _joint_channel(self) -> tuple[list[list[float]], list[list[float]]]:
        """M_w ⊗ M_φ and its inverse, over (group, opinion)."""
        return (
            _kronecker(self._weight.channel_matrix(), self._opinion.channel_matrix()),
            _kronecker(inverse_matrix(self._weight), inverse_matrix(self._opinion)),
        )

    def _of_weights(self, contributions: Sequence[float]) -> LinearEstimator:
        return LinearEstimator(contributions, self._weight.channel_matrix(), inverse_matrix(self._weight))

    def _sum(self, counts: IntArray, *, weights: Sequence[float], quota_weights: Sequence[float] | None) -> Estimate:
        """Return Σ weights[g]·φ̂(o) − τ·quota_weights[g] over the reports (g, o)."""
        held_against = [0.0] * len(weights) if quota_weights is None else [self._fraction * w for w in quota_weights]
        rows = [
            [weight * opinion - quota for opinion in self._opinions]
            for weight, quota in zip(weights, held_against, strict=True)
        ]
        table: list[list[int]] = counts.tolist()
        if not self._parameters.public_weights:
            channel, inverse = self._joint_channel
            flat = list(itertools.chain.from_iterable(table))
            return LinearEstimator(list(itertools.chain.from_iterable(rows)), channel, inverse).estimate(flat)
        channel, inverse = self._opinion.channel_matrix(), inverse_matrix(self._opinion)
        parts = (
            LinearEstimator(row, channel, inverse).estimate(of_group) for row, of_group in zip(rows, table, strict=True)
        )
        return functools.reduce(Estimate.__add__, parts)

    def _weight_counts(self, counts: Sequence[int], rounds: int) -> tuple[WeightCount, ...]:
        # The reports of several rounds are independent given the weights, so their average has the variance of the
        # pooled sum divided by rounds squared.
        pooled = estimate_counts(self._weight, counts)
        estimates = [Estimate(pool.value / rounds, pool.standard_error / rounds) for pool in pooled]
        if not self._parameters.project_counts:
            return tuple(map(WeightCount, self._means, estimates))
        projected = project_to_simplex([e.value for e in estimates], total=sum(counts) / rounds)
        return tuple(map(WeightCount, self._means, estimates, projected))


def _kronecker(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> list[list[float]]:
    return [[a * b for a in row_a for b in row_b] for row_a in first for row_b in second]
