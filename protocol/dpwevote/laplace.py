"""The phases and estimates of the variant `laplace`, the paper's baseline.

Weights and opinions get Laplace noise of scale (w_max − w_min)/ε_w and 1/ε_o, on public grids. A partner adds
w̃·φ̃ to the support and τ·w̃ to the quota; both are unbiased (reading W3).
"""

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from ..arrays import IntArray, exact_column_sums
from ..estimators import Estimate
from ..mechanisms import DiscreteLaplace, laplace_grid
from ..phases import Phase
from ..privacy import NeighboringRelation, PrivacyLoss, TrustModel
from ..tally import Tally
from .outcome import WeightsOutcome
from .parameters import Parameters

__all__ = ["LaplaceEstimates", "LaplaceGrids", "LaplaceOpinionsPhase", "LaplaceWeightsPhase"]

# Columns of an opinions tally: the reports, what the reporters had reported as weights, and the products.
_OPINION, _WEIGHT, _SQUARED_WEIGHT, _PRODUCT = range(4)


class LaplaceGrids:
    """The public grids and noise of a session's reports.

    Args:
        parameters: the session's.

    Attributes:
        weight_step: the weights' grid step.
        opinion_step: the opinions' grid step.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.opinion_step = min(1.0, laplace_grid(scale=1 / parameters.loss_of_opinion))

    @functools.cached_property
    def weight_step(self) -> float:
        """A power of two well below the noise's scale, and no greater than the least distance of two weights."""
        weights = self._parameters.weights
        spacing = min(b - a for a, b in itertools.pairwise(weights))
        return min(2.0 ** math.floor(math.log2(spacing)), laplace_grid(scale=self._weight_scale))

    @property
    def _weight_scale(self) -> float:
        weights = self._parameters.weights
        return (weights[-1] - weights[0]) / self._parameters.loss_of_weight

    @functools.cached_property
    def weight(self) -> DiscreteLaplace:
        """The weights' randomizer. Its scale is that of the snapped range, so that ε holds exactly."""
        least, *_, greatest = self.weights_on_grid
        return DiscreteLaplace((greatest - least) / self._parameters.loss_of_weight, least, greatest)

    @functools.cached_property
    def opinion(self) -> DiscreteLaplace:
        """The opinions' randomizer; "no" is 0 and "yes" is one unit."""
        yes = round(1 / self.opinion_step)
        return DiscreteLaplace(yes / self._parameters.loss_of_opinion, 0, yes)

    @functools.cached_property
    def weights_on_grid(self) -> tuple[int, ...]:
        """Each weight of the public set, rounded to the grid; off by at most half a step."""
        return tuple(round(weight / self.weight_step) for weight in self._parameters.weights)


def _loss(mechanism: DiscreteLaplace, *, unit: str, claimed: float) -> PrivacyLoss:
    return PrivacyLoss(
        mechanism="discrete Laplace",
        event=mechanism.event,
        unit=unit,
        relation=NeighboringRelation.REPLACE_ONE,
        model=TrustModel.LOCAL,
        claimed=claimed,
    )


