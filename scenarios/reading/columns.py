"""Large CSV files, read by columns: fast where a file is plain, careful where it is not.

A plain file (no quotes, no very long entries, the same number of commas in each line) is cut at its commas as a whole,
as arrays of bytes. A file with any other line is read anew by the standard library's parser, line by line. That one
knows where it stands, so a fault is named with its line; both give the same columns where there is none.

The rule that holds here: text is made of what is distinct in a column alone, and of names when somebody asks for them.
"""

import dataclasses
import functools
import importlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from ...protocol.arrays import IntArray
from ...protocol.columns import CodedColumn
from ...protocol.errors import ConfigurationError, require
from .files import BOM, MAX_LINE, open_bytes
from .headers import USUAL, HeadedRows, TableOptions
from .text_forms import PLAIN, TextForm, form_of, open_table

_BLOCK_BYTES: Final = 1 << 23  # lines that are parsed at once: a few MB keep the parser's own tables small
_PARTS: Final = 4
"""Of a block, which are parsed one after another where little memory counts for more than a fifth of the time."""
_WORD_BYTES: Final = 8
_MAX_BYTES: Final = 64
"""Longer entries make a file unusual: every entry of a block's column takes as many words as the longest."""
_MASKS: Final = np.array([(1 << 64) - (1 << 8 * (8 - kept)) for kept in range(9)], dtype=np.uint64)
"""To keep so many of a word's first bytes."""
_NOT_PLAIN: Final = b'"'  # in place of a line without an end
_NAMES_AT_ONCE: Final = 1 << 16
_FIRST_LETTER, _LAST_LETTER, _CASE = np.frombuffer(b"AZ ", dtype=np.uint8)
"""Large letters of ASCII, and the bit that makes small ones of them."""
_FAULT: Final = ("{name} line {first}", "{name}", "well-formed CSV ({error})")
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)  # by which words are mixed to one: nearly half of its bits are set


@dataclasses.dataclass(frozen=True, eq=False)
class NameTable:
    """Some columns of a file, by the names that were asked for; all have as many rows as the file."""

    path: Path
    form: TextForm
    columns: Mapping[str, CodedColumn]

    def where(self, row: int) -> str:
        """Return where a row stands, for errors. It is found by reading the file again."""
        with open_table(self.path, self.form) as table:
            line, _ = next(itertools.islice(table, row, None))
        return f"{self.path.name} line {line}"


@dataclasses.dataclass(frozen=True, eq=False)
class NameColumn(Sequence[str]):
    """A column of names that differ as a rule, each made when it is asked for.

    Its words are uint64, shape (rows, words): eight bytes each, the first one the highest, filled up with NUL.
    """

    words: NDArray[np.uint64]

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
            name_words = self.words[start : start + _NAMES_AT_ONCE]
            if are_folded:
                codes = name_words.view(np.uint8)
                is_large = (codes >= _FIRST_LETTER) & (codes <= _LAST_LETTER)
                name_words = (codes | is_large * _CASE).view(np.uint64)
            mixed_words = numbers[start : start + _NAMES_AT_ONCE]
            for word in name_words.T:
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
            yield _texts_of(self.words[start : start + _NAMES_AT_ONCE])

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> "NameColumn": ...

    def __getitem__(self, index: int | slice) -> "str | NameColumn":
        """Return one name, or those of some rows."""
        if isinstance(index, slice):
            return NameColumn(self.words[index])
        return str(_texts_of(self.words[index][None])[0], "utf-8")

    def __iter__(self) -> Iterator[str]:
        for part in self._parts():
            yield from map(bytes.decode, part.tolist())

    def __len__(self) -> int:
        return len(self.words)


def read_names(
    path: Path,
    required: Mapping[str, Sequence[str]],
    optional: Sequence[str] = (),
    options: TableOptions = USUAL,
) -> NameTable:
    """Return columns of a CSV file with a header, which may be packed (`.gz`).

    It has any form (`reading.text_forms`); entries may be quoted. Blank lines are skipped, blanks around an entry are
    dropped, and columns that nobody asks for are ignored.

    Args:
        required: columns that must be there: the name that each has in the result, and the names that it may have in
            the header, the first one that is there counts.
        optional: columns that may be there.
        options: what is said of the table.

    Raises:
        ConfigurationError: the content is no such table, with its line.
        OSError, EOFError, zlib.error: the file cannot be read or unpacked.
    """
    form = form_of(path, {name for names in required.values() for name in names}, options)
    with open_table(path, form, fault=_FAULT) as table:
        header, place_text = table.header, f"{path.name} line {table.line}"
        require(header, path.name, "an empty file", f"a CSV file with the columns {', '.join(required)}")
        places: dict[str, int] = {}
        for name, spellings in {**required, **{name: (name,) for name in optional}}.items():
            spelling = next((spelling for spelling in spellings if spelling in header), None)
            if spelling is None and name not in required:
                continue
            if spelling is None or header.count(spelling) > 1:
                allowed = f"a header with one column {' or '.join(map(repr, spellings))}"
                raise ConfigurationError(field=place_text, value=header, allowed=allowed)
            places[name] = header.index(spelling)
        picks = list(places.values())
        columns = (_read_plain(path, picks, width=len(header)) if form == PLAIN else None) or _read_any(
            table, path, picks
        )
    require(len(columns[0].codes), path.name, "a header alone", "a CSV file with rows")
    return NameTable(path, form, dict(zip(places, columns, strict=True)))


