"""Which uniform hyper-distribution a price buys: against a grid of all ranges, and every report of every row."""

import itertools
import math
from collections.abc import Callable, Sequence

import pytest
from psephos.protocol.mechanisms import (
    LossUnit,
    Uniform,
    least_uniform_loss,
    loss_of_all_answers,
    loss_of_one_answer,
    uniform_for,
    uniform_of_loss,
)
from thoroughness import draws

UNITS: list[LossUnit] = ["all answers", "one answer"]
ROWS = [(2, 2), (3, 3), (2,) * 5, (4,) * 5, (2, 3), (3, 3, 4, 7), (2,) * 21]
PRICES = [0.02, 0.7, 1.995, 3.0, 9.0, 60.0]
STEP = 0.1

rows = pytest.mark.parametrize("sizes", ROWS, ids=str)
units = pytest.mark.parametrize("unit", UNITS)


def loss_in(unit: LossUnit) -> Callable[[Sequence[int], Uniform], float]:
    return loss_of_all_answers if unit == "all answers" else loss_of_one_answer


def most_flips_of(sizes: Sequence[int]) -> float:
    return (min(sizes) - 1) / min(sizes)


def grid(sizes: Sequence[int]) -> list[Uniform]:
    """Return all ranges of a grid after which answers still point to themselves on average."""
    ends = [place * STEP for place in range(round(1 / STEP) + 1)] + [most_flips_of(sizes)]
    ranges = (Uniform(low, min(high, 1.0)) for low in ends for high in ends if low < high)
    return [hyper for hyper in ranges if hyper.mean <= most_flips_of(sizes)]


def prices_of(sizes: Sequence[int], unit: LossUnit) -> list[float]:
    least = least_uniform_loss(sizes, unit=unit, most_flips=most_flips_of(sizes))
    return [price for price in PRICES if price >= least]


@rows
@units
def test_every_price_that_a_range_has_is_found_and_used_up(sizes: tuple[int, ...], unit: LossUnit) -> None:
    loss_of = loss_in(unit)
    for price in prices_of(sizes, unit) + [loss_of(sizes, hyper) for hyper in grid(sizes)[:: draws(70, full=7)]]:
        if price == math.inf:
            continue
        found = uniform_of_loss(price, sizes=sizes, unit=unit)
        assert found.mean <= most_flips_of(sizes)
        assert price * (1 - 1e-6) - 1e-8 <= loss_of(sizes, found) <= price


@rows
@units
def test_no_range_costs_less_than_the_least(sizes: tuple[int, ...], unit: LossUnit) -> None:
    most = most_flips_of(sizes)
    least = least_uniform_loss(sizes, unit=unit, most_flips=most)
    terms = [math.log((size - 1) / (min(sizes) - 1)) for size in sizes]
    assert least == pytest.approx(sum(terms) if unit == "all answers" else max(terms), abs=1e-8)
    assert min(loss_in(unit)(sizes, hyper) for hyper in grid(sizes)) >= least - 1e-8
    if least > 0:
        with pytest.raises(ValueError, match="at least"):
            uniform_of_loss(math.nextafter(least, 0), sizes=sizes, unit=unit)
        assert uniform_of_loss(least + 1e-6, sizes=sizes, unit=unit).mean == pytest.approx(most, abs=1e-2)


@rows
@units
def test_of_both_families_the_range_that_flips_least_is_taken(sizes: tuple[int, ...], unit: LossUnit) -> None:
    """By trying many ends of each: none with as small a loss has a smaller mean."""
    most, loss_of = most_flips_of(sizes), loss_in(unit)
    family = [Uniform(0.0, place / 100) for place in range(1, 101, draws(3, full=1))]
    family += [Uniform(most * place / 100, most) for place in range(0, 100, draws(3, full=1))]
    tried = [(loss_of(sizes, hyper), hyper.mean) for hyper in family]
    for price in prices_of(sizes, unit):
        found = uniform_of_loss(price, sizes=sizes, unit=unit)
        assert found.low == 0 or found.high == most
        assert min([mean for loss, mean in tried if loss <= price], default=1.0) >= found.mean * (1 - 1e-6)


@rows
@units
def test_a_smaller_price_flips_more_often(sizes: tuple[int, ...], unit: LossUnit) -> None:
    least = least_uniform_loss(sizes, unit=unit, most_flips=most_flips_of(sizes))
    prices = [least + 0.01 * 1.5**place for place in range(0, 20, draws(9, full=1))]
    means = [uniform_of_loss(price, sizes=sizes, unit=unit).mean for price in prices]
    assert all(above <= below for below, above in itertools.pairwise(means))
    assert means[-1] < 0.9 * means[0]


@rows
@units
def test_in_each_family_a_loss_falls_as_the_free_end_rises(sizes: tuple[int, ...], unit: LossUnit) -> None:
    most, loss_of = most_flips_of(sizes), loss_in(unit)
    for family in (
        [Uniform(0.0, place / 50) for place in range(1, 51)],
        [Uniform(most * place / 50, most) for place in range(50)],
    ):
        losses = [loss_of(sizes, hyper) for hyper in family]
        assert all(after <= before + 1e-8 for before, after in itertools.pairwise(losses))


@pytest.mark.few(most=2)
@units
@pytest.mark.parametrize("available", [(2, 2, 3), (2, 3, 3, 5), (4, 2, 2, 2)], ids=str)
def test_no_row_of_such_tasks_costs_more_than_the_largest_sets(available: tuple[int, ...], unit: LossUnit) -> None:
    """Every choice of so many tasks, and every skipped one."""
    for number in range(1, len(available) + 1):
        row = sorted(available, reverse=True)[:number]
        most = most_flips_of(available)
        for price in (4.0, 7.0, 12.0):
            found = uniform_of_loss(price, sizes=row, unit=unit, most_flips=most)
            for chosen in range(1, number + 1):
                for sizes in itertools.combinations(available, chosen):
                    assert loss_in(unit)(sizes, found) <= price + 1e-8


def test_one_answer_has_the_papers_range_of_its_mean() -> None:
    for num_labels in (2, 5):
        for price in (0.01, 0.5, 3.0):
            found = uniform_of_loss(price, sizes=(num_labels,), unit="one answer")
            assert found == uniform_for(found.mean)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: uniform_of_loss(0.0, sizes=(2, 2), unit="one answer"),
        lambda: uniform_of_loss(math.nan, sizes=(2, 2), unit="one answer"),
        lambda: uniform_of_loss(1.0, sizes=(), unit="one answer"),
        lambda: uniform_of_loss(1.0, sizes=(2, 1), unit="one answer"),
        lambda: uniform_of_loss(1.0, sizes=(2, 2), unit="one answer", most_flips=0.6),
        lambda: uniform_of_loss(1.0, sizes=(2, 2), unit="one answer", most_flips=0.4),
        lambda: uniform_of_loss(1e-12, sizes=(2, 2), unit="one answer"),
        lambda: least_uniform_loss((2, 1), unit="one answer", most_flips=0.5),
        lambda: least_uniform_loss((2,), unit="one answer", most_flips=0.0),
        lambda: least_uniform_loss((2,), unit="one answer", most_flips=math.nan),
    ],
)
def test_what_is_out_of_range_is_refused(bad: object) -> None:
    assert callable(bad)
    with pytest.raises(ValueError, match=r": (use|give) "):
        bad()
