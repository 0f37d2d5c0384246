"""Convert an outcome of any type into tables: a line for each struct in it, a column for each field.

The outcome's own fields are one line. A field with several structs, or with estimates by name, becomes a table with a
line for each; nested structs are named together with their parents. A line's name is its first distinguishing text, or
its key in a mapping, or else its number.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from ..protocol.estimators import Estimate
from .tables import six_digits

Field: TypeAlias = object  # a number, a text, an `Estimate`, or any other content of one cell

VALUE: Final = "value"  # the column of values that are not structs


@dataclasses.dataclass(frozen=True)
class OutcomeLine:
    """One line of a table."""

    names: tuple[str, ...]  # its name, after the names of its parents; empty for the outcome's own fields
    keys: Mapping[str, str]  # names that are in no cell, by column
    cells: Mapping[str, Field]  # contents by column

    @property
    def name(self) -> str:
        """The full name."""
        return ", ".join(self.names)


@dataclasses.dataclass(frozen=True)
class Lines:
    """The lines of one table."""

    name: str  # path of fields to the table; empty for the outcome's own fields
    lines: Sequence[OutcomeLine]  # one or more lines

    @functools.cached_property
    def keys(self) -> list[str]:
        """The columns of names."""
        return list(dict.fromkeys(key for line in self.lines for key in line.keys))

    @functools.cached_property
    def columns(self) -> list[str]:
        """The columns of cells."""
        return list(dict.fromkeys(column for line in self.lines for column in line.cells))

    @functools.cached_property
    def measured(self) -> list[str]:
        """The columns with estimates."""
        return [
            column
            for column in self.columns
            if any(isinstance(line.cells.get(column), Estimate) for line in self.lines)
        ]


def tables_of(outcome: msgspec.Struct) -> list[Lines]:
    """Return an outcome's tables; first its own fields, if any fits into a cell.

    Examples:
        >>> import msgspec
        >>> poll = msgspec.defstruct("Poll", [("mean", Estimate), ("people", int)])
        >>> [table.columns for table in tables_of(poll(Estimate(0.5, 0.1), 9))]
        [['mean', 'people']]
    """
    lines_of_columns: dict[tuple[str, ...], list[OutcomeLine]] = {}
    _gather(outcome, (), (), lines_of_columns)
    return [Lines(" ".join(filter(None, path)), lines) for path, lines in lines_of_columns.items()]


def truth_of(table: Lines, line: OutcomeLine, column: str) -> list[str]:
    """Return the keys of a truth that may match a cell, in order of priority.

    The outcome's own fields have their names as keys. A line's cell has line and column, as in "tea (share)"; its first
    estimate, or first number without estimates, may also have the line's name only.
    """
    if not line.names:
        return [column]
    measured_columns = table.measured or [each for each in table.columns if number_of(line.cells.get(each)) is not None]
    line_and_column = f"{line.name} ({column})"
    return [line_and_column, line.name] if column in measured_columns[:1] else [line_and_column]


def estimates_in(outcome: msgspec.Struct) -> dict[str, Estimate]:
    """Return all estimates of an outcome, by their shortest unique names.

    These are keys of a truth (`truth_of`), preceded by the table's name if two tables share one, or else followed by a
    number.

    Examples:
        >>> import msgspec
        >>> poll = msgspec.defstruct("Poll", [("mean", Estimate), ("people", int)])
        >>> estimates_in(poll(Estimate(0.5, 0.1), 9))
        {'mean': Estimate(value=0.5, standard_error=0.1)}
    """
    cell_places = [
        (truth_of(table, line, column)[-1], table.name, cell)
        for table in tables_of(outcome)
        for line in table.lines
        for column, cell in line.cells.items()
        if isinstance(cell, Estimate)
    ]
    for names in ([name for name, _, _ in cell_places], [f"{table} {name}".strip() for name, table, _ in cell_places]):
        if len({*names}) == len(names):
            return dict(zip(names, (each for _, _, each in cell_places), strict=True))
    return {f"{name} ({number})": each for number, (name, _, each) in enumerate(cell_places, start=1)}


def number_of(field: Field) -> float | None:
    """Return a number, or the value of an estimate; None for anything else.

    Examples:
        >>> number_of(Estimate(0.5, 0.1)), number_of("tea")
        (0.5, None)
    """
    if isinstance(field, Estimate):
        return field.value
    return field if isinstance(field, int | float) and not isinstance(field, bool) else None


def plain(field: Field) -> str:
    """Format a value that is not an estimate.

    Examples:
        >>> plain(True), plain(1_200), plain(["a", "b"])
        ('yes', '1,200', 'a, b')
    """
    if field is None:
        return ""
    if isinstance(field, bool):
        return "yes" if field else "no"
    if isinstance(field, float):
        return six_digits(field) if math.isfinite(field) else str(field)
    if isinstance(field, int):
        return f"{field:,}"
    if isinstance(field, Collection) and not isinstance(field, str | bytes | Mapping):
        return ", ".join(plain(each) for each in _in_order(cast("Collection[object]", field)))
    return str(msgspec.to_builtins(field))


class _Called(NamedTuple):
    """An element's name, with the column for it; the column is shown if no cell contains the name."""

    column: str
    name: str
    is_shown: bool


