"""The Euclidean projection to an ℓ₁ ball.

Source: Duchi, Shalev-Shwartz, Singer and Chandra (2008), "Efficient projections onto the ℓ₁-ball for learning in high
dimensions": soft thresholding, at a threshold that a sort finds.
"""

import math
from typing import Final

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray
from ...errors import require
from .maximum import check_rows

_ALMOST_ONE: Final = 1 - 2.0**-51


@exact_arguments
def project_to_l1_ball(points: FloatArray, *, radius: float) -> FloatArray:
    """Return the nearest point of the ball ‖x‖₁ ≤ radius to each point, float64, shape (m, d), d ≥ 1. See `maximum`.

    Points in the ball are returned unchanged, so that projecting twice changes nothing. The ℓ₁ norms for this decision
    are added in the order of the features, so that a point's bits do not depend on others.

    Examples:
        >>> project_to_l1_ball(np.array([[3.0, 1.0], [0.5, -0.5]]), radius=2.0).tolist()
        [[2.0, 0.0], [0.5, -0.5]]
    """
    require(0 < radius < math.inf, "radius", radius, "positive and finite")
    check_rows(points, name="points", length="m")
    projected = points.copy()
    outside = np.flatnonzero(_norms(points) > radius)
    if len(outside) == 0:
        return projected
    sizes = np.abs(points[outside])
    # Relative to the greatest component, nothing overflows; components a radius below it become 0 in any case.
    sizes = np.maximum(sizes - sizes.max(axis=1, keepdims=True), -radius)
    thresholds = _thresholds(sizes, radius)
    sizes = np.maximum(sizes - thresholds[:, None], 0.0)
    while (too_long := _norms(sizes) > radius).any():  # rounding may leave a point slightly outside
        sizes[too_long] *= _ALMOST_ONE
    projected[outside] = np.where(sizes > 0, np.copysign(sizes, points[outside]), 0.0)
    return projected


def _norms(points: FloatArray) -> FloatArray:
    """Return the ℓ₁ norms; inf where a sum overflows."""
    norms = np.zeros(len(points))
    with np.errstate(over="ignore"):
        for column in points.T:
            norms += np.abs(column)
    return norms


def _thresholds(sizes: FloatArray, radius: float) -> FloatArray:
    """Return θ with Σ max(size − θ, 0) = radius, for each row."""
    thresholds = np.full(len(sizes), -radius)
    total = np.zeros(len(sizes))
    for number, column in enumerate(np.sort(sizes, axis=1).T[::-1], start=1):
        total += column
        candidates = (total - radius) / number
        # The greatest components remain, as long as each is above the threshold computed with it.
        np.copyto(thresholds, candidates, where=column > candidates)
    return thresholds
