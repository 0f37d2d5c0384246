"""Rows of names become a crowd: codes, answer sets, truth, and one answer for each task and worker.

Names are numbered in numeric order where all of them are integers, else as text, character by character. So a crowd
does not depend on the order of its rows, unless one of several answers is chosen by it.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.columns import CodedColumn, first_alike, normalize_name
from ....protocol.errors import ConfigurationError, quote, require
from ....protocol.estimators.truth_inference import Answers
from .crowd import Crowd
from .labels import LabelWords, alike_in, join_labels

Repeats: TypeAlias = Literal["error", "first", "last"]
"""What becomes of several answers of one worker to one task: one of them counts, or labels that differ are an error."""
People: TypeAlias = Literal["refuse", "one", "several"]
"""Whose names are that differ in case or blanks alone: refused, one worker's, or those of several."""
AnswerSets: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]
"""The labels of every task, in order; or those of each answer set, by its name."""
SEPARATOR: Final = "|"
"""Between the labels of an answer set that a cell spells out."""

_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """Answers, or truths, as they were written down."""

    tasks: CodedColumn  # of each row
    labels: CodedColumn  # likewise
    where: Callable[[int], str]  # names a row's place, for errors ("answers.csv line 7"); it may be slow
    workers: CodedColumn | None = None  # likewise; None for truths
    answer_sets: CodedColumn | None = None  # the answer set of the row's task; None where all tasks have one

    @property
    def label_word(self) -> str:
        """What a label is called here."""
        return "truth" if self.workers is None else "label"

    def merge_people(self, alike_workers: People) -> "Rows":
        """Return the rows by worker, each with the first of its names; ConfigurationError where it is unsaid."""
        column = self.workers
        if column is None or alike_workers == "several" or (places := first_alike(column.names)) is None:
            return self
        if alike_workers == "refuse":
            first, second_name = (column.names[place] for place in places)
            place_text = self.where(column.row_of(places[1]) - 1)
            raise unsaid_people_error(first, second_name, place_text)
        name_of_key = dict[str, str]()
        names = [name_of_key.setdefault(normalize_name(name), name) for name in column.names]
        name_column = CodedColumn.from_values(names)
        return dataclasses.replace(self, workers=CodedColumn(name_column.names, name_column.codes[column.codes]))

    def keep_labelled(self, words: LabelWords) -> "tuple[Rows, int]":
        """Return the rows whose labels are among these, by the labels' names, and how many are left out.

        ConfigurationError, of the first one, where a row has none of them that is not to be left out; no truth is.
        """
        codes = words.codes_of(self.labels)
        kept_rows = np.flatnonzero(codes >= 0)
        if len(kept_rows) < len(codes) and (words.others == "refuse" or self.workers is None):
            row = int(np.argmin(codes))
            raise words.refused(self.labels[row], f"{self.label_word} ({self.where(row)})")
        if len(kept_rows) == len(codes):
            return dataclasses.replace(self, labels=CodedColumn(words.names, codes)), 0
        allowed = f"one of {join_labels(words.names)} at least once"
        require(len(kept_rows), f"label ({self.where(0)})", self.labels[0], allowed)
        rows = Rows(
            tasks=_some(self.tasks, kept_rows),
            labels=CodedColumn(words.names, codes[kept_rows]),
            where=lambda row: self.where(int(kept_rows[row])),
            workers=None if self.workers is None else _some(self.workers, kept_rows),
            answer_sets=None if self.answer_sets is None else _some(self.answer_sets, kept_rows),
        )
        return rows, len(codes) - len(kept_rows)


def unsaid_people_error(first: str, second_name: str, place_text: str) -> ConfigurationError:
    """Return the error for two names of workers that may be one's, who would pay twice."""
    allowed = (
        f"unlike {quote(first)}, but for case and blanks: workers.alike_workers says whether they are one worker's "
        "(one) or not (several)"
    )
    return ConfigurationError(field=f"worker ({place_text})", value=second_name, allowed=allowed)


def _some(column: CodedColumn, rows: IntArray) -> CodedColumn:
    """Return some rows of a column, with the names that these have."""
    codes, own_codes = np.unique(column.codes[rows], return_inverse=True)
    return CodedColumn([column.names[int(code)] for code in codes], own_codes)


