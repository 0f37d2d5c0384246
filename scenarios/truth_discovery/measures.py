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

    def controls(self, inputs: InputBlock, tallies: Sequence[TallyBlock]) -> Mapping[str, FloatArray]:
        """Return how much less often than on average most reports say the truth. See `Measures.controls`.

        The share of a task's reports that say it is a sum of coins, one for each worker who answers: independent, since
        workers are, whether or not the answers of one worker share what it drew. So the chance of a majority is exact.
        """
        survey, (block,) = self._survey, tallies
        if type(survey) is not TruthDiscovery or survey.noise.on_counts is not None:
            return {}
        if inputs is self.block:
            clean, found = self._clean_counts, self._codes_of(self._clean)
        else:
            clean, found = self._counts_of(inputs), survey.truths(inputs)
        reports, _ = survey.counts_of(block)
        off = {_CHANGED.name: self._off_average(clean, reports, found)}
        if self._known:
            off[_ERROR_RATE.name] = self._off_average(clean, reports, self._codes_of(self._known))
            off[_CHANGE.name] = off[_ERROR_RATE.name]
        return off

    @functools.cached_property
    def _clean_counts(self) -> IntArray:
        return self._counts_of(self.block)

    def _counts_of(self, inputs: InputBlock) -> IntArray:
        """Return how many answer each label of each task, shape (sessions, levels, tasks, labels)."""
        phase = self._survey.phase
        totals = phase.tally_block(inputs.private[:, :, phase.columns], earlier=(), public=inputs.public).totals
        return totals.reshape(len(totals), -1, *totals.shape[-2:])

    def _off_average(self, clean: IntArray, reports: IntArray, truths: IntArray) -> FloatArray:
        """Return the share of tasks without a majority for their truths, less its mean; a tie is half of one."""
        is_judged = (truths >= 0) & (clean.sum(axis=(1, 3)) > 0)
        places = np.maximum(truths, 0)[:, :, None]
        yes = np.take_along_axis(clean, places[:, None], axis=3)[..., 0]
        both = np.moveaxis(np.stack([yes, clean.sum(axis=3) - yes]), 0, 3)  # sessions, levels, tasks, right or wrong
        sizes: list[int] = self._survey.codes.size_of_task.tolist()
        flips = [dict(zip(noise.sizes, noise.flip_probabilities, strict=True)) for noise in self._survey.noises]
        tells = [
            tuple((1 - own[size], own[size] / (size - 1)) for own in flips) if size > 1 else ((1.0, 0.0),) * len(flips)
            for size in sizes
        ]
        numbers = both.swapaxes(1, 2).reshape(*both.shape[::2][:2], -1).tolist()
        mean = np.array(
            [[_majority(own, tuple(row)) for own, row in zip(tells, rows, strict=True)] for rows in numbers]
        )
        said = 2 * np.take_along_axis(reports, np.broadcast_to(places, (*reports.shape[:2], 1)), axis=2)[..., 0]
        wins = (np.sign(said - reports.sum(axis=2)) + 1) / 2
        return ((mean - wins) * is_judged).sum(axis=1) / is_judged.sum(axis=1)

    def _codes_of(self, truth: Mapping[str, str]) -> IntArray:
        """Return each task's label by code, shape (1, tasks); -1 where it is not known."""
        codes = self._survey.codes
        found = [
            codes.code_of_label[number].get(truth[task], _NO_LABEL) if task in truth else MISSING
            for task, number in zip(codes.tasks, cast("list[int]", codes.set_of_task.tolist()), strict=True)
        ]
        return np.array([found], dtype=np.int64)


@functools.lru_cache(maxsize=1 << 14)
def _majority(chances: tuple[tuple[float, float], ...], numbers: tuple[int, ...]) -> float:
    """Return the chance that coins are more than half of them heads, of a tie half: so many of each chance."""
    law, least = np.ones(1), 0
    for chance, number in zip(itertools.chain.from_iterable(chances), numbers, strict=True):
        low, masses = binomial_law(number, Fraction(chance))
        law, least = np.convolve(law, masses), least + low
    heads = 2 * (least + np.arange(len(law)))
    return float((law * (np.sign(heads - sum(numbers)) + 1)).sum() / 2)


def _error_rates(found: IntArray, truth: IntArray) -> FloatArray:
    """Return `error_rate_of` truths of many sessions, shape (sessions, tasks)."""
    is_judged = (found >= 0) & (truth != MISSING)
    return ((found != truth) & is_judged).sum(axis=1) / is_judged.sum(axis=1)
