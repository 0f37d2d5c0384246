"""What one noisy sum costs whose noise is made of shares, of which some number is honest.

A share is the difference of two negative binomial numbers NB(1/h, a), a = e^(−1/scale), for h *planned* shares. H
honest ones add up to the difference of two NB(H/h, a):

- H ≥ h: that is discrete Laplace noise of this scale and, where H > h, independent noise beside it. So the loss of an
  integer vector whose l1 sensitivity is Δ is Δ/scale, exactly, whatever else is added and wherever sums wrap around.
- H < h, r = H/h: with P[noise = x] = q(|x|), q(x) is the x-th moment of a positive measure on [0, a] (Euler's integral
  of the hypergeometric function), hence log-convex and falling. So no two neighbors of a coordinate that are t apart
  lose more than g(t) = ln(q(0)/q(t)), which is attained, and g is concave: the worst change of Δ in all is spread over
  the coordinates as evenly as integers can be.

q(t) is in proportion to Σ_k w(k)·w(k + t), w(k) = Γ(k + r)/(k!·Γ(r))·a^k. The sum for q(0) is bounded from above, by a
geometric series for what is left out, and the one for q(t) from below; both allow for all rounding.

Source: Goryczka and Xiong (2017), for Laplace noise as a sum of shares.
"""

import functools
import math
from typing import Final

import numpy as np

from ..arguments import exact_arguments
from ..elementary import exp, expm1, ln, quotient_up
from ..errors import require

_SCALES: Final = 20  # a sum's terms fall by e^(−2) a scale
_MOST_TERMS: Final = 1 << 20  # beyond, the bound is looser, and holds
_MOST_SCALES_APART: Final = 100  # farther, products would be too small for floats
# Relatively, for each of the factors that make the last term: five roundings in each, in both sums.
_ROUNDING: Final = 2.0**-48


@exact_arguments
def shared_laplace_loss(*, scale: float, sensitivity: int, planned: int, honest: int, width: int) -> float:
    """Return ε of a sum of integer vectors with noise shares, against whoever knows all shares but the honest ones.

    Args:
        scale: > 0, of the discrete Laplace noise that the planned shares add up to.
        sensitivity: Δ ≥ 0, the l1 distance of neighboring vectors at most.
        planned: h ≥ 1: shares are drawn so that so many add up to that noise.
        honest: H ≥ 0, of the shares that are in the sum.
        width: coordinates of a vector, at least 1.

    Returns:
        In nats: Δ/scale, rounded up, where H ≥ h; else a proven upper bound, at scales up to 2¹⁵ above the exact loss
        by less than 10⁻⁸ for each coordinate that changes by 100 scales at most, and looser beyond; ∞ without an honest
        share.

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
    shape = math.nextafter(honest / planned, 0)  # with less of a share the loss is more
    # Of no coordinate, or over no distance, nothing is lost; 0 times infinity would be no number.
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
