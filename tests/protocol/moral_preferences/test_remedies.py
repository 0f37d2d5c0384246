"""Remedies by hand and against brute force: projection, regularize-and-trim, and the search without concavity."""

import math

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.estimators.l1_ball import maximize_quadratics
from psephos.protocol.moral_preferences.remedies import maximize_indefinite, remedy_project, remedy_trim
from thoroughness import draws


def polynomials(seed: int, *, num_features: int, number: int = 40) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    halves = generator.standard_normal((number, num_features, num_features))
    return generator.standard_normal((number, num_features)), halves + np.swapaxes(halves, 1, 2)


def value(linear: FloatArray, quadratic: FloatArray, points: FloatArray) -> FloatArray:
    return np.einsum("mk,mk->m", linear, points) + np.einsum("mk,mkl,ml->m", points, quadratic, points)


def test_projection_by_hand() -> None:
    """Eigenvalues 1 and −1 of [[0, 1], [1, 0]]: what remains is −½·(1, −1)ᵀ(1, −1)."""
    linear, quadratic = remedy_project(np.array([[1.0, 2.0]]), np.array([[[0.0, 1.0], [1.0, 0.0]]]))
    assert linear.tolist() == [[1, 2]]
    assert quadratic.ravel().tolist() == pytest.approx([-0.5, 0.5, 0.5, -0.5], abs=1e-15)


def test_projection_leaves_concave_polynomials_as_they_are() -> None:
    _, quadratic = polynomials(1, num_features=4)
    concave = -np.einsum("mkl,mjl->mkj", quadratic, quadratic)
    assert remedy_project(np.zeros((40, 4)), concave)[1] == pytest.approx(concave, abs=1e-12)


def test_projection_is_the_nearest_concave_polynomial() -> None:
    """The residual is positive semidefinite and orthogonal to the projection, which characterizes the nearest point."""
    linear, quadratic = polynomials(2, num_features=5)
    _, projected = remedy_project(linear, quadratic)
    residual = quadratic - projected
    assert np.linalg.eigvalsh(projected).max() < 1e-12
    assert np.linalg.eigvalsh(residual).min() > -1e-12
    assert np.einsum("mkl,mkl->m", residual, projected) == pytest.approx(0, abs=1e-11)


@pytest.mark.parametrize("noise_scale", [0.0, 0.3])
def test_both_remedies_are_symmetric_and_accepted_by_the_solver(noise_scale: float) -> None:
    linear, quadratic = polynomials(3, num_features=6)
    for remedied in (remedy_project(linear, quadratic), remedy_trim(linear, quadratic, noise_scale=noise_scale)):
        assert np.array_equal(remedied[1], np.swapaxes(remedied[1], 1, 2))
        assert np.all(maximize_quadratics(*remedied, radius=2.0).has_converged)


def test_trimming_by_hand() -> None:
    """Scale 1/(4√2) makes a ridge of 1: eigenvalues 2, −3 become 1, which is trimmed, and −4, with its maximum at ½."""
    linear, quadratic = remedy_trim(
        np.array([[5.0, 4.0]]), np.array([[[2.0, 0.0], [0.0, -3.0]]]), noise_scale=1 / (4 * math.sqrt(2))
    )
    assert linear.ravel().tolist() == pytest.approx([0, 4], abs=1e-15)
    assert quadratic.ravel().tolist() == pytest.approx([-4, 0, 0, -4], abs=1e-14)
    assert maximize_quadratics(linear, quadratic, radius=9.0).points.ravel() == pytest.approx([0, 0.5], abs=1e-3)


def test_a_polynomial_that_is_trimmed_altogether_has_its_maximum_at_0() -> None:
    linear, quadratic = remedy_trim(np.array([[1.0, -1.0]]), np.eye(2)[None], noise_scale=0.1)
    assert linear.tolist() == [[0, 0]]
    assert np.linalg.eigvalsh(quadratic[0]).max() < 0


def test_trimmed_maxima_are_those_of_the_kept_span() -> None:
    """Zhang et al. solve on the span of the eigenvectors with negative eigenvalues: here by its pseudoinverse."""
    linear, quadratic = polynomials(4, num_features=5)
    trimmed_linear, trimmed = remedy_trim(linear, quadratic, noise_scale=0.2)
    for row, matrix, new_row, new_matrix in zip(linear, quadratic, trimmed_linear, trimmed, strict=True):
        eigenvalues, vectors = np.linalg.eigh(matrix - 4 * math.sqrt(2) * 0.2 * np.eye(5))
        kept = vectors[:, eigenvalues < 0]
        on_span = kept @ (-(kept.T @ row) / (2 * eigenvalues[eigenvalues < 0]))
        assert np.linalg.solve(-2 * new_matrix, new_row) == pytest.approx(on_span, abs=1e-10)


