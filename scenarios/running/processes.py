"""Work for other processes: a task goes in and an answer comes out, both as messages.

Other processes run a function of our own by the same interpreter; no object travels, and nothing is forked. It is a
module's `work`, made by `make_worker`; on a cluster it is the same one (`cluster`).
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

_SIZE: Final = 8  # bytes ahead of a task and of an answer, which say how many it has
_LOOP: Final = f"""import sys
from {{}} import work
given, out, sys.stdout = sys.stdin.buffer, sys.stdout.buffer, sys.stderr
while size := given.read({_SIZE}):
    answer = work(given.read(int.from_bytes(size)))
    out.write(len(answer).to_bytes({_SIZE}) + answer)
    out.flush()
"""
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
    """So many processes of this machine at most, each of which takes task after task."""

    least_seconds = 0.25

    def __init__(self, num_workers: int) -> None:
        self.num_workers = num_workers

    def answers(self, module: str, tasks: Iterable[bytes]) -> Generator[tuple[int, bytes | None]]:
        """Yield answers as they come, and give whoever has answered the next task before. See `Pool.answers`."""
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
    """Yield a pool's answers; an error calls a task as the last argument does."""
    try:
        yield from pool.answers(module, tasks)
    except TaskError as error:
        raise TaskError(f"{name_task(error.number)}: {error}", number=error.number) from None


def num_cores() -> int:
    """Return how many cores this process may use.

    Examples:
        >>> num_cores() >= 1
        True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerProcess:
    """Another process that answers a task at a time; whoever sends one receives its answer before the next."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout  # noqa: S101, PT018  pipes were asked for
        self.process, self._tasks, self.answers = process, process.stdin, process.stdout

    def send(self, task: bytes) -> None:
        """Give it a task; where it has died, `receive` tells."""
        with contextlib.suppress(BrokenPipeError):
            self._tasks.write(len(task).to_bytes(_SIZE) + task)
            self._tasks.flush()

    def receive(self) -> bytes | None:
        """Return its answer once that is there; None where it failed."""
        size = self.answers.read(_SIZE)
        answer = self.answers.read(int.from_bytes(size))
        return answer if len(size) == _SIZE and len(answer) == int.from_bytes(size) else None


@contextlib.contextmanager
def open_worker(module: str, environment: Mapping[str, str] | None = None) -> Generator[WorkerProcess]:
    """Start a process that answers tasks by `work` of a module; end it on leaving.

    Args:
        module: its full name.
        environment: the variables of the process; by default those of this one.
    """
    command = [sys.executable, "-c", _LOOP.format(module)]
    # In a group of its own: what a keyboard sends goes to this process alone, which ends the other one.
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, process_group=0)  # noqa: S603  a module of ours
    try:
        yield WorkerProcess(process)
    finally:
        try:
            process.kill()
        finally:  # also where a second interrupt came in between, which would leave it behind
            process.kill()
            process.wait()
            for end in (process.stdin, process.stdout):
                if end is not None:
                    with contextlib.suppress(BrokenPipeError):  # of a task that it did not live to read
                        end.close()


@contextlib.contextmanager
def open_workers(
    module: str, tasks: Sequence[msgspec.Struct], *, answer: type[AnswerT]
) -> Generator[Iterator[AnswerT | None]]:
    """Start a process for each task, which works while the block does; see `open_worker`.

    Yields:
        The answers in the tasks' order, each waited for when it is asked for; None of a process that failed.
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
    """Run each share of repetitions and return the answers in order; the first share runs in this process.

    Args:
        module: whose `work` does the same.
        task: says what is to be done with a share.
        answer: the type of what is done.

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
    """Return the function `work` of a module: from a task to its answer, both encoded.

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
    """Return which repetitions each worker has, nearly alike; fewer workers where there is too little for all.

    Examples:
        >>> shares_of(100, 3)
        [range(0, 33), range(33, 66), range(66, 100)]
        >>> shares_of(4, 3)
        [range(0, 4)]
    """
    number = max(1, min(workers, trials // _LEAST_SHARE))
    ends = [trials * place // number for place in range(number + 1)]
    return [range(start, stop) for start, stop in itertools.pairwise(ends)]
