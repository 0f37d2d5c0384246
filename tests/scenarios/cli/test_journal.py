"""A person's journal on the command line: what it shows, and what becomes of it where it is copied, lost or moved."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from bad_input import Psephos
from journal_sessions import HELD, NOW, REPORT, SESSIONS, SPENT, session_of
from psephos.agents.host_journal import HostJournal
from psephos.agents.journal_format import lock_file_of, read_journal
from psephos.agents.person_journal import PERSON, PersonJournal
from psephos.agents.session_journal import SessionJournal
from psephos.protocol.errors import JournalError
from psephos.protocol.privacy import Budget
from psephos.protocol.records import SessionEnded
from psephos.scenarios.deployment.keys import stem_of

KILLED = """
import os, signal, sys
from pathlib import Path
from psephos.agents.person_journal import PersonJournal
journal = PersonJournal.open(Path(sys.argv[1]), now=0)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The journal of a person who took part in four sessions, where the variable says."""
    path = tmp_path / "own" / "journal.sqlite"
    with PersonJournal.open(path, now=NOW) as journal:
        for session_id, records in SESSIONS.items():
            journal.sitting(session_id).keep(records)
    monkeypatch.setenv("PSEPHOS_JOURNAL", str(path))
    return path


def spent_in(path: Path) -> tuple[float, float]:
    with PersonJournal.open(path, now=NOW) as journal:
        ledger = journal.ledger("me", Budget(epsilon=100.0))
        return ledger.spent, ledger.reserved


def refused(psephos: Psephos, *words: object) -> str:
    """Return the one line with which a command is refused, and status 2."""
    refusal = psephos(*words).refusal
    return refusal.removeprefix("psephos: ").rstrip("\n")


def test_the_ledger_shows_every_session_and_its_room(psephos: Psephos, path: Path) -> None:
    assert spent_in(path) == (SPENT, HELD)
    ended = psephos("ledger")
    assert (ended.status, ended.err) == (0, "")
    rows = [line.split() for line in ended.out.splitlines()]
    for row in (
        ["heard", "Germany", "released", "1", "of", "2", "0.75", "0"],
        ["under-way", "DE", "under", "way", "1", "of", "1", "1", "2"],
        ["failed", "Germany", "left", "1", "of", "1", "0.125", "0"],
        ["expired", "Germany", "expired", "1", "of", "1", "0.0625", "0"],
    ):
        assert row in rows
    assert "reserved by sessions under way: ε = 2" in ended.out
    assert f"Germany, DE in all: ε proven = {SPENT:g}" in ended.out
    assert psephos("ledger", path).out == ended.out
    assert "at δ = 1e-06" in psephos("ledger", "--delta", "1e-6").out
    assert psephos("ledger", "--json").out.count("\n") == 5


def test_the_ledger_is_shown_while_a_process_has_it_and_after_one_was_killed(psephos: Psephos, path: Path) -> None:
    shown = psephos("ledger").out
    with PersonJournal.open(path, now=NOW):
        assert psephos("ledger").out == shown
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)  # noqa: S603  our own
    assert killed.returncode < 0
    assert psephos("ledger").out == shown


def test_a_folder_has_a_journal_for_each_name(psephos: Psephos, path: Path) -> None:
    for file in (path, lock_file_of(path)):
        shutil.copy(file, path.with_name(file.name.replace("journal", stem_of("Germany"))))
    assert psephos("ledger", path.parent, "--party", "Germany").out == psephos("ledger", path).out
    assert refused(psephos, "ledger", path.parent, "--party", "France").startswith("RUN: There is no ")


def test_a_journal_without_reports_has_an_empty_ledger(psephos: Psephos, tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    with PersonJournal.open(path, now=NOW) as journal:
        journal.sitting("id-1").keep(session_of("begun", 1.0, 2.0, num_drawn=0))
    said = psephos("ledger", path).out
    assert "reserved by sessions under way: ε = 3" in said
    assert said.endswith("the ledger is empty: nothing was reported\n")


def test_a_backup_is_made_while_a_process_has_the_journal(psephos: Psephos, path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.sqlite"
    with PersonJournal.open(path, now=NOW):
        ended = psephos("journal", "backup", backup)
    num_records = sum(map(len, SESSIONS.values()))
    assert (ended.status, ended.out) == (0, f"{backup}: {num_records} records, as of now\n")
    assert "a backup of " in psephos("ledger", backup).out
    assert refused(psephos, "journal", "backup", backup).endswith("is there already, or was: name a new file")
    with pytest.raises(JournalError, match="is a backup, which may not know all losses"):
        PersonJournal.open(backup, now=NOW)
    again = tmp_path / "again.sqlite"
    assert "is a backup" in refused(psephos, "journal", "backup", again, "--journal", backup)
    assert not again.exists()


def test_a_backup_is_restored_with_the_persons_word_alone(psephos: Psephos, path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.sqlite"
    with PersonJournal.open(path, now=NOW) as journal:
        journal.sitting("id-begun").keep(session_of("begun", num_drawn=0))
    psephos("journal", "backup", backup)
    with PersonJournal.open(path, now=NOW) as journal:
        journal.sitting("id-later").keep(session_of("later", 16.0, 16.0, num_drawn=2))
    accept = "--accept-unknown-losses"
    said = refused(psephos, "journal", "restore", backup, accept)
    assert said.endswith("and is as it was left: there is nothing to restore")
    path.unlink()
    assert "is gone, and had" in refused(psephos, "journal", "leave", "nothing")
    said = refused(psephos, "journal", "restore", backup)
    assert re.match(
        rf"give {accept}: this backup is of 20\d\d-\d\d-\d\d \d\d:\d\d UTC, and what was lost since then is "
        "unknown. The budget then holds without it, and no session that is in the backup can be joined again",
        said,
    )
    assert not path.exists()
    ended = psephos("journal", "restore", backup, accept)
    assert (ended.status, ended.out) == (0, f"{path}: restored; losses after the backup are unknown\n")
    assert spent_in(path) == (SPENT, HELD)
    assert "restored from a backup of 20" in psephos("ledger").out
    with PersonJournal.open(path, now=NOW) as journal:
        for session_id in (*SESSIONS, "id-begun"):
            with pytest.raises(JournalError, match="was restored from a backup"):
                journal.sitting(session_id)
        journal.sitting("id-new").keep(session_of("new", 1.0, 1.0, num_drawn=2))
    with PersonJournal.open(path, now=NOW) as journal:
        assert len(journal.sitting("id-new").records) == 4


def test_a_damaged_journal_stays_beside_the_backup_that_takes_its_place(
    psephos: Psephos, path: Path, tmp_path: Path
) -> None:
    """A copy that something else made of the file does as well; nobody knows from when it is."""
    copy = tmp_path / "copy.sqlite"
    shutil.copy(path, copy)
    content = bytearray(path.read_bytes())
    content[content.index(REPORT)] ^= 1
    path.write_bytes(content)
    assert "is damaged, since " in refused(psephos, "ledger")
    assert "of a time that nobody knows" in refused(psephos, "journal", "restore", copy)
    ended = psephos("journal", "restore", copy, "--accept-unknown-losses")
    aside = path.with_name("journal.sqlite.before-1")
    assert ended.out.splitlines()[1] == f"{aside}: what was there before"
    assert aside.read_bytes() == content
    assert spent_in(path) == (SPENT, HELD)


def test_room_that_nobody_needs_is_freed_and_reserved_again_on_coming_back(psephos: Psephos, path: Path) -> None:
    ended = psephos("journal", "leave", "under-way")
    assert (ended.status, ended.out) == (0, f"{path}: session under-way holds no room any more\n")
    assert spent_in(path) == (SPENT, 0.0)
    for session in ("under-way", "heard", "nothing"):
        said = refused(psephos, "journal", "leave", session)
        assert said == f"SESSION: There is nothing reserved for {session!r}. Something is reserved for: no session."
    with PersonJournal.open(path, now=NOW) as journal:
        sitting = journal.sitting("id-under-way")
        assert list(sitting.records)[:-1] == SESSIONS["id-under-way"]
        sitting.keep(SESSIONS["id-under-way"][:1])
        assert journal.ledger("me", Budget(epsilon=100.0)).reserved == HELD + 1.0
    assert psephos("journal", "leave", "id-under-way").status == 0
    assert spent_in(path) == (SPENT, 0.0)


@pytest.mark.bad_input("a journal that is missing, damaged, not a person's, in use, moved, or a backup")
def test_a_journal_that_cannot_be_used_is_named_in_one_line(psephos: Psephos, path: Path, tmp_path: Path) -> None:
    nothing, text, session = tmp_path / "nothing", tmp_path / "text", tmp_path / "session"
    text.write_text("Dear diary", encoding="utf-8")
    SessionJournal.open(session, configuration={}).close()
    out = tmp_path / "out.sqlite"
    for command in (("leave", "nothing"), ("backup", out)):
        for file, reason in (
            (nothing, "does not exist"),
            (tmp_path, "is a folder: name a file"),
            (text, "is "),
            (session, "is that of a session, not of a person or a host"),
        ):
            said = refused(psephos, "journal", *command, "--journal", file)
            assert said.startswith(f"the journal {file} {reason}")
            assert not out.exists()
            assert not lock_file_of(nothing).exists()
    with PersonJournal.open(path, now=NOW):
        said = refused(psephos, "journal", "leave", "nothing")
        assert said == f"the journal {path} is in use by process {os.getpid()}: wait until that has ended"
    for missing in ("nothing.sqlite", "no/such/folder.sqlite"):
        said = f"the journal {Path(missing).resolve()} does not exist: check its name and folder"
        assert refused(psephos, "ledger", missing) == said
    assert refused(psephos, "ledger", "nothing").startswith("RUN: There is no ")
    for words in (("ledger", text), ("journal", "restore", text), ("journal", "restore", nothing)):
        refused(psephos, *words)
    assert read_journal(path, kind=PERSON).rows
    assert (
        refused(psephos, "ledger", session) == f"the journal {session} is that of a session, not of a person or a host"
    )


@pytest.mark.parametrize("order", [(1.0, 2.0, 4.0), (4.0, 2.0, 1.0), (2.0, 4.0, 1.0)])
def test_of_what_a_hosts_parties_have_reserved_and_lost_the_most_is_said(
    psephos: Psephos, tmp_path: Path, order: tuple[float, ...]
) -> None:
    with HostJournal.open(tmp_path / "host.sqlite", now=NOW, clock=lambda: NOW) as journal:
        for party, held in zip(("ann", "bob", "cid"), order, strict=True):
            records = session_of("under-way", held / 4, held, num_drawn=1, party=party)
            journal.person_journal(party).sitting("id-under-way").keep(records)
    said = psephos("ledger", tmp_path / "host.sqlite").out
    assert "reserved by sessions under way: ε = 4 of each party at most" in said
    assert "each of 3 at most: ε proven = 1" in said


def test_a_hosts_journal_is_cared_for_and_shown_as_a_persons_is(
    psephos: Psephos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses of its parties stay each party's own, and what a backup does not know each party may not join again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PSEPHOS_JOURNAL")
    folder = tmp_path / "state" / "psephos"
    path, backup, accept = folder / "host.sqlite", tmp_path / "backup.sqlite", "--accept-unknown-losses"
    parties = ("ann", "bob", "cid", "dan")
    with HostJournal.open(path, now=NOW, clock=lambda: NOW) as journal:
        for party in parties:
            own = journal.person_journal(party)
            own.sitting("id-heard").keep([*session_of("heard", 0.5, 0.25, num_drawn=2, party=party), SessionEnded()])
            own.sitting("id-under-way").keep(session_of("under-way", 1.0, 2.0, num_drawn=1, party=party))

    shown = psephos("ledger", folder)
    assert (shown.status, shown.err) == (0, "")
    rows = [line.split() for line in shown.out.splitlines()]
    assert ["heard", "4", "parties", "released", "1", "of", "2", "0.75", "0"] in rows
    assert "reserved by sessions under way: ε = 2 of each party at most" in shown.out
    assert "each of 4 at most: ε proven = 1.75" in shown.out
    alone = psephos("ledger", path, "--party", "bob").out
    assert "bob in all: ε proven = 1.75" in alone
    assert "ann" not in alone
    assert "use a party with a session" in refused(psephos, "ledger", folder, "--party", "eve")

    assert psephos("journal", "backup", backup, "--journal", path).out.endswith(": 32 records, as of now\n")
    assert psephos("journal", "leave", "under-way", "--journal", path).status == 0
    assert "reserved by sessions under way: ε = 0" in psephos("ledger", folder).out
    assert "there is nothing to restore" in refused(psephos, "journal", "restore", backup, accept)

    said = refused(psephos, "journal", "restore", backup, accept, "--journal", folder)
    assert said.endswith("is a folder: name a file")

    path.unlink()
    assert psephos("journal", "restore", backup, accept).out.startswith(f"{path}: restored")
    with HostJournal.open(path, now=NOW, clock=lambda: NOW) as journal:
        for party in parties:
            own = journal.person_journal(party)
            with pytest.raises(JournalError, match="was restored from a backup"):
                own.sitting("id-under-way")
            own.sitting("id-new").keep(session_of("new", 1.0, num_drawn=1, party=party))
    with HostJournal.open(path, now=NOW, clock=lambda: NOW) as journal:
        assert [len(journal.person_journal(party).sitting("id-new").records) for party in parties] == [3] * 4