def _read_plain(path: Path, picks: Sequence[int], *, width: int) -> list[CodedColumn] | None:
    """Return columns of a plain file without blanks around entries, and None of any other, or with an empty entry."""
    columns = [_Coding() for _ in picks]
    for words in _plain_blocks(path, picks, width=width):
        if words is None:
            return None
        for column, column_words in zip(columns, words, strict=True):
            column.add(column_words)
    stripped_columns = [_strip_column(column.made()) for column in columns]
    return stripped_columns if all(all(column.names) for column in stripped_columns) else None


def _strip_column(column: CodedColumn) -> CodedColumn:
    """Return a column without the blanks around its entries, of which several may become one."""
    stripped = CodedColumn.from_values(name.strip() for name in column.names)
    return CodedColumn(stripped.names, stripped.codes[column.codes])


def read_plain(
    path: Path, *, width: int, max_rows: int, names: int | None = None
) -> list[CodedColumn | NameColumn] | None:
    """Return the columns of a plain file with a header and without blank lines; None of any other.

    It is UTF-8 with commas, and has at most so many bytes. `names` is the place of the column whose entries differ.
    """
    columns = [_Coding() if place != names else _Naming() for place in range(width)]
    for words in _plain_blocks(path, range(width), width=width, max_rows=max_rows, skips_blanks=False, parts=_PARTS):
        if words is None:
            return None
        for column, column_words in zip(columns, words, strict=True):
            column.add(column_words)
    return [column.made() for column in columns]


def read_blocks(path: Path, picks: Sequence[int], *, width: int) -> Iterator[list[CodedColumn] | None]:
    """Yield some columns of such a file block by block; None, and nothing more, where one is not plain."""
    for words in _plain_blocks(path, picks, width=width, skips_blanks=False, parts=_PARTS):
        if words is None:
            yield None
            return
        columns = [_Coding() for _ in picks]
        for column, column_words in zip(columns, words, strict=True):
            column.add(column_words)
        yield [column.made() for column in columns]


def is_plain(path: Path, *, width: int) -> bool:
    """Return whether a file with a header of so many columns is plain, and has no blank line."""
    return all(words is not None for words in _plain_blocks(path, (), width=width, skips_blanks=False))


