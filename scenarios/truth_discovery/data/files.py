"""Crowds in files: answers in one CSV file, truths in another.

    task,worker,label        task,truth
    t1,w1,yes                t1,yes

Other columns are ignored, but for `answer_set`, which says for each row which answer set its task has.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ...reading.columns import read_names
from ...reading.files import readable
from ...reading.headers import USUAL, TableOptions
from .assembly import AnswerSets, People, Repeats, Rows, assemble, note_on
from .crowd import Crowd
from .labels import LabelWords

_TASK: Final[Sequence[str]] = ("task", "item")  # some published files say item
_ANSWERS: Final[Mapping[str, Sequence[str]]] = {"task": _TASK, "worker": ("worker",), "label": ("label",)}
ANSWER_COLUMNS: Final = tuple(_ANSWERS)
"""Of a file of answers."""
TRUTH_COLUMNS: Final = ("task", "truth")
"""Of a file of truths."""
_AS_THEY_ARE: Final[Mapping[str, str]] = MappingProxyType({})
_TRUTHS: Final[Mapping[str, Sequence[str]]] = {"task": _TASK, "truth": ("truth",)}


def read_crowd(
    answers: Path,
    *,
    truth: Path | None = None,
    repeats: Repeats = "error",
    alike_workers: People = "refuse",
    answer_sets: AnswerSets | None = None,
    labels: LabelWords | None = None,
    columns: Mapping[str, str] = _AS_THEY_ARE,
    options: TableOptions = USUAL,
    truth_columns: Mapping[str, str] = _AS_THEY_ARE,
    truth_options: TableOptions = USUAL,
) -> Crowd:
    """Return the crowd of a CSV file with the columns task, worker and label.

    The files are UTF-8 and may be packed (`.gz`); blank lines are skipped, and blanks around an entry do not count.
    `item` may stand for `task`. Nothing reads as a missing value: "NA" is a name like any other. `assemble` says what
    becomes of repeated answers and of truths without answers, and what answer sets are, which a column may name.

    Args:
        truth: a file with the columns task and truth, for some or all tasks, and perhaps others.
        alike_workers: whether names that differ in case or blanks alone are one worker's.
        labels: instead of answer sets, those of all tasks, and how else each is written, in answers and in truths.
        columns: what the file of answers calls task, worker or label, where it calls them otherwise.
        options: what is said of that file.
        truth_columns: what the file of truths calls task or truth, where it calls them otherwise.
        truth_options: what is said of that file.

    Raises:
        ConfigurationError: a file cannot be read, or is not what it should be; the field names the file and the line.
    """
    with readable(answers, field="answers"):
        answer_rows = rows_of(answers, columns=columns, options=options)
    truth_rows = None
    if truth is not None:
        with readable(truth, field="truth"):
            truth_rows = rows_of(truth, are_truths=True, columns=truth_columns, options=truth_options)
    num_left_out = 0
    if labels is not None:
        answer_rows, num_left_out = answer_rows.keep_labelled(labels)
        truth_rows = None if truth_rows is None else truth_rows.keep_labelled(labels)[0]
        answer_sets = labels.names
    answer_rows = answer_rows.merge_people(alike_workers)
    crowd = assemble(answer_rows, truths=truth_rows, repeats=repeats, answer_sets=answer_sets)
    return dataclasses.replace(crowd, note=note_on(crowd, truth_rows, num_left_out))


def rows_of(
    path: Path,
    *,
    are_truths: bool = False,
    columns: Mapping[str, str] = _AS_THEY_ARE,
    options: TableOptions = USUAL,
) -> Rows:
    """Return a file's answers, or its truths; ConfigurationError where they are not what they should be, with the line.

    OSError, EOFError and zlib.error are raised where the file cannot be read or unpacked.
    """
    known_columns = _TRUTHS if are_truths else _ANSWERS
    wanted_columns = {name: (columns[name],) if name in columns else names for name, names in known_columns.items()}
    table = read_names(path, wanted_columns, ("answer_set",), options)
    columns_found = table.columns
    return Rows(
        columns_found["task"],
        columns_found["truth" if are_truths else "label"],
        table.where,
        workers=columns_found.get("worker"),
        answer_sets=columns_found.get("answer_set"),
    )
