"""Locate and open journals of persons and hosts, and their rollback guards."""

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
"""File name of a host's journal."""


def default_journal(*, like: Path | None = None) -> Path:
    """Return the path of the system user's journal; a user is one person under all names.

    Args:
        like: another journal; if it is a host's, return the path of the user's host journal.

    Raises:
        JournalError: the other journal cannot be read.
    """
    is_host = like is not None and read_journal(like, kind=OF_PARTIES, is_copy=True).about.kind == HOST
    return _state() / (HOST_FILE if is_host else "journal.sqlite")


def _state() -> Path:
    return platformdirs.user_state_path("psephos", appauthor=False)


def witness_of(path: Path | None, journal: Path, *, key: str = "") -> RollbackGuard:
    """Return a journal's rollback guard, which records the journal's length outside its folder.

    Args:
        path: the guard's folder; by default the user's folder for state, or that for data if the journal is in the
            former.
        key: identifies the journal independently of its location; by default its path.

    Raises:
        ConfigurationError: the folder is that of the journal.
    """
    if path is not None:
        is_own = path.resolve().is_relative_to(journal.resolve().parent)
        refuse(is_own, "--witness", str(path), "another folder than the journal's, which an older copy would take back")
        return RollbackGuard(path.resolve(), key)
    is_in_state = journal.resolve().is_relative_to(_state().resolve())
    folder = platformdirs.user_data_path("psephos", appauthor=False) if is_in_state else _state()
    return RollbackGuard(folder.resolve() / "witness", key)


def journal_file(path_given: Path | None, *, party: str) -> Path:
    """Return the path of a person's journal.

    Args:
        path_given: a file, or a folder with a journal for each name; by default the user's journal.
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
    """Yield a person's journal; None for a simulation, which spends no real privacy.

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
    """Raise JournalError if another process uses a person's journal; a missing journal is not created.

    The arguments are those of `open_journal`.
    """
    if not is_simulation and journal_file(path, party=party).exists():
        with open_journal(path, party=party, is_simulation=False, witness=witness):
            pass