def _plain_blocks(
    path: Path,
    picks: Sequence[int],
    *,
    width: int,
    max_rows: int | None = None,
    skips_blanks: bool = True,
    parts: int = 1,
) -> Iterator[list[NDArray[np.uint64]] | None]:
    """Yield for each block of lines the words of each column, without the header; None where a line is not plain."""
    num_bytes = 0
    with open_bytes(path) as file:
        is_header_due = True
        for block in _blocks(file, _BLOCK_BYTES // parts):
            num_bytes += len(block)
            lines = _drop_empty_lines(block) if max_rows is None or num_bytes <= max_rows else None
            num_lines = block.count(b"\n") + (not block.endswith(b"\n"))
            if lines is not None and not skips_blanks and lines.count(b"\n") != num_lines:
                lines = None
            if lines is not None and lines and is_header_due:
                lines = lines[lines.index(b"\n") + 1 :]
                is_header_due = False
            yield None if lines is None else _words(lines, picks, width=width)


def _blocks(file: IO[bytes], num_bytes: int) -> Iterator[bytes]:
    """Yield whole lines, so many bytes of them at a time or a few more."""
    block = file.read(num_bytes).removeprefix(BOM)
    while block:
        yield block + (remainder := file.readline(MAX_LINE))
        if len(remainder) == MAX_LINE:
            yield _NOT_PLAIN
        block = file.read(num_bytes)


def _drop_empty_lines(block: bytes) -> bytes | None:
    """Return the lines that are not empty, each ended by LF; None where characters need care."""
    if b'"' in block or b"\0" in block:
        return None
    lines = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    if b"\r" in lines:
        return None
    if not lines.endswith(b"\n"):
        lines += b"\n"
    if b"\n\n" in lines:
        lines = re.sub(rb"\n{2,}", b"\n", lines)
    if not lines.isascii():
        try:
            lines.decode()
        except UnicodeDecodeError:
            return None
    return lines.removeprefix(b"\n")


def _words(lines: bytes, picks: Sequence[int], *, width: int) -> list[NDArray[np.uint64]] | None:
    """Return the entries of some columns, as words of eight bytes filled up with NUL; None if a line is not plain.

    They are uint64, shape (lines, words), for each column.
    """
    characters = np.frombuffer(lines + bytes(_WORD_BYTES), dtype=np.uint8)
    separators = np.flatnonzero((characters == ord(",")) | (characters == ord("\n")))
    if separators.size % width:
        return None
    ends = separators.reshape(-1, width)
    is_newline = characters[ends] == ord("\n")
    if not np.all(is_newline[:, -1]) or np.any(is_newline[:, :-1]):
        return None
    starts = np.concatenate(([0], separators[:-1] + 1))[: separators.size].reshape(-1, width)
    # The eight bytes from each place on, as one number: the first byte is its highest, so the order is that of text.
    windows = np.ndarray((len(lines) + 1,), dtype=">u8", buffer=characters, strides=(1,))
    columns: list[NDArray[np.uint64]] = []
    for pick in picks:
        lengths = ends[:, pick] - starts[:, pick]
        longest = int(lengths.max()) if lengths.size else 0
        if longest > _MAX_BYTES:
            return None
        words = np.zeros((len(lengths), -(-longest // _WORD_BYTES)), dtype=np.uint64)
        for place in range(words.shape[1]):
            offset = place * _WORD_BYTES
            taken_words = windows[np.minimum(starts[:, pick] + offset, len(lines))]
            words[:, place] = taken_words & _MASKS[np.clip(lengths - offset, 0, _WORD_BYTES)]
        columns.append(words)
    return columns


@dataclasses.dataclass(eq=False)
class _Coding:
    """A column that is read block by block: what is distinct in it, in the order of its appearance, and the codes."""

    texts: dict[bytes, int] = dataclasses.field(default_factory=dict[bytes, int])
    codes: list[NDArray[Any]] = dataclasses.field(default_factory=list[NDArray[Any]])

    def add(self, words: NDArray[np.uint64]) -> None:
        """Take up the entries of a block's rows."""
        codes, first = _encode_words(words)
        texts = _texts_of(words[first]).tolist()
        lookup = np.array([self.texts.setdefault(text, len(self.texts)) for text in texts], dtype=np.int64)
        self.codes.append(lookup.astype(np.min_scalar_type(len(self.texts)))[codes])

    def made(self) -> CodedColumn:
        """Return the column."""
        codes = np.concatenate(self.codes or [np.empty(0, dtype=np.uint8)])  # of few, a byte each
        return CodedColumn([text.decode() for text in self.texts], codes)


class _Naming:
    """The same of entries that differ as a rule: one array that grows in its place, since of millions a copy counts."""

    def __init__(self) -> None:
        self._words = np.zeros((0, 1), dtype=np.uint64)

    def add(self, words: NDArray[np.uint64]) -> None:
        """Take up the entries of a block's rows."""
        first, width = self._words.shape
        if words.shape[1] > width:
            self._words = np.pad(self._words, ((0, 0), (0, words.shape[1] - width)))
        self._words.resize((first + len(words), self._words.shape[1]), refcheck=False)  # nobody has it yet
        self._words[first:, : words.shape[1]] = words

    def made(self) -> NameColumn:
        """Return the column."""
        return NameColumn(self._words)


def _are_plain(texts: NDArray[np.bytes_]) -> bool:
    """Return whether all have a character at least, printable ones of ASCII alone, and no blank at either end."""
    characters = texts.view(np.uint8).reshape(len(texts), -1)
    is_end = characters == 0
    last = characters[np.arange(len(texts)), (~is_end).sum(axis=1) - 1]
    is_printable = (characters - np.uint8(ord(" ")) <= ord("~") - ord(" ")) | is_end
    return bool(is_printable.all() and (characters[:, 0] > ord(" ")).all() and (last != ord(" ")).all())


def _texts_of(words: NDArray[np.uint64]) -> NDArray[np.bytes_]:
    """Return entries as bytes, which are given as words, shape (rows, words)."""
    padded = words if words.shape[1] else np.zeros((len(words), 1), dtype=np.uint64)
    return np.ascontiguousarray(padded, dtype=">u8").view(f"S{padded.shape[1] * _WORD_BYTES}").ravel()


def _encode_words(words: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Return codes of entries in the order of their appearance, and the first row of each code."""
    pandas: Any = importlib.import_module("pandas")  # by name: half a second that most commands save
    codes: IntArray = np.zeros(len(words), dtype=np.int64)
    for place in range(words.shape[1]):
        word_codes, distinct = pandas.factorize(words[:, place])
        codes = pandas.factorize(codes * len(distinct) + word_codes)[0] if place else word_codes
    first = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(words) - 1, -1, -1)  # the first row of a code is written last
    return codes, first


def _read_any(table: HeadedRows, path: Path, picks: Sequence[int]) -> list[CodedColumn]:
    """Return columns of any table, or name what is wrong with it."""
    indexes: list[dict[str, int]] = [{} for _ in picks]
    codes: list[list[int]] = [[] for _ in picks]
    for line, row in table:
        for pick, index, parts in zip(picks, indexes, codes, strict=True):
            if not (entry := row[pick].strip()):
                place_text = f"{table.header[pick]} ({path.name} line {line})"
                raise ConfigurationError(field=place_text, value="", allowed="given")
            parts.append(index.setdefault(entry, len(index)))
    return [
        CodedColumn(list(index), np.array(parts, dtype=np.int64)) for index, parts in zip(indexes, codes, strict=True)
    ]
