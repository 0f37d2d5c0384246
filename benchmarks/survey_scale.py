"""Private moral preferences at the whole Moral Machine's size: from one file to four results, in bounded memory.

`survey_scale.py --voters 10000 100000 1000000 4000000 --folder FOLDER` makes for each number of voters a file in the
Moral Machine's format, ten dilemmas a voter, rows scattered; one that is in the folder already is used again, and with
`--resume` so is its measurement. Each file is read once: it is grouped by voter on disk, and every batch of voters goes
to one of two worker processes, which encodes, perturbs and tallies it by all four algorithms. `make bench-survey` runs
this and keeps the table in `docs/survey-scale.md`; 4,000,000 voters take 7 GB of disk for the file, and about as much
again for a while.

Each size is a process of its own, whose peak memory with its workers' is then that size's. Peaks are added up as if
they had come at the same time, which is more than was ever in memory. At the smallest size the tallies and the results
must be those of `run_batches`, bit for bit, with batches of another size.

The same 23 features, B = 2 and ε = 1 everywhere: for a voter in Algorithms 1 and 2, for a record otherwise. The two
begin with the same fits, whose seconds count for both. Accuracy is 1 − angle/π to the mean of all fits, which has no
noise in it. Algorithm 3 and the direction release estimate something else than that mean, and would not be at 1 without
noise either.
"""

import argparse
import concurrent.futures
import contextlib
import functools
import itertools
import math
import multiprocessing
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final, Self

import msgspec
import numpy as np
from machine_files import write_moral_machine_like
from peaks import peak_bytes
from psephos.protocol.moral_preferences import MoralPreferences, Outcome, Paradigm, Parameters, Records
from psephos.protocol.moral_preferences.parameters import MechanismName
from psephos.protocol.phases import CentralPhase, Inputs
from psephos.protocol.population import draw_for_release, draw_reports, run_batches, tally_batch
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.tally import Tally
from psephos.scenarios.moral_preferences.agreement import agreement_of
from psephos.scenarios.moral_preferences.data.dilemmas import FEATURES
from psephos.scenarios.moral_preferences.data.moral_machine import stream_moral_machine
from psephos.scenarios.moral_preferences.data.survey import Survey
from table import NOTHING, Row, at_most, rewrite_between_marks, to_markdown, to_text
from trials import timed

__all__ = ["measure"]

_QUICK_SIZES: Final = (1_000, 10_000)
_SIZES: Final = (10_000, 100_000)
_ALL_SIZES: Final = (10_000, 100_000, 1_000_000, 4_000_000)
_RECORDS: Final = 10
_ROWS_A_VOTER: Final = 2 * _RECORDS
_SEED: Final = 1
_NUM_WORKERS: Final = 2
# What a batch's 299 noisy coefficients a voter need stays small, and what goes to a worker at a time does.
_BATCH_VOTERS: Final = 2_000
_BATCH_VOTERS_OF_CHECK: Final = 3_000
# Batches that are read before they are needed: what more there are would wait in memory.
_MOST_PENDING: Final = 3 * _NUM_WORKERS
_MOST_MEGABYTES: Final = 2_000
_MOST_EXPONENT: Final = 1.1
_SECONDS_BETWEEN_LINES: Final = 10
_OF_SIZE: Final = re.compile(r"(?P<what>.+), (?P<size>[\d,]+) voters with .+")
_MEGABYTE: Final = 1_000_000
_KIBIBYTE: Final = 1024
_PROCESSES: Final = pathlib.Path("/proc")
# Two workers are for two cores, so that no library may start threads of its own.
_ONE_THREAD: Final = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


class _Algorithm(msgspec.Struct, frozen=True):
    """One of those that are compared."""

    name: str
    paradigm: Paradigm
    mechanism: MechanismName


_ALGORITHMS: Final = (
    _Algorithm("Algorithm 1 (VLCP)", Paradigm.VLCP, "laplace"),
    _Algorithm("Algorithm 2 (VLDP)", Paradigm.VLDP, "laplace"),
    _Algorithm("Algorithm 3 (RLDP)", Paradigm.RLDP, "functional"),
    _Algorithm("direction release (RLDP)", Paradigm.RLDP, "direction"),
)


class _Child(msgspec.Struct, frozen=True):
    """What a process of its own measured.

    Args:
        seconds: from the start of reading to the last result.
        cpu_seconds: of this process and its workers, all in all.
        seconds_of_reading: in which a batch was waited for.
        seconds_of_algorithms: of CPU, in the workers.
        preferences: by algorithm.
        fits: the mean of all voters' fits.
        peak: of the memory of this process and its workers; None where the system does not tell.
        num_voters: how many were read.
        num_records: likewise.
    """

    seconds: float
    cpu_seconds: float
    seconds_of_reading: float
    seconds_of_algorithms: list[float]
    preferences: list[list[float]]
    fits: list[float]
    peak: int | None
    num_voters: int
    num_records: int


