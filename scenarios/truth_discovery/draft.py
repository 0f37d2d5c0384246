"""A first crowd of one's own: who answered which task how, and perhaps what is true.

Programs call the columns of answers otherwise, and each says in its own way what does not count. The rule that holds
here: a name tells a column if no other column has as good a one; what no name tells is asked, and so is each label
that hardly anybody gave or that may be another one, since labels are public.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ...protocol.columns import normalize_name
from ...protocol.errors import ConfigurationError, refuse
from ..running.drafts import (
    Chosen,
    Draft,
    Option,
    SavedTable,
    ScenarioLine,
    ScenarioTemplate,
    UnclearError,
    alike_line,
    alike_option,
    answer,
    check_column,
    check_header,
    chosen_word,
    filled,
    joined,
    word_option,
)
from .data.assembly import in_order
from .data.labels import LabelWords, alike_in, join_labels, read_labels

_ID: Final = r"[ _.-]?(?:id|no|nr|number|name|email)?"
_ROLES: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "task": (
        (
            "task",
            "item",
            rf"(?:task|item|hit|instance|unit|example|question|image|picture|document|sample|object|sentence){_ID}",
            r"input[:.].+",
            "id",
        ),
        "which column says what was asked",
    ),
    "worker": (
        (
            "worker",
            rf"(?:worker|annotator|performer|user|rater|labell?er|coder|judge|grader|reviewer|participant|person){_ID}",
            rf"assignment[:.]worker{_ID}",
            r"(?:completed|annotated|labell?ed)[ _.-]?by|name",
        ),
        "which column says who answered; if each person has a file or a column, put these below each other, with one",
    ),
    "label": (
        (
            "label",
            r"(?:label|answer|response|annotation|judge?ment|choice|grade|rating|verdict)s?",
            r"(?:output:|answer[.:]).+",
        ),
        "which column has the answers",
    ),
}
"""Patterns of names in small letters, the best first."""
_TRUTH: Final = (
    "truth",
    r"gold(?:en)?|(?:gold|true|correct)[ _.-]?(?:label|answer)|ground[ _.-]?truth",
    r"golden:.+|.+_gold",
)
_FEW: Final = 5  # a label that fewer people gave may tell who they are
_MOST_ASKED: Final = 30
_NUMBERED: Final = re.compile(r"(.*?[^\W\d_])[ _.-]?\d+")
_SEVERAL: Final = re.compile(r"[#;,|]")


def _draft(sheet: SavedTable, options: Chosen) -> Draft:
    """Return a draft of a crowd. See `ScenarioTemplate`."""
    if not {"worker", "label"} <= options.keys() and (people := _raters(sheet)):  # each has a column of answers
        other_columns = [name for name in sheet.header if name not in people]
        allowed = (
            f"a line for each answer: {', '.join(people)} are a column of answers each. Put them below each other, in "
            f"pandas by table.melt({other_columns[:1]}, {people}, 'worker', 'label')"
        )
        raise ConfigurationError(field=f"{sheet.path.name} line {sheet.line}", value=", ".join(people), allowed=allowed)
    known_columns = {
        name for name in sheet.header if any(_rank(name, names) is not None for names, _ in _ROLES.values())
    }
    check_header(sheet, options, options=tuple(_ROLES), names=known_columns, example=",".join(_ROLES))
    columns = dict[str, str]()
    for role in _ROLES:
        columns[role] = _column(sheet, options, role, taken_columns=[*columns.values()])
    rows = list(zip(*map(sheet.column, columns.values()), strict=True))
    for place, (column, name) in reversed(
        [*enumerate(columns.items())]
    ):  # without an answer often nobody is named either
        if empty := [row for row, entries in enumerate(rows) if not entries[place]]:
            place_text = sheet.where(name, empty[0])
            question = f"whether to leave out lines without a {column}: {len(empty):,}, the first is {place_text}"
            raise UnclearError("leave-out-empty", question, [name])
    renamed_columns = {name: column for name, column in columns.items() if column != name}
    words, label_lines = _labels(sheet, options, rows)
    lines = filled(
        ScenarioLine("answers", sheet.written, "a line for each answer"),
        ScenarioLine("columns", renamed_columns, "what the file calls them"),
        *label_lines,
        alike_line(sheet, options, list(dict.fromkeys(worker for _, worker, _ in rows)), "worker"),
        _repeats(sheet, options, rows, words),
        *_truth(sheet, options, columns),
    )
    tasks, workers, _ = (sheet.count(len(set(column))) for column in zip(*rows, strict=True))
    return Draft(
        title=f"A crowd answers {tasks} questions",
        role="worker",
        price="each answer",
        parties=lines,
        said=[
            f"{workers} workers answer {tasks} tasks. Labels, for everybody to know: {join_labels(words.names)}.",
            "Who answered which task is public here; what they answered is not.",
        ],
    )


def _rank(name: str, names: Sequence[str]) -> int | None:
    """Return by which pattern a column's name tells what it is; None where none does."""
    return next((rank for rank, each in enumerate(names) if re.fullmatch(each, name.casefold().lstrip("_"))), None)


