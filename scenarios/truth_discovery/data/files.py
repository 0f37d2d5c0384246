"""Crowds in files: answers in one CSV file, truths in another.

    task,worker,label        task,truth
    t1,w1,yes                t1,yes

Other columns are ignored, but for `answer_set`, which says for each row which answer set its task has.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from ...reading.columns import read_names
from ...reading.files import readable
from ...reading.headers import USUAL, TableOptions
from .assembly import AnswerSets, Repeats, Rows, assemble
from .crowd import Crowd

__all__ = ["ANSWER_COLUMNS", "read_crowd", "rows_of"]

_TASK: Final[Sequence[str]] = ("task", "item")  # some published files say item
_ANSWERS: Final[Mapping[str, Sequence[str]]] = {"task": _TASK, "worker": ("worker",), "label": ("label",)}
ANSWER_COLUMNS: Final = tuple(_ANSWERS)
"""Of a file of answers."""
_AS_THEY_ARE: Final[Mapping[str, str]] = MappingProxyType({})
_TRUTHS: Final[Mapping[str, Sequence[str]]] = {"task": _TASK, "truth": ("truth",)}


def read_crowd(
    answers: Path,
    *,
    truth: Path | None = None,
    repeats: Repeats = "error",
    answer_sets: AnswerSets | None = None,
    columns: Mapping[str, str] = _AS_THEY_ARE,
    options: TableOptions = USUAL,
) -> Crowd:
    """Return the crowd of a CSV file with the columns task, worker and label.

    The files are UTF-8 and may be packed (`.gz`); blank lines are skipped, and blanks around an entry do not count.
    `item` may stand for `task`. Nothing reads as a missing value: "NA" is a name like any other. `assemble` says what
    becomes of repeated answers and of truths without answers, and what answer sets are, which a column may name.

    Args:
        truth: a file with the columns task and truth, for some or all tasks, and perhaps others.
        columns: what the file of answers calls task, worker or label, where it calls them otherwise.
        options: what is said of that file.

    Raises:
        ConfigurationError: a file cannot be read, or is not what it should be; the field names the file and the line.
    """
    with readable(answers, field="answers"):
        answer_rows = rows_of(answers, columns=columns, options=options)
    truth_rows = None
    if truth is not None:
        with readable(truth, field="truth"):
            truth_rows = rows_of(truth, are_truths=True)
    return assemble(answer_rows, truths=truth_rows, repeats=repeats, answer_sets=answer_sets)


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
    wanted = {name: (columns[name],) if name in columns else names for name, names in _ANSWERS.items()}
    table = read_names(path, _TRUTHS if are_truths else wanted, ("answer_set",), options)
    found = table.columns
    return Rows(
        found["task"],
        found["truth" if are_truths else "label"],
        table.where,
        workers=found.get("worker"),
        answer_sets=found.get("answer_set"),
    )
