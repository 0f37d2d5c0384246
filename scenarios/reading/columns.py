"""Rows of a table of text as columns, batch by batch: fast where a file is plain, careful where it is not.

A block of lines is plain where no line is blank or has a quote, and each has the same number of commas, at which it is
split as a whole. From the first block that is not, the standard library's parser reads line by line. That one knows
where it stands, so a fault is named with its line; both give the same columns where there is none.

The rule that holds here: text is made of what is distinct in a column alone, and of names when somebody asks for them.
"""

import array
import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from ...protocol.columns import CodedColumn
from ...protocol.phases import Entries
from .cells import text_of
from .files import BOM, MAX_LINE, open_bytes
from .headers import HeadedRows
from .text_forms import PLAIN, TextForm

_BLOCK_BYTES: Final = 1 << 21  # lines that are parsed at once: a few MB keep the parser's own tables small
_ROWS: Final = 1 << 14
"""Of a batch that is read with care."""
_WORD_BYTES: Final = 8
_MAX_BYTES: Final = 64
"""Of names that wait as bytes, each of which takes as many as the longest."""
_BLANK: Final = re.compile(rb"\n[ \t,]*\n")
_NAMES_AT_ONCE: Final = 1 << 16
_FIRST_LETTER, _LAST_LETTER, _CASE = np.frombuffer(b"AZ ", dtype=np.uint8)
"""Large letters of ASCII, and the bit that makes small ones of them."""
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)  # by which words are mixed to one: nearly half of its bits are set


def encode_entries(entries: Entries) -> CodedColumn:
    """Return a column with codes; numbers are text as a CSV would have them."""
    if isinstance(entries, np.ndarray):
        distinct, codes = np.unique(entries, return_inverse=True)
        is_none = distinct != distinct  # noqa: PLR0124  a number that is none, as where an entry is missing
        return CodedColumn(
            ["" if is_missing else text_of(entry) for entry, is_missing in zip(distinct, is_none, strict=True)], codes
        )
    return CodedColumn.from_values(entries)


@dataclasses.dataclass(frozen=True, eq=False)
class RowBatch:
    """Rows of one file that follow each other.

    Args:
        table: the columns that were asked for.
        source: the file's name.
        lines: where each row stands, as whoever opens the file sees it.
        word: what such a number is of: a line or a row.

    Examples:
        >>> batch = RowBatch({"task": ["q1", "q2"]}, "answers.csv", range(2, 4))
        >>> batch.num_rows, batch.where(2)
        (2, 'answers.csv line 3')
    """

    table: Mapping[str, Entries]
    source: str
    lines: Sequence[int]
    word: str = "line"

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self.lines)

    def where(self, row: int) -> str:
        """Return where a row of the batch stands, the first one being 1."""
        return f"{self.source} {self.word} {self.lines[row - 1]}"

    def column(self, name: str) -> CodedColumn:
        """Return a column of text with codes."""
        return encode_entries(self.table[name])

    def only(self, rows: NDArray[np.int64], table: Mapping[str, Entries]) -> "RowBatch":
        """Return some of the rows, whose columns these are."""
        return dataclasses.replace(self, table=table, lines=array.array("q", (self.lines[int(row)] for row in rows)))


