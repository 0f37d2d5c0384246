"""Laplace noise on a public grid, with an exact law.

The Laplace mechanism of textbooks adds a real number, and floating-point numbers leak the value through their low bits
(Mironov, 2012). Here values and reports are multiples of a public power of two, and the noise has the discrete Laplace
(two-sided geometric) law on that grid. As the grid gets finer, the law approaches the continuous one.

Source: Ghosh, Roughgarden and Sundararajan (2009) for the law and its privacy; Dwork, McSherry, Nissim and Smith (2006)
for calibration to the ℓ₁ sensitivity of a row; Canonne, Kamath and Steinke (2020), Algorithm 2, for exact sampling.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np
import scipy as sp
from numpy.typing import NDArray

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp, expm1, ln, log1p, power_of_two_below, quotient_up, square
from ..errors import require
from ..estimate import Estimate
from ..privacy import events
from .exact import RandBelow, happens_exp
from .mechanism import Mechanism, check_batch, sums_of

# Grid steps per scale: the variance then differs from the continuous law's by a factor of 1 - 1/(12 * 128**2).
_STEPS_PER_SCALE: Final = 128
# Reports are clamped this many scales beyond the values. The probability of clamping is below e**-60, and clamping is
# post-processing.
CLAMP_IN_SCALES = 60
_TOO_LARGE: Final = 2**62
# The least uniform above 0 that a simulation can draw is 2**-53; 0 itself stands for the interval below it.
_LEAST_UNIFORM: Final = 2.0**-54
# The assumed relative error of a logarithm: 64 times the difference between two libraries, which is a few units in the
# last place.
_ROUNDING: Final = 2.0**-44
_SURE: Final = 1 - 1e-12  # lowers a level by more than the rounding error of a tail


@exact_arguments
def laplace_grid(*, scale: float) -> float:
    """Return the grid step for noise of this scale, in the value's unit: the power of two in (scale/256, scale/128].

    Examples:
        >>> laplace_grid(scale=2.0)
        0.015625
    """
    require(0 < scale < math.inf, "scale", scale, "positive and finite")
    return power_of_two_below(scale / _STEPS_PER_SCALE)


class _Laplace(Mechanism):
    """Add an integer x with P[x] = (1 − a)/(1 + a)·a^|x|, a = e^(−1/scale), to a value from a range."""

    __slots__ = ()
    scale: float

    @property
    @abc.abstractmethod
    def value_range(self) -> tuple[int, int]: ...

    def _check_scale(self) -> None:
        require(0 < self.scale < 2**40, "scale", self.scale, "in (0, 2**40) grid steps")

    def _check_reach(self) -> None:
        fits = max(map(abs, self.report_range)) < _TOO_LARGE  # larger sums would wrap around
        require(fits, "least, greatest", self.value_range, "within 2**62 with noise")

    @property
    def report_range(self) -> tuple[int, int]:
        """The values' range, widened by `CLAMP_IN_SCALES` scales on either side."""
        reach, (least, greatest) = math.ceil(CLAMP_IN_SCALES * self.scale), self.value_range
        return least - reach, greatest + reach

    @property
    def noise_variance(self) -> float:
        """Var[x] = 2a/(1 − a)² of a value, in squared grid steps."""
        return 2 * exp(-1 / self.scale) / square(expm1(-1 / self.scale))

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        """Estimate the sum of each column's values. See `RowMechanism.estimate_rows`."""
        return sums_of(reports, self.noise_variance)

    def noise_probability(self, noise: int) -> float:
        """Return P[x = noise] of a value, before clamping."""
        at_zero = -expm1(-1 / self.scale) / (1 + exp(-1 / self.scale))
        return at_zero * exp(-abs(noise) / self.scale)

    def log_tail(self, least: int) -> float:
        """Return ln P[x ≥ least], before clamping: a^least/(1 + a) above 0, and by the other side's else."""
        decay = exp(-1 / self.scale)
        if least > 0:
            return -least / self.scale - log1p(decay)
        return log1p(-exp((least - 1) / self.scale) / (1 + decay))

    def reach_of(self, level: float) -> int:
        """Return the least noise t ≥ 1 that is reached with probability `level` at most: P[x ≥ t] = a^t/(1 + a)."""
        most = level * (1 + exp(-1 / self.scale)) * _SURE
        return max(1, math.ceil(-self.scale * ln(most)))

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Add the noise at which the distribution function reaches the uniform. See `Mechanism.randomize`."""
        check_batch(self, values, uniforms)
        spread = 1 + exp(-1 / self.scale)
        draws = np.maximum(uniforms[:, 0], _LEAST_UNIFORM)
        signs = draws * spread - (spread - 1)  # negative for negative noise: P[x < 0] = a / (1 + a)
        tails = np.abs((signs >= 0) - draws) * spread  # of the draw, or of 1 − draw
        # The result is defined by scipy's logarithm, whose last bit hardly ever depends on the processor's vector
        # instructions, so that its floor is the same everywhere. Numpy's logarithm takes a quarter of the time, and has
        # the same floor except next to an integer.
        steps = -self.scale * np.log(tails)
        unsure = np.abs(np.rint(steps) - steps) <= np.abs(steps) * _ROUNDING
        if unsure.any():
            steps[unsure] = -self.scale * sp.special.xlogy(1.0, tails[unsure])
        low, high = self.report_range
        return np.clip(values + (np.floor(steps) * np.copysign(1.0, signs)).astype(np.int64), low, high)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        least, greatest, low, high, spread = self._constants
        if not least <= value <= greatest:
            raise ValueError(f"value is {value}: use a value from {least} to {greatest}")
        draw = max(uniforms[0], _LEAST_UNIFORM)
        is_negative = draw * spread < spread - 1
        tail = (draw if is_negative else 1 - draw) * spread
        steps = math.floor(-self.scale * float(sp.special.xlogy(1.0, tail)))
        return min(max(value + (-steps if is_negative else steps), low), high)

    @functools.cached_property
    def _constants(self) -> tuple[int, int, int, int, float]:
        """The values' range, the reports' range, and 1 + a."""
        return *self.value_range, *self.report_range, 1 + exp(-1 / self.scale)

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        """Add exact noise: see `ExactMechanism`, which this is none of, for a subclass may have another law."""
        least, greatest, low, high, _ = self._constants
        if not all(least <= value <= greatest for value in values):
            raise ValueError(f"values are out of range: use values from {least} to {greatest}")
        return [min(max(value + _draw_noise(self.scale, randbelow), low), high) for value in values]

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return the exact law's logarithms, clamping included. See `Mechanism.log_probabilities`.

        For noise x this is ln((1 − a)/(1 + a)) − abs(x)/scale. A report at either end of the range covers all noise of
        at least the size abs(x) in its direction, which has probability a^abs(x)/(1 + a): that of x divided by 1 − a.
        """
        decay, gap = exp(-1 / self.scale), -expm1(-1 / self.scale)  # a, and 1 − a to full precision
        logs: FloatArray = np.abs(values[:, None] - reports) / -self.scale
        logs += ln(gap) - log1p(decay)
        low, high = self.report_range
        logs[:, (reports == low) | (reports == high)] -= ln(gap)
        return logs.T


