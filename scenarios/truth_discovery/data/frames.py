"""Frames of task, worker and label as crowd-kit's users have them: the codes that estimators take, and crowds.

Not imported by the package: pandas is slow to start, and only those who have a frame need it.
"""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.columns import CodedColumn
from ....protocol.estimators.truth_inference import Answers
from ...reading.cells import text_of
from ...reading.frames import columns_of, is_frame
from .assembly import SEPARATOR, Repeats, Rows, assemble
from .crowd import Crowd

COLUMNS = ("task", "worker", "label")

_ANSWER_SET = "answer_set"  # a fourth column, where tasks have different answer sets: its labels, with `|` between them
_MAX_NAMED = 5


@dataclasses.dataclass(frozen=True, eq=False)
class FrameAnswers:
    """Answers as codes, with the names that the codes stand for.

    Args:
        answers: one for each (task, worker) at most, in the frame's order; all answer sets are `labels`.
        tasks: names by code, in order of appearance.
        workers: names by code, in order of appearance.
        labels: names by code: sorted if they can be, so that the smallest code is the smallest label, or as they were
            given.

    Examples:
        >>> frame = pd.DataFrame({"task": ["q", "r"], "worker": ["ann", "bob"], "label": ["yes", "no"]})
        >>> answers = encode_frame(frame)
        >>> list(answers.labels), answers.answers.labels.tolist()
        (['no', 'yes'], [1, 0])
    """

    answers: Answers
    tasks: "pd.Index[Any]"
    workers: "pd.Index[Any]"
    labels: "pd.Index[Any]"

    def name_truths(self, truths: IntArray) -> "pd.Series[Any]":
        """Return truths by name, indexed by task; NaN or None where a truth is missing.

        Args:
            truths: codes, shape (tasks,); -1 for missing.

        Examples:
            >>> frame = pd.DataFrame({"task": ["q", "r"], "worker": ["ann", "bob"], "label": ["yes", "no"]})
            >>> encode_frame(frame).name_truths(np.array([1, -1])).to_dict()
            {'q': 'yes', 'r': nan}
        """
        present = truths >= 0
        names: Any = self.labels.take(np.where(present, truths, 0))
        series: pd.Series[Any] = pd.Series(names, index=self.tasks, name="agg_label")
        return series if bool(present.all()) else series.where(present)

    def name_probabilities(self, probabilities: FloatArray) -> pd.DataFrame:
        """Return probabilities as a frame, a row for each task and a column for each label.

        Examples:
            >>> frame = pd.DataFrame({"task": ["q", "r"], "worker": ["ann", "bob"], "label": ["yes", "no"]})
            >>> encode_frame(frame).name_probabilities(np.array([[0.25, 0.75], [1.0, 0.0]]))
            label    no   yes
            task
            q      0.25  0.75
            r      1.00  0.00
        """
        return pd.DataFrame(probabilities[:, : len(self.labels)], index=self.tasks, columns=self.labels)

    def name_workers(self, values: FloatArray, *, name: str) -> "pd.Series[Any]":
        """Return a number for each worker, indexed by worker.

        Examples:
            >>> frame = pd.DataFrame({"task": ["q", "r"], "worker": ["ann", "bob"], "label": ["yes", "no"]})
            >>> encode_frame(frame).name_workers(np.array([0.5, 0.75]), name="skill").to_dict()
            {'ann': 0.5, 'bob': 0.75}
        """
        return pd.Series(values, index=self.workers, name=name)


def encode_frame(
    data: pd.DataFrame, *, labels: Sequence[Hashable] | None = None, repeats: Repeats = "error"
) -> FrameAnswers:
    """Return the answers of a frame as codes.

    Args:
        data: of pandas or another library, with columns `task`, `worker` and `label` of any hashable names; others are
            ignored; at least one row, nothing missing.
        labels: all labels of the answer set, those that nobody chose too; by default those that occur.
        repeats: what becomes of a worker's second answer to a task if it differs from the first; one that repeats the
            first counts once in any case.

    Raises:
        ValueError: a column is absent or has missing values, there is no row, a label is not among `labels`, or a
            worker gave a task two labels and `repeats` is "error".
        TypeError: `data` is not a frame.

    Examples:
        >>> frame = pd.DataFrame({"task": ["q", "q"], "worker": ["ann", "bob"], "label": ["yes", "no"]})
        >>> encode_frame(frame, labels=["yes", "no", "unsure"]).answers.labels.tolist()
        [0, 1]
    """
    if repeats not in get_args(Repeats):
        raise ValueError(f"repeats is {repeats!r}: use one of {', '.join(get_args(Repeats))}")
    data = _checked(data)
    task_codes, tasks = _factorize(data, "task")
    worker_codes, workers = _factorize(data, "worker")
    label_codes, names = _factorize(data, "label")
    label_codes, names = _order_labels(label_codes, names, labels)
    is_kept = _rows_that_count(data, task_codes * len(workers) + worker_codes, label_codes, repeats)
    if is_kept is not None:
        task_codes, worker_codes, label_codes = task_codes[is_kept], worker_codes[is_kept], label_codes[is_kept]
    answers = Answers(
        tasks=task_codes,
        workers=worker_codes,
        labels=label_codes,
        num_tasks=len(tasks),
        num_workers=len(workers),
        sizes=np.full(len(tasks), max(len(names), 2), dtype=np.int64),
    )
    return FrameAnswers(answers, tasks, workers, names)