def _raters(sheet: SavedTable) -> list[str]:
    """Return columns that are called as people, by numbers, and have words in common: each one's answers."""
    stems = dict[str, list[str]]()
    for name in sheet.header:
        if (match := _NUMBERED.fullmatch(name)) and _rank(match[1], _ROLES["worker"][0][1:2]) is not None:
            stems.setdefault(match[1], []).append(name)
    for first, *other_columns in stems.values():
        if other_columns and {*sheet.column(first)}.intersection(*map(sheet.column, other_columns)):
            return [first, *other_columns]
    return []


def _fits(sheet: SavedTable) -> bool:
    """Return whether names tell the columns of tasks and of workers, and each stands in several lines; or raters."""
    if _raters(sheet):
        return True
    # A name may be any person's.
    roles = (_matching_columns(sheet, names) for names in (_ROLES["task"][0], _ROLES["worker"][0][:-1]))
    return all(any(len({*sheet.column(name)}) < len(sheet.rows) for name in role_names) for role_names in roles)


def _matching_columns(sheet: SavedTable, names: Sequence[str], taken_columns: Sequence[str] = ()) -> list[str]:
    """Return the columns whose names tell best what they are."""
    ranks = {
        name: rank for name in sheet.header if name not in taken_columns and (rank := _rank(name, names)) is not None
    }
    return [name for name, rank in ranks.items() if rank == min(ranks.values())]


def _column(sheet: SavedTable, options: Chosen, role: str, *, taken_columns: Sequence[str]) -> str:
    """Return the column of tasks, of workers or of answers."""
    names, question = _ROLES[role]
    if column := answer(options, role):
        return check_column(sheet, column, role)
    other_columns = [*taken_columns, *(options[each][-1] for each in _ROLES if each in options)]
    columns_found = _matching_columns(sheet, names, other_columns)
    if role == "label" and len(columns_found) != 1 and "labels" in options:  # the labels tell their column
        labels = {
            preferred_name
            for name in read_labels(options["labels"], ()).items()
            for preferred_name in (name[0], *name[1], "")
        }
        columns_found = [
            each for each in sheet.header if each not in other_columns and {""} < {*sheet.column(each)} | {""} <= labels
        ]
    if len(columns_found) == 1:
        return columns_found[0]
    if role == "label":
        _check_one_column(sheet)
    raise UnclearError(role, question, columns_found or [name for name in sheet.header if name not in other_columns])


def _check_one_column(sheet: SavedTable) -> None:
    """Raise ConfigurationError where each label has a column of its own, which has it or nothing."""
    tasks_of_label = dict[str, list[str]]()
    for name in sheet.header:
        question, point, label = name.rpartition(".")
        if point and {*sheet.column(name)} <= {"", label}:
            tasks_of_label.setdefault(question, []).append(name)
    for question, names in tasks_of_label.items():
        allowed = (
            f"a column of answers: {', '.join(names)} have a label of {question!r} each. Put these into one column, "
            "one below the other, and name it with --label"
        )
        refuse(len(names) > 1, f"{sheet.path.name} line {sheet.line}", ", ".join(names), allowed)


def _labels(sheet: SavedTable, options: Chosen, rows: Sequence[Sequence[str]]) -> tuple[LabelWords, list[ScenarioLine]]:
    """Return the labels, as options say them; else those that stand there, if many gave each and none may be two."""
    people = dict[str, set[str]]()
    for _, worker, label in rows:
        people.setdefault(label, set()).add(worker)
    labels_found = in_order(people)
    labels_given = read_labels(options.get("labels", ()), labels_found)
    if not labels_given:
        refuse(
            "other-labels" in options,
            "--other-labels",
            answer(options, "other-labels"),
            "left out, or name all labels by --labels",
        )
        _check_labels(labels_found, people)
        labels_given = {name: list[str]() for name in labels_found}
    labels = labels_given if any(labels_given.values()) else list(labels_given)
    lines = [ScenarioLine("labels", labels, "which an answer can have, for everybody to know")]
    words = LabelWords.of(labels, field="--labels")
    odd = [row for row, (_, _, label) in enumerate(rows) if label not in words.index]
    if odd:
        label, place_text = rows[odd[0]][2], sheet.where("label", odd[0])
        question = (
            f"what becomes of answers that are none of the labels: {len(odd):,}, the first is {label!r}, {place_text}; "
            "if they are left out, everybody can see whose"
        )
        if chosen_word(options, "other-labels", question, ["leave-out", "refuse"]) == "refuse":
            raise words.refused(label, place_text)
        lines.append(
            ScenarioLine(
                "other_labels", "leave_out", "answers with none of them do not count, and everybody can see whose"
            )
        )
    return words, lines