@pytest.mark.parametrize("num_features", [1, 2, 3])
def test_the_search_finds_the_maximum_over_the_ball_in_few_features(num_features: int) -> None:
    """Held against a hundred thousand points of the ball."""
    linear, quadratic = polynomials(5, num_features=num_features)
    points = maximize_indefinite(linear, quadratic, radius=1.5)
    generator = np.random.default_rng(6)
    samples = generator.dirichlet(np.full(num_features, 0.5), draws(10_000, full=100_000))
    samples *= 1.5 * generator.choice([-1, 1], samples.shape) * generator.random((len(samples), 1)) ** 0.3
    found = value(linear, quadratic, points)
    for row, matrix, best in zip(linear, quadratic, found, strict=True):
        assert best > np.max(samples @ row + np.sum((samples @ matrix) * samples, axis=1)) - 1e-3
    assert np.all(np.abs(points).sum(axis=1) <= 1.5)


def test_a_convex_polynomial_is_greatest_at_its_best_vertex() -> None:
    linear, quadratic = polynomials(7, num_features=6)
    convex = np.einsum("mkl,mjl->mkj", quadratic, quadratic)
    at_vertices = 4 * np.diagonal(convex, axis1=1, axis2=2) + 2 * np.abs(linear)
    found = value(linear, convex, maximize_indefinite(linear, convex, radius=2.0))
    assert found == pytest.approx(at_vertices.max(axis=1), rel=1e-12)


def test_a_concave_polynomial_is_climbed_to_its_maximum() -> None:
    linear, quadratic = remedy_project(*polynomials(8, num_features=6))
    found = value(linear, quadratic, maximize_indefinite(linear, quadratic, radius=1.0))
    best = maximize_quadratics(linear, quadratic, radius=1.0)
    exact = value(linear, quadratic, best.points)
    assert np.all(found <= exact + best.gaps + 1e-12)
    assert found == pytest.approx(exact, abs=1e-3)


def test_a_linear_polynomial_is_greatest_at_a_vertex_and_a_constant_one_at_the_center() -> None:
    points = maximize_indefinite(np.array([[1.0, -3.0], [0.0, 0.0]]), np.zeros((2, 2, 2)), radius=2.0)
    assert points.tolist() == [[0, -2], [0, 0]]


def test_what_a_polynomial_gets_does_not_depend_on_the_others() -> None:
    linear, quadratic = polynomials(9, num_features=5, number=7)
    alone = [maximize_indefinite(linear[n : n + 1], quadratic[n : n + 1], radius=1.0) for n in range(7)]
    assert np.array_equal(maximize_indefinite(linear, quadratic, radius=1.0), np.concatenate(alone))
    trimmed = [remedy_trim(linear[n : n + 1], quadratic[n : n + 1], noise_scale=0.1)[1] for n in range(7)]
    assert np.array_equal(remedy_trim(linear, quadratic, noise_scale=0.1)[1], np.concatenate(trimmed))


@pytest.mark.parametrize("noise_scale", [-1.0, math.inf, math.nan])
def test_a_noise_scale_out_of_range_is_refused(noise_scale: float) -> None:
    with pytest.raises(ConfigurationError, match=r"noise_scale is .*: use at least 0 and finite"):
        remedy_trim(np.zeros((1, 1)), np.zeros((1, 1, 1)), noise_scale=noise_scale)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_a_radius_out_of_range_is_refused(radius: float) -> None:
    with pytest.raises(ConfigurationError, match=r"radius is .*: use a positive value"):
        maximize_indefinite(np.zeros((1, 1)), np.zeros((1, 1, 1)), radius=radius)


def test_shapes_that_do_not_fit_and_numbers_that_are_not_finite_are_refused() -> None:
    for linear, quadratic in (
        (np.zeros(2), np.zeros((2, 2))),
        (np.zeros((1, 0)), np.zeros((1, 0, 0))),
        (np.zeros((1, 2)), np.zeros((1, 2, 3))),
    ):
        with pytest.raises(ValueError, match=r"give \(m, d\) and"):
            remedy_project(linear, quadratic)
    with pytest.raises(ValueError, match=r"give finite numbers"):
        remedy_trim(np.full((1, 1), math.nan), np.zeros((1, 1, 1)), noise_scale=1.0)
    with pytest.raises(ValueError, match=r"give finite numbers"):
        maximize_indefinite(np.zeros((1, 1)), np.full((1, 1, 1), math.inf), radius=1.0)
