"""CSV files of names and numbers, read by columns: fast where a file is plain, careful where it is not.

A plain file has no quotes and no blank lines, and the same number of commas in each line; pandas parses it as a whole.
Any other file is read by the standard library's parser, line by line. Both give the same columns, and a fault is named
with its line.
"""

import dataclasses
import importlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, require
from ....protocol.moral_preferences.records import GREATEST_FEATURE
from ...reading.cells import number_in
from ...reading.columns import is_plain
from ...reading.files import open_bytes, readable
from ...reading.headers import USUAL, HeadedRows, TableOptions
from ...reading.text_forms import PLAIN, TextForm, form_of, open_table

Choose: TypeAlias = Callable[[Sequence[str]], tuple[Sequence[str], Sequence[str]]]
"""From a header to the columns of names and the columns of numbers that are wanted; it may refuse the header."""

ALLOWED: Final = f"a number in [-{GREATEST_FEATURE:g}, {GREATEST_FEATURE:g}]"
"""What an entry of a feature is to be."""
_EXACT_SINCE: Final = (3, 1)


@dataclasses.dataclass(frozen=True, eq=False)
class NumberTable:
    """Some columns of a file."""

    path: Path  # the file
    form: TextForm  # its
    names: Mapping[str, Any]  # columns of text by name, str, each of shape (rows,)
    # Float64, shape (rows, columns of numbers): nan, where that may be, for what is no allowed number.
    numbers: FloatArray
    lines: IntArray  # int64, shape (rows,): the line on which each row ends, from 1

    def where(self, row: int) -> str:
        """Return where a row stands, for errors."""
        return f"{self.path.name} line {self.lines[row]}"


def line_fault(path: Path, line: int, value: object, allowed: str) -> ConfigurationError:
    """Return the error for something on a line."""
    return ConfigurationError(field=f"{path.name} line {line}", value=value, allowed=allowed)


def read_numbers(
    path: Path, choose: Choose, *, field: str, is_strict: bool = True, options: TableOptions = USUAL
) -> NumberTable:
    """Return columns of a CSV file with a header, which may be packed (`.gz`).

    It has any form (`reading.text_forms`); entries may be quoted; blank lines are skipped. Nothing reads as a missing
    value: "NA" is a name like any other, and no number.

    Args:
        is_strict: an entry that is no number in the range of features is an error, rather than nan.

    Raises:
        ConfigurationError: the file cannot be read, or is not what it should be, with its line.
    """
    wanted_columns: list[tuple[Sequence[str], Sequence[str]]] = []
    with readable(path, field=field):
        form = form_of(path, options=options)
    header = header_of(path, lambda header: wanted_columns.append(choose(header)), field=field, form=form)
    names, numbers = wanted_columns[0]
    with readable(path, field=field):
        is_whole = form == PLAIN and is_plain(path, width=len(header))
        table = _read_plain(path, names, numbers) if is_whole else _read_any(path, form, header, names, numbers)
        is_fault = ~(np.abs(table.numbers) <= GREATEST_FEATURE)
        if np.any(is_fault):
            if is_strict:
                row, place = np.argwhere(is_fault)[0]
                name = numbers[int(place)]
                entry = row_at(path, int(row), form)[1][name]
                raise ConfigurationError(field=f"{name} ({table.where(int(row))})", value=entry, allowed=ALLOWED)
            table.numbers[is_fault] = math.nan
    require(len(table.lines), path.name, "a header alone", "a CSV file with rows")
    return table


def header_of(
    path: Path, check: Callable[[Sequence[str]], object], *, field: str, form: TextForm = PLAIN
) -> Sequence[str]:
    """Return a file's header, once `check` has seen it."""
    with readable(path, field=field), _opened(path, form) as table:
        line = table.line
        header = ["" if place in table.unnamed else name for place, name in enumerate(table.header, start=1)]
    require(header, path.name, "an empty file", "a CSV file with a header")
    repeated_names = [name for place, name in enumerate(header) if name in header[:place]]
    if repeated_names:
        raise line_fault(path, line, repeated_names[0], "a header in which each column has its own name")
    try:
        check(header)
    except ConfigurationError as error:
        raise line_fault(path, line, error.value, error.allowed) from None
    return header


def codes_of(values: Any) -> tuple[IntArray, Sequence[str]]:
    """Return numbers for a column of names, in order of first appearance, and the name of each number.

    Examples:
        >>> codes, names = codes_of(np.array(["ann", "bob", "ann"], dtype=object))
        >>> codes.tolist(), names
        ([0, 1, 0], ['ann', 'bob'])
    """
    pandas: Any = importlib.import_module("pandas")  # by name: half a second that most commands save
    codes, names = pandas.factorize(values)
    return codes.astype(np.int64), names.tolist()


def row_at(path: Path, row: int, form: TextForm = PLAIN) -> tuple[int, Mapping[str, str]]:
    """Return the line of a row, from 0 after the header, and its entries; it reads the file up to there."""
    with _opened(path, form) as table:
        line, entries = next(itertools.islice(table, row, None))
        return line, dict(zip(table.header, entries, strict=True))


def _read_plain(path: Path, names: Sequence[str], numbers: Sequence[str]) -> NumberTable:
    """Return columns of a plain file."""
    pandas: Any = importlib.import_module("pandas")  # by name: half a second that most commands save
    with open_bytes(path) as file:
        frame = pandas.read_csv(
            file,
            usecols=[*names, *numbers],
            dtype=dict.fromkeys(names, object),
            na_filter=False,
            low_memory=False,
            encoding="utf-8-sig",
            index_col=False,
            **_exact(pandas.__version__),
        )
    lines = np.arange(2, len(frame) + 2, dtype=np.int64)
    columns = np.empty((len(frame), len(numbers)))
    for place, name in enumerate(numbers):
        column = frame[name]
        if column.dtype.kind in "iuf":
            columns[:, place] = column.to_numpy(dtype=np.float64)
        else:  # an entry is not written as a number
            columns[:, place] = [number_in(str(entry)) for entry in column]
    return NumberTable(path, PLAIN, {name: frame[name].to_numpy(dtype=object) for name in names}, columns, lines)


def _exact(version: str) -> dict[str, str]:
    """Return what makes pandas read numbers to the last bit: from 3.1 on it does so anyway, and warns of the option."""
    release = tuple(int(part) for part in version.split(".")[:2])
    return {} if release >= _EXACT_SINCE else {"float_precision": "round_trip"}


def _read_any(
    path: Path, form: TextForm, header: Sequence[str], names: Sequence[str], numbers: Sequence[str]
) -> NumberTable:
    """Return columns of any file."""
    texts: dict[str, list[str]] = {name: [] for name in names}
    columns: dict[str, list[float]] = {name: [] for name in numbers}
    places = {name: place for place, name in enumerate(header)}
    lines: list[int] = []
    with _opened(path, form) as table:
        for line, entries in table:
            for name, text in texts.items():
                text.append(entries[places[name]])
            for name, column in columns.items():
                column.append(number_in(entries[places[name]]))
            lines.append(line)
    return NumberTable(
        path,
        form,
        {name: np.array(text, dtype=object) for name, text in texts.items()},
        np.array([columns[name] for name in numbers], dtype=np.float64).reshape(len(numbers), len(lines)).T.copy(),
        np.array(lines, dtype=np.int64),
    )


def _opened(path: Path, form: TextForm) -> AbstractContextManager[HeadedRows]:
    return open_table(path, form, fault=("{name} line {first}", "{error}", "a line of CSV"))
