"""The crowds of the experiments, and how right an estimator is on their reports in many sessions at once.

The crowds are the stand-in for the peer grading data, and the published ones of a folder.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.estimators.truth_inference import AnswerBlock
from ....protocol.randomness import SimulatedNoise
from ....protocol.truth_discovery import Noise, Parameters, find_truths, make_noise
from ...experiments.comparing import Row
from ...experiments.measurements import Sample, in_blocks, sample_of
from ...experiments.paper_files import rows_beside
from ..crowd_reports import Layout, draw_labels
from ..data.published import load_crowd
from ..data.synthetic import PEER_GRADING_STAND_IN, make_peer_grading

DUCHENNE: Final = "duchenne"
PEER_GRADING: Final = "peer-grading"
"""The stand-in's name."""
OF_PAPER: Final = ("majority", "truth_discovery")
TRIALS_AT_A_TIME: Final = 16
_ROUNDS_OF_THE_PAPER: Final = 10
"""Reading T2; the paper says "until convergence"."""
_FIELDS: Final = {"claimed": "epsilon", "all answers": "epsilon_worker", "one answer": "epsilon_answer"}


def load_layouts(folder: str, names: Sequence[str]) -> tuple[dict[str, Layout], dict[str, str]]:
    """Return the stand-in and what the folder has of published crowds, by name, and why the others are not there.

    The folder is empty where nobody has named it; ConfigurationError where a data set is not what it should be.
    """
    layouts = {PEER_GRADING: Layout.of(make_peer_grading(PEER_GRADING_STAND_IN))}
    if not folder:
        return layouts, dict.fromkeys(names, "no folder of data sets was named")
    there = [name for name in names if (Path(folder) / name).is_dir()]
    layouts |= {name: Layout.of(load_crowd(name, Path(folder))) for name in there}
    return layouts, {name: "not in the folder of data sets" for name in names if name not in there}


def crowd_row(name: str, layout: Layout) -> Row:
    """Return what a crowd is, and what estimators find in its clean answers."""
    answers = layout.crowd.answers
    counts = np.bincount(answers.workers, minlength=answers.num_workers)
    truths = layout.crowd.truth[layout.is_gold]
    return {
        "crowd": name,
        "is_made_up": name == PEER_GRADING,
        "tasks": answers.num_tasks,
        "workers": answers.num_workers,
        "answers": len(answers),
        "gold": len(truths),
        "labels": answers.num_classes,
        "most_answers": int(counts.max()),
        "largest_class": float(np.bincount(truths).max() / len(truths)),
        **{estimator: clean_accuracy(layout, estimator) for estimator in (*OF_PAPER, "auto")},
    }


def table_1(crowds: Mapping[str, Row]) -> Iterator[Row]:
    """Yield Table 1's numbers beside ours, and the accuracy that Section 7.2 gives without saying of what."""
    for known in rows_beside(__name__, "crowds.csv"):
        for what, printed in list(known.items())[1:] if known["crowd"] in crowds else ():
            names = OF_PAPER if what == "accuracy" else (what,)
            for name in names:
                ours, value = crowds[known["crowd"]][name], float(printed)
                yield {
                    "crowd": known["crowd"],
                    "what": name,
                    "ours": ours,
                    "printed": value,
                    "distance": abs(ours - value),
                }


def with_estimator(parameters: Parameters, estimator: str) -> Parameters:
    """Return the parameters with an estimator by name; the paper's has as many rounds as reading T2 says."""
    rounds = _ROUNDS_OF_THE_PAPER if estimator == "truth_discovery" else parameters.max_iterations
    return msgspec.structs.replace(parameters, estimator=estimator, max_iterations=rounds)


def noise_at(layout: Layout, mechanism: str, *, unit: str, price: float) -> Noise:
    """Return the perturbation by a mechanism, or by "auto", of a price in nats.

    Args:
        layout: of a crowd.
        mechanism: its name.
        unit: what has the price: "claimed" (the paper's ε), "all answers" (their loss over their number) or "one
            answer", both proven, of the worker with most answers.
        price: of one answer.

    Raises:
        ConfigurationError: the mechanism cannot have this price.
    """
    total = price * layout.parameters.max_answers if unit == "all answers" else price
    given = {"mechanism": mechanism, _FIELDS[unit]: total}
    return make_noise(msgspec.structs.replace(layout.parameters, **given))


def session_of(crowd: str, noise: Noise) -> str:
    """Return the name of a cell's session: its crowd and its law, so that all estimators see the same reports."""
    return f"{crowd}/{noise.name}/{noise.flip_probabilities!r}/{noise.hyper!r}"


class Cells:
    """Measures cells of some crowds, and remembers them: tables and comparisons share some."""

    def __init__(self, layouts: Mapping[str, Layout], *, seed: int) -> None:
        self.layouts = layouts
        self._seed = seed
        self._known: dict[tuple[str, str], Sample] = {}

    def accuracies(
        self, crowd: str, noise: Noise, estimators: Iterable[str] = OF_PAPER, *, trials: int
    ) -> dict[str, Sample]:
        """Return for each estimator the accuracy of each trial on the tasks with a known truth."""
        layout, cell = self.layouts[crowd], session_of(crowd, noise)
        source = SimulatedNoise(self._seed, session=cell)
        new = [name for name in estimators if (cell, name) not in self._known]

        def run(start: int, stop: int) -> dict[str, FloatArray]:
            labels = draw_labels(layout, noise, source, start=start, stop=stop)
            block, found = AnswerBlock(layout.crowd.answers, labels), dict[str, FloatArray]()
            for name in new:
                if name not in found:
                    parameters = with_estimator(layout.parameters, name)
                    chosen, inferences = find_truths(block, parameters=parameters, noise=noise)
                    found[name] = found[chosen] = _share_right(layout, inferences.truths)
            return {name: found[name] for name in new}

        if new:
            found = in_blocks(run, trials=trials, at_a_time=TRIALS_AT_A_TIME)
            self._known |= {(cell, name): sample_of(each, is_share=True) for name, each in found.items()}
        return {name: self._known[cell, name] for name in estimators}


def clean_accuracy(layout: Layout, estimator: str) -> float:
    """Return an estimator's accuracy on the answers themselves."""
    parameters = with_estimator(layout.parameters, estimator)
    _, inference = find_truths(layout.crowd.answers, parameters=parameters, noise=None)
    return float(_share_right(layout, inference.truths[None, :])[0])


def _share_right(layout: Layout, truths: IntArray) -> FloatArray:
    """Return the share of right truths of each trial, shape (trials,), from those of shape (trials, tasks)."""
    is_right = truths[:, layout.is_gold] == layout.crowd.truth[layout.is_gold]
    return is_right.sum(axis=1) / is_right.shape[1]
