"""Run tasks in other processes: tasks and answers are messages.

Other processes run a module's function `work`, made by `make_worker`, with the same interpreter. Nothing is pickled or
forked. Clusters use the same function (`cluster`).
"""

import contextlib
import itertools
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from ...protocol.errors import PsephosError

AnswerT = TypeVar("AnswerT")
TaskT = TypeVar("TaskT", bound=msgspec.Struct)

_SIZE: Final = 8  # bytes of the length before a task or an answer
_LOOP: Final = f"""import sys
from {{}} import work
given, out, sys.stdout = sys.stdin.buffer, sys.stdout.buffer, sys.stderr
while size := given.read({_SIZE}):
    answer = work(given.read(int.from_bytes(size)))
    out.write(len(answer).to_bytes({_SIZE}) + answer)
    out.flush()
"""
"""The worker's loop; output that a protocol prints is not part of an answer."""
_LEAST_SHARE: Final = 5  # fewer repetitions do not pay a further process, which repeats common computations


class TaskError(PsephosError):
    """A cluster failed on a task, with its number from 0."""

    def __init__(self, reason: str, *, number: int) -> None:
        self.number = number
        super().__init__(reason)


class Pool(Protocol):
    """Processes that answer tasks, local or remote; with the number at a time, and a task's least useful duration."""

    num_workers: int
    least_seconds: float

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        """Yield answers as they finish, each with its task's number; None if a local process failed.

        Run such a task in this process to see the error. TaskError: a cluster failed on a task.
        """
        ...


class Processes:
    """A number of local processes at most, each of which answers tasks one after another."""

    least_seconds = 0.25

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        """Yield answers as they finish, after giving the idle process its next task. See `Pool.answers`."""
        remaining_tasks = enumerate(tasks)
        with contextlib.ExitStack() as stack, selectors.DefaultSelector() as busy:

            def hand(worker: WorkerProcess | None = None) -> None:
                if (next_task := next(remaining_tasks, None)) is not None:
                    number, task = next_task
                    worker = worker or stack.enter_context(open_worker(module))
                    worker.send(task)
                    busy.register(worker.answers, selectors.EVENT_READ, (number, worker))

            for _ in range(self.num_workers):
                hand()
            while busy.get_map():
                for key, _ in busy.select():
                    number, worker = key.data
                    busy.unregister(key.fileobj)
                    answer = worker.receive()
                    hand(None if answer is None else worker)
                    yield number, answer


def name_answers(
    pool: Pool, module: str, tasks: Iterable[bytes], name_task: Callable[[int], str]
) -> Generator[tuple[int, bytes | None]]:
    """Yield a pool's answers; errors name a task by the last argument."""
    try:
        yield from pool.answers(module, tasks)
    except TaskError as error:
        raise TaskError(f"{name_task(error.number)}: {error}", number=error.number) from None


def num_cores() -> int:
    """Return the number of cores that this process may use.

    Examples:
        >>> num_cores() >= 1
        True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerProcess:
    """Another process that answers one task at a time; receive each answer before the next task."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout  # noqa: S101, PT018  pipes were asked for
        self.process, self._tasks, self.answers = process, process.stdin, process.stdout

    def send(self, task: bytes) -> None:
        """Send a task; if the process has died, `receive` reports it."""
        with contextlib.suppress(BrokenPipeError):
            self._tasks.write(len(task).to_bytes(_SIZE) + task)
            self._tasks.flush()

    def receive(self) -> bytes | None:
        """Wait for the answer; None if the process failed."""
        size = self.answers.read(_SIZE)
        answer = self.answers.read(int.from_bytes(size))
        return answer if len(size) == _SIZE and len(answer) == int.from_bytes(size) else None


@contextlib.contextmanager
def open_worker(module: str, environment: Mapping[str, str] | None = None) -> Generator[WorkerProcess]:
    """Start a process that answers tasks by a module's `work`, and end it on exit.

    Args:
        module: the module's full name.
        environment: environment variables of the process; by default those of this one.
    """
    command = [sys.executable, "-c", _LOOP.format(module)]
    # In a separate process group, so that Ctrl-C reaches only this process, which ends the other one.
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, process_group=0)  # noqa: S603  a module of ours
    try:
        yield WorkerProcess(process)
    finally:
        try:
            process.kill()
        finally:  # also after a second interrupt, which would otherwise leave the process behind
            process.kill()
            process.wait()
            for end in (process.stdin, process.stdout):
                if end is not None:
                    with contextlib.suppress(BrokenPipeError):  # the process died before it read the task
                        end.close()


@contextlib.contextmanager
def open_workers(
    module: str, tasks: Sequence[msgspec.Struct], *, answer: type[AnswerT]
) -> Generator[Iterator[AnswerT | None]]:
    """Start a process for each task, which runs in parallel to the block. See `open_worker`.

    Yields:
        The answers in the tasks' order, each awaited on access; None for a failed process.
    """
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(open_worker(module)) for _ in tasks]
        for worker, task in zip(workers, tasks, strict=True):
            worker.send(msgspec.msgpack.encode(task))
        answers = (worker.receive() for worker in workers)
        yield (None if words is None else msgspec.msgpack.decode(words, type=answer) for words in answers)


def run_in_shares(
    module: str,
    task: Callable[[range], TaskT],
    do: Callable[[TaskT], AnswerT],
    *,
    trials: int,
    workers: int,
    answer: type[AnswerT],
) -> list[AnswerT]:
    """Run repetitions in shares, and return the answers in order; the first share runs in this process.

    Args:
        module: the module whose `work` does the same as `do`.
        task: maps a share to its task.
        answer: the type of an answer.

    Raises:
        RuntimeError: another process failed.
    """
    first, *other_tasks = map(task, shares_of(trials, workers))
    with open_workers(module, other_tasks, answer=answer) as answers:
        all_answers = [do(first), *answers]
    whole = [each for each in all_answers if each is not None]
    if len(whole) < len(all_answers):
        raise RuntimeError("a process that has a share of the repetitions has failed")
    return whole


def make_worker(task: type[TaskT], answer: Callable[[TaskT], Any]) -> Callable[[bytes], bytes]:
    """Return a module's function `work`, which maps an encoded task to its encoded answer.

    Examples:
        >>> class Sum(msgspec.Struct):
        ...     numbers: list[int]
        >>> work = make_worker(Sum, lambda task: sum(task.numbers))
        >>> msgspec.msgpack.decode(work(msgspec.msgpack.encode(Sum([1, 2, 3]))))
        6
    """
    decoder, encoder = msgspec.msgpack.Decoder(task), msgspec.msgpack.Encoder()
    return lambda task_bytes: encoder.encode(answer(decoder.decode(task_bytes)))


def shares_of(trials: int, workers: int) -> list[range]:
    """Divide repetitions nearly equally among workers; fewer workers if there are too few repetitions.

    Examples:
        >>> shares_of(100, 3)
        [range(0, 33), range(33, 66), range(66, 100)]
        >>> shares_of(4, 3)
        [range(0, 4)]
    """
    number = max(1, min(workers, trials // _LEAST_SHARE))
    ends = [trials * place // number for place in range(number + 1)]
    return [range(start, stop) for start, stop in itertools.pairwise(ends)]
