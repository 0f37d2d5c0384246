"""Crowds as the parties of a truth discovery session."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import ConfigurationError, list_choices, refuse, require
from ....protocol.mechanisms import NO_ANSWER
from ....protocol.phases import Entries
from ....protocol.truth_discovery import NO_TASK
from ...datasets import DataSet
from ...reading.conversion import convert
from ...reading.frames import path_of
from ...reading.headers import USUAL, TableOptions
from ...reading.sources import PartiesTable
from ...reading.text_forms import note_of
from .assembly import People, Repeats
from .crowd import Crowd
from .files import ANSWER_COLUMNS, TRUTH_COLUMNS, read_crowd
from .labels import Labels, LabelWords, Others
from .published import CROWDS, PublishedCrowd
from .synthetic import PEER_GRADING_STAND_IN, PeerGrading, SyntheticCrowd, make_crowd, make_peer_grading

FIELD: Final = "workers"
"""What parties stand under in a scenario."""
_PEER_GRADING = "peer_grading"


class CrowdFile(TableOptions, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A crowd in files; ConfigurationError where a column is renamed that it has not."""

    answers: str  # a CSV file with a line for each answer: task, worker, label
    truth: str = ""  # a CSV file of what is true: task, truth; only to compare with what is found
    repeats: Repeats = "error"  # which answer counts where a worker answers a task twice with different labels
    alike_workers: People = "refuse"  # whether names that differ in case or blanks alone are one worker's
    columns: dict[str, str] = {}  # what the file of answers calls task, worker or label, where it calls them otherwise
    truth_columns: dict[str, str] = {}  # the same of task or truth in the file of truths, which may be that of answers
    labels: Labels = []  # which an answer can have, for everybody to know; in a table, how else each is written
    other_labels: Others = "refuse"  # what becomes of an answer that has none of them
    manifest: str = ""  # keeps what a pass over files of any size finds (`reading.manifests`)

    def __post_init__(self) -> None:
        for name in self.columns:
            require(name in ANSWER_COLUMNS, f"{FIELD}.columns", name, list_choices(ANSWER_COLUMNS, name))
        for name in self.truth_columns:
            require(name in TRUTH_COLUMNS, f"{FIELD}.truth_columns", name, list_choices(TRUTH_COLUMNS, name))

    @property
    def truth_options(self) -> TableOptions:
        """What is said of the file of truths: where it is that of answers, all that is said of this one."""
        if self.truth != self.answers:
            return USUAL
        column = self.truth_columns.get("truth", "truth")  # which most rows leave empty
        return msgspec.structs.replace(self.alone(), leave_out_empty=(*self.leave_out_empty, column))

    def words_beside(self, parameters: Mapping[str, Any]) -> LabelWords | None:
        """Return the labels that are said here, or by a scenario's `answer_sets`, if these are those of all tasks."""
        answer_sets: list[list[str]] = convert(parameters.get("answer_sets", []), list[list[str]], "answer_sets")
        if self.labels:
            return LabelWords.of(self.labels, self.other_labels, field=f"{FIELD}.labels")
        return LabelWords.of(answer_sets[0], self.other_labels, field="answer_sets") if len(answer_sets) == 1 else None

    def read(self, parameters: Mapping[str, Any]) -> Crowd:
        """Return the crowd beside a scenario's parameters, which are not checked yet; errors as `read_crowd`."""
        return read_crowd(
            path_of(self.answers),
            truth=path_of(self.truth) if self.truth else None,
            repeats=self.repeats,
            alike_workers=self.alike_workers,
            labels=self.words_beside(parameters),
            columns=self.columns,
            options=self,
            truth_columns=self.truth_columns,
            truth_options=self.truth_options,
        )


_OPTIONS = frozenset((*CrowdFile.__struct_fields__, *SyntheticCrowd.__struct_fields__, *PeerGrading.__struct_fields__))