class _Part(msgspec.Struct, frozen=True):
    """What a worker returns of a batch: each algorithm's tally, before a server's noise, and its CPU seconds."""

    num_voters: int
    tallies: list[Tally]
    seconds: list[float]


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield seconds, accuracy and memory of four algorithms from file to result, and the exponent of growth."""
    with tempfile.TemporaryDirectory() as name:
        yield from _measure(_QUICK_SIZES if quick else _SIZES, pathlib.Path(name), has_target=not quick)


def _measure(
    sizes: Sequence[int], folder: pathlib.Path, *, has_target: bool, is_resumed: bool = False
) -> Iterator[Row]:
    found: list[_Child] = []
    for num_voters in sizes:
        path = folder / f"responses-{num_voters}.csv"
        kept = path.with_suffix(".json")
        if not (is_resumed and kept.exists()):
            _make_file(path, num_voters)
            kept.write_bytes(_run_child(path, is_checked=num_voters == min(sizes)))
        child = msgspec.json.decode(kept.read_bytes(), type=_Child)
        if (child.num_voters, child.num_records) != (num_voters, num_voters * _RECORDS):
            raise ValueError(f"{path} must have {num_voters} voters, it has {child.num_voters}")
        accuracies = [agreement_of(own, child.fits) or math.nan for own in child.preferences]
        yield from _rows(child, accuracies, has_target=has_target)
        found.append(child)
    found.sort(key=lambda child: child.num_voters)
    if len(found) > 2:  # noqa: PLR2004  two sizes have one exponent
        for first, last in itertools.pairwise(found):
            yield _growth([first, last], has_target=False)
    if len(found) > 1:
        yield _growth(found, has_target=has_target)


def _rows(child: _Child, accuracies: Sequence[float], *, has_target: bool) -> Iterator[Row]:
    what = f"{child.num_voters:,} voters with {_RECORDS} records of {len(FEATURES)} features"
    seconds = f"{child.seconds:,.1f} s ({child.cpu_seconds:,.1f} s of CPU)"
    yield Row(f"moral preferences by four algorithms, file to results, {what}", seconds)
    yield Row(f"of that, reading and grouping by voter, {what}", f"{child.seconds_of_reading:,.1f} s")
    for algorithm, of_algorithm, accuracy in zip(_ALGORITHMS, child.seconds_of_algorithms, accuracies, strict=True):
        yield Row(f"of that, {algorithm.name}, {what}", f"{of_algorithm:,.1f} s of CPU (accuracy {accuracy:.5f})")
    if child.peak is not None:
        megabytes = child.peak / _MEGABYTE
        answer = at_most(megabytes, _MOST_MEGABYTES if has_target else None, unit=" MB")
        yield Row(f"memory of all processes, {what}", f"{megabytes:,.0f} MB", goal=answer)


def _growth(children: Sequence[_Child], *, has_target: bool) -> Row:
    sizes = np.log([child.num_voters for child in children])
    exponent, of_cpu = (
        float(np.polyfit(sizes, np.log(seconds), 1)[0])
        for seconds in ([child.seconds for child in children], [child.cpu_seconds for child in children])
    )
    first, last = children[0].num_voters, children[-1].num_voters
    what = (
        f"moral preferences by four algorithms, exponent of growth of the CPU's seconds, {first:,} to {last:,} voters"
    )
    answer = at_most(of_cpu, _MOST_EXPONENT if has_target else None)
    return Row(what, f"{of_cpu:.2f} (on the clock {exponent:.2f})", goal=answer)


def _by_size(rows: Sequence[Row]) -> str:
    """Return the rows as a table with a column for each number of voters, and one of what is of no single number."""
    cells: dict[str, dict[str, str]] = {}
    others: list[tuple[str, ...]] = []
    for row in rows:
        found = _OF_SIZE.fullmatch(row.what)
        if found is None:
            others.append((row.what, row.ours, *row.goal))
        else:
            cells.setdefault(found["what"], {})[f"{found['size']} voters"] = row.ours
    sizes = tuple(dict.fromkeys(size for of_what in cells.values() for size in of_what))
    lines = [(what, *(of_what.get(size, NOTHING) for size in sizes)) for what, of_what in cells.items()]
    return "\n\n".join((to_markdown(lines, ("what", *sizes)), to_markdown(others, ("what", "ours", "target", "met"))))


def _make_file(path: pathlib.Path, num_voters: int) -> None:
    """Write a file of so many voters, unless it is there."""
    if path.exists():
        return
    # Under another name until it is done, so that half a file is never taken for one.
    beside = path.with_suffix(".part")
    seconds = timed(lambda: write_moral_machine_like(beside, voters=num_voters, records=_RECORDS, seed=_SEED))
    beside.rename(path)
    _say(f"{path.name}: {path.stat().st_size / _MEGABYTE:,.0f} MB written in {seconds:.1f} s")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _run_child(path: pathlib.Path, *, is_checked: bool) -> bytes:
    done = subprocess.run(  # noqa: S603  this file, by this interpreter
        [sys.executable, __file__, "run", str(path), *(["checked"] if is_checked else [])],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **_ONE_THREAD},
    )
    return done.stdout


@functools.cache
def _protocols() -> list[MoralPreferences]:
    features = tuple(FEATURES)
    return [
        MoralPreferences(
            Parameters(
                features=features,
                paradigm=algorithm.paradigm,
                mechanism=algorithm.mechanism,
                epsilon=1.0,
                max_records=_RECORDS,
            )
        )
        for algorithm in _ALGORITHMS
    ]


def _noise_of(algorithm: _Algorithm) -> SimulatedNoise:
    # A session each: no two algorithms have the same noise.
    return SimulatedNoise(_SEED, session=algorithm.name)


def _work(start: int, records: Records) -> _Part:
    """Run by a worker: tally a batch of voters by all algorithms.

    Args:
        start: the first voter's place among all.
        records: the batch's.
    """
    tallies: list[Tally] = []
    seconds: list[float] = []
    encoded: dict[str, tuple[Inputs, float]] = {}
    for algorithm, protocol in zip(_ALGORITHMS, _protocols(), strict=True):
        if algorithm.mechanism not in encoded:
            begin = time.thread_time()
            inputs = protocol.encode({"records": records})
            encoded[algorithm.mechanism] = (inputs, time.thread_time() - begin)
        inputs, seconds_of_encoding = encoded[algorithm.mechanism]
        begin = time.thread_time()
        protocol.check_inputs(inputs)
        phase = protocol.phase
        drawn = draw_reports(phase, inputs, noise=_noise_of(algorithm), protocol=protocol.name, start=start)
        tallies.append(tally_batch(phase, drawn, [], inputs.public, slice(None)))
        seconds.append(seconds_of_encoding + time.thread_time() - begin)
    return _Part(len(records), tallies, seconds)


class _Sums:
    """What has come back from workers so far, and a line of progress every ten seconds."""

    def __init__(self) -> None:
        self.part: _Part | None = None
        self.num_read = 0
        self._begin = time.perf_counter()
        self._is_over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Begin to tell."""
        self._watcher.start()
        return self

    def __exit__(self, *details: object) -> None:
        """Tell no more."""
        self._is_over.set()
        self._watcher.join()

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.perf_counter() - self._begin

    def add(self, part: _Part) -> None:
        """Take a batch along, in any order."""
        if self.part is not None:
            tallies = [ours.merge(its) for ours, its in zip(self.part.tallies, part.tallies, strict=True)]
            seconds = [ours + its for ours, its in zip(self.part.seconds, part.seconds, strict=True)]
            part = _Part(self.part.num_voters + part.num_voters, tallies, seconds)
        self.part = part

    def _watch(self) -> None:
        while not self._is_over.wait(_SECONDS_BETWEEN_LINES):
            num_done = 0 if self.part is None else self.part.num_voters
            memory = sum(_memory_of_processes("VmRSS:"))
            _say(
                f"{self.seconds:,.0f} s: {self.num_read:,} voters grouped, {num_done:,} tallied, "
                f"{memory / _MEGABYTE:,.0f} MB"
            )


