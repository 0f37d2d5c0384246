"""Summaries: integers on a public grid, computed from a voter's records, from which its report is drawn.

A summary knows its sensitivity, so it also makes the mechanisms: for voters that perturb their summaries, and for a
server that perturbs the sum. Every number that a voter sends is an integer, whose distance from a neighbor's is bounded
in integers. So proven losses hold for the computed numbers, including all rounding.

Source: Wang et al. (2019), Section 4; readings M3, M4, M6 to M8. The proofs are in the documentation
(moral-preferences-proofs).
"""

import abc
import math
from typing import Final, TypeAlias, overload

import numpy as np

from ..arrays import FloatArray, IntArray
from ..elementary import power_of_two_above, power_of_two_below, quotient_up
from ..errors import require
from ..estimators.l1_ball import fit_probit
from ..mechanisms import NoiseShare, RowMechanism, SphericalLaplace, VectorLaplace, laplace_grid
from .coefficients import clip_differences, clip_items, sum_coefficients, sum_rows, unit_directions
from .functional import NoisyObjective, maximize_noisy
from .outcome import Ball, NoisyMaxima
from .parameters import Level, Parameters
from .records import Records
from .sensitivity import grid_sensitivity, num_coefficients
from .whitening import Whitening

# Grid steps per unit of a summary: rounding is then below the noise in a mean over millions of voters.
_STEPS_IN_UNIT: Final = 1 << 20
GREATEST_SUM: Final = 1 << 60
"""The greatest sum over all voters, which leaves room for noise."""
_TOO_LARGE: Final = 1 << 63
_MOST_MASKED_SCALE: Final = 1 << 20
"""The greatest scale of noise in masked sums, in grid steps, which limits how fine their grids are."""
_LEAST_STEPS: Final = 16  # grid steps per unit of a masked summary, at least
# The axes along which rows are compared by the check of losses; all axes are equivalent.
_MOST_AXES: Final = 8

AdditiveNoise: TypeAlias = VectorLaplace | SphericalLaplace | NoiseShare
"""Mechanisms whose reports are a row plus noise of known variance."""


