"""Theorems 1 to 5: bounds against exact probabilities, a witness that attains 2B, and searches below each bound."""

import math
from typing import Any

import numpy as np
import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.privacy import NeighboringRelation
from psephos.scenarios.moral_preferences.paper.theory import (
    accuracy_of_directions,
    deviation_in_norm,
    exact_deviation,
    probability_within,
    sensitivity_in_norm,
    utility_bound,
)
from scipy.stats import gamma as gamma_law


def test_the_utility_bound_by_hand() -> None:
    """2·3/(50·½)·ln(10/.1) = .24·4.605 = 1.105; Algorithm 2's is fifty times that."""
    of_mean = utility_bound(0.1, num_features=10, radius=3, epsilon=0.5, num_voters=50)
    assert of_mean == pytest.approx(0.24 * math.log(100), rel=1e-15)
    assert utility_bound(0.1, num_features=10, radius=3, epsilon=0.5) == pytest.approx(50 * of_mean, rel=1e-15)


@pytest.mark.parametrize("failure", [0.5, 0.1, 1e-3, 1e-9])
@pytest.mark.parametrize("num_features", [1, 2, 10, 23])
def test_the_utility_bound_holds_with_its_exact_probability(failure: float, num_features: int) -> None:
    """All of d coordinates stay within α(γ) with probability (1 − γ/d)^d, which is at least 1 − γ; equal for d = 1."""
    bound = utility_bound(failure, num_features=num_features, radius=1.5, epsilon=0.7, num_voters=8)
    chance = probability_within(bound, num_features=num_features, scale=2 * 1.5 / (8 * 0.7))
    assert chance == pytest.approx((1 - failure / num_features) ** num_features, rel=1e-12)
    assert chance >= 1 - failure - 1e-15
    if num_features == 1:
        assert chance == pytest.approx(1 - failure, rel=1e-12)


@pytest.mark.parametrize("failure", [0.9, 0.1, 1e-6])
@pytest.mark.parametrize("num_features", [1, 10])
def test_the_exact_deviation_has_the_wanted_probability_and_lies_below_the_bound(
    failure: float, num_features: int
) -> None:
    exact = exact_deviation(failure, num_features=num_features, radius=2, epsilon=0.3, num_voters=5)
    assert probability_within(exact, num_features=num_features, scale=4 / 1.5) == pytest.approx(1 - failure, rel=1e-12)
    assert exact <= utility_bound(failure, num_features=num_features, radius=2, epsilon=0.3, num_voters=5) + 1e-12


@pytest.mark.parametrize("failure", [0.9, 0.1, 1e-6])
def test_the_deviation_in_the_l1_norm_is_the_quantile_of_the_sum_of_sizes(failure: float) -> None:
    """One feature: −σ·ln γ, as in every norm; five: the law of the sum of five exponential draws."""
    given: dict[str, Any] = {"radius": 2.0, "epsilon": 0.5, "num_voters": 4}
    for norm in (1.0, 2.0, 3.5, math.inf):
        alone = deviation_in_norm(failure, norm, num_features=1, **given)
        assert alone == pytest.approx(-2 * math.log(failure), rel=1e-9)
    five = deviation_in_norm(failure, 1, num_features=5, **given)
    assert gamma_law.sf(five, 5, scale=2.0) == pytest.approx(failure, rel=1e-9)
    most = deviation_in_norm(failure, math.inf, num_features=5, **given)
    assert most == exact_deviation(failure, num_features=5, **given)
    assert most < five < 5 * most


@pytest.mark.bad_input("neighbors or a norm that a mechanism has not")
@pytest.mark.parametrize("norm", [2.0, 1.5, 0.5, math.nan])
def test_a_norm_without_a_closed_form_is_refused(norm: float) -> None:
    with pytest.raises(ConfigurationError, match="norm must be 1 or inf: the law of the error's other norms has no"):
        deviation_in_norm(0.1, norm, num_features=2, radius=1.0, epsilon=1.0)
    if not norm >= 1:
        with pytest.raises(ConfigurationError, match="below 1 it is no norm"):
            sensitivity_in_norm(norm, radius=1.0)


