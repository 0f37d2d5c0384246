"""Sessions of many parties over TLS, one after another in one process: its memory and its descriptors stay flat.

    python benchmarks/soak.py --parties 1000 --minutes 10

The server keeps a journal of each session on the disk, and a few parties keep theirs over all sessions. It prints a
line a minute, and at the end how much memory and how many descriptors the second half took beyond the first. The first
sessions do not count: Python and OpenSSL keep what they once needed.
"""

import argparse
import contextlib
import gc
import itertools
import os
import pathlib
import statistics
import sys
import tempfile
import time
from typing import Final

from durable_sessions import DurableVote
from psephos.agents.person_journal import PersonJournal
from psephos.agents.session_journal import SessionJournal
from psephos.transports import TLSTransport

__all__ = ["soak"]

_NUM_JOURNALS: Final = 10
_WARM_UP: Final = 3
"""Sessions."""


def soak(num_parties: int, *, seconds: float) -> bool:
    """Hold sessions for a time, print what they take, and return whether memory and descriptors stayed flat."""
    vote = DurableVote(num_parties, TLSTransport())
    memory: list[float] = []
    descriptors: list[int] = []
    begin = time.monotonic()
    next_line = begin
    print(f"{'minutes':>8} {'sessions':>8} {'last took':>10} {'memory':>9} {'descriptors':>11}")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        journals = {
            f"partner-{place}": stack.enter_context(PersonJournal.open(pathlib.Path(folder, f"{place}.sqlite"), now=0))
            for place in range(_NUM_JOURNALS)
        }
        own = {name: journal.sitting for name, journal in journals.items()}
        for number in itertools.count(1):
            before = time.monotonic()
            path = pathlib.Path(folder, f"server-{number}.sqlite")
            with SessionJournal.open(path, configuration={}) as journal:
                vote.hold(journal, own)
            for left in path.parent.glob(f"{path.name}*"):
                left.unlink()
            gc.collect()
            now = time.monotonic()
            memory.append(_resident_megabytes())
            descriptors.append(len(list(pathlib.Path("/proc/self/fd").iterdir())))
            if now >= next_line:
                next_line += 60
                shown = f"{(now - begin) / 60:8.1f} {number:8} {now - before:8.1f} s"
                print(f"{shown} {memory[-1]:6.0f} MB {descriptors[-1]:11}", flush=True)
            if now - begin >= seconds and number >= _WARM_UP + 4:
                break
    return _is_flat(memory[_WARM_UP:], descriptors[_WARM_UP:])


def _is_flat(memory: list[float], descriptors: list[int]) -> bool:
    half = len(memory) // 2
    first, second = statistics.median(memory[:half]), statistics.median(memory[half:])
    print(f"{len(memory)} sessions after {_WARM_UP} to warm up")
    print(f"memory: {first:.1f} MB in the first half, {second:.1f} MB in the second ({second / first - 1:+.1%})")
    print(f"descriptors: between {min(descriptors)} and {max(descriptors)} after a session")
    return second < 1.05 * first and min(descriptors) == max(descriptors)


def _resident_megabytes() -> float:
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parties", type=int, default=1_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    sys.exit(0 if soak(options.parties, seconds=60 * options.minutes) else 1)


if __name__ == "__main__":
    _main()
