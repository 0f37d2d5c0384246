"""Where a person's journal is."""

import contextlib
import time
from collections.abc import Generator
from pathlib import Path

import platformdirs

from ...agents.person_journal import PersonJournal
from .keys import slug_of

__all__ = ["default_journal", "journal_file", "open_journal"]


def default_journal() -> Path:
    """Return where the journal of this system's user is: whoever is that user is one person, by whatever names."""
    return platformdirs.user_state_path("psephos", appauthor=False) / "journal.sqlite"


def journal_file(given: Path | None, *, party: str) -> Path:
    """Return a person's journal.

    Args:
        given: a file, or a folder, in which each name has a journal of its own; by default the user's.
        party: the person's name.
    """
    if given is None:
        return default_journal()
    return given / f"{slug_of(party)}.sqlite" if given.is_dir() else given


@contextlib.contextmanager
def open_journal(given: Path | None, *, party: str, is_simulation: bool) -> Generator[PersonJournal | None]:
    """Yield a person's journal; None for a simulation, whose losses are nobody's.

    Args:
        given: as for `journal_file`.
        party: the person's name.
        is_simulation: whether it is one.

    Raises:
        JournalError: as `PersonJournal.open`.
    """
    if is_simulation:
        yield None
        return
    with PersonJournal.open(journal_file(given, party=party), now=time.time(), clock=time.time) as journal:
        yield journal
