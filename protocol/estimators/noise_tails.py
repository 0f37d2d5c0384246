"""How far noise reaches: tails of sums of Laplace noise, for tests that hold whatever the truth is.

Noise has a symmetric law whose characteristic function is Π (1 + bⱼ²u²)^(−λⱼ): a part with λ = n is the sum of n draws
of Laplace noise of scale b. A coordinate of noise in d dimensions with density ∝ e^(−‖x‖₂/b) is the part with
λ = (d + 1)/2.

The normal law of the same variance is no substitute: of one draw, 1 % is beyond 2.77 standard deviations and not 2.33.

Source: Gil-Pelaez (1951) for the tail by a characteristic function, Abate and Whitt (1992) for its sum in steps.
"""

import functools
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import scipy as sp

from ..elementary import square

__all__ = ["NoisePart", "reach_of_noise", "tail_of_noise"]

GRID: Final = 2.0**-20
"""Tails are rounded up to it, so that a library's last bit, and the sum's error of about 1e-9, are not seen."""
# In standard deviations; the probability beyond is below 1e-12 for every such law.
_FARTHEST: Final = 20.0
# The sum's period: what is beyond it less the farthest, again below 1e-12, is counted in.
_PERIOD: Final = 44.0
_MOST_STEPS: Final = 1 << 14
_FIRST_STEPS: Final = 64
_NEGLIGIBLE: Final = 1e-12
_BISECTIONS: Final = 30
_DIGITS: Final = 12


class NoisePart(NamedTuple):
    """Independent noise with the characteristic function (1 + scale²·u²)^(−shape).

    Args:
        scale: b ≥ 0.
        shape: λ ≥ 1: how many draws of Laplace noise of this scale it is worth.
    """

    scale: float
    shape: float

    @property
    def variance(self) -> float:
        """2λb²."""
        return 2 * self.shape * self.scale * self.scale


def tail_of_noise(parts: Iterable[NoisePart], reach: float) -> float:
    """Return the probability that the sum of independent noises is `reach` or more, rounded up to a public grid.

    Args:
        parts: the noises.
        reach: ≥ 0.

    Returns:
        In [2^−20, ½]; 0 where there is no noise and the reach is above 0.
    """
    shapes: dict[float, float] = defaultdict(float)
    for part in parts:
        if part.scale > 0:
            shapes[part.scale] += part.shape
    deviation = math.sqrt(math.fsum(NoisePart(*part).variance for part in shapes.items()))
    if reach <= 0:
        return 0.5
    if not deviation:
        return 0.0
    squares = np.array([square(scale / deviation) for scale in shapes])
    weights = np.array(list(shapes.values()))
    standardized = min(reach / deviation, _FARTHEST)
    total, start, stop = 0.0, 0, _FIRST_STEPS
    while start < _MOST_STEPS:
        places = np.arange(start, stop) + 0.5
        points = places * (2 * math.pi / _PERIOD)
        characteristic = sp.special.expm1(-(sp.special.log1p(points[:, None] ** 2 * squares) @ weights)) + 1.0
        total += float(np.sum(np.sin(standardized * points) / places * characteristic))
        if characteristic[-1] < _NEGLIGIBLE:
            break
        start, stop = stop, 2 * stop
    tail = 0.5 - total / math.pi
    return min(max(math.ceil(tail / GRID), 1) * GRID, 0.5)


def reach_of_noise(parts: Iterable[NoisePart], tail: float) -> float:
    """Return how far the sum of independent noises reaches with no more than this probability.

    Args:
        parts: the noises.
        tail: the probability, > 0, on one side.

    Returns:
        A reach at which `tail_of_noise` is at most `tail`, hardly above the least one; infinite where the tail is below
        2^−20, the least that is told.
    """
    noises = [part for part in parts if part.scale > 0]
    deviation = math.sqrt(math.fsum(part.variance for part in noises))
    if not deviation or tail >= 0.5:  # noqa: PLR2004  half of the noise is on the other side
        return 0.0
    if tail < GRID:
        return math.inf
    # Many sums differ in nothing but their size. The reach is stretched by more than digits that are left out make.
    standardized = sorted((float(f"{part.scale / deviation:.{_DIGITS}g}"), part.shape) for part in noises)
    return deviation * _standardized_reach(tuple(standardized), tail) * (1 + 10.0 ** (2 - _DIGITS))


@functools.lru_cache(maxsize=4096)
def _standardized_reach(noises: tuple[tuple[float, float], ...], tail: float) -> float:
    """Return the reach of noise whose standard deviation is about 1."""
    parts = [NoisePart(scale, shape) for scale, shape in noises]
    near, far = 0.0, _FARTHEST
    for _ in range(_BISECTIONS):
        middle = (near + far) / 2
        if tail_of_noise(parts, middle) <= tail:
            far = middle
        else:
            near = middle
    return far
