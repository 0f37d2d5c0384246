"""What a run estimated, as a table for people: each number with its error, and as many digits as that deserves."""

import csv
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from ...protocol.errors import ConfigurationError
from ..presentation import rows_of
from ..presentation.numbers import decimals_of, rounded
from ..presentation.presenter import FLAGS, VERDICT, error_of
from ..presentation.terminal import percent, title_of
from ..reading.cells import plain_cell
from ..reading.files import readable
from ..running.reader import RunLeft
from ..tables import Cell, Rows, Table
from ..verdicts import cell_of_decision
from .page import MOST_ROWS, shown

__all__ = ["estimates_in", "rows_in", "table_of"]

_ERROR: Final = "_standard_error"
_BEYOND: Final = "\0"
"""Where `csv` leaves entries beyond the header: no column is called so."""


def estimates_in(left: RunLeft, *, is_whole: bool = False) -> tuple[Table | None, str]:
    """Return what was estimated as a table, and what all its rows share and the table therefore leaves out.

    Args:
        left: what a run left.
        is_whole: leave nothing out but what no row has.

    Returns:
        The table, None where nothing was estimated; and exact numbers by name, empty where nothing is left out.

    Raises:
        ConfigurationError: the file of estimates cannot be read.
    """
    rows = _estimates(left)
    if not rows:
        return None, ""
    left_out: Mapping[str, Cell] = {} if is_whole else _same_in_all(rows)
    unknown = [key for key in rows[0] if all(row.get(key) is None for row in rows)]
    table = table_of(rows, caption="What was estimated", name="estimates", left_out=[*left_out, *unknown])
    return table, ", ".join(f"{title_of(key).lower()} {cell.words}" for key, cell in left_out.items())


def table_of(rows: Rows, *, caption: str, name: str, left_out: Collection[str] = (), is_mixed: bool = False) -> Table:
    """Return rows of a file as a table: a number and its standard error are one cell.

    Args:
        rows: at least one; their first column has names.
        caption: what they are.
        name: the file's, without its end.
        left_out: columns that are not shown.
        is_mixed: whether each row has numbers of another size, and therefore digits of its own.
    """
    keys = list(rows[0])
    errors = {error_of(key) for key in keys}
    shown_keys = [key for key in keys if key not in errors and key not in left_out]
    if is_mixed:
        lines = [[_column(key, [row], is_name=key == keys[0])[0] for key in shown_keys] for row in rows[:MOST_ROWS]]
    else:
        columns = [_column(key, rows[:MOST_ROWS], is_name=key == keys[0]) for key in shown_keys]
        lines = list(map(list, zip(*columns, strict=True)))
    titles = [title_of(key) for key in shown_keys]
    return Table(caption=caption, name=name, columns=titles, rows=lines, full=rows)


def _same_in_all(rows: Rows) -> Mapping[str, Cell]:
    """Return the exact numbers that all rows share, by their columns: a sentence says them once."""
    if len(rows) < 2:  # noqa: PLR2004  a single row has nothing to share
        return {}
    columns = {key: [row.get(key) for row in rows] for key in list(rows[0])[1:]}
    return {
        key: _column(key, rows)[0]
        for key, values in columns.items()
        if isinstance(values[0], (int, float))
        and not isinstance(values[0], bool)
        and len(set(map(str, values))) == 1
        and not any(row.get(error_of(key)) for row in rows)
        and _ERROR not in key
    }


def _estimates(left: RunLeft) -> Rows:
    path = left.path / "estimates.csv"
    if path.exists():
        return rows_in(path)
    if left.outcome is None:
        return []
    return rows_of(left.outcome, truth=None if left.result is None else left.result.truth)


def rows_in(path: Path) -> Rows:
    """Return the rows of a table that a run wrote, numbers as such.

    Raises:
        ConfigurationError: it cannot be read.
    """
    what = f"the folder of a run with a readable {path.name}"
    with readable(path, field="RUN", value=path.parent, what=what), path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, restkey=_BEYOND)
        try:
            rows = list(reader)
        except csv.Error as error:
            allowed = f"{what} (line {reader.line_num}: {error})"
            raise ConfigurationError(field="RUN", value=str(path.parent), allowed=allowed) from None
    if any(_BEYOND in row for row in rows):
        allowed = f"{what}: a line of it has more entries than its header"
        raise ConfigurationError(field="RUN", value=str(path.parent), allowed=allowed)
    return [{key: _number(text) for key, text in row.items()} for row in rows]


def _number(text: str | None) -> object:
    """Return a cell of CSV as the number that was written; a name such as 007 or 1e5 stays one."""
    if not text:
        return None
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text and _is_finite(number):
            return number
    return plain_cell(text)


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer that no float holds
        return False


def _column(key: str, rows: Rows, *, is_name: bool = False) -> list[Cell]:
    """Return a column's cells, with as many digits as its errors deserve."""
    values, errors = [row.get(key) for row in rows], [row.get(error_of(key)) for row in rows]
    if is_name:
        return [Cell(str(value)) for value in values]
    if key in FLAGS and {*values} <= {0, 1}:
        return [shown(bool(value)) for value in values]
    if key.endswith("probability"):
        return [Cell(percent(value), value) if isinstance(value, float) else shown(value) for value in values]
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    known = [float(error) for error in errors if isinstance(error, (int, float)) and error]
    decimals = decimals_of(numbers, known) if known else 0
    cells: list[Cell] = []
    for value, error in zip(values, errors, strict=True):
        if not isinstance(value, float):
            cells.append(cell_of_decision(value) if key == VERDICT else shown(value))
        elif isinstance(error, (int, float)) and error:
            cells.append(Cell(f"{rounded(value, decimals)} ± {rounded(error, decimals)}", value))
        else:
            cells.append(Cell(rounded(value, decimals) if decimals else f"{value:,.4g}", value))
    return cells
