"""Files of choices in processes of their own: rows read in a second, and memory.

`preference_files.py VOTERS` writes a file in the Moral Machine's format, ten dilemmas a voter, rows scattered, and
reads it in both ways: whole in memory (`read_moral_machine`), and grouped by voter out of core
(`stream_moral_machine`). 4,000,000 voters are the whole Moral Machine, which takes 7 GB of disk for the file and as
much again for a while; above a million voters, only the second way is measured, since the first one takes more memory
than most machines have.

`preference_files.py WHAT FILE [NUMBER]` is such a process: it writes or reads a file, and prints as JSON the seconds,
the peak of its memory, and how many rows there were. Memory is that of the whole process, what was read included.
"""

import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from machine_files import write_moral_machine_like
from peaks import peak_bytes
from psephos.scenarios.moral_preferences.data.files import read_survey
from psephos.scenarios.moral_preferences.data.moral_machine import read_moral_machine, stream_moral_machine
from table import Row, at_most

__all__ = ["measure"]

_QUICK_SIZES: Final = (1_000, 10_000)
_SIZES: Final = (10_000, 100_000)
_MOST_VOTERS_IN_MEMORY: Final = 1_000_000
_RECORDS: Final = 10
_ROWS_A_VOTER: Final = 2 * _RECORDS
_FEATURES: Final = 10
_CHOICE_ROWS: Final = 1_000_000
_ROWS_A_RECORD: Final = 2
_ROWS_OF_CHOICES_A_VOTER: Final = 100
_MOST_SECONDS: Final = 10
_MOST_MEGABYTES: Final = 1_200
_MEGABYTE: Final = 1_000_000


class _Child(msgspec.Struct, frozen=True):
    """What a process of its own measured."""

    seconds: float
    peak: int | None
    num_rows: int


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield rows a second and memory of a CSV file of choices, and of scattered responses, read in either way."""
    num_rows = _CHOICE_ROWS // 10 if quick else _CHOICE_ROWS
    with tempfile.TemporaryDirectory() as name:
        path = str(pathlib.Path(name) / "choices.csv")
        _run("write choices", path, str(num_rows))
        what = f"a CSV file of {num_rows:,} lines of choices, {_FEATURES} features"
        yield from _reading(f"read {what}", _run("choices", path), most_seconds=None if quick else _MOST_SECONDS)
    for voters in _QUICK_SIZES if quick else _SIZES:
        yield from _rows(voters)


def _rows(voters: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "responses.csv"
        written = _run("write responses", str(path), str(voters))
        what = f"scattered Moral Machine responses of {voters:,} voters ({voters * _ROWS_A_VOTER:,} rows)"
        size = path.stat().st_size / _MEGABYTE
        yield Row(f"write {what}", f"{written.seconds:.1f} s ({size:,.0f} MB)")
        if voters <= _MOST_VOTERS_IN_MEMORY:
            yield from _reading(f"read {what}, in memory", _run("responses", str(path)))
        streamed = f"group {what} by voter, on disk"
        yield from _reading(streamed, _run("stream", str(path)), most_megabytes=_MOST_MEGABYTES)


def _reading(
    what: str, child: _Child, *, most_seconds: float | None = None, most_megabytes: float | None = None
) -> Iterator[Row]:
    ours = f"{child.seconds:.1f} s ({child.num_rows / child.seconds:,.0f} rows/s)"
    yield Row(what, ours, goal=at_most(child.seconds, most_seconds, unit=" s"))
    if child.peak is not None:
        megabytes = child.peak / _MEGABYTE
        answer = at_most(megabytes, most_megabytes, unit=" MB")
        yield Row(f"memory of the whole process, {what}", f"{megabytes:,.0f} MB", goal=answer)


def _run(*arguments: str) -> _Child:
    done = subprocess.run(  # noqa: S603  this file, by this interpreter
        [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE
    )
    return msgspec.json.decode(done.stdout, type=_Child)


def _write_responses(path: str, voters: str) -> int:
    return write_moral_machine_like(pathlib.Path(path), voters=int(voters), records=_RECORDS)


def _read_responses(path: str) -> int:
    return read_moral_machine(pathlib.Path(path)).reading.num_rows


def _stream_responses(path: str) -> int:
    surveys = stream_moral_machine(pathlib.Path(path), folder=pathlib.Path(path).parent)
    return sum(survey.reading.num_rows for survey in surveys)


def _write_choices(path: str, rows: str) -> int:
    generator = np.random.default_rng(1)
    with pathlib.Path(path).open("w", encoding="utf-8") as file:
        file.write("voter,record,choice," + ",".join(f"x{place}" for place in range(_FEATURES)) + "\n")
        for place, numbers in enumerate(generator.normal(size=(int(rows), _FEATURES)).round(6).tolist()):
            voter, row = divmod(place, _ROWS_OF_CHOICES_A_VOTER)
            record, choice = divmod(row, _ROWS_A_RECORD)
            file.write(f"voter {voter},{record},{choice},{','.join(map(str, numbers))}\n")
    return int(rows)


def _read_choices(path: str) -> int:
    return read_survey(pathlib.Path(path)).reading.num_rows


_STEPS: Final = {
    "write choices": _write_choices,
    "choices": _read_choices,
    "write responses": _write_responses,
    "responses": _read_responses,
    "stream": _stream_responses,
}


def _main() -> None:
    first, *others = sys.argv[1:]
    if not others:
        for row in _rows(int(first)):
            print("  ".join(row.cells))
        return
    start = time.perf_counter()
    num_rows = _STEPS[first](*others)
    seconds = time.perf_counter() - start
    sys.stdout.buffer.write(msgspec.json.encode(_Child(seconds, peak_bytes(), num_rows)))


if __name__ == "__main__":
    _main()
