"""Truth inference from a crowd's answers, beside crowd-kit: the same answers, the same number of rounds of EM.

Both sides stop when the likelihood of all answers rises by less than 1e-5 an answer, or after 100 rounds, but they do
not evaluate it at the same point of a round: crowd-kit takes it after the M-step, and we before it. So crowd-kit says
how many rounds it had, and ours has as many. Truth discovery is a method of its own, with its own end: it stops when no
truth changes.
"""

import functools
import importlib
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from harness import MEGABYTE, Rows, Run, Times, Used, apart, open_rival, or_skipped, row, timed
from psephos.scenarios.truth_discovery.data.synthetic import SyntheticCrowd, make_crowd
from rival import load_codes, load_frame, save_codes

_OURS = {
    "truth discovery": "TruthDiscovery",
    "one-coin EM": "OneCoinDawidSkene",
    "Dawid–Skene": "DawidSkene",
    "majority vote": "MajorityVote",
}
# Beside each, what it may take of the rival's time, and in how many turns: what is tens of times slower is so in one.
_CONTESTS = {
    "MajorityVote": (3, {"truth discovery": "≤ 1", "majority vote": "≤ 1"}),
    "DawidSkene": (3, {"truth discovery": "≤ 0.1", "Dawid–Skene": "≤ 1"}),
    "OneCoinDawidSkene": (1, {"one-coin EM": "≤ 0.1"}),
}


def make(folder: str, answers: int, labels: int) -> Run:
    """Return what writes a crowd's answers in random order: ten a task, 500 a worker on average."""

    def run() -> None:
        tasks, workers = answers // 10, answers // 500
        crowd = make_crowd(SyntheticCrowd(tasks=tasks, workers=workers, answers_per_task=10, classes=labels, seed=1))
        order, path, own = np.random.default_rng(1).permutation(answers), Path(folder), crowd.answers
        save_codes(path, own.tasks[order], own.workers[order], own.labels[order])
        np.save(path / "truth.npy", crowd.truth)

    return run


def estimate(folder: str, form: str, name: str) -> Run:
    """Return what infers the truths of a crowd by one of our estimators, and tells its rounds."""
    data, estimator = _load(folder, form), _estimator(name)
    return lambda: estimator.fit(data).inference_.num_iterations


def _load(folder: str, form: str) -> Any:
    return load_codes(folder) if form == "codes" else load_frame(folder, form)


def _estimator(name: str, **more: int) -> Any:
    # Imported here: making a crowd does without pandas.
    module = importlib.import_module("psephos.scenarios.truth_discovery.data.estimators")
    return getattr(module, _OURS[name])(**more)


def _added(used: Used) -> float:
    return (used.peak - used.before) / MEGABYTE


def crowd_scale(*, quick: bool) -> Rows:
    """Yield time and memory of truth discovery and one-coin EM at the largest size, and the exponent of growth.

    Short runs are repeated until they have had as many answers as the longest, but not for ever.
    """
    sizes = [10_000, 100_000, 1_000_000] if quick else [10_000, 100_000, 1_000_000, 10_000_000]
    found: dict[str, list[Used]] = {"truth discovery": [], "one-coin EM": []}
    for answers in sizes:
        with tempfile.TemporaryDirectory() as folder:
            apart(make, folder, answers, 2)
            for name, own in found.items():
                own.append(apart(estimate, folder, "codes", name, times=max(3, min(25, sizes[-1] // answers))))
    for name, own in found.items():
        what, last = f"{name} of {sizes[-1]:,} binary answers as integer codes", own[-1]
        yield row(what, last.seconds, note=f" ({last.value} rounds)")
        yield row(f"memory beyond the input, {what}", _added(last), show="{:,.0f} MB")
    for name, own in found.items():
        exponent = float(np.polyfit(np.log(sizes), np.log([each.seconds for each in own]), 1)[0])
        what = f"{name}, exponent of growth from {sizes[0]:,} to {sizes[-1]:,} binary answers"
        rounds = ", ".join(str(each.value) for each in own)
        yield row(what, exponent, show="{:.2f}", note=f" ({rounds} rounds)")


def crowds(*, quick: bool) -> Rows:
    """Yield seconds, accuracy and memory for binary answers and for five labels; a quick run has the first of them."""
    answers = 100_000 if quick else 1_000_000
    kinds = {2: f"{answers:,} binary answers as", 5: f"{answers:,} answers of 5 labels as"}
    for labels in (2,) if quick else (2, 5):
        with tempfile.TemporaryDirectory() as folder:
            apart(make, folder, answers, labels)
            for form, words in (("codes", "integer codes"), ("names", "a frame of text")):
                what = f"{kinds[labels]} {words}"
                yield from or_skipped(f"{what}, beside crowd-kit", _compare(folder, form, what))


def _compare(folder: str, form: str, what: str) -> Rows:
    """Yield the rows of one form of the answers; accuracies, which no form changes, with the codes."""
    data, added = _load(folder, form), 0.0
    # A rival's run takes up to half a minute, and several times that where the machine has other work.
    with open_rival("crowd_kit", most_seconds=300) as rival:
        for kind, (turns, contests) in _CONTESTS.items():
            seconds: dict[str, list[float]] = {name: [] for name in ("raw", *contests)}
            theirs: dict[str, Any] = {}
            ours = dict[str, Any]()
            for _ in range(turns):
                theirs = rival.ask([folder, form, kind])
                seconds["raw"].append(theirs["seconds"])
                for name in contests:
                    more = {"rounds": theirs["rounds"]} if _OURS[name] == kind and theirs["rounds"] else {}
                    ours[name] = _estimator(name, **more)
                    fit = functools.partial(ours[name].fit_predict, data)
                    seconds[name].append(statistics.median(timed(fit) for _ in range(3)))
            if kind == "DawidSkene":
                added = theirs["added"]  # its peak so far: whoever may need more comes later
            beside = f"beside crowd-kit's {kind}"
            for name, target in contests.items():
                notes = [
                    f" ({n} rounds)" if n else "" for n in (ours[name].inference_.num_iterations, theirs["rounds"])
                ]
                title, (note, other) = f"{name} of {what}, {beside}", notes
                yield Times(seconds).row(title, name, times="{:.3f}", note=note, beside=other, target=target)
                if form == "codes" and name != "majority vote":
                    truth = np.load(f"{folder}/truth.npy")
                    one, two = (
                        float(np.equal(truth, found).mean()) for found in (ours[name].labels_, theirs["labels"])
                    )
                    title = f"truths found by {name} in {what}, {beside}"
                    yield row(title, one, two, show="{:.3%}", times="{:.4f}", target="≥ 1")
    most = max(_added(apart(estimate, folder, form, name)) for name in _OURS if name != "majority vote")
    what = f"memory beyond the input, {what}: the most of truth discovery and both EMs, beside crowd-kit's DawidSkene"
    yield row(what, most, added / MEGABYTE, show="{:,.0f} MB", target="≤ 150 MB")
