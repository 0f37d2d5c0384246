"""Compare runs: differences of their scenarios, outcomes, estimates and privacy costs.

Only comparable values are in one line: all runs have the same protocol and an outcome, and estimates are matched by
name.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from ...protocol.errors import ConfigurationError, refuse
from ..presentation.terminal import show_note, show_table
from ..running.reader import RunArtifacts, read_run
from ..running.report import trust_model_of
from ..running.statements import rounded_up
from ..tables import Cell, Entry, Table, csv_of
from .blocks import estimates_in
from .page import epsilon_cell
from .run_page import settings_of, verdict_in

_RUN: Final = "RUN"
_FEWEST: Final = 2
_NOT_SAID: Final = "–"
_SAME: Final = "The scenarios have the same settings."
_MOST_CHARACTERS: Final = 60  # most characters of a setting in a terminal


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs side by side."""

    names: Sequence[str]  # names of the runs
    runs: Sequence[RunArtifacts]  # artifacts of the runs
    prices: Table  # greatest loss of a party, one column for each run
    trust: Sequence[str]  # trust statements, one line for each run
    estimates: Table  # estimates, one column for each run
    shared: str  # a sentence with values that all lines share; empty if there are none
    settings: Table  # differences of the scenarios


def compare_runs(paths: Sequence[Path]) -> Comparison:
    """Read runs from at least two folders, and compare them; ConfigurationError if they are not comparable."""
    refuse(len(paths) < _FEWEST, _RUN, paths, f"Name another run to compare {' '.join(map(str, paths))} with.")
    runs = [read_run(path) for path in paths]
    _check(paths, runs)
    settings = [settings_of(run.scenario or {}) for run in runs]
    keys = dict.fromkeys(key for run_settings in settings for key in run_settings)
    values = {key: [run_settings.get(key, _NOT_SAID) for run_settings in settings] for key in keys}
    estimates, names = _estimates(runs), _names(paths)
    shared_values = _shared_values(estimates)
    return Comparison(
        names=names,
        runs=runs,
        prices=Table(caption="Privacy loss per person", name="prices", columns=["At most", *names], rows=_prices(runs)),
        trust=_trust(names, runs),
        estimates=Table(
            caption="Estimates side by side",
            name="estimates",
            columns=["Of", "Estimate", *names],
            rows=[[*key, *cells] for key, cells in estimates.items() if key[1] not in shared_values],
            labels=2,
        ),
        shared=f"The same in all lines: {', '.join(shared_values.values())}." if shared_values else "",
        settings=Table(
            caption="What differs",
            name="settings",
            columns=["Setting", *names],
            rows=[[key, *each] for key, each in values.items() if len(set(each)) > 1],
            labels=1 + len(names),
        ),
    )


def _check(paths: Sequence[Path], runs: Sequence[RunArtifacts]) -> None:
    seen_paths: set[Path] = set()
    for path, run in zip(paths, runs, strict=True):
        refuse(path.resolve() in seen_paths, _RUN, str(path), f"You named {path} twice. Name each run once.")
        seen_paths.add(path.resolve())
        allowed = (
            f"Only runs of one protocol can be compared. {paths[0]} is of {runs[0].protocol!r}, and {path} of "
            f"{run.protocol!r}."
        )
        refuse(run.protocol != runs[0].protocol, _RUN, f"{path}, a run of protocol {run.protocol!r}", allowed)
        if run.outcome is None:
            reason = run.missing_protocol or " ".join(verdict_in(run)[0])
            raise ConfigurationError(field=_RUN, value=str(path), allowed=f"a run with an outcome ({reason})")


