"""Work for other processes: tasks go in and answers come out, both as messages.

A module that has such work has a function `work`, from the bytes of a task to those of its answer, made by `working`.
Other processes run it by the same interpreter; no object travels, and nothing is forked. On a cluster it is the same
function (`cluster`).
"""

import contextlib
import itertools
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from ...protocol.errors import PsephosError
from ..plugins import load

__all__ = [
    "Pool",
    "TaskError",
    "named_answers",
    "num_cores",
    "open_pool",
    "open_worker",
    "open_workers",
    "serve_tasks",
    "shares_of",
    "work_of",
    "working",
]

AnswerT = TypeVar("AnswerT")
TaskT = TypeVar("TaskT", bound=msgspec.Struct)

_LEAST_SHARE: Final = 5  # fewer repetitions are not worth a process: it makes what repetitions have in common once more
_WORTH_HANDING: Final = 0.25
_HEAD_BYTES: Final = 8  # of a frame: its length


class TaskError(PsephosError):
    """A cluster could not do a task.

    Attributes:
        number: the task's, from 0.
    """

    def __init__(self, reason: str, *, number: int) -> None:
        self.number = number
        super().__init__(reason)


class Pool(Protocol):
    """Processes that answer tasks, here or elsewhere.

    Attributes:
        num_workers: how many tasks are worked on at a time.
        least_seconds: of work that make a task worth handing over.
    """

    num_workers: int
    least_seconds: float

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        """Hand out the first tasks, and return all answers as they come, each behind its task's number, from 0.

        None is the answer of a process of this machine that failed: whoever runs the task here sees why.

        Raises:
            TaskError: a cluster could not do a task.
        """
        ...


def num_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def working(task: type[TaskT], answer: Callable[[TaskT], Any]) -> Callable[[bytes], bytes]:
    """Return the function `work` of a module: from a task to its answer, both encoded."""
    decoder, encoder = msgspec.msgpack.Decoder(task), msgspec.msgpack.Encoder()
    return lambda asked: encoder.encode(answer(decoder.decode(asked)))


@contextlib.contextmanager
def open_worker() -> Generator[subprocess.Popen[bytes]]:
    """Start a process that runs `serve_tasks`; end it on leaving."""
    command = [sys.executable, "-c", f"from {__name__} import serve_tasks; serve_tasks()"]
    # In a group of its own: what a keyboard sends goes to this process alone, which ends the other one.
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)  # noqa: S603  a module of ours
    try:
        yield process
    finally:
        try:
            process.kill()
        finally:  # also where a second interrupt came in between, which would leave it behind
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(BrokenPipeError):  # what it was not told is lost with it
                        pipe.close()


def serve_tasks() -> None:
    """Run by another process: answer the tasks on standard input, one after another, on standard output."""
    while (module := _read(sys.stdin.buffer)) is not None and (task := _read(sys.stdin.buffer)) is not None:
        _write(sys.stdout.buffer, work_of(module.decode())(task))


def work_of(module: str) -> Callable[[bytes], bytes]:
    """Return a module's function `work`."""
    return load(f"{module}:work", Callable, field="task", name=module)


def _read(pipe: Any) -> bytes | None:
    """Return the next frame; None where the other end is gone."""
    head = pipe.read(_HEAD_BYTES)
    frame = pipe.read(int.from_bytes(head))
    return frame if len(head) == _HEAD_BYTES and len(frame) == int.from_bytes(head) else None


def _write(pipe: Any, *frames: bytes) -> None:
    for frame in frames:
        pipe.write(len(frame).to_bytes(_HEAD_BYTES) + frame)
    pipe.flush()


class _Processes:
    """Of this machine."""

    least_seconds = _WORTH_HANDING

    def __init__(self, workers: Sequence[subprocess.Popen[bytes]]) -> None:
        self._workers = workers
        self.num_workers = len(workers)

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        rest = enumerate(tasks)
        has_task: dict[int, int] = {}  # by the worker's place

        def hand(place: int) -> None:
            if (following := next(rest, None)) is not None:
                has_task[place], task = following
                with contextlib.suppress(BrokenPipeError):  # it is gone, as its answer says
                    _write(self._workers[place].stdin, module.encode(), task)

        for place in range(self.num_workers):
            hand(place)
        return self._gathered(has_task, hand)

    def _gathered(self, has_task: dict[int, int], hand: Callable[[int], None]) -> Generator[tuple[int, bytes | None]]:
        with selectors.DefaultSelector() as ready:
            for place, worker in enumerate(self._workers):
                ready.register(worker.stdout or 0, selectors.EVENT_READ, place)
            while has_task:
                for key, _ in ready.select():
                    if key.data in has_task:
                        answer, number = _read(key.fileobj), has_task.pop(key.data)
                        hand(key.data)  # where it failed, so does what it is handed: each says so
                        yield number, answer


@contextlib.contextmanager
def open_pool(number: int) -> Generator[Pool]:
    """Start so many processes, which answer tasks until they are ended on leaving."""
    with contextlib.ExitStack() as stack:
        yield _Processes([stack.enter_context(open_worker()) for _ in range(number)])


@contextlib.contextmanager
def open_workers(
    module: str, tasks: Sequence[msgspec.Struct], *, answer: type[AnswerT], pool: Pool | None = None
) -> Generator[Iterator[AnswerT | None]]:
    """Let other processes do tasks while the block does something else: a process for each, or the pool's.

    Yields:
        The answers in the tasks' order, each waited for when it is asked for; None of a process that failed.
    """
    with contextlib.ExitStack() as stack:
        pool = pool or stack.enter_context(open_pool(len(tasks)))
        found: dict[int, bytes | None] = {}
        come = stack.enter_context(contextlib.closing(pool.answers(module, map(msgspec.msgpack.encode, tasks))))

        def in_order() -> Iterator[AnswerT | None]:
            for number in range(len(tasks)):
                while number not in found:
                    found.update([next(come)])
                said = found.pop(number)
                yield None if said is None else msgspec.msgpack.decode(said, type=answer)

        yield in_order()


def named_answers(
    pool: Pool, module: str, tasks: Iterable[bytes], called: Callable[[int], str]
) -> Generator[tuple[int, bytes | None]]:
    """Yield a pool's answers; an error calls a task as the last argument does."""
    try:
        yield from pool.answers(module, tasks)
    except TaskError as error:
        raise TaskError(f"{called(error.number)}: {error}", number=error.number) from None


def shares_of(trials: int, workers: int) -> list[range]:
    """Return which repetitions each worker has, nearly alike; fewer workers where there is too little for all."""
    number = max(1, min(workers, trials // _LEAST_SHARE))
    ends = [trials * place // number for place in range(number + 1)]
    return [range(start, stop) for start, stop in itertools.pairwise(ends)]