class ReportSummary(abc.ABC):
    """The summary of a voter's records, from which reports are drawn.

    Attributes:
        name: the name of the mechanism in a ledger.
        num_values: the number of integers in a summary.
        bound: the greatest absolute value of each integer.
        step: the grid step.

    Examples:
        >>> summary = make_summary(Parameters(features=("lives", "age"), epsilon=2.0))
        >>> summary.name, summary.num_values
        ('Laplace noise on preferences', 2)
    """

    name: str
    num_values: int
    bound: int
    step: float

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    @property
    def reported_step(self) -> float:
        """The grid's step of local reports."""
        return self.step

    @property
    @abc.abstractmethod
    def l1_sensitivity(self) -> int:
        """How far apart in l1 distance summaries are at most that differ in a voter, or in a record."""

    def _step_for(self, reach: float, unit: float = 1.0) -> float:
        """Return the grid's step, of a summary about as large as a unit whose l1 sensitivity is about `reach`."""
        fine, (epsilon, *_) = 1 / _STEPS_IN_UNIT, self._parameters.levels
        if not self._parameters.is_masked:
            return fine
        step = max(power_of_two_above(reach / epsilon / _MOST_MASKED_SCALE), fine)
        allowed = (
            f"at least {_LEAST_STEPS * reach / unit / _MOST_MASKED_SCALE:.3g} in {self._parameters.paradigm.value}"
        )
        require(step * _LEAST_STEPS <= unit, "epsilon", epsilon, allowed)
        return step

    @abc.abstractmethod
    def rows_of(self, records: Records) -> IntArray:
        """Run by each voter: summarize its records, as int64 of shape (voters, num_values)."""

    def sample_rows(self) -> IntArray:
        """Return rows that a voter may have, farthest from each other: the bound on an axis, either way, and 0."""
        axes = np.eye(self.num_values, dtype=np.int64)[:_MOST_AXES] * self.bound
        return np.concatenate([0 * axes[:1], axes, -axes])

    @abc.abstractmethod
    def are_possible(self, rows: IntArray) -> bool:
        """Return whether all rows could be summaries of records; what is not cannot be protected, or is made up."""

    @abc.abstractmethod
    def noise(self, epsilon: float, bound: int) -> AdditiveNoise:
        """Return noise for numbers up to a bound; a voter or a record loses `epsilon` at most."""

    def local_mechanism(self, epsilon: float) -> AdditiveNoise | NoisyObjective:
        """Return the mechanism by which a voter perturbs its own summary, at a loss of at most `epsilon`."""
        return self.noise(epsilon, self.bound)

    def central_mechanism(self, epsilon: float) -> AdditiveNoise:
        """Return the server's mechanism for the sum of all summaries; a voter or a record loses at most `epsilon`."""
        return self.noise(epsilon, GREATEST_SUM)

    @overload
    def noise_variance(self, mechanism: AdditiveNoise) -> float: ...

    @overload
    def noise_variance(self, mechanism: RowMechanism) -> float | None: ...

    def noise_variance(self, mechanism: RowMechanism) -> float | None:
        """Return the variance of the noise in each number of a report, in units; None where it is not additive."""
        if not isinstance(mechanism, AdditiveNoise):
            return None
        return mechanism.noise_variance * self.step * self.step

    @abc.abstractmethod
    def preferences_of(self, means: FloatArray, error: float | None) -> FloatArray:
        """Return societies' preferences from the means of their reports; the server runs this.

        Args:
            means: the means in units, shape (m, numbers of a report).
            error: the standard error of each number, from the noise.

        Returns:
            float64, shape (m, d); each row depends only on its mean.
        """

    def errors_of(self, mean: FloatArray, error: float | None) -> FloatArray | None:
        """Return the preferences' standard errors, from that of each number of the mean; None without a closed form."""
        return None if error is None else np.full(self._parameters.num_features, error)

    def ball_of(self, mean: FloatArray) -> Ball | None:
        """Return a ball that contains the preferences without noise; None if the effect of the noise is unknown.

        By default it is the ball of the bound, which contains every voter's preferences, and so their mean.
        """
        return Ball(norm="l1", radius=self._parameters.bound)

    @property
    def maxima(self) -> NoisyMaxima | None:
        """The law of the places that voters report; None where they report something else."""
        return None


class PreferenceVector(ReportSummary):
    """Algorithms 1 and 2: the preference vector β of maximum likelihood in the ℓ₁ ball of radius B, Eq. (3).

    Two vectors of the ball have a distance of at most 2B, whether one record or all of them differ.
    """

    name = "Laplace noise on preferences"

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        scale = 2 * parameters.bound / parameters.levels[-1]
        fine = min(laplace_grid(scale=scale), power_of_two_below(parameters.bound / _STEPS_IN_UNIT))
        self.step = self._step_for(2 * parameters.bound, parameters.bound) if parameters.is_masked else fine
        self.num_values = parameters.num_features
        self.bound = math.floor(parameters.bound / self.step)

    def rows_of(self, records: Records) -> IntArray:
        """Fit every voter, and round towards 0, which stays in the ball."""
        points = fit_probit(records.differences, records.offsets, radius=self._parameters.bound).points
        return np.trunc(points / self.step).astype(np.int64)

    def are_possible(self, rows: IntArray) -> bool:
        return not rows.size or int(np.abs(rows).sum(axis=1).max()) <= self.bound

    @property
    def l1_sensitivity(self) -> int:
        return 2 * self.bound

    def noise(self, epsilon: float, bound: int) -> AdditiveNoise:
        """Laplace noise of scale 2B/ε; of half of it on a sum in which a voter is or is not."""
        sensitivity = 2 * self.bound if self._parameters.public_number is None else self.bound
        return VectorLaplace(quotient_up(sensitivity, epsilon), sensitivity, bound)

    def preferences_of(self, means: FloatArray, error: float | None) -> FloatArray:
        return means


