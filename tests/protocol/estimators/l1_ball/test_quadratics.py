"""Concave quadratics over an ℓ₁ ball: solutions known by hand, singular matrices, brute force, and every refusal."""

import math
from fractions import Fraction

import numpy as np
import pytest
from bad_input import refuses
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators.l1_ball import maximize_quadratics


def make_quadratics(number: int, num_features: int, rank: int, *, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(number, num_features, rank))
    products = roots @ roots.transpose(0, 2, 1)
    return rng.normal(size=(number, num_features)), -(products + products.transpose(0, 2, 1)) / 2


def values_at(linear: FloatArray, quadratic: FloatArray, points: FloatArray) -> FloatArray:
    return (linear * points).sum(axis=1) + np.einsum("mi,mij,mj->m", points, quadratic, points)


def test_in_a_ball_that_is_large_enough_the_gradient_is_zero() -> None:
    linear, quadratic = make_quadratics(20, 5, 8)
    expected = np.linalg.solve(-2 * quadratic, linear[..., None])[..., 0]
    found = maximize_quadratics(linear, quadratic, radius=1000.0, tolerance=1e-9)
    assert found.has_converged.all()
    assert found.points == pytest.approx(expected, abs=1e-4)


def test_without_a_quadratic_part_all_mass_is_on_the_greatest_coefficient() -> None:
    linear = np.array([[1.0, -3.0, 2.0], [0.5, 0.0, 0.1]])
    found = maximize_quadratics(linear, np.zeros((2, 3, 3)), radius=2.0, tolerance=1e-10)
    assert found.has_converged.all()
    assert found.points == pytest.approx(np.array([[0.0, -2.0, 0.0], [2.0, 0.0, 0.0]]), abs=1e-8)


def test_a_constant_has_its_maximum_at_the_center() -> None:
    found = maximize_quadratics(np.zeros((1, 3)), np.zeros((1, 3, 3)), radius=2.0)
    assert np.array_equal(found.points, np.zeros((1, 3)))
    assert found.gaps[0] == 0


def test_the_nearest_point_of_the_ball_is_the_soft_threshold() -> None:
    # −‖β − (3, 1, 0)‖²: both shrink by 1 until their sizes sum to 2.
    linear = np.array([[6.0, 2.0, 0.0]])
    found = maximize_quadratics(linear, -np.eye(3)[None], radius=2.0, tolerance=1e-11)
    assert found.points == pytest.approx(np.array([[2.0, 0.0, 0.0]]), abs=1e-5)
    found = maximize_quadratics(linear, -np.eye(3)[None], radius=3.0, tolerance=1e-11)
    assert found.points == pytest.approx(np.array([[2.5, 0.5, 0.0]]), abs=1e-5)


@pytest.mark.parametrize("rank", [0, 1, 3, 6])
@pytest.mark.parametrize("radius", [0.1, 2.0, 100.0])
def test_no_point_of_the_ball_is_better_by_more_than_the_gap(rank: int, radius: float) -> None:
    linear, quadratic = make_quadratics(15, 6, rank)
    found = maximize_quadratics(linear, quadratic, radius=radius)
    assert found.has_converged.all()
    assert (np.abs(found.points).sum(axis=1) <= radius * (1 + 1e-12)).all()
    gradients = linear + 2 * np.einsum("mij,mj->mi", quadratic, found.points)
    gaps = radius * np.abs(gradients).max(axis=1) - (gradients * found.points).sum(axis=1)
    assert found.gaps == pytest.approx(gaps, abs=1e-10 * max(1, radius**2))
    bounds = values_at(linear, quadratic, found.points) + found.gaps
    rng = np.random.default_rng(3)
    for _ in range(200):
        others = rng.laplace(size=(15, 6))
        others *= radius * rng.uniform(size=(15, 1)) / np.abs(others).sum(axis=1, keepdims=True)
        assert (values_at(linear, quadratic, others) <= bounds + 1e-9).all()


def test_a_quadratic_has_the_same_bits_alone_and_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    linear, quadratic = make_quadratics(30, 7, 4)
    together = maximize_quadratics(linear, quadratic, radius=2.0)
    for one in (0, 13, 29):
        alone = maximize_quadratics(linear[one : one + 1], quadratic[one : one + 1], radius=2.0)
        assert np.array_equal(alone.points[0], together.points[one])
        assert alone.gaps[0] == together.gaps[one]
    monkeypatch.setattr("psephos.protocol.estimators.l1_ball.quadratics._NUMBERS_IN_A_BLOCK", 150)
    assert np.array_equal(maximize_quadratics(linear, quadratic, radius=2.0).points, together.points)


def test_no_quadratics_have_no_maxima() -> None:
    found = maximize_quadratics(np.zeros((0, 2)), np.zeros((0, 2, 2)), radius=1.0)
    assert found.points.shape == (0, 2)
    assert found.gaps.shape == found.num_iterations.shape == found.has_converged.shape == (0,)


def test_eigenvalues_above_zero_by_rounding_are_taken_as_zero() -> None:
    quadratic = np.diag([-1.0, 1e-16, 0.0])[None]
    assert maximize_quadratics(np.ones((1, 3)), quadratic, radius=1.0).has_converged.all()


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_a_radius_that_is_not_positive_and_finite_is_refused(radius: float) -> None:
    with refuses(said="radius"):
        maximize_quadratics(np.zeros((1, 2)), np.zeros((1, 2, 2)), radius=radius)


@pytest.mark.parametrize(
    ("linear", "quadratic", "words"),
    [
        (np.zeros(2), np.zeros((1, 2, 2)), "linear (has|have) shape"),
        (np.zeros((1, 0)), np.zeros((1, 0, 0)), "linear (has|have) shape"),
        (np.zeros((1, 2)), np.zeros((1, 2, 3)), "quadratic have shape"),
        (np.full((1, 2), math.nan), np.zeros((1, 2, 2)), "give finite ones"),
        (np.zeros((1, 2)), np.full((1, 2, 2), -math.inf), "give finite ones"),
        (np.zeros((1, 2)), np.array([[[-1.0, 0.5], [0.0, -1.0]]]), "symmetric"),
    ],
)
def test_quadratics_of_the_wrong_form_are_refused(linear: FloatArray, quadratic: FloatArray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        maximize_quadratics(linear, quadratic, radius=1.0)


@pytest.mark.parametrize("exponent", [0, 3, 6, 9, 12])
@pytest.mark.parametrize("radius", [0.5, 20.0])
def test_a_gap_is_true_however_large_the_numbers_are(exponent: int, radius: float) -> None:
    """In exact fractions: what rounding takes off a gap has to be added to it, and ends convergence."""
    linear, quadratic = make_quadratics(6, 5, 3)
    linear, quadratic = linear * 10.0**exponent, quadratic * 10.0**exponent
    found = maximize_quadratics(linear, quadratic, radius=radius)
    assert np.array_equal(found.has_converged, found.gaps <= 1e-6)
    for c, q, point, gap in zip(linear.tolist(), quadratic.tolist(), found.points.tolist(), found.gaps, strict=True):
        beta = [Fraction(number) for number in point]
        slopes = [
            Fraction(own) + 2 * sum((Fraction(v) * b for v, b in zip(row, beta, strict=True)), Fraction())
            for own, row in zip(c, q, strict=True)
        ]
        tilt = sum((g * b for g, b in zip(slopes, beta, strict=True)), Fraction())
        exact = Fraction(radius) * max(abs(g) for g in slopes) - tilt
        assert exact <= Fraction(gap) + Fraction(1, 10**9)
    if exponent == 12:
        assert not found.has_converged.any()