def _check_labels(labels_found: Sequence[str], people: Mapping[str, set[str]]) -> None:
    """Ask which labels there are, where one that stands there was given by few, may be another one, or several."""
    groups = alike_in(labels_found)
    few = [label for label in labels_found if len(people[label]) < _FEW]
    # An answer may be a list of others, or of what a program writes of several.
    parts = {label: [part for part in map(str.strip, _SEVERAL.split(label)) if part] for label in labels_found}
    compound_labels = [
        label
        for label in labels_found
        if label[:1] in {"{", "["} or (len(parts[label]) > 1 and not {*labels_found}.isdisjoint(parts[label]))
    ]
    if 1 < len(groups) == len(labels_found) and not few and not compound_labels:
        return
    if len(labels_found) == 1:
        reason = f"{labels_found[0]!r} stands there alone"
    elif compound_labels:
        reason = f"{compound_labels[0]!r} may be several in one cell"
    elif len(groups) < len(labels_found):
        first, second = max(groups, key=len)[:2]
        reason = f"{first!r} and {second!r} may be one"
    else:
        reason = f"{few[0]!r} was given by {len(people[few[0]])}, and everybody is told all labels"
    single = [label for label in labels_found if label not in compound_labels]
    ways = [["=".join(group) for group in alike_in(single)], single, [label for label in single if label not in few]]
    choices = list(dict.fromkeys(joined(way) for way in ways if 1 < len(way) <= _MOST_ASKED))
    question = f"{reason}: which labels can an answer have (as no,yes, or with another spelling no,yes=Yes)"
    raise UnclearError("labels", question, choices, is_open=True)


def _repeats(sheet: SavedTable, options: Chosen, rows: Sequence[Sequence[str]], words: LabelWords) -> ScenarioLine:
    """Return which answer counts where a worker answers a task twice, and differently."""
    answer_word = answer(options, "repeats")
    first_row_of_pair, is_one = dict[tuple[str, str], int](), answer(options, "alike-workers") == "one"
    for row, (task, worker, label) in enumerate(rows):
        pair = task, normalize_name(worker) if is_one else worker
        code = words.index.get(label)
        if not answer_word and code is not None and first_row_of_pair.setdefault(pair, code) != code:
            place_text = sheet.where("label", row)
            question = f"which answer of {worker!r} to {task!r} counts, who gave another one before: {place_text}"
            raise UnclearError("repeats", question, ["first", "last", "refuse"])
    return ScenarioLine("repeats", answer_word if answer_word != "refuse" else "", "of a worker's answers to a task")


def _truth(sheet: SavedTable, options: Chosen, columns: Mapping[str, str]) -> list[ScenarioLine]:
    """Return where truths are: in the file that is named, or in a column of this one, where a task may have one."""
    comment = "only to compare with what is found"
    if column := answer(options, "truth"):
        return [ScenarioLine("truth", column, f"task,truth: {comment}")]
    truth_columns = _matching_columns(sheet, _TRUTH, [*columns.values()])
    if len(truth_columns) > 1:
        own_columns = [name for name in truth_columns if name.partition(":")[2] == columns["label"].partition(":")[2]]
        truth_columns = own_columns if len(own_columns) == 1 else []
    if not truth_columns or not any(sheet.column(truth_columns[0])):
        return []
    truths = {"task": columns["task"], "truth": truth_columns[0]}
    return [
        ScenarioLine("truth", sheet.written, comment),
        ScenarioLine("truth_columns", truths, "where it stands there"),
    ]


BEGINNING: Final = ScenarioTemplate(
    word="crowd",
    help="The true answers to many tasks, found from what a crowd answers. FILE has a line for each answer: the task, "
    "the worker and the label.",
    options=(
        Option("task", "The column of tasks."),
        Option("worker", "The column of workers."),
        Option("label", "The column of answers."),
        Option(
            "labels",
            "What answers can be, which tells their column, too: no,yes; with another spelling: no,yes=Yes.",
            "LABELS",
            multiple=True,
        ),
        word_option("other-labels", "What becomes of answers with none of these", "leave-out", "refuse"),
        alike_option("worker"),
        word_option("repeats", "Which of a worker's answers to a task counts", "first", "last", "refuse"),
        Option("truth", "A file of task,truth, where some truths are known.", "FILE", is_file=True),
    ),
    draft=_draft,
    shown="answers",
    sample="answers.csv",
    epsilon=2.0,
    wanted=("task", "worker", "label"),
    fits=_fits,
    told_by={"label": "labels"},
)