@dataclasses.dataclass(frozen=True, eq=False)
class NameColumn(Sequence[str]):
    """A column of names that differ as a rule, each made when it is asked for.

    They are UTF-8, of a multiple of eight bytes each, filled up with NUL.
    """

    texts: NDArray[np.bytes_]

    @functools.cached_property
    def are_distinct(self) -> bool:
        """Whether no two are the same, for sure: if not, numbers that stand for two may agree by chance."""
        return self._differ(are_folded=False)

    @property
    def are_unlike(self) -> bool:
        """Whether no two of them, of ASCII, are the same but for large letters, for sure likewise."""
        return self._differ(are_folded=True)

    def _differ(self, *, are_folded: bool) -> bool:
        numbers = np.zeros(len(self), dtype=np.uint64)
        for start in range(0, len(self), _NAMES_AT_ONCE):
            codes = self.texts[start : start + _NAMES_AT_ONCE].view(np.uint8)
            if are_folded:
                codes = codes | ((codes >= _FIRST_LETTER) & (codes <= _LAST_LETTER)) * _CASE
            mixed_words = numbers[start : start + _NAMES_AT_ONCE]
            for word in codes.view(np.uint64).reshape(len(mixed_words), -1).T:
                mixed_words ^= word
                mixed_words *= _ODD
        numbers.sort()
        return bool((numbers[1:] != numbers[:-1]).all())

    @functools.cached_property
    def are_plain(self) -> bool:
        """Whether each is printable text of ASCII, of a character at least, without a blank at either end."""
        return all(map(_are_plain, self._parts()))

    def _parts(self) -> Iterator[NDArray[np.bytes_]]:
        """Yield the entries as bytes, some at a time."""
        for start in range(0, len(self), _NAMES_AT_ONCE):
            yield self.texts[start : start + _NAMES_AT_ONCE]

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> "NameColumn": ...

    def __getitem__(self, index: int | slice) -> "str | NameColumn":
        """Return one name, or those of some rows."""
        return NameColumn(self.texts[index]) if isinstance(index, slice) else self.texts[index].decode()

    def __iter__(self) -> Iterator[str]:
        for part in self._parts():
            yield from map(bytes.decode, part.tolist())

    def __len__(self) -> int:
        return len(self.texts)


def _are_plain(texts: NDArray[np.bytes_]) -> bool:
    """Return whether all have a character at least, printable ones of ASCII alone, and no blank at either end."""
    characters = texts.view(np.uint8).reshape(len(texts), -1)
    is_end = characters == 0
    last = characters[np.arange(len(texts)), (~is_end).sum(axis=1) - 1]
    is_printable = (characters - np.uint8(ord(" ")) <= ord("~") - ord(" ")) | is_end
    return bool(is_printable.all() and (characters[:, 0] > ord(" ")).all() and (last != ord(" ")).all())


