"""PrefLib's files of orders: .soc, .soi, .toc and .toi.

    # NUMBER ALTERNATIVES: 3
    # ALTERNATIVE NAME 1: Oak
    52: 1,{2,3}

The letters say what the orders are: strict (s) or with ties (t), complete (c) or perhaps not (i). Voters are counted
in the order of the lines. Alternatives are numbered from 1, or from 0 as preflibtools and pref_voting write them; an
order whose ties are written in two ways may count as one unique order or, as there, as two.

It is parsed here and not by preflibtools since version 2.0.33 of that takes wrong totals, an alternative that is
repeated, omitted or unknown, a count below 0 and ties among strict orders without a word, and names no line for what
it does refuse.

Source: Mattei and Walsh (2013), PrefLib; the format of 2022, https://preflib.org/format.
"""

import contextlib
import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import ConfigurationError, refuse, require
from .ballots import MAX_ALTERNATIVES_OF_A_FILE, MAX_VOTERS, FileBallots, PlaceArray, make_distinct_names, tabulate
from .lines import line_fault, read_lines

PREFLIB_TYPES: Final = ("soc", "soi", "toc", "toi")

_ALTERNATIVES: Final = "NUMBER ALTERNATIVES"
_VOTERS: Final = "NUMBER VOTERS"
_ORDERS: Final = "NUMBER UNIQUE ORDERS"
_TYPE: Final = "DATA TYPE"
_NAME: Final = "ALTERNATIVE NAME "

_NUMBER: Final = r"[0-9]{1,9}"
_CLASS: Final = rf"(?:{_NUMBER}|\{{\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*\}})"
_COUNT: Final = re.compile(rf"\s*{_NUMBER}\s*")
_STRICT: Final = re.compile(rf"\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*")
_WEAK: Final = re.compile(rf"\s*{_CLASS}(?:\s*,\s*{_CLASS})*\s*")
_CLASSES: Final = re.compile(r"\{[^}]*\}|[0-9]+")
_BRACES: Final = str.maketrans("", "", "{}")


def type_of(path: Path) -> str:
    """Return what a file is by the end of its name, without `.gz`: "soc", "pb" and so on."""
    return Path(path.name.lower().removesuffix(".gz")).suffix.removeprefix(".")


def read_preflib(path: Path, *, field: str = "file") -> FileBallots:
    """Return the ballots of a PrefLib file of orders, which may be packed (`.gz`).

    UTF-8; lines end with LF or CR LF; blank lines and metadata that is not asked for are skipped. What the header says
    of the data's type and of the numbers of alternatives, voters and unique orders must be so.

    Args:
        path: the file, whose name ends with its type.

    Raises:
        ConfigurationError: the file cannot be read, or is not what it should be; the field names the line.
    """
    suffix = type_of(path)
    allowed = f"a file that ends with {', '.join(f'.{name}' for name in PREFLIB_TYPES)}"
    require(suffix in PREFLIB_TYPES, field, str(path), allowed)
    with contextlib.closing(read_lines(path, field=field)) as text:
        lines = enumerate(text, start=1)
        header, first = _read_header(path, lines)
        first_number, alternatives = header.alternatives(suffix)
        votes = _read_votes(path, itertools.chain(first, lines), is_strict=suffix.startswith("s"))
    last = first_number + len(alternatives) - 1
    classes, rank_table = _tabulate(path, votes, first=first_number, last=last, is_complete=suffix.endswith("c"))
    header.check_number(_VOTERS, int(votes.counts.sum()), "voters in the lines below")
    as_written = len(set(_rows_as_bytes(np.hstack([classes, rank_table]))))
    header.check_number(_ORDERS, len(set(_rows_as_bytes(classes))), "unique orders in the lines below", as_written)
    ids = tuple(str(number) for number in range(first_number, last + 1))
    return FileBallots(
        alternatives=make_distinct_names(alternatives, ids),
        ids=ids,
        classes=classes,
        listed=rank_table,
        ballot_of_voter=np.repeat(votes.order_of_line, votes.counts),
        lines=np.repeat(votes.lines, votes.counts),
        voters=(),
        source=path.name,
        is_strict=suffix == "soc",
    )