def load_workers(parties: str | Mapping[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable:
    """Return the workers of a CSV file of answers, or of a synthetic crowd; `parameters` are not checked yet.

    Parties are the file's path; a table of `CrowdFile` or of `SyntheticCrowd`; or one of `PeerGrading` that says
    `stand_in = "peer_grading"`.

    Raises:
        ConfigurationError: the file cannot be read or is not what it should be, or an option is not allowed.
    """
    options = {"answers": parties} if isinstance(parties, str) else dict(parties)
    try:
        return _load(options, parameters=parameters)
    except ConfigurationError as error:
        if error.field not in _OPTIONS:
            raise
        # As scenarios name it: by the file's own name where nothing else is said of the crowd.
        field = FIELD if isinstance(parties, str) else f"{FIELD}.{error.field}"
        raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None


def _load(options: dict[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable:
    if "stand_in" in options:
        name: str = convert(options.pop("stand_in"), str, f"{FIELD}.stand_in")
        refuse(name != _PEER_GRADING, f"{FIELD}.stand_in", name, repr(_PEER_GRADING))
        default_fields: dict[str, Any] = msgspec.to_builtins(PEER_GRADING_STAND_IN)
        graders = crowd_to_parties(
            make_peer_grading(convert({**default_fields, **options}, PeerGrading, FIELD)), is_generated=True
        )
        return _add_levels(graders, parameters)
    if "answers" not in options:
        for companion_option in sorted(
            {"columns", "truth", "repeats", "alike_workers", "labels", "other_labels"} & options.keys()
        ):
            raise ConfigurationError(field="answers", value="left out", allowed=f"given beside {companion_option}")
        synthetic: SyntheticCrowd = convert(options, SyntheticCrowd, FIELD)
        return _add_levels(crowd_to_parties(make_crowd(synthetic), is_generated=True), parameters)
    file: CrowdFile = convert(options, CrowdFile, FIELD)
    crowd = file.read(parameters)
    has_own_truth = file.truth not in {"", file.answers}
    parties = crowd_to_parties(crowd, source=path_of(file.answers).name)
    notes = [note_of(path_of(file.answers), file), note_of(path_of(file.truth)) if has_own_truth else "", crowd.note]
    return dataclasses.replace(parties, note=" ".join(filter(None, notes)))


def _add_levels(synthetic: PartiesTable, parameters: Mapping[str, Any]) -> PartiesTable:
    """Return made-up workers, who have the scenario's levels of ε in turn."""
    if not (levels := parameters.get("epsilons")):
        return synthetic
    known_levels: list[float] = convert(levels, list[float], "epsilons")
    return dataclasses.replace(
        synthetic, table={**synthetic.table, "epsilon": np.resize(known_levels, len(synthetic.names))}
    )


def crowd_to_parties(
    crowd: Crowd, *, source: str = "", is_generated: bool = False, is_public_record: bool = False
) -> PartiesTable:
    """Return a crowd as the parties of a session: each worker with its tasks and its answers. See `PartiesTable`."""
    answers = crowd.answers
    counts = np.bincount(answers.workers, minlength=answers.num_workers)
    sizes = [len(labels) for labels in crowd.answer_sets]
    offsets = np.cumsum([0, *sizes])[crowd.answer_set_of_task]
    width = int(counts.max(initial=0))
    parameters: dict[str, Any] = {
        "tasks": list(crowd.tasks),
        "answer_sets": [list(labels) for labels in crowd.answer_sets],
        "max_answers": width,
        "answer_set_of_task": crowd.answer_set_of_task.tolist() if len(sizes) > 1 else [],
    }
    gold = {
        crowd.tasks[task]: crowd.answer_sets[int(crowd.answer_set_of_task[task])][int(crowd.truth[task])]
        for task in np.flatnonzero(crowd.truth >= 0).tolist()
    }
    return PartiesTable(
        names=list(crowd.workers),
        table=table_of(answers.workers, answers.tasks, offsets[answers.tasks] + answers.labels, counts, width=width),
        lines=(),
        source=source,
        parameters=parameters,
        is_generated=is_generated,
        is_public_record=is_public_record,
        fixed=frozenset(parameters),
        gold=gold,
        unsaid=None if crowd.are_labels_said else unsaid_labels_error(),
    )


def unsaid_labels_error() -> ConfigurationError:
    """Return the error where real people answered, and nobody said which labels there are."""
    allowed = (
        "given: which labels an answer can have is public, and is not read off what people answered. Name all of them, "
        "also those that nobody gave, as in labels = ['no', 'yes'], or begin with `psephos new crowd`; if nobody real "
        "stands behind the answers, add --set synthetic=true, if everybody may know them, --set public_record=true"
    )
    return ConfigurationError(field=f"{FIELD}.labels", value="left out", allowed=allowed)


def table_of(
    workers: IntArray, tasks: IntArray, labels: IntArray, counts: IntArray, *, width: int
) -> dict[str, Entries]:
    """Return the columns of workers with so many answers each, which are given as codes, by worker and then by task."""
    places = np.arange(len(workers)) - (np.cumsum(counts) - counts)[workers]
    empty_columns = [np.full((len(counts), width), empty, dtype=np.int64) for empty in (NO_TASK, NO_ANSWER)]
    empty_columns[0][workers, places], empty_columns[1][workers, places] = tasks, labels
    return {"tasks": empty_columns[0], "answers": empty_columns[1]}


def _data_set(name: str, crowd: PublishedCrowd) -> DataSet:
    def load(options: Any, folder: Path, _: Mapping[str, Any]) -> PartiesTable:
        # Whoever publishes answers lets everybody know them.
        return crowd_to_parties(crowd.load(options, folder), source=name, is_public_record=True)

    return DataSet(crowd.options, load, crowd.place, crowd.num_bytes)


DATA_SETS: Final[Mapping[str, DataSet]] = {name: _data_set(name, crowd) for name, crowd in CROWDS.items()}
