"""Statements held against what is found: limits by hand, cells that meet every size, lies that are caught, a search."""

import itertools
import types
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from calibration import engine
from calibration.engine import (
    Case,
    Held,
    Statement,
    Wanted,
    cells_of,
    hold,
    search,
)

AXES = {"size": (1, 2, 3, 5, 8), "price": (0.1, 1.0), "truth": ("even", "odd")}


def statement(
    found: Callable[[Case], float],
    *,
    kind: Literal["at most", "on average", "error"] = "at most",
    stated: float = 0.05,
    times: float = 1.0,
) -> Statement:
    """Return a statement which is wrong with a probability that depends on the place; nowhere where it is below 0."""

    def held(case: Case, sessions: int, generator: np.random.Generator) -> Held | None:
        if (chance := found(case)) < 0:
            return None
        return Held(np.full(sessions, stated), (generator.random(sessions) < chance).astype(np.float64))

    return Statement(name="it holds", about="It does.", axes=AXES, hold=held, kind=kind, times=times)


def test_the_limits_are_those_of_clopper_and_pearson() -> None:
    """Of ten sessions none is wrong: at 99 % up to 1 − .01^(1/10) are; if all are, so at least .01^(1/10)."""
    case = {"size": 1, "price": 0.1, "truth": "odd"}
    none = hold("ours", statement(lambda _: 0.0), case, 10, np.random.default_rng(1))
    every = hold("ours", statement(lambda _: 1.0), case, 10, np.random.default_rng(1))
    assert none is not None
    assert every is not None
    assert (none.low, none.high) == (0.0, pytest.approx(1 - 0.01**0.1))
    assert (every.low, every.high) == (pytest.approx(0.01**0.1), 1.0)
    assert none.holds
    assert not every.holds
    assert none.case == "size=1, price=0.1, truth=odd"


def test_under_a_prior_too_few_errors_are_wrong_as_well() -> None:
    case, generator = {"size": 1, "price": 0.1, "truth": "odd"}, np.random.default_rng(2)
    kinds: list[tuple[Literal["at most", "on average"], bool]] = [("at most", True), ("on average", False)]
    for kind, holds in kinds:
        cell = hold("ours", statement(lambda _: 0.0, kind=kind, stated=0.4), case, 100, generator)
        assert cell is not None
        assert cell.holds is holds


def test_squared_errors_are_held_against_their_stated_mean() -> None:
    def held(_case: Case, sessions: int, generator: np.random.Generator) -> Held:
        return Held(np.ones(sessions), 1.5 * np.square(generator.normal(size=sessions)))

    of_errors = Statement(name="error", about="", axes=AXES, hold=held, kind="error")
    cell = hold("ours", of_errors, {"size": 1}, 1_000, np.random.default_rng(3))
    assert cell is not None
    assert cell.found == pytest.approx(1.5, abs=0.25)
    assert (cell.low, cell.high) == (
        pytest.approx(cell.found - 0.156, abs=0.03),
        pytest.approx(2 * cell.found - cell.low),
    )
    assert not cell.holds


def test_every_value_of_every_axis_is_met_where_it_can_be() -> None:
    cells = list(cells_of("ours", statement(lambda _: 0.0), Wanted(trials=10), np.random.default_rng(4)))
    assert len(cells) == 5
    for axis, values in AXES.items():
        assert {case[axis] for case, _ in cells} == set(values)
    some = statement(lambda case: -1.0 if case["price"] == 1.0 else 0.0)
    elsewhere = list(cells_of("ours", some, Wanted(trials=10), np.random.default_rng(4)))
    assert {case["price"] for case, _ in elsewhere} == {0.1}
    assert len(elsewhere) == 5


def test_a_lie_is_caught_and_bad_luck_is_not() -> None:
    """Of cells that are wrong as often as is stated, one in a hundred would be broken at its first look."""
    lie = statement(lambda case: 0.5 if case["size"] == 5 else 0.0)
    cells = [cell for _, cell in cells_of("ours", lie, Wanted(trials=40), np.random.default_rng(5))]
    (broken,) = (cell for cell in cells if not cell.holds)
    assert broken.case.startswith("size=5")
    assert broken.sessions == 400
    fair = statement(lambda _: 0.05, times=3.0)
    cells = [cell for _, cell in cells_of("ours", fair, Wanted(trials=40, cells=400), np.random.default_rng(6))]
    assert all(cell.holds for cell in cells)
    assert {cell.sessions for cell in cells} == {120, 1200}


def test_the_search_climbs_to_the_worst_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one of twenty places is broken, and its neighbors are worse than others. Time goes on by looks."""
    looks = itertools.count()
    monkeypatch.setattr(engine, "time", types.SimpleNamespace(monotonic=lambda: float(next(looks))))
    uphill = statement(lambda case: 0.02 * AXES["size"].index(case["size"]) + 0.2 * (case["price"] == 1.0))
    found = search("ours", uphill, Wanted(trials=200), np.random.default_rng(7), seconds=400.0)
    assert found[0].case.startswith("size=8, price=1.0")
    assert found[0].sessions == 20_000  # a second look, as the first was broken
    assert found[0].low > 0.2
    assert not found[0].holds


def test_bad_luck_that_a_search_has_with_a_place_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of places that are wrong as often as is stated, one in a hundred would be broken: of two hundred, some."""
    looks = itertools.count()
    monkeypatch.setattr(engine, "time", types.SimpleNamespace(monotonic=lambda: float(next(looks))))
    fair, generator = statement(lambda _: 0.05), np.random.default_rng(9)
    cells = [cell for _ in range(100) for cell in search("ours", fair, Wanted(trials=40), generator, seconds=12.0)]
    assert all(cell.holds for cell in cells)
    assert {cell.sessions for cell in cells} == {400, 4_000}
