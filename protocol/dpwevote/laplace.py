"""The phases and estimates of the variant `laplace`, the paper's baseline.

Weights get Laplace noise of scale (w_max − w_min)/ε_w, and opinions of scale 1/ε_o, on public grids. With the noisy
weight w̃ and opinion φ̃, a partner contributes w̃·φ̃ to the support and τ·w̃ to the quota. Both are unbiased (reading
W3), up to the rounding of weights to their grid, which the release bounds.

Reports are in grid steps above the least value: w̃ = w_min + step·v and φ̃ = step·u. They stay below
`_MAX_REPORT`, so that sums of products over 16 million partners fit into 64 bits.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from ..arrays import ExactSums, FloatArray, IntArray, exact_column_sums
from ..elementary import power_of_two_above, power_of_two_below, quotient_up, square
from ..estimators import Verdict
from ..estimators.noise_tails import NoisePart, reach_of_noise
from ..estimators.sum_tests import reach_of_products
from ..mechanisms import CLAMP_IN_SCALES, DiscreteLaplace
from ..phases import Phase
from ..privacy import local_loss
from ..tally import Tally, TallyBlock
from .outcome import WeightsOutcome
from .two_reports import PublishedWeights, TwoReports

if TYPE_CHECKING:
    from .parameters import Parameters, VariantName

_NOISE: Final = "discrete Laplace"
_MAX_REPORT: Final = 2**19

# Columns of an opinions tally: the sums of opinions, of the same partners' weights and squared weights, and of
# products.
_OPINION, _WEIGHT, _SQUARED_WEIGHT, _PRODUCT = range(4)

_MOMENTS: Final = 17
"""The number of moments of a report, from 0 on. More would hardly lower the bound."""


class LaplaceGrids:
    """The public grids and randomizers of a session's reports."""

    def __init__(self, parameters: "Parameters") -> None:
        self._parameters = parameters
        self.opinion_step = _finest_step(1.0, epsilon=parameters.loss_of_opinion)

    @functools.cached_property
    def weight_step(self) -> float:
        """The weights' grid step."""
        weights = self._parameters.weights
        return _finest_step(weights[-1] - weights[0], epsilon=self._parameters.loss_of_weight)

    @functools.cached_property
    def weight(self) -> DiscreteLaplace:
        """The randomizer of weights. Its scale follows from the rounded range, so that ε holds exactly."""
        greatest = self.weights_on_grid[-1]
        return DiscreteLaplace(quotient_up(greatest, self._parameters.loss_of_weight), 0, greatest)

    @functools.cached_property
    def opinion(self) -> DiscreteLaplace:
        """The opinions' randomizer; "no" is 0 and "yes" is one unit."""
        yes = round(1 / self.opinion_step)
        return DiscreteLaplace(quotient_up(yes, self._parameters.loss_of_opinion), 0, yes)

    @functools.cached_property
    def weights_on_grid(self) -> tuple[int, ...]:
        """Each weight of the public set, in steps above the least one, rounded half up."""
        least = self._parameters.weights[0]
        return tuple(math.floor((weight - least) / self.weight_step + 0.5) for weight in self._parameters.weights)

    @property
    def rounding(self) -> float:
        """The most by which rounding to the grid moves a weight."""
        least = Fraction(self._parameters.weights[0])
        step = Fraction(self.weight_step)
        pairs = zip(self._parameters.weights, self.weights_on_grid, strict=True)
        return float(max(abs(Fraction(weight) - least - steps * step) for weight, steps in pairs))


def _finest_step(spread: float, *, epsilon: float) -> float:
    """Return the least power of two as grid step for which noisy values in a range `spread` stay below `_MAX_REPORT`.

    `LaplaceVariant.least_epsilon` ensures that it is at most `spread`.
    """
    # Rounding may widen the range by half a step, which increases the noise, and the reach of noise is rounded up.
    return power_of_two_above(spread / ((_MAX_REPORT - 1) / (CLAMP_IN_SCALES / epsilon + 1) - 0.5))


class LaplaceWeightsPhase(PublishedWeights):
    """Noisy weights. The tally is (Σ v, Σ v²), in grid steps."""

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        return Tally(len(reports), exact_column_sums(np.hstack([reports, reports**2])))

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        weights = reports[:, :, 0]
        return TallyBlock(
            reports.shape[1], np.stack([weights.sum(axis=1), np.einsum("tn,tn->t", weights, weights)], axis=1)
        )


