"""Holds what outcomes state against what is found, for one system or for all.

    $ .venv/bin/python tests/calibrate.py dpwevote --trials 100
    $ .venv/bin/python tests/calibrate.py all --out calibration
    $ .venv/bin/python tests/calibrate.py fair-voting --search 600

Verdicts, probabilities of errors, intervals and standard errors are statements (`calibration/`). For each of them
sessions are held at sizes of a ladder, with truths that are chosen against it. The worst cell of each is printed, and
all cells are in the files of `--out`. `--search` looks for worse ones: it climbs over truths, sizes and parameters. All
systems take some minutes. `make papers` keeps these tables as the page `docs/calibration.md`.
"""

import argparse
import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from calibration import dpwevote, fair_voting, moral_preferences, truth_discovery
from calibration.engine import KEPT, Calibration, Cell, Statement, Wanted, cells_of, search
from psephos.protocol.errors import ConfigurationError, list_choices, refuse, require
from psephos.scenarios.experiments.sheets import flat
from psephos.scenarios.presentation import make_console
from psephos.scenarios.presentation.terminal import show_note, show_table
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.progress import OnStep, steps
from psephos.scenarios.tables import Cell as Entry
from psephos.scenarios.tables import Table, listed, markdown_of
from rich.console import Console
from rich.text import Text

ALL: Final = "all"
"""Every system."""
CALIBRATIONS: Final[dict[str, Calibration]] = {
    "dpwevote": dpwevote.CALIBRATION,
    "truth-discovery": truth_discovery.CALIBRATION,
    "moral-preferences": moral_preferences.CALIBRATION,
    "fair-voting": fair_voting.CALIBRATION,
}
"""What each system states, in the order of the page."""
_FEWEST: Final = 10
_MOST: Final = 1_000_000
_DIGITS: Final = 3


def check_calibration(name: str, wanted: Wanted) -> tuple[str, ...]:
    """Return the systems that a name stands for.

    Raises:
        ConfigurationError: there is no such system, or a number is out of range.
    """
    known = (ALL, *sorted(CALIBRATIONS))
    refuse(name not in known, "system", name, list_choices(known, name))
    require(_FEWEST <= wanted.trials <= _MOST, "--trials", wanted.trials, f"from {_FEWEST} to {_MOST:,}")
    require(0 <= wanted.cells <= _MOST, "--cells", wanted.cells, f"from 0 to {_MOST:,}")
    require(0 <= wanted.seconds < math.inf, "--search", wanted.seconds, "a number of seconds, at least 0")
    require(wanted.seed >= 0, "--seed", wanted.seed, "at least 0")
    return tuple(CALIBRATIONS) if name == ALL else (name,)


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
    parts = {system: CALIBRATIONS[system] for system in check_calibration(name, wanted)}
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
                worst = [case for case, _ in own[:KEPT]]
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
            "This page is for everybody who wants to know how far a stated probability can be trusted. "
            "`python tests/calibrate.py all` holds each statement at sizes of a ladder, for hostile truths "
            f"({wanted.trials:,} sessions a cell, more where they are quick; seed {wanted.seed}){searched}. *At most*: "
            "whatever the truth is, no more are wrong than is stated. *On average*: under the prior that the statement "
            "names, as many are. *Error*: squared errors are on average no larger than stated. A cell is *broken* if "
            "its interval (99 %) does not allow what is stated, and does not again with fresh noise and ten times the "
            "sessions. Each table has the cell of a statement that is nearest to breaking it; all cells are in the "
            "files."
        ),
    ]
    for system, tables in found.items():
        parts += [f"## {CALIBRATIONS[system].title}", CALIBRATIONS[system].about, *map(markdown_of, tables)]
    return "\n\n".join(parts) + "\n"


def show_calibration(console: Console, found: Mapping[str, Sequence[Table]]) -> None:
    """Print all tables."""
    for system, tables in found.items():
        console.print()
        console.print(Text(CALIBRATIONS[system].title, style="bold underline"))
        console.print(Text(CALIBRATIONS[system].about))
        for table in tables:
            console.print()
            console.print(Text(table.caption, style="bold"))
            show_table(console, table, drop=("sessions", "cells"), whole="--out FOLDER")
            show_note(console, table.note)


def main(words: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("system", nargs="?", default=ALL, help=f"{', '.join(CALIBRATIONS)} or {ALL} (the default)")
    parser.add_argument("--trials", type=int, default=400, help="how many sessions to hold in each cell (400)")
    parser.add_argument(
        "--cells", type=int, default=0, help="of each statement (as many as its longest axis has values)"
    )
    parser.add_argument(
        "--search", type=float, default=0.0, help="also climb to worse cells, so many seconds in all (0)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of everything that is drawn (1)")
    parser.add_argument("--out", type=Path, help="also write calibration.md and a CSV for each table to this folder")
    given = parser.parse_args(words)
    wanted = Wanted(trials=given.trials, cells=given.cells, seconds=given.search, seed=given.seed)
    try:
        check_calibration(given.system, wanted)
        folder = None if given.out is None else RunFolder(given.out)
    except ConfigurationError as error:
        sys.stderr.write(f"calibrate: {error}\n")
        return 2
    with steps(make_console(stderr=True)) as tell:
        found = calibrate(given.system, wanted, folder=folder, on_progress=tell)
    show_calibration(make_console(), found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
