"""Work for other processes: a task goes in and an answer comes out, both as messages.

Other processes run a function of our own by the same interpreter; no object travels, and nothing is forked.
"""

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec

__all__ = ["answer_task", "num_cores", "open_worker", "open_workers", "shares_of"]

AnswerT = TypeVar("AnswerT")
TaskT = TypeVar("TaskT", bound=msgspec.Struct)

_LEAST_SHARE: Final = 5  # fewer repetitions are not worth a process: it makes what repetitions have in common once more


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def open_worker(module: str, task: msgspec.Struct) -> Generator[subprocess.Popen[bytes]]:
    """Start a process that calls `work` of a module, with the task on its standard input; end it on leaving.

    `work` reads one message and writes one, which the process's `communicate` returns.
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


@contextlib.contextmanager
def open_workers(
    module: str, tasks: Sequence[msgspec.Struct], *, answer: type[AnswerT]
) -> Generator[Iterator[AnswerT | None]]:
    """Start a process for each task, which works while the block does; see `open_worker`.

    Yields:
        The answers in the tasks' order, each waited for when it is asked for; None of a process that failed.
    """
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(open_worker(module, task)) for task in tasks]
        said = ((process.communicate()[0], process) for process in processes)
        yield (None if process.returncode else msgspec.msgpack.decode(words, type=answer) for words, process in said)


def answer_task(task: type[TaskT], answer: Callable[[TaskT], Any]) -> None:
    """Answer the task on standard input on standard output: what `work` of a module does in a process of its own."""
    asked = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=task)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer(asked)))


def shares_of(trials: int, workers: int) -> list[range]:
    """Return which repetitions each worker has, nearly alike; fewer workers where there is too little for all."""
    number = max(1, min(workers, trials // _LEAST_SHARE))
    ends = [trials * place // number for place in range(number + 1)]
    return [range(start, stop) for start, stop in itertools.pairwise(ends)]