def _run(path: pathlib.Path) -> tuple[_Child, list[Tally], list[Outcome]]:
    """Return what was measured, and each algorithm's tally and outcome."""
    context = multiprocessing.get_context("spawn")
    num_records = 0
    seconds_of_reading = 0.0
    pending: set[concurrent.futures.Future[_Part]] = set()
    with _Sums() as sums:
        with (
            concurrent.futures.ProcessPoolExecutor(_NUM_WORKERS, mp_context=context) as pool,
            contextlib.closing(_surveys(path, _BATCH_VOTERS)) as surveys,
        ):
            while True:
                begin = time.perf_counter()
                survey = next(surveys, None)
                seconds_of_reading += time.perf_counter() - begin
                if survey is None:
                    break
                pending.add(pool.submit(_work, sums.num_read, survey.records))
                sums.num_read += len(survey.voters)
                num_records += survey.reading.num_records
                pending = _collect(pending, sums, most=_MOST_PENDING - 1)
            _collect(pending, sums, most=0)
            memory = _memory_of_processes("VmHWM:")
        part = sums.part
        if part is None:
            raise ValueError(f"{path} has no voters")
        tallies, outcomes = _release(part.tallies)
        seconds = sums.seconds
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    fits = part.tallies[0].totals * _protocols()[0].summary.step / part.num_voters
    child = _Child(
        seconds=seconds,
        cpu_seconds=math.fsum(usage.ru_utime + usage.ru_stime for usage in usages),
        seconds_of_reading=seconds_of_reading,
        seconds_of_algorithms=part.seconds,
        preferences=[list(outcome.preferences) for outcome in outcomes],
        fits=fits.tolist(),
        peak=sum(memory) if peak_bytes() is not None else None,
        num_voters=part.num_voters,
        num_records=num_records,
    )
    return child, tallies, outcomes