@dataclasses.dataclass(frozen=True)
class _Header:
    """The metadata: by key the line where it stands, and its value."""

    path: Path
    entries: Mapping[str, tuple[int, str]]

    def alternatives(self, suffix: str) -> tuple[int, list[str]]:
        """Return the first number, 0 or 1, and the names by their numbers; checks the data's type on the way."""
        line, of_type = self.entries.get(_TYPE, (0, suffix))
        if of_type.lower() != suffix:
            allowed = f"{suffix!r}, as the file's name ends"
            raise line_fault(self.path, line, of_type, allowed, what=_TYPE)
        entry_of_number = {
            key.removeprefix(_NAME): entry for key, entry in self.entries.items() if key.startswith(_NAME)
        }
        names: list[str] = []
        value = f"the numbers {', '.join(list(entry_of_number)[:12])}"
        first = 0 if "0" in entry_of_number else 1
        for number in range(first, first + len(entry_of_number)):
            require(
                str(number) in entry_of_number,
                f"{self.path.name}, {_NAME.strip()}",
                value,
                f"{first}, {first + 1}, … each",
            )
            names.append(entry_of_number[str(number)][1])
        self.check_number(_ALTERNATIVES, len(names), "alternatives that have a name")
        allowed = f"at most {MAX_ALTERNATIVES_OF_A_FILE:,}"
        refuse(len(names) > MAX_ALTERNATIVES_OF_A_FILE, f"{self.path.name}, {_ALTERNATIVES}", len(names), allowed)
        return first, names

    def check_number(self, key: str, found_number: int, what_counted: str, or_else: int = -1) -> None:
        """Raise ConfigurationError unless the header gives this number, or another one that would be right, too."""
        require(key in self.entries, f"{self.path.name}, header", f"no line '# {key}: …'", f"with {key}")
        line, number = self.entries[key]
        if not re.fullmatch(_NUMBER, number) or int(number) not in (found_number, or_else):
            raise line_fault(self.path, line, number, f"the number of {what_counted}, {found_number}", what=key)


@dataclasses.dataclass(frozen=True, eq=False)
class _VoteLines:
    """The lines of votes, and their orders: each that is written alike is there once.

    `numbers` and `classes` hold the alternatives of all orders one after another, numbered as in the file.
    """

    lines: IntArray
    counts: IntArray
    order_of_line: IntArray
    first_lines: IntArray
    numbers: IntArray
    classes: IntArray
    lengths: IntArray


def _read_header(path: Path, lines: Iterator[tuple[int, str]]) -> tuple[_Header, list[tuple[int, str]]]:
    """Return the header, and the line after it."""
    entries: dict[str, tuple[int, str]] = {}
    for number, line in lines:
        text = line.strip()
        if text and not text.startswith("#"):
            return _Header(path, entries), [(number, line)]
        key, _, value = text.removeprefix("#").partition(":")
        key = key.strip()
        if key in entries:
            raise line_fault(path, number, text, f"another key: line {entries[key][0]} has {key}")
        if key:
            entries[key] = number, value.strip()
    return _Header(path, entries), []


def _read_votes(path: Path, lines: Iterator[tuple[int, str]], *, is_strict: bool) -> _VoteLines:
    form = _STRICT if is_strict else _WEAK
    known_classes: dict[str, int] = {}
    known_counts: dict[str, int] = {}
    of_line: list[int] = []
    counts: list[int] = []
    orders: list[int] = []
    first_lines: list[int] = []
    total = 0
    for number, line in lines:
        count_text, _, order_text = line.partition(":")
        count = known_counts.get(count_text)
        order = known_classes.get(order_text)
        if count is None or order is None:
            if not line.strip():
                continue
            if (count is None and not _COUNT.fullmatch(count_text)) or (
                order is None and not form.fullmatch(order_text)
            ):
                raise _fault_of(path, number, line.strip(), is_strict=is_strict)
            if count is None:
                count = known_counts[count_text] = int(count_text)
            if order is None:
                order = known_classes[order_text] = len(known_classes)
                first_lines.append(number)
        total += count
        if not count or total > MAX_VOTERS:
            allowed = "a number of voters, at least 1" if not count else f"at most {MAX_VOTERS:,} voters in one file"
            raise line_fault(path, number, count, allowed, what="count")
        of_line.append(number)
        counts.append(count)
        orders.append(order)
    require(of_line, path.name, "a header alone", "a PrefLib file with votes")
    numbers, classes, lengths = _parse(list(known_classes))
    return _VoteLines(
        lines=np.array(of_line, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64),
        order_of_line=np.array(orders, dtype=np.int64),
        first_lines=np.array(first_lines, dtype=np.int64),
        numbers=numbers,
        classes=classes,
        lengths=lengths,
    )


