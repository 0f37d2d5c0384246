"""Draw the reports of many sessions of one crowd from the protocol's noise streams.

Worker i of trial t has index t·n + i in one long roster. So trials have independent noise, and trial 0 equals the
protocol's session over arrays. Only positions with an answer are perturbed, which is fast.
"""

import dataclasses
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...protocol.arrays import IntArray
from ...protocol.randomness import SimulatedNoise
from ...protocol.truth_discovery import Parameters, Perturbation, TruthDiscovery
from .data import Crowd

_PHASE: Final = "answers"


@dataclasses.dataclass(frozen=True, eq=False)
class Layout:
    """The positions of a crowd's answers in workers' rows.

    Examples:
        >>> from psephos.scenarios.truth_discovery.data import SyntheticCrowd, make_crowd
        >>> layout = Layout.of(make_crowd(SyntheticCrowd(tasks=2, workers=3, answers_per_task=2, seed=1)))
        >>> layout.places.tolist(), layout.is_gold.tolist()
        ([0, 1, 0, 0], [True, True])
    """

    crowd: Crowd
    parameters: Parameters  # tasks and answer sets, without ε
    codes: IntArray  # int64, shape (answers,): each answer's code in its private row
    offsets: IntArray  # int64, shape (answers,): the code of label 0 in its answer set
    places: IntArray  # int64, shape (answers,): its column in its worker's row
    is_gold: NDArray[np.bool_]  # bool, shape (tasks,): whether the truth is known and a worker answered

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


def draw_labels(layout: Layout, noise: Perturbation, source: SimulatedNoise, *, start: int, stop: int) -> IntArray:
    """Return the reported labels of trials `start` up to `stop`, int64, shape (trials, answers).

    Labels are those of each task's answer set. Trial 0 has the session's uniforms.
    """
    answers = layout.crowd.answers
    num_workers, width = answers.num_workers, layout.parameters.max_answers
    slots = noise.mechanism.slots_of(width)
    # Slots beyond those of values belong to the draw that all values share; otherwise each value has as many slots.
    shared_slots = noise.mechanism.slots_of(0)
    each = (slots - shared_slots) // width
    columns = np.concatenate(
        [
            np.broadcast_to(np.arange(shared_slots), (len(answers), shared_slots)),
            shared_slots + each * layout.places[:, None] + np.arange(each),
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
        # Rows of one value: equal uniforms give equal reports.
        own_uniforms = uniforms[answers.workers[:, None], columns]
        labels[trial - start] = (
            noise.mechanism.randomize_rows(layout.codes[:, None], own_uniforms)[:, 0] - layout.offsets
        )
    return labels


def draw_renumbering(max_size: int, sizes: IntArray, generator: np.random.Generator) -> IntArray:
    """Return a random permutation of labels for each task, the same for all answer sets of a size.

    Examples:
        >>> numbers = draw_renumbering(3, np.array([2, 3, 2]), np.random.default_rng(1))
        >>> numbers[0].tolist() == numbers[2].tolist()
        True
    """
    numbers = np.tile(np.arange(max_size), (len(sizes), 1))
    for size in np.unique(sizes).tolist():
        numbers[sizes == size, :size] = generator.permutation(size)
    return numbers
