"""Pairwise Frank-Wolfe steps towards the maximum of concave quadratics over an ℓ₁ ball, for many at once.

A point of the ball is a mixture of the 2d vertices ±B·e_k and the center. Each step moves weight from one of its
vertices to the one in whose direction the function increases most, to the maximum along that line. If the coefficients
of a quadratic are mostly noise, its optimum is a mixture of few vertices, which a few dozen cheap steps find. Otherwise
the interior point method continues from the result.

Every step is elementwise over the quadratics, so that bits do not depend on the batch.

Source: Lacoste-Julien and Jaggi (2015) for pairwise Frank-Wolfe steps; Fan, Chen and Lin (2005) for choosing the source
by its second-order gain.
"""

from typing import Final

import numpy as np

from ...arrays import FloatArray, IntArray

# With more steps, the interior point method is faster.
_MOST_STEPS: Final = 160
# Finished quadratics are removed from the batch after this many steps.
_STEPS_BETWEEN_CHECKS: Final = 8


def climb_pairwise(linear: FloatArray, hessians: FloatArray, *, radius: float, tolerance: float) -> FloatArray:
    """Return points of the ball with a large linear·β − ½·βᵀ·hessian·β, mostly the maximum, without a certificate.

    Linear parts and points have shape (m, d). Hessians have shape (m, d, d), and are symmetric and positive
    semidefinite. See `maximum`.
    """
    num_quadratics, size = linear.shape
    maxima = np.zeros((num_quadratics, size))
    active: IntArray = np.arange(num_quadratics, dtype=np.int64)
    points = np.zeros((num_quadratics, size))
    slopes = linear.copy()  # the gradient
    slack = np.full(num_quadratics, radius)  # the weight of the center: the rest of the radius
    diagonals = np.ascontiguousarray(np.einsum("mkk->mk", hessians))  # copies the diagonals, without sums
    lanes: IntArray = np.arange(num_quadratics, dtype=np.int64)
    for step in range(1, _MOST_STEPS + 1):
        num_moved, slack = _move(points, slopes, slack, hessians, diagonals, lanes)
        if step % _STEPS_BETWEEN_CHECKS and step < _MOST_STEPS:
            continue
        gaps = radius * np.abs(slopes).max(axis=1)
        for feature in range(size):
            gaps -= slopes[:, feature] * points[:, feature]
        is_going = (gaps > tolerance / 2) & (num_moved > 0)
        maxima[active] = points
        if not np.any(is_going):
            break
        active, points, slopes, slack = active[is_going], points[is_going], slopes[is_going], slack[is_going]
        hessians, diagonals = hessians[is_going], diagonals[is_going]
        lanes = np.arange(len(active), dtype=np.int64)
    return maxima


def _move(
    points: FloatArray,
    slopes: FloatArray,
    slack: FloatArray,
    hessians: FloatArray,
    diagonals: FloatArray,
    lanes: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Take one step for each of m quadratics; change points and slopes, shape (m, d), in place.

    Return the moved weight and the new slack, shape (m,) each.
    """
    # Target: the vertex in whose direction the function increases most.
    target = np.argmax(np.abs(slopes), axis=1)
    slope = slopes[lanes, target]
    sign = np.where(slope < 0, -1.0, 1.0)
    rise = slope * sign
    row = hessians[lanes, target]
    # Source: of the point's vertices and the center, the one whose exchange gains most.
    signs = np.sign(points)
    gains = rise[:, None] - signs * slopes
    diagonal = diagonals[lanes, target]
    curvatures = diagonal[:, None] + diagonals - 2 * sign[:, None] * signs * row
    values = np.where(
        (points != 0) & (gains > 0), gains * gains / np.maximum(curvatures, _least_curvature(diagonal)), 0.0
    )
    source = np.argmax(values, axis=1)
    of_center = np.where(slack > 0, rise * rise / np.maximum(diagonal, _least_curvature(diagonal)[:, 0]), 0.0)
    is_center = of_center > values[lanes, source]
    gain = np.where(is_center, rise, gains[lanes, source])
    curvature = np.where(is_center, diagonal, curvatures[lanes, source])
    most = np.where(is_center, slack, np.abs(points[lanes, source]))
    # Step size: to the maximum along the line, or until the source has no weight.
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(curvature > 0, gain / curvature, np.inf)
    length = np.where(gain > 0, np.minimum(best, most), 0.0)
    is_used_up = length >= most
    leaving = np.where(is_center, 0.0, signs[lanes, source] * length)
    remainder = np.where(is_used_up & ~is_center, 0.0, points[lanes, source] - leaving)
    points[lanes, source] = remainder
    points[lanes, target] += sign * length
    slack = np.where(is_center, np.where(is_used_up, 0.0, slack - length), slack)
    slopes -= row * (sign * length)[:, None]
    slopes += hessians[lanes, source] * leaving[:, None]
    return length, slack


def _least_curvature(curvatures: FloatArray) -> FloatArray:
    """Return the least curvature to divide by, for a flat line: shape (m, 1)."""
    return np.maximum(curvatures, 1.0)[:, None] * 1e-12
