"""Answers of crowds as arrays: one entry for each answer, of one crowd or of many crowds with the same tasks."""

import dataclasses
import functools

import numpy as np

from ...arguments import make_fields_exact
from ...arrays import IntArray


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """The answers of a crowd.

    Args:
        tasks: int64, shape (n,), in [0, num_tasks).
        workers: int64, shape (n,), in [0, num_workers).
        labels: int64, shape (n,); the label of an answer to task t is in [0, sizes[t]).
        num_tasks: the number of tasks, with and without answers.
        num_workers: the number of workers, with and without answers.
        sizes: int64, shape (num_tasks,): the number of labels in the answer set of each task, at least 2.

    Raises:
        ValueError: shapes differ, or a code is out of range.

    Examples:
        >>> answers = Answers(
        ...     tasks=np.array([0, 0, 0, 1, 1, 1]),
        ...     workers=np.array([0, 1, 2, 0, 1, 2]),
        ...     labels=np.array([1, 1, 0, 0, 0, 0]),
        ...     num_tasks=2,
        ...     num_workers=3,
        ...     sizes=np.array([2, 2]),
        ... )
        >>> (len(answers), answers.num_classes)
        (6, 2)
    """

    tasks: IntArray
    workers: IntArray
    labels: IntArray
    num_tasks: int
    num_workers: int
    sizes: IntArray

    def __post_init__(self) -> None:
        make_fields_exact(self)
        shapes = {self.tasks.shape, self.workers.shape, self.labels.shape}
        if len(shapes) > 1 or self.tasks.ndim != 1:
            raise ValueError(f"tasks, workers and labels have shapes {sorted(shapes)}: give all of them one shape (n,)")
        if self.sizes.shape != (self.num_tasks,):
            raise ValueError(f"sizes has shape {self.sizes.shape}: give ({self.num_tasks},)")
        if self.num_tasks and int(self.sizes.min()) < 2:  # noqa: PLR2004  one label is no question
            raise ValueError(f"an answer set has {int(self.sizes.min())} labels: use at least 2")
        for name, codes, limit in (("tasks", self.tasks, self.num_tasks), ("workers", self.workers, self.num_workers)):
            if codes.size and not (int(codes.min()) >= 0 and int(codes.max()) < limit):
                raise ValueError(
                    f"{name} are {int(codes.min())} to {int(codes.max())}: use codes from 0, below {limit}"
                )
        _check_labels(self.labels, self.sizes, self.tasks)

    @property
    def num_classes(self) -> int:
        """The size of the largest answer set; 2 where there is no task."""
        return int(self.sizes.max()) if self.num_tasks else 2

    def __len__(self) -> int:
        return len(self.tasks)


@dataclasses.dataclass(frozen=True, eq=False)
class AnswerBlock:
    """The answers of many crowds in which the same workers answer the same tasks, with different labels.

    Args:
        first: the answers of any one of the crowds; its labels are ignored.
        labels: int64, shape (crowds, n): the labels of each crowd.

    Raises:
        ValueError: there is no crowd, or a label is outside its task's answer set.

    Examples:
        >>> answers = Answers(*np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0]]), 1, 3, np.array([2]))
        >>> len(AnswerBlock(answers, np.array([[1, 1, 0], [0, 0, 0]])))
        2
    """

    first: Answers
    labels: IntArray

    def __post_init__(self) -> None:
        make_fields_exact(self)
        if self.labels.ndim != 2 or not len(self.labels) or self.labels.shape[1] != len(self.first):  # noqa: PLR2004  crowds
            raise ValueError(f"labels has shape {self.labels.shape}: give (crowds, {len(self.first)})")
        _check_labels(self.labels, self.first.sizes, self.first.tasks)

    @classmethod
    def from_answers(cls, answers: Answers) -> "AnswerBlock":
        """Return one crowd as a block."""
        return cls(answers, answers.labels[None])

    def __len__(self) -> int:
        return len(self.labels)

    def answers(self, number: int) -> Answers:
        """Return one crowd's answers."""
        return dataclasses.replace(self.first, labels=self.labels[number])

    def select(self, numbers: IntArray) -> "AnswerBlock":
        """Return the answers of the crowds of these numbers."""
        return AnswerBlock(self.first, self.labels[numbers])

    @functools.cached_property
    def sizes(self) -> list[int]:
        """The sizes of answer sets that there are, ascending."""
        sizes: list[int] = np.unique(self.first.sizes).tolist()
        return sizes


def _check_labels(labels: IntArray, sizes: IntArray, tasks: IntArray) -> None:
    if labels.size and (int(labels.min()) < 0 or bool(np.any(labels >= sizes[tasks]))):
        raise ValueError("a label is outside its task's answer set")
