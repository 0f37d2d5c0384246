"""Tables as people read them: the same cells in a terminal and in Markdown; and rows as programs read them."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .measurements import Measurement

__all__ = ["Pivot", "Sheet", "flatten", "in_percent", "listed", "markdown_of", "pivot", "show_sheet"]

RowT = TypeVar("RowT")
IndexT = TypeVar("IndexT", bound=Hashable)
ColumnT = TypeVar("ColumnT", bound=Hashable)


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """A table to be read.

    Args:
        title: one line.
        headers: one for each column.
        rows: one cell for each header.
        note: what the reader needs to know to read it.
        num_labels: so many columns hold words, and begin at their left.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    num_labels: int = 0


def listed(
    rows: Iterable[RowT],
    columns: Sequence[tuple[str, Callable[[RowT], str]]],
    *,
    title: str,
    note: str = "",
    num_labels: int = 0,
) -> Sheet:
    """Return a table with a line for each row.

    Args:
        rows: flat ones.
        columns: the header of each, and the cell of a row.
        title: see `Sheet`.
        note: see `Sheet`.
        num_labels: see `Sheet`.
    """
    lines = [[cell(row) for _, cell in columns] for row in rows]
    headers = [header for header, _ in columns]
    return Sheet(title=title, headers=headers, rows=lines, note=note, num_labels=num_labels)


@dataclasses.dataclass(frozen=True)
class Pivot(Generic[RowT, IndexT, ColumnT]):
    """Flat rows, set out in lines and columns.

    Args:
        lines: what tells lines apart, in the order of the first row of each.
        columns: what tells columns apart, in the same order.
        places: the row at each place that has one.
    """

    lines: Sequence[IndexT]
    columns: Sequence[ColumnT]
    places: Mapping[tuple[IndexT, ColumnT], RowT]

    def rows(
        self, labels: Callable[[IndexT], Sequence[str]], *cells: Callable[[RowT], str], missing: str = ""
    ) -> list[list[str]]:
        """Return all lines, each behind its labels; see `line`."""
        return [[*labels(at), *self.line(at, *cells, missing=missing)] for at in self.lines]

    def line(self, at: IndexT, *cells: Callable[[RowT], str], missing: str = "") -> list[str]:
        """Return the cells of a line.

        Args:
            at: which line.
            cells: what each column has of its row, side by side.
            missing: what stands where there is no row.
        """
        rows = [self.places.get((at, column)) for column in self.columns]
        return [missing if row is None else cell(row) for row in rows for cell in cells]


def pivot(
    rows: Iterable[RowT], *, lines: Callable[[RowT], IndexT], columns: Callable[[RowT], ColumnT]
) -> Pivot[RowT, IndexT, ColumnT]:
    """Set flat rows out in lines and columns.

    Args:
        rows: at most one for each place; of several the last one stands.
        lines: what tells the line of a row.
        columns: what tells its column.
    """
    places = {(lines(row), columns(row)): row for row in rows}
    return Pivot(list(dict.fromkeys(at for at, _ in places)), list(dict.fromkeys(at for _, at in places)), places)


def in_percent(measurement: Measurement, *, signed: bool = False) -> str:
    """Return a share in percent, with its standard error, for a column that says so."""
    sign = "+" if signed else ""
    return f"{100 * measurement.value:{sign}.1f} ± {100 * measurement.standard_error:.1f}"


def markdown_of(sheet: Sheet) -> str:
    """Return a table in Markdown: its title in bold, numbers to the right, the note below."""
    lines = [f"**{sheet.title}**", "", _line(sheet.headers), _line(_rules(sheet))]
    lines += [_line([cell.replace("|", "\\|") for cell in row]) for row in sheet.rows]
    if sheet.note:
        lines += ["", sheet.note]
    return "\n".join(lines)


def show_sheet(console: Console, sheet: Sheet) -> None:
    """Print a table to a terminal."""
    console.print()
    console.print(Text(sheet.title, style="bold"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 1, 0, 0))
    for place, header in enumerate(sheet.headers):
        table.add_column(Text(header), justify="left" if place < sheet.num_labels else "right", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    console.print(table)
    if sheet.note:
        console.print(Text(sheet.note, style="dim"))


def flatten(row: msgspec.Struct) -> dict[str, object]:
    """Return a row by column; a measurement's standard error gets a column of its own, and empty ones stay empty.

    Args:
        row: a struct of numbers, texts and measurements.
    """
    columns: dict[str, object] = {}
    for field in msgspec.structs.fields(type(row)):
        name, value = field.name, getattr(row, field.name)
        if field.type in _MEASURED:
            found: Measurement | None = value
            columns[name] = None if found is None else found.value
            columns[f"{name}_standard_error"] = None if found is None else found.standard_error
        else:
            columns[name] = value
    return columns


_MEASURED = (Measurement, Measurement | None)


def _rules(sheet: Sheet) -> list[str]:
    return [":---" if place < sheet.num_labels else "---:" for place in range(len(sheet.headers))]


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
