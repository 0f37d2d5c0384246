"""Work for other processes: a task goes in and an answer comes out, both as messages.

Other processes run a function of our own by the same interpreter; no object travels, and nothing is forked.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator

import msgspec

__all__ = ["num_cores", "open_worker"]


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
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603  a module of ours
    try:
        assert process.stdin is not None  # noqa: S101  a pipe was asked for
        process.stdin.write(msgspec.msgpack.encode(task))
        process.stdin.close()
        process.stdin = None  # else `communicate` would flush it
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
