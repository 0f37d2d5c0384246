"""Parties drawn anew: variances between draws and within one, by hand, by brute force, and over many repetitions."""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy
from psephos.scenarios.experiments.redrawing import group_by_draw, spread_of
from psephos.scenarios.experiments.summaries import summary_of_draws
from thoroughness import draws


def test_variances_by_hand() -> None:
    """Draws (0, 2), (4, 4), (1, 1): means 1, 4, 1 of variance 3; within 2, 0, 0; so between is 3 − (2/3)/2."""
    found = spread_of([(0, 2), (4, 4), (1, 1)])
    assert found.within.value == pytest.approx(2 / 3)
    assert found.within.standard_error == pytest.approx(2 / 3)
    assert found.between.value == pytest.approx(8 / 3)


@pytest.mark.parametrize("number", [0.1, 0.7, 1.1, 1e-9, 12345.6789])
@pytest.mark.parametrize("size", [3, 7, 10])
def test_equal_trials_have_no_variance_whatever_a_sum_rounds_to(number: float, size: int) -> None:
    found = spread_of([(number,) * size, (2 * number,) * size, (3 * number,) * size])
    assert (found.within.value, found.within.standard_error) == (0.0, 0.0)
    assert spread_of([(number,) * size] * 3).between.value == 0


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_error_between_draws_is_that_of_leaving_each_out(size: int) -> None:
    table = np.random.default_rng(size).exponential(size=(9, size)) + np.arange(9)[:, None]

    def between(rows: Any) -> float:
        return float(rows.mean(axis=1).var(ddof=1) - rows.var(axis=1, ddof=1).mean() / size)

    rests = np.array([between(np.delete(table, row, axis=0)) for row in range(9)])
    found = spread_of(table.tolist()).between
    assert found.value == pytest.approx(between(table))
    assert found.standard_error == pytest.approx(math.sqrt(8 / 9 * np.square(rests - rests.mean()).sum()))


def test_a_draw_counts_where_all_of_its_trials_have_a_number() -> None:
    assert group_by_draw([1.0, 2.0, None, 3.0, 4.0, 5.0, 6.0], 2) == [[1.0, 2.0], [4.0, 5.0]]


def _normal(generator: np.random.Generator, count: int, size: int) -> Any:
    return 2 * generator.normal(size=(count, 1)) + 3 * generator.normal(size=(count, size))


def _skewed(generator: np.random.Generator, count: int, size: int) -> Any:
    return generator.exponential(size=(count, 1)) + generator.exponential(size=(count, size))


def _events(generator: np.random.Generator, count: int, size: int) -> Any:
    """Of a mean p from Beta(6, 2): Var p = 12/(64·9) = 1/48, and E p(1 − p) = 12/(8·9) = 1/6."""
    return (generator.random((count, size)) < generator.beta(6, 2, (count, 1))).astype(float)


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize(
    ("law", "mean", "between", "within"),
    [(_normal, 0, 4, 9), (_skewed, 2, 1, 1), (_events, 3 / 4, 1 / 48, 1 / 6)],
)
def test_variances_are_without_bias_and_their_errors_are_calibrated(
    law: Callable[..., Any], mean: float, between: float, within: float, size: int
) -> None:
    """Over many repetitions of 60 draws; each of the 8 checks gives a false alarm with less than 1e-5.

    Squared standard errors are on average the variance of what they are of: exactly within, and between somewhat more
    by the jackknife, which at 60 draws is a few percent. Had trials been taken for independent, the mean's would be
    too small by the factor 1 + (size − 1)·between/(between + within), which is 1.11 to 2.5 here.
    """
    number = draws(100, full=4000)
    generator = np.random.default_rng(size)
    tables = [law(generator, 60, size) for _ in range(number)]
    found = [(spread_of(table.tolist()), summary_of_draws("own", table.tolist())) for table in tables]
    for name, true in (("between", between), ("within", within)):
        values = np.array([getattr(spread, name).value for spread, _ in found])
        squares = np.array([getattr(spread, name).standard_error ** 2 for spread, _ in found])
        assert abs(values.mean() - true) < 4.5 * values.std() / math.sqrt(number)
        _check_squares(values, squares, most=1.1 if name == "between" else 1.0)
    means = np.array([summary.mean for _, summary in found])
    assert abs(means.mean() - mean) < 4.5 * means.std() / math.sqrt(number)
    _check_squares(means, np.array([summary.standard_error**2 for _, summary in found]), most=1.0)
    covered = sum(summary.low <= mean <= summary.high for _, summary in found)
    assert covered / number > 0.94 - 4.5 * math.sqrt(0.06 * 0.94 / number)  # exponential means are a little skewed