def _surveys(path: pathlib.Path, batch_voters: int) -> Generator[Survey]:
    return stream_moral_machine(path, folder=path.parent, batch_voters=batch_voters, max_records=_RECORDS)


def _collect(
    pending: set[concurrent.futures.Future[_Part]], sums: _Sums, *, most: int
) -> set[concurrent.futures.Future[_Part]]:
    """Wait until so many are pending at most, and take along what is done."""
    while len(pending) > most:
        done, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            sums.add(future.result())
    return pending


def _release(tallies: Iterable[Tally]) -> tuple[list[Tally], list[Outcome]]:
    """Return what a closed phase leaves of each algorithm's tally, and its outcome."""
    closed: list[Tally] = []
    outcomes: list[Outcome] = []
    for algorithm, protocol, tally in zip(_ALGORITHMS, _protocols(), tallies, strict=True):
        phase = protocol.phase
        if isinstance(phase, CentralPhase):
            draw = draw_for_release(_noise_of(algorithm), protocol=protocol.name, phase=phase)
            closed.append(phase.randomize_tally(tally, draw))
        else:
            closed.append(tally)
        outcomes.append(protocol.outcome(closed[-1:]))
    return closed, outcomes


def _check(path: pathlib.Path, tallies: Sequence[Tally], outcomes: Sequence[Outcome]) -> None:
    """Raise ValueError unless the same voters, one batch after another in one process, give the same bits."""
    for algorithm, protocol, tally, outcome in zip(_ALGORITHMS, _protocols(), tallies, outcomes, strict=True):
        with contextlib.closing(_surveys(path, _BATCH_VOTERS_OF_CHECK)) as surveys:
            batches = (protocol.encode({"records": survey.records}) for survey in surveys)
            result = run_batches(protocol, batches, noise=_noise_of(algorithm))
        if result.tallies != (tally,) or result.outcome != outcome:
            raise ValueError(f"{algorithm.name}: workers must give what run_batches gives")


def _memory_of_processes(name: str) -> list[int]:
    """Return the bytes that this process and each process that it started has, or has had at most."""
    us = str(os.getpid())
    sizes: list[int] = []
    for path in _PROCESSES.glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # a process that has ended meanwhile
            status = dict(line.split(maxsplit=1) for line in path.read_text().splitlines() if len(line.split()) > 1)
            if us in {path.parent.name, status.get("PPid:", "").strip()} and name in status:
                sizes.append(int(status[name].split()[0]) * _KIBIBYTE)
    return sizes


def _run_as_child(path: str, *options: str) -> None:
    child, tallies, outcomes = _run(pathlib.Path(path))
    if options:
        _check(pathlib.Path(path), tallies, outcomes)
    sys.stdout.buffer.write(msgspec.json.encode(child))


def _main() -> None:
    if sys.argv[1:2] == ["run"]:
        _run_as_child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voters", type=int, nargs="+", default=_ALL_SIZES, metavar="NUMBER", help="the sizes")
    parser.add_argument("--folder", type=pathlib.Path, help="where files are kept; by default they are removed")
    parser.add_argument("--resume", action="store_true", help="measure only what the folder has no measurement of")
    parser.add_argument(
        "--markdown", type=pathlib.Path, metavar="FILE", help="write the table into FILE too, between its marks"
    )
    options = parser.parse_args()
    rows: list[Row] = []
    with contextlib.ExitStack() as stack:
        folder = options.folder
        if folder is None:
            folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        for row in _measure(options.voters, folder, has_target=True, is_resumed=options.resume):
            _say(f"{row.what}: {row.ours}")
            rows.append(row)
    print(to_text(rows))
    if options.markdown is not None:
        rewrite_between_marks(options.markdown, _by_size(rows))


if __name__ == "__main__":
    _main()