class LaplaceWeightsPhase(Phase):
    """Noisy weights. The tally is (Σ w̃, Σ w̃²), in grid steps."""

    def __init__(self, name: str, *, column: int, parameters: Parameters) -> None:
        mechanism = LaplaceGrids(parameters).weight
        loss = _loss(mechanism, unit="weight", claimed=parameters.loss_of_weight)
        super().__init__(name, columns=range(column, column + 1), mechanism=mechanism, losses=[loss])
        self._parameters = parameters

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Add up the weights and their squares."""
        del earlier, public
        return Tally(len(reports), exact_column_sums(np.hstack([reports, reports**2])))

    def outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        """Publish the approximate quota."""
        return LaplaceEstimates(self._parameters).weights_outcome(tallies[-1:])


class LaplaceOpinionsPhase(Phase):
    """Noisy opinions.

    The tally has, for each candidate, Σ φ̃, Σ w̃, Σ w̃² and Σ w̃φ̃ over those who report opinions, in grid steps,
    shape (candidates, 4); where weights are public, (number, Σ φ̃) for each weight, shape (candidates, weights, 2).
    """

    def __init__(self, name: str, *, columns: range, parameters: Parameters) -> None:
        mechanism = LaplaceGrids(parameters).opinion
        loss = _loss(mechanism, unit="opinion", claimed=parameters.loss_of_opinion)
        super().__init__(name, columns=columns, mechanism=mechanism, losses=[loss] * len(columns))
        self._num_weights = len(parameters.weights)
        self._public_weights = parameters.public_weights

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        """Add up opinions, weights, and products."""
        if self._public_weights:
            return self._tally_by_weight(reports, public[:, 0])
        weights = earlier[-1][:, :1]
        squares = weights**2
        sums = [
            exact_column_sums(np.hstack([opinions, weights, squares, weights * opinions]))
            for opinions in np.hsplit(reports, self.num_values)
        ]
        return Tally(len(reports), np.array(sums, dtype=np.int64))

    def _tally_by_weight(self, reports: IntArray, groups: IntArray) -> Tally:
        totals = np.zeros((self.num_values, self._num_weights, 2), dtype=np.int64)
        for group in np.unique(groups).tolist():
            of_group = reports[groups == group]
            totals[:, group, 0] = len(of_group)
            totals[:, group, 1] = exact_column_sums(of_group)
        return Tally(len(reports), totals)


class LaplaceEstimates:
    """All estimates from the tallies of the two phases above.

    Args:
        parameters: the session's.
    """

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._grids = LaplaceGrids(parameters)
        self._fraction = parameters.fraction
        self._opinion_noise = self._grids.opinion.noise_variance * self._grids.opinion_step**2

    @functools.cached_property
    def _weight_noise(self) -> float:
        if self._parameters.public_weights:
            return 0.0
        return self._grids.weight.noise_variance * self._grids.weight_step**2

    def weights_outcome(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        """Return quota and total weight from one weights phase, or the average of several."""
        rounds = len(tallies)
        steps = sum(int(tally.totals[0]) for tally in tallies)
        reports = sum(tally.num_reports for tally in tallies)
        total = Estimate(steps * self._grids.weight_step / rounds, math.sqrt(reports * self._weight_noise) / rounds)
        return WeightsOutcome(quota=self.quota(total), total_weight=total, weight_counts=())

    def quota(self, total_weight: Estimate) -> Estimate:
        """Return the quota: fixed, or the share of all weight."""
        if self._parameters.quota is not None:
            return Estimate(self._parameters.quota, 0.0)
        return Estimate(self._fraction * total_weight.value, self._fraction * total_weight.standard_error)

    def support_and_margin(self, sums: IntArray, weights: Tally, num_reports: int) -> tuple[Estimate, Estimate]:
        """Return both for one candidate, private weights.

        Args:
            sums: its four sums.
            weights: the tally of the weights phase just before.
            num_reports: how many reported opinions.
        """
        weight_step, opinion_step = self._grids.weight_step, self._grids.opinion_step
        yes = int(sums[_OPINION]) * opinion_step
        squared = int(sums[_SQUARED_WEIGHT]) * weight_step**2
        support = int(sums[_PRODUCT]) * weight_step * opinion_step
        total = int(weights.totals[0]) * weight_step
        quota = self._fraction * total + (self._parameters.quota or 0.0)
        num_absent = weights.num_reports - num_reports
        of_absent = self._fraction**2 * num_absent * self._weight_noise
        return (
            Estimate(support, math.sqrt(self._variance(num_reports, yes, squared, fraction=0.0))),
            Estimate(
                support - quota,
                math.sqrt(self._variance(num_reports, yes, squared, fraction=self._fraction) + of_absent),
            ),
        )

    def support_and_margin_by_weight(self, sums: IntArray, total_weight: float) -> tuple[Estimate, Estimate]:
        """Return both for one candidate, public weights: `sums` is (number, Σ φ̃) for each weight."""
        table: list[list[int]] = sums.tolist()
        of_weight = list(zip(self._parameters.weights, table, strict=True))
        support = math.fsum(weight * yes * self._grids.opinion_step for weight, (_, yes) in of_weight)
        variance = self._opinion_noise * math.fsum(weight**2 * number for weight, (number, _) in of_weight)
        quota = self._fraction * total_weight + (self._parameters.quota or 0.0)
        return Estimate(support, math.sqrt(variance)), Estimate(support - quota, math.sqrt(variance))

    def _variance(self, num_reports: int, yes: float, squared: float, *, fraction: float) -> float:
        """Return Var[Σ w̃(φ̃ − τ)] = b·Σw² + a·Σ(φ − τ)² + n·a·b, noise variances a (weight) and b (opinion).

        Σw² and Σφ are estimated without bias from their noisy sums and kept within what is possible.
        """
        weight_noise, opinion_noise = self._weight_noise, self._opinion_noise
        least, greatest = self._parameters.weights[0], self._parameters.weights[-1]
        squares = min(max(squared - num_reports * weight_noise, num_reports * least**2), num_reports * greatest**2)
        yes = min(max(yes, 0.0), float(num_reports))
        spread = yes * (1 - 2 * fraction) + num_reports * fraction**2
        return opinion_noise * squares + weight_noise * spread + num_reports * weight_noise * opinion_noise
