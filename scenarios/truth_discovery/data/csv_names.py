"""Large CSV files, read by columns: fast where a file is plain, careful where it is not.

A plain file (no quotes, no blank or very long entries, the same number of commas in each line) is cut at its commas as
a whole, as arrays of bytes. A file with any other line is read anew by the standard library's parser, line by line.
That one knows where it stands, so a fault is named with its line; both give the same columns where there is none.
"""

import csv
import dataclasses
import importlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from ....protocol.errors import ConfigurationError
from ...reading.files import BOM, MAX_LINE, open_bytes
from ...reading.text_forms import PLAIN, TextForm, form_of, open_table
from .assembly import CodedColumn

__all__ = ["NameTable", "read_names"]

_BLOCK_BYTES: Final = 1 << 23
"""Lines that are parsed at once: a few MB keep the parser's own tables small."""
_WORD_BYTES: Final = 8
_MAX_BYTES: Final = 64
"""Longer entries make a file unusual: every entry of a column takes as many words as the longest."""
_MASKS: Final = np.array([(1 << 64) - (1 << 8 * (8 - kept)) for kept in range(9)], dtype=np.uint64)
"""To keep so many of a word's first bytes."""
_NOT_PLAIN: Final = b'"'
"""In place of a line without an end."""


@dataclasses.dataclass(frozen=True, eq=False)
class NameTable:
    """Some columns of a file.

    Args:
        path: the file.
        form: its.
        columns: by the names that were asked for; all have as many rows as the file.
    """

    path: Path
    form: TextForm
    columns: Mapping[str, CodedColumn]

    def where(self, row: int) -> str:
        """Return where a row stands, for errors. It is found by reading the file again."""
        line, _ = next(itertools.islice(_rows(self.path, self.form), row + 1, None))
        return f"{self.path.name} line {line}"


def read_names(path: Path, required: Mapping[str, Sequence[str]], optional: Sequence[str] = ()) -> NameTable:
    """Return columns of a CSV file with a header, which may be packed (`.gz`).

    It has any form (`reading.text_forms`); entries may be quoted. Blank lines are skipped, blanks around an entry are
    dropped, and columns that nobody asks for are ignored.

    Args:
        path: the file.
        required: columns that must be there: the name that each has in the result, and the names that it may have in
            the header, the first one that is there counts.
        optional: columns that may be there.

    Raises:
        ConfigurationError: the content is no such table, with its line.
        OSError, EOFError, zlib.error: the file cannot be read or unpacked.
    """
    form = form_of(path, {name for names in required.values() for name in names})
    line, header = next(_rows(path, form), (1, list[str]()))
    if not header:
        allowed = f"a CSV file with the columns {', '.join(required)}"
        raise ConfigurationError(field=path.name, value="an empty file", allowed=allowed)
    places: dict[str, int] = {}
    for name, spellings in {**required, **{name: (name,) for name in optional}}.items():
        spelling = next((spelling for spelling in spellings if spelling in header), None)
        if spelling is None and name not in required:
            continue
        if spelling is None or header.count(spelling) > 1:
            words = " or ".join(map(repr, spellings))
            allowed = f"a header with one column {words}"
            raise ConfigurationError(field=f"{path.name} line {line}", value=header, allowed=allowed)
        places[name] = header.index(spelling)
    picks = list(places.values())
    columns = (_read_plain(path, picks, width=len(header)) if form == PLAIN else None) or _read_any(path, form, picks)
    if not len(columns[0].codes):
        raise ConfigurationError(field=path.name, value="a header alone", allowed="a CSV file with rows")
    return NameTable(path, form, dict(zip(places, columns, strict=True)))


