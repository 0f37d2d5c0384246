"""Crowd answers as arrays: who answered which task how, one row for each answer."""

import dataclasses

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
        num_tasks: tasks without an answer count too.
        num_workers: workers without an answer count too.
        sizes: int64, shape (num_tasks,): how many labels each task's answer set has, at least 2.

    Raises:
        ValueError: shapes differ, or a code is out of range.
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
            raise ValueError(f"tasks, workers and labels need one shape (n,), got {sorted(shapes)}")
        if self.sizes.shape != (self.num_tasks,):
            raise ValueError(f"sizes needs shape ({self.num_tasks},), got {self.sizes.shape}")
        if self.num_tasks and int(self.sizes.min()) < 2:  # noqa: PLR2004  one label is no question
            raise ValueError(f"an answer set has at least 2 labels, got {int(self.sizes.min())}")
        for name, codes, limit in (("tasks", self.tasks, self.num_tasks), ("workers", self.workers, self.num_workers)):
            if codes.size and not (int(codes.min()) >= 0 and int(codes.max()) < limit):
                raise ValueError(f"{name} must be in [0, {limit}), got {int(codes.min())} to {int(codes.max())}")
        if self.labels.size and (int(self.labels.min()) < 0 or bool(np.any(self.labels >= self.sizes[self.tasks]))):
            raise ValueError("a label is outside its task's answer set")

    @property
    def num_classes(self) -> int:
        """The size of the largest answer set; 2 where there is no task."""
        return int(self.sizes.max()) if self.num_tasks else 2

    def __len__(self) -> int:
        return len(self.tasks)
