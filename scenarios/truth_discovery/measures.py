"""Measures of trials of truth discovery: the error rate, and its change by noise.

Source: Li et al. (2018), Section 7: the fraction of tasks with a wrong estimated truth, with and without perturbation.
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

_TWO: Final = 2  # labels
_NO_LABEL: Final = -2  # a known truth that is not among the possible answers


def error_rate_of(labels_found: Mapping[str, str | None], truth: Mapping[str, str]) -> float:
    """Return the fraction of wrong truths among at least one known; tasks without answers do not count.

    Examples:
        >>> error_rate_of({"q": "yes", "r": "no", "s": None}, {"q": "yes", "r": "yes", "s": "no"})
        0.5
    """
    judged_tasks = [task for task in truth if labels_found.get(task) is not None]
    return sum(labels_found[task] != truth[task] for task in judged_tasks) / len(judged_tasks)


class TruthMeasures(Measures):
    """Error rates of truths: compared with known truths, and with those from clean answers."""

    def __init__(self, protocol: PhasedProtocol[Any, Any], inputs: Inputs, *, gold: Mapping[str, str]) -> None:
        super().__init__(protocol, inputs, gold=gold)
        assert isinstance(protocol, TruthDiscovery)  # noqa: S101  what the descriptor says
        self._clean = protocol.truth(inputs)
        self._known = {task: gold[task] for task in self._clean if task in gold}
        self._without_noise = error_rate_of(self._clean, self._known) if self._known else 0.0
        self._survey = protocol

    @property
    def measures(self) -> Sequence[Measure]:
        """The error rate and its change if truths are known, and the fraction of changed truths."""
        return (_ERROR_RATE, _CHANGE, _CHANGED) if self._known else (_CHANGED,)

    def of(self, outcome: Any, tallies: Sequence[Tally]) -> Mapping[str, float]:
        del tallies
        assert isinstance(outcome, Outcome)  # noqa: S101  what this protocol releases
        truth_found = dict(zip(outcome.tasks, outcome.truths, strict=True))
        measured_values = {_CHANGED.name: error_rate_of(truth_found, self._clean)}
        if self._known:
            measured_values[_ERROR_RATE.name] = error_rate_of(truth_found, self._known)
            measured_values[_CHANGE.name] = measured_values[_ERROR_RATE.name] - self._without_noise
        return measured_values

    def measure_block(
        self, inputs: InputBlock, decisions: Decisions, tallies: Sequence[TallyBlock]
    ) -> Mapping[str, FloatArray]:
        del tallies
        assert isinstance(decisions, TruthDecisions)  # noqa: S101  what this protocol decides
        clean = self._codes_of(self._clean) if inputs is self.block else self._survey.truths(inputs)
        measured_values = {_CHANGED.name: _error_rates(decisions.truths, clean)}
        if self._known:
            measured_values[_ERROR_RATE.name] = _error_rates(decisions.truths, self._codes_of(self._known))
            measured_values[_CHANGE.name] = measured_values[_ERROR_RATE.name] - self._without_noise
        return measured_values

    def expected(self, inputs: InputBlock) -> Mapping[str, FloatArray]:
        """Return the exact error rates of the majority of two labels; other estimators have only `controls`."""
        if not self._counts_two:
            return {}
        expected_errors = self._errors_of_most(inputs, None)
        return {
            name: error - self._without_noise if name == _CHANGE.name else error
            for name, error in expected_errors.items()
        }

    def controls(self, inputs: InputBlock, tallies: Sequence[TallyBlock]) -> Mapping[str, FloatArray]:
        means = self._errors_of_most(inputs, None)
        return {name: errors - means[name] for name, errors in self._errors_of_most(inputs, tallies[0]).items()}

    @property
    def _counts_two(self) -> bool:
        return self._survey.parameters.estimator == "majority" and max(self._survey.codes.sizes) <= _TWO

    def _errors_of_most(self, inputs: InputBlock, block: TallyBlock | None) -> dict[str, FloatArray]:
        """Return for each measure the fraction of tasks whose majority is wrong; without a block, its exact mean.

        The number of right reports for a task is a sum of independent coins, one for each worker that answers, even if
        a worker's answers share a flip probability. So the mean is exact.
        """
        survey, phase = self._survey, self._survey.phase
        if type(survey) is not TruthDiscovery or survey.noise.on_counts is not None:
            return {}
        targets = {_CHANGED.name: self._codes_of(self._clean) if inputs is self.block else survey.truths(inputs)}
        targets |= {name: self._codes_of(self._known) for name in (_ERROR_RATE.name, _CHANGE.name) if self._known}
        clean = phase.tally_block(inputs.private[:, :, phase.columns], earlier=(), public=inputs.public).totals
        counts = clean.reshape(len(clean), -1, *clean.shape[-2:])  # shape (sessions, levels, tasks, labels)
        answered = counts.sum(axis=(1, 3)) > 0
        counts = counts if block is None else survey.counts_of(block)[0][:, None]
        numbers = counts.sum(axis=3)
        errors_of_measure: dict[str, FloatArray] = {}
        for name, truths in targets.items():
            places = np.broadcast_to(np.maximum(truths, 0)[:, None], numbers.shape)
            counts_of_truth = np.take_along_axis(counts, places[..., None], axis=3)[..., 0]
            ties = np.where(self._counts_two, truths == (survey.parameters.ties == "last"), 1 / 2)
            wins = np.where(2 * counts_of_truth == numbers, ties[:, None], 2 * counts_of_truth > numbers)[:, 0]
            wins = self._chances(counts_of_truth, numbers - counts_of_truth, ties) if block is None else wins
            is_judged = (truths != MISSING) & answered
            errors_of_measure[name] = ((1 - wins * (truths >= 0)) * is_judged).sum(axis=1) / is_judged.sum(axis=1)
        return errors_of_measure

    def _chances(self, right: IntArray, wrong: IntArray, ties: FloatArray) -> FloatArray:
        """Return the probability that the majority of each task's reports is right, given numbers of answers by level.

        It is computed from the characteristic function of the number of right reports.
        """
        sizes: list[int] = self._survey.codes.size_of_task.tolist()
        of_size = [dict(zip(noise.sizes, noise.flip_probabilities, strict=True)) for noise in self._survey.noises]
        flips = np.array([[size_chances[size] for size in sizes] for size_chances in of_size])[..., None]
        lies = flips / np.maximum(np.array(sizes)[:, None] - 1, 1)
        totals: IntArray = (right + wrong).sum(axis=1)
        heads: IntArray = np.arange(int(totals.max()) + 1)
        roots = np.exp(2j * np.pi / len(heads) * heads)
        functions = (flips + (1 - flips) * roots) ** right[..., None] * (1 - lies + lies * roots) ** wrong[..., None]
        law: FloatArray = np.fft.fft(functions.prod(axis=1)).real / len(heads)
        ahead = 2 * heads - totals[..., None]
        return (law * np.where(ahead == 0, ties[..., None], ahead > 0)).sum(axis=2)

    def _codes_of(self, truth: Mapping[str, str]) -> IntArray:
        """Return each task's label by code, shape (1, tasks); -1 if unknown."""
        codes = self._survey.codes
        codes_found = [
            codes.code_of_label[number].get(truth[task], _NO_LABEL) if task in truth else MISSING
            for task, number in zip(codes.tasks, cast("list[int]", codes.set_of_task.tolist()), strict=True)
        ]
        return np.array([codes_found], dtype=np.int64)


def _error_rates(labels_found: IntArray, truth: IntArray) -> FloatArray:
    """Return `error_rate_of` for the truths of many sessions, shape (sessions, tasks)."""
    is_judged = (labels_found >= 0) & (truth != MISSING)
    return ((labels_found != truth) & is_judged).sum(axis=1) / is_judged.sum(axis=1)
