"""Large sessions, each in a process of its own, whose peak memory is then that session's.

`scale.py CONTESTANT NUM_PARTNERS` is such a process: it makes the inputs, runs the session and prints its seconds
and the process's peak memory as JSON.
"""

import gc
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Final

import msgspec
import numpy as np
from memory import run_raw
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.protocol.population import run_population
from psephos.transports import MemoryTransport
from sessions import record_transcript
from table import Row, at_most
from trials import timed
from votes import Vote

__all__ = ["measure"]

_MEGABYTE: Final = 1_000_000
_KIBIBYTE: Final = 1024
# Raw twins of many partners say what so many have said, again and again.
_RECORDED: Final = 1_000


class _Size(msgspec.Struct, frozen=True):
    """A contestant, its raw twin, a size, and what it may take; None where there is no target for that size."""

    what: str
    ours: str
    raw: str
    num_partners: int
    seconds: float | None = None
    megabytes: float | None = None


class _Child(msgspec.Struct, frozen=True):
    """What a process of its own measured: the session's seconds and the process's peak memory."""

    seconds: float
    peak_bytes: int


_QUICK: Final = (
    _Size("session in memory", "agents", "channels", 2_000),
    _Size("session as arrays", "arrays", "numpy", 100_000),
)
_FULL: Final = (
    _Size("session in memory", "agents", "channels", 10_000, seconds=4, megabytes=200),
    _Size("session in memory", "agents", "channels", 100_000, seconds=50, megabytes=800),
    _Size("session as arrays", "arrays", "numpy", 1_000_000, seconds=0.4, megabytes=400),
)


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield seconds and megabytes of large sessions, each run once."""
    for size in _QUICK if quick else _FULL:
        what = f"{size.what}, {size.num_partners:,} partners"
        raw, raw_process = _run_child(size.raw, size.num_partners)
        ours, our_process = _run_child(size.ours, size.num_partners)
        yield Row(
            what,
            f"{ours.seconds:.2f} s",
            f"{raw.seconds:.2f} s",
            f"{ours.seconds / raw.seconds:.2f}",
            at_most(ours.seconds, size.seconds, unit=" s"),
        )
        yield Row(
            f"{what}, whole process", f"{our_process:.2f} s", f"{raw_process:.2f} s", f"{our_process / raw_process:.2f}"
        )
        yield Row(
            f"{what}, peak memory",
            f"{ours.peak_bytes / _MEGABYTE:,.0f} MB",
            f"{raw.peak_bytes / _MEGABYTE:,.0f} MB",
            f"{ours.peak_bytes / raw.peak_bytes:.2f}",
            at_most(ours.peak_bytes / _MEGABYTE, size.megabytes, unit=" MB"),
        )


def _run_child(contestant: str, num_partners: int) -> tuple[_Child, float]:
    """Return what the process measured, and the seconds from its start to its end."""
    begin = perf_counter()
    done = subprocess.run(  # noqa: S603  this file, by this interpreter
        [sys.executable, __file__, contestant, str(num_partners)], check=True, stdout=subprocess.PIPE
    )
    return msgspec.json.decode(done.stdout, type=_Child), perf_counter() - begin


def _agents(num_partners: int) -> Callable[[], object]:
    vote = Vote(num_partners)
    return lambda: vote.run_with_events(MemoryTransport())


def _channels(num_partners: int) -> Callable[[], object]:
    recorded = min(num_partners, _RECORDED)
    transcript = record_transcript(Vote(recorded)).repeated(num_partners // recorded)
    return lambda: run_raw(transcript)


def _arrays(num_partners: int) -> Callable[[], object]:
    vote = Vote(num_partners)
    return lambda: run_population(vote.protocol, vote.inputs, noise=vote.noise())


def _numpy(num_partners: int) -> Callable[[], object]:
    """Draw, randomize and count all weights, then all opinions, with one line of numpy for each step."""
    vote = Vote(num_partners)

    def run() -> list[object]:
        counts: list[object] = []
        cells = 0
        for column, phase in enumerate(vote.protocol.phases):
            mechanism = phase.mechanism
            if not isinstance(mechanism, GeneralizedRandomizedResponse):
                raise TypeError(f"phase {phase.name!r} randomizes by {type(mechanism).__name__}")
            values = vote.inputs.private[:, column]
            place = np.random.Generator(np.random.Philox(key=column)).random(num_partners) - mechanism.keep_probability
            lies = (place / mechanism.lie_probability).astype(np.int64)
            lies += lies >= values
            reports = np.where(place < 0, values, lies)
            cells = cells * mechanism.num_choices + reports
            counts.append(np.bincount(cells))
        return counts

    return run


_CONTESTANTS: Final = {"agents": _agents, "channels": _channels, "arrays": _arrays, "numpy": _numpy}


def _main() -> None:
    contestant, num_partners = sys.argv[1:]
    run = _CONTESTANTS[contestant](int(num_partners))
    gc.collect()
    seconds = timed(run)
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBIBYTE
    sys.stdout.buffer.write(msgspec.json.encode(_Child(seconds, peak_bytes)))


if __name__ == "__main__":
    _main()
