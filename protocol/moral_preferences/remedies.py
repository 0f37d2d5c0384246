"""The remedies for noisy quadratics that have no maximum: projection, regularize-and-trim, or a nonconvex search.

A polynomial β·linear + βᵀ·quadratic·β with noisy coefficients may be unbounded, so that Algorithm 3's argmax does not
exist. `remedy_project` and `remedy_trim` turn it into a concave one, which `psephos.protocol.estimators.l1_ball`
maximizes. `maximize_indefinite` searches for the maximum of the unchanged polynomial over the ℓ₁ ball. All of this is
post-processing of noisy coefficients, and costs no privacy.

Each function takes m polynomials: `linear`, float64, shape (m, d), and symmetric `quadratic`, shape (m, d, d).
ValueError is raised for other shapes, and for numbers that are not finite.

Source: reading M3; Zhang, Zhang, Xiao, Yang and Winslett (2012), section 6, for regularization and spectral trimming.
"""

import math

import numpy as np

from ..arrays import FloatArray
from ..errors import require
from ..estimators.eigenvectors import eigenvectors
from ..estimators.l1_ball import project_to_l1_ball

# Zhang et al. (2012) take four standard deviations of the Laplace noise, each of which is √2 scales.
_RIDGE_IN_SCALES = 4 * math.sqrt(2)
_NUM_STARTS = 8
_NUM_STEPS = 200


def remedy_project(linear: FloatArray, quadratic: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Replace each quadratic by the nearest negative semidefinite one: positive eigenvalues become 0.

    Returns:
        linear, unchanged; quadratic, negative semidefinite up to rounding.

    Source:
        Reading M3, the first choice.
    """
    _check(linear, quadratic)
    eigenvalues, vectors = eigenvectors(quadratic)
    return linear, _matrices(np.minimum(eigenvalues, 0.0), vectors)


def remedy_trim(
    linear: FloatArray, quadratic: FloatArray, *, noise_scale: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Subtract a ridge from each quadratic, and trim the directions in which it is still not concave.

    The ridge is 4√2 noise scales on the diagonal. Eigenvectors whose eigenvalue is then not negative are trimmed: the
    maximum is searched in the span of the others. For this, the returned polynomial has no linear part along a trimmed
    direction, and has there the curvature of the steepest remaining one (or of the ridge, if none remains). So its
    unconstrained maximum is in the span, and is that of Zhang et al.

    Args:
        noise_scale: the scale Δ/ε ≥ 0 of the Laplace noise of one coefficient; with 0 there is no ridge.

    Returns:
        linear, within the span; quadratic, negative definite.

    Raises:
        ConfigurationError: the noise scale is out of range.

    Source:
        Zhang et al. (2012), section 6, there for minima.
    """
    _check(linear, quadratic)
    require(0 <= noise_scale < math.inf, "noise_scale", noise_scale, "at least 0 and finite")
    ridge = _RIDGE_IN_SCALES * noise_scale
    eigenvalues, vectors = eigenvectors(quadratic)
    eigenvalues -= ridge  # a ridge shifts all eigenvalues equally, and does not change the eigenvectors
    is_kept = eigenvalues < 0
    least = eigenvalues.min(axis=1, keepdims=True)
    steepest = np.where(least < 0, least, -1.0)
    along = np.where(is_kept, _product(np.swapaxes(vectors, 1, 2), linear), 0.0)
    return _product(vectors, along), _matrices(np.where(is_kept, eigenvalues, steepest), vectors)


def maximize_indefinite(linear: FloatArray, quadratic: FloatArray, *, radius: float) -> FloatArray:
    """Search for the maximum of arbitrary quadratics over an ℓ₁ ball, without a certificate of global optimality.

    Projected gradient ascent starts at the center and at the best of the ball's 2d vertices; the better result is
    returned. Its value is at least that of the center and of every vertex. It is the global maximum for convex and
    concave quadratics; for others it may be a local one.

    Args:
        radius: the radius of the ball, > 0.

    Returns:
        float64, shape (m, d).

    Raises:
        ConfigurationError: the radius is out of range.

    Source:
        Reading M3, the third choice.
    """
    _check(linear, quadratic)
    require(0 < radius < math.inf, "radius", radius, "positive and finite")
    num_features = linear.shape[1]
    vertices = radius * np.concatenate([np.eye(num_features), -np.eye(num_features)])
    curvatures = radius * radius * np.diagonal(quadratic, axis1=1, axis2=2)
    at_vertices = np.concatenate([curvatures + radius * linear, curvatures - radius * linear], axis=1)
    best = np.argsort(-at_vertices, axis=1, kind="stable")[:, : min(_NUM_STARTS, 2 * num_features)]
    points = np.concatenate([np.zeros((len(linear), 1, num_features)), vertices[best]], axis=1)
    starts = points.copy()
    # The Lipschitz constant of the gradient 2·quadratic·β + linear is at most twice the greatest absolute row sum.
    sizes = np.zeros(quadratic.shape[:2])
    for column in range(num_features):
        sizes += np.abs(quadratic[:, :, column])
    slopes = 2 * np.max(sizes, axis=1)
    greatest_linear = np.max(np.abs(linear), axis=1)
    # For a polynomial without curvature, one step leaves the ball.
    paces = 1 / np.maximum(slopes, np.where(greatest_linear > 0, greatest_linear / (4 * radius * num_features), 1.0))
    for _ in range(_NUM_STEPS):
        climbed = points + paces[:, None, None] * (linear[:, None] + 2 * _products(quadratic, points))
        points = project_to_l1_ball(climbed.reshape(-1, num_features), radius=radius).reshape(points.shape)
    candidates = np.concatenate([points, starts], axis=1)
    products = linear[:, None] + _products(quadratic, candidates)
    values = np.zeros(candidates.shape[:2])
    for feature in range(num_features):
        values += candidates[:, :, feature] * products[:, :, feature]
    return candidates[np.arange(len(linear)), np.argmax(values, axis=1)]


def _check(linear: FloatArray, quadratic: FloatArray) -> None:
    if linear.ndim != 2 or not linear.shape[1] or quadratic.shape != (*linear.shape, linear.shape[1]):  # noqa: PLR2004  a table
        raise ValueError(f"shapes are {linear.shape} and {quadratic.shape}: give (m, d) and (m, d, d)")
    if not (np.all(np.isfinite(linear)) and np.all(np.isfinite(quadratic))):
        raise ValueError("a coefficient is infinite or no number: give finite numbers")


def _product(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return _products(matrices, vectors[:, None])[:, 0]


def _products(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return each matrix times its vectors, shape (m, number of vectors, d), added in the order of the columns."""
    total = np.zeros(vectors.shape)
    for column in range(vectors.shape[2]):
        total += matrices[:, None, :, column] * vectors[:, :, column, None]
    return total


def _matrices(eigenvalues: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the symmetric matrices of these eigenvalues, none of them positive, and eigenvectors (columns)."""
    roots = vectors * np.sqrt(-eigenvalues)[:, None, :]
    total = np.zeros(vectors.shape)
    for column in range(vectors.shape[2]):
        total -= roots[:, :, None, column] * roots[:, None, :, column]
    return total
