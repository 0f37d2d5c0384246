"""Where a person's journal is, or a host's, and where a journal's witness is."""

import contextlib
import time
from collections.abc import Generator
from pathlib import Path
from typing import Final

import platformdirs

from ...agents.host_journal import HOST, OF_PARTIES
from ...agents.journal_format import read_journal
from ...agents.person_journal import PersonJournal
from ...agents.rollback_guard import RollbackGuard
from ...protocol.errors import JournalError, JournalInUseError, refuse
from .keys import stem_of

HOST_FILE: Final = "host.sqlite"
"""What a host's journal is called in its folder."""


def default_journal(*, like: Path | None = None) -> Path:
    """Return where the journal of this system's user is: whoever is that user is one person, by whatever names.

    Args:
        like: another journal; where it is a host's, the user's is that of the parties that the user hosts.

    Raises:
        JournalError: the other one cannot be read.
    """
    is_host = like is not None and read_journal(like, kind=OF_PARTIES, is_copy=True).about.kind == HOST
    return _state() / (HOST_FILE if is_host else "journal.sqlite")


def _state() -> Path:
    return platformdirs.user_state_path("psephos", appauthor=False)


def witness_of(path: Path | None, journal: Path, *, key: str = "") -> RollbackGuard:
    """Return where it is told, outside a journal's folder, how far the journal is.

    Args:
        path: a folder; by default the one for state that the system has for the user, or the one for data where the
            journal itself is in that.
        key: what the journal is known by wherever it is; by default its path.

    Raises:
        ConfigurationError: the folder is the journal's own.
    """
    if path is not None:
        is_own = path.resolve().is_relative_to(journal.resolve().parent)
        refuse(is_own, "--witness", str(path), "another folder than the journal's, which an older copy would take back")
        return RollbackGuard(path.resolve(), key)
    is_in_state = journal.resolve().is_relative_to(_state().resolve())
    folder = platformdirs.user_data_path("psephos", appauthor=False) if is_in_state else _state()
    return RollbackGuard(folder.resolve() / "witness", key)


def journal_file(path_given: Path | None, *, party: str) -> Path:
    """Return a person's journal.

    Args:
        path_given: a file, or a folder, in which each name has a journal of its own; by default the user's.
    """
    if path_given is None:
        return default_journal()
    if not path_given.is_dir():
        return path_given
    return path_given / f"{stem_of(party)}.sqlite"


@contextlib.contextmanager
def open_journal(
    path_given: Path | None, *, party: str, is_simulation: bool, witness: Path | None = None
) -> Generator[PersonJournal | None]:
    """Yield a person's journal; None for a simulation, whose losses are nobody's.

    Raises:
        ConfigurationError: as `witness_of`.
        JournalError: as `PersonJournal.open`.
    """
    if is_simulation:
        yield None
        return
    path = journal_file(path_given, party=party)
    rollback_guard = witness_of(witness, path)
    try:
        person_journal = PersonJournal.open(path, now=time.time(), clock=time.time, witness=rollback_guard)
    except JournalInUseError as error:
        other = f"if {party!r} is another person, give it a journal of its own"
        reason = f"{error.reason}; or {other}: --journal FILE, or a folder for one each"
        raise JournalError(reason, path=str(path)) from None
    with person_journal as journal:
        yield journal


def check_free(path: Path | None, *, party: str, is_simulation: bool, witness: Path | None = None) -> None:
    """Raise JournalError if another process has a person's journal; one that is not there yet is not made.

    The arguments are those of `open_journal`.
    """
    if not is_simulation and journal_file(path, party=party).exists():
        with open_journal(path, party=party, is_simulation=False, witness=witness):
            pass
