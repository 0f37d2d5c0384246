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

import concurrent.futures
import contextlib
import functools
import hashlib
import itertools
import json
import math
import multiprocessing
import os
import re
import resource
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any
from unittest import mock

import msgspec
import numpy as np
from harness import (
    DOCS,
    MEGABYTE,
    NOTHING,
    Row,
    Rows,
    Run,
    Used,
    apart,
    memory,
    options,
    rewrite_between_marks,
    row,
    to_markdown,
)
from machine_files import write_moral_machine_like
from psephos.protocol import Inputs, SimulatedNoise, Tally, release_tallies, run_batches, tally_places
from psephos.protocol.moral_preferences import MoralPreferences, Parameters, Records
from psephos.protocol.tally import Merged
from psephos.scenarios.moral_preferences.agreement import agreement_of
from psephos.scenarios.moral_preferences.data.dilemmas import FEATURES
from psephos.scenarios.moral_preferences.data.moral_machine import ResponseFiles
from psephos.scenarios.moral_preferences.data.responses import Limits
from psephos.scenarios.moral_preferences.data.survey import Survey

_RECORDS = 10
# Two workers are for two cores, so that no library may start threads of its own.
_ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
_ALGORITHMS = {
    "Algorithm 1 (VLCP)": ("VLCP", "laplace"),
    "Algorithm 2 (VLDP)": ("VLDP", "laplace"),
    "Algorithm 3 (RLDP)": ("RLDP", "functional"),
    "direction release (RLDP)": ("RLDP", "direction"),
}


