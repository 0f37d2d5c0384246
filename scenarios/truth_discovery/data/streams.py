"""Crowds too large for memory, as batches of workers: from files with a line for each answer, wherever these stand.

One pass finds what the session's parameters say of the crowd: its tasks, its labels, and the most tasks of one worker.
Another brings each worker's answers together. The result is that of one file that is read at once, bit for bit.
Memory holds the names of tasks and workers, and what the mechanism's tally keeps: counts in the central model, else
every report.
"""

import contextlib
import dataclasses
import functools
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.columns import CodedColumn, first_alike
from ....protocol.errors import refuse, require
from ...reading.batches import TableFiles, is_in_batches
from ...reading.columns import RowBatch
from ...reading.conversion import convert
from ...reading.frames import path_of
from ...reading.grouping import Names, RowPlaces, RowsByOwner
from ...reading.manifests import remembered
from ...reading.sources import Batch, OpenStream, PartyStream, RowFiles
from .assembly import Repeats, Rows, assemble, in_order, note_on, rows_that_count, unsaid_people_error
from .files import ANSWER_SET, TRUTH_COLUMNS, open_rows, rows_of
from .labels import LabelWords
from .parties import FIELD, CrowdFile, crowd_to_parties, table_of, unsaid_labels_error

_BATCH_WORKERS: Final = 10_000
_BATCH_ENTRIES: Final = 1 << 21  # of the tables of one batch, tasks that nobody is asked among them
_CHANGED: Final = "as they were in the first pass: files are not to change while they are read"


def stream_workers(parties: str | Mapping[str, Any], parameters: Mapping[str, Any]) -> OpenStream | RowFiles | None:
    """Return what opens the workers of files of answers that cannot be read at once; None for all others."""
    options = {"answers": parties} if isinstance(parties, str) else dict(parties)
    path = options.get("answers")
    if not isinstance(path, str) or not is_in_batches(path):
        return None
    if isinstance(parties, str) and {"worker", "tasks"} <= set(TableFiles(path, field=FIELD).names):
        return RowFiles(path=path)  # a line for each worker
    file: CrowdFile = convert(options, CrowdFile, FIELD)
    return functools.partial(_opened, file, parameters)


def _opened(file: CrowdFile, parameters: Mapping[str, Any]) -> PartyStream:
    answers = _Answers(file, file.words_beside(parameters))
    find = functools.partial(answers.look_at, file)
    said_labels = {
        name: getattr(file, name)
        for name in ("columns", "repeats", "alike_workers", "labels", "other_labels", "truth_columns")
    }
    facts_asked = {**said_labels, "answer_sets": parameters.get("answer_sets", [])}
    companions = [path_of(file.truth)] if file.truth else []
    facts = remembered(file.manifest, answers.files, find, facts_asked=facts_asked, companions=companions)
    stored_parameters = facts["parameters"]
    return PartyStream(
        parameters=stored_parameters,
        fixed=frozenset(stored_parameters),
        num_parties=facts["workers"],
        open=functools.partial(answers.batches, parameters=stored_parameters, note=facts["note"]),
        gold=facts["gold"],
        unsaid=unsaid_labels_error() if answers.words is None else None,
    )


