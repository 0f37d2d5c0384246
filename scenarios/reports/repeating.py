"""The command that left a folder, where no `scenario.json` is to be run again: of an audit, trials, papers, a series.

It is written beside what it left, so that a page made later has it as well. It holds no seed that hides anybody's
values: the command line leaves that of a series out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from ..reading.conversion import convert
from ..running.folder import SCHEMA, RunFolder
from ..running.reader import read_json
from .page import Code, Section

__all__ = ["repeated", "write_command"]

_FILE: Final = "command.json"


class _Command(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of `command.json`."""

    command: str


def write_command(folder: RunFolder, command: str) -> None:
    """Keep the command that leaves a folder, as a shell takes it."""
    folder.write_json(_FILE, {"schema": SCHEMA, "command": command})


def repeated(folder: Path) -> Iterator[Section]:
    """Yield how to repeat what left a folder; nothing where that is not known.

    Args:
        folder: what the command left.

    Raises:
        ConfigurationError: the file that says it is damaged.
    """
    if not (folder / _FILE).exists():
        return
    kept: _Command = convert(read_json(folder / _FILE), _Command, _FILE)
    code = Code(text=kept.command, words="In the folder in which it was given, the command that repeats it:")
    yield Section(title="How to repeat it", blocks=[code])