class Coefficients(ReportSummary):
    """Algorithm 3 and its pooled variant: the coefficients of the log-likelihood's expansion at 0, Eq. (14).

    Local reports are the maxima of noisy objectives (`functional`), or noisy coefficients (`pooled`), whose mean the
    server maximizes once.
    """

    name = "Laplace noise on coefficients"

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._is_pooled = parameters.mechanism == "pooled"
        self.num_values = num_coefficients(parameters.num_features)
        self.step = self._step_for(2.0 * parameters.num_features)
        self.bound = parameters.max_records * round(1 / self.step)  # each coefficient of a record is below 1
        self._sensitivity = grid_sensitivity(parameters.num_features, step=self.step)
        self._calibrated = grid_sensitivity(parameters.num_features, step=self.step, bound=parameters.sensitivity)

    @property
    def reported_step(self) -> float:
        """The grid's step of local reports: of places in the ball, or of coefficients."""
        return self.step if self._is_pooled else power_of_two_below(self._parameters.bound / _STEPS_IN_UNIT)

    @property
    def l1_sensitivity(self) -> int:
        return self._sensitivity

    def rows_of(self, records: Records) -> IntArray:
        """Clip each record by itself (reading M4), and add up its coefficients."""
        if self._parameters.clipping == "items":
            chosen_items, rejected_items = clip_items(records.chosen, records.rejected)
            differences = chosen_items - rejected_items
        else:
            differences = clip_differences(records.differences)
        return sum_coefficients(differences, records.offsets, step=self.step)

    def sample_rows(self) -> IntArray:
        """Return the coefficients of voters all of whose records differ in one feature, or in all of them alike."""
        d = self._parameters.num_features
        axes = np.concatenate([np.eye(d)[:_MOST_AXES], np.full((1, d), power_of_two_below(1 / math.sqrt(d)))])
        records = np.concatenate([axes, -axes])
        single_row = sum_coefficients(records, np.arange(len(records) + 1, dtype=np.int64), step=self.step)
        return np.concatenate([0 * single_row[:1], single_row * self._parameters.max_records])

    def are_possible(self, rows: IntArray) -> bool:
        return not rows.size or int(np.abs(rows).max()) <= self.bound

    def noise(self, epsilon: float, bound: int) -> VectorLaplace:
        """Laplace noise of scale Δ/ε on each coefficient."""
        return VectorLaplace(quotient_up(self._calibrated, epsilon), self._sensitivity, bound)

    def local_mechanism(self, epsilon: float) -> AdditiveNoise | NoisyObjective:
        """Noise on the coefficients, whose objective is then maximized, unless it is pooled."""
        noise = self.noise(epsilon, self.bound)
        if self._is_pooled:
            return noise
        return NoisyObjective(
            noise,
            num_features=self._parameters.num_features,
            step=self.step,
            radius=self._parameters.bound,
            report_step=self.reported_step,
            remedy=self._parameters.remedy,
        )

    def preferences_of(self, means: FloatArray, error: float | None) -> FloatArray:
        """Return means of places, or the places where mean objectives are greatest."""
        if not self._is_pooled:
            return means
        parameters = self._parameters
        return maximize_noisy(
            means,
            num_features=parameters.num_features,
            radius=parameters.bound,
            remedy=parameters.remedy,
            noise_scale=(error or 0.0) / math.sqrt(2),  # the variance of Laplace noise is twice the squared scale
        )

    def errors_of(self, mean: FloatArray, error: float | None) -> FloatArray | None:
        """Return the standard errors of a mean of maxima; a single maximum's have no closed form."""
        return None if self._is_pooled else super().errors_of(mean, error)

    @property
    def maxima(self) -> NoisyMaxima | None:
        """The law by which noise moves the places that voters report."""
        if self._is_pooled:
            return None
        return NoisyMaxima(
            num_records=self._parameters.max_records,
            radius=self._parameters.bound,
            scale=self._calibrated * self.step,
            remedy=self._parameters.remedy,
        )


