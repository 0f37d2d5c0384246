"""Group any number of rows by their owners, on disk: memory holds a part of them at a time.

Names of whoever they belong to are in memory, and so is where each batch of rows stands; rows are not.
"""

import array
import bisect
import dataclasses
import importlib
import itertools
import re
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.columns import CodedColumn, normalize_name
from ...protocol.errors import ConfigurationError
from ...protocol.phases import Entries
from .batches import TableFiles
from .cells import number_in
from .columns import RowBatch, encode_entries
from .files import readable

_PART_BYTES: Final = 1 << 25
_NUMBER_BYTES: Final = 8
_MOST_NAMES: Final = 1 << 25
_BLANKS: Final = re.compile(r"^[^\S\n]|[^\S\n]$|[^\S\n ]|  ", re.MULTILINE)
"""What `alike` takes out of a name, or an empty name."""


class Names:
    """The distinct entries of a column of batches, in the order of their first rows.

    Args:
        as_they_are: whether entries may be empty, and blanks around them count.
        are_alike_one: whether names that differ in case or blanks alone are one: the first of them.
    """

    def __init__(self, column: str, *, as_they_are: bool = False, are_alike_one: bool = False) -> None:
        self._column = column
        self._as_they_are = as_they_are
        self._are_alike_one = are_alike_one
        self._codes: dict[str, int] = {}
        self._names = list[str]()
        self.first_rows = array.array("q")
        """The first row of each, counted over all batches from 0."""

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def codes_in(self, batch: RowBatch, start: int) -> IntArray:
        """Return the codes of a batch's entries, from row `start` on; ConfigurationError: an entry is empty."""
        entries = encode_entries(batch.table[self._column])
        pandas: Any = importlib.import_module("pandas")  # by name: half a second that most commands save
        codes, distinct = pandas.factorize(entries.codes)
        used_codes: list[int] = distinct.tolist()
        own_codes = np.empty(len(used_codes), dtype=np.int64)
        firsts = np.empty(len(used_codes), dtype=np.int64)
        firsts[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the first row of a code is written last
        for place, code in enumerate(used_codes):
            name = entries.names[code] if self._as_they_are else entries.names[code].strip()
            if not (name or self._as_they_are):
                place_text = batch.where(int(firsts[place]) + 1)
                raise ConfigurationError(field=f"{self._column} ({place_text})", value="", allowed="given")
            own_codes[place] = self._codes.setdefault(
                normalize_name(name) if self._are_alike_one else name, len(self._names)
            )
            if own_codes[place] == len(self._names):
                self._names.append(name)
                self.first_rows.append(start + int(firsts[place]))
        return own_codes[codes]


def hashed(entries: Entries) -> IntArray:
    """Return a number for each entry, which two of one person share with a chance of 2**-64."""
    column = encode_entries(entries)
    pandas: Any = importlib.import_module("pandas.util")  # by name: half a second that most commands save
    hashes = pandas.hash_array(np.array(list(column.names), dtype=object), categorize=False)
    return hashes.view(np.int64)[column.codes]


def numbers_in(entries: Entries) -> FloatArray:
    """Return entries as numbers; nan for what is none."""
    if isinstance(entries, np.ndarray):
        return np.asarray(entries, dtype=np.float64)
    names = entries.names if isinstance(entries, CodedColumn) else list(map(str, entries))
    try:
        numbers = [*map(number_in if "_" in "".join(names) else float, names)]  # twice as fast
    except ValueError:
        numbers = [*map(number_in, names)]
    values = np.array(numbers, dtype=np.float64)
    return values[entries.codes] if isinstance(entries, CodedColumn) else values


def check_each_once(files: TableFiles, role: str, *, are_unlike: bool) -> None:
    """Raise ConfigurationError where a party has two lines, each of which would cost it its ε, or one has no name.

    Memory holds 8 bytes of a name, of at most so many names (`_MOST_NAMES`): more take several passes.

    Args:
        role: what a party is.
        are_unlike: whether names that differ in case or blanks alone count as one.
    """
    name_of = normalize_name if are_unlike else str.strip

    def hashes() -> Generator[tuple[RowBatch, CodedColumn, NDArray[np.uint64]]]:
        for batch in files.batches([files.naming]):
            entries = encode_entries(batch.table[files.naming])
            text = "\n".join(entries.names)
            is_plain = text.isascii() and text.count("\n") < len(entries.names) and not _BLANKS.search(text)
            folded_names = (
                (text.casefold() if are_unlike else text).split("\n") if is_plain else map(name_of, entries.names)
            )
            named_column = CodedColumn(list(folded_names), entries.codes)
            yield batch, named_column, hashed(named_column).view(np.uint64)

    low, high = np.uint64(0), np.uint64(np.iinfo(np.uint64).max)
    while True:
        last, kept_hashes = high, np.zeros(0, dtype=np.uint64)
        for _, _, batch_hashes in hashes():
            batch_part, first = batch_hashes[(batch_hashes >= low) & (batch_hashes <= last)], len(kept_hashes)
            kept_hashes.resize(
                first + len(batch_part), refcheck=False
            )  # in its place: of millions of names each copy counts
            kept_hashes[first:] = batch_part
            while len(kept_hashes) > _MOST_NAMES and last > low:
                last = low + (last - low) // np.uint64(2)
                kept_hashes = kept_hashes[kept_hashes <= last]
        kept_hashes.sort()
        repeated_hashes = kept_hashes[1:][kept_hashes[1:] == kept_hashes[:-1]]
        if len(repeated_hashes):
            _refuse_second(hashes, np.unique(repeated_hashes), files.naming, role)
        if last == high:
            return
        low = last + np.uint64(1)


def _refuse_second(
    batches: Callable[[], Iterator[tuple[RowBatch, CodedColumn, NDArray[np.uint64]]]],
    repeated_hashes: NDArray[np.uint64],
    column: str,
    role: str,
) -> None:
    """Raise ConfigurationError of the first name that stands in a second line; two names may have one hash."""
    place_of_name = dict[str, tuple[int, int]]()
    for number, (batch, named_column, batch_hashes) in enumerate(batches()):
        for row in np.flatnonzero(np.isin(batch_hashes, repeated_hashes)).tolist():
            place = place_of_name.setdefault(named_column[row], (number, row))
            if place != (number, row):
                of_first, *_ = next(itertools.islice(batches(), place[0], None))
                first, first_name = of_first.where(place[1] + 1), encode_entries(of_first.table[column])[place[1]]
                place_text, name = batch.where(row + 1), encode_entries(batch.table[column])[row]
                same = (
                    "named once"
                    if name.strip() == first_name.strip()
                    else f"unlike {first_name!r}, but for case and blanks"
                )
                allowed = (
                    f"{same} ({first} has it too): each line costs that person its ε again. Leave one out; or, where "
                    f"each line is a person's own, the column of names, which {role}s.numbered = true does"
                )
                raise ConfigurationError(field=f"{role} ({place_text})", value=name, allowed=allowed)


class RowPlaces:
    """Where the rows of batches stand, by their numbers over all batches from 0."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._batches: list[RowBatch] = []
        self.num_rows = 0

    def add(self, batch: RowBatch) -> int:
        """Take note of one more, and return the number of its first row."""
        start = self.num_rows
        self._starts.append(start)
        self._batches.append(dataclasses.replace(batch, table={}))
        self.num_rows += batch.num_rows
        return start

    def _place_of(self, row: int) -> tuple[RowBatch, int]:
        place = bisect.bisect_right(self._starts, row) - 1
        return self._batches[place], row - self._starts[place]

    def where(self, row: int) -> str:
        """Return the file and the line or row."""
        batch, place = self._place_of(row)
        return batch.where(place + 1)

    def line(self, row: int) -> int:
        """Return the line or row in its file."""
        batch, place = self._place_of(row)
        return batch.lines[place]


class RowsByOwner:
    """Rows of integers, to be brought together by their owners; on disk these are temporary files, gone once closed.

    Args:
        folder: below it they are kept; None: in memory.
        width: how many integers a row has; the first is the code of whose it is.
    """

    def __init__(self, folder: Path | None, width: int) -> None:
        self._folder = folder or Path()
        self._width = width
        self._counts = np.zeros(0, dtype=np.int64)
        self._held = list[IntArray]()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if folder is not None:
            with self._write_parts():
                self._temporary = tempfile.TemporaryDirectory(dir=folder, prefix="private-")
        self._all = Path("" if self._temporary is None else self._temporary.name, "all")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def _write_parts(self) -> Any:
        return readable(self._folder, field="temporary files", what="a folder with room for them")

    def add(self, rows: IntArray) -> None:
        """Take up rows, shape (n, width)."""
        if self._temporary is None:
            self._held.append(rows)
            return
        counts = np.bincount(rows[:, 0], minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        with self._write_parts(), self._all.open("ab") as file:
            file.write(rows.tobytes())

    def in_order(self, place_of_code: IntArray) -> Generator[IntArray]:
        """Yield all rows with places instead of codes, by place and then as they came; of one place all together.

        Args:
            place_of_code: the place of each code; each place in [0, len(place_of_code)) is one's.
        """
        if self._temporary is None:
            rows = np.concatenate(self._held)
            self._held.clear()
            rows[:, 0] = place_of_code[rows[:, 0]]
            yield rows[np.argsort(rows[:, 0], kind="stable")]
            return
        max_rows = max(1, _PART_BYTES // (_NUMBER_BYTES * self._width))
        counts = np.empty_like(self._counts)
        counts[place_of_code] = self._counts
        part_of_place = (np.cumsum(counts) - counts) // max_rows
        for rows in self._read(self._all, max_rows):
            rows[:, 0] = place_of_code[rows[:, 0]]
            parts = part_of_place[rows[:, 0]]
            order = np.argsort(parts, kind="stable")
            distinct, starts = np.unique(parts[order], return_index=True)
            for part, part_rows in zip(distinct.tolist(), np.split(rows[order], starts[1:]), strict=True):
                with self._write_parts(), self._part(part).open("ab") as file:
                    file.write(part_rows.tobytes())
        self._all.unlink(missing_ok=True)
        for part in np.unique(part_of_place).tolist():
            (rows,) = self._read(self._part(part), -1)
            self._part(part).unlink()
            yield rows[np.argsort(rows[:, 0], kind="stable")]

    def split_batches(self, place_of_code: IntArray, max_rows: int) -> Generator[tuple[int, int, IntArray]]:
        """Yield the first place, the number and the rows, as `in_order` has them, of so many places at most."""
        for rows in self.in_order(place_of_code):
            first, last = int(rows[0, 0]), int(rows[-1, 0])
            for place in range(first, last + 1, max_rows):
                number = min(max_rows, last + 1 - place)
                yield place, number, rows[slice(*np.searchsorted(rows[:, 0], [place, place + number]))]

    def _part(self, number: int) -> Path:
        return self._all.with_name(f"{number}")

    def _read(self, path: Path, max_rows: int) -> Generator[IntArray]:
        """Yield so many rows of a file at a time; -1 for all."""
        with readable(path, field="temporary files"), path.open("rb") as file:
            while len(
                numbers := np.fromfile(file, dtype=np.int64, count=max_rows if max_rows < 0 else max_rows * self._width)
            ):
                yield numbers.reshape(-1, self._width)
