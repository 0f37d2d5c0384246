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
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from rich.console import Console
from rich.text import Text
from scipy.special import betaincinv, ndtri

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import one_of, refuse, require
from ...protocol.phases import Inputs, Phase
from ..presentation.terminal import show_note, show_table
from ..running.folder import RunFolder
from ..running.progress import OnStep
from ..system import load_each, names_with
from ..tables import Cell as Entry
from ..tables import Table, listed, markdown_of
from .sheets import flat

ALL: Final = "all"
"""Every system that has the part."""
LADDER: Final = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 31, 50, 64, 100)
"""Sizes that are tried of whatever grows."""
_RISK: Final = 0.01
"""Of one end of an interval."""
_TIMES_AGAIN: Final = 10
_FEWEST: Final = 10
_MOST: Final = 1_000_000
_ATTEMPTS: Final = 40
"""To find a place that a protocol accepts, and neighbors that are worse, before a search begins elsewhere."""
_KEPT: Final = 4
"""Of the worst places of a search, which are held again."""
_DIGITS: Final = 3
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
    """What a system states: its part `calibration`.

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


def check_calibration(name: str, wanted: Wanted) -> tuple[str, ...]:
    """Return the systems that a name stands for.

    Raises:
        ConfigurationError: there is none with this part, or a number is out of range.
    """
    known = names_with("calibration")
    refuse(name != ALL and name not in known, "system", name, one_of((ALL, *known), name))
    require(_FEWEST <= wanted.trials <= _MOST, "--trials", wanted.trials, f"from {_FEWEST} to {_MOST:,}")
    require(0 <= wanted.cells <= _MOST, "--cells", wanted.cells, f"from 0 to {_MOST:,}")
    require(0 <= wanted.seconds < math.inf, "--search", wanted.seconds, "a number of seconds, at least 0")
    return known if name == ALL else (name,)


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
    kept = sorted(worst.values(), key=lambda each: -each[0])[:_KEPT]
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


def calibrate(
    name: str,
    wanted: Wanted,
    *,
    folder: RunFolder | None = None,
    on_progress: OnStep = lambda _said, _done, _total: None,
) -> dict[str, list[Table]]:
    """Hold all statements of a system, or of all, against what is found.

    Args:
        name: the system's, or `ALL`.
        wanted: how much; the same seed gives the same cells, but not the same search, which ends by the clock.
        folder: gets `calibration.md` and a CSV for each table.
        on_progress: told of each statement as it begins.

    Returns:
        The tables of each system: the worst cell of each statement, with all cells in `full`, and what else it has.

    Raises:
        ConfigurationError: see `check_calibration`.
    """
    systems = check_calibration(name, wanted)
    parts = {system: part for system, part in load_each("calibration", Calibration) if system in systems}
    stated = {system: part.statements() for system, part in parts.items()}
    total, begun = sum(map(len, stated.values())), itertools.count()
    found: dict[str, list[Table]] = {}
    for system, part in parts.items():
        cells: list[Cell] = []
        for number, statement in enumerate(stated[system]):
            on_progress(f"{system}: {statement.name}", next(begun), total)
            generator = np.random.default_rng([wanted.seed, number, *system.encode()])
            own = list(cells_of(system, statement, wanted, generator))
            cells += [cell for _, cell in own]
            if wanted.seconds:
                own.sort(key=lambda pair: -pair[1].strain)
                worst = [case for case, _ in own[:_KEPT]]
                seconds = wanted.seconds / total
                cells += search(system, statement, wanted, generator, seconds=seconds, begin=worst)
        found[system] = [_table_of(cells, stated[system]), *part.tables(wanted)]
    if folder is not None:
        for system, tables in found.items():
            for table in tables:
                folder.write_table(f"{system}-{table.name}.csv", table.full)
        folder.write_text("calibration.md", page_of_calibration(found, wanted))
    return found


def _table_of(cells: Sequence[Cell], statements: Sequence[Statement]) -> Table:
    """Return the worst cell of each statement; all cells are in the file."""
    rows = [
        (statement, max(own, key=lambda cell: (not cell.holds, cell.strain)), len(own), sum(not c.holds for c in own))
        for statement in statements
        if (own := [cell for cell in cells if cell.statement == statement.name])
    ]
    said_once: dict[tuple[str, str], str] = {}
    for statement, *_ in rows:
        said_once.setdefault((statement.kind, statement.about), statement.name.partition(":")[0])
    return listed(
        rows,
        [
            ("statement", lambda row: row[0].name),
            ("worst cell", lambda row: row[1].case),
            ("stated", lambda row: f"{row[1].stated:.{_DIGITS}g}"),
            ("found", lambda row: f"{row[1].found:.{_DIGITS}g}"),
            ("at 99 %", lambda row: f"{row[1].low:.{_DIGITS}g}–{row[1].high:.{_DIGITS}g}"),
            ("sessions", lambda row: f"{row[1].sessions:,}"),
            ("cells", lambda row: f"{row[2]}"),
            ("broken", lambda row: Entry(f"{row[3]}", row[3], tone="poor" if row[3] else "good")),
        ],
        labels=2,
        caption="Statements, each at its worst cell",
        note=" ".join(f"*{said}* ({kind}): {about}" for (kind, about), said in said_once.items()),
        name="cells",
        full=flat(cells),
    )


def page_of_calibration(found: Mapping[str, Sequence[Table]], wanted: Wanted) -> str:
    """Return the page of what `calibrate` returned: a section for each system."""
    searched = f", and climbs from the worst for {wanted.seconds:g} seconds in all" if wanted.seconds else ""
    parts = [
        "# Calibration: what is stated, and what is found",
        (
            "This page is for everybody who wants to know how far a stated probability can be trusted. `psephos "
            f"calibrate all` holds each statement at sizes of a ladder, for hostile truths ({wanted.trials:,} sessions "
            f"a cell, more where they are quick; seed {wanted.seed}){searched}. *At most*: whatever the truth is, no "
            "more are wrong than is stated. *On average*: under the prior that the statement names, as many are. "
            "*Error*: squared errors are on average no larger than stated. A cell is *broken* if its interval (99 %) "
            "does not allow what is stated, and does not again with fresh noise and ten times the sessions. Each table "
            "has the cell of a statement that is nearest to breaking it; all cells are in the files."
        ),
    ]
    for system, part in _parts(found):
        parts += [f"## {part.title}", part.about]
        parts += [markdown_of(table) for table in found[system]]
    return "\n\n".join(parts) + "\n"


def show_calibration(console: Console, found: Mapping[str, Sequence[Table]]) -> None:
    """Print all tables."""
    for system, part in _parts(found):
        console.print()
        console.print(Text(part.title, style="bold underline"))
        console.print(Text(part.about))
        for table in found[system]:
            console.print()
            console.print(Text(table.caption, style="bold"))
            show_table(console, table, drop=("sessions", "cells"), whole="--out FOLDER")
            show_note(console, table.note)


def _parts(found: Mapping[str, Sequence[Table]]) -> Iterator[tuple[str, Calibration]]:
    return ((system, part) for system, part in load_each("calibration", Calibration) if system in found)