def in_order(names: Iterable[str]) -> list[str]:
    """Return names in numeric order if all of them are integers, else sorted as text.

    Examples:
        >>> in_order(["10", "9", "2"]), in_order(["10", "9", "b"])
        (['2', '9', '10'], ['10', '9', 'b'])
    """
    name_list = list(names)
    if all(map(_INTEGER.fullmatch, name_list)):
        return sorted(name_list, key=lambda name: (int(name), name))
    return sorted(name_list)


def assemble(
    answers: Rows,
    *,
    truths: Rows | None = None,
    repeats: Repeats = "error",
    answer_sets: AnswerSets | None = None,
    is_published: bool = False,
) -> Crowd:
    """Return the crowd that rows of names describe.

    A task that has a truth but no answer stays, without answers.

    Args:
        answers: with workers.
        truths: at most one truth for each task; the same one may be repeated.
        repeats: which answer counts where a worker answers a task more than once, in the order of the rows. The same
            label again is never an error.
        answer_sets: the labels of all tasks, or by name those of the sets that the rows name. Where the rows name
            answer sets and this is None, the name is the labels, with `|` between them. Where neither speaks, all
            tasks have one answer set: every label that was answered.
        is_published: everybody may know the answers, and their labels are those that stand there, as they are written.

    Raises:
        ConfigurationError: a label is outside its task's answer set; labels that nobody said are alike; an answer set
            has less than two labels, or one twice, or is not known; a task has two answer sets, or two truths; a worker
            answers a task twice with different labels and `repeats` is "error".

    Examples:
        >>> tasks, labels = CodedColumn.from_values(["q", "q", "r"]), CodedColumn.from_values(["no", "yes", "no"])
        >>> crowd = assemble(Rows(tasks, labels, str, workers=CodedColumn.from_values(["bob", "ann", "ann"])))
        >>> crowd.workers, crowd.answers.labels.tolist()
        (['ann', 'bob'], [1, 0, 0])
    """
    if answers.workers is None:
        raise ValueError("answers need workers")
    require(repeats in get_args(Repeats), "repeats", repeats, "one of error, first, last")
    parts = [answers] if truths is None else [answers, truths]
    task_names = in_order(dict.fromkeys(name for part in parts for name in part.tasks.names))
    worker_names = in_order(answers.workers.names)
    task_index = _index(task_names)
    tasks = [part.tasks.recode(task_index) for part in parts]
    sets, set_of_task = _answer_sets(parts, tasks, task_names, answer_sets, are_alike_refused=not is_published)
    labels = [
        _label_codes(
            part, set_of_task[codes], sets, is_given=answer_sets is not None or answers.answer_sets is not None
        )
        for part, codes in zip(parts, tasks, strict=True)
    ]
    workers = answers.workers.recode(_index(worker_names))
    kept_rows = rows_that_count(answers, tasks[0], workers, labels[0], num_tasks=len(task_names), repeats=repeats)
    truth = np.full(len(task_names), -1, dtype=np.int64)
    if truths is not None:
        truth[tasks[1][::-1]] = labels[1][::-1]  # the first row of a task is written last
        for row in np.flatnonzero(truth[tasks[1]] != labels[1])[:1].tolist():
            first = int(np.argmax(tasks[1] == tasks[1][row]))
            allowed = (
                f"{quote(truths.labels[first])}, which is the truth of task {quote(truths.tasks[int(row)])} "
                f"before ({truths.where(first)})"
            )
            field = f"truth ({truths.where(row)})"
            raise ConfigurationError(field=field, value=truths.labels[int(row)], allowed=allowed)
    sizes = np.array([len(labels) for labels in sets], dtype=np.int64)
    return Crowd(
        answers=Answers(
            tasks=tasks[0][kept_rows],
            workers=workers[kept_rows],
            labels=labels[0][kept_rows],
            num_tasks=len(task_names),
            num_workers=len(worker_names),
            sizes=sizes[set_of_task],
        ),
        tasks=task_names,
        workers=worker_names,
        answer_sets=sets,
        answer_set_of_task=set_of_task,
        truth=truth,
        are_labels_said=is_published or answer_sets is not None or answers.answer_sets is not None,
    )


def _index(names: Iterable[str]) -> dict[str, int]:
    return {name: code for code, name in enumerate(names)}