def survey_scale(*, quick: bool) -> Rows:
    """Yield seconds, accuracy and memory of four algorithms from file to result, and the exponent of growth."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _measure([1_000, 10_000] if quick else [10_000, 100_000], Path(folder))


def _measure(sizes: Sequence[int], folder: Path, *, is_resumed: bool = False) -> Rows:
    found: dict[int, Used] = {}
    for voters in sorted(sizes):
        path = folder / f"responses-{voters}.csv"
        kept = path.with_suffix(".json")
        if not (is_resumed and kept.exists()):
            if not path.exists():
                # Under another name until it is done, so that half a file is never taken for one.
                part = path.with_suffix(".part")
                write_moral_machine_like(part, voters=voters, records=_RECORDS, seed=1)
                part.rename(path)
            with mock.patch.dict(os.environ, _ONE_THREAD):
                used = apart(survey, path)
            if voters == min(sizes) and used.value["digest"] != apart(check, path).value["digest"]:
                raise ValueError(f"{path}: workers must give what run_batches gives")
            kept.write_text(json.dumps(used))
        found[voters] = Used(*json.loads(kept.read_text()))
        yield from _rows(voters, found[voters].value, found[voters].seconds)
    pairs = list(itertools.pairwise(found)) if len(found) > 2 else []  # noqa: PLR2004  two sizes have one exponent
    for pair in [*pairs, list(found)] if len(found) > 1 else []:
        exponents = [
            float(np.polyfit(np.log(pair), np.log(seconds), 1)[0])
            for seconds in ([found[each].value["cpu"] for each in pair], [found[each].seconds for each in pair])
        ]
        what = (
            "moral preferences by four algorithms, exponent of growth of the CPU's seconds, "
            f"{pair[0]:,} to {pair[-1]:,} voters"
        )
        note = f" (on the clock {exponents[1]:.2f})"
        yield row(what, exponents[0], show="{:.2f}", note=note, target="≤ 1.1" if len(pair) == len(found) else "")


def _rows(voters: int, found: Any, seconds: float) -> Rows:
    if (found["voters"], found["records"]) != (voters, voters * _RECORDS):
        raise ValueError(f"a file of {voters} voters has {found['voters']}, with {found['records']} records")
    what, show = f"{voters:,} voters with {_RECORDS} records of {len(FEATURES)} features", "{:,.1f} s"
    note = f" ({found['cpu']:,.1f} s of CPU)"
    yield row(f"moral preferences by four algorithms, file to results, {what}", seconds, show=show, note=note)
    yield row(f"of that, reading and grouping by voter, {what}", found["waiting"], show=show)
    for name, took, preferences in zip(_ALGORITHMS, found["seconds"], found["preferences"], strict=True):
        note = f" of CPU (accuracy {agreement_of(preferences, found['fits']) or math.nan:.5f})"
        yield row(f"of that, {name}, {what}", took, show=show, note=note)
    what = f"memory of all processes, {what}"
    yield row(what, found["peak"] / MEGABYTE, show="{:,.0f} MB", target="≤ 2000 MB")


@functools.cache
def _protocols() -> list[tuple[MoralPreferences, SimulatedNoise]]:
    """Return each algorithm, with a session of its own: no two have the same noise."""
    found: list[tuple[MoralPreferences, SimulatedNoise]] = []
    for name, (paradigm, mechanism) in _ALGORITHMS.items():
        known = {"features": list(FEATURES), "epsilon": 1.0, "max_records": _RECORDS}
        parameters = msgspec.convert({**known, "paradigm": paradigm, "mechanism": mechanism}, Parameters)
        found.append((MoralPreferences(parameters), SimulatedNoise(1, session=name)))
    return found


def _work(start: int, records: Records) -> list[tuple[Tally, float]]:
    """Run by a worker: tally a batch of voters, the first of this place, by all algorithms, with seconds of CPU."""
    found: list[tuple[Tally, float]] = []
    encoded: dict[str, tuple[Inputs, float]] = {}
    for protocol, noise in _protocols():
        mechanism, begin = protocol.parameters.mechanism, thread_time()
        if mechanism not in encoded:
            encoded[mechanism] = protocol.encode({"records": records}), thread_time() - begin
        inputs, of_encoding = encoded[mechanism]
        begin = thread_time()
        (tally,) = tally_places(protocol, inputs, noise=noise, start=start)
        found.append((tally, of_encoding + thread_time() - begin))
    return found


def _surveys(path: str, voters: int) -> contextlib.closing[Generator[Survey]]:
    file = Path(path)
    surveys = ResponseFiles(file, Limits(max_records=_RECORDS), field="file").surveys(file.parent, batch_voters=voters)
    return contextlib.closing(surveys)


def _digest(results: Sequence[Any]) -> str:
    said = [msgspec.msgpack.encode(result.outcome) + result.tallies[0].totals.tobytes() for result in results]
    return hashlib.sha256(b"".join(said)).hexdigest()


def check(path: str) -> Run:
    """Return what takes a file to the results one batch after another, of another size, in this process."""

    def run() -> dict[str, str]:
        results: list[object] = []
        for protocol, noise in _protocols():
            with _surveys(path, 3_000) as surveys:
                batches = (protocol.encode({"records": survey.records}) for survey in surveys)
                results.append(run_batches(protocol, batches, noise=noise))
        return {"digest": _digest(results)}

    return run


def survey(path: str) -> Run:
    """Return what takes a file to the results with workers."""
    return functools.partial(_survey, path)


def _survey(path: str) -> dict[str, object]:
    merged, seconds = [Merged() for _ in _ALGORITHMS], np.zeros(len(_ALGORITHMS))
    waiting, voters, records = 0.0, 0, 0
    pending: set[concurrent.futures.Future[list[tuple[Tally, float]]]] = set()
    pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))
    # What a batch's 299 noisy coefficients a voter need stays small, and what goes to a worker at a time does.
    with pool, _surveys(path, 2_000) as surveys:
        is_read = False
        while pending or not is_read:
            begin = perf_counter()
            batch = None if is_read else next(surveys, None)
            waiting += perf_counter() - begin
            if batch is None:
                is_read = True
            else:
                pending.add(pool.submit(_work, voters, batch.records))
                voters, records = voters + len(batch.voters), records + batch.reading.num_records
            while len(pending) > (0 if is_read else 6):  # what more are read would wait in memory
                done, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    for whole, (part, _) in zip(merged, future.result(), strict=True):
                        whole.add(part)
                    seconds += [took for _, took in future.result()]
            if not voters % 100_000:
                print(f"{voters:,} voters read, {len(pending)} batches under way", file=sys.stderr, flush=True)
        processes = [os.getpid(), *(int(child.pid or 0) for child in multiprocessing.active_children())]
        peak = sum(memory(process=process) for process in processes)
    tallies = [whole.total() for whole in merged]
    results = [
        release_tallies(protocol, [tally], noise=noise)
        for (protocol, noise), tally in zip(_protocols(), tallies, strict=True)
    ]
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "cpu": math.fsum(usage.ru_utime + usage.ru_stime for usage in usages),
        "waiting": waiting,
        "seconds": seconds.tolist(),
        "preferences": [list(result.outcome.preferences) for result in results],
        "fits": (tallies[0].totals * _protocols()[0][0].summary.step / voters).tolist(),
        "peak": peak,
        "voters": voters,
        "records": records,
        "digest": _digest(results),
    }


def _by_size(rows: Sequence[Row]) -> str:
    """Return the rows as a table with a column for each number of voters, and one of what is of no single number."""
    cells: dict[str, dict[str, str]] = {}
    others: list[Sequence[str]] = []
    for each in rows:
        found = re.fullmatch(r"(?P<what>.+), (?P<size>[\d,]+ voters) with .+", each.what)
        if found is None:
            others.append((each.what, each.ours, each.target, each.met))
        else:
            cells.setdefault(found["what"], {})[found["size"]] = each.ours
    sizes = tuple(dict.fromkeys(size for of_what in cells.values() for size in of_what))
    lines = [(what, *(of_what.get(size, NOTHING) for size in sizes)) for what, of_what in cells.items()]
    return "\n\n".join((to_markdown(lines, ("what", *sizes)), to_markdown(others, ("what", "ours", "target", "met"))))


def _main() -> None:
    sizes = [10_000, 100_000, 1_000_000, 4_000_000]
    asked = options(__doc__, voters=sizes, folder="", resume=False, record=False)
    rows: list[Row] = []
    with contextlib.ExitStack() as stack:
        folder = Path(asked.folder or stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        for each in _measure(asked.voters, folder, is_resumed=asked.resume):
            print(f"{each.what}: {each.ours}", file=sys.stderr, flush=True)
            rows.append(each)
    print(_by_size(rows))
    if asked.record:
        rewrite_between_marks(DOCS / "survey-scale.md", _by_size(rows))


if __name__ == "__main__":
    _main()
