"""The header of a table and the rows below it that count, as options of the user say.

A header is the first line that is not empty, unless somebody says where it stands and how many lines it takes. One that
seems to stand elsewhere is asked about (`UnclearTableError`). Rows are left out as somebody says, which is counted.
"""

import collections
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from ...protocol.arguments import first_repeated
from ...protocol.errors import ConfigurationError, PsephosError, did_you_mean, require
from .cells import number_in

_LOOKED_AT: Final = 100  # rows in which a header is looked for
_FURTHEST: Final = 1_000
_LEAST_BELOW: Final = 2
_LEAST_WORDS: Final = 6  # lines of words that tell a name among them
_MOST_LINES: Final = 9
_MOST_SHOWN: Final = 12
_SINGLE: Final = "Response"  # below a question that has one column, as SurveyMonkey has it
_IMPORTED: Final = '{"ImportId"'  # how each entry of Qualtrics' last header line begins
_BEFORE_PART: Final = " - "  # between Qualtrics' question and what one of its columns is of

Rows: TypeAlias = Iterator[tuple[int, list[str]]]
"""The number of each row, as a spreadsheet counts, and its entries."""


class TableOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What may be said of any table that somebody saved.

    Args:
        sheet: of a workbook, the worksheet that is read; by default the first visible one with a table.
        header: the line of the header, as a spreadsheet counts; 0: the first that is not empty.
        header_lines: how many lines it takes: names are put together from them.
        only: which rows count, by the words of a column, as they stand there; all others are left out.
        leave_out_empty: columns whose empty entries leave a row out.

    Examples:
        >>> TableOptions(header=3, only={"status": ("member",)}).header
        3
    """

    sheet: str = ""
    header: int = 0
    header_lines: int = 1
    only: dict[str, tuple[str, ...]] = {}
    leave_out_empty: tuple[str, ...] = ()

    def alone(self) -> "TableOptions":
        """Return these options without those that a struct of a system's adds; ConfigurationError: one is none."""
        require(0 <= self.header <= _FURTHEST, "header", self.header, f"a line, from 1 to {_FURTHEST:,}")
        require(1 <= self.header_lines <= _MOST_LINES, "header_lines", self.header_lines, f"from 1 to {_MOST_LINES}")
        for name, words in self.only.items():
            require(words, f"only.{name}", "no words", "the words of rows that count")
        return TableOptions(**{name: getattr(self, name) for name in TableOptions.__struct_fields__})


def picks_in(text: str, header: Sequence[str]) -> list[tuple[str, str]]:
    """Return the column and the word that COLUMN=WORD may mean; where these hold a `=`, of this header's columns.

    Where none is one of these, of the last sign.

    Examples:
        >>> picks_in("status=member", ["name", "status"])
        [('status', 'member')]
    """
    splits = [(text[:place].strip(), text[place + 1 :].strip()) for place, sign in enumerate(text) if sign == "="]
    return [split for split in splits if split[0] in header] or splits[-1:]


USUAL: Final = TableOptions()
"""Of a table of which nothing is said."""


class UnclearTableError(ConfigurationError):
    """A table whose header seems to stand elsewhere than in its first line.

    Attributes:
        option: that says where.
        choice: what it seems to be.
        is_sure: whether the lines can be nothing else.
    """

    def __init__(self, sentence: str, *, option: str, choice: int, is_sure: bool = False) -> None:
        self.option, self.choice, self.is_sure = option, choice, is_sure
        self.field, self.value, self.allowed = f"--{option}", "left out", sentence
        PsephosError.__init__(self, sentence)


