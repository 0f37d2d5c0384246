"""Conversion between names and codes: tasks, labels, and the rows that contain them.

The labels of all answer sets are numbered consecutively; label l of set j has the code offset_j + l. So a code
determines its answer set, and a report outside of its set is detected at once.
"""

import dataclasses
import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from ..arrays import IntArray
from ..errors import ConfigurationError, refuse, require
from ..mechanisms import NO_ANSWER
from ..phases import Entries
from .parameters import SEPARATOR

NO_TASK: Final = -1
"""The padding after the worker's last task in a public row."""


@dataclasses.dataclass(frozen=True, eq=False)
class Codes:
    """The codes of a session's tasks and labels.

    Args:
        tasks: the tasks' names, by code.
        answer_sets: the answer sets, each with the names of its labels.
        set_of_task: the index of each task's answer set, int64, shape (tasks,).

    Examples:
        >>> codes = Codes(("bridge", "flag"), (("no", "yes"), ("red", "blue")), np.array([0, 1]))
        >>> codes.find_answer("blue", codes.find_task("flag", field="tasks"), field="answers")
        3
        >>> codes.label_of(3, 1)
        'blue'
    """

    tasks: tuple[str, ...]
    answer_sets: tuple[tuple[str, ...], ...]
    set_of_task: IntArray

    @functools.cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many labels each answer set has."""
        return tuple(map(len, self.answer_sets))

    @functools.cached_property
    def size_of_task(self) -> IntArray:
        """How many labels each task has: int64, shape (tasks,)."""
        return np.array(self.sizes, dtype=np.int64)[self.set_of_task]

    @functools.cached_property
    def offset_of_task(self) -> IntArray:
        """The code of each task's first label: int64, shape (tasks,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)])[self.set_of_task]

    @functools.cached_property
    def code_of_task(self) -> Mapping[str, int]:
        """The code of each task by name."""
        return {name: code for code, name in enumerate(self.tasks)}

    @functools.cached_property
    def code_of_label(self) -> tuple[Mapping[str, int], ...]:
        """The place of each label by name, for each answer set."""
        return tuple({name: place for place, name in enumerate(labels)} for labels in self.answer_sets)

    @functools.cached_property
    def _range_of_task(self) -> list[range]:
        """The codes of each task's answers, for one row at a time."""
        starts: list[int] = self.offset_of_task.tolist()
        return [range(start, start + size) for start, size in zip(starts, self.size_of_task.tolist(), strict=True)]

    @functools.cached_property
    def numbers_of_sets(self) -> list[int]:
        """Which answer set each task has, and at last, for `NO_TASK`, one more than there are."""
        return [*self.set_of_task.tolist(), len(self.sizes)]

    @functools.cached_property
    def values_of_task(self) -> list[tuple[int, ...]]:
        """The values that a row may hold for each task; the last entry is for `NO_TASK`, where no task is asked."""
        return [*((NO_ANSWER, *answers) for answers in self._range_of_task), (NO_ANSWER,)]

    def find_task(self, name: object, *, field: str) -> int:
        """Return the code of a task.

        Raises:
            ConfigurationError: there is no such task.
        """
        code = self.code_of_task.get(str(name).strip())
        if code is None:
            raise ConfigurationError(field=field, value=name, allowed=f"one of the tasks: {_abbreviate(self.tasks)}")
        return code

    def find_answer(self, label: object, task: int, *, field: str) -> int:
        """Return the code of an answer to a task; blank text and None are no answer.

        Raises:
            ConfigurationError: the label is not in the task's answer set.
        """
        text = "" if label is None else str(label).strip()
        if not text:
            return NO_ANSWER
        number = int(self.set_of_task[task])
        place = self.code_of_label[number].get(text)
        if place is None:
            allowed = f"one of {_abbreviate(self.answer_sets[number])} (task {self.tasks[task]!r}), or nothing"
            raise ConfigurationError(field=field, value=label, allowed=allowed)
        return int(self.offset_of_task[task]) + place

    def labels_of(self, task: int) -> tuple[str, ...]:
        """Return the labels of a task's answer set."""
        return self.answer_sets[int(self.set_of_task[task])]

    def label_of(self, answer: int, task: int) -> str:
        """Return the label of an answer's code, of those to this task."""
        return self.labels_of(task)[answer - int(self.offset_of_task[task])]

    def encode_row(self, answers: Any, tasks: Sequence[int], *, order: Any = None) -> tuple[int, ...]:
        """Return one worker's private row.

        Args:
            answers: a table of labels by task, or a text "task=label; task=label"; or, if `order` names the tasks, only
                the labels, in a list or in a text "label; label".
            tasks: the worker's tasks, padded.
            order: the tasks of the labels, as for `encode_tasks`; None if the answers name their tasks.

        Raises:
            ConfigurationError: a task is unknown or named twice, a label is not in its answer set, or there are more
                labels than tasks.
        """
        if isinstance(answers, Mapping):
            pairs = list(cast("Mapping[Any, Any]", answers).items())
        elif order is None or (isinstance(answers, str) and "=" in answers):
            pairs = _pairs(answers, field="answers")
        else:
            names, labels = _distinct_names(order, field="tasks"), _labels(answers, field="answers")
            allowed = f"at most {len(names)}, the number of tasks"
            refuse(len(labels) > len(names), "answers", f"{len(labels)} answers", allowed)
            pairs = list(zip(names, labels, strict=False))
        label_of_task: dict[int, int] = {}
        for name, label in pairs:
            task = self.find_task(name, field="answers")
            refuse(task in label_of_task, "answers", name, "each task named once")
            label_of_task[task] = self.find_answer(label, task, field="answers")
        return tuple(label_of_task.get(task, NO_ANSWER) for task in tasks)

    def check_row(self, row: Sequence[int], public: Sequence[int]) -> None:
        """Raise ValueError unless each answer is a label of the task in its column, and all other columns are empty.

        Args:
            row: the codes of answers: a private row or a report.
            public: a public row: the worker's index, then its tasks.
        """
        if len(public) != len(row) + 1:
            raise ValueError(f"{len(public) - 1} tasks stand behind the worker's place: give {len(row)}")
        ranges, tasks = self._range_of_task, public[1:]
        are_tasks = not len(tasks) or (min(tasks) >= NO_TASK and max(tasks) < len(ranges))
        if are_tasks and all(map(operator.contains, map(self.values_of_task.__getitem__, tasks), row)):
            return
        for answer, task in zip(row, tasks, strict=True):  # find the wrong one, for the message
            if not -1 <= task < len(ranges):
                raise ValueError(f"there is no task {task}")
            if answer == NO_ANSWER:
                continue
            if task == NO_TASK:
                raise ValueError("there is an answer where no task was asked")
            if answer not in ranges[task]:
                raise ValueError(f"an answer to task {self.tasks[task]!r} is outside its answer set")

    def write_tasks(self, tasks: Sequence[int]) -> str:
        """Return tasks as the text that `encode_tasks` reads."""
        return f"{SEPARATOR} ".join(self.tasks[task] for task in tasks if task != NO_TASK)


