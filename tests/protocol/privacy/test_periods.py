"""Budgets by periods: no window of the length holds more than the budget, against sums over all windows."""

import itertools
import math

import pytest
from bad_input import refuses
from hypothesis import given
from hypothesis import strategies as st
from makers import loss_of
from psephos.protocol.errors import BudgetExceededError
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.protocol.privacy import (
    Budget,
    Ledger,
    LedgerEntry,
)
from psephos.protocol.privacy.periods import keep_recent
from strategies import CHECKED

PERIOD = 7.0


@CHECKED
@given(
    steps=st.lists(st.tuples(st.integers(0, 9), st.integers(1, 8)), min_size=1, max_size=25),
    budget=st.integers(1, 16),
)
def test_no_window_holds_more_than_the_budget_and_nothing_is_refused_that_fits(
    steps: list[tuple[int, int]], budget: int
) -> None:
    """Times in thirds of a day and losses in eighths, so that sums are exact and times often exactly a period apart."""
    timed: list[tuple[float, LedgerEntry]] = []
    third = 0
    for step, eighths in steps:
        third += 7 * step if step > 6 else step  # now and then a step of exactly some periods
        now, loss = third / 3, loss_of(eighths / 8)
        before = sum(entry.proven for time, entry in timed if now - PERIOD < time <= now)
        ledger = Ledger("Ann", budget=Budget(epsilon=budget / 4), entries=keep_recent(timed, now=now, seconds=PERIOD))
        if before + loss.proven <= budget / 4 + 1e-9:
            timed.append((now, ledger.charge(loss, session="s", phase="p").entry))
        else:
            with pytest.raises(BudgetExceededError):
                ledger.check((loss,))
    # Brute force: a window's sum is greatest where it begins with a loss.
    for begin, _ in timed:
        held = [entry.proven for time, entry in timed if begin <= time < begin + PERIOD]
        assert math.fsum(held) <= budget / 4 + 1e-9


def test_a_loss_counts_until_it_is_a_period_old() -> None:
    timed = [(0.0, "a"), (1.0, "b")]
    assert keep_recent(timed, now=6.999, seconds=PERIOD) == ["a", "b"]
    assert keep_recent(timed, now=7.0, seconds=PERIOD) == ["b"]


def test_a_loss_from_after_now_counts_since_a_clock_was_set_back() -> None:
    assert keep_recent([(100.0, "a")], now=0.0, seconds=PERIOD) == ["a"]


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_a_period_without_a_length_is_refused(seconds: float) -> None:
    with refuses("budget_period"):
        keep_recent([], now=0.0, seconds=seconds)


def test_a_repeated_report_adds_nothing_to_what_had_left_and_at_most_its_own_loss_to_a_look_at_one_window() -> None:
    """By enumeration: a weight is kept, an opinion is drawn in each window, and both are of one person's row."""
    of_kept, of_drawn = math.log(3), 0.5
    keep, draw = (GeneralizedRandomizedResponse(epsilon, 2).channel_matrix() for epsilon in (of_kept, of_drawn))

    def law(value: int, kept: int, before: int, now: int) -> float:
        return keep[value][kept] * draw[value][before] * draw[value][now]

    def now_given(value: int, kept: int, before: int, now: int) -> float:
        return law(value, kept, before, now) / sum(law(value, kept, before, each) for each in range(2))

    given = [
        now_given(0, kept, before, now) / now_given(1, kept, before, now)
        for kept, before, now in itertools.product(range(2), repeat=3)
    ]
    alone = [
        sum(law(0, kept, before, now) for before in range(2)) / sum(law(1, kept, before, now) for before in range(2))
        for kept, now in itertools.product(range(2), repeat=2)
    ]
    assert math.log(max(given)) == pytest.approx(of_drawn)
    assert math.log(max(alone)) == pytest.approx(of_drawn + of_kept)
