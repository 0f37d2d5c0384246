"""One worker's own answers: from a file that is its alone, or asked for task by task."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from ....protocol.errors import ConfigurationError, refuse
from ....protocol.mechanisms import NO_ANSWER
from ....protocol.phases import PhasedProtocol
from ....protocol.truth_discovery import NO_TASK, TruthDiscovery
from ...deployment.own_entries import INPUT, OwnEntries, OwnFile, Questions


def _read(file: OwnFile) -> Mapping[str, Any]:
    """Return `answers`, a table of labels by task, of a file with a line for each answer."""
    allowed = "a header with the columns 'task' and 'label'"
    refuse("label" not in file.header, f"{file.path.name} line 1", file.header, allowed)
    allowed = f"a header and a line for each answer of {file.party!r}"
    refuse(not file.rows, INPUT, f"{file.path} without a line below its header", allowed)
    answers: dict[str, str] = {}
    for line, entries in file.entries():
        task, label = entries["task"], entries["label"]
        if answers.setdefault(task, label) != label:
            field = f"task ({file.path.name} line {line})"
            raise ConfigurationError(field=field, value=task, allowed="answered once, or with the same label")
    return {"answers": answers}


def _write(protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """Return a line for each task; nothing stands behind one that is skipped."""
    session = cast("TruthDiscovery", protocol)
    codes = session.codes
    columns = {
        name: np.array([entries[name]]) if isinstance(entries[name], np.ndarray) else [entries[name]]
        for name in ("tasks", "answers", *(column.name for column in session.parameters.own_levels.columns))
    }
    inputs = session.encode(columns)
    answers: list[int] = inputs.private[0, : session.parameters.max_answers].tolist()
    tasks: list[int] = inputs.public[0, session.parameters.asked_columns].tolist()
    lines = [
        (codes.tasks[task], codes.label_of(answer, task) if answer != NO_ANSWER else "")
        for task, answer in zip(tasks, answers, strict=True)
        if task != NO_TASK
    ]
    return [("task", "label"), *lines] if lines else [("answers",), ("",)]


def _ask(protocol: PhasedProtocol[Any, Any], public: Sequence[int]) -> Questions:
    """Return a question for each task that the worker is asked."""
    codes, asked_row = (
        cast("TruthDiscovery", protocol).codes,
        public[cast("TruthDiscovery", protocol).parameters.asked_columns],
    )
    asked_tasks = [task for task in asked_row if task != NO_TASK]
    allowed = {codes.tasks[task]: f"{', '.join(codes.labels_of(task))}; or nothing, to skip it" for task in asked_tasks}
    return Questions(allowed=allowed, entries=lambda answers: {"answers": dict(answers)})


OWN_ANSWERS: Final = OwnEntries(columns=frozenset({"task"}), read=_read, write=_write, ask=_ask, is_by_rows=True)
