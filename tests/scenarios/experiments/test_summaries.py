"""Means, standard errors and quantiles of trials, against numbers worked by hand and against the laws they promise."""

import math

import numpy as np
import pytest
from psephos.scenarios.experiments.summaries import QUANTILES, summary_of


def test_a_mean_and_its_standard_error_are_those_of_the_textbook() -> None:
    """1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9 = 14, so s² = 14/3 and the error √(14/3/4)."""
    found = summary_of("m", np.array([1.0, 2.0, 3.0, 6.0]))
    assert found.mean == 3
    assert found.standard_error == pytest.approx(math.sqrt(14 / 12))
    reach = 3.182446305284263 * math.sqrt(14 / 12)  # Student's 97.5 % point with 3 degrees of freedom
    assert (found.low, found.high) == pytest.approx((3 - reach, 3 + reach))
    assert found.trials == 4


def test_what_happens_in_every_trial_is_not_taken_for_certain() -> None:
    """Of 20 hits of 20 the true share is at least p with p^20 = 0.025."""
    found = summary_of("m", np.ones(20), limits=(0.0, 1.0))
    assert (found.mean, found.standard_error, found.high) == (1, 0, 1)
    assert found.low == pytest.approx(0.025 ** (1 / 20))
    assert found.quantiles == ()


def test_trials_that_agree_leave_room_as_far_as_the_measure_can_go() -> None:
    """20 times 0.3, of a measure from 0 to 1: 1 − p of the others could be at 0, or at 1."""
    found = summary_of("m", np.full(20, 0.3), limits=(0.0, 1.0))
    others = 1 - 0.025 ** (1 / 20)
    assert (found.mean, found.standard_error) == (0.3, 0)
    assert (found.low, found.high) == pytest.approx((0.3 * (1 - others), 0.3 + 0.7 * others))


def test_an_interval_ends_where_the_measure_does() -> None:
    found = summary_of("m", np.array([0.0, 0.5, 1.0]), limits=(0.0, 1.0))
    assert (found.low, found.high) == (0, 1)
    assert summary_of("m", np.array([0.0, 0.5, 1.0])).low < 0


@pytest.mark.parametrize(("trials", "levels"), [(4, ()), (6, (0.5,)), (60, (0.5,)), (80, QUANTILES)])
def test_a_quantile_without_enough_trials_is_left_out(trials: int, levels: tuple[float, ...]) -> None:
    """Two of 5 trials enclose a median with 1 − 2·2⁻⁵ = 94 %, of 6 with 97 %; all are above the least 1 in 20 of 72."""
    found = summary_of("m", np.arange(trials) / 7)
    assert tuple(quantile.level for quantile in found.quantiles) == levels


def test_the_interval_of_a_median_is_the_one_of_the_tables() -> None:
    """Of 20 trials the 6th and the 15th enclose the median with 95.9 %: the sign test's interval."""
    (median,) = summary_of("m", np.arange(1.0, 21.0)).quantiles
    assert (median.low, median.value, median.high) == (6, 10, 15)


def test_intervals_of_quantiles_hold_as_often_as_they_say() -> None:
    """Of 400 samples of 100 exponential numbers; each interval misses 5 % at most: 38 is 4.1 standard errors above."""
    generator = np.random.default_rng(3)
    missed = dict.fromkeys(QUANTILES, 0)
    for _ in range(400):
        for quantile in summary_of("m", generator.exponential(size=100)).quantiles:
            true = -math.log(1 - quantile.level)
            missed[quantile.level] += not quantile.low <= true <= quantile.high
    assert max(missed.values()) <= 38
