"""Flat rows of measurements: set out in lines and columns for people, and in columns alone for programs."""

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from ..tables import Rows
from .measurements import Measurement

__all__ = ["Pivot", "flat", "flatten", "in_percent", "pivot"]

RowT = TypeVar("RowT")
IndexT = TypeVar("IndexT", bound=Hashable)
ColumnT = TypeVar("ColumnT", bound=Hashable)


@dataclasses.dataclass(frozen=True)
class Pivot(Generic[RowT, IndexT, ColumnT]):
    """Flat rows, set out in lines and columns, each in the order of the first row of it, and the row at each place."""

    lines: Sequence[IndexT]
    columns: Sequence[ColumnT]
    places: Mapping[tuple[IndexT, ColumnT], RowT]

    def rows(
        self, labels: Callable[[IndexT], Sequence[str]], *cells: Callable[[RowT], str], missing: str = ""
    ) -> list[list[str]]:
        """Return all lines, each behind its labels; see `line`."""
        return [[*labels(at), *self.line(at, *cells, missing=missing)] for at in self.lines]

    def line(self, at: IndexT, *cells: Callable[[RowT], str], missing: str = "") -> list[str]:
        """Return a line's cells: side by side what each column has of its row, or what stands where there is none."""
        rows = [self.places.get((at, column)) for column in self.columns]
        return [missing if row is None else cell(row) for row in rows for cell in cells]


def pivot(
    rows: Iterable[RowT], *, lines: Callable[[RowT], IndexT], columns: Callable[[RowT], ColumnT]
) -> Pivot[RowT, IndexT, ColumnT]:
    """Set flat rows out in lines and columns; of several rows for one place the last one stands."""
    places = {(lines(row), columns(row)): row for row in rows}
    return Pivot(list(dict.fromkeys(at for at, _ in places)), list(dict.fromkeys(at for _, at in places)), places)


def in_percent(measurement: Measurement, *, signed: bool = False) -> str:
    """Return a share in percent, with its standard error, for a column that says so."""
    sign = "+" if signed else ""
    return f"{100 * measurement.value:{sign}.1f} ± {100 * measurement.standard_error:.1f}"


def flat(rows: Iterable[msgspec.Struct]) -> Rows:
    """Return rows by column: see `flatten`."""
    return [flatten(row) for row in rows]


def flatten(row: msgspec.Struct) -> dict[str, object]:
    """Return a row by column; a measurement's standard error gets a column of its own, and empty ones stay empty."""
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
