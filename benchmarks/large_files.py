"""A vote from Parquet files of any size: seconds of CPU and memory, beside DuckDB's plain sum over the same files.

`large_files.py FOLDER` is a process of its own that counts the files in a folder, and prints as JSON what it took. All
of it counts: looking at the files, reading, noise, reports, tallies, outcome; importing does not.
"""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
from peaks import peak_bytes
from psephos.scenarios import load_scenario, resolve, run_session
from rivals import RivalError, open_rival
from table import NOTHING, Row, at_most, skipped

__all__ = ["measure"]

_ROWS_A_FILE: Final = 1_000_000
_FILES: Final = 100
_QUICK_FILES: Final = 4
_MOST_TIMES: Final = 4
_MOST_MEGABYTES: Final = 400
_MEGABYTE: Final = 1_000_000
_SCENARIO: Final = """
protocol = "dpwevote"
name = "large"
noise = "simulated"
seed = 3
[parameters]
candidates = ["roof"]
epsilon = 1.0
"""


class _Counted(msgspec.Struct, frozen=True):
    """What a process of its own measured."""

    seconds: float
    peak: int | None
    num_rows: int


class _Summed(msgspec.Struct, frozen=True):
    """What the rival answers."""

    total: int
    seconds: float


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield CPU and memory of a yes-no vote from files of a million rows each."""
    num_files = _QUICK_FILES if quick else _FILES
    num_rows = num_files * _ROWS_A_FILE
    what = f"vote of {num_rows:,} rows in {num_files} Parquet files, CPU on one core, beside DuckDB's sum of them"
    if importlib.util.find_spec("pyarrow") is None:
        yield skipped(what, "needs the extra columnar")
        return
    with tempfile.TemporaryDirectory() as name:
        total = _write(pathlib.Path(name), num_files)
        done = subprocess.run([sys.executable, __file__, name], check=True, stdout=subprocess.PIPE)  # noqa: S603  this file, by this interpreter
        ours = msgspec.json.decode(done.stdout, type=_Counted)
        shown = f"{ours.seconds:.2f} s ({ours.seconds / num_rows * 1e6:.2f} µs a row)"
        try:
            with open_rival("rival_parquet.py", most_seconds=600) as rival:
                rival.tell(f"{name}/*.parquet".encode())
                theirs = msgspec.json.decode(rival.answer(), type=_Summed)
        except RivalError as error:
            yield Row(what, shown, goal=(NOTHING, str(error)))
        else:
            if (theirs.total, ours.num_rows) != (total, num_rows):
                raise RuntimeError(f"{theirs.total} yes of {ours.num_rows} rows, not {total} of {num_rows}")
            ratio = ours.seconds / theirs.seconds
            target = at_most(ratio, None if quick else _MOST_TIMES, unit=" ×")
            yield Row(what, shown, f"{theirs.seconds:.2f} s", f"{ratio:.1f}", target)
        if ours.peak is not None:
            megabytes = ours.peak / _MEGABYTE
            memory = f"memory of the whole process, vote of {num_rows:,} rows in Parquet files"
            yield Row(memory, f"{megabytes:,.0f} MB", goal=at_most(megabytes, _MOST_MEGABYTES, unit=" MB"))


def _write(folder: pathlib.Path, num_files: int) -> int:
    """Write files of yes and no, and return how many say yes."""
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    generator = np.random.default_rng(3)
    total = 0
    for number in range(num_files):
        votes = generator.integers(0, 2, _ROWS_A_FILE).astype(bool)
        total += int(votes.sum())
        parquet.write_table(arrow.table({"roof": votes}), folder / f"votes-{number:03}.parquet")
    return total


def _main() -> None:
    (name,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder) / "large.toml"
        scenario.write_text(f"{_SCENARIO}[partners]\nfile = '{name}/*.parquet'\n")
        began = time.process_time()
        record = run_session(resolve(load_scenario(str(scenario))), seed=3)
        seconds = time.process_time() - began
    num_rows = record.tallies[0].num_reports
    sys.stdout.buffer.write(msgspec.json.encode(_Counted(seconds, peak_bytes(), num_rows)))


if __name__ == "__main__":
    _main()
