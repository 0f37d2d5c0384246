"""A crowd: answers with the names of tasks, workers and labels, and the truth where it is known."""

import dataclasses
from collections.abc import Sequence

from ....protocol.arrays import IntArray
from ....protocol.estimators.truth_inference import Answers


@dataclasses.dataclass(frozen=True, eq=False)
class Crowd:
    """The answers of a crowd, with names.

    Examples:
        >>> from psephos.scenarios.truth_discovery.data import SyntheticCrowd, make_crowd
        >>> crowd = make_crowd(SyntheticCrowd(tasks=2, workers=3, answers_per_task=2, seed=1))
        >>> [crowd.workers[worker] for worker in crowd.answers.workers], crowd.answer_sets
        (['w1', 'w1', 'w2', 'w3'], [('0', '1')])
    """

    answers: Answers  # as codes, one for each (task, worker) at most, sorted by worker and then by task
    tasks: Sequence[str]  # the tasks' names by code
    workers: Sequence[str]  # the workers' names by code
    answer_sets: Sequence[Sequence[str]]  # the distinct answer sets, each the names of its labels by code
    answer_set_of_task: IntArray  # int64, shape (tasks,): which one each task has
    truth: IntArray  # int64, shape (tasks,): the true label's code, or -1 where it is not known
    are_labels_said: bool = True  # whether somebody said the answer sets, or published them; else answers tell them
    note: str = ""  # what became of answers and truths as they were read, as sentences for people
