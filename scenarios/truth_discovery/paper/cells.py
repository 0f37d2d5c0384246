"""The cells of an experiment: a crowd, a perturbation and an estimator, each measured once."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ....protocol.arrays import FloatArray
from ....protocol.truth_discovery import Noise, Parameters, make_noise
from ..crowd_reports import Layout
from .trials import run_trials
from .workloads import Workloads

__all__ = ["ESTIMATOR_NAMES", "MECHANISM_NAMES", "Cells", "noise_at", "session_of", "with_estimator"]

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


def with_estimator(parameters: Parameters, estimator: str) -> Parameters:
    """Return the parameters with an estimator by name; the paper's has as many rounds as reading T2 says."""
    rounds = _ROUNDS_OF_THE_PAPER if estimator == "truth_discovery" else parameters.max_iterations
    return msgspec.structs.replace(parameters, estimator=estimator, max_iterations=rounds)


def noise_at(layout: Layout, mechanism: str, *, unit: str, price: float) -> Noise:
    """Return a perturbation of one price.

    Args:
        layout: the crowd's.
        mechanism: "one_layer", "two_layer" or "auto".
        unit: "claimed", "all answers" or "one answer" (see `ComparisonRow`).
        price: in nats, for one answer; of all answers their loss over their number.

    Raises:
        ConfigurationError: the mechanism cannot have this price.
    """
    total = price * layout.parameters.max_answers if unit == "all answers" else price
    given = {"mechanism": mechanism, _FIELDS[unit]: total}
    return make_noise(msgspec.structs.replace(layout.parameters, **given))


class Cells:
    """Measures cells, and remembers them: tables and comparisons share some.

    Args:
        workloads: the crowds.
        seed: of everything drawn.
    """

    def __init__(self, workloads: Workloads, *, seed: int) -> None:
        self._workloads = workloads
        self._seed = seed
        self._known: dict[tuple[str, str, int], FloatArray] = {}

    def accuracies(self, crowd: str, noise: Noise, estimators: Sequence[str], *, trials: int) -> list[FloatArray]:
        """Return the accuracy of each trial for each estimator.

        The noise of a cell depends on the crowd and the law alone, so that all estimators see the same reports.

        Args:
            crowd: its name.
            noise: the perturbation.
            estimators: names.
            trials: at least one.
        """
        layout = self._workloads.layouts[crowd]
        cell = session_of(crowd, noise)
        new = [name for name in estimators if (cell, name, trials) not in self._known]
        if new:
            asked = [with_estimator(layout.parameters, name) for name in new]
            found = run_trials(layout, noise, asked, trials=trials, seed=self._seed, cell=cell)
            self._known |= {(cell, name, trials): each for name, each in zip(new, found, strict=True)}
        return [self._known[cell, name, trials] for name in estimators]


def session_of(crowd: str, noise: Noise) -> str:
    """Return the name of a cell's session: its crowd and its law."""
    return f"{crowd}/{noise.name}/{noise.flip_probabilities!r}/{noise.hyper!r}"
