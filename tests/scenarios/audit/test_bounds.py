"""Bounds worked by hand, their coverage by exact sums, and their limits."""

import math

import numpy as np
import pytest
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.scenarios.audit.bounds import (
    delta_bounds,
    epsilon_bounds,
    exact_delta,
    exact_epsilon,
    exact_mu,
    exact_trade_off,
    lower_limits,
    mu_bounds,
    samples_needed,
    upper_limits,
)
from scipy.special import ndtr
from scipy.stats import binom

ONE = math.log(3)
"""ε of the laws below."""
BINARY = np.array([[0.75, 0.25], [0.25, 0.75]])


def test_limits_of_no_hit_and_of_all_are_worked_by_hand() -> None:
    """Of n outputs without a hit p is at most 1 − risk^(1/n): the rule of three."""
    none, every = np.array([0]), np.array([20])
    assert lower_limits(none, 20, 0.05)[0] == 0
    assert upper_limits(every, 20, 0.05)[0] == 1
    assert upper_limits(none, 20, 0.05)[0] == pytest.approx(1 - 0.05 ** (1 / 20), rel=1e-9)
    assert lower_limits(every, 20, 0.05)[0] == pytest.approx(0.05 ** (1 / 20), rel=1e-9)


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.5, 0.97])
def test_limits_leave_a_probability_out_as_seldom_as_they_say(probability: float) -> None:
    """Summed exactly over all numbers of hits: at most the risk, and of the order of it."""
    number, risk = 60, 0.01
    hits = np.arange(number + 1)
    chances = binom.pmf(hits, number, probability)
    for missed in (
        chances[lower_limits(hits, number, risk) > probability].sum(),
        chances[upper_limits(hits, number, risk) < probability].sum(),
    ):
        assert missed <= risk
    assert chances[lower_limits(hits, number, 0.2) > probability].sum() > 0.001


def test_a_small_risk_keeps_its_digits() -> None:
    """1 − 1e-18 is 1 in floats; the limit without a hit is 1 − risk^(1/n) all the same."""
    assert upper_limits(np.array([0]), 100, 1e-18)[0] == pytest.approx(1 - 1e-18**0.01, rel=1e-9)


def test_a_correct_loss_is_refuted_as_seldom_as_the_risk_says() -> None:
    """All pairs of counts of an event with P = e^ε·Q, weighed by their exact probabilities."""
    number, risk, of_unlikely = 40, 0.05, 0.25
    hits = np.arange(number + 1)
    likely, unlikely = (grid.reshape(-1) for grid in np.meshgrid(hits, hits))
    chances = binom.pmf(likely, number, math.exp(ONE) * of_unlikely) * binom.pmf(unlikely, number, of_unlikely)
    refuted = epsilon_bounds(likely, unlikely, number, risk) > ONE
    assert 0 < chances[refuted].sum() <= risk


def test_bounds_come_near_with_many_outputs() -> None:
    number = 10**7
    likely, unlikely = np.array([3 * number // 4]), np.array([number // 4])
    assert epsilon_bounds(likely, unlikely, number, 0.01)[0] == pytest.approx(ONE, abs=0.003)
    assert delta_bounds(likely, unlikely, number, 0.01, 0.0)[0] == pytest.approx(0.5, abs=0.002)
    assert delta_bounds(likely, unlikely, number, 0.01, 2.0)[0] == 0
    assert delta_bounds(likely, unlikely, number, 0.01, math.inf)[0] == 0
    expected = 2 * 0.674489750196  # the normal law's third quartile
    assert mu_bounds(likely, unlikely, number, 0.01)[0] == pytest.approx(expected, abs=0.003)


def test_no_hit_says_nothing() -> None:
    none = np.array([0])
    assert epsilon_bounds(none, none, 50, 0.05)[0] == -math.inf
    assert mu_bounds(none, none, 50, 0.05)[0] == -math.inf


def test_the_number_of_outputs_needed_is_the_least_that_tells() -> None:
    """At ε = ∞ all are hit of one and none of the other: risk^(1/n) > 1/2 for halves of the risk, n > log₂ 200."""
    assert samples_needed(math.inf, 0.01) == 8
    least = samples_needed(0.5, 0.01)
    assert least is not None
    share = 1 / (1 + math.exp(-0.5))

    def tells(number: int) -> bool:
        likely = math.floor(number * share)
        return epsilon_bounds(np.array([likely]), np.array([number - likely]), number, 0.01)[0] > 0

    assert tells(least)
    assert not tells(least // 2)
    assert samples_needed(0.0, 0.01) is None


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_exact_numbers_of_randomized_response(epsilon: float) -> None:
    """ε is its own; δ(ε') is (e^ε − e^ε')/(e^ε + k − 1), as its accountant has it."""
    laws = np.array(GeneralizedRandomizedResponse(epsilon, 3).channel_matrix())[:2]
    assert exact_epsilon(laws) == pytest.approx(epsilon, abs=1e-9)
    assert exact_delta(laws, epsilon) == pytest.approx(0, abs=1e-12)
    expected = (math.exp(epsilon) - math.exp(epsilon / 2)) / (math.exp(epsilon) + 2)
    assert exact_delta(laws, epsilon / 2) == pytest.approx(expected, abs=1e-12)


def test_an_output_that_only_one_neighbor_has_costs_infinity() -> None:
    laws = np.array([[0.5, 0.5, 0.0], [0.5, 0.4, 0.1]])
    assert exact_epsilon(laws) == math.inf
    assert exact_delta(laws, math.inf) == pytest.approx(0.1)
    assert exact_mu(laws) == math.inf
    assert exact_epsilon(np.array([[0.0, 1.0], [0.0, 1.0]])) == 0


def test_the_exact_curve_has_its_corners() -> None:
    assert exact_trade_off(BINARY) == pytest.approx(np.array([[0, 1], [0.25, 0.25], [1, 0]]))


def test_the_exact_mu_is_the_least_whose_curve_is_below() -> None:
    mu = exact_mu(BINARY)
    errors, misses = exact_trade_off(BINARY)[1]
    assert ndtr(-mu + 0.674489750196) == pytest.approx(misses, abs=1e-9)  # Φ(Φ⁻¹(1 − α) − μ) at α = 1/4
    assert errors == 0.25
