"""What it takes to keep records for good, on the disk of TMPDIR, beside the same bytes written and synchronized.

`python benchmarks/journals.py` prints these rows alone.
"""

import argparse
import functools
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Final

from psephos.agents.person_journal import PersonJournal
from psephos.agents.session_journal import SessionJournal
from psephos.protocol.privacy import LedgerEntry, NeighboringRelation, PrivacyLoss, RandomizedResponse, TrustModel
from psephos.protocol.records import Accepted, Acknowledged, Drawn, Reserved
from table import Row, at_most, to_text
from trials import timed

__all__ = ["measure"]

_SECONDS: Final = 2.0
_REPORT: Final = bytes(32)
_NUM_REPORTS: Final = 100_000
_MOST_SECONDS_OF_RECOVERY: Final = 10.0
_MOST_MILLISECONDS_OF_WRITE: Final = 10.0
_LOSS: Final = PrivacyLoss(
    mechanism="randomized response",
    event=RandomizedResponse(1.0, 2),
    unit="opinion",
    relation=NeighboringRelation.REPLACE_ONE,
    model=TrustModel.LOCAL,
    claimed=1.0,
)


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield group commits of a server, a client's writes, and the recovery of many reports."""
    seconds, num_reports = (_SECONDS / 10, _NUM_REPORTS // 10) if quick else (_SECONDS, _NUM_REPORTS)
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        for size in (1, 16, 256):
            yield _group_commits(place / f"server-{size}", size, seconds=seconds)
        yield _client_writes(place / "client", seconds=seconds)
        yield from _recovery(place / "recovered", num_reports, is_whole=not quick)


def _group_commits(path: pathlib.Path, size: int, *, seconds: float) -> Row:
    """Measure accepted reports a second, where so many are kept in one commit."""
    with SessionJournal.open(path, configuration={}) as journal:

        def keep(number: int) -> None:
            journal.keep([Accepted(0, number * size + place, _REPORT) for place in range(size)])

        ours, raw = (size / each for each in _beside_raw(keep, path, size * len(_REPORT), seconds=seconds))
    what = f"journal of a server, {size} report{'s' * (size > 1)} a commit"
    return Row(what, f"{ours:,.0f} reports/s", f"{raw:,.0f} reports/s", f"{ours / raw:.2f}")


def _client_writes(path: pathlib.Path, *, seconds: float) -> Row:
    """Measure one durable step of a client: reserved, drawn or acknowledged."""
    entry = LedgerEntry.of(_LOSS, person="Germany", session="budget", phase="opinions")
    with PersonJournal.open(path, now=0) as journal:

        def keep(number: int) -> None:
            sitting, step = journal.sitting(f"{number // 3:032x}"), number % 3
            record = (
                Reserved(party="Germany", session="budget", protocol="dpwevote", expires=0, entries=(entry,)),
                Drawn(step=0, request=_REPORT, report=_REPORT, entries=(entry,)),
                Acknowledged(0),
            )[step]
            sitting.keep([record])

        ours, raw = (1000 * each for each in _beside_raw(keep, path, 10 * len(_REPORT), seconds=seconds))
    goal = at_most(ours, _MOST_MILLISECONDS_OF_WRITE, unit=" ms")
    return Row("journal of a client, a step", f"{ours:.1f} ms", f"{raw:.1f} ms", f"{ours / raw:.2f}", goal)


def _recovery(path: pathlib.Path, num_reports: int, *, is_whole: bool) -> Iterator[Row]:
    """Measure how long a server takes to have all its records again, and how much of the disk each takes."""
    with SessionJournal.open(path, configuration={}) as journal:
        for first in range(0, num_reports, 1000):
            journal.keep([Accepted(0, place, _REPORT) for place in range(first, first + 1000)])

    def recover() -> None:
        with SessionJournal.open(path, configuration={}) as journal:
            if len(journal.records) != num_reports:
                raise RuntimeError(f"{len(journal.records)} of {num_reports} records are there")

    ours, raw = timed(recover), timed(path.read_bytes)
    goal = at_most(ours, _MOST_SECONDS_OF_RECOVERY if is_whole else None, unit=" s")
    yield Row(
        f"journal of a server, {num_reports:,} reports recovered",
        f"{ours:.2f} s",
        f"{raw:.3f} s",
        f"{ours / raw:.0f}",
        goal,
    )
    num_bytes = path.stat().st_size / num_reports
    size = len(_REPORT)
    yield Row("journal of a server, a report", f"{num_bytes:.0f} bytes", f"{size} bytes", f"{num_bytes / size:.1f}")


def _beside_raw(
    step: Callable[[int], None], path: pathlib.Path, num_bytes: int, *, seconds: float
) -> tuple[float, float]:
    """Return the median seconds of a step, and of so many bytes written and synchronized; they take turns."""
    content = bytes(num_bytes)
    ours: list[float] = []
    raw: list[float] = []
    with path.with_suffix(".raw").open("wb", buffering=0) as file:

        def write() -> None:
            file.write(content)
            os.fsync(file.fileno())

        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            ours.append(timed(functools.partial(step, len(ours))))
            raw.append(timed(write))
    return statistics.median(ours), statistics.median(raw)


def main() -> None:
    """Print the rows of journals alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    print(to_text(list(measure(quick=parser.parse_args().quick))))


if __name__ == "__main__":
    main()
