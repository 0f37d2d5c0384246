"""The loss of a noisy sum whose noise consists of shares, some of which are honest.

A share is the difference of two negative binomial numbers NB(1/h, a), a = e^(−1/scale), for h *planned* shares. The sum
of H honest shares is the difference of two NB(H/h, a):

- H ≥ h: this is discrete Laplace noise of this scale, plus independent noise if H > h. So the loss of an integer vector
  with ℓ₁ sensitivity Δ is exactly Δ/scale, whatever else is added and even if sums wrap around.
- H < h, r = H/h: let P[noise = x] = q(|x|). q(x) is the x-th moment of a positive measure on [0, a] (Euler's integral
  of the hypergeometric function), hence log-convex and decreasing. So two values of a coordinate at distance t lose at
  most g(t) = ln(q(0)/q(t)), which is attained. g is concave, so a total change of Δ costs most if it is spread over the
  coordinates as evenly as integers can be.

q(t) is proportional to Σ_k w(k)·w(k + t), w(k) = Γ(k + r)/(k!·Γ(r))·a^k. The sum for q(0) is bounded from above, with a
geometric series for the omitted terms, and the sum for q(t) from below. Both bounds allow for all rounding.

Source: Goryczka and Xiong (2017), for Laplace noise as a sum of shares.
"""

import functools
import math
from typing import Final

import numpy as np

from ..arguments import exact_arguments
from ..elementary import exp, expm1, ln, quotient_up
from ..errors import require

_SCALES: Final = 20  # scales that a sum covers; its terms fall by a factor of e^(−2) per scale
_MOST_TERMS: Final = 1 << 20  # beyond this number the bound is looser, but still holds
_MOST_SCALES_APART: Final = 100  # at greater distances, products would underflow
# The relative rounding error per factor of the last term: five roundings each, in both sums.
_ROUNDING: Final = 2.0**-48


@exact_arguments
def shared_laplace_loss(*, scale: float, sensitivity: int, planned: int, honest: int, width: int) -> float:
    """Return ε of a sum of integer vectors with noise shares, against an observer who knows all but the honest shares.

    Args:
        scale: > 0, the scale of the discrete Laplace noise that the planned shares add up to, in grid steps.
        sensitivity: Δ ≥ 0, the greatest ℓ₁ distance between neighboring vectors, in grid steps.
        planned: h ≥ 1, the number of shares that add up to this noise.
        honest: H ≥ 0, the number of honest shares in the sum.
        width: the number of coordinates of a vector, at least 1.

    Returns:
        ε in nats. For H ≥ h it is Δ/scale, rounded up. For 0 < H < h it is a proven upper bound. At scales up to 2¹⁵
        this exceeds the exact loss by less than 10⁻⁸ for each coordinate that changes by at most 100 scales; beyond, it
        is looser. For H = 0 it is ∞.

    Raises:
        ConfigurationError: a number is out of range.

    Examples:
        >>> shared_laplace_loss(scale=4.0, sensitivity=2, planned=3, honest=3, width=1)
        0.5
        >>> shared_laplace_loss(scale=4.0, sensitivity=2, planned=3, honest=0, width=1)
        inf
    """
    require(0 < scale < math.inf, "scale", scale, "positive and finite")
    for field, value, least in (
        ("sensitivity", sensitivity, 0),
        ("planned", planned, 1),
        ("honest", honest, 0),
        ("width", width, 1),
    ):
        require(value >= least, field, value, f"at least {least}")
    if not sensitivity:
        return 0.0
    if honest >= planned:
        return quotient_up(sensitivity, scale)
    if not honest:
        return math.inf
    quotient, remainder = divmod(sensitivity, width)
    shape = math.nextafter(honest / planned, 0)  # rounded down, since a smaller share has a greater loss
    # Terms of no coordinates or no distance are skipped, since 0 times infinity would be NaN.
    parts = [
        (number, distance)
        for number, distance in ((width - remainder, quotient), (remainder, quotient + 1))
        if number * distance
    ]
    return sum(number * _gap(scale, shape, distance) for number, distance in parts)


@functools.lru_cache(maxsize=256)
def _gap(scale: float, shape: float, distance: int) -> float:
    """Return g(distance) from above; it is subadditive, so what is far is gone in steps."""
    if not distance:
        return 0.0
    farthest = max(1, min(_MOST_TERMS, int(_MOST_SCALES_APART * scale)))
    if distance > farthest:
        steps, remainder = divmod(distance, farthest)
        return steps * _gap(scale, shape, farthest) + _gap(scale, shape, remainder)
    number = min(math.ceil(_SCALES * scale) + 1, _MOST_TERMS)
    places = np.arange(number + distance, dtype=np.float64)
    weights = np.concatenate([[1.0], np.cumprod(exp(-1 / scale) * ((places + shape) / (places + 1)))])
    variance = math.fsum((weights[:number] * weights[:number]).tolist())
    variance += float(weights[number] * weights[number]) / -expm1(-2 / scale)
    far = math.fsum((weights[:number] * weights[distance : number + distance]).tolist())
    slack = 1 + (number + distance) * _ROUNDING
    return ln(variance * slack / far) * (1 + _ROUNDING) if far else math.inf
