"""What outcomes state, held against what is found: every statement of every system, at every size, for hostile truths.

A *statement* is a sentence with a number in it: a verdict at a level, a probability under a named prior, an error. Its
system declares the axes of what a session may be (sizes, parameters, truths) and how sessions at a place on them are
held; the engine does the rest:

- **cells**: places that meet each value of each axis, how the axes meet being drawn by a seed;
- **a search**: from the worst cells on it climbs, one or two axes at a time, towards more errors than are stated.

A cell is counted as broken if its interval says so again with fresh noise and ten times as many sessions.

Source: Clopper and Pearson (1934) for the intervals.
"""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.phases import Inputs, Phase
from psephos.scenarios.tables import Table
from scipy.special import betaincinv, ndtri

LADDER: Final = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 31, 50, 64, 100)
"""Sizes that are tried of whatever grows."""
_RISK: Final = 0.01
"""Of one end of an interval."""
_TIMES_AGAIN: Final = 10
_ATTEMPTS: Final = 40
"""To find a place that a protocol accepts, and neighbors that are worse, before a search begins elsewhere."""
KEPT: Final = 4
"""Of the worst places of a search, which are held again."""
_ROUNDING: Final = 1e-9

Case: TypeAlias = Mapping[str, Any]
"""A place: the value on each axis."""
Axes: TypeAlias = Mapping[str, Sequence[Any]]
"""The values of each axis, neighbors beside each other where they have an order."""


class Held(NamedTuple):
    """What sessions stated, and what was true: one number of each session for each.

    Args:
        stated: a probability of being wrong, or a squared standard error.
        found: 1 where it was wrong, else 0; or the squared error.
    """

    stated: FloatArray
    found: FloatArray


@dataclasses.dataclass(frozen=True, kw_only=True)
class Statement:
    """A sentence with a number in it.

    Args:
        name: what is stated; of one kind of several, with a colon before its name.
        about: what it promises, and which truths are tried.
        axes: of a session.
        hold: holds so many sessions at a place; None where nobody can have such a session.
        kind: "at most": whatever the truth is, no more are wrong; "on average": as many are wrong, under the prior that
            is named; "error": squared errors are on average no larger than is stated.
        times: of the number of sessions that is asked for, where they cost less than others, or more.
    """

    name: str
    about: str
    axes: Axes
    hold: Callable[[Case, int, np.random.Generator], Held | None]
    kind: Literal["at most", "on average", "error"] = "at most"
    times: float = 1.0


def draw_sessions(phase: Phase, inputs: Inputs, sessions: int, generator: np.random.Generator) -> IntArray:
    """Return a phase's reports of so many sessions of the same parties, one session after another."""
    rows, public = (np.tile(own, (sessions, 1)) for own in (inputs.private[:, phase.columns], inputs.public))
    uniforms = generator.random((len(rows), phase.mechanism.slots_of(rows.shape[1])))
    reports = np.empty((len(rows), phase.num_reported), dtype=np.int64)
    for mechanism, places in phase.mechanism_groups(public):
        reports[places] = mechanism.randomize_rows(rows[places], uniforms[places])
    return reports


def _no_tables(_wanted: "Wanted") -> Iterable[Table]:
    """Have nothing but statements."""
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a system states.

    Args:
        title: the section's.
        about: its first paragraph.
        statements: made when they are asked for; tables of numbers that say more are made by `tables`.
        tables: of so many sessions and a seed, what no statement is.
    """

    title: str
    about: str
    statements: Callable[[], Sequence[Statement]]
    tables: Callable[["Wanted"], Iterable[Table]] = _no_tables


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A statement at one place.

    Args:
        sessions: how many were held.
        stated: the mean of what they stated.
        found: of what was found.
        low: with `high`, the limits of what is found at 99 % each: binomial ones, or normal ones of an error.
        high: see there.
        strain: `low` over what is stated; above 1 the statement is broken. Under a prior also what is stated over
            `high`.
        holds: whether these limits allow what is stated.
        case: the place, but for what is so in all of the statement's cells.
    """

    system: str
    statement: str
    kind: str
    sessions: int
    stated: float
    found: float
    low: float
    high: float
    strain: float
    holds: bool
    case: str


class Wanted(NamedTuple):
    """What a calibration is asked for."""

    trials: int = 400
    """Sessions of a cell, or as many as a statement says instead."""
    cells: int = 0
    """Of each statement; 0 for as many as its longest axis has values."""
    seconds: float = 0.0
    """Of the search, of all statements together; 0 for none."""
    seed: int = 1
    """Of everything drawn."""


def hold(system: str, statement: Statement, case: Case, trials: int, generator: np.random.Generator) -> Cell | None:
    """Return a statement's cell at a place, of so many trials; None where nobody can have such a session."""
    held = statement.hold(case, max(round(trials * statement.times), 1), generator)
    return None if held is None or not len(held.found) else _cell(system, statement, case, held)


