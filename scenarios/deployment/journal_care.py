"""Back up and restore a person's or a host's journal, and free its idle room.

The rule that holds here: no two files are one party's ledger, and no loss is forgotten without its owner's word.
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
"""What a person says who restores a backup."""


def back_up(path: Path, target: Path, *, witness: RollbackGuard | None = None) -> int:
    """Write a backup of a journal, which may be in use, and return how many records are in it.

    Args:
        target: a new file. It is not used as a journal before it was restored.

    Raises:
        JournalError: one of them cannot be read or written, or the journal is a backup itself.
    """
    contents = read_own(path, kind=OF_PARTIES, witness=witness)
    check_usable(contents.about, path)
    copy_journal(path, target, backup_of=int(time.time()))
    return len(read_journal(target, kind=OF_PARTIES).rows)


def restore(
    source: Path, path: Path, *, accepts_unknown_losses: bool, witness: RollbackGuard | None = None
) -> Path | None:
    """Put a backup in a journal's place, where the journal is lost.

    Args:
        source: the backup, or a copy of the journal's file.
        accepts_unknown_losses: whether the person takes on what that means.

    Returns:
        What was there before, under its new name; None where nothing was.

    Raises:
        ConfigurationError: the person has not accepted it.
        JournalError: the journal is not lost, or one of the files cannot be read or written.
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
    """Free the room that sessions hold which their owner will not go on with, and return how many they are.

    Whoever joins one again reserves anew, and sends the reports that were drawn.

    Args:
        session: the sessions' name, or the id of one.
        now: the time in seconds since 1970.

    Raises:
        ConfigurationError: no session of this name or id holds room.
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
    """Raise JournalError if there is a journal that can be used."""
    try:
        journal, rows = JournalFile.open(path, OF_PARTIES, may_be_backup=True, witness=witness)
    except JournalError:
        return  # or it is in use, and whoever takes its place is told
    journal.close()
    if not journal.about.backup_of:
        reason = f"is there, with {len(rows)} records, and is as it was left: there is nothing to restore"
        raise JournalError(reason, path=str(journal.path))