def list_tasks(entries: Entries) -> tuple[list[str], int]:
    """Return the names of all tasks in order of appearance, and the most that one worker has."""
    if isinstance(entries, np.ndarray) and entries.ndim == 2:  # noqa: PLR2004  codes, whose names somebody else knows
        return [], entries.shape[1]
    lists = [_distinct_names(entry, field=f"tasks in row {row}") for row, entry in enumerate(entries, start=1)]
    return list(dict.fromkeys(name for names in lists for name in names)), max(map(len, lists), default=0)


def encode_tasks(entries: Entries, codes: Codes, *, width: int) -> IntArray:
    """Return the tasks of each worker.

    Args:
        entries: a list of names or a text for each worker; or codes, int64, shape (n, width).
        width: the most tasks that one worker may have.

    Returns:
        int64, shape (n, width), padded with `NO_TASK`.

    Raises:
        ConfigurationError: a task is unknown or named twice, or there are too many.
    """
    if _are_codes(entries):
        tasks = np.asarray(entries, dtype=np.int64)
        are_wrong = tasks.shape[1] != width or np.any(tasks < NO_TASK) or np.any(tasks >= len(codes.tasks))
        allowed = f"codes in [-1, {len(codes.tasks) - 1}], shape (n, {width})"
        refuse(are_wrong, "tasks", f"an array of shape {tasks.shape}", allowed)
        in_order = np.sort(tasks, axis=1)
        twice = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != NO_TASK)
        if np.any(twice):
            field = f"tasks in row {int(twice.any(axis=1).argmax()) + 1}"
            raise ConfigurationError(field=field, value="a task twice", allowed="distinct tasks")
        return tasks
    tasks = np.full((len(entries), width), NO_TASK, dtype=np.int64)
    for row, entry in enumerate(entries, start=1):
        field = f"tasks in row {row}"
        codes_of_row = [codes.find_task(name, field=field) for name in _distinct_names(entry, field=field)]
        if len(codes_of_row) > width:
            raise ConfigurationError(
                field=field, value=f"{len(codes_of_row)} tasks", allowed=f"at most {width} (max_answers)"
            )
        tasks[row - 1, : len(codes_of_row)] = codes_of_row
    return tasks


