"""The cells of an experiment, a crowd, a perturbation and an estimator: how right it is in many sessions at once."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.estimators.truth_inference import AnswerBlock
from ....protocol.randomness import SimulatedNoise
from ....protocol.truth_discovery import Noise, Parameters, find_truths, make_noise
from ...experiments.measurements import in_blocks
from ..crowd_reports import Layout, draw_labels

MECHANISM_NAMES: Final = {"one_layer": "one layer", "two_layer": "two layers"}
"""Those that are compared, and what they are called in tables, pictures and sentences."""
ESTIMATOR_NAMES: Final = {
    "majority": "majority",
    "truth_discovery": "truth discovery",
    "one_coin": "one coin",
    "dawid_skene": "Dawid-Skene",
    "noise_aware": "noise-aware",
    "noise_aware_dawid_skene": "noise-aware D.-S.",
    "auto": "auto",
}
"""Likewise."""
_ROUNDS_OF_THE_PAPER: Final = 10
"""Reading T2; the paper says "until convergence"."""
_FIELDS: Final = {"claimed": "epsilon", "all answers": "epsilon_worker", "one answer": "epsilon_answer"}
_TRIALS_AT_A_TIME: Final = 4  # the arrays of more trials no longer fit the processor's cache


def with_estimator(parameters: Parameters, estimator: str) -> Parameters:
    """Return the parameters with an estimator by name; the paper's has as many rounds as reading T2 says."""
    rounds = _ROUNDS_OF_THE_PAPER if estimator == "truth_discovery" else parameters.max_iterations
    return msgspec.structs.replace(parameters, estimator=estimator, max_iterations=rounds)


def noise_at(layout: Layout, mechanism: str, *, unit: str, price: float) -> Noise:
    """Return the perturbation by a mechanism, or by "auto", of a price in a unit, as `ComparisonRow` has them.

    ConfigurationError where the mechanism cannot have this price.
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
        self._known: dict[tuple[str, str, int], FloatArray] = {}

    def accuracies(self, crowd: str, noise: Noise, estimators: Sequence[str], *, trials: int) -> dict[str, FloatArray]:
        """Return for each estimator the accuracy of each trial on the tasks with a known truth."""
        layout, cell = self.layouts[crowd], session_of(crowd, noise)
        source = SimulatedNoise(self._seed, session=cell)
        new = [name for name in estimators if (cell, name, trials) not in self._known]
        # "auto" is first, since it tells which of the others it is: that one need not run again.
        new.sort(key=lambda name: name != "auto")

        def run(start: int, stop: int) -> dict[str, FloatArray]:
            labels = draw_labels(layout, noise, source, start=start, stop=stop)
            known: dict[tuple[str, int], FloatArray] = {}  # by estimator and rounds
            for name in new:
                parameters = with_estimator(layout.parameters, name)
                if (place := (name, parameters.max_iterations)) not in known:
                    block = AnswerBlock(layout.crowd.answers, labels)
                    chosen, found = find_truths(block, parameters=parameters, noise=noise)
                    known[place] = known[chosen, place[1]] = _share_right(layout, found.truths)
            return {name: known[name, with_estimator(layout.parameters, name).max_iterations] for name in new}

        if new:
            found = in_blocks(run, trials=trials, at_a_time=_TRIALS_AT_A_TIME)
            self._known |= {(cell, name, trials): each for name, each in found.items()}
        return {name: self._known[cell, name, trials] for name in estimators}


def clean_accuracy(layout: Layout, parameters: Parameters) -> float:
    """Return an estimator's accuracy on the answers themselves."""
    _, inference = find_truths(layout.crowd.answers, parameters=parameters, noise=None)
    return float(_share_right(layout, inference.truths[None, :])[0])


def _share_right(layout: Layout, truths: IntArray) -> FloatArray:
    """Return the share of right truths of each trial, shape (trials,), from those of shape (trials, tasks)."""
    is_right = truths[:, layout.is_gold] == layout.crowd.truth[layout.is_gold]
    return is_right.sum(axis=1) / is_right.shape[1]
