"""The result of maximizations over ℓ₁ balls, and their common checks.

All of them take the `radius` B > 0; the `tolerance` > 0, the greatest gap of a converged result; and `max_iterations` ≥
1, the number of steps after which the best point so far is returned. ConfigurationError is raised for other values, and
ValueError for arrays of another shape, or with a number that is not finite.
"""

import dataclasses
import math
from typing import Final

import numpy as np

from ...arrays import FloatArray, IntArray
from ...errors import refuse, require

EPSILON: Final = float(np.finfo(np.float64).eps)
"""A bound on the relative error of one operation."""
SLIGHT: Final = 1e-3
"""The share of the tolerance that is negligible in a certificate."""

_AXES_OF_ROWS: Final = 2


@dataclasses.dataclass(frozen=True)
class BallMaximum:
    """The maxima of some concave functions over one ℓ₁ ball, each with a certificate.

    A gap is an upper bound on the difference between the function's maximum over the ball and its value at the point:
    by concavity f(x) − f(β) ≤ g·(x − β) ≤ radius·‖g‖_∞ − g·β for every x in the ball, where g is the gradient at β.

    Args:
        points: float64, shape (m, d): β of each function, ‖β‖₁ ≤ radius.
        gaps: float64, shape (m,): radius·‖g‖_∞ − g·β, plus a bound on its rounding error, if that exceeds a thousandth
            of the tolerance.
        num_iterations: int64, shape (m,): the steps of the interior point method; 0 if the start was good enough.
        has_converged: bool, shape (m,): whether the gap is at most the tolerance.

    Source:
        Reading M10.

    Examples:
        >>> from psephos.protocol.estimators.l1_ball import maximize_quadratics
        >>> found = maximize_quadratics(np.array([[6.0, 2.0]]), -np.eye(2)[None], radius=3.0)
        >>> (found.points.round(3).tolist(), bool(found.gaps[0] <= 1e-6), found.has_converged.tolist())
        ([[2.5, 0.5]], True, [True])
    """

    points: FloatArray
    gaps: FloatArray
    num_iterations: IntArray
    has_converged: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def check_limits(*, radius: float, tolerance: float, max_iterations: int) -> None:
    """Raise `ConfigurationError` unless all three are above 0, and the first two finite."""
    require(0 < radius < math.inf, "radius", radius, "positive and finite")
    require(0 < tolerance < math.inf, "tolerance", tolerance, "positive and finite")
    refuse(max_iterations < 1, "max_iterations", max_iterations, "at least 1")


def check_points(points: FloatArray, *, name: str, shape: tuple[int, ...]) -> None:
    """Raise `ValueError` unless these are finite points of this shape."""
    if points.shape != shape:
        raise ValueError(f"{name} have shape {points.shape}: give shape {shape}")
    if not np.isfinite(points).all():
        raise ValueError(f"a number of {name} is infinite or none: give finite ones")


def check_rows(rows: FloatArray, *, name: str, length: str) -> None:
    """Raise `ValueError` unless these are finite rows of at least one number."""
    if rows.ndim != _AXES_OF_ROWS or rows.shape[1] < 1:
        raise ValueError(f"{name} have shape {rows.shape}: give shape ({length}, d >= 1)")
    if not np.isfinite(rows).all():
        raise ValueError(f"a number of {name} is infinite or none: give finite ones")


def considerable(bounds: FloatArray, tolerance: float) -> FloatArray:
    """Return bounds on the rounding of gaps as they count: 0 where they are slight, ∞ where they are no numbers."""
    return np.where(bounds <= SLIGHT * tolerance, 0.0, np.where(np.isfinite(bounds), bounds, np.inf))