def crowd_to_frame(crowd: Crowd) -> "tuple[pd.DataFrame, pd.Series[Any]]":
    """Return a crowd as crowd-kit has one: answers, and what is true.

    Args:
        crowd: the crowd.

    Returns:
        A frame with the columns `task`, `worker` and `label`, by names, and `answer_set` where tasks have different
        ones; and the true labels that are known, as a series `true_label` indexed by task.

    Examples:
        >>> frame = pd.DataFrame({"task": ["q", "q"], "worker": ["ann", "bob"], "label": ["yes", "no"]})
        >>> answers, truth = crowd_to_frame(crowd_from_frame(frame, pd.Series({"q": "yes"})))
        >>> answers
          task worker label
        0    q    ann   yes
        1    q    bob    no
        >>> truth.to_dict()
        {'q': 'yes'}
    """
    answers = crowd.answers
    sets = crowd.answer_set_of_task[answers.tasks]
    columns: dict[str, Any] = {
        "task": [crowd.tasks[code] for code in answers.tasks.tolist()],
        "worker": [crowd.workers[code] for code in answers.workers.tolist()],
        "label": _label_names(crowd, sets, answers.labels),
    }
    if len(crowd.answer_sets) > 1:
        places: list[int] = sets.tolist()
        columns[_ANSWER_SET] = [SEPARATOR.join(crowd.answer_sets[place]) for place in places]
    known_tasks = np.flatnonzero(crowd.truth >= 0)
    truths = _label_names(crowd, crowd.answer_set_of_task[known_tasks], crowd.truth[known_tasks])
    tasks = pd.Index([crowd.tasks[code] for code in known_tasks.tolist()], name="task", dtype=object)
    return pd.DataFrame(columns), pd.Series(truths, index=tasks, name="true_label", dtype=object)


def crowd_from_frame(
    data: pd.DataFrame,
    truth: "pd.Series[Any] | None" = None,
    *,
    labels: Sequence[str] | None = None,
    repeats: Repeats = "error",
) -> Crowd:
    """Return the crowd of a frame as crowd-kit has one; all names become text.

    Args:
        data: of pandas or another library, with columns `task`, `worker`, `label`, and perhaps `answer_set`; at least
            one row, nothing missing.
        truth: true labels, indexed by task.
        labels: all labels of the answer set, those that nobody chose too; by default those that occur.
        repeats: as for `encode_frame`.

    Raises:
        ConfigurationError: a label or a truth is outside its task's answer set, a task has two truths, or a worker gave
            a task two labels and `repeats` is "error".
        ValueError: a column is absent or has missing values, there is no row, or two names are one as text.
        TypeError: `data` is not a frame.

    Examples:
        >>> frame = pd.DataFrame({"task": ["q", "q"], "worker": ["ann", "bob"], "label": ["yes", "no"]})
        >>> crowd = crowd_from_frame(frame, pd.Series({"q": "yes"}))
        >>> crowd.answer_sets, crowd.truth.tolist()
        ([('no', 'yes')], [1])
    """
    data = _checked(data)
    names = [str(name) for name in data.index]
    answers = Rows(
        tasks=_encode_column(data, "task"),
        labels=_encode_column(data, "label"),
        workers=_encode_column(data, "worker"),
        answer_sets=_encode_column(data, _ANSWER_SET) if _ANSWER_SET in data.columns else None,
        where=lambda row: f"row {names[row]} of the frame",
    )
    truths: Rows | None = None
    if truth is not None and len(truth):
        truth_frame = pd.DataFrame({"task": truth.index, "label": truth.to_numpy()})
        tasks = [str(task) for task in truth.index]
        truths = Rows(
            tasks=_encode_column(truth_frame, "task"),
            labels=_encode_column(truth_frame, "label"),
            where=lambda row: f"the truth of {tasks[row]}",
        )
    return assemble(answers, truths=truths, repeats=repeats, answer_sets=labels)


