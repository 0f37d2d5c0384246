"""One worker's own answers, from a file that is its alone."""

from collections.abc import Mapping
from typing import Any, Final

from ....protocol.errors import ConfigurationError
from ...deployment.own_entries import INPUT, OwnEntries, OwnFile

__all__ = ["OWN_ANSWERS"]


def _read(file: OwnFile) -> Mapping[str, Any]:
    """Return `answers`, a table of labels by task, of a file with a line for each answer."""
    if "label" not in file.header:
        allowed = "a header with the columns 'task' and 'label'"
        raise ConfigurationError(field=f"{file.path.name} line 1", value=file.header, allowed=allowed)
    if not file.rows:
        allowed = f"a header and a line for each answer of {file.party!r}"
        raise ConfigurationError(field=INPUT, value=f"{file.path} without a line below its header", allowed=allowed)
    answers: dict[str, str] = {}
    for line, entries in file.entries():
        task, label = entries["task"], entries["label"]
        if answers.setdefault(task, label) != label:
            field = f"task ({file.path.name} line {line})"
            raise ConfigurationError(field=field, value=task, allowed="answered once, or with the same label")
    return {"answers": answers}


OWN_ANSWERS: Final = OwnEntries(columns=frozenset({"task"}), read=_read)
