"""Many sessions at once: the reports of all trials of a cell are drawn from the protocol's own streams.

Worker i of trial t is at place t·n + i of one long roster, so that every trial has noise of its own, and trial 0 is the
session that the protocol runs over arrays. Only the places with an answer are perturbed, which is what makes it fast.

Trials stand side by side in one crowd: worker i of trial t is worker t·n + i, and the same for tasks. Majority voting
and truth discovery then find all of them at once, with the same bits as one by one: what a trial's weights and truths
become depends on itself alone, and one that has converged stays as it is. The other estimators stop by the likelihood
of all answers, so they take one trial at a time.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.estimators.truth_inference import Answers
from ....protocol.randomness import SimulatedNoise
from ....protocol.truth_discovery import Noise, Parameters, TruthDiscovery, find_truths
from ..data import Crowd

__all__ = ["Layout", "clean_accuracy", "draw_labels", "renumbering", "run_trials"]

_SEPARABLE: Final = frozenset({"majority", "truth_discovery"})
"""Estimators that find many crowds at once as they find each."""
_PHASE: Final = "answers"
_TRIALS_AT_A_TIME: Final = 4
"""The arrays of more trials no longer fit the processor's cache."""


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """Where a crowd's answers stand in the rows that workers report.

    Args:
        crowd: the crowd.
        parameters: without a price: its tasks and answer sets.
        codes: int64, shape (answers,): each answer as its private row has it.
        offsets: int64, shape (answers,): the code of label 0 of its answer set.
        places: int64, shape (answers,): its place in its worker's row.
        is_gold: bool, shape (tasks,): where the truth is known, and somebody answered.
    """

    crowd: Crowd
    parameters: Parameters
    codes: IntArray
    offsets: IntArray
    places: IntArray
    is_gold: NDArray[np.bool_]

    @classmethod
    def of(cls, crowd: Crowd) -> "Layout":
        """Return a crowd's layout."""
        answers = crowd.answers
        counts = np.bincount(answers.workers, minlength=answers.num_workers)
        sizes = [len(labels) for labels in crowd.answer_sets]
        starts = np.concatenate([[0], np.cumsum(sizes)])[crowd.answer_set_of_task]
        offsets = starts[answers.tasks].astype(np.int64)
        is_answered = np.bincount(answers.tasks, minlength=answers.num_tasks) > 0
        return cls(
            crowd=crowd,
            parameters=Parameters(
                tasks=tuple(crowd.tasks),
                answer_sets=tuple(map(tuple, crowd.answer_sets)),
                answer_set_of_task=tuple(crowd.answer_set_of_task.tolist()),
                max_answers=int(counts.max()),
            ),
            codes=offsets + answers.labels,
            offsets=offsets,
            places=np.arange(len(answers)) - (np.cumsum(counts) - counts)[answers.workers],
            is_gold=(crowd.truth >= 0) & is_answered,
        )


def draw_labels(layout: Layout, noise: Noise, source: SimulatedNoise, *, start: int, stop: int) -> IntArray:
    """Return the reported labels of some trials.

    Args:
        layout: whose answers.
        noise: how they are perturbed.
        source: of the uniforms; trial 0 has those of the session.
        start: the first trial.
        stop: the one after the last.

    Returns:
        int64, shape (trials, answers), as labels of each task's answer set.
    """
    answers = layout.crowd.answers
    num_workers, width = answers.num_workers, layout.parameters.max_answers
    slots = noise.mechanism.slots_of(width)
    # What a row takes beyond its values is the draw that all of them share; else each value has as many slots.
    shared = noise.mechanism.slots_of(0)
    each = (slots - shared) // width
    columns = np.concatenate(
        [
            np.broadcast_to(np.arange(shared), (len(answers), shared)),
            shared + each * layout.places[:, None] + np.arange(each),
        ],
        axis=1,
    )
    labels = np.empty((stop - start, len(answers)), dtype=np.int64)
    for trial in range(start, stop):
        uniforms = source.uniforms(
            protocol=TruthDiscovery.name,
            phase=_PHASE,
            start=trial * num_workers,
            stop=(trial + 1) * num_workers,
            slots=slots,
        )
        # Rows of one value: the same uniforms, the same draw, the same report.
        own = uniforms[answers.workers[:, None], columns]
        labels[trial - start] = noise.mechanism.randomize_rows(layout.codes[:, None], own)[:, 0] - layout.offsets
    return labels


def renumbering(most: int, sizes: IntArray, generator: np.random.Generator) -> IntArray:
    """Return for each task a new number for each label, the same for all answer sets of a size."""
    numbers = np.tile(np.arange(most), (len(sizes), 1))
    for size in np.unique(sizes).tolist():
        numbers[sizes == size, :size] = generator.permutation(size)
    return numbers


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
