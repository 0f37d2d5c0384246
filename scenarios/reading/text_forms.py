"""The form of a table that somebody saved: its encoding, and the sign between its entries.

Spreadsheets save what they call CSV in many ways. One that the file itself tells is taken; where two would do, the file
is refused with what to do. A form other than UTF-8 with commas is said (`TextForm.note`). A workbook is a table too
(`workbooks`). The rules that hold here: a row's number is the spreadsheet's, which counts blank ones and hides a first
line `sep=;`; and of a text of any size a bounded part is in memory at a time.
"""

import codecs
import collections
import contextlib
import csv
import dataclasses
import itertools
import math
import operator
import re
import zlib
from collections.abc import Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

from ...protocol.errors import ConfigurationError, refuse
from .columnar import BEGINNINGS, rows_of_columns
from .files import (
    BOM,
    HeldFile,
    decode_line,
    open_bytes,
    open_text,
    read_bounded_lines,
    readable,
)
from .frames import path_of
from .headers import USUAL, HeadedRows, Rows, TableOptions
from .workbooks import FoundSheet, find_sheet, rows_of

_UTF_8: Final = "utf-8-sig"
_FALLBACK: Final = "cp1252"
_LOOKED_AT_BYTES: Final = 1 << 26
"""Behind these a byte that is no UTF-8 is a fault, with its line: a large file is not read twice."""
_LINES_LOOKED_AT: Final = 20
_BLOCK_BYTES: Final = 1 << 20
_MAX_SHOWN: Final = 120
_ESCAPED: Final = re.compile("[\udc80-\udcff]")  # bytes that the encoding does not have
_UTF_16: Final = {"utf-16-le": 1, "utf-16-be": 0}  # without a mark: where in each pair most of a table has a NUL
_MOST_OF: Final = 0.95
_PART_OF: Final = 0.2
_NAMES: Final = {
    _FALLBACK: "as Windows-1252, since it is not UTF-8",
    "utf-16": "as UTF-16",
    **dict.fromkeys(_UTF_16, "as UTF-16, which it does not say"),
}
_DECLARED: Final = re.compile(r"sep=([,;\t|])\r?\n?", re.IGNORECASE)
"""The line by which Excel is told the sign between entries, and which it shows nobody."""
_WORKBOOK, _COLUMNS = "workbook", "columns"  # in place of an encoding
_JSON: Final = frozenset({".json", ".jsonl", ".ndjson"})
_DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_WORKBOOKS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_FOREIGN: Final = {
    b"%PDF": "a PDF",
    b"\x1f\x8b": "packed, and its name does not end with .gz",
}


@dataclasses.dataclass(frozen=True)
class TextForm:
    """How a table is written down: its encoding, as Python calls it, and the sign between two entries.

    A table that says this sign in its first line `declares` it; one in a workbook is a sheet's. Where its
    header is and which rows count are `options`.
    """

    encoding: str = _UTF_8
    delimiter: str = ","
    declares: bool = False
    sheet: FoundSheet | None = None
    options: TableOptions = USUAL

    def note(self, name: str) -> str:
        """Return how a file was read, as a sentence for people; empty for UTF-8 with commas."""
        if (sheet := self.sheet) is not None:
            sheets_note = f", of {sheet.number:,}" if sheet.number > 1 else ""
            passed_names = ", ".join(map(repr, sheet.passed))
            sheets_note += f"; passed by, as hidden or without a table: {passed_names}" if sheet.passed else ""
            return f"Of {name} the sheet {sheet.name!r} is read{sheets_note}."
        notes = [_NAMES[self.encoding]] if self.encoding in _NAMES else []
        notes += [f"with {_DELIMITERS[self.delimiter]} between entries"] if self.delimiter != "," else []
        return f"{name} is read {', '.join(notes)}." if notes else ""


PLAIN: Final = TextForm()  # UTF-8, with or without a byte order mark, and commas