def _answer_sets(
    parts: Sequence[Rows],
    tasks: Sequence[IntArray],
    task_names: Sequence[str],
    answer_sets: AnswerSets | None,
    *,
    are_alike_refused: bool,
) -> tuple[list[tuple[str, ...]], IntArray]:
    """Return the distinct answer sets, and which one each task has."""
    answers, *_ = parts
    if answers.answer_sets is None:
        for part in parts:
            if part.answer_sets is not None:
                allowed = "left out, since the answers do not name answer sets"
                raise ConfigurationError(field=f"answer_set ({part.where(0)})", value="a column", allowed=allowed)
        if isinstance(answer_sets, Mapping):
            allowed = "a list of labels, since the answers have no column answer_set to name one of several sets"
            raise ConfigurationError(field="answer_sets", value=list(answer_sets), allowed=allowed)
        set_of_task = np.zeros(len(task_names), dtype=np.int64)
        if answer_sets is not None:
            return [_checked(answer_sets, "answer_sets")], set_of_task
        labels = in_order(answers.labels.names)
        if len(labels) < 2:  # noqa: PLR2004  one label is no question
            allowed = f"Nobody gave another label than {labels[0]!r}. Name the possible ones by labels."
            raise ConfigurationError(field=f"label ({answers.where(0)})", value=labels[0], allowed=allowed)
        for first, *other_labels in alike_in(labels) if are_alike_refused else ():
            for other in other_labels:
                row = int(np.argmax(answers.labels.codes == answers.labels.names.index(other)))
                allowed = f"Is {quote(other)} the same label as {quote(first)}? Say by labels which there are, and how "
                allowed += "else each is written."
                raise ConfigurationError(field=f"label ({answers.where(row)})", value=other, allowed=allowed)
        return [tuple(labels)], set_of_task
    if answer_sets is not None and not isinstance(answer_sets, Mapping):
        allowed = "labels by the names of the answer sets, since the answers have a column answer_set"
        raise ConfigurationError(field="answer_sets", value=answer_sets, allowed=allowed)
    set_names = in_order(dict.fromkeys(name for part in parts if part.answer_sets for name in part.answer_sets.names))
    index = _index(set_names)
    set_of_task = np.full(len(task_names), -1, dtype=np.int64)
    for part, codes in zip(parts, tasks, strict=True):
        if part.answer_sets is None:
            continue
        recoded_sets = part.answer_sets.recode(index)
        unset = set_of_task[codes] < 0
        set_of_task[codes[unset][::-1]] = recoded_sets[unset][::-1]  # the first row of a task is written last
        for row in np.flatnonzero(set_of_task[codes] != recoded_sets)[:1].tolist():
            other = set_names[int(set_of_task[codes[row]])]
            allowed = f"{other!r}, as in another row of task {quote(part.tasks[int(row)])}"
            field = f"answer_set ({part.where(row)})"
            raise ConfigurationError(field=field, value=part.answer_sets[int(row)], allowed=allowed)
    part = parts[-1]
    for row in np.flatnonzero(set_of_task[tasks[-1]] < 0)[:1].tolist():  # of a truth, since nobody answered
        allowed = "a task that somebody answered, or one whose answer set a column answer_set names beside its truth"
        raise ConfigurationError(field=f"task ({part.where(row)})", value=part.tasks[int(row)], allowed=allowed)
    return [_find_named_set(parts, name, answer_sets) for name in set_names], set_of_task


def _find_named_set(
    parts: Sequence[Rows], name: str, answer_sets: Mapping[str, Sequence[str]] | None
) -> tuple[str, ...]:
    """Return the labels of a set that rows name."""
    if answer_sets is not None and name in answer_sets:
        return _checked(answer_sets[name], f"answer_sets.{name}")
    if answer_sets is None and SEPARATOR in name:
        labels = [label.strip() for label in name.split(SEPARATOR)]
        if len(labels) == len({*labels} - {""}):
            return tuple(labels)
    part, row = next(
        (part, int(np.argmax(part.answer_sets.codes == list(part.answer_sets.names).index(name))))
        for part in parts
        if part.answer_sets is not None and name in part.answer_sets.names
    )
    allowed = (
        f"two or more different labels, with {SEPARATOR} between them"
        if answer_sets is None
        else f"the name of one of the answer sets {join_labels(list(answer_sets))}"
    )
    raise ConfigurationError(field=f"answer_set ({part.where(row)})", value=name, allowed=allowed)


