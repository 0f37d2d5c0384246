"""What trials of truth discovery are measured by: the error rate, and how noise changes it.

Source: Li et al. (2018), Section 7: the share of tasks whose found truth is wrong, with and without perturbation.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from ...protocol import Tally
from ...protocol.arrays import FloatArray, IntArray
from ...protocol.estimators.truth_inference import MISSING
from ...protocol.phases import InputBlock, Inputs, PhasedProtocol
from ...protocol.tally import Decisions, TallyBlock
from ...protocol.truth_discovery import Outcome, TruthDecisions, TruthDiscovery
from ..experiments.measures import Measure, Measures

_ERROR_RATE = Measure(
    name="error rate",
    about="the share of wrong truths, of tasks whose truth is known",
    is_share=True,
    said="{} of the truths that are found are wrong",
)
_CHANGE = Measure(
    name="change of error rate",
    about="that the noise makes: less the error rate without noise",
    is_share=True,
    limits=(-1.0, 1.0),
)
_CHANGED = Measure(
    name="changed truths",
    about="the share of truths that are others than without noise",
    is_share=True,
    said="{} of the truths that are found are others than without noise",
)

_NO_LABEL: Final = -2  # of a truth that somebody knows, and no answer can say


def error_rate_of(found: Mapping[str, str | None], truth: Mapping[str, str]) -> float:
    """Return the share of wrong truths, of at least one that is known; where nobody answered, a task does not count."""
    judged = [task for task in truth if found.get(task) is not None]
    return sum(found[task] != truth[task] for task in judged) / len(judged)


class TruthMeasures(Measures):
    """How often truths are wrong: by those that are known, and by those that clean answers give."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        assert isinstance(protocol, TruthDiscovery)  # noqa: S101  what the descriptor says
        self._clean = protocol.truth(inputs)
        self._known = {task: gold[task] for task in self._clean if task in gold}
        self._without_noise = error_rate_of(self._clean, self._known) if self._known else 0.0
        self._survey = protocol

    @property
    def measures(self) -> Sequence[Measure]:
        """The error rate and its change where truths are known, and how many truths change."""
        return (_ERROR_RATE, _CHANGE, _CHANGED) if self._known else (_CHANGED,)

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        del tallies
        assert isinstance(outcome, Outcome)  # noqa: S101  what this protocol releases
        found = dict(zip(outcome.tasks, outcome.truths, strict=True))
        measured = {_CHANGED.name: error_rate_of(found, self._clean)}
        if self._known:
            measured[_ERROR_RATE.name] = error_rate_of(found, self._known)
            measured[_CHANGE.name] = measured[_ERROR_RATE.name] - self._without_noise
        return measured

    def of_block(
        self, inputs: InputBlock, decisions: Decisions, tallies: Sequence[TallyBlock]
    ) -> Mapping[str, FloatArray]:
        del tallies
        assert isinstance(decisions, TruthDecisions)  # noqa: S101  what this protocol decides
        clean = self._codes_of(self._clean) if inputs is self.block else self._survey.truths(inputs)
        measured = {_CHANGED.name: _error_rates(decisions.truths, clean)}
        if self._known:
            measured[_ERROR_RATE.name] = _error_rates(decisions.truths, self._codes_of(self._known))
            measured[_CHANGE.name] = measured[_ERROR_RATE.name] - self._without_noise
        return measured

    def _codes_of(self, truth: Mapping[str, str]) -> IntArray:
        """Return each task's label by code, shape (1, tasks); -1 where it is not known."""
        codes = self._survey.codes
        found = [
            codes.code_of_label[number].get(truth[task], _NO_LABEL) if task in truth else MISSING
            for task, number in zip(codes.tasks, cast("list[int]", codes.set_of_task.tolist()), strict=True)
        ]
        return np.array([found], dtype=np.int64)


def _error_rates(found: IntArray, truth: IntArray) -> FloatArray:
    """Return `error_rate_of` truths of many sessions, shape (sessions, tasks)."""
    is_judged = (found >= 0) & (truth != MISSING)
    return ((found != truth) & is_judged).sum(axis=1) / is_judged.sum(axis=1)
