"""Tails of sums of Laplace noise, for tests whose level holds whatever the truth is.

The noise has a symmetric law with the characteristic function Π (1 + bⱼ²u²)^(−λⱼ). A part with λ = n is the sum of n
independent draws of Laplace noise of scale b. A coordinate of noise in d dimensions with density ∝ e^(−‖x‖₂/b) is a
part with λ = (d + 1)/2. A normal law of the same variance has lighter tails: it exceeds 2.33 standard deviations with
probability 1 %, and one draw of Laplace noise exceeds 2.77.

Discrete noise on a grid is continuous noise minus an independent fractional part, since exponential noise is the sum of
a geometric integer part and an independent fractional part. Each draw has two fractional parts. By Hoeffding's
inequality their sum is within `_STEPS` root mean squares of 0 except with probability e^(−_STEPS²/2). So P[discrete sum
≥ t] is at most that probability plus P[continuous sum ≥ t − that distance].

Noise shares on a grid add up to a λ that need not be an integer. Their characteristic function is (1 + c(1 − cos
u))^(−λ) with c = 2a/(1 − a)² and a = e^(−1/b), b in steps of the grid. For the numerical inversion, the difference of
two uniform numbers in [0, 1) is added to each sum of shares, which makes its law continuous, symmetric and unimodal.
The added numbers are within `_STEPS`/√2 root mean squares of 0 except with probability e^(−_STEPS²/2).

Source: Gil-Pelaez (1951) for the tail as an integral of the characteristic function; Abate and Whitt (1992) for its
discretization.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np
import scipy as sp
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..elementary import exp, expm1, square

GRID: Final = 2.0**-20
"""Tails are rounded up to multiples of this, which hides rounding errors and the discretization error of about 1e-9."""
# In standard deviations; the probability beyond is below 1e-12 for every such law.
_FARTHEST: Final = 20.0
# The period of the discretized integral, in standard deviations. It adds the probability beyond `_PERIOD` − `_FARTHEST`
# to a tail, which is below 1e-12 too.
_PERIOD: Final = 44.0
_MOST_STEPS: Final = 1 << 14
_FIRST_STEPS: Final = 64
_NEGLIGIBLE: Final = 1e-12
_BISECTIONS: Final = 30
_STEPS: Final = 6.0
_DIGITS: Final = 12
_TAIL_STEPS: Final = 1 << 13
"""The number of grid points in a period, for tails on a grid."""


class NoisePart(NamedTuple):
    """Independent noise with the characteristic function (1 + scale²·u²)^(−shape).

    Args:
        scale: b ≥ 0.
        shape: λ ≥ 1, the number of draws of Laplace noise of this scale. With a step it may be a fraction only for
            noise shares.
        step: the step of the grid of each draw, in the unit of the scale; 0 for continuous noise.
    """

    scale: float
    shape: float
    step: float = 0.0

    @property
    def variance(self) -> float:
        """2λb²."""
        return 2 * self.shape * self.scale * self.scale

    @property
    def is_of_shares(self) -> bool:
        """Whether it is noise on a grid whose shape is no integer."""
        return self.step > 0 and self.shape % 1 != 0


def tail_of_noise(parts: Iterable[NoisePart], reach: float) -> float:
    """Return P[sum of independent noises ≥ `reach`] for a reach ≥ 0, rounded up to a multiple of `GRID`.

    The result is in [2^−20, ½]; it is 0 if there is no noise and the reach is above 0.
    """
    noises = [part for part in parts if part.scale > 0]
    deviation = math.sqrt(math.fsum(part.variance for part in noises))
    steps = reach_of_steps(noises)
    if reach <= 0 or (deviation and reach <= steps):
        return 0.5
    if not deviation:
        return 0.0
    tail = _law_of(tuple(noises), deviation).tail((reach - steps) / deviation)
    return min(tail + GRID, 0.5) if steps else tail


def reach_of_steps(noises: Iterable[NoisePart]) -> float:
    """Return a bound on the sum of fractional parts of noise on grids; it fails with probability below `GRID`/100.

    Examples:
        >>> reach_of_steps([NoisePart(scale=5.0, shape=4.0, step=0.5)])
        6.0
    """
    return _STEPS * math.sqrt(
        math.fsum((0.5 if part.is_of_shares else part.shape) * square(part.step) for part in noises)
    )


class _Law:
    """The law of a sum of at least one noise, in units of its standard deviation."""

    def __init__(self, parts: Sequence[NoisePart], deviation: float) -> None:
        shapes: dict[float, float] = defaultdict(float)
        shares = [part for part in parts if part.is_of_shares]
        for part in parts:
            if not part.is_of_shares:
                shapes[part.scale] += part.shape
        squares = np.array([square(scale / deviation) for scale in shapes])
        weights = np.array(list(shapes.values()))
        # For each block: the indices of the points, the points, and the characteristic function at them.
        self._blocks: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        start, stop = 0, _FIRST_STEPS
        while start < _MOST_STEPS:
            places: FloatArray = np.arange(start, stop, dtype=np.float64) + 0.5
            points = places * (2 * math.pi / _PERIOD)
            characteristic = sp.special.expm1(-(sp.special.log1p(points[:, None] ** 2 * squares) @ weights)) + 1.0
            for part in shares:
                characteristic *= _share_characteristic(part, points / deviation)
            self._blocks.append((places, points, characteristic))
            if (characteristic.max() if shares else characteristic[-1]) < _NEGLIGIBLE:
                break
            start, stop = stop, 2 * stop

    def tail(self, reach: float) -> float:
        """Return P[sum ≥ `reach` standard deviations], rounded up to a multiple of `GRID`."""
        near = min(reach, _FARTHEST)
        total = sum(float(np.sum(np.sin(near * points) / places * law)) for places, points, law in self._blocks)
        return min(max(math.ceil((0.5 - total / math.pi) / GRID), 1) * GRID, 0.5)

    def tails(self) -> FloatArray:
        """Return P[sum ≥ k·spacing] for k = 0, 1, …, up to half of the period, by one Fourier transform."""
        size = 2 * _MOST_STEPS
        weights = np.zeros(size, dtype=np.complex128)
        for places, _, law in self._blocks:
            start = int(places[0])
            weights[start : start + len(places)] = law / places
        turns = np.exp(1j * math.pi / size * np.arange(size // 2))
        sums = (turns * sp.fft.ifft(weights)[: size // 2]).imag * size
        tails: FloatArray = np.clip(0.5 - sums / math.pi, 0.0, 0.5)
        return np.minimum.accumulate(tails[:: size // _TAIL_STEPS])


_law_of: Final = functools.lru_cache(maxsize=64)(_Law)
"""Laws are cached, since sessions with the same parameters have the same noise."""


class NoiseTails(NamedTuple):
    """The tails of a sum of independent noises on a fine grid.

    Args:
        deviation: the standard deviation of the sum; spacing and tails are in units of it.
        spacing: the spacing of the grid, in standard deviations.
        beyond: P[sum ≥ k·spacing] for k = 0, 1, …, within 1e-7.
    """

    deviation: float
    spacing: float
    beyond: FloatArray

    @classmethod
    def from_parts(cls, parts: Iterable[NoisePart], farthest: float) -> Self:
        """Return the tails of a sum of noises, not all of them 0, up to `farthest` standard deviations."""
        noises = [part for part in parts if part.scale > 0]
        deviation = math.sqrt(math.fsum(part.variance for part in noises))
        spacing = _PERIOD / _TAIL_STEPS
        return cls(deviation, spacing, _Law(noises, deviation).tails()[: math.ceil(farthest / spacing) + 1])

    @property
    def farthest(self) -> int:
        """The last index of the grid."""
        return len(self.beyond) - 1

    def tail(self, place: int) -> float:
        """Return P[sum ≥ place·spacing] for an integer `place` of any sign; beyond the grid, the tail at its end."""
        return float(self.tails(np.array([place]))[0])

    def tails(self, places: NDArray[Any]) -> FloatArray:
        """Return `tail` for each of many places."""
        tails = self.beyond[np.minimum(np.abs(places), self.farthest)]
        return np.where(places < 0, 1 - tails, tails)


def _share_characteristic(part: NoisePart, points: FloatArray) -> FloatArray:
    """Return the characteristic function of a sum of shares plus the difference of two uniform numbers in [0, step)."""
    half = points * (part.step / 2)
    decay = exp(-part.step / part.scale)
    spread = 4 * decay / square(expm1(-part.step / part.scale))
    sines = np.sin(half)
    share_values: FloatArray = sp.special.expm1(-part.shape * sp.special.log1p(spread * sines**2)) + 1.0
    return share_values * (sines / half) ** 2


def reach_of_noise(parts: Iterable[NoisePart], tail: float) -> float:
    """Return a reach of the sum of independent noises at which `tail_of_noise` is at most `tail` > 0.

    It is slightly above the least such reach, and infinite if the tail is below 2^−20, the least tail that is computed.
    """
    noises = [part for part in parts if part.scale > 0]
    deviation = math.sqrt(math.fsum(part.variance for part in noises))
    if not deviation or tail >= 0.5:  # noqa: PLR2004  half of the noise is on the other side
        return 0.0
    steps = reach_of_steps(noises)
    tail -= GRID if steps else 0.0
    if tail < GRID:
        return math.inf
    # Many sums differ only in their scale: standardized and rounded, they share a cached reach. The reach is enlarged
    # by more than the rounding can change it.
    standardized = sorted((float(f"{part.scale / deviation:.{_DIGITS}g}"), part.shape) for part in noises)
    reach = deviation * _standardized_reach(tuple(standardized), tail) * (1 + 10.0 ** (2 - _DIGITS))
    return reach + steps


@functools.lru_cache(maxsize=4096)
def _standardized_reach(noises: tuple[tuple[float, float], ...], tail: float) -> float:
    """Return the reach of noise whose standard deviation is about 1."""
    parts = [NoisePart(scale, shape) for scale, shape in noises]
    deviation = math.sqrt(math.fsum(part.variance for part in parts))
    law = _Law(parts, deviation)
    near, far = 0.0, _FARTHEST
    for _ in range(_BISECTIONS):
        middle = (near + far) / 2
        if middle <= 0 or law.tail(middle / deviation) > tail:
            near = middle
        else:
            far = middle
    return far