class Direction(ReportSummary):
    """The direction of preferences (reading M8): the sum of V/‖V‖₂ over a voter's records, 0 for V = 0.

    For isotropic differences its mean has the direction of β. One record changes the sum by at most 2 in the ℓ₂ norm.
    At voter level, the sum is first scaled to norm 1, so that all records together change it by at most 2.
    """

    name = "spherical Laplace noise on directions"

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._whitening = Whitening(parameters.covariance_matrix)
        self._is_of_voters = parameters.paradigm.level is Level.VOTER
        self.num_values = parameters.num_features
        self.step = self._step_for(2 * math.sqrt(self.num_values))
        self.bound = (1 if self._is_of_voters else parameters.max_records) * round(1 / self.step)

    @property
    def l1_sensitivity(self) -> int:
        """2⌊√d/step⌋: two directions of ℓ₂ norm 1 at most, each in integers."""
        return 2 * math.isqrt(self.num_values * round(1 / self.step) ** 2)

    def rows_of(self, records: Records) -> IntArray:
        """Add up the directions of a voter's records; where the voter is protected, take the sum's own direction."""
        differences = self._whitening.whiten(records.differences)
        sums = sum_rows(unit_directions(differences, step=self.step), records.offsets)
        return unit_directions(sums.astype(np.float64), step=self.step) if self._is_of_voters else sums

    def sample_rows(self) -> IntArray:
        """Return such rows, and those farthest apart in ℓ₁ distance, in all features alike."""
        unit = round(1 / self.step)
        component = self.bound // unit * math.isqrt(unit * unit // self.num_values)
        equal_row = np.full((1, self.num_values), component, dtype=np.int64)
        return np.concatenate([super().sample_rows(), equal_row, -equal_row])

    def are_possible(self, rows: IntArray) -> bool:
        if not rows.size:
            return True
        if int(np.abs(rows).max()) > self.bound:
            return False
        # The length is checked in integers, since the noise assumes it exactly.
        greatest = self.bound * self.bound
        if greatest * rows.shape[1] < _TOO_LARGE:
            squares = np.zeros(len(rows), dtype=np.int64)
            for column in rows.T:
                squares += column * column
            return int(squares.max()) <= greatest
        is_near = (rows.astype(np.float64) ** 2).sum(axis=1) > greatest * (1 - 1e-9)
        return all(sum(entry * entry for entry in row) <= greatest for row in rows[is_near].tolist())

    def noise(self, epsilon: float, bound: int) -> AdditiveNoise:
        """Noise of density ∝ exp(−ε‖x‖₂/2)."""
        sensitivity = 2 * _STEPS_IN_UNIT
        return SphericalLaplace(quotient_up(sensitivity, epsilon), sensitivity, bound, self.num_values)

    def preferences_of(self, means: FloatArray, error: float | None) -> FloatArray:
        """Return the directions of means, in the records' own coordinates, with ℓ₂ norm 1."""
        directions = np.array([self._whitening.unwhiten(mean) for mean in means])
        return directions / np.array([_length(direction) or 1.0 for direction in directions])[:, None]

    def errors_of(self, mean: FloatArray, error: float | None) -> FloatArray | None:
        """Return the errors of the mean over its length: those of the direction, while they are small."""
        length = _length(self._whitening.unwhiten(mean))
        if error is None or not length:
            return None
        return self._whitening.error_factors() * error / length

    def ball_of(self, mean: FloatArray) -> Ball | None:
        """A mean of sums is no longer than the longest sum; as all else it is brought to the direction's length, 1."""
        length = _length(mean)
        if self._parameters.covariance or not length:
            return None
        return Ball(norm="l2", radius=self.bound * self.step / length)


def make_summary(parameters: Parameters) -> ReportSummary:
    """Return the summary for the parameters.

    Examples:
        >>> make_summary(Parameters(features=("lives", "age"), epsilon=2.0, mechanism="direction")).name
        'spherical Laplace noise on directions'
    """
    match parameters.mechanism:
        case "laplace":
            return PreferenceVector(parameters)
        case "functional" | "pooled":
            return Coefficients(parameters)
        case "direction":
            return Direction(parameters)


def _length(vector: FloatArray) -> float:
    return math.sqrt(math.fsum(entry * entry for entry in vector.tolist()))
