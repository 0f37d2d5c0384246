"""Truth discovery's baselines beside `auto`, on the reports of all published crowds: which finds how many truths.

    PSEPHOS_DATA=FOLDER python benchmarks/truth_baselines.py FILE.csv [--glad]

All see the same reports, one layer and two, at a claimed ε from .5 to 6 an answer, one session of each cell, as in
`tests/calibrate.py truth-discovery`. GLAD is crowd-kit's, of the environment `.rivals` that `make bench` installs. It
takes far longer than all of ours together, so that it runs where it is asked for (`--glad`), at ε = 2 and with one
layer alone, and is ended where it has not stopped by itself after two minutes of a processor.
The file has a row for each crowd, mechanism and ε; what is printed are means, and what an estimator's
confidences beyond chance deserved on each crowd.
"""

import csv
import dataclasses
import importlib
import itertools
import os
import signal
import statistics
import sys
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from psephos.protocol.arrays import IntArray
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.truth_discovery import find_truths, make_noise
from psephos.scenarios.truth_discovery.crowd_reports import Layout, draw_labels, renumbering
from psephos.scenarios.truth_discovery.data.published import CROWDS, load_crowd

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from calibration.truth_discovery import Confidences, credit_of

__all__: list[str] = []

_EPSILONS: Final = (0.5, 1.0, 2.0, 4.0, 6.0)
_MECHANISMS: Final = ("one_layer", "two_layer")
_OURS: Final = (*("auto", "majority", "truth_discovery", "crh", "accu", "minimax_entropy"),)
_CREDITED: Final = ("accu", "minimax_entropy")
_SEED: Final = 1
_GLAD_CELL: Final = ("one_layer", 2.0)
_GLAD_SECONDS: Final = 120


def _glad() -> Any:
    sys.path += map(str, Path(__file__).parents[1].glob(".rivals/lib/python*/site-packages"))  # ours come first
    return importlib.import_module("crowdkit.aggregation.classification").GLAD


def _stop(*_: object) -> None:
    raise TimeoutError


def _truths_by(glad: Any, reports: Any) -> IntArray:
    """Return GLAD's labels, as codes; that of a task without answers is -1.

    Raises:
        TimeoutError: it takes too long.
    """
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _GLAD_SECONDS)
    pandas: Any = importlib.import_module("pandas")
    columns = {"task": reports.tasks, "worker": reports.workers, "label": reports.labels}
    try:
        found = glad().fit_predict(pandas.DataFrame(columns))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    truths = np.full(reports.num_tasks, -1, dtype=np.int64)
    truths[found.index.to_numpy()] = found.to_numpy()
    return truths


def _main() -> None:
    folder, glad = Path(os.environ["PSEPHOS_DATA"]), _glad() if "--glad" in sys.argv else None
    cells = list(itertools.product(_MECHANISMS, _EPSILONS))
    rows: list[dict[str, Any]] = []
    said: dict[str, dict[str, list[Confidences]]] = {name: {} for name in _CREDITED}
    for name in CROWDS:
        if not (folder / name).is_dir():
            continue
        layout = Layout.of(load_crowd(name, folder))
        gold, answers = layout.is_gold, layout.crowd.answers
        for mechanism, epsilon in cells:
            generator = np.random.default_rng([_SEED, round(10 * epsilon)])
            parameters = msgspec.structs.replace(layout.parameters, epsilon=epsilon, mechanism=mechanism)
            noise = make_noise(parameters)
            (labels,) = draw_labels(layout, noise, SimulatedNoise(_SEED, session=name), start=0, stop=1)
            numbers = renumbering(answers.num_classes, answers.sizes, generator)
            reports = dataclasses.replace(answers, labels=numbers[answers.tasks, labels])
            truth = numbers[np.arange(answers.num_tasks), np.maximum(layout.crowd.truth, 0)][gold]
            row: dict[str, Any] = {"crowd": name, "mechanism": mechanism, "epsilon": epsilon, "number": len(truth)}
            for estimator in _OURS:
                of_estimator = msgspec.structs.replace(parameters, estimator=estimator)
                _, found = find_truths(reports, parameters=of_estimator, noise=noise)
                is_right = np.equal(found.truths[gold], truth)
                if estimator in _CREDITED:
                    own = Confidences(found.confidences[gold], 1 / answers.sizes[gold], is_right.astype(np.float64))
                    said[estimator].setdefault(name, []).append(own)
                row[estimator] = round(float(is_right.mean()), 4)
            row["glad"] = ""
            if glad is not None and (mechanism, epsilon) == _GLAD_CELL:
                try:
                    is_right = np.equal(_truths_by(glad, reports)[gold], truth)
                    row["glad"] = round(float(is_right.mean()), 4)
                except TimeoutError:
                    row["glad"] = f"more than {_GLAD_SECONDS} s"
            rows.append(row)
            print(row, flush=True)
    for estimator in _OURS:
        mean = statistics.fmean(row[estimator] for row in rows)  # each crowd has as many
        print(f"{estimator:16} {100 * mean:.1f}")
    for estimator, crowds in said.items():
        pooled = {
            name: Confidences(
                *(np.concatenate([getattr(each, field) for each in own]) for field in ("model", "chance", "is_right"))
            )
            for name, own in crowds.items()
        }
        deserved = {name: round(credit_of([own]), 2) for name, own in pooled.items()}
        print(estimator, "together", round(credit_of(list(pooled.values())), 3), deserved)
    with Path(sys.argv[1]).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    _main()
