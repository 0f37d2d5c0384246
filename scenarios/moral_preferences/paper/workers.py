"""Repetitions over all cores: this process measures the first ones, and each other core's share is a process's own.

A repetition's numbers depend on the seed and its place alone, so that they are the same however they are split. Other
processes run `work` by the same interpreter: cells go in and trials come out as messages.
"""

import contextlib
import sys
from collections.abc import Callable, Sequence

import msgspec

from ...running.processes import open_worker, shares_of
from .trials import Cell, Trials, measure

__all__ = ["measure_all", "work"]


class _Task(msgspec.Struct, frozen=True):
    cells: list[Cell]
    seed: int
    start: int
    stop: int


def measure_all(
    cells: Sequence[Cell],
    *,
    trials: int,
    seed: int,
    workers: int,
    on_progress: Callable[[str], None] | None = None,
) -> dict[Cell, Trials]:
    """Measure all repetitions of all cells.

    Args:
        cells: any.
        trials: repetitions of each.
        seed: of everything drawn.
        workers: processes at most, this one among them.
        on_progress: called with a line as this process comes to another setting.

    Raises:
        RuntimeError: another process failed; it has said why.
    """
    ours, *others = shares_of(trials, workers)
    members = list(dict.fromkeys(cells))
    with contextlib.ExitStack() as stack:
        tasks = [_Task(members, seed, share.start, share.stop) for share in others]
        processes = [stack.enter_context(open_worker(__name__, task)) for task in tasks]
        first = measure(members, seed=seed, start=ours.start, stop=ours.stop, on_progress=on_progress)
        parts = [[first[cell] for cell in members]]
        for process in processes:
            answer, _ = process.communicate()
            if process.returncode:
                raise RuntimeError(f"a process that measures a share of the repetitions ended by {process.returncode}")
            parts.append(msgspec.msgpack.decode(answer, type=list[Trials]))
    return {cell: _joined(each) for cell, each in zip(members, zip(*parts, strict=True), strict=True)}


def _joined(parts: Sequence[Trials]) -> Trials:
    return Trials(
        [number for part in parts for number in part.accuracies],
        [number for part in parts for number in part.errors],
        [number for part in parts for number in part.own],
    )


def work() -> None:
    """Run by another process: measure what standard input asks for, and write what it gave to standard output."""
    task = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=_Task)
    found = measure(task.cells, seed=task.seed, start=task.start, stop=task.stop)
    sys.stdout.buffer.write(msgspec.msgpack.encode([found[cell] for cell in task.cells]))