def _names(paths: Sequence[Path]) -> Sequence[str]:
    """Return the folders' names, or their paths if two names are equal."""
    names = [path.resolve().name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _estimates(runs: Sequence[RunArtifacts]) -> Mapping[tuple[str, str], Sequence[Cell]]:
    cells_of_estimate: dict[tuple[str, str], list[Cell]] = {}
    for place, run in enumerate(runs):
        table = estimates_in(run, is_whole=True)[0]
        for row in () if table is None else table.cells:
            for column, cell in zip(table.columns[1:] if table is not None else (), row[1:], strict=True):
                cells = cells_of_estimate.setdefault((row[0].words, column), [Cell(_NOT_SAID)] * len(runs))
                cells[place] = cell
    return cells_of_estimate


def _shared_values(estimates: Mapping[tuple[str, str], Sequence[Cell]]) -> Mapping[str, str]:
    """Return the exact numbers that all lines with a name share, by name, to be stated once."""
    lines: dict[str, list[Cell]] = {}
    for (_, column), cells in estimates.items():
        lines.setdefault(column, []).extend(cells)
    has_several = len({name for name, _ in estimates}) > 1
    return {
        column: f"{column.lower()} {cells[0].words}"
        for column, cells in lines.items()
        if has_several and len(set(cells)) == 1 and cells[0].number is not None and not cells[0].is_part
    }


def _prices(runs: Sequence[RunArtifacts]) -> list[list[Entry]]:
    def certainty(run: RunArtifacts) -> Cell:
        value = run.person.certainty
        return Cell(_NOT_SAID) if value is None else Cell(rounded_up(value), value)

    def parties(run: RunArtifacts) -> Cell:
        number = None if run.result is None else run.result.num_parties
        hides = run.is_deployment and (run.about is None or run.about.hides_participation)
        return Cell(_NOT_SAID) if number is None or hides else Cell(f"{number:,}", float(number))

    return [
        ["parties", *map(parties, runs)],
        ["ε claimed", *(epsilon_cell(run.person.claimed) for run in runs)],
        ["ε proven", *(epsilon_cell(run.person.proven) for run in runs)],
        ["certainty at most", *map(certainty, runs)],
    ]


def _trust(names: Sequence[str], runs: Sequence[RunArtifacts]) -> list[str]:
    """Return each run's trust statement, if it has one."""
    phases_of_run = {name: run.about.phases for name, run in zip(names, runs, strict=True) if run.about is not None}
    losses = {name: [loss for phase in phases for loss in phase.losses] for name, phases in phases_of_run.items()}
    return [
        f"{name}: {'; '.join(dict.fromkeys(trust_model_of(loss.mechanism, loss.model) for loss in losses_of_run))}"
        for name, losses_of_run in losses.items()
    ]


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Print a comparison."""
    for name, run in zip(comparison.names, comparison.runs, strict=True):
        console.print()
        console.print(Text(name, style="bold"))
        console.print(Text(" ".join(verdict_in(run)[0])))
    console.print()
    show_table(console, comparison.prices)
    for line in comparison.trust:
        show_note(console, line)
    console.print()
    show_table(console, comparison.estimates)
    if any("±" in cell.words for row in comparison.estimates.cells for cell in row):
        show_note(console, "± is one standard error of the randomization")
    if comparison.shared:
        show_note(console, comparison.shared.removesuffix("."))
    console.print()
    if comparison.settings.rows:
        columns, rows = (
            ["What differs", *comparison.names],
            [list(map(_short, row)) for row in comparison.settings.cells],
        )
        show_table(console, dataclasses.replace(comparison.settings, columns=columns, rows=rows))
    else:
        show_note(console, _SAME)


def _short(cell: Cell) -> str:
    return cell.words if len(cell.words) <= _MOST_CHARACTERS else f"{cell.words[:_MOST_CHARACTERS]} …"


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Write the tables as one CSV file: a column for each run, a line for each number.

    Raises:
        ConfigurationError: the file exists already, or cannot be written.
    """
    refuse(path.exists(), "--out", str(path), "a new file")
    tables = (comparison.prices, comparison.estimates, comparison.settings)
    rows: list[list[object]] = [["table", "of", "what", *comparison.names]]
    for table in tables:
        first = len(table.columns) - len(comparison.names)
        for row in table.cells:
            row_title = "".join(cell.words for cell in row[1:first])
            rows.append([table.name, row[0].words, row_title, *(cell.written for cell in row[first:])])
    try:
        path.write_text(csv_of(rows), encoding="utf-8", newline="")
    except OSError as error:
        allowed = f"a file that can be written ({error.strerror})"
        raise ConfigurationError(field="--out", value=str(path), allowed=allowed) from None