def form_of(path: Path, wanted_columns: Collection[str] = (), options: TableOptions = USUAL) -> TextForm:
    """Return the form of a table with a header, which may be packed (`.gz`).

    The sign between entries is known by those that the header should have; without any, it is the only one that stands
    there, or the comma.

    Raises:
        ConfigurationError: it is no text, or its header can be read in two ways.
        OSError, EOFError, zlib.error: the file cannot be read or unpacked.
    """
    options = options.alone()
    if isinstance(path, HeldFile):
        return TextForm(options=options)
    with open_bytes(path) as file:
        if file.read(len(_WORKBOOKS[0])) in _WORKBOOKS:
            return TextForm(_WORKBOOK, sheet=find_sheet(path, options.sheet), options=options)
        file.seek(0)
        if file.read(len(BEGINNINGS[1])).startswith(BEGINNINGS):
            refuse(options.sheet, "sheet", options.sheet, f"left out: {path.name} is no workbook")
            return TextForm(_COLUMNS, options=options)
        file.seek(0)
        encoding = _encoding_of(file, path)
    refuse(options.sheet, "sheet", options.sheet, f"left out: {path.name} is no workbook")
    with _open(path, encoding) as text:
        lines = _lines_in(text, path)
        if options.header > 1:
            first = next(lines, "")
            header = next(itertools.islice(lines, options.header - 2, None), "")
        else:
            first = header = next(filter(str.strip, lines), "")
        if declaration := _DECLARED.fullmatch(first):
            return TextForm(encoding, declaration[1], declares=True, options=options)
        if not any(sign in header for sign in _DELIMITERS):  # a title, or a table of one column
            lines_below = [line for line in itertools.islice(lines, _LINES_LOOKED_AT) if line.strip()]
            header = next((line for line in lines_below if _is_like_the_others(line, lines_below)), header)
    return TextForm(encoding, _delimiter_of(header, wanted_columns, path), options=options)


@contextlib.contextmanager
def open_table(
    path: Path, form: TextForm, *, max_lines: int | None = None, num_empty: int = 0
) -> Generator[HeadedRows]:
    """Open a table of any form, which may be packed (`.gz`) and has at most so many characters.

    Args:
        max_lines: characters that it may have, packed or not; by default any number.
        num_empty: so many rows of empty entries are rows too: one party's own file may hold no other.

    Raises:
        ConfigurationError: a line is too long, holds a NUL, is no such text or no CSV, or there are too many; or as
            `HeadedRows`.
        OSError, EOFError, zlib.error: the file cannot be read or unpacked.
    """
    with contextlib.ExitStack() as stack:
        if form.sheet is not None:
            rows = rows_of(path, form.sheet.name)
        elif form.encoding == _COLUMNS:
            rows = rows_of_columns(path)
        else:
            lines = _lines_in(stack.enter_context(_open(path, form.encoding)), path, max_lines)
            lines = itertools.islice(lines, int(form.declares), None)
            rows = _rows_in(csv.reader(lines, delimiter=form.delimiter, strict=True), path)
        yield HeadedRows(rows, form.options, path, form=form.note(path.name), num_empty=num_empty)


def note_of(path: Path, options: TableOptions = USUAL) -> str:
    """Return how a table is read, as sentences for people: where rows are left out, by reading all of them."""
    with open_table(path, form_of(path, options=options)) as table:
        if table.has_words:
            collections.deque(table, maxlen=0)
        return table.note()


def header_of(path: str | Path, options: TableOptions = USUAL) -> list[str]:
    """Return the header of a table; nothing where it cannot be read, which whoever reads it says."""
    try:
        with open_table(file := path_of(path), form_of(file, options=options)) as table:
            return table.header
    except (ConfigurationError, OSError, EOFError, UnicodeDecodeError, zlib.error):
        return []


def read_rows(path: Path, *columns: str, field: str = "") -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the rows of a CSV file, which may be packed (`.gz`): the line where each begins, and its entries.

    A data set's file, for which no setting is named, is UTF-8 with commas; anybody's own has any form. Of its header's
    columns two or more are wanted.

    Raises:
        ConfigurationError: the file cannot be read, lacks a column, or has a line that is no row of it.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(readable(path, field=field or "data"))
        table = stack.enter_context(open_table(path, form_of(path, columns) if field else PLAIN))
        for column in columns:
            allowed = f"a header with the column {column!r}"
            refuse(column not in table.header, f"{path.name} line {table.line}", table.header, allowed)
        pick = operator.itemgetter(*map(table.header.index, columns))
        for line, row in table:
            yield line, pick(row)


def _rows_in(reader: Any, path: Path) -> Rows:
    number = 0
    try:
        for number, row in enumerate(reader, start=1):
            yield number, row
    except csv.Error as error:
        place_text, allowed = f"{path.name} line {number + 1}", f"well-formed CSV ({error})"
        raise ConfigurationError(field=place_text, value=str(path), allowed=allowed) from None


def _open(path: Path, encoding: str) -> IO[str]:
    return open_text(path, encoding, errors="surrogateescape")


