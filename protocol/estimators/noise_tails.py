"""How far noise reaches: tails of sums of Laplace noise, for tests that hold whatever the truth is.

Noise has a symmetric law whose characteristic function is Π (1 + bⱼ²u²)^(−λⱼ): a part with λ = n is the sum of n draws
of Laplace noise of scale b. A coordinate of noise in d dimensions with density ∝ e^(−‖x‖₂/b) is the part with
λ = (d + 1)/2.

The normal law of the same variance is no substitute: of one draw, 1 % is beyond 2.77 standard deviations and not 2.33.

Source: Gil-Pelaez (1951) for the tail by a characteristic function, Abate and Whitt (1992) for its sum in steps.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from scipy.special import expm1, log1p

__all__ = ["NoisePart", "tail_of_noise"]

GRID: Final = 2.0**-20
"""Tails are rounded up to it, so that a library's last bit, and the sum's error of about 1e-9, are not seen."""
# In standard deviations; the probability beyond is below 1e-12 for every such law.
_FARTHEST: Final = 20.0
# The sum's period: what is beyond it less the farthest, again below 1e-12, is counted in.
_PERIOD: Final = 44.0
_MOST_STEPS: Final = 1 << 14
_STEPS_AT_ONCE: Final = 256
_NEGLIGIBLE: Final = 1e-12


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
    squares = np.array([(scale / deviation) ** 2 for scale in shapes])
    weights = np.array(list(shapes.values()))
    standardized = min(reach / deviation, _FARTHEST)
    total = 0.0
    for start in range(0, _MOST_STEPS, _STEPS_AT_ONCE):
        places = np.arange(start, start + _STEPS_AT_ONCE) + 0.5
        points = places * (2 * math.pi / _PERIOD)
        characteristic = expm1(-(log1p(points[:, None] ** 2 * squares) @ weights)) + 1.0
        total += float(np.sum(np.sin(standardized * points) / places * characteristic))
        if characteristic[-1] < _NEGLIGIBLE:
            break
    tail = 0.5 - total / math.pi
    return min(max(math.ceil(tail / GRID), 1) * GRID, 0.5)
