"""What a killed process or a full disk leaves of a journal: each state has a way out, which is named.

A process is killed before each of its calls that change a file, by the system or by SQLite, whose transactions are
whole or are not (`agents/test_journal_file.py` kills within them). Then its owner does what psephos says, and no more.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import journal_care_child
import pytest
from journal_sessions import NOW
from psephos.agents.host_journal import HostJournal
from psephos.agents.journal_file import copy_journal
from psephos.agents.person_journal import PersonJournal, PersonSession
from psephos.agents.session_journal import SessionJournal
from psephos.protocol.errors import JournalError
from psephos.protocol.records import PhaseOpened, Reserved
from psephos.scenarios.deployment.journal_care import back_up, restore
from small_disks import small_disk
from thoroughness import IS_FULL, draws

ACTS: Final = ("open", "backup", "restore", "restore here", "leave")
HELPS: Final = re.compile(
    "`psephos journal restore|: name a new file$|disk is full. Make room|No space left|File too large|disk I/O error"
)
ACCEPT: Final = "--accept-unknown-losses"
OPENED: Final = "psephos: SESSION: There is nothing reserved for "
"""Is said of a journal that can be used."""
PUT_BACK: Final = re.compile(r"`psephos journal restore( \S+)?`")


def check_all(*words: object, acts: Sequence[str] = ACTS) -> None:
    """Check what a process says that cuts off each act, or lets it run out of room (`journal_care_child`)."""
    command = [sys.executable, journal_care_child.__file__, *map(str, words), *acts]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own
    assert ended.returncode == 0, ended.stderr
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    for each in told:
        assert all(map(HELPS.search, each["said"])), each
        assert (each["ends"], each["spent"]) == ("well", each["expected"]), each
    for act in acts:
        first, *_, last = (each for each in told if each["act"] == act)
        assert first["is_killed"] or first["failed"]
        assert (last["is_killed"], last["failed"]) == (False, False)


def test_whoever_is_killed_at_any_call_has_a_way_on(tmp_path: Path) -> None:
    check_all("killed", tmp_path, draws(30, full=1))


def test_whoever_may_write_so_much_to_a_file_and_no_more_has_a_way_on(tmp_path: Path) -> None:
    check_all("limited", tmp_path, draws(48, full=1))


def test_whoever_has_so_much_room_and_no_more_has_a_way_on(tmp_path: Path) -> None:
    """On a disk of its own: a journal was once made whose last pages had found no room as it was closed."""
    with small_disk(tmp_path, "1m") as small:
        check_all("full", small, 1, acts=ACTS if IS_FULL else ACTS[:2])


SOURCES: dict[str, Callable[[Path, Path], object]] = {
    "a backup": back_up,
    "a copy of the file": shutil.copyfile,
    "a copy without its lock": copy_journal,
}


@pytest.mark.parametrize("how", SOURCES)
@pytest.mark.parametrize("is_hosts", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_whatever_a_journal_was_restored_from_no_session_in_it_is_joined_again(
    tmp_path: Path, how: str, times: int, *, is_hosts: bool
) -> None:
    """Nor after another restoration, or when new sessions have been kept: a report may have been drawn meanwhile."""
    path, source = tmp_path / "journal.sqlite", tmp_path / "source.sqlite"

    def sit(session_id: str) -> PersonSession:
        with contextlib.ExitStack() as opened:
            if is_hosts:
                host = opened.enter_context(HostJournal.open(path, now=NOW, clock=lambda: NOW))
                return kept_in(host.person_journal("ann"), session_id)
            return kept_in(opened.enter_context(PersonJournal.open(path, now=NOW)), session_id)

    def kept_in(journal: PersonJournal, session_id: str) -> PersonSession:
        sitting = journal.sitting(session_id)
        if not sitting.records:
            sitting.keep([Reserved(party="ann", session="vote", protocol="dpwevote", expires=0, entries=(), terms="")])
        return sitting

    known = [f"session {number}" for number in range(3)]
    for session_id in known:
        sit(session_id)
    for time in range(times):
        source.unlink(missing_ok=True)
        SOURCES[how](path, source)
        for file in tmp_path.glob("journal.sqlite*"):
            file.unlink()
        restore(source, path, accepts_unknown_losses=True)
        for session_id in known:
            with pytest.raises(JournalError, match=f"session {session_id} may have gone on"):
                sit(session_id)
        for number in range(2):  # and another process
            assert sit(f"new {time} {number}").records
        known += [f"new {time} {number}" for number in range(2)] * (time + 1 < times)
    for session_id in known:
        with pytest.raises(JournalError, match="may have gone on"):
            sit(session_id)


def test_a_servers_journal_that_is_damaged_or_gone_is_not_to_be_restored_from_a_backup(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with SessionJournal.open(path, configuration={"session id": "1"}) as journal:
        journal.keep([PhaseOpened(0, (0,))])
    for change in (lambda: os.truncate(path, 5000), path.unlink):
        change()
        with pytest.raises(JournalError) as caught:
            SessionJournal.open(path, configuration={"session id": "1"})
        assert caught.value.reason.endswith(
            "put the newest copy of its folder back, or draw up the session anew with `psephos roster`"
        )