class LaplaceOpinionsPhase(Phase):
    """Noisy opinions.

    The tally has Σ u, Σ v, Σ v² and Σ v·u for each candidate, over the partners that report opinions, in grid steps,
    shape (candidates, 4). If weights are public, it has (number, Σ u) for each weight, shape (candidates, weights, 2).
    """

    def __init__(self, name: str, *, columns: range, parameters: "Parameters") -> None:
        mechanism = LaplaceGrids(parameters).opinion
        loss = local_loss(_NOISE, mechanism.event, unit="opinion", claimed=parameters.loss_of_opinion)
        super().__init__(name, columns=columns, mechanism=mechanism, losses=[loss] * len(columns))
        self._num_weights = len(parameters.weights)
        self._public_weights = parameters.public_weights

    def tally(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> Tally:
        if self._public_weights:
            return self._tally_by_weight(reports, public[:, 0])
        weights = earlier[-1][:, :1]
        squares = weights**2
        sums = [
            exact_column_sums(np.hstack([opinions, weights, squares, weights * opinions]))
            for opinions in np.hsplit(reports, self.num_values)
        ]
        return Tally(len(reports), np.array(sums, dtype=np.int64))

    def tally_block(self, reports: IntArray, *, earlier: Sequence[IntArray], public: IntArray) -> TallyBlock:
        if self._public_weights:
            return super().tally_block(reports, earlier=earlier, public=public)
        weights = earlier[-1][:, :, 0]
        opinions, products = reports.sum(axis=1), np.einsum("tn,tnc->tc", weights, reports)
        weight_sums = np.stack([weights.sum(axis=1), np.einsum("tn,tn->t", weights, weights)], axis=1)
        repeated_sums = np.broadcast_to(weight_sums[:, None], (*opinions.shape, 2))
        return TallyBlock(
            reports.shape[1], np.concatenate([opinions[..., None], repeated_sums, products[..., None]], axis=2)
        )

    def _tally_by_weight(self, reports: IntArray, groups: IntArray) -> Tally:
        totals = np.zeros((self.num_values, self._num_weights, 2), dtype=np.int64)
        for group in np.unique(groups).tolist():
            of_group = reports[groups == group]
            totals[:, group, 0] = len(of_group)
            totals[:, group, 1] = exact_column_sums(of_group)
        return Tally(len(reports), totals)


class LaplaceVariant(TwoReports):
    """The variant `laplace`: the two phases above and all estimates from their tallies.

    Values are computed as fractions, so that ties are recognized.
    """

    name: "ClassVar[VariantName]" = "laplace"
    has_finite_reports: ClassVar[bool] = False
    takes_groups: ClassVar[bool] = False
    least_epsilon: ClassVar[float] = 0.001
    """The least ε of a report. Below it, sums of products on a grid that is fine enough would not fit into 64 bits."""
    law_of_weights: ClassVar[str] = _NOISE

    def __init__(self, parameters: "Parameters") -> None:
        super().__init__(parameters)
        self._grids = LaplaceGrids(parameters)
        self._fraction = parameters.exact_fraction
        self._fixed_quota = Fraction(parameters.quota or 0)
        self._least = Fraction(parameters.weights[0])
        self._opinion_step = Fraction(self._grids.opinion_step)
        self._exact_totals = functools.cache(
            lambda rounds: ExactSums([self._weight_step / rounds, self._least / rounds] * rounds)
        )
        self._opinion_noise = self._grids.opinion.noise_variance * square(self._grids.opinion_step)

    @functools.cached_property
    def _weight_step(self) -> Fraction:
        return Fraction(self._grids.weight_step)

    @functools.cached_property
    def _weight_noise(self) -> float:
        return self._grids.weight.noise_variance * square(self._grids.weight_step)

    @property
    def weight_deviation(self) -> float:
        """The most by which rounding to the grid moves a weight; public weights are not rounded."""
        return 0.0 if self._parameters.public_weights else self._grids.rounding

    @property
    def greatest_opinion(self) -> int:
        return self._grids.opinion.greatest

    def make_weights_phase(self, name: str, *, column: int) -> Phase:
        mechanism = self._grids.weight
        loss = local_loss(_NOISE, mechanism.event, unit="weight", claimed=self._parameters.loss_of_weight)
        return LaplaceWeightsPhase(name, column, mechanism, loss, scope=self._parameters.scope, publish=self.weights_of)

    def make_opinions_phase(self, name: str, *, columns: range) -> Phase:
        return LaplaceOpinionsPhase(name, columns=columns, parameters=self._parameters)

    def encode_weights(self, places: IntArray) -> IntArray:
        return np.array(self._grids.weights_on_grid, dtype=np.int64)[places]

    def weights_of(self, tallies: Sequence[Tally]) -> WeightsOutcome:
        total = self.total_weight_of(tallies)
        return WeightsOutcome(quota=self.quota(total), total_weight=total, weight_counts=())

    def total_weights(self, tallies: Sequence[TallyBlock]) -> FloatArray:
        rounds = len(tallies)
        counts = [(block.totals[:, :1], np.full((len(block), 1), block.num_reports)) for block in tallies]
        return self._exact_totals(rounds).to_floats(
            np.concatenate([column for pair in counts for column in pair], axis=1)
        )

    def error_of_total(self, tallies: Sequence[Tally]) -> float:
        num_reports = sum(tally.num_reports for tally in tallies)
        return math.sqrt(num_reports * self._weight_noise) / len(tallies)

    def support_and_margins(
        self, totals: IntArray, weights: TallyBlock | None, opinions: TallyBlock
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        if weights is None:
            counts = np.concatenate([totals[:, :, 1], totals[:, :, 0]], axis=1)
        else:
            steps, reported = totals[:, [_OPINION, _PRODUCT]], np.full((len(weights), 1), weights.num_reports)
            counts = np.concatenate([steps, weights.totals[:, :1], reported], axis=1)
        support, margin = (sums.to_floats(counts) for sums in self._exact_sums)
        return support, margin, margin

    @functools.cached_property
    def _exact_sums(self) -> tuple[ExactSums, ExactSums]:
        """Support and margin: of Σ u and numbers by public weight, or of Σ u, Σ v·u, Σ v of all weights, and n."""
        if self._parameters.public_weights:
            weights = list(map(Fraction, self._parameters.weights))
            support, quota_factors = [weight * self._opinion_step for weight in weights], weights
        else:
            support = [self._least * self._opinion_step, self._weight_step * self._opinion_step]
            quota_factors = [self._weight_step, self._least]
        quota = [-self._fraction * factor for factor in quota_factors]
        return ExactSums([*support, *(0 for _ in quota_factors)]), ExactSums([*support, *quota], -self._fixed_quota)

    def errors_of(self, totals: IntArray, weights: Tally | None, opinions: Tally) -> tuple[float, float]:
        if weights is None:
            numbers: list[int] = totals[:, 0].tolist()
            pairs = zip(self._parameters.weights, numbers, strict=True)
            error = math.sqrt(self._opinion_noise * math.fsum(square(weight) * count for weight, count in pairs))
            return error, error
        num_reports, steps = opinions.num_reports, totals.tolist()
        yes = self._opinion_step * steps[_OPINION]
        squares = (
            num_reports * self._least**2
            + 2 * self._least * self._weight_step * steps[_WEIGHT]
            + self._weight_step**2 * steps[_SQUARED_WEIGHT]
        )
        num_absent = weights.num_reports - num_reports
        of_absent = square(self._parameters.fraction) * num_absent * self._weight_noise
        fractions = (0.0, self._parameters.fraction)
        support_variance, margin_variance = (
            self._variance(num_reports, float(yes), float(squares), fraction=fraction) for fraction in fractions
        )
        return math.sqrt(support_variance), math.sqrt(margin_variance + of_absent)

    def reach(self, numbers: Sequence[int]) -> float:
        return self._noise_reach(numbers) + self.bias_bound(sum(numbers))

    def verdicts_on(
        self, margins: FloatArray, totals: IntArray, weights: TallyBlock | None, opinions: TallyBlock
    ) -> list[Verdict]:
        numbers: list[tuple[int, ...]]
        if weights is not None:
            numbers = [(weights.num_reports,)] * len(margins)
        else:
            numbers = [(*row,) for row in self.voters_by_weight(opinions).tolist()]

        def reach(key: Sequence[int], sign: float) -> float:
            del sign
            return self._noise_reach(key) if opinions.num_reports else math.inf

        return self.judge(margins, numbers, reach, num_partners=sum(numbers[0]))

    def _noise_reach(self, numbers: Sequence[int]) -> float:
        """Return how far noise brings a margin, but for the level, `numbers` being as in `reach`."""
        level = self._parameters.level
        if not sum(numbers):
            return math.inf
        if not self._parameters.public_weights:
            return self._unit * reach_of_products(self._moments, sum(numbers), level)
        step, scale = self._grids.opinion_step, self._grids.opinion.scale
        pairs = zip(self._parameters.weights, numbers, strict=True)
        return reach_of_noise(
            [NoisePart(factor * (scale * step), number, factor * step) for factor, number in pairs if number], level
        )

    def voters_by_weight(self, opinions: TallyBlock) -> IntArray:
        return opinions.totals[:, 0, :, 0]

    @property
    def worst_variance(self) -> float:
        return square(self._unit) * self._moments[2]

    @property
    def _unit(self) -> float:
        """The unit of a report's moments: a power of two, which rounds nothing, by which none exceeds a float."""
        return power_of_two_below(self._parameters.weights[-1])

    @functools.cached_property
    def _moments(self) -> list[float]:
        """Bounds on the moments of a report's error, w·Y + (φ − τ)·X + X·Y, with Laplace noise X and Y.

        Odd moments of X and Y vanish. A partner without a report of its opinion adds −τ·X, whose moments are no
        greater.
        """
        fraction = self._parameters.fraction
        w, c = self._parameters.weights[-1] / self._unit, max(fraction, 1 - fraction)
        x = _noise_moments(self._grids.weight, self._grids.weight_step / self._unit)
        y = _noise_moments(self._grids.opinion, self._grids.opinion_step)
        return [
            math.fsum(
                math.comb(j, i) * math.comb(j - i, k) * w**i * c**k * x[j - i] * y[j - k]
                for i in range(j + 1)
                for k in range(j - i + 1)
            )
            for j in range(_MOMENTS)
        ]

    def contributions_of(self, weights: IntArray | None, opinions: IntArray, public: IntArray) -> FloatArray:
        yes = opinions.astype(np.float64) * self._grids.opinion_step
        if weights is None:
            weights_told = np.array(self._parameters.weights)[public[:, :1]]
        else:
            weights_told = self._parameters.weights[0] + weights.astype(np.float64) * self._grids.weight_step
        return weights_told * (yes - self._parameters.fraction)

    def _variance(self, num_reports: int, yes: float, squared: float, *, fraction: float) -> float:
        """Return Var[Σ w̃(φ̃ − τ)] = b·Σw² + a·Σ(φ − τ)² + n·a·b, with noise variances a (weight) and b (opinion).

        Its expectation is not too small: Σw² and Σ(φ − τ)² are estimated without bias from noisy sums, and raised to
        their least possible value if they are below it.
        """
        least = square(self._parameters.weights[0])
        squares = max(squared - num_reports * self._weight_noise, num_reports * least)
        spread = yes * (1 - 2 * fraction) + num_reports * square(fraction)
        spread = max(spread, num_reports * square(min(fraction, 1 - fraction)))
        weight_noise, opinion_noise = self._weight_noise, self._opinion_noise
        return opinion_noise * squares + weight_noise * spread + num_reports * weight_noise * opinion_noise


def _noise_moments(noise: DiscreteLaplace, step: float) -> list[float]:
    """Return E X^j of noise in units: E e^(z·X) = 1/(1 − v(cosh(step·z) − 1)), v its variance in steps."""
    half = [noise.noise_variance * step**j / math.factorial(j) if j and j % 2 == 0 else 0.0 for j in range(_MOMENTS)]
    series = [1.0]
    for j in range(1, _MOMENTS):
        series.append(math.fsum(half[k] * series[j - k] for k in range(1, j + 1)))
    return [math.factorial(j) * coefficient for j, coefficient in enumerate(series)]
