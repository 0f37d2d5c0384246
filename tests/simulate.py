"""Runs the hostile world from one seed after another, on all cores, and makes what fails small.

    $ make simulate SECONDS=60
    $ make simulate SECONDS=600 RECORD=1                  # from the first seeds that are not recorded; and record them
    $ .venv/bin/python tests/simulate.py --seed 65        # one run again, message by message

A seed is a plan of each kind (`simulation/kinds.py`), and the same plan is the same run. On a failure the smallest plan
that breaks the same invariant is printed, to be kept by name in `simulation/test_world.py`. Each kind runs as long as
any other. What was run is recorded in `simulation/register.csv`, a line for each range of seeds of a kind.
"""

# ruff: noqa: T201  a program

import argparse
import collections
import concurrent.futures
import csv
import dataclasses
import datetime as dt
import functools
import gc
import hashlib
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, cast

from simulation.invariants import Broke
from simulation.kinds import KINDS
from simulation.plans import Plan, smaller
from simulation.world import run_plan

__all__ = ["REGISTER", "Range", "broken_by", "digest_of", "main", "read_register", "record", "shrink"]

REGISTER: Final = Path(__file__).with_name("simulation") / "register.csv"
_SEEDS_A_BLOCK: Final = 2
"""That a worker runs before it says how they ended."""
_SEEDS_OF_DIGEST: Final = range(200)
_SECONDS_A_LINE: Final = 60.0


class Range(NamedTuple):
    """A line of the register: seeds of one kind that were run.

    Args:
        plans: `digest_of` its kind as it was then: what the seeds stand for.
        first, last: the seeds.
        faulty: how many sessions they hold in which something goes wrong.
        failed: how many of these seeds broke an invariant.
        date: of the last one.
    """

    kind: str
    plans: str
    first: int
    last: int
    faulty: int
    failed: int
    date: str


@functools.cache
def digest_of(kind: str) -> str:
    """Return a digest of what a kind makes of the first seeds: with another one the same seeds are other sessions."""
    told = "\n".join(repr(KINDS[kind](seed)) for seed in _SEEDS_OF_DIGEST)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def read_register(path: Path = REGISTER) -> list[Range]:
    """Return what is recorded.

    Raises:
        ValueError: a line is no range, or two of one kind and digest have seeds in common: they would count twice.
    """
    with path.open(encoding="utf-8", newline="") as file:
        lines = [
            Range(kind, plans, int(first), int(last), int(faulty), int(failed), date)
            for kind, plans, first, last, faulty, failed, date in itertools.islice(csv.reader(file), 1, None)
        ]
    for earlier, later in zip(ordered := sorted(lines), ordered[1:], strict=False):
        if earlier[:2] == later[:2] and later.first <= earlier.last:
            raise ValueError(f"{path.name} counts seed {later.first} of {later.kind} twice")
        if not 0 <= earlier.first <= earlier.last:
            raise ValueError(f"{path.name}: {earlier} is no range")
    return ordered


def record(new: Iterable[Range], path: Path = REGISTER) -> None:
    """Add ranges to the register; one that goes on where another ends is one with it.

    Raises:
        ValueError: as `read_register`, of all of them together; then nothing is written.
    """
    lines: list[Range] = []
    for each in sorted([*read_register(path), *new]):
        before = lines[-1] if lines else each
        if before[:2] == each[:2] and before.last + 1 == each.first:
            faulty, failed = before.faulty + each.faulty, before.failed + each.failed
            lines[-1] = before._replace(last=each.last, faulty=faulty, failed=failed, date=max(before.date, each.date))
        else:
            lines.append(each)
    text = "".join(",".join(map(str, line)) + "\n" for line in (Range._fields, *lines))
    written = path.with_suffix(".new")
    written.write_text(text, encoding="utf-8")
    read_register(written)
    written.replace(path)


def broken_by(plan: Plan) -> Broke | None:
    """Run a plan, and return the first invariant that it broke; what raises is broken as well."""
    try:
        broken = run_plan(plan).observer.broken
    except Exception as error:  # noqa: BLE001  whatever it is, it is a failure to report
        return Broke("nothing raises", _cause_of(error))
    return broken[0] if broken else None


