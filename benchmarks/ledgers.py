"""How long `psephos ledger` takes for a run of very many lines, and how much memory, against decoding alone."""

import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import msgspec
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.privacy import LedgerEntry
from psephos.scenarios.running.folder import to_json
from table import Row, at_most

__all__ = ["measure"]

_MOST_TIMES = 1.5
_MOST_MEGABYTES = 100.0
_DECODE = """
import sys
from psephos.scenarios.running.folder import entries_in
from pathlib import Path
for _ in entries_in(Path(sys.argv[1])):
    pass
"""
_RUN = """
import resource, runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as ending:
    assert not ending.code, ending.code
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield processor time, start included, and memory of a ledger of a million lines."""
    num_lines = 50_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        phases = DPWeVote(Parameters(candidates=("bridge",), epsilon=2.0)).phases
        with (folder / "ledger.jsonl").open("wb") as file:
            for phase in phases:
                entry = LedgerEntry.of(phase.losses[0], person="", session="council", phase=phase.name)
                for number in range(num_lines // len(phases)):
                    file.write(to_json(msgspec.structs.replace(entry, person=f"voter {number}")) + b"\n")
        decode = folder / "decode.py"
        decode.write_text(_DECODE)
        ours, megabytes = _used(pathlib.Path(sys.executable).parent / "psephos", "ledger", folder)
        alone, _ = _used(decode, folder)
    times, limit = ours / alone, at_most(ours / alone, _MOST_TIMES, unit=" x")
    yield Row(f"psephos ledger, {num_lines:,} lines", f"{ours:.1f} s", f"{alone:.1f} s", f"{times:.2f}", limit)
    limit = at_most(megabytes, _MOST_MEGABYTES, unit=" MB")
    yield Row("memory of it", f"{megabytes:.0f} MB", "", "", limit)


def _used(*words: object) -> tuple[float, float]:
    """Return the processor seconds and the megabytes that a program takes."""
    command = [sys.executable, "-c", _RUN, *map(str, words)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603  ours
    seconds, megabytes = map(float, said.splitlines()[-1].split())
    return seconds, megabytes