def _lines_in(text: IO[str], path: Path, max_lines: int | None = None) -> Iterator[str]:
    """Yield lines with their ends, of a file that was opened by `_open`."""
    num_remaining = math.inf if max_lines is None else max_lines
    for number, line in read_bounded_lines(text, path):
        num_remaining -= len(line)
        if num_remaining < 0:
            allowed = f"a file of at most {max_lines:,} characters: all of it has to fit into memory"
            raise ConfigurationError(field=f"{path.name} line {number}", value="more", allowed=allowed)
        if "\0" in line or _ESCAPED.search(line):
            place_text, start = f"{path.name} line {number}", line[:_MAX_SHOWN]
            refuse("\0" in line, place_text, start, "text without NUL bytes")
            decode_line(line.encode("utf-8", "surrogateescape"), place_text, hint=_hint_of(path))
        yield line


def _hint_of(path: Path) -> str:
    """Return what to do about a file that is not as its byte order mark has it; nothing where it has none."""
    with open_bytes(path) as file:
        if file.read(len(BOM)) != BOM:
            return ""
    return "; the file begins as UTF-8 and goes on otherwise: save it as CSV (UTF-8) in the program that wrote it"


def _encoding_of(file: IO[bytes], path: Path) -> str:
    """Return a file's encoding; ConfigurationError for a file of another kind."""
    block = file.read(_BLOCK_BYTES)
    start = block.removeprefix(BOM).lstrip()[:2]
    is_json = path.suffix in _JSON or (start[:1] in {b"{", b"["} and start[1:].strip() in {b"", b'"', b"{", b"["})
    allowed = "a table: this one is JSON; choose CSV, or another table, where the program that wrote it exports it"
    refuse(is_json, path.name, str(path), allowed)
    allowed = "a table with a line for each voter, such as CSV: this one counts ballots by numbers (BLT)"
    refuse(path.suffix.casefold() == ".blt", path.name, str(path), allowed)
    for beginning, kind in _FOREIGN.items():
        allowed = f"This is {kind}, not a table. Open it, and save it as CSV (UTF-8) in the program that wrote it."
        refuse(block.startswith(beginning), path.name, str(path), allowed)
    if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if block.startswith(BOM):
        return _UTF_8
    if (unmarked := _find_unmarked_utf_16(block)) is not None:
        return unmarked
    utf_8, fallback = (codecs.getincrementaldecoder(name)() for name in (_UTF_8, _FALLBACK))
    is_utf_8 = is_fallback = True
    num_bytes = 0
    while block and num_bytes < _LOOKED_AT_BYTES:
        num_bytes += len(block)
        is_utf_8 = is_utf_8 and _decodes(utf_8, block)
        is_fallback = is_fallback and _decodes(fallback, block)
        block = file.read(_BLOCK_BYTES)
    if not block:  # all of it: what is cut off in the midst of a character is no UTF-8
        is_utf_8 = is_utf_8 and _decodes(utf_8, b"", final=True)
    return _UTF_8 if is_utf_8 or not is_fallback else _FALLBACK


def _find_unmarked_utf_16(block: bytes) -> str | None:
    """Return which UTF-16 a text without a mark is, by where the NULs of its ASCII stand; None where it is none."""
    number = block.count(b"\0")
    if not block or number < _PART_OF * len(block):
        return None
    for encoding, place in _UTF_16.items():
        if block[place::2].count(b"\0") >= _MOST_OF * number:
            return encoding
    return None


def _decodes(decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError:
        return False
    return True


def _delimiter_of(header: str, wanted_columns: Collection[str], path: Path) -> str:
    """Return the sign between the entries of a header; ConfigurationError where it can be read in two ways."""
    cells_of_sign = {sign: _cells(header, sign) for sign in _DELIMITERS}
    matches_of_sign = {sign: sum(name in cells for name in wanted_columns) for sign, cells in cells_of_sign.items()}
    signs = [sign for sign in cells_of_sign if matches_of_sign[sign] == max(matches_of_sign.values())]
    if len(signs) > 1:
        signs = [sign for sign in signs if len(cells_of_sign[sign]) > 1] or [","]
    if len(signs) == 1 or not any(matches_of_sign.values()):
        return signs[0]  # the comma, where there is one and nothing speaks for another
    kinds = " or ".join(_DELIMITERS[sign] for sign in signs)
    allowed = f"entries with one kind of sign between them, not {kinds}; names that hold one stand in quotes"
    raise ConfigurationError(field=f"{path.name} line 1", value=header.strip()[:_MAX_SHOWN], allowed=allowed)


def _is_like_the_others(line: str, lines: Sequence[str]) -> bool:
    """Return whether a sign stands in a line as often as in most of some lines, of which one alone tells nothing."""
    half = len(lines) / 2
    return len(lines) > 1 and any(
        (num_signs := line.count(sign)) and sum(each.count(sign) == num_signs for each in lines) > half
        for sign in _DELIMITERS
    )


def _cells(line: str, delimiter: str) -> list[str]:
    """Return the entries of a line, which may end within one."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), list[str]())]
    except csv.Error:
        return []
