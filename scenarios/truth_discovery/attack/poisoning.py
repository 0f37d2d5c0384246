"""Poisoning truth discovery: a label is pushed, at one task or at all that may have it.

What is pushed is the number of workers who gave the label, estimated without bias: a report of it adds (1 − μ)/λ, any
other −μ/λ, where an answer is reported as itself with probability λ + μ and as each other label with μ. The truths
themselves come from estimators that weigh workers, and may yield earlier or later: they are told beside it.
"""

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, refuse
from ....protocol.mechanisms import NO_ANSWER
from ....protocol.phases import Inputs
from ....protocol.truth_discovery import TruthDiscovery
from ....protocol.truth_discovery.codes import NO_TASK
from ...attacks.poisoning import Choices, Poisoning

_LEAST_SIGNAL: Final = 1e-8
_OF_TASK: Final = "="


class PoisonedTruths(Poisoning):
    """Pushes a label: "LABEL" at every task that may have it, "TASK=LABEL" at one."""

    unit: ClassVar[str] = "answers"

    protocol: TruthDiscovery

    def check_protocol(self) -> None:
        """Refuse reports that say nothing, or of which some say more than others. See `Poisoning.check_protocol`."""
        levels = self.protocol.parameters.own_levels.epsilons
        refuse(levels, "epsilons", list(levels), "left out: poisoning is known where all workers have one epsilon")
        if self.protocol.noise.least_signal < _LEAST_SIGNAL:
            raise ConfigurationError(field="epsilon", value=0, allowed="above 0, so that answers can be counted")

    def aims(self) -> Sequence[str]:
        """Return all labels, then all of them task by task."""
        parameters = self.protocol.parameters
        labels = dict.fromkeys(label for answers in parameters.answer_sets for label in answers)
        of_tasks = (
            f"{task}{_OF_TASK}{label}"
            for task, kind in zip(parameters.tasks, parameters.set_of_task, strict=True)
            for label in parameters.answer_sets[kind]
        )
        return (*labels, *of_tasks)

    @property
    def pushed(self) -> str:
        """The count of answers."""
        task, _, label = self.aim.rpartition(_OF_TASK)
        return f"the number of answers {label!r} {f'to {task!r}' if task else f'to {len(self._labels):,} tasks'}"

    @functools.cached_property
    def _labels(self) -> dict[int, int]:
        """The code of the label at each task at which it is pushed."""
        parameters = self.protocol.parameters
        only, _, label = self.aim.rpartition(_OF_TASK)
        offsets: list[int] = self.protocol.codes.offset_of_task.tolist()
        found: dict[int, int] = {}
        for number, (task, kind) in enumerate(zip(parameters.tasks, parameters.set_of_task, strict=True)):
            answers = parameters.answer_sets[kind]
            if label in answers and only in {"", task}:
                found[number] = offsets[number] + answers.index(label)
        return found

    def contributions(self, reports: Sequence[IntArray], public: IntArray, *, num_parties: int) -> FloatArray:
        """Return what is added to the estimated number of answers. See `Poisoning.contributions`."""
        del num_parties
        codes = self.protocol.codes
        wanted = np.full(len(codes.tasks) + 1, NO_ANSWER - 1, dtype=np.int64)
        for task, code in self._labels.items():
            wanted[task] = code
        flips = np.array(self.protocol.noise.flip_probabilities)[codes.set_of_task]
        lies = flips / (codes.size_of_task - 1)
        kept = 1 - flips - lies
        tasks = public[:, 1:]
        is_pushed = (tasks != NO_TASK) & (reports[0] != NO_ANSWER) & (wanted[tasks] >= 0)
        of_task = np.where(tasks == NO_TASK, 0, tasks)
        told = ((reports[0] == wanted[of_task]) - lies[of_task]) / kept[of_task]
        return np.where(is_pushed, told, 0.0).sum(axis=1)

    def is_concerned(self, public: Sequence[int]) -> bool:
        """Return whether a worker is asked one of the tasks."""
        return any(task in self._labels for task in public[1:])

    def choices(self, public: Sequence[int]) -> Choices:
        """Return the label at all its tasks, and another one at all of them. See `Poisoning.choices`."""
        rows = np.full((2, len(public) - 1), NO_ANSWER, dtype=np.int64)
        offsets = self.protocol.codes.offset_of_task
        columns: list[int] = []
        for column, task in enumerate(public[1:]):
            if task in self._labels:
                columns.append(column)
                first = int(offsets[task])
                rows[:, column] = self._labels[task], first + (self._labels[task] == first)
        return Choices((rows,), (columns,))

    def random_choices(self, public: Sequence[int], uniforms: FloatArray) -> tuple[list[int], ...]:
        """Return any label of each task. See `Poisoning.random_choices`."""
        codes = self.protocol.codes
        pushed = [task for task in public[1:] if task in self._labels]
        return (
            [
                int(codes.offset_of_task[task]) + int(uniform * int(codes.size_of_task[task]))
                for task, uniform in zip(pushed, uniforms.tolist(), strict=True)
            ],
        )

    def wished_rows(self, inputs: Inputs, places: IntArray) -> IntArray:
        """Return a worker's own answers, with the label where it is pushed. See `Poisoning.wished_rows`."""
        rows = inputs.private[places].copy()
        for row, public in zip(rows, inputs.public[places].tolist(), strict=True):
            choices = self.choices(public)
            columns = list(choices.touched[0])
            row[columns] = choices.reports[0][0 if self.sign > 0 else 1, columns]
        return self.protocol.rows_for(rows[:, : self.protocol.parameters.max_answers], inputs.public[places, 1:])

    def truthful_range(self, public: Sequence[int], *, num_parties: int) -> float:
        """Return how many of the tasks a worker is asked: one answer each. See `Poisoning.truthful_range`."""
        del num_parties
        return float(sum(task in self._labels for task in public[1:]))

    def decided(self, outcome: Any) -> str:
        """Return at how many tasks the label is found true."""
        return f"{self._found(outcome):,} of {len(self._labels):,} tasks have it as their truth"

    def has_reached(self, outcome: Any) -> bool:
        """Return whether the label is found true at more than half of the tasks, or at fewer."""
        return (2 * self._found(outcome) - len(self._labels)) * self.sign > 0

    def error_of_release(self, outcome: Any) -> float:
        noise = self.protocol.noise.on_counts
        return 0.0 if noise is None else math.sqrt(len(self._labels) * noise.noise_variance)

    def _found(self, outcome: Any) -> int:
        label = self.aim.rpartition(_OF_TASK)[2]
        return sum(outcome.truths[task] == label for task in self._labels)
