"""Weight functions of equation (3): those by name, one of a caller's own, and what is refused."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from bad_input import refuses
from inference_crowds import table
from psephos.protocol.estimators.truth_inference import (
    WeightFunction,
    check_weight_function,
    majority_vote,
    truth_discovery,
)
from psephos.protocol.estimators.truth_inference.weight_functions import shares_of_answers, weigh

SIZES = np.array([2, 4])
SHARES = np.array([0.25, 0.5, 0.9])

DECREASING: list[Callable[[float], float]] = [
    lambda share: -share,
    lambda share: 0 * share,
    lambda share: math.sin(4 * share),
    lambda share: share if share < 0.7 else share - 0.001,
]

INCREASING: list[Callable[[float], float]] = [
    math.log,
    math.sqrt,
    lambda share: -1 / share,
    lambda share: 3 * share - 7,
]
NO_WEIGHTS: list[tuple[Callable[[float], float], str]] = [
    (lambda share: share * math.nan, "is 'one with g(0.05) = nan'"),
    (lambda share: 1e6 * share, "a number of at most 1000 in size"),
    (lambda share: 1 / (share - 0.05), "one that fails at 0.05 with ZeroDivisionError"),
    (lambda share: float(f"heavy {share}"), "one that fails at 0.05 with ValueError"),
]


def test_weights_by_hand() -> None:
    """Of two labels and of four: log(p(s − 1)/(1 − p)), (s·p − 1)/(s − 1), and p² for both."""
    log_odds = [[math.log(1 / 3), 0.0], [0.0, math.log(3)], [math.log(9), math.log(27)]]
    assert weigh(SHARES, SIZES, "log_odds").tolist() == [pytest.approx(row, abs=1e-9) for row in log_odds]
    linear = [[-0.5, 0.0], [0.0, 1 / 3], [0.8, 2.6 / 3]]
    assert weigh(SHARES, SIZES, "linear").tolist() == [pytest.approx(row, abs=1e-9) for row in linear]
    square = weigh(SHARES, SIZES, lambda share: share * share)
    assert square.tolist() == [pytest.approx([share**2] * 2, abs=1e-9) for share in SHARES.tolist()]


def test_weights_are_on_the_grid_of_exact_sums() -> None:
    functions: list[WeightFunction] = ["log_odds", "linear", math.sqrt]
    for function in functions:
        scaled = weigh(SHARES, SIZES, function) * 2.0**32
        assert np.array_equal(scaled, np.rint(scaled))


def test_log_odds_is_what_there_was_and_a_function_of_the_same_values_finds_the_same() -> None:
    answers = table([(0, 1, 0, 1, 1), (0, 1, 0, 1, 0), (1, 1, 0, 0, 1), (1, 0, 1, 0, 0)])
    default = truth_discovery(answers)
    named = truth_discovery(answers, weight_function="log_odds")
    own = truth_discovery(answers, weight_function=lambda share: math.log(share / (1 - share)))
    for found in (named, own):
        assert np.array_equal(found.truths, default.truths)
        assert np.array_equal(found.weights, default.weights)
        assert np.array_equal(found.confidences, default.confidences)


def test_a_function_decides_who_wins() -> None:
    """One worker agrees with the majority on 7 of 8 tasks, two on 5: on the last, 7 against 10 or 7^8 against 2·5^8."""
    answers = table(
        [
            (0, 0, 0, 0, 0, 0, 0, 1),
            (0, 0, 0, 0, 1, 1, 1, 0),
            (1, 1, 1, 0, 0, 0, 0, 0),
        ]
    )
    assert majority_vote(answers).truths.tolist() == [0] * 8
    for power, truth in ((1, 0), (8, 1)):
        found = truth_discovery(answers, weight_function=lambda share, power=power: share**power, max_iterations=1)
        assert found.qualities.tolist() == [0.875, 0.625, 0.625]
        assert found.truths.tolist() == [0] * 7 + [truth]


def test_another_function_states_the_probabilities_of_log_odds() -> None:
    """Weights that are no log-odds claim nothing: (1 + p) makes a majority, whose label need not be the likeliest."""
    rows = [(0, 0, 0, 0, 0, 0, 0, 0), (1, 0, 0, 0, 0, 1, 1, 1), (1, 0, 0, 1, 1, 0, 1, 0)]
    answers = table(rows)
    found = truth_discovery(answers, weight_function=lambda share: 100 + share)
    assert found.truths.tolist() == majority_vote(answers).truths.tolist()
    odds = np.log(found.qualities / (1 - found.qualities))
    against = odds[1] + odds[2] - odds[0]
    assert found.probabilities[0, 1] == pytest.approx(1 / (1 + math.exp(-against)), abs=1e-6)
    assert found.confidences[0] == found.probabilities[0, found.truths[0]]


@pytest.mark.bad_input("a weight function that does not increase, is not known, or is no function")
@pytest.mark.parametrize("function", DECREASING)
def test_a_function_that_does_not_increase_is_refused(function: Callable[[float], float]) -> None:
    with refuses(said="Make it increasing in the share of right answers"):
        check_weight_function(function, num_answers=30, clamp=0.05)


@pytest.mark.parametrize("function", INCREASING)
def test_a_function_that_increases_is_allowed(function: Callable[[float], float]) -> None:
    check_weight_function(function, num_answers=3000, clamp=0.001)


def test_a_dent_between_two_shares_that_workers_can_have_is_found() -> None:
    """At 1/3 alone, which no even grid has: workers of three answers have it."""
    with refuses(said="g(0.333008) = 0.333008 and g(0.333333) = 0.3"):
        check_weight_function(lambda share: 0.3 if share == 1 / 3 else share, num_answers=3, clamp=0.05)
    answers = table([(0, 0, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0)])
    with refuses(said="increasing"):
        truth_discovery(answers, weight_function=lambda share: -share)


@pytest.mark.parametrize(("function", "words"), NO_WEIGHTS)
def test_what_gives_no_weight_is_refused(function: Callable[[float], float], words: str) -> None:
    with refuses(said=words):
        check_weight_function(function, num_answers=5, clamp=0.05)


def test_an_unknown_name_is_refused() -> None:
    with refuses(field="weight_function", allowed="one of log_odds, linear, or given as a"):
        truth_discovery(table([(0, 1)]), weight_function="sqrt")


def test_shares_are_all_that_workers_of_few_answers_have() -> None:
    shares = shares_of_answers(3, 0.25)
    assert {0.25, 1 / 3, 0.5, 2 / 3, 0.75} <= set(shares)
    assert shares == sorted(set(shares))
    assert (shares[0], shares[-1]) == (0.25, 0.75)
