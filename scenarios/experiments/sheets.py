"""Flat rows of measurements: chosen by their fields, laid out as tables for people, and in columns for programs.

A table is written as one of its lines: "crowd: {crowd} | MV: {majority:.1%}" has two columns, each a header and a cell,
which has no colon, or a label, whose header has none. Fields are formatted as Python formats them, but that nothing
stands for None, and that `%` is a share in percent without the sign, which a header or a caption says.
"""

import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypedDict, TypeVar, Unpack

import msgspec

from ..tables import Rows, Table
from .measurements import Measurement

Row: TypeAlias = msgspec.Struct | Mapping[str, Any]
"""Fields by name: a struct where sentences and pictures are made of them, too, and else a mapping."""
RowT = TypeVar("RowT", bound=Row)
Words: TypeAlias = Mapping[str, Mapping[Any, str] | Callable[[Any], object]]
"""What values of a field are called, or how a field is made of its row."""
_BESIDE: Final = " | "
_MEASURED: Final = (Measurement, Measurement | None)


class _TableNotes(TypedDict, total=False):
    """What a `Table` is told besides."""

    labels: int
    caption: str
    note: str
    name: str
    full: Rows


def list_rows_of(
    rows: Iterable[Row], columns: str, *, words: Words | None = None, **notes: Unpack[_TableNotes]
) -> Table:
    """Return a table with a line for each row, of headers and cells as the module says."""
    headers, cells = zip(*_columns(columns), strict=True)
    lines = [[_format_text(cell, row, words) for cell in cells] for row in rows]
    return Table(columns=headers, rows=lines, **notes)


def pivot(
    lines: str,
    *blocks: tuple[Iterable[Row], str],
    missing: str = "",
    words: Words | None = None,
    **notes: Unpack[_TableNotes],
) -> Table:
    """Return a table in which several rows stand on a line: those with the same labels.

    Args:
        lines: headers and labels.
        blocks: rows, and what they have on their line; rows with other headers are other columns, side by side in the
            order of the first row of each.
        missing: what stands where there is no row.
        words: for fields that are not written as they are.
    """
    heads, names = zip(*(part.split(": ", 1) for part in lines.split(_BESIDE)), strict=True)
    table: dict[tuple[str, ...], dict[tuple[int, tuple[str, ...]], list[str]]] = {}
    columns: dict[tuple[int, tuple[str, ...]], None] = {}
    for number, (rows, block) in enumerate(blocks):
        parts = _columns(block)
        for row in rows:
            place = number, tuple(_format_text(header, row, words) for header, _ in parts)
            columns[place] = None
            line = table.setdefault(tuple(_format_text(name, row, words) for name in names), {})
            line[place] = [_format_text(cell, row, words) for _, cell in parts]
    pivoted_rows = [
        [*row_key, *(cell for place in columns for cell in line.get(place, [missing] * len(place[1])))]
        for row_key, line in table.items()
    ]
    headers = [*heads, *(header for _, headers in columns for header in headers)]
    return Table(columns=headers, rows=pivoted_rows, **notes)


def flat(rows: Iterable[Row]) -> Rows:
    """Return rows by column; a measurement's standard error gets a column of its own, and empty ones stay empty."""
    row_list = list(rows)
    measured_columns = {
        name
        for row in row_list
        if isinstance(row, Mapping)
        for name, value in row.items()
        if isinstance(value, Measurement)
    }
    return [_columns_of(row, measured_columns) if isinstance(row, Mapping) else _flatten_row(row) for row in row_list]


def _columns_of(row: Mapping[str, Any], measured_columns: Collection[str]) -> dict[str, object]:
    columns: dict[str, object] = {}
    for name, value in row.items():
        columns[name] = value.value if isinstance(value, Measurement) else value
        if name in measured_columns:
            columns[f"{name}_standard_error"] = value.standard_error if isinstance(value, Measurement) else None
    return columns


def _flatten_row(row: msgspec.Struct) -> dict[str, object]:
    columns: dict[str, object] = {}
    for field in msgspec.structs.fields(type(row)):
        name, value = field.name, getattr(row, field.name)
        if field.type in _MEASURED:
            measurement: Measurement | None = value
            columns[name] = None if measurement is None else measurement.value
            columns[f"{name}_standard_error"] = None if measurement is None else measurement.standard_error
        else:
            columns[name] = value
    return columns


def _columns(text: str) -> list[tuple[str, str]]:
    parts = (part.rpartition(": ") for part in text.split(_BESIDE))
    return [(header, cell) for header, _, cell in parts]


def _value(row: Row, name: str) -> Any:
    return row[name] if isinstance(row, Mapping) else getattr(row, name)


def _format_text(text: str, row: Row, words: Words | None) -> str:
    return _FORMATTER.vformat(text, (row,), words or {})


class _Formatter(string.Formatter):
    """Formats the fields of a row."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        name, _, part = field_name.partition(".")
        words_of_value: Mapping[Any, str] | Callable[[Any], object] | None = kwargs.get(name)
        value: Any = words_of_value(args[0]) if callable(words_of_value) else _value(args[0], name)
        if part and value is not None:
            value = getattr(value, part)
        if words_of_value is not None and not callable(words_of_value):
            value = words_of_value.get(value, value)
        return value, name

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return nothing for None, and shares in percent without the sign."""
        if value is None:
            return ""
        if format_spec.endswith("%") and not isinstance(value, Measurement):
            return format(100 * value, f"{format_spec[:-1]}f")
        return format(value, format_spec)


_FORMATTER: Final = _Formatter()
