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

from ....protocol.columns import CodedColumn
from ....protocol.errors import ConfigurationError, did_you_mean, require
from ...reading.batches import TableFiles
from ...reading.columns import join_batches
from ...reading.headers import USUAL, TableOptions
from .assembly import AnswerSets, People, Repeats, Rows, assemble, note_on
from .crowd import Crowd
from .labels import LabelWords

ANSWER_COLUMNS: Final = ("task", "worker", "label")
"""Of a file of answers."""
TRUTH_COLUMNS: Final = ("task", "truth")
"""Of a file of truths."""
ANSWER_SET: Final = "answer_set"
_AS_THEY_ARE: Final[Mapping[str, str]] = MappingProxyType({})


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
    answer_rows, truth_rows = rows_of(answers, field="answers", columns=columns, options=options), None
    if truth is not None:
        truth_rows = rows_of(truth, TRUTH_COLUMNS, field="truth", columns=truth_columns, options=truth_options)
    num_left_out = 0
    if labels is not None:
        answer_rows, num_left_out = answer_rows.keep_labelled(labels)
        truth_rows = None if truth_rows is None else truth_rows.keep_labelled(labels)[0]
        answer_sets = labels.names
    answer_rows = answer_rows.merge_people(alike_workers)
    crowd = assemble(answer_rows, truths=truth_rows, repeats=repeats, answer_sets=answer_sets)
    return dataclasses.replace(crowd, note=note_on(crowd, truth_rows, num_left_out))


def open_rows(
    path: str | Path,
    names: Sequence[str] = ANSWER_COLUMNS,
    *,
    field: str,
    columns: Mapping[str, str] = _AS_THEY_ARE,
    options: TableOptions = USUAL,
) -> tuple[TableFiles, Sequence[str]]:
    """Return files of answers, or of truths, of which no row is read yet, and how they call these columns.

    Raises:
        ConfigurationError: a file cannot be read, or lacks a column.
    """
    wanted = [columns.get(name, name) for name in names]
    files = TableFiles(path, field=field, options=options, wanted=[*wanted, "item", ANSWER_SET])
    if wanted[0] == "task" and "task" not in files.names and "item" in files.names:  # as some published files say
        wanted[0] = "item"
    for name, own_name in zip(names, wanted, strict=True):
        setting = f"workers.{'columns' if 'worker' in names else 'truth_columns'}"
        names_text, hint = ", ".join(files.names), did_you_mean(own_name, files.names)
        if name in columns:
            allowed = f"a column of {files.paths[0].name}: {names_text}{hint}"
            require(own_name in files.names, f"{setting}.{name}", own_name, allowed)
        allowed = f"a column of {names_text}, or named by {setting}{hint}"
        require(own_name in files.names, f"column {own_name!r} of {files.paths[0].name}", "missing", allowed)
    return files, wanted


def rows_of(
    path: Path,
    names: Sequence[str] = ANSWER_COLUMNS,
    *,
    field: str,
    columns: Mapping[str, str] = _AS_THEY_ARE,
    options: TableOptions = USUAL,
) -> Rows:
    """Return a file's answers, or its truths; ConfigurationError as `open_rows`, or where an entry is empty."""
    files, wanted = open_rows(path, names, field=field, columns=columns, options=options)
    rows = join_batches(files.batches([*wanted, *({ANSWER_SET} & {*files.names})]))
    table = dict[str, CodedColumn]()
    for name in rows.table:
        entries = rows.column(name)
        stripped = CodedColumn.from_values(map(str.strip, entries.names))
        table[name] = column = CodedColumn(stripped.names, stripped.codes[entries.codes])
        if "" in column.names:
            place_text = rows.where(column.row_of(column.names.index("")))
            raise ConfigurationError(field=f"{name} ({place_text})", value="", allowed="given")
    tasks, *workers, labels = (table[name] for name in wanted)
    return Rows(
        tasks,
        labels,
        lambda row: rows.where(row + 1),
        workers=workers[0] if workers else None,
        answer_sets=table.get(ANSWER_SET),
    )
