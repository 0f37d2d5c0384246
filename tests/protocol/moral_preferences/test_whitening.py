"""Whitening: the linear maps of one covariance, and the direction that is found through them."""

import math

import numpy as np
import pytest
from psephos.protocol.moral_preferences.whitening import Whitening

COVARIANCE = np.array([[4.0, 2.0, 0.6], [2.0, 5.0, -1.0], [0.6, -1.0, 1.5]])


def test_the_identity_leaves_everything_as_it_is() -> None:
    whitening = Whitening(np.eye(3))
    differences = np.random.default_rng(0).normal(size=(5, 3))
    assert whitening.is_identity
    assert whitening.whiten(differences) is differences
    assert whitening.unwhiten(differences[0]).tolist() == differences[0].tolist()
    assert whitening.error_factors().tolist() == [1.0, 1.0, 1.0]


def test_two_features_by_hand() -> None:
    """C = [[4, 2], [2, 5]] is L·Lᵀ for L = [[2, 0], [1, 2]]; L⁻¹(2, 5) = (1, 2) and L⁻ᵀ(1, 2) = (0, 1)."""
    whitening = Whitening(COVARIANCE[:2, :2])
    assert not whitening.is_identity
    assert whitening.whiten(np.array([[2.0, 5.0], [0.0, 2.0]])).tolist() == [[1.0, 2.0], [0.0, 1.0]]
    assert whitening.unwhiten(np.array([1.0, 2.0])).tolist() == [0.0, 1.0]
    # L⁻ᵀ = [[1/2, −1/4], [0, 1/2]]: rows of length √(1/4 + 1/16) and 1/2.
    assert whitening.error_factors() == pytest.approx([math.sqrt(5) / 4, 0.5], rel=1e-15)


def test_whitened_vectors_have_the_identity_as_covariance() -> None:
    """Of vectors whose empirical covariance is C exactly."""
    generator = np.random.default_rng(1)
    samples = generator.normal(size=(50, 3))
    samples -= samples.mean(axis=0)
    covariance = samples.T @ samples / len(samples)
    whitened = Whitening((covariance + covariance.T) / 2).whiten(samples)
    assert whitened.T @ whitened / len(samples) == pytest.approx(np.eye(3), abs=1e-12)


def test_unwhitening_is_the_inverse_of_the_transpose() -> None:
    """β·V = b·(L⁻¹V) for β = L⁻ᵀb, so that the choices that both predict are the same."""
    whitening = Whitening(COVARIANCE)
    generator = np.random.default_rng(2)
    differences, direction = generator.normal(size=(20, 3)), generator.normal(size=3)
    beta = whitening.unwhiten(direction)
    assert differences @ beta == pytest.approx(whitening.whiten(differences) @ direction, rel=1e-12)
    lower = np.linalg.cholesky(COVARIANCE)
    assert lower.T @ beta == pytest.approx(direction, rel=1e-12)


def test_error_factors_are_the_spread_of_unwhitened_noise() -> None:
    factors = Whitening(COVARIANCE).error_factors()
    assert factors**2 == pytest.approx(np.diag(np.linalg.inv(COVARIANCE)), rel=1e-12)


@pytest.mark.parametrize(
    "matrix", [[[0.0]], [[-1.0]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]]
)
def test_what_is_not_positive_definite_is_refused(matrix: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="positive definite"):
        Whitening(np.array(matrix))
