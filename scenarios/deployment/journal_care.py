"""Back up and restore a person's or a host's journal, and release reserved budget.

Invariants: two files are never one party's ledger, and no loss is forgotten without its owner's consent.
"""

import time
from pathlib import Path
from typing import Final

from ...agents.host_journal import OF_PARTIES, id_of
from ...agents.journal_file import JournalFile, copy_journal, install_journal, read_own
from ...agents.journal_format import check_usable, read_journal
from ...agents.person_journal import row_of, sessions_of
from ...agents.rollback_guard import RollbackGuard
from ...protocol.errors import ConfigurationError, JournalError, join_names, require
from ...protocol.records import SessionEnded
from .common import utc

ACCEPT_OPTION: Final = "--accept-unknown-losses"
"""The option by which a person consents to restoring a backup."""


def back_up(path: Path, target: Path, *, witness: RollbackGuard | None = None) -> int:
    """Write a backup of a journal, which may be in use, and return its number of records.

    Args:
        target: a new file, which is not a journal until it is restored.

    Raises:
        JournalError: a file cannot be read or written, or the journal is itself a backup.
    """
    contents = read_own(path, kind=OF_PARTIES, witness=witness)
    check_usable(contents.about, path)
    copy_journal(path, target, backup_of=int(time.time()))
    return len(read_journal(target, kind=OF_PARTIES).rows)


def restore(
    source: Path, path: Path, *, accepts_unknown_losses: bool, witness: RollbackGuard | None = None
) -> Path | None:
    """Replace a lost journal by its backup.

    Args:
        source: the backup, or a copy of the journal's file.
        accepts_unknown_losses: whether the person consents to losses after the backup being unknown.

    Returns:
        The new name of a previous file; None if there was none.

    Raises:
        ConfigurationError: the person does not consent.
        JournalError: the journal is not lost, or a file cannot be read or written.
    """
    contents = read_journal(source, kind=OF_PARTIES, is_copy=True)
    _check_lost(path, witness)
    journal_facts = contents.about
    if not accepts_unknown_losses:
        age = f"of {utc(journal_facts.backup_of)}" if journal_facts.backup_of else "of a time that nobody knows"
        allowed = (
            f"given: this backup is {age}, and what was lost since then is unknown. The budget then holds without it, "
            "and no session that is in the backup can be joined again"
        )
        raise ConfigurationError(field=ACCEPT_OPTION, value="left out", allowed=allowed)
    changes = {"unsure_rows": len(contents.rows), "unsure_since": journal_facts.backup_of, "backup_of": 0}
    return install_journal(source, path, kind=OF_PARTIES, witness=witness, **changes)


def leave(path: Path, session: str, *, now: float, witness: RollbackGuard | None = None) -> int:
    """Release the budget that unfinished sessions have reserved, and return their number.

    Joining such a session again reserves its budget again, and sends the reports that were already drawn.

    Args:
        session: the name of the sessions, or the id of one.
        now: the current time, in seconds since 1970.

    Raises:
        ConfigurationError: no session of this name or id has reserved budget.
        JournalError: the journal is in use, or cannot be read or written.
    """
    journal, rows = JournalFile.open(path, OF_PARTIES, witness=witness)
    with journal:
        holding = [each for each in sessions_of(rows, journal.path).values() if each.held_entries(now)]
        names = {each.session_id: each.first.session for each in holding if each.first is not None}
        given_up = [
            session_id for session_id, name in names.items() if session in {session_id, id_of(session_id), name}
        ]
        holders = join_names([*dict.fromkeys(names.values())]) or "no session"
        allowed = f"There is nothing reserved for {session!r}. Something is reserved for: {holders}."
        require(given_up, "SESSION", session, allowed)
        journal.append([row_of(session_id, SessionEnded("its owner gave it up")) for session_id in given_up])
    return len(given_up)


def _check_lost(path: Path, witness: RollbackGuard | None) -> None:
    """Raise JournalError if there is a usable journal."""
    try:
        journal, rows = JournalFile.open(path, OF_PARTIES, may_be_backup=True, witness=witness)
    except JournalError:
        return  # a journal in use is reported when it is replaced
    journal.close()
    if not journal.about.backup_of:
        reason = f"is there, with {len(rows)} records, and is as it was left: there is nothing to restore"
        raise JournalError(reason, path=str(journal.path))
