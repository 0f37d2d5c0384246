"""A vote from Parquet files of any size: seconds of CPU and memory, beside DuckDB's plain sum over the same files.

    python benchmarks/harness.py files vote 1 FOLDER

counts the files in a folder, and prints what it took. All of it counts: looking at the files, reading, noise, reports,
tallies, outcome; importing does not.
"""

import importlib
import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Rows, Used, apart, open_rival, or_skipped, row, skipped
from psephos.scenarios import load_scenario, resolve, run_session

_ROWS_A_FILE = 1_000_000
_SCENARIO = """
protocol = "dpwevote"
name = "large"
noise = "simulated"
seed = 3
[parameters]
candidates = ["roof"]
epsilon = 1.0
[partners]
file = '{}/*.parquet'
"""


def large_files(*, quick: bool) -> Rows:
    """Yield CPU and memory of a yes-no vote from files of a million rows each."""
    number = 4 if quick else 100
    of = f"vote of {number * _ROWS_A_FILE:,} rows in"
    what = f"{of} {number} Parquet files, CPU on one core, beside DuckDB's sum of them"
    if importlib.util.find_spec("pyarrow") is None:
        yield skipped(what, "needs the extra columnar")
        return
    with tempfile.TemporaryDirectory() as folder:
        total = _write(Path(folder), number)
        ours = apart(vote, folder)
        yield from or_skipped(what, _beside_duckdb(what, folder, ours, total))
    what = f"memory of the whole process, {of} Parquet files"
    yield row(what, ours.megabytes, show="{:,.0f} MB", target="≤ 400 MB")


def _beside_duckdb(what: str, folder: str, ours: Used, total: int) -> Rows:
    with open_rival("duckdb", most_seconds=600) as rival:
        theirs = rival.ask(f"{folder}/*.parquet")
    if theirs["total"] != total:
        raise RuntimeError(f"{theirs['total']} yes, not {total}")
    note = f" ({ours.cpu / ours.value * 1e6:.2f} µs a row)"
    yield row(what, ours.cpu, theirs["seconds"], note=note, target="≤ 4")


def _write(folder: Path, num_files: int) -> int:
    """Write files of yes and no, and return how many say yes."""
    arrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")
    generator, total = np.random.default_rng(3), 0
    for number in range(num_files):
        votes = generator.integers(0, 2, _ROWS_A_FILE).astype(bool)
        total += int(votes.sum())
        parquet.write_table(arrow.table({"roof": votes}), folder / f"votes-{number:03}.parquet")
    return total


def vote(folder: str) -> Callable[[], int]:
    """Return the vote of a folder's files, which returns how many rows they have."""

    def run() -> int:
        with tempfile.TemporaryDirectory() as place:
            scenario = Path(place) / "large.toml"
            scenario.write_text(_SCENARIO.format(folder), encoding="utf-8")
            return run_session(resolve(load_scenario(str(scenario))), seed=3).tallies[0].num_reports

    return run
