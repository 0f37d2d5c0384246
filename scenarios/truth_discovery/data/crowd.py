"""A crowd: answers with the names of tasks, workers and labels, and the truth where it is known."""

import dataclasses
from collections.abc import Sequence

from ....protocol.arrays import IntArray
from ....protocol.estimators.truth_inference import Answers

__all__ = ["Crowd"]


@dataclasses.dataclass(frozen=True, eq=False)
class Crowd:
    """The answers of a crowd, with names.

    Args:
        answers: as codes, one for each (task, worker) at most, sorted by worker and then by task.
        tasks: the tasks' names by code.
        workers: the workers' names by code.
        answer_sets: the distinct answer sets, each the names of its labels by code.
        answer_set_of_task: int64, shape (tasks,): which one each task has.
        truth: int64, shape (tasks,): the true label's code, or -1 where it is not known.
    """

    answers: Answers
    tasks: Sequence[str]
    workers: Sequence[str]
    answer_sets: Sequence[Sequence[str]]
    answer_set_of_task: IntArray
    truth: IntArray