def _check_squares(values: Any, squares: Any, *, most: float) -> None:
    """Check that the mean square of standard errors is the variance of values, or at most so many times it."""
    spread = np.square(values - values.mean())
    # The error of the ratio of the two means, to first order.
    ratio = squares.mean() / spread.mean()
    error = math.sqrt(np.var(squares - ratio * spread) / len(values)) / spread.mean()
    assert 1 - 4.5 * error < ratio < most + 4.5 * error, ratio


@pytest.mark.few(most=3)
@pytest.mark.parametrize(("first", "second"), [(1, 1), (0.2, 4), (0.5, 0.1)])
@pytest.mark.parametrize("count", [20, 100])
def test_intervals_of_shares_hold_where_events_come_in_draws(first: float, second: float, count: int) -> None:
    """By Korn and Graubard's shares, rare events and such as go together too; false alarm below 1e-5 each.

    They are exact for independent events alone: of others they hold with 93 % at least here.
    """
    number, mean = draws(100, full=5000), first / (first + second)
    generator = np.random.default_rng(count)
    missed = 0
    for _ in range(number):
        table = (generator.random((count, 2)) < generator.beta(first, second, (count, 1))).astype(float)
        summary = summary_of_draws("own", table.tolist(), limits=(0.0, 1.0))
        missed += not summary.low <= mean <= summary.high
    assert missed / number < 0.07 + 4.5 * math.sqrt(0.07 * 0.93 / number)


@pytest.mark.parametrize("count", [3, 5, 40])
@pytest.mark.parametrize("size", [2, 30])
def test_an_interval_of_a_share_is_that_of_as_many_trials_as_so_few_draws_are_worth(count: int, size: int) -> None:
    """As published: as many as have the same error, times the ratio of Student's quantiles, squared; then exactly."""
    table = [[float((draw * 7 + trial * (1 + draw % 3)) % 4 == 0) for trial in range(size)] for draw in range(count)]
    means, student = np.mean(table, axis=1), functools.partial(scipy.stats.t.ppf, 0.975)
    share, trials = float(means.mean()), count * size
    error = float(means.std(ddof=1)) / math.sqrt(count)
    assert 0 < share < 1
    worth = min(share * (1 - share) / error**2, trials) * (student(trials - 1) / student(count - 1)) ** 2
    low = scipy.stats.beta.ppf(0.025, share * worth, (1 - share) * worth + 1)
    high = scipy.stats.beta.ppf(0.975, share * worth + 1, (1 - share) * worth)
    found = summary_of_draws("own", table, limits=(0.0, 1.0))
    assert (found.low, found.high) == (pytest.approx(low, rel=1e-9), pytest.approx(high, rel=1e-9))


def test_quantiles_are_those_of_one_trial_of_each_draw() -> None:
    table = [[float(draw), -1.0] for draw in range(100)]
    summary = summary_of_draws("own", table)
    assert [quantile.value for quantile in summary.quantiles] == [4.0, 49.0, 94.0]
    assert (summary.draws, summary.trials, summary.num_independent) == (100, 200, 100)


def test_of_one_trial_a_draw_nothing_is_told_apart() -> None:
    summary = summary_of_draws("own", [[float(draw)] for draw in range(9)])
    assert summary.mean == 4
    assert not any(isinstance(each, float) for each in itertools.chain([summary.between, summary.within]))