def _parse(orders: Sequence[str]) -> tuple[IntArray, IntArray, IntArray]:
    """Return the alternatives, their classes and the lengths of well-formed orders."""
    lengths = np.array([order.count(",") + 1 for order in orders], dtype=np.int64)
    numbers = np.fromstring(",".join(orders).translate(_BRACES), dtype=np.int64, sep=",")
    starts = np.cumsum(lengths) - lengths
    classes = np.arange(len(numbers)) - np.repeat(starts, lengths)
    for place, order in enumerate(orders):
        if "{" in order:
            sizes = [group.count(",") + 1 for group in _CLASSES.findall(order)]
            classes[starts[place] : starts[place] + lengths[place]] = np.repeat(np.arange(len(sizes)), sizes)
    return numbers, classes, lengths


def _fault_of(path: Path, number: int, line: str, *, is_strict: bool) -> ConfigurationError:
    """Return what is wrong with a line of another form."""
    if line.startswith("#"):
        return line_fault(path, number, line, "a vote: metadata stand before the first of them")
    count, colon, order = line.partition(":")
    if not colon:
        return line_fault(path, number, line, "of the form 'count: 1,2,3'")
    if not re.fullmatch(_NUMBER, count.strip()):
        return line_fault(path, number, count.strip(), "a number of voters, at least 1", what="count")
    if is_strict and "{" in order:
        return line_fault(path, number, order.strip(), "a strict order: ties belong in a file .toc or .toi")
    tied_note = "" if is_strict else ", tied ones in braces"
    return line_fault(path, number, order.strip(), f"numbers of alternatives, separated by commas{tied_note}")


def _tabulate(
    path: Path, votes: _VoteLines, *, first: int, last: int, is_complete: bool
) -> tuple[PlaceArray, PlaceArray]:
    num_alternatives = last - first + 1
    is_unknown = (votes.numbers < first) | (votes.numbers > last)
    if np.any(is_unknown):
        place = int(np.argmax(is_unknown))
        line = int(np.repeat(votes.first_lines, votes.lengths)[place])
        allowed = f"a number of an alternative, {first} to {last}"
        raise line_fault(path, line, int(votes.numbers[place]), allowed, what="alternative")
    classes, rank_table, repeated_ballot = tabulate(
        votes.numbers - first, votes.classes, votes.lengths, num_alternatives=num_alternatives
    )
    if repeated_ballot >= 0:
        start = int(votes.lengths[:repeated_ballot].sum())
        order: list[int] = votes.numbers[start : start + int(votes.lengths[repeated_ballot])].tolist()
        repeated_number = next(number for place, number in enumerate(order) if number in order[:place])
        allowed = f"an order with each alternative once: {repeated_number} is repeated"
        raise line_fault(path, int(votes.first_lines[repeated_ballot]), order, allowed)
    if is_complete and np.any(votes.lengths < num_alternatives):
        row = int(np.argmax(votes.lengths < num_alternatives))
        omitted: list[int] = (np.flatnonzero(classes[row] == num_alternatives) + first).tolist()
        allowed = f"an order of all {num_alternatives} alternatives (incomplete ones belong in a file .soi or .toi)"
        value = f"an order without {', '.join(map(str, omitted[:12]))}"
        raise line_fault(path, int(votes.first_lines[row]), value, allowed)
    return classes, rank_table


def _rows_as_bytes(table: PlaceArray) -> list[bytes]:
    """Return each row of a table as one value that can be compared."""
    rows: list[bytes] = np.ascontiguousarray(table).view(f"V{table.shape[1] * table.itemsize}").ravel().tolist()
    return rows