@dataclasses.dataclass(frozen=True)
class DiscreteLaplace(_Laplace):
    """Add an integer x with P[x] = (1 − a)/(1 + a)·a^|x|, a = e^(−1/scale).

    Args:
        scale: in (0, 2**40) grid steps.
        least: the least value, in grid steps.
        greatest: the greatest value, in grid steps.

    Privacy:
        ε-LDP with ε = (greatest − least)/scale, replace-one, unit: the value. Exact.

    Source:
        Yan, Liu and Liu (2018), Section 5.1.3 (their baseline, on the continuum); reading W3.

    Examples:
        >>> mechanism = DiscreteLaplace(scale=2.0, least=0, greatest=10)
        >>> round(mechanism.noise_probability(0), 4)
        0.2449
        >>> mechanism.randomize_row([4, 7], [0.5, 0.9])
        [4, 10]
    """

    is_drawn_ahead: ClassVar[bool] = True
    scale: float
    least: int
    greatest: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        self._check_scale()
        require(self.greatest > self.least, "greatest", self.greatest, f"above least = {self.least}")
        self._check_reach()

    @property
    def value_range(self) -> tuple[int, int]:
        """[least, greatest]."""
        return self.least, self.greatest

    @property
    def event(self) -> events.DiscreteLaplaceNoise:
        """Discrete Laplace noise of this scale over this range."""
        return events.DiscreteLaplaceNoise(scale=self.scale, sensitivity=self.greatest - self.least)