class _Answers:
    """Answers in files of any number."""

    def __init__(self, file: CrowdFile, words: LabelWords | None) -> None:
        self._repeats: Repeats = file.repeats
        self._are_alike_one = file.alike_workers == "one"
        self.words = words
        self.files, self._columns = open_rows(file.answers, field=FIELD, columns=file.columns, options=file)
        allowed = "left out where answers come in batches: one answer set for all tasks"
        place_text = f"column {ANSWER_SET!r} of {self.files.paths[0].name}"
        refuse(ANSWER_SET in self.files.names, place_text, "given", allowed)

    def look_at(self, file: CrowdFile) -> dict[str, Any]:
        """Return the parameters that follow from a crowd, the number of its workers, and what is true of its tasks."""
        with tempfile.TemporaryDirectory() as folder, self._read(Path(folder)) as stored_answers:
            if file.alike_workers == "refuse" and (places := first_alike(stored_answers.workers)) is not None:
                first, second_worker = (list(stored_answers.workers)[place] for place in places)
                raise unsaid_people_error(
                    first, second_worker, stored_answers.places.where(stored_answers.workers.first_rows[places[1]])
                )
            max_answers = max(int(np.bincount(rows[:, 0]).max()) for rows in stored_answers.in_order())
            truths = None
            if file.truth:
                truths = rows_of(
                    path_of(file.truth),
                    TRUTH_COLUMNS,
                    field=f"{FIELD}.truth",
                    columns=file.truth_columns,
                    options=file.truth_options,
                )
            if self.words is not None and truths is not None:
                truths = truths.keep_labelled(self.words)[0]
            labels = None if self.words is None else self.words.names
            crowd = assemble(stored_answers.find_covering_rows(), truths=truths, repeats="first", answer_sets=labels)
            parties, note = crowd_to_parties(crowd), note_on(crowd, truths, stored_answers.num_left_out)
            parameters = {**parties.parameters, "max_answers": max_answers}
            return {
                "parameters": parameters,
                "workers": len(stored_answers.workers),
                "gold": dict(parties.gold),
                "note": note,
            }

    def batches(self, folder: Path, *, parameters: Mapping[str, Any], note: str) -> Generator[Batch]:
        """Yield the workers by their places."""
        width: int = parameters["max_answers"]
        task_of = {name: code for code, name in enumerate(parameters["tasks"])}
        label_of = {name: code for code, name in enumerate(parameters["answer_sets"][0])}
        max_workers = max(1, min(_BATCH_WORKERS, _BATCH_ENTRIES // width))
        with self._read(folder) as stored_answers:
            tasks, labels = (
                np.array([index.get(name, -1) for name in names], dtype=np.int64)
                for index, names in ((task_of, stored_answers.tasks), (label_of, stored_answers.labels))
            )
            refuse(min(tasks.min(), labels.min()) < 0, "tasks and labels", "others", _CHANGED)
            for rows in stored_answers.in_order():
                first = int(rows[0, 0])
                starts = np.searchsorted(rows[:, 0], np.arange(first, int(rows[-1, 0]) + 2))
                for place in range(0, len(starts) - 1, max_workers):
                    part_rows = rows[starts[place] : starts[min(place + max_workers, len(starts) - 1)]]
                    number = min(max_workers, len(starts) - 1 - place)
                    workers = part_rows[:, 0] - (first + place)
                    counts = np.bincount(workers, minlength=number)
                    refuse(counts.max() > width, "tasks of one worker", int(counts.max()), _CHANGED)
                    order = np.lexsort((tasks[part_rows[:, 2]], workers))
                    own_tasks, own_labels = tasks[part_rows[order, 2]], labels[part_rows[order, 3]]
                    table = table_of(workers[order], own_tasks, own_labels, counts, width=width)
                    yield Batch(table, number, note)

    @contextlib.contextmanager
    def _read(self, folder: Path) -> Generator["_StoredAnswers"]:
        """Yield all answers, read once."""
        with RowsByOwner(folder, width=4) as rows, contextlib.closing(self.files.batches(self._columns)) as batches:
            task, worker, label = self._columns
            workers = Names(worker, are_alike_one=self._are_alike_one)
            tasks, labels = Names(task), Names(label)
            stored_answers = _StoredAnswers(workers, tasks, labels, RowPlaces(), rows, self._repeats)
            for each in batches:
                batch = self._keep_labelled(each)
                stored_answers.num_left_out += each.num_rows - batch.num_rows
                if not batch.num_rows:
                    continue
                start = stored_answers.places.add(batch)
                codes = [
                    names.codes_in(batch, start)
                    for names in (stored_answers.workers, stored_answers.tasks, stored_answers.labels)
                ]
                numbers = np.arange(start, start + batch.num_rows)
                rows.add(np.stack([codes[0], numbers, *codes[1:]], axis=1))
            allowed = f"one that answers have: {', '.join(self.words.names if self.words is not None else ())}"
            require(len(labels), f"{FIELD}.labels", "none", allowed)
            yield stored_answers

    def _keep_labelled(self, batch: RowBatch) -> RowBatch:
        """Return the rows of a batch whose labels are among those that were said, and those without one.

        ConfigurationError where a row has another label, and is not to be left out.
        """
        if self.words is None:
            return batch
        label = self._columns[-1]
        column, names = batch.column(label), [*self.words.names, ""]
        empty = [name.strip() for name in column.names].index("") if "" in map(str.strip, column.names) else -1
        codes = np.where(column.codes == empty, len(names) - 1, self.words.codes_of(column))
        kept_rows = np.flatnonzero(codes >= 0)
        if len(kept_rows) < len(codes) and self.words.others == "refuse":
            row = int(np.argmin(codes))
            raise self.words.refused(column[row].strip(), f"label ({batch.where(row + 1)})")

        columns = {name: batch.column(name) for name in batch.table}
        table = {name: CodedColumn(each.names, each.codes[kept_rows]) for name, each in columns.items()}
        return batch.only(kept_rows, {**table, label: CodedColumn(names, codes[kept_rows])})


@dataclasses.dataclass(eq=False)
class _StoredAnswers:
    """Answers on disk: rows of worker, number of the row, task and label, as codes; and how many are left out."""

    workers: Names
    tasks: Names
    labels: Names
    places: RowPlaces
    rows: RowsByOwner
    repeats: Repeats
    num_left_out: int = 0

    def find_covering_rows(self) -> Rows:
        """Return the fewest rows in which each task and each label stands, each row by another worker."""
        number = max(len(self.tasks), len(self.labels))
        tasks, labels = (
            CodedColumn(list(codes), np.arange(number) % len(codes)) for codes in (self.tasks, self.labels)
        )
        workers = CodedColumn([str(row) for row in range(number)], np.arange(number))
        firsts = self.labels.first_rows
        return Rows(tasks, labels, lambda row: self.places.where(firsts[row % len(firsts)]), workers=workers)

    def _where(self, numbers: IntArray, row: int) -> str:
        """Return where a row of these numbers stands, for errors."""
        return self.places.where(int(numbers[row]))

    def in_order(self) -> Generator[IntArray]:
        """Yield the rows that count, by the worker's place; a worker's are together. See `rows_that_count`."""
        names = in_order(self.workers)
        place = {name: number for number, name in enumerate(names)}
        places = np.array([place[name] for name in self.workers], dtype=np.int64)
        tasks, labels = list(self.tasks), list(self.labels)
        for rows in self.rows.in_order(places):
            named_rows = Rows(
                CodedColumn(tasks, rows[:, 2]),
                CodedColumn(labels, rows[:, 3]),
                functools.partial(self._where, rows[:, 1]),
                workers=CodedColumn(names, rows[:, 0]),
            )
            kept_rows = rows_that_count(
                named_rows, rows[:, 2], rows[:, 0], rows[:, 3], num_tasks=len(tasks), repeats=self.repeats
            )
            yield rows[kept_rows]
