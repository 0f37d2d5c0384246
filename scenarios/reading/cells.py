"""Cells of CSV files that people open in spreadsheets, which take for a formula what begins as one does.

A name of a party, or an alternative of a vote, is somebody else's text: written down as it is, `=HYPERLINK(...)` would
be obeyed on the machine of whoever opens the file.
"""

import csv
import datetime as dt
import itertools
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from ...protocol.errors import ConfigurationError, refuse
from .files import readable

_BEGINNING: Final = r"[=+\-@\t\r\n＝＋－＠]."
_FORMULA: Final = re.compile(f"'*{_BEGINNING}", re.DOTALL)
"""A formula's beginning, and text that has been made inert before."""
_INERT: Final = re.compile(f"'+{_BEGINNING}", re.DOTALL)
_GROUP: Final = 3  # digits, between signs for thousands
_ROUNDED: Final = 1e-12  # of a number
_GROUPED: Final = re.compile(r"[1-9]\d{0,2}([.,]\d{3})+")
_BEYOND: Final = "\0"  # where `csv` leaves entries beyond the header: no column is called so


def inert_cell(value: object) -> object:
    """Return a cell as spreadsheets shall take it: before text that begins as a formula does stands an apostrophe.

    Numbers stay what they are, negative ones too, also where they are text.

    Examples:
        >>> inert_cell("=1+1"), inert_cell("-5"), inert_cell(3)
        ("'=1+1", '-5', 3)
    """
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def plain_cell(text: str) -> str:
    """Return what `inert_cell` was given.

    Examples:
        >>> plain_cell("'=1+1")
        '=1+1'
    """
    return text[1:] if _INERT.match(text) else text


def text_of(cell: object) -> str:
    """Return a cell of a workbook or a frame as a CSV file has it: numbers without needless zeros.

    Examples:
        >>> text_of(2.0), text_of(0.5), text_of(True)
        ('2', '0.5', 'true')
    """
    match cell:
        case np.generic():
            return text_of(cast("Any", cell).item())
        case bool():
            return str(cell).lower()
        case float():
            return str(int(cell)) if cell.is_integer() else repr(cell)
        case dt.date() | dt.time():
            return cell.isoformat()
        case _:
            return str(cell)


def number_in(entry: str) -> float:
    """Return an entry as a number; nan where it is none.

    Examples:
        >>> number_in("1e3"), number_in("ten")
        (1000.0, nan)
    """
    try:
        return math.nan if "_" in entry else float(entry)
    except ValueError:
        return math.nan


def number_of(entry: str, decimal: str = ".") -> float:
    """Return an entry as a number whose decimals stand behind this sign, and the other one between groups of three.

    It is nan where it is none, or its groups are no such.

    Examples:
        >>> number_of("1.200,5", decimal=","), number_of("1,2")
        (1200.5, nan)
    """
    other = "," if decimal == "." else "."
    whole, point, fraction = entry.strip().partition(decimal)
    if other in whole:
        first, *groups = whole.lstrip("+-").split(other)
        if not 1 <= len(first) <= _GROUP or any(len(group) != _GROUP or not group.isdigit() for group in groups):
            return math.nan
    return number_in(f"{whole.replace(other, '')}{'.' if point else ''}{fraction}")


def may_be_thousands(entries: Iterable[object]) -> bool:
    """Return whether all entries with a point or a comma may have it between thousands, so that they are two numbers.

    Example:
        >>> may_be_thousands(["1.200", "7"]), may_be_thousands(["1.200", "0.5"])
        (True, False)
    """
    marked = [entry for entry in entries if isinstance(entry, str) and ("," in entry or "." in entry)]
    return bool(marked) and all(_GROUPED.fullmatch(entry.strip()) for entry in marked)


def nearly_equal(numbers: Iterable[float]) -> tuple[float, float] | None:
    """Return two numbers that differ by no more than what sums are rounded by, which somebody may mean as one.

    Example:
        >>> nearly_equal([0.3, 0.1 + 0.2, 1.0])
        (0.3, 0.30000000000000004)
    """
    pairs = itertools.pairwise(sorted(set(numbers)))
    return next(((low, high) for low, high in pairs if high - low <= _ROUNDED * high), None)


def rows_in(path: Path) -> list[dict[str, object]]:
    """Return the rows of a table that a run wrote, numbers as such."""
    what = f"the folder of a run with a readable {path.name}"
    with readable(path, field="RUN", value=path.parent, what=what), path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, restkey=_BEYOND)
        try:
            rows = list(reader)
        except csv.Error as error:
            allowed = f"{what} (line {reader.line_num}: {error})"
            raise ConfigurationError(field="RUN", value=str(path.parent), allowed=allowed) from None
    allowed = f"{what}: a line of it has more entries than its header"
    refuse(any(_BEYOND in row for row in rows), "RUN", str(path.parent), allowed)
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