def _checked(labels: Sequence[str], field: str) -> tuple[str, ...]:
    """Return an answer set; ConfigurationError where it is none."""
    is_set = not isinstance(labels, str) and 1 < len(labels) == len(set(labels))
    require(is_set, field, labels, "a list of two or more different labels")
    return tuple(labels)


def _label_codes(rows: Rows, sets_of_rows: IntArray, sets: Sequence[Sequence[str]], *, is_given: bool) -> IntArray:
    """Return each row's label as its code in the answer set of its task."""
    if len(sets) == 1:
        codes = rows.labels.recode(_index(sets[0]))
    else:
        indexes: list[dict[str, int]] = [_index(labels) for labels in sets]
        pairs, place = np.unique(sets_of_rows * len(rows.labels.names) + rows.labels.codes, return_inverse=True)
        split: list[tuple[int, int]] = [divmod(pair, len(rows.labels.names)) for pair in pairs.tolist()]
        codes = np.array(
            [indexes[task_index].get(rows.labels.names[label], -1) for task_index, label in split], dtype=np.int64
        )
        codes = codes[place]
    for row in np.flatnonzero(codes < 0)[:1].tolist():
        labels = join_labels(sets[int(sets_of_rows[row])])
        allowed = f"one of {labels}" if is_given else f"a label that somebody answered: {labels}"
        field = f"{rows.label_word} ({rows.where(row)})"
        raise ConfigurationError(field=field, value=rows.labels[int(row)], allowed=allowed)
    return codes


def note_on(crowd: Crowd, truths: Rows | None, num_left_out: int) -> str:
    """Return what became of rows, as sentences for people: the labels, and what has none, or belongs to no answer.

    ConfigurationError where no truth is of a task that somebody answered: they are not of this crowd.
    """
    notes = [f"Labels: {join_labels(crowd.answer_sets[0])}."] if len(crowd.answer_sets) == 1 else []
    if num_left_out:
        notes.append(f"Answers with none of these labels, left out, as everybody can see: {num_left_out:,}.")
    if truths is not None:
        answered = {crowd.tasks[int(code)]: int(code) for code in np.unique(crowd.answers.tasks)}
        idle = np.flatnonzero(truths.tasks.recode(answered) < 0)
        if len(idle):
            task, place_text = truths.tasks[int(idle[0])], truths.where(int(idle[0]))
            require(len(idle) < len(truths.tasks), f"task ({place_text})", task, "a task that somebody answered")
            notes.append(f"Truths of tasks that nobody answered: {len(idle):,}, the first of {task!r} ({place_text}).")
    return " ".join(notes)


def rows_that_count(
    rows: Rows, tasks: IntArray, workers: IntArray, labels: IntArray, *, num_tasks: int, repeats: Repeats
) -> IntArray:
    """Return the rows that count, sorted by worker and then by task, all of which are given as codes.

    ConfigurationError where a worker answers a task twice with different labels and `repeats` is "error".
    """
    pairs = workers * num_tasks + tasks
    order = np.argsort(pairs, kind="stable")  # so that the rows of a pair stay in their order
    is_first = np.diff(pairs[order], prepend=-1) != 0
    if repeats == "last":
        return order[np.roll(is_first, -1)]  # before the next pair's first; before the end, since a first row begins
    kept_rows = order[is_first]
    if repeats == "error" and len(kept_rows) < len(order):
        first = kept_rows[np.cumsum(is_first) - 1]
        differs = labels[first] != labels[order]
        if np.any(differs):
            place = int(np.argmin(np.where(differs, order, len(order))))
            earlier_row, row = int(first[place]), int(order[place])
            worker = rows.workers[earlier_row] if rows.workers is not None else ""
            allowed = (
                f"Which counts? Worker {quote(worker)} answered {quote(rows.labels[earlier_row])} to task "
                f"{quote(rows.tasks[earlier_row])} before ({rows.where(earlier_row)}), and {quote(rows.labels[row])} "
                "here. Set workers.repeats to first or last."
            )
            raise ConfigurationError(field=f"label ({rows.where(row)})", value=rows.labels[row], allowed=allowed)
    return kept_rows
