"""Files of choices in processes of their own: seconds to read, write and group them by voter, and memory.

`preference_files.py write FILE VOTERS` writes a file in the Moral Machine's format, ten dilemmas a voter, rows
scattered. `preference_files.py stream FILE` groups it by voter, `preference_files.py choices FILE ROWS` writes and
reads a CSV file of choices. Each prints seconds and the peak of memory as JSON.

`preference_files.py VOTERS` prints both for so many voters: 4,000,000 are the whole Moral Machine, which takes 7 GB of
disk for the file and as much again for a while.
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
from peaks import peak_bytes
from psephos.scenarios.preferences.files import read_survey
from psephos.scenarios.preferences.machine_files import write_moral_machine_like
from psephos.scenarios.preferences.moral_machine_stream import stream_moral_machine
from table import NOTHING, Row, at_most

__all__ = ["measure"]

_QUICK_SIZES: Final = (1_000, 10_000)
_SIZES: Final = (10_000, 100_000)
_RECORDS: Final = 10
_ROWS_A_VOTER: Final = 2 * _RECORDS
_FEATURES: Final = 10
_CHOICE_ROWS: Final = 1_000_000
_MOST_SECONDS: Final = 10
_MOST_BYTES: Final = 1.2e9
_MEGABYTE: Final = 1_000_000


class _Child(msgspec.Struct, frozen=True):
    """What a process of its own measured."""

    seconds: float
    peak: int | None
    num_records: int


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield seconds of a CSV file of choices, and seconds and memory of grouping scattered responses by voter."""
    num_rows = _CHOICE_ROWS // 10 if quick else _CHOICE_ROWS
    with tempfile.TemporaryDirectory() as name:
        child = _run("choices", str(pathlib.Path(name) / "choices.csv"), str(num_rows))
        answer = (NOTHING, NOTHING) if quick else at_most(child.seconds, _MOST_SECONDS, unit=" s")
        what = f"read a CSV file of {num_rows:,} lines of choices, {_FEATURES} features"
        yield Row(what, f"{child.seconds:.1f} s", NOTHING, NOTHING, *answer)
    for voters in _QUICK_SIZES if quick else _SIZES:
        yield from _rows(voters)


def _rows(voters: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "responses.csv"
        written = _run("write", str(path), str(voters))
        what = f"scattered Moral Machine responses of {voters:,} voters ({voters * _ROWS_A_VOTER:,} rows)"
        size = path.stat().st_size / _MEGABYTE
        yield Row(f"write {what}", f"{written.seconds:.1f} s ({size:,.0f} MB)", NOTHING, NOTHING, NOTHING, NOTHING)
        try:
            streamed = _run("stream", str(path))
        except subprocess.CalledProcessError:
            yield Row(f"group {what} by voter", NOTHING, NOTHING, NOTHING, NOTHING, "needs the extra outofcore")
            return
        yield Row(f"group {what} by voter", f"{streamed.seconds:.1f} s", NOTHING, NOTHING, NOTHING, NOTHING)
        if streamed.peak is not None:
            answer = at_most(streamed.peak, _MOST_BYTES, unit=" B")
            what = f"memory of the whole process, {what} grouped by voter"
            yield Row(what, f"{streamed.peak / _MEGABYTE:,.0f} MB", NOTHING, NOTHING, *answer)


def _run(*arguments: str) -> _Child:
    done = subprocess.run(  # noqa: S603  this file, by this interpreter
        [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE
    )
    return msgspec.json.decode(done.stdout, type=_Child)


def _write(path: str, voters: str) -> int:
    return write_moral_machine_like(pathlib.Path(path), voters=int(voters), records=_RECORDS) // 2


def _stream(path: str) -> int:
    surveys = stream_moral_machine(pathlib.Path(path), folder=pathlib.Path(path).parent)
    return sum(survey.reading.num_records for survey in surveys)


def _choices(path: str) -> int:
    return read_survey(pathlib.Path(path)).reading.num_records


def _write_choices(path: str, rows: str) -> None:
    generator = np.random.default_rng(1)
    with pathlib.Path(path).open("w", encoding="utf-8") as file:
        file.write("voter,record,choice," + ",".join(f"x{place}" for place in range(_FEATURES)) + "\n")
        for place, numbers in enumerate(generator.normal(size=(int(rows), _FEATURES)).round(6).tolist()):
            cells = ",".join(map(str, numbers))
            file.write(f"voter {place // 100},{place % 100 // 2},{place % 2},{cells}\n")


def _measure_child(what: str, *arguments: str) -> None:
    if what == "choices":
        _write_choices(*arguments)
        arguments = arguments[:1]
    start = time.perf_counter()
    num_records = {"write": _write, "stream": _stream, "choices": _choices}[what](*arguments)
    seconds = time.perf_counter() - start
    sys.stdout.buffer.write(msgspec.json.encode(_Child(seconds, peak_bytes(), num_records)))


def _main() -> None:
    first, *others = sys.argv[1:]
    if others:
        _measure_child(first, *others)
        return
    for row in _rows(int(first)):
        print("  ".join(row.cells))


if __name__ == "__main__":
    _main()
