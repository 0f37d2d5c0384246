"""Many sessions at once: how right each estimator is on the reports of all trials of a cell.

Trials stand side by side in one crowd: worker i of trial t is worker t·n + i, and the same for tasks. Majority voting
and truth discovery then find all of them at once, with the same bits as one by one: what a trial's weights and truths
become depends on itself alone, and one that has converged stays as it is. The other estimators stop by the likelihood
of all answers, so they take one trial at a time.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.estimators.truth_inference import Answers
from ....protocol.randomness import SimulatedNoise
from ....protocol.truth_discovery import Noise, Parameters, find_truths
from ..crowd_reports import Layout, draw_labels

__all__ = ["clean_accuracy", "run_trials"]

_SEPARABLE: Final = frozenset({"majority", "truth_discovery"})
"""Estimators that find many crowds at once as they find each."""
_TRIALS_AT_A_TIME: Final = 4
"""The arrays of more trials no longer fit the processor's cache."""


def run_trials(
    layout: Layout, noise: Noise, estimators: Sequence[Parameters], *, trials: int, seed: int, cell: str
) -> list[FloatArray]:
    """Return for each estimator the accuracy of each trial on the tasks with a known truth.

    Args:
        layout: whose answers.
        noise: how they are perturbed.
        estimators: parameters that name one each; all see the same reports.
        trials: at least one.
        seed: of all noise.
        cell: the session's name; cells of one name share their noise.
    """
    source = SimulatedNoise(seed, session=cell)
    found: list[list[FloatArray]] = [[] for _ in estimators]
    for start in range(0, trials, _TRIALS_AT_A_TIME):
        stop = min(start + _TRIALS_AT_A_TIME, trials)
        labels = draw_labels(layout, noise, source, start=start, stop=stop)
        known: dict[tuple[int, str, int], IntArray] = {}
        # "auto" is first, since it tells which of the others it is: that one need not run again.
        for place in sorted(range(len(estimators)), key=lambda place: estimators[place].estimator != "auto"):
            found[place].append(_accuracies(layout, labels, estimators[place], noise, known))
    return [np.concatenate(accuracies) for accuracies in found]


def clean_accuracy(layout: Layout, parameters: Parameters) -> float:
    """Return an estimator's accuracy on the answers themselves."""
    _, inference = find_truths(layout.crowd.answers, parameters=parameters, noise=None)
    return float(_share_right(layout, inference.truths[None, :])[0])


def _accuracies(
    layout: Layout,
    labels: IntArray,
    parameters: Parameters,
    noise: Noise,
    known: dict[tuple[int, str, int], IntArray],
) -> FloatArray:
    """Return an estimator's accuracy in each trial; `known` has truths by trial, estimator, rounds."""
    answers = layout.crowd.answers
    if parameters.estimator in _SEPARABLE:
        _, inference = find_truths(_side_by_side(answers, labels), parameters=parameters, noise=noise)
        return _share_right(layout, inference.truths.reshape(len(labels), -1))
    truths: list[IntArray] = []
    for trial, of_trial in enumerate(labels):
        place = trial, parameters.estimator, parameters.max_iterations
        if place not in known:
            reports = dataclasses.replace(answers, labels=of_trial)
            name, inference = find_truths(reports, parameters=parameters, noise=noise)
            known[place] = known[trial, name, parameters.max_iterations] = inference.truths
        truths.append(known[place])
    return _share_right(layout, np.stack(truths))


def _side_by_side(answers: Answers, labels: IntArray) -> Answers:
    """Return one crowd of several trials' reports, shape (trials, answers)."""
    trials = len(labels)
    numbers = np.arange(trials)[:, None]
    return Answers(
        tasks=(answers.tasks + numbers * answers.num_tasks).reshape(-1),
        workers=(answers.workers + numbers * answers.num_workers).reshape(-1),
        labels=labels.reshape(-1),
        num_tasks=trials * answers.num_tasks,
        num_workers=trials * answers.num_workers,
        sizes=np.tile(answers.sizes, trials),
    )


def _share_right(layout: Layout, truths: IntArray) -> FloatArray:
    """Return the share of right truths of each trial, shape (trials,), from those of shape (trials, tasks)."""
    is_right = truths[:, layout.is_gold] == layout.crowd.truth[layout.is_gold]
    return is_right.sum(axis=1) / is_right.shape[1]