def read_text(
    path: Path,
    form: TextForm,
    table: HeadedRows,
    names: Mapping[str, int],
    *,
    uncoded: Collection[str] = (),
    max_bytes: float = math.inf,
) -> Iterator[RowBatch]:
    """Yield the rows of a table of text, or of any of which something is said, with the entries as they are.

    Args:
        path: it may be packed (`.gz`).
        table: the file as it was opened by `open_table`: at its header, with which plain lines agree.
        names: the columns that are wanted, by name, and their places.
        uncoded: those whose entries differ as a rule, and are lists of text; the others are coded.
        max_bytes: behind so many, unpacked, it is read as a table that is not plain.

    Raises:
        ConfigurationError: as `open_table`.
        OSError, EOFError, zlib.error: the file cannot be read or unpacked.
    """
    num_rows = 0
    if form == PLAIN:
        for entries in _read_plain(path, width=len(table.header), max_bytes=max_bytes):
            if entries is None:  # from here on with care
                break
            lines = range(num_rows + 2, num_rows + 2 + len(entries) // len(table.header))
            columns = ((name, entries[place :: len(table.header)]) for name, place in names.items())
            yield RowBatch(_code_columns(columns, uncoded), path.name, lines)
            num_rows += len(lines)
        else:
            return
    rows = itertools.islice(table, num_rows, None)
    while batch := [(line, [row[place] for place in names.values()]) for line, row in itertools.islice(rows, _ROWS)]:
        numbers, entries = zip(*batch, strict=True)
        is_whole = numbers[-1] - numbers[0] == len(numbers) - 1
        columns = zip(names, zip(*entries, strict=True), strict=True)
        lines = range(numbers[0], numbers[-1] + 1) if is_whole else array.array("q", numbers)
        yield RowBatch(_code_columns(columns, uncoded), path.name, lines)


def _code_columns(columns: Iterable[tuple[str, Sequence[str]]], uncoded: Collection[str]) -> dict[str, Entries]:
    table = dict[str, Entries]()
    for name, column in columns:
        table[name] = column
        if name not in uncoded:
            index = {entry: code for code, entry in enumerate(dict.fromkeys(column))}
            codes = np.fromiter(map(index.__getitem__, column), dtype=np.min_scalar_type(len(index)))
            table[name] = CodedColumn(list(index), codes)
    return table


def _read_plain(path: Path, *, width: int, max_bytes: float) -> Iterator[list[str] | None]:
    """Yield the entries of a plain file block by block; None, and nothing more, where a block is not plain."""
    with open_bytes(path) as file:
        is_header_due = True
        block = file.read(_BLOCK_BYTES).removeprefix(BOM)
        while block:
            remainder = file.readline(MAX_LINE)
            max_bytes -= len(block) + len(remainder)
            is_bounded = len(remainder) < MAX_LINE and max_bytes >= 0
            entries = _plain_entries(block + remainder, width) if is_bounded else None
            if entries is None:
                yield None
                return
            if is_header_due:
                del entries[:width]
                is_header_due = False
            if entries:
                yield entries
            block = file.read(_BLOCK_BYTES)


def _plain_entries(block: bytes, width: int) -> list[str] | None:
    """Return the entries of lines of so many each; None where one has others, or characters need care."""
    if b'"' in block or b"\0" in block:
        return None
    lines = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    lines = lines.removesuffix(b"\n")
    if b"\r" in lines or _BLANK.search(b"\n" + lines + b"\n"):
        return None
    characters = np.frombuffer(lines, dtype=np.uint8)
    is_end = characters == ord("\n")
    is_end = np.append(is_end[is_end | (characters == ord(","))], True)
    if is_end.size % width:
        return None
    is_end = is_end.reshape(-1, width)
    if is_end[:, :-1].any() or not is_end[:, -1].all():
        return None
    try:
        return lines.replace(b"\n", b",").decode().split(",")
    except UnicodeDecodeError:
        return None


def join_batches(batches: Iterable[RowBatch], *, names: str = "") -> RowBatch:
    """Return the rows of a file's batches as one, of which there is one at least; all columns are coded.

    Args:
        batches: those of one file, in order.
        names: a column whose entries differ as a rule: of many rows it is a `NameColumn`, unless one of them is long.
    """
    joined = dict[str, _JoinedCodes | _JoinedNames]()
    whole, lines = RowBatch({}, "", ()), range(0)
    for batch in batches:
        for name, entries in batch.table.items():
            joined.setdefault(name, _JoinedNames() if name == names else _JoinedCodes()).add(entries)
        if isinstance(lines, range) and isinstance(batch.lines, range) and lines.stop in {0, batch.lines.start}:
            lines = range(lines.start or batch.lines.start, batch.lines.stop)
        else:
            lines = array.array("q", lines) if isinstance(lines, range) else lines
            lines.extend(batch.lines)
        whole = batch
    return dataclasses.replace(whole, table={name: each.made() for name, each in joined.items()}, lines=lines)


class _JoinedCodes:
    """A column that comes in parts: what is distinct in it, in the order of its appearance, and the codes."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._parts: list[NDArray[Any]] = []

    def add(self, entries: Entries) -> None:
        column = encode_entries(entries)
        lookup = np.array([self._codes.setdefault(name, len(self._codes)) for name in column.names], dtype=np.int64)
        self._parts.append(lookup.astype(np.min_scalar_type(len(self._codes)))[column.codes])

    def made(self) -> CodedColumn:
        return CodedColumn(list(self._codes), np.concatenate(self._parts))  # of few, a byte each


class _JoinedNames:
    """The same of entries that differ as a rule: one array that grows in its place, since of millions a copy counts."""

    def __init__(self) -> None:
        self._texts = np.zeros(0, dtype=f"S{_WORD_BYTES}")
        self._others: list[str] = []  # from the first long one on

    def add(self, entries: Entries) -> None:
        part = np.array("\0".join(entries).encode().split(b"\0"))
        width = max(self._texts.itemsize, -(-part.itemsize // _WORD_BYTES) * _WORD_BYTES)
        if self._others or width > _MAX_BYTES:
            self._others += entries
            return
        self._texts = self._texts.astype(f"S{width}", copy=False)
        self._texts.resize(len(self._texts) + len(part), refcheck=False)  # nobody has it yet
        self._texts[-len(part) :] = part

    def made(self) -> Sequence[str]:
        names = NameColumn(self._texts)
        return names if len(names) > _NAMES_AT_ONCE and not self._others else [*names, *self._others]