def test_no_two_vectors_of_the_ball_are_farther_apart_than_the_sensitivity_in_any_norm() -> None:
    generator = np.random.default_rng(6)
    shares = generator.exponential(size=(500, 5))
    points = 1.5 * shares[:, :4] / shares.sum(axis=1, keepdims=True) * generator.choice([-1, 1], (500, 4))
    removed: dict[str, Any] = {"relation": NeighboringRelation.ADD_OR_REMOVE_ONE}
    for norm in (1.0, 2.0, 3.0, math.inf):
        apart = np.linalg.norm(points[1:] - points[:-1], ord=norm, axis=1)
        assert float(apart.max()) <= sensitivity_in_norm(norm, radius=1.5)
        alone = np.linalg.norm(points, ord=norm, axis=1)
        assert float(alone.max()) <= sensitivity_in_norm(norm, radius=1.5, **removed)
    assert sensitivity_in_norm(2, radius=1.5, num_voters=6, **removed) == 0.25


def test_probabilities_at_their_limits() -> None:
    assert probability_within(0.0, num_features=3, scale=1.0) == 0
    assert probability_within(math.inf, num_features=3, scale=1.0) == 1


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.3, math.pi / 2, 3.0, math.pi])
def test_the_accuracy_of_an_angle_by_hand(angle: float) -> None:
    estimates = 7 * np.array([[math.cos(angle), math.sin(angle), 0.0]])
    (accuracy,) = accuracy_of_directions(estimates, np.array([2.0, 0.0, 0.0]))
    assert 1 - accuracy == pytest.approx(angle / math.pi, rel=1e-6, abs=1e-15)


def test_the_accuracy_is_that_of_random_pairs() -> None:
    """400,000 isotropic Gaussian pairs; false alarms: five standard deviations, two-sided, 6e-7 for each of four."""
    generator = np.random.default_rng(1)
    estimates, truth = generator.standard_normal((4, 6)), generator.standard_normal(6)
    differences = generator.standard_normal((400_000, 6)) - generator.standard_normal((400_000, 6))
    alike = (differences @ estimates.T > 0) == (differences @ truth > 0)[:, None]
    exact = accuracy_of_directions(estimates, truth)
    deviations = (alike.mean(axis=0) - exact) / np.sqrt(exact * (1 - exact) / len(differences))
    assert np.all(np.abs(deviations) < 5)


@pytest.mark.parametrize("failure", [0.0, 1.0, -0.1, math.nan])
def test_a_probability_of_failure_out_of_range_is_refused(failure: float) -> None:
    with pytest.raises(ValueError, match=r"failure must be in \(0, 1\)"):
        utility_bound(failure, num_features=1, radius=1, epsilon=1)
    with pytest.raises(ValueError, match=r"failure must be in \(0, 1\)"):
        exact_deviation(failure, num_features=1, radius=1, epsilon=1)


@pytest.mark.parametrize("parameter", ["num_features", "radius", "epsilon", "num_voters"])
@pytest.mark.parametrize("bad", [0, -1, math.inf, math.nan])
def test_parameters_out_of_range_are_refused(parameter: str, bad: float) -> None:
    parameters = {"num_features": 2, "radius": 1.0, "epsilon": 1.0, "num_voters": 3, parameter: bad}
    with pytest.raises(ValueError, match=f"{parameter} must be positive and finite"):
        utility_bound(0.1, **parameters)  # pyright: ignore[reportArgumentType]  one of them is wrong on purpose


def test_other_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="deviation must be >= 0"):
        probability_within(-1.0, num_features=1, scale=1.0)
    with pytest.raises(ValueError, match="scale must be positive"):
        probability_within(1.0, num_features=1, scale=0.0)


def test_accuracy_needs_directions_of_one_dimension() -> None:
    with pytest.raises(ValueError, match="a vector of zeros has no direction"):
        accuracy_of_directions(np.zeros((1, 2)), np.ones(2))
    with pytest.raises(ValueError, match="a vector of zeros has no direction"):
        accuracy_of_directions(np.ones((1, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="expected shapes"):
        accuracy_of_directions(np.ones((1, 2)), np.ones(3))
    with pytest.raises(ValueError, match="expected shapes"):
        accuracy_of_directions(np.ones(2), np.ones(2))
