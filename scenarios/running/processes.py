"""Work for other processes: a task goes in and an answer comes out, both as messages.

Other processes run a function of our own by the same interpreter; no object travels, and nothing is forked. It is a
module's `work`, made by `working`; on a cluster it is the same one (`cluster`).
"""

import contextlib
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from ...protocol.errors import PsephosError

__all__ = [
    "Pool",
    "Processes",
    "TaskError",
    "named_answers",
    "num_cores",
    "open_worker",
    "open_workers",
    "shares_of",
    "working",
]

AnswerT = TypeVar("AnswerT")
TaskT = TypeVar("TaskT", bound=msgspec.Struct)

_ANSWER: Final = (
    "out, sys.stdout = sys.stdout.buffer, sys.stderr; out.write(work(sys.stdin.buffer.read())); out.flush()"
)
"""What a protocol prints is no part of an answer."""
_LEAST_SHARE: Final = 5  # fewer repetitions are not worth a process: it makes what repetitions have in common once more


class TaskError(PsephosError):
    """A cluster could not do a task: that of this number, from 0."""

    def __init__(self, reason: str, *, number: int) -> None:
        self.number = number
        super().__init__(reason)


class Pool(Protocol):
    """Processes that answer tasks, here or elsewhere: so many at a time, each best of so many seconds at least."""

    num_workers: int
    least_seconds: float

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        """Yield answers as they come, each behind its task's number; None where a process of this machine failed.

        Whoever runs such a task here sees why. TaskError: a cluster could not do a task.
        """
        ...


class Processes:
    """So many processes of this machine, new ones for each so many tasks."""

    least_seconds = 0.25

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        """Return answers of so many processes at a time. See `Pool.answers`."""
        rest, numbers = iter(tasks), itertools.count()
        while some := list(itertools.islice(rest, self.num_workers)):
            with contextlib.ExitStack() as stack:
                for process in [stack.enter_context(open_worker(module, task)) for task in some]:
                    answer, _ = process.communicate()
                    yield next(numbers), None if process.returncode else answer


def named_answers(
    pool: Pool, module: str, tasks: Iterable[bytes], called: Callable[[int], str]
) -> Generator[tuple[int, bytes | None]]:
    """Yield a pool's answers; an error calls a task as the last argument does."""
    try:
        yield from pool.answers(module, tasks)
    except TaskError as error:
        raise TaskError(f"{called(error.number)}: {error}", number=error.number) from None


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def open_worker(module: str, task: bytes) -> Generator[subprocess.Popen[bytes]]:
    """Start a process that calls `work` of a module, with the task on its standard input; end it on leaving.

    Its answer is what the process's `communicate` returns.
    """
    command = [sys.executable, "-c", f"import sys; from {module} import work; {_ANSWER}"]
    # In a group of its own: what a keyboard sends goes to this process alone, which ends the other one.
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)  # noqa: S603  a module of ours
    try:
        assert process.stdin is not None  # noqa: S101  a pipe was asked for
        process.stdin.write(task)
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
        processes = [stack.enter_context(open_worker(module, msgspec.msgpack.encode(task))) for task in tasks]
        said = ((process.communicate()[0], process) for process in processes)
        yield (None if process.returncode else msgspec.msgpack.decode(words, type=answer) for words, process in said)


def working(task: type[TaskT], answer: Callable[[TaskT], Any]) -> Callable[[bytes], bytes]:
    """Return the function `work` of a module: from a task to its answer, both encoded."""
    decoder, encoder = msgspec.msgpack.Decoder(task), msgspec.msgpack.Encoder()
    return lambda asked: encoder.encode(answer(decoder.decode(asked)))


def shares_of(trials: int, workers: int) -> list[range]:
    """Return which repetitions each worker has, nearly alike; fewer workers where there is too little for all."""
    number = max(1, min(workers, trials // _LEAST_SHARE))
    ends = [trials * place // number for place in range(number + 1)]
    return [range(start, stop) for start, stop in itertools.pairwise(ends)]