def _gather(
    value: object,
    path: tuple[str, ...],
    type_names: tuple[_Called, ...],
    lines_of_columns: dict[tuple[str, ...], list[OutcomeLine]],
) -> None:
    """Add a value to the table of its path, and its collections to further tables.

    `type_names` are the names of its parents and its own name.
    """
    parts = [(name, part, _elements(part)) for name, part in _parts(value)]
    cells = {name: part for name, part, elements in parts if elements is None}
    if cells:
        keys = {each.column: each.name for each in type_names if each.is_shown or each is not type_names[-1]}
        lines_of_columns.setdefault(path, []).append(OutcomeLine(tuple(each.name for each in type_names), keys, cells))
    for field, _, elements in parts:
        column = field or f"{path[0]}_{len(type_names) + 1}"
        for name, is_shown, element in elements or ():
            _gather(element, (*path, field), (*type_names, _Called(column, name, is_shown)), lines_of_columns)


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """Yield a struct's fields by name; those of a nested struct after its name; several of one type as a mapping."""
    if isinstance(value, Estimate) or not isinstance(value, msgspec.Struct):
        yield ("", value) if _elements(value) is not None else (VALUE, value)
        return
    fields: dict[str, object] = {name: getattr(value, name) for name in value.__struct_fields__}
    parts_of_type: dict[type, dict[str, object]] = {}
    for name, part in fields.items():
        if _is_struct(part):
            parts_of_type.setdefault(type(part), {})[name] = part
    for name, part in fields.items():
        siblings = parts_of_type.get(type(part), {})
        if len(siblings) > 1:
            if name == next(iter(siblings)):
                yield re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", type(part).__name__).lower(), siblings
        elif siblings:
            for inner, inner_part in _parts(part):
                yield f"{name}_{inner}", inner_part
        else:
            yield name, part


def _elements(part: object) -> list[tuple[str, bool, object]] | None:
    """Return a collection's elements that need lines, each with its name, and whether no cell contains it."""
    if isinstance(part, Mapping):
        mapping = cast("Mapping[object, object]", part)
        return [(plain(name), True, element) for name, element in mapping.items()]
    if isinstance(part, str | bytes) or not isinstance(part, Collection):
        return None
    elements = _in_order(cast("Collection[object]", part))
    if not any(isinstance(each, msgspec.Struct) or _is_many(each) for each in elements):
        return None
    names, is_shown = _names(elements)
    return [(name, is_shown, element) for name, element in zip(names, elements, strict=True)]


def _names(elements: Sequence[object]) -> tuple[Sequence[str], bool]:
    """Return elements' names (the first text, or all before an estimate), and whether no cell contains them."""
    if all(_is_struct(each) for each in elements):
        structs = cast("Sequence[msgspec.Struct]", elements)
        fields = [dict(_parts(each)) for each in structs]
        texts = [name for name in fields[0] if all(isinstance(each.get(name), str) for each in fields)]
        earlier_texts: list[str] = []
        for name, part in fields[0].items():
            if isinstance(part, Estimate) or _elements(part) is not None:
                break
            earlier_texts.append(name)
        for candidates in (texts[:1], earlier_texts):
            names = [", ".join(plain(each.get(field)) for field in candidates) for each in fields]
            if all(name.strip() for name in names) and len(set(names)) == len(names):
                return names, False
    return [str(number) for number in range(1, len(elements) + 1)], True


def _is_struct(value: object) -> bool:
    return isinstance(value, msgspec.Struct) and not isinstance(value, Estimate)


def _is_many(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes)


def _in_order(elements: Collection[object]) -> Sequence[Any]:
    """Return elements in order; those of a set, which is unordered, sorted by text."""
    return sorted(elements, key=str) if isinstance(elements, AbstractSet) else list(elements)
