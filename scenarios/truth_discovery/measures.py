"""What trials of truth discovery are measured by: the error rate, and how noise changes it.

Source: Li et al. (2018), Section 7: the share of tasks whose found truth is wrong, with and without perturbation.
"""

import functools
import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np

from ...protocol import Tally
from ...protocol.arrays import FloatArray, IntArray
from ...protocol.estimators.truth_inference import MISSING
from ...protocol.mechanisms.binomial import binomial_law
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

    def expected(self, inputs: InputBlock) -> Mapping[str, FloatArray]:
        """Return the error rates of a majority of two labels, which is a control of all others."""
        if not self._counts_two:
            return {}
        found = self._errors_of_most(inputs, None)
        return {name: own - self._without_noise if name == _CHANGE.name else own for name, own in found.items()}

    def controls(self, inputs: InputBlock, tallies: Sequence[TallyBlock]) -> Mapping[str, FloatArray]:
        means = self._errors_of_most(inputs, None)
        return {name: own - means[name] for name, own in self._errors_of_most(inputs, tallies[0]).items()}

    @property
    def _counts_two(self) -> bool:
        return self._survey.parameters.estimator == "majority" and max(self._survey.codes.sizes) <= _TWO

    def _errors_of_most(self, inputs: InputBlock, block: TallyBlock | None) -> dict[str, FloatArray]:
        """Return for each measure the share of tasks whose truth most reports do not say, on average without a block.

        How many reports of a task say it is a sum of coins, one for each worker who answers, which are independent
        whether or not the answers of one worker share what it drew. So the average is exact.
        """
        survey, is_own = self._survey, inputs is self.block
        if type(survey) is not TruthDiscovery or survey.noise.on_counts is not None:
            return {}
        targets = {_CHANGED.name: self._codes_of(self._clean) if is_own else survey.truths(inputs)}
        targets |= {name: self._codes_of(self._known) for name in (_ERROR_RATE.name, _CHANGE.name) if self._known}
        clean = self._clean_counts if is_own else self._counts_of(inputs)
        found: dict[str, FloatArray] = {}
        for name, truths in targets.items():
            is_judged = (truths != MISSING) & (clean.sum(axis=(1, 3)) > 0)
            ties = np.where(self._counts_two, truths == (survey.parameters.ties == "last"), 1 / 2)
            if block is None:
                wins = self._chances(_said(clean, truths[:, None]), clean.sum(axis=3), ties)
            else:
                counts, numbers = survey.counts_of(block)
                ahead = 2 * _said(counts, truths) - numbers
                wins = np.where(ahead == 0, ties, ahead > 0)
            found[name] = ((1 - wins * (truths >= 0)) * is_judged).sum(axis=1) / is_judged.sum(axis=1)
        return found

    @functools.cached_property
    def _clean_counts(self) -> IntArray:
        return self._counts_of(self.block)

    def _counts_of(self, inputs: InputBlock) -> IntArray:
        """Return how many answer each label of each task, shape (sessions, levels, tasks, labels)."""
        phase = self._survey.phase
        totals = phase.tally_block(inputs.private[:, :, phase.columns], earlier=(), public=inputs.public).totals
        return totals.reshape(len(totals), -1, *totals.shape[-2:])

    def _chances(self, right: IntArray, numbers: IntArray, ties: FloatArray) -> FloatArray:
        """Return the chance that most reports of each task are right, where so many answers of each level are."""
        sizes: list[int] = self._survey.codes.size_of_task.tolist()
        flips = [dict(zip(noise.sizes, noise.flip_probabilities, strict=True)) for noise in self._survey.noises]
        coins = [tuple((1 - own[size], own[size] / max(size - 1, 1)) for own in flips) for size in sizes]
        kinds = np.stack([right, numbers - right], axis=-1).swapaxes(1, 2)
        rows = kinds.reshape(len(kinds), len(sizes), -1).tolist()
        return np.array(
            [[*map(_majority, coins, map(tuple, row), tie)] for row, tie in zip(rows, ties.tolist(), strict=True)]
        )

    def _codes_of(self, truth: Mapping[str, str]) -> IntArray:
        """Return each task's label by code, shape (1, tasks); -1 where it is not known."""
        codes = self._survey.codes
        found = [
            codes.code_of_label[number].get(truth[task], _NO_LABEL) if task in truth else MISSING
            for task, number in zip(codes.tasks, cast("list[int]", codes.set_of_task.tolist()), strict=True)
        ]
        return np.array([found], dtype=np.int64)


def _said(counts: IntArray, truths: IntArray) -> IntArray:
    """Return how often each task's truth is said, of counts of shape (..., tasks, labels)."""
    places = np.broadcast_to(np.maximum(truths, 0), counts.shape[:-1])
    return np.take_along_axis(counts, places[..., None], axis=-1)[..., 0]


@functools.lru_cache(maxsize=1 << 14)
def _majority(coins: tuple[tuple[float, float], ...], numbers: tuple[int, ...], tie: float) -> float:
    """Return the chance that most of so many coins of each chance are heads, half of them being worth a tie."""
    law, least = np.ones(1), 0
    for chance, number in zip(itertools.chain.from_iterable(coins), numbers, strict=True):
        low, masses = binomial_law(number, Fraction(chance))
        law, least = np.convolve(law, masses), least + low
    ahead = 2 * (least + np.arange(len(law))) - sum(numbers)
    return float((law * np.where(ahead == 0, tie, ahead > 0)).sum())


def _error_rates(found: IntArray, truth: IntArray) -> FloatArray:
    """Return `error_rate_of` truths of many sessions, shape (sessions, tasks)."""
    is_judged = (found >= 0) & (truth != MISSING)
    return ((found != truth) & is_judged).sum(axis=1) / is_judged.sum(axis=1)
