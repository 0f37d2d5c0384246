"""Maximization of many concave quadratics over an ℓ₁ ball: pairwise steps first, then the interior point method.

Source: the functional mechanism's objective, once its quadratic part is negative semidefinite; readings M3 and M10.
"""

import dataclasses
from typing import Final

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray
from .interior_point import DEFAULT_MAX_ITERATIONS, DEFAULT_TOLERANCE, maximize_in_lanes
from .lanes import sum_over_features
from .maximum import EPSILON, BallMaximum, check_limits, check_points, check_rows, considerable
from .objectives import Quadratics
from .pairwise import climb_pairwise
from .projection import project_to_l1_ball

_NUMBERS_IN_A_BLOCK: Final = 1 << 15
# The batch for pairwise steps, which are so cheap that overhead would dominate in a small batch.
_LANES_OF_PAIRWISE_STEPS: Final = 4096
# The roundings of the products in a sum, of c, and of the gap's two terms.
_OTHER_ROUNDINGS: Final = 6


@exact_arguments
def maximize_quadratics(
    linear: FloatArray,
    quadratic: FloatArray,
    *,
    radius: float,
    tolerance: float = DEFAULT_TOLERANCE,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
) -> BallMaximum:
    """Maximize each linear·β + βᵀ·quadratic·β over ‖β‖₁ ≤ radius. See `maximum`.

    Args:
        linear: float64, shape (m, d), d ≥ 1.
        quadratic: float64, shape (m, d, d), negative semidefinite, and symmetric; otherwise ValueError is raised.

    Source:
        Readings M3 and M10.

    Examples:
        >>> found = maximize_quadratics(np.array([[6.0, 2.0]]), -np.eye(2)[None], radius=3.0)
        >>> found.points.round(3).tolist()
        [[2.5, 0.5]]
    """
    check_limits(radius=radius, tolerance=tolerance, max_iterations=max_iterations)
    _check_quadratics(linear, quadratic)
    num_quadratics, num_features = linear.shape
    begun = np.empty((num_quadratics, num_features))
    for begin in range(0, num_quadratics, _LANES_OF_PAIRWISE_STEPS):
        block = slice(begin, begin + _LANES_OF_PAIRWISE_STEPS)
        begun[block] = climb_pairwise(linear[block], -2 * quadratic[block], radius=radius, tolerance=tolerance)
    begun = project_to_l1_ball(begun, radius=radius)  # rounding may have left the ball
    parts: list[BallMaximum] = []
    size = max(1, _NUMBERS_IN_A_BLOCK // num_features**2)
    for begin in range(0, num_quadratics, size):
        block = slice(begin, begin + size)
        hessians = -2 * np.ascontiguousarray(quadratic[block].transpose(1, 2, 0))
        maxima = maximize_in_lanes(
            Quadratics(np.ascontiguousarray(linear[block].T), hessians),
            num_features=num_features,
            num_lanes=hessians.shape[-1],
            radius=radius,
            tolerance=tolerance,
            max_iterations=max_iterations,
            start=np.ascontiguousarray(begun[block].T),
        )
        with np.errstate(all="ignore"):
            bounds = _roundings(np.ascontiguousarray(linear[block].T), hessians, maxima.points.T, radius=radius)
        parts.append(dataclasses.replace(maxima, gaps=maxima.gaps + considerable(bounds, tolerance)))
    gaps = np.concatenate([np.empty(0), *(part.gaps for part in parts)])
    return BallMaximum(
        np.concatenate([np.empty((0, num_features)), *(part.points for part in parts)]),
        gaps,
        np.concatenate([np.empty(0, dtype=np.int64), *(part.num_iterations for part in parts)]),
        gaps <= tolerance,
    )


def _roundings(linear: FloatArray, hessians: FloatArray, points: FloatArray, *, radius: float) -> FloatArray:
    """Return bounds on the rounding errors of the computed gaps: 2B times that of an entry of the gradient.

    The gradient is H·β − c, with Hessians of shape (d, d, lanes), and c and β of shape (d, lanes).
    """
    roundings = (len(linear).bit_length() + _OTHER_ROUNDINGS) * EPSILON
    sizes = sum_over_features(np.abs(hessians) * np.abs(points)) + np.abs(linear)
    return 2 * radius * roundings * sizes.max(axis=0)


def _check_quadratics(linear: FloatArray, quadratic: FloatArray) -> None:
    check_rows(linear, name="linear", length="m")
    check_points(quadratic, name="quadratic", shape=(*linear.shape, linear.shape[1]))
    if not np.array_equal(quadratic, quadratic.transpose(0, 2, 1)):
        raise ValueError("quadratic is not symmetric: give (quadratic + quadratic.T) / 2")