class HeadedRows:
    """The rows of a table that count, below its header, to be iterated over once: where each stands, and its entries.

    Blank rows are left out, and so are entries without a name that nobody fills.

    Attributes:
        header: the names of its columns; none where the table is empty.
        line: where the header begins, as a spreadsheet counts.
        unnamed: the columns without a name, from 1, which have one of ours.
        num_rows: how many rows have come, those that were left out among them.
        left_out: how many of them were left out, by the reason.

    Raises:
        ConfigurationError: an option is not allowed, or names no column; or, iterating, a row has too many entries or
            too few, a word of `only` is in no row, or no row is left.
    """

    def __init__(self, rows: Rows, options: TableOptions, path: Path, *, form: str = "", num_empty: int = 0) -> None:
        self._name, self._options, self._form, self._num_empty = path.name, options, form, num_empty
        count = max(_LOOKED_AT, options.header + options.header_lines)
        head = list(itertools.islice(rows, count))
        start = _first_of(head, options, path.name)
        lines = [row for _, row in head[start : start + options.header_lines]]
        self.line = head[start][0] if start < len(head) else 1
        self.header = _names(lines)
        self.unnamed = [place for place, name in enumerate(self.header, start=1) if not name]
        for place in self.unnamed:
            self.header[place - 1] = f"column {place}"
        self._rows = itertools.chain(head[start + options.header_lines :], rows)
        self.num_rows, self.left_out = 0, collections.Counter[str]()
        for key, names in (("only", options.only), ("leave_out_empty", options.leave_out_empty)):
            for name in names if self.header else ():
                header_text = ", ".join(self.header[:_MOST_SHOWN])
                allowed = f"a column of {path.name}: {header_text}{did_you_mean(name, self.header)}"
                require(name in self.header, key, name, allowed)

    def __iter__(self) -> Rows:
        """Yield the rows."""
        width, options = len(self.header), self._options
        picks = [(self.header.index(name), name, words) for name, words in options.only.items() if self.header]
        needed_columns = [(self.header.index(name), name) for name in options.leave_out_empty if self.header]
        other = {name: set[str]() for name in options.only}
        due = {(name, word) for name, words in options.only.items() for word in words}
        for line, row in self._rows:
            if not any(map(str.strip, row)):
                if not row or not self._num_empty:
                    continue
                self._num_empty -= 1
                del row[width:]
                row.extend([""] * (width - len(row)))
            while len(row) > width and not row[-1].strip():
                row.pop()
            if len(row) != width:
                header_text = ", ".join(self.header[:_MOST_SHOWN]) + (", ..." if width > _MOST_SHOWN else "")
                num_entries = "1 entry" if len(row) == 1 else f"{len(row)} entries"
                allowed = (
                    f"This line has {num_entries}, and the header {width}: {header_text}. Is a separator "
                    "missing, or one too many? Put text that has one in it into quotes."
                )
                raise ConfigurationError(
                    field=f"{self._name} line {line}", value=f"{len(row)} entries", allowed=allowed
                )
            self.num_rows += 1
            reason = next((f"{name} is empty" for place, name in needed_columns if not row[place].strip()), "")
            for place, name, words in () if reason else picks:
                if (word := row[place].strip()) in words:
                    due.discard((name, word))
                else:
                    other[name].add(word)
                    reason = f"{name} is not {' or '.join(map(repr, words))}"
                    break
            if reason:
                self.left_out[reason] += 1
            else:
                yield line, row
        for name, word in sorted(due):
            values_found = sorted(other[name])[:_MOST_SHOWN]
            allowed = (
                f"a word that stands there: {', '.join(map(repr, values_found))}{did_you_mean(word, values_found)}"
            )
            raise ConfigurationError(field=f"only.{name}", value=word, allowed=allowed)
        allowed = f"a table of which a row is left ({'; '.join(self.left_out)})"
        require(not self.left_out or self.left_out.total() < self.num_rows, self._name, "no rows", allowed)

    @property
    def has_words(self) -> bool:
        """Whether rows may be left out, which is known once all have come."""
        return bool(self._options.only or self._options.leave_out_empty)

    def note(self) -> str:
        """Return how the table was read as far as it was, as sentences for people; empty where nothing is odd."""
        options, name = self._options, self._name
        last = self.line + options.header_lines - 1
        parts = [self._form]
        if options.header_lines > 1:
            parts.append(f"The header of {name} is put together from lines {self.line} to {last}.")
        elif options.header:
            parts.append(f"The header of {name} is line {self.line}.")
        parts += [
            f"Column {place} of {name} has no name, and is called {self.header[place - 1]!r}." for place in self.unnamed
        ]
        parts += [
            f"{number:,} of {self.num_rows:,} rows of {name} are left out: {reason}."
            for reason, number in self.left_out.items()
        ]
        return " ".join(filter(None, parts))


def check_column_names(header: Sequence[str], place_text: str, allowed: str = "") -> None:
    """Raise ConfigurationError, of the first name that is wrong, unless a header's are distinct and not empty.

    Examples:
        >>> check_column_names(["name", "weight"], "votes.csv line 1")
    """
    wrong = first_repeated(["", *header])
    require(wrong is None, place_text, wrong, allowed or "a header of distinct, non-empty names")


def _first_of(head: Sequence[tuple[int, Sequence[str]]], options: TableOptions, name: str) -> int:
    """Return the place of the header's first line among rows; ConfigurationError where it is not there, or unclear."""
    filled = [place for place, (_, row) in enumerate(head) if _width(row)]
    if options.header:
        header_places = [place for place in filled if head[place][0] == options.header]
        require(header_places, "header", options.header, f"a line of {name} that is not empty")
        return header_places[0]
    if not filled:
        return len(head)
    rows = [head[place] for place in filled]
    if options.header_lines == 1:
        _check_lines(rows, name)
        _check_title(rows, name)
    return filled[0]