def _checked(data: Any) -> pd.DataFrame:
    """Return a frame as one of pandas; TypeError unless it is any, ValueError unless it has the columns, and a row."""
    if is_frame(data) and not isinstance(data, pd.DataFrame):
        data = pd.DataFrame(dict(columns_of(data, "data")[0]))
    if not isinstance(data, pd.DataFrame):
        raise TypeError(
            f"this is a {type(data).__name__}: give a pandas.DataFrame with the columns {', '.join(COLUMNS)}"
        )
    absent_columns = [column for column in COLUMNS if column not in data.columns]
    if absent_columns:
        raise ValueError(f"no column {', '.join(absent_columns)}; the frame has {', '.join(map(str, data.columns))}")
    if data.empty:
        raise ValueError("the frame has no rows")
    return data


def _label_names(crowd: Crowd, sets: IntArray, labels: IntArray) -> list[str]:
    places: list[int] = sets.tolist()
    codes: list[int] = labels.tolist()
    return [crowd.answer_sets[place][code] for place, code in zip(places, codes, strict=True)]


def _encode_column(data: pd.DataFrame, column: str) -> CodedColumn:
    """Return a column as text.

    Raises:
        ValueError: a value is missing, or two different ones are one as text.
    """
    codes, index = _factorize(data, column)
    names = [text_of(name) for name in index]
    if len(set(names)) < len(names):
        repeated_name = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"column {column} has two names that are {repeated_name!r} as text")
    return CodedColumn(names, codes)


def _factorize(data: pd.DataFrame, column: str) -> "tuple[IntArray, pd.Index[Any]]":
    """Return the codes and names of a column.

    Raises:
        ValueError: a value is missing.
    """
    entries = data[column]
    dtype: Any = entries.dtype
    if (
        pd.api.types.is_object_dtype(dtype)
        and {bool, np.bool_} & (kinds := {*map(type, entries)})
        and kinds - {bool, np.bool_, str}
    ):
        raise ValueError(f"column {column} has true or false beside numbers, which pandas takes for 1 and 0: write one")
    # Python's own strings are looked up faster as the objects that they are.
    is_python = getattr(dtype, "storage", "") == "python"
    codes, names = pd.factorize(entries.to_numpy(dtype=object) if is_python else entries)
    if len(codes) and int(codes.min()) < 0:
        rows = np.flatnonzero(codes < 0)
        raise ValueError(f"column {column} has {len(rows)} missing values, in {_rows(data, rows)}")
    index = pd.Index(names, name=column, dtype=dtype) if is_python else pd.Index(names, name=column)
    return codes.astype(np.int64, copy=False), index


def _order_labels(
    codes: IntArray, names: "pd.Index[Any]", labels: Sequence[Hashable] | None
) -> "tuple[IntArray, pd.Index[Any]]":
    """Return the codes and names of labels in the order of `labels`, or sorted.

    Raises:
        ValueError: a label is not among `labels`, or one is there twice.
    """
    if labels is None:
        try:
            order = sorted(range(len(names)), key=lambda code: names[code])
        except TypeError:
            return codes, names
        ordered_names = names.take(order)
    else:
        ordered_names = pd.Index(list(labels), name=names.name)
        unknown = [name for name in names if name not in ordered_names]
        if not ordered_names.is_unique or unknown:
            problem = (
                f"the frame has {', '.join(map(repr, unknown[:_MAX_NAMED]))} too" if unknown else "one occurs twice"
            )
            raise ValueError(f"labels are {list(labels)}, and {problem}: name each label once")
    places: IntArray = ordered_names.get_indexer(names).astype(np.int64)
    return places[codes], ordered_names


def _rows_that_count(
    data: pd.DataFrame, pairs: IntArray, label_codes: IntArray, repeats: Repeats
) -> "np.ndarray[Any, np.dtype[np.bool_]] | None":
    """Return which rows count, or None where all do.

    Raises:
        ValueError: a worker gave a task two labels and `repeats` is "error".
    """
    pair_series = pd.Series(pairs)
    is_repeated = pair_series.duplicated(keep="last" if repeats == "last" else "first").to_numpy()
    if not is_repeated.any():
        return None
    if repeats == "error":
        first = pd.Series(label_codes).groupby(pairs).transform("first").to_numpy()
        conflicting = np.flatnonzero(first != label_codes)
        if conflicting.size:
            pair = pairs[conflicting[0]]
            rows = np.flatnonzero(pairs == pair)
            row = data.iloc[int(rows[0])]
            raise ValueError(
                f"{len(set(pairs[conflicting].tolist()))} (task, worker) pairs have two labels, such as task "
                f"{row['task']} and worker {row['worker']} in {_rows(data, rows)}; "
                'repeats="first" or "last" says which one counts'
            )
    return ~is_repeated


def _rows(data: pd.DataFrame, places: IntArray) -> str:
    """Return the rows' names in the frame's index, the first of them."""
    names = dict.fromkeys(str(data.index[int(place)]) for place in places)  # an index may name several rows alike
    names_text = ", ".join(list(names)[:_MAX_NAMED])
    return f"rows {names_text}" + (", …" if len(places) > _MAX_NAMED else "")