@dataclasses.dataclass(frozen=True)
class VectorLaplace(_Laplace):
    """Add independent noise of `DiscreteLaplace` to each coordinate of a row, with privacy for the whole row.

    The row's loss follows from the ℓ₁ distance of neighboring rows, and is not the sum of its coordinates' losses.

    Args:
        scale: in (0, 2**40) grid steps.
        sensitivity: the greatest ℓ₁ distance between neighboring rows, in grid steps; 1 ≤ sensitivity < 2**62. The
            ranges of single values do not bound it, so the caller must check that no row has a neighbor farther away.
        bound: coordinates are in [−bound, bound], in grid steps; ≥ 1.

    Privacy:
        ε-DP with ε = sensitivity/scale, unit: the row. Neighbors are rows at an ℓ₁ distance of at most `sensitivity`:
        ln(P[r | v]/P[r | v']) = (‖r − v'‖₁ − ‖r − v‖₁)/scale ≤ ‖v − v'‖₁/scale. Claimed and proven loss are the same,
        and attained by rows at that distance. Clamping is post-processing.

    Examples:
        >>> mechanism = VectorLaplace(scale=4.0, sensitivity=6, bound=10)
        >>> mechanism.event.epsilon
        1.5
    """

    is_drawn_ahead: ClassVar[bool] = True
    scale: float
    sensitivity: int
    bound: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(1 <= self.sensitivity < _TOO_LARGE, "sensitivity", self.sensitivity, "in [1, 2**62) grid steps")
        require(self.bound >= 1, "bound", self.bound, "at least 1 grid step")
        self._check_scale()
        self._check_reach()

    @property
    def value_range(self) -> tuple[int, int]:
        """[−bound, bound]."""
        return -self.bound, self.bound

    @property
    def event(self) -> events.PureMechanism:
        """ε = sensitivity/scale, for one coordinate as for all."""
        return events.PureMechanism(epsilon=quotient_up(self.sensitivity, self.scale))

    def event_of(self, num_values: int) -> events.PureMechanism:
        """ε = sensitivity/scale, however many values the row has."""
        return self.event

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> events.PureMechanism:
        """ε of the widest column alone, or of `sensitivity` where that is less."""
        ends = (
            (column[0], column[-1]) if isinstance(column, range) else (min(column), max(column)) for column in values
        )
        widest = max((abs(last - first) for first, last in ends), default=0)
        return events.PureMechanism(epsilon=quotient_up(min(widest, self.sensitivity), self.scale))

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Rows are neighbors if their ℓ₁ distance is at most `sensitivity`. See `RowMechanism.are_neighbors`."""
        return are_within(self.sensitivity, values, other_values)


def _draw_noise(scale: float, randbelow: RandBelow) -> int:
    """Draw x with P[x] ∝ e^(−abs(x)/scale), exactly; as a float, the scale is a rational number.

    Let abs(x) = qB + r with blocks of B ≥ scale steps. r is uniform below B, and accepted with probability
    e^(−r/scale). q is geometric: the number of successes, each of probability e^(−B/scale), before a failure. Then a
    sign is drawn; −0 is rejected.
    """
    of_step, numerator, block = _rate(scale)
    while True:
        remainder = randbelow(block)
        if happens_exp(remainder * of_step, numerator, randbelow):
            blocks = 0
            while happens_exp(block * of_step, numerator, randbelow):
                blocks += 1
            size = blocks * block + remainder
            if randbelow(2):
                return size
            if size:
                return -size


@functools.lru_cache(maxsize=256)
def _rate(scale: float) -> tuple[int, int, int]:
    """Return 1/scale as a numerator and a denominator, and the least power of two of at least the scale, or 1."""
    numerator, of_step = scale.as_integer_ratio()
    return of_step, numerator, 1 << max(0, math.ceil(scale) - 1).bit_length()


def are_within(most: int, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
    """Return which of c and d rows have an ℓ₁ distance of at most `most`, shape (c, d)."""
    distances = np.zeros((len(values), len(other_values)), dtype=np.int64)
    for column, of_others in zip(values.T, other_values.T, strict=True):
        # Distances are capped just above the limit, so that sums fit into 64 bits.
        distances += np.minimum(np.abs(column[:, None] - of_others), most + 1)
        np.minimum(distances, most + 1, out=distances)
    return distances <= most
