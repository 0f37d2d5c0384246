"""Truth inference in processes of its own: how time grows with the number of answers, and how much memory it takes.

`crowd_scale.py make FOLDER ANSWERS LABELS` writes a crowd. `crowd_scale.py run FOLDER FORM TIMES ESTIMATOR...` runs
estimators on it, one after the other, each so many times, and prints their median seconds and the peak of memory beyond
the input as JSON.
"""

import functools
import gc
import importlib
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
from answer_frames import load_codes, load_frame, save_codes
from peaks import peak_bytes, resident_bytes
from psephos.scenarios.truth_discovery.data.synthetic import SyntheticCrowd, make_crowd
from table import Row
from trials import timed

__all__ = ["added_memory", "measure", "write_crowd"]

_ESTIMATORS: Final = {
    "truth discovery": "TruthDiscovery",
    "one-coin EM": "OneCoinDawidSkene",
    "Dawid–Skene": "DawidSkene",
}
_GROWING: Final = ("truth discovery", "one-coin EM")
_QUICK_SIZES: Final = (10_000, 100_000, 1_000_000)
_SIZES: Final = (10_000, 100_000, 1_000_000, 10_000_000)
# Short runs are repeated until they have had as many answers as the longest, but not for ever.
_MOST_TIMES: Final = 25
_LEAST_TIMES: Final = 3
_ANSWERS_A_TASK: Final = 10
_ANSWERS_A_WORKER: Final = 500
_SEED: Final = 1
_MEGABYTE: Final = 1_000_000


class _Child(msgspec.Struct, frozen=True):
    """What a process of its own measured: each estimator's median seconds and rounds, and what memory they took."""

    seconds: list[float]
    num_rounds: list[int]
    added_bytes: int | None


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield time and memory of truth discovery and one-coin EM at the largest size, and the exponent of growth."""
    sizes = _QUICK_SIZES if quick else _SIZES
    found: dict[str, list[_Child]] = {name: [] for name in _GROWING}
    for num_answers in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_crowd(folder, num_answers=num_answers, num_labels=2)
            times = max(_LEAST_TIMES, min(_MOST_TIMES, sizes[-1] // num_answers))
            children = {name: _run_child(folder, "codes", times, name) for name in _GROWING}
        for name, child in children.items():
            found[name].append(child)
            if num_answers == sizes[-1]:
                what = f"{name} of {num_answers:,} binary answers as integer codes"
                yield Row(what, f"{child.seconds[0]:.2f} s ({child.num_rounds[0]} rounds)")
                if child.added_bytes is not None:
                    yield Row(f"memory beyond the input, {what}", f"{child.added_bytes / _MEGABYTE:,.0f} MB")
    for name, its_children in found.items():
        exponent, _ = np.polyfit(np.log(sizes), np.log([child.seconds[0] for child in its_children]), 1).tolist()
        what = f"{name}, exponent of growth from {sizes[0]:,} to {sizes[-1]:,} binary answers"
        rounds = ", ".join(str(child.num_rounds[0]) for child in its_children)
        yield Row(what, f"{exponent:.2f} ({rounds} rounds)")


def added_memory(folder: pathlib.Path, form: str) -> int | None:
    """Return the most memory that any of our estimators takes beyond the input, in bytes.

    Args:
        folder: of a crowd.
        form: of the input, "codes" or "names".
    """
    return _run_child(folder, form, 1, *_ESTIMATORS).added_bytes


def write_crowd(folder: pathlib.Path, *, num_answers: int, num_labels: int) -> None:
    """Write a crowd's answers in random order: ten a task, 500 a worker on average."""
    _call("make", str(folder), str(num_answers), str(num_labels))


def _run_child(folder: pathlib.Path, form: str, times: int, *names: str) -> _Child:
    return msgspec.json.decode(_call("run", str(folder), form, str(times), *names), type=_Child)


def _call(*arguments: str) -> bytes:
    done = subprocess.run(  # noqa: S603  this file, by this interpreter
        [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE
    )
    return done.stdout


def _make(folder: str, num_answers: str, num_labels: str) -> None:
    number = int(num_answers)
    spec = SyntheticCrowd(
        tasks=number // _ANSWERS_A_TASK,
        workers=number // _ANSWERS_A_WORKER,
        answers_per_task=_ANSWERS_A_TASK,
        classes=int(num_labels),
        seed=_SEED,
    )
    crowd = make_crowd(spec)
    order = np.random.default_rng(_SEED).permutation(number)
    answers = crowd.answers
    save_codes(
        pathlib.Path(folder), answers.tasks[order], answers.workers[order], answers.labels[order], truth=crowd.truth
    )


def _run(folder: str, form: str, times: str, *names: str) -> None:
    # Imported here: making a crowd does without pandas.
    estimators: Any = importlib.import_module("psephos.scenarios.truth_discovery.data.estimators")
    path = pathlib.Path(folder)
    data: Any = load_codes(path) if form == "codes" else load_frame(path, form)
    gc.collect()
    before = resident_bytes()
    seconds: list[float] = []
    num_rounds: list[int] = []
    for name in names:
        estimator = getattr(estimators, _ESTIMATORS[name])()
        fit = functools.partial(estimator.fit, data)
        seconds.append(statistics.median(timed(fit) for _ in range(int(times))))
        num_rounds.append(estimator.inference_.num_iterations)
    peak = peak_bytes()
    added = None if peak is None or before is None else peak - before
    sys.stdout.buffer.write(msgspec.json.encode(_Child(seconds, num_rounds, added)))


def _main() -> None:
    what, *arguments = sys.argv[1:]
    {"make": _make, "run": _run}[what](*arguments)


if __name__ == "__main__":
    _main()
