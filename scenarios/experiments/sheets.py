"""Rows of measurements: laid out as tables for people, and as columns for programs.

A table is declared by a template of its lines: "crowd: {crowd} | MV: {majority:.1%}" has two columns, each a heading
and a cell without a colon, or a label without a heading. Fields have Python's formats, except that None is empty, and
that `%` shows a fraction in percent without the sign, which a heading or caption should mention.
"""

import string
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypedDict, TypeVar, Unpack

import msgspec

from ..tables import Rows, Table
from .measurements import Measurement

Row: TypeAlias = msgspec.Struct | Mapping[str, Any]
"""A row's fields by name: a struct if sentences and pictures also use it, else a mapping."""
RowT = TypeVar("RowT", bound=Row)
Words: TypeAlias = Mapping[str, Mapping[Any, str] | Callable[[Any], object]]
"""Maps a field to names of its values, or to a function that computes it from its row."""
_BESIDE: Final = " | "
_MEASURED: Final = (Measurement, Measurement | None)


class _TableNotes(TypedDict, total=False):
    """Further arguments of a `Table`."""

    labels: int
    caption: str
    note: str
    name: str
    full: Rows


def list_rows_of(
    rows: Iterable[Row], columns: str, *, words: Words | None = None, **notes: Unpack[_TableNotes]
) -> Table:
    """Return a table with a line for each row, from templates as in the module's docstring."""
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
    """Return a table in which rows with the same labels share a line.

    Args:
        lines: templates of headings and labels.
        *blocks: rows with their templates. Rows with different headings are different columns, side by side, in the
            order of their first rows.
        missing: the text of a cell without a row.
        words: names for fields' values that are not shown as they are.
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
    """Return rows by column; a measurement's standard error is a separate column, and missing values stay empty."""
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
        """Format a field: empty for None, and fractions in percent without the sign."""
        if value is None:
            return ""
        if format_spec.endswith("%") and not isinstance(value, Measurement):
            return format(100 * value, f"{format_spec[:-1]}f")
        return format(value, format_spec)


_FORMATTER: Final = _Formatter()