def shrink(plan: Plan, broke: Broke) -> tuple[Plan, Broke]:
    """Return the smallest plan found that breaks the same invariant, and how it does."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in smaller(plan):
            found = broken_by(candidate)
            if found is not None and found.invariant == broke.invariant:
                plan, broke, is_smaller = candidate, found, True
                break
    return plan, broke


@dataclasses.dataclass
class _Count:
    """What came of seeds of one kind, and the CPU seconds they took."""

    faulty: int = 0
    failures: list[tuple[int, Broke]] = dataclasses.field(default_factory=list[tuple[int, Broke]])
    seconds: float = 0.0


def _run_block(kind: str, seeds: range) -> _Count:
    """Run seeds of a kind; in a worker."""
    count, begun = _Count(), time.process_time()
    for seed in seeds:
        plan = KINDS[kind](seed)
        count.faulty += len(plan.sessions) * plan.is_faulty
        if (broke := broken_by(plan)) is not None:
            count.failures.append((seed, broke))
    count.seconds = time.process_time() - begun
    return count


def _begin_worker() -> None:
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # a run leaves little, and what is imported stays


def main() -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on; inf for ever")
    parser.add_argument("--first", type=int, help="the first seed (default: 0, or behind all that are recorded)")
    parser.add_argument("--seed", type=int, help="run this one alone, and say what it does")
    parser.add_argument(
        "--kind", choices=KINDS, help="what is made of a seed (by default each in turn; of --seed: drawn)"
    )
    parser.add_argument("--workers", type=int, help="how many processes (default: one for each core)")
    parser.add_argument("--record", action="store_true", help=f"add what was run to {REGISTER.name}")
    parser.add_argument("--sum", action="store_true", help=f"say what {REGISTER.name} holds, and run nothing")
    given = parser.parse_args()
    if given.sum:
        return _sum()
    if given.seed is not None:
        return _show(given.seed, given.kind or "drawn")
    kinds = tuple(KINDS) if given.kind is None else (given.kind,)
    workers = given.workers or len(os.sched_getaffinity(0))
    return _run(kinds, first=given.first, seconds=given.seconds, workers=workers, is_recorded=given.record)


def _run(kinds: Sequence[str], *, first: int | None, seconds: float, workers: int, is_recorded: bool) -> int:
    """Run blocks of seeds until time is up, each kind as long as any other; a block that was begun is ended."""
    begun = told = time.monotonic()
    firsts = (
        {kind: _first_of(kind) if is_recorded else 0 for kind in kinds}
        if first is None
        else dict.fromkeys(kinds, first)
    )
    totals, nexts = {kind: _Count() for kind in kinds}, dict(firsts)
    shares = dict.fromkeys(kinds, 0.0)  # CPU seconds, of blocks that run as well: as long as their kind's last
    lasted = dict.fromkeys(kinds, 1.0)
    waiting: collections.deque[tuple[str, range, float, concurrent.futures.Future[_Count]]] = collections.deque()
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker) as pool:
        while True:
            while len(waiting) <= workers and time.monotonic() - begun < seconds:
                kind = min(kinds, key=shares.__getitem__)
                seeds = range(nexts[kind], nexts[kind] + _SEEDS_A_BLOCK)
                waiting.append((kind, seeds, lasted[kind], pool.submit(_run_block, kind, seeds)))
                nexts[kind] = seeds.stop
                shares[kind] += lasted[kind]
            if not waiting:
                break
            kind, seeds, expected, running = waiting.popleft()
            count, total = running.result(), totals[kind]
            shares[kind] += count.seconds - expected
            lasted[kind] = count.seconds
            total.faulty += count.faulty
            total.failures += count.failures
            if is_recorded:
                date = dt.datetime.now(dt.UTC).date().isoformat()
                digest, failed = digest_of(kind), len(count.failures)
                record([Range(kind, digest, seeds[0], seeds[-1], count.faulty, failed, date)])
            for seed, broke in count.failures:
                _tell(seed, kind, broke)
            if time.monotonic() - told > _SECONDS_A_LINE:
                told = time.monotonic()
                _count(totals, told - begun)
    for kind in kinds:
        print(f"{kind:8} {totals[kind].faulty:9,} faulty sessions, seeds {firsts[kind]} to {nexts[kind] - 1}")
    _count(totals, time.monotonic() - begun)
    if is_recorded:
        _sum()
    return 1 if any(total.failures for total in totals.values()) else 0


def _first_of(kind: str) -> int:
    """Return the first seed behind all that are recorded of a kind."""
    return max((line.last + 1 for line in read_register() if line.kind == kind), default=0)


def _sum() -> int:
    lines = read_register()
    for kind in KINDS:
        own = [line for line in lines if line.kind == kind]
        print(
            f"{kind:8} {sum(line.faulty for line in own):9,} faulty sessions, {sum(line.failed for line in own)} failed"
        )
    print(
        f"recorded {sum(line.faulty for line in lines):9,} faulty sessions, {sum(line.failed for line in lines)} failed"
    )
    return 0


def _count(totals: Mapping[str, _Count], seconds: float) -> None:
    faulty = sum(total.faulty for total in totals.values())
    failed = sum(len(total.failures) for total in totals.values())
    print(f"{faulty:,} faulty sessions, {faulty / seconds:.1f} a second, {failed} failed", flush=True)


def _tell(seed: int, kind: str, broke: Broke) -> None:
    print(f"seed {seed}, {kind}: {broke.invariant}: {broke.detail}")
    plan, smallest = shrink(KINDS[kind](seed), broke)
    again = f".venv/bin/python tests/simulate.py --seed {seed} --kind {kind}"
    print(f"  smallest: {smallest.detail}\n  {plan!r}\n  again: {again}", flush=True)


def _show(seed: int, kind: str) -> int:
    plan = KINDS[kind](seed)
    print(plan)
    broke = broken_by(plan)
    if broke is None:
        print("nothing is broken")
        return 0
    _tell(seed, kind, broke)
    return 1


def _cause_of(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