def encode_answers(entries: Entries, tasks: IntArray, codes: Codes) -> IntArray:
    """Return the answers of each worker to its tasks.

    Args:
        entries: a list of labels or a text for each worker, in the order of its tasks; or codes, int64, with the shape
            of `tasks`.
        tasks: the result of `encode_tasks`.

    Returns:
        int64, the shape of `tasks`, padded with `NO_ANSWER`.

    Raises:
        ConfigurationError: a label is not in its answer set, or there are more answers than tasks.
    """
    if _are_codes(entries):
        answers = np.asarray(entries, dtype=np.int64)
        shape_text, allowed = (f"an array of shape {table.shape}" for table in (answers, tasks))
        require(answers.shape == tasks.shape, "answers", shape_text, allowed)
        places = answers - codes.offset_of_task[tasks]
        is_answer = (tasks != NO_TASK) & (places >= 0) & (places < codes.size_of_task[tasks])
        wrong = np.flatnonzero((~is_answer & (answers != NO_ANSWER)).any(axis=1))
        if wrong.size:
            field = f"answers in row {int(wrong[0]) + 1}"
            raise ConfigurationError(field=field, value="a code", allowed="one of the task's answer set, or -1")
        return answers
    answers = np.full(tasks.shape, NO_ANSWER, dtype=np.int64)
    for row, entry in enumerate(entries, start=1):
        field = f"answers in row {row}"
        tasks_asked = [task for task in tasks[row - 1].tolist() if task != NO_TASK]
        labels = _labels(entry, field=field)
        if len(labels) > len(tasks_asked):
            allowed = f"at most {len(tasks_asked)}, the number of tasks"
            raise ConfigurationError(field=field, value=f"{len(labels)} answers", allowed=allowed)
        codes_of_row = [
            codes.find_answer(label, task, field=field) for label, task in zip(labels, tasks_asked, strict=False)
        ]
        answers[row - 1, : len(codes_of_row)] = codes_of_row
    return answers


def _are_codes(entries: Entries) -> bool:
    return isinstance(entries, np.ndarray) and entries.ndim == 2 and np.issubdtype(entries.dtype, np.integer)  # noqa: PLR2004  a table


def _distinct_names(entry: Any, *, field: str) -> list[str]:
    """Return the names in an entry: a list of them, or a text with separators.

    Raises:
        ConfigurationError: it is neither, or names a task twice.
    """
    parts = entry.split(SEPARATOR) if isinstance(entry, str) else _items(entry, field=field)
    names = [name for part in parts if (name := str(part).strip())]
    require(len(set(names)) == len(names), field, entry, "distinct tasks")
    return names


def _labels(entry: Any, *, field: str) -> list[Any]:
    """Return the labels in an entry, blank ones included, since their places count."""
    if isinstance(entry, str):
        return entry.split(SEPARATOR) if entry.strip() else []
    return _items(entry, field=field)


def _items(entry: Any, *, field: str) -> list[Any]:
    """Return the entries of a list.

    Raises:
        ConfigurationError: it is no list; the message does not show private answers.
    """
    if not isinstance(entry, Sequence | np.ndarray):
        allowed = f"a list, or a text with {SEPARATOR!r} between its parts"
        raise ConfigurationError(field=field, value=f"of type {type(entry).__name__}", allowed=allowed)
    return list(cast("Sequence[Any]", entry))


def _pairs(text: Any, *, field: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for part in str(text).split(SEPARATOR):
        if not part.strip():
            continue
        name, equals, label = part.rpartition("=")
        require(equals, field, part.strip(), "of the form task=label; task=label")
        pairs.append((name.strip(), label.strip()))
    return pairs


def _abbreviate(names: Sequence[str]) -> str:
    num_shown = 12
    return f"{', '.join(names[:num_shown])}{', ...' if len(names) > num_shown else ''}"