def _read_plain(path: Path, picks: Sequence[int], *, width: int) -> list[CodedColumn] | None:
    """Return columns of a plain file, and None of any other, whatever is unusual about it."""
    blocks: list[list[NDArray[np.uint64]]] = []  # for each block of lines the words of each column
    with open_bytes(path) as file:
        is_header_due = True
        for block in _blocks(file):
            lines = _without_empty_lines(block)
            if lines is not None and lines and is_header_due:
                lines = lines[lines.index(b"\n") + 1 :]
                is_header_due = False
            words = None if lines is None else _words(lines, picks, width=width)
            if words is None:
                return None
            blocks.append(words)
    columns = [_column([block.pop(0) for block in blocks]) for _ in picks]
    return columns if all(all(column.names) for column in columns) else None


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield whole lines, some MB at a time."""
    block = file.read(_BLOCK_BYTES).removeprefix(BOM)
    while block:
        yield block + (rest := file.readline(MAX_LINE))
        if len(rest) == MAX_LINE:
            yield _NOT_PLAIN
        block = file.read(_BLOCK_BYTES)


def _without_empty_lines(block: bytes) -> bytes | None:
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

    Returns:
        For each column uint64, shape (lines, words).
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
            taken = windows[np.minimum(starts[:, pick] + offset, len(lines))]
            words[:, place] = taken & _MASKS[np.clip(lengths - offset, 0, _WORD_BYTES)]
        columns.append(words)
    return columns


def _column(blocks: list[NDArray[np.uint64]]) -> CodedColumn:
    """Return the column whose entries are given as words, block for block."""
    pandas: Any = importlib.import_module("pandas")  # by name: half a second that most commands save
    num_words = max(block.shape[1] for block in blocks) if blocks else 0
    num_rows = sum(map(len, blocks))
    if not num_words:
        return CodedColumn([""] if num_rows else [], np.zeros(num_rows, dtype=np.int64))
    codes = np.zeros(num_rows, dtype=np.int64)
    for place in range(num_words):
        word = np.concatenate(
            [block[:, place] if place < block.shape[1] else np.zeros(len(block), dtype=np.uint64) for block in blocks]
        )
        word_codes, distinct = pandas.factorize(word)
        codes, _ = pandas.factorize(codes * len(distinct) + word_codes) if place else (word_codes, None)
    first = np.full(int(codes.max()) + 1, num_rows, dtype=np.int64)
    first[codes[::-1]] = np.arange(num_rows - 1, -1, -1)  # the first row of a code is written last
    rows = np.zeros((len(first), num_words), dtype=">u8")
    start = 0
    for block in blocks:
        here = (first >= start) & (first < start + len(block))
        rows[here, : block.shape[1]] = block[first[here] - start]
        start += len(block)
    index: dict[str, int] = {}  # blanks around a name do not count, so several codes may become one
    texts: list[bytes] = rows.view(f"S{num_words * _WORD_BYTES}").ravel().tolist()
    lookup = np.array([index.setdefault(text.decode().strip(), len(index)) for text in texts], dtype=np.int64)
    return CodedColumn(list(index), lookup[codes])


def _read_any(path: Path, form: TextForm, picks: Sequence[int]) -> list[CodedColumn]:
    """Return columns of any file, or name what is wrong with it."""
    indexes: list[dict[str, int]] = [{} for _ in picks]
    codes: list[list[int]] = [[] for _ in picks]
    rows = _rows(path, form)
    _, header = next(rows)
    for line, row in rows:
        for pick, index, parts in zip(picks, indexes, codes, strict=True):
            if not row[pick]:
                raise ConfigurationError(field=f"{header[pick]} ({path.name} line {line})", value="", allowed="given")
            parts.append(index.setdefault(row[pick], len(index)))
    return [
        CodedColumn(list(index), np.array(parts, dtype=np.int64)) for index, parts in zip(indexes, codes, strict=True)
    ]


def _rows(path: Path, form: TextForm) -> Iterator[tuple[int, list[str]]]:
    """Yield the line where each row begins, the header's first, and its entries; blank lines are skipped."""
    line = 1  # where a row begins, which may go on over the lines that follow
    width = 0
    with open_table(path, form) as reader:
        try:
            for cells in reader:
                row = [cell.strip() for cell in cells]
                if len(row) > 1 or any(row):
                    width = width or len(row)
                    if len(row) != width:
                        allowed = f"{width} entries, as in the header"
                        raise ConfigurationError(field=f"{path.name} line {line}", value=row, allowed=allowed)
                    yield line, row
                line = reader.line_num + 1
        except csv.Error as error:
            allowed = f"well-formed CSV ({error})"
            raise ConfigurationError(field=f"{path.name} line {line}", value=path.name, allowed=allowed) from None