def _cell(system: str, statement: Statement, case: Case, held: Held) -> Cell:
    number, stated, found = len(held.found), float(held.stated.mean()), float(held.found.mean())
    if statement.kind == "error":
        spread = float((held.found - held.stated).std(ddof=1)) / math.sqrt(number) if number > 1 else math.inf
        reach = float(ndtri(1 - _RISK)) * spread
        low, high = found - reach, found + reach
    else:
        wrong = round(found * number)
        low = float(betaincinv(wrong, number - wrong + 1, _RISK)) if wrong else 0.0
        high = float(betaincinv(wrong + 1, number - wrong, 1 - _RISK)) if wrong < number else 1.0
    strain = low / stated if stated else math.inf if low > 0 else 0.0
    if statement.kind == "on average":
        strain = max(strain, stated / high)
    return Cell(
        system=system,
        statement=statement.name,
        kind=statement.kind,
        sessions=number,
        stated=stated,
        found=found,
        low=low,
        high=high,
        strain=strain,
        holds=strain <= 1 + _ROUNDING,
        case=", ".join(f"{axis}={value}" for axis, value in case.items() if len(statement.axes.get(axis, ())) > 1),
    )


def cells_of(
    system: str, statement: Statement, wanted: Wanted, generator: np.random.Generator
) -> Iterator[tuple[Case, Cell]]:
    """Yield cells that meet each value of each axis, as far as a protocol accepts it."""
    orders = {axis: generator.permutation(len(values)) for axis, values in statement.axes.items()}
    for number in range(wanted.cells or max(map(len, statement.axes.values()))):
        places = {axis: int(order[number % len(order)]) for axis, order in orders.items()}
        for attempt in range(_ATTEMPTS):
            case = {axis: statement.axes[axis][place] for axis, place in places.items()}
            if (cell := hold(system, statement, case, wanted.trials, generator)) is not None:
                yield case, _again(system, statement, case, cell, generator)
                break
            # All but one axis, another one each time, are drawn anew.
            kept = list(places)[attempt % len(places)]
            places = {
                axis: place if axis == kept else int(generator.integers(len(statement.axes[axis])))
                for axis, place in places.items()
            }


def _again(system: str, statement: Statement, case: Case, cell: Cell, generator: np.random.Generator) -> Cell:
    """Return a cell, or what a broken one is with fresh noise and many times the sessions."""
    if cell.holds:
        return cell
    trials = math.ceil(_TIMES_AGAIN * cell.sessions / statement.times)
    return hold(system, statement, case, trials, generator) or cell


def search(
    system: str,
    statement: Statement,
    wanted: Wanted,
    generator: np.random.Generator,
    *,
    seconds: float,
    begin: Sequence[Case] = (),
) -> list[Cell]:
    """Return the worst places that are found by climbing, each held again with fresh noise and many times the sessions.

    Of the worst of many, some break by chance: as in `cells_of`, such a one is held once more.

    Args:
        seconds: that it takes, roughly.
        begin: where it begins; then, and where no neighbor is worse any more, anywhere.
    """
    until, starts = time.monotonic() + seconds, iter(begin)
    worst: dict[tuple[Any, ...], tuple[float, Case]] = {}

    def strain_at(case: Case) -> float:
        cell = hold(system, statement, case, wanted.trials, generator)
        return -math.inf if cell is None else cell.strain

    def anywhere() -> Case:
        return {axis: values[int(generator.integers(len(values)))] for axis, values in statement.axes.items()}

    while time.monotonic() < until:
        here = next(starts, None) or anywhere()
        strain, idle = strain_at(here), 0
        worst[tuple(here.values())] = strain, here
        while idle < _ATTEMPTS and time.monotonic() < until:
            there = _neighbor(statement.axes, here, generator)
            # Luck of the first look does not count: a place is taken by what a second one says. Where nothing was wrong
            # anywhere so far, one place is as good as another.
            if strain_at(there) >= strain and (found := strain_at(there)) >= strain:
                idle = 0 if found > strain else idle + 1
                here, strain = there, found
                worst[tuple(here.values())] = strain, here
            else:
                idle += 1
    kept = sorted(worst.values(), key=lambda each: -each[0])[:KEPT]
    cells = ((case, hold(system, statement, case, _TIMES_AGAIN * wanted.trials, generator)) for _, case in kept)
    return [_again(system, statement, case, cell, generator) for case, cell in cells if cell is not None]


def _neighbor(axes: Axes, case: Case, generator: np.random.Generator) -> Case:
    """Return a place that differs on one axis or two: by a step, or by any."""
    there = dict(case)
    names = [axis for axis, values in axes.items() if len(values) > 1]
    for axis in generator.choice(names, size=min(int(generator.integers(1, 3)), len(names)), replace=False).tolist():
        values = axes[axis]
        place = int(generator.integers(len(values)))
        if generator.random() < 1 / 2:
            step = int(generator.choice((-1, 1)))
            place = min(max(values.index(case[axis]) + step, 0), len(values) - 1)
        there[axis] = values[place]
    return there
