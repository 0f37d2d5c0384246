"""Work for other processes: a task goes in and an answer comes out, both as messages.

Other processes run a function of our own by the same interpreter; no object travels, and nothing is forked.
"""

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Generator
from typing import Final

import msgspec

__all__ = ["num_cores", "open_worker", "shares_of"]

_LEAST_SHARE: Final = 5
"""Fewer repetitions are not worth a process: it makes what repetitions have in common once more."""


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def open_worker(module: str, task: msgspec.Struct) -> Generator[subprocess.Popen[bytes]]:
    """Start a process that calls `work` of a module, with the task on its standard input; end it on leaving.

    Args:
        module: its absolute name; `work` reads one message and writes one.
        task: what it is to do.

    Yields:
        The process, whose answer `communicate` returns.
    """
    command = [sys.executable, "-c", f"from {module} import work; work()"]
    # In a group of its own: what a keyboard sends goes to this process alone, which ends the other one.
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)  # noqa: S603  a module of ours
    try:
        assert process.stdin is not None  # noqa: S101  a pipe was asked for
        process.stdin.write(msgspec.msgpack.encode(task))
        process.stdin.close()
        process.stdin = None  # else `communicate` would flush it
        yield process
    finally:
        try:
            process.kill()
        finally:  # also where a second interrupt came in between, which would leave it behind
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def shares_of(trials: int, workers: int) -> list[range]:
    """Return which repetitions each worker has, nearly alike; fewer workers where there is too little for all."""
    number = max(1, min(workers, trials // _LEAST_SHARE))
    ends = [trials * place // number for place in range(number + 1)]
    return [range(start, stop) for start, stop in itertools.pairwise(ends)]