def _check_lines(rows: Sequence[tuple[int, Sequence[str]]], name: str) -> None:
    """Raise UnclearTableError if the header seems to take several lines."""
    number = 0
    for place, (_, row) in enumerate(rows[1:3], start=2):
        cells = [cell.strip() for cell in row if cell.strip()]
        if all(cell.startswith(_IMPORTED) for cell in cells):
            number = place
    is_sure = number > 0
    if not number and len(rows) > 2:  # noqa: PLR2004  a header of two lines, and a row
        (_, first), (_, second), (_, third) = rows[:3]
        names = [cell.strip() for cell in first[1:]]
        is_odd = "" in names[: _width(second)] or first_repeated(list(filter(None, names))) is not None
        number = 2 if is_odd and not second[0].strip() and third[0].strip() and _width(second) > 1 else 0
    number = number or next(
        (min_filled for min_filled in (3, 2) if _are_names([row for _, row in rows], min_filled)), 0
    )
    if number:
        raise UnclearTableError(
            (
                f"{name}: the header seems to take {number} lines. Add --header-lines {number} (in a scenario: "
                f"header_lines = {number}); or --header {rows[0][0]}, if it takes one; or that of its line, if a title "
                "stands above it."
            ),
            option="header-lines",
            choice=number,
            is_sure=is_sure,
        )


def _are_names(rows: Sequence[Sequence[str]], number: int) -> bool:
    """Return whether the first lines have names where all others have numbers, or words that stand there again.

    So it is in all columns of such, two at least, where each line has another name.
    """
    width = _width(rows[0])
    rows_below = rows[number:]
    if len(rows_below) < _LEAST_BELOW or any(_width(row) > width or len(row) < width for row in rows):
        return False
    columns_found = list[list[str]]()
    for column in zip(*(row[:width] for row in rows), strict=True):
        cells = [str(cell).strip() for cell in column]
        counts = collections.Counter(filter(None, cells[number:]))
        are_numbers = bool(counts) and not any(math.isnan(number_in(cell)) for cell in counts)
        if are_numbers or (len(rows_below) >= _LEAST_WORDS and counts and min(counts.values()) > 1):
            name_cells = cells[:number]
            if any(
                not cell or cell in counts or (are_numbers and not math.isnan(number_in(cell))) for cell in name_cells
            ):
                return False
            columns_found.append(name_cells)
    return len(columns_found) > 1 and all(len({*line}) == len(line) for line in zip(*columns_found, strict=True))


def _check_title(rows: Sequence[tuple[int, Sequence[str]]], name: str) -> None:
    """Raise UnclearTableError if a header seems to stand below lines of another width, as below a title."""

    def fits(first: int) -> bool:
        width = _width(rows[first][1])
        return all(_width(row) <= width <= len(row) for _, row in rows[first + 1 :])

    width = _width(rows[0][1])
    is_begun = len(rows) > 1 and width > 1 and _width(rows[1][1]) <= width <= len(rows[1][1])
    if is_begun or fits(0):
        return
    for place in range(1, len(rows) - 1):
        (line, row), width = rows[place], _width(rows[place][1])
        is_alone = all(len(title_row) != len(row) or _width(title_row) < width for _, title_row in rows[:place])
        if width > 1 and is_alone and fits(place):
            raise UnclearTableError(
                (
                    f"{name}: the header seems to be in line {line}. Add --header {line} (in a scenario: header = "
                    f"{line})."
                ),
                option="header",
                choice=line,
            )


def _width(row: Sequence[str]) -> int:
    """Return the place of the last entry that is not empty."""
    return max((place for place, cell in enumerate(row, start=1) if cell.strip()), default=0)


def _names(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns, put together from a header's lines: `question [part]`; empty where none is.

    A name that stands above several columns is that of those behind it too. Of Qualtrics' lines, of which the last has
    its own names, the first counts, and the second where it says which part of a question a column is.
    """
    width = max(map(_width, lines), default=0)
    rows = [[*map(str.strip, row), *[""] * width][:width] for row in lines]
    if len(rows) > 1 and any(rows[-1]) and all(cell.startswith(_IMPORTED) for cell in filter(None, rows[-1])):
        names, texts = rows[0], rows[1] if len(rows) > 2 else [""] * width  # noqa: PLR2004  names, texts, what is imported
        return [_name_of_part(name, text) for name, text in zip(names, texts, strict=True)]
    for upper_cell, lower_cell in itertools.pairwise(rows):
        for place in range(1, width):
            if lower_cell[place] and not upper_cell[place]:
                upper_cell[place] = upper_cell[place - 1]
    name_list = list[str]()
    for cells in zip(*rows, strict=True):
        name, *parts = [cell for cell, _ in itertools.groupby(cell for cell in cells if cell)] or [""]
        name_list.append(" ".join([name, *(f"[{part}]" for part in parts if part != _SINGLE)]))
    return name_list


def _name_of_part(name: str, text: str) -> str:
    """Return `Q3 [pool]` of Qualtrics' name `Q3_1` and the text `Rank them - pool`, and any other name as it is."""
    question, _, number = name.rpartition("_")
    part = text.rpartition(_BEFORE_PART)[2] if _BEFORE_PART in text else ""
    return f"{question} [{part}]" if question and number.isdigit() and part else name
