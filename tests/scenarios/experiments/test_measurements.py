"""Numbers from trials, by hand."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from psephos.scenarios.experiments.measurements import (
    Measurement,
    Share,
    count_apart,
    deviation,
    error_of_unseen,
    mean_of,
    mean_square,
    normal_probability,
    run_in_blocks,
    separating_errors,
    share_of,
)
from psephos.scenarios.experiments.variants_shown import find_equally_good


def test_a_share_has_a_binomial_error() -> None:
    assert share_of(np.array([True] * 3 + [False])) == Share(0.75, math.sqrt(0.75 * 0.25 / 4), 4)


def test_a_mean_has_the_error_of_its_spread() -> None:
    found = mean_of(np.array([1.0, 2.0, 6.0]))
    assert found.value == pytest.approx(3.0)
    assert found.standard_error == pytest.approx(math.sqrt((4 + 1 + 9) / 2 / 3))


def test_differences_are_in_joint_errors() -> None:
    assert deviation(Measurement(2.0, 0.3), Measurement(1.0, 0.4)) == pytest.approx(2.0)
    assert deviation(Measurement(1.0, 0.0), Measurement(1.0, 0.0)) == 0
    assert deviation(Measurement(0.0, 0.0), Measurement(1.0, 0.0)) == -math.inf


def test_the_normal_law_is_the_normal_law() -> None:
    assert normal_probability(0) == 0.5
    assert normal_probability(1.959963984540054) == pytest.approx(0.975, abs=1e-12)
    assert normal_probability(-3) == pytest.approx(0.0013498980316301, rel=1e-12)


def test_squares_are_judged_by_what_chance_gives() -> None:
    """Of 50 standard normal numbers the mean square has the standard deviation √(2/50) = 0.2."""
    assert mean_square([3.0, -1.0]) == 5


def test_a_measurement_is_written_with_its_error() -> None:
    measured = Measurement(0.1234, 0.0056)
    assert [f"{measured:%}", f"{measured:+%}", f"{measured:.3f}"] == ["12.3 ± 0.6", "+12.3 ± 0.6", "0.123 ± 0.006"]


def test_what_is_apart_by_more_than_its_errors_is_counted_by_its_sign() -> None:
    found = [Measurement(value, 0.1) for value in (-0.5, -0.15, 0.0, 0.15, 0.25, 0.3)]
    assert count_apart(found, 2) == (2, 1)
    assert count_apart(found, 1) == (3, 2)


def test_blocks_of_trials_are_joined_in_their_order() -> None:
    asked: list[tuple[int, int]] = []

    def run(start: int, stop: int) -> dict[str, NDArray[Any]]:
        asked.append((start, stop))
        return {"number": np.arange(start, stop)}

    assert run_in_blocks(run, trials=7, at_a_time=3)["number"].tolist() == list(range(7))
    assert asked == [(0, 3), (3, 6), (6, 7)]


def test_numbers_are_apart_by_more_where_there_are_more_of_them() -> None:
    assert separating_errors(2) == pytest.approx(1.959963984540054)
    assert separating_errors(12) == pytest.approx(3.3678, abs=1e-4)  # 66 pairs
    assert separating_errors(1) == math.inf
    assert error_of_unseen(2) == pytest.approx((1 - math.sqrt(0.025)) / 2)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("trials", [2, 5, 20, 200])
@pytest.mark.parametrize("number", [2, 5, 12])
def test_of_equal_variants_few_are_called_worse(share: float, trials: int, number: int) -> None:
    """1 of 20 comparisons at most; 400 of them have more than 37 by chance in 1 of 2,500 cases."""
    drawn = np.random.default_rng([trials, number]).binomial(trials, share, size=(400, number)) / trials
    errors = np.sqrt(drawn * (1 - drawn) / (trials - 1))
    wrong = 0
    for values, deviations in zip(drawn.tolist(), errors.tolist(), strict=True):
        found = [Measurement(value, error) for value, error in zip(values, deviations, strict=True)]
        wrong += not all(find_equally_good(min(found, key=lambda each: each.value), found, trials=trials))
    assert wrong <= 37


def test_a_variant_that_is_worse_is_called_so() -> None:
    good, bad, worst = Measurement(0.1, 0.03), Measurement(0.4, 0.05), Measurement(1.0, 0.0)
    assert find_equally_good(good, [good, bad, worst], trials=100) == [True, False, False]
    assert find_equally_good(Measurement(0.0, 0.0), [Measurement(0.0, 0.0), worst], trials=2) == [True, True]
