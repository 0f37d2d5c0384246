"""A journal's witness: an older copy of the whole folder, which agrees with itself, is found from outside it."""

import shutil
import stat
from pathlib import Path

import platformdirs
import pytest
from journal_child import ABOUT, row
from psephos.agents.journal_file import JournalFile, copy_journal, install_journal, read_own
from psephos.agents.journal_format import About, Head, lock_file_of, read_journal
from psephos.agents.rollback_guard import HeadFile, RollbackGuard
from psephos.protocol.errors import ConfigurationError, JournalError
from psephos.scenarios.deployment.journals import HOST_FILE, default_journal, witness_of

NAME = "journal.sqlite3"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journals" / NAME


@pytest.fixture
def witness(tmp_path: Path) -> RollbackGuard:
    return RollbackGuard(tmp_path / "witness")


def add(path: Path, count: int, witness: RollbackGuard | None) -> None:
    """Let a process add rows to a journal, made if it is not there."""
    journal, rows = JournalFile.open(path, ABOUT, witness=witness)
    with journal:
        journal.append([row(len(rows) + number) for number in range(count)])


def num_rows(path: Path, witness: RollbackGuard | None) -> int:
    journal, rows = JournalFile.open(path, ABOUT, witness=witness)
    journal.close()
    assert read_own(path, kind=ABOUT.kind, witness=witness).rows == rows
    return len(rows)


def refused(path: Path, witness: RollbackGuard) -> str:
    """Return why a journal is refused, to its owner and to a reader alike."""
    with pytest.raises(JournalError) as caught:
        JournalFile.open(path, ABOUT, witness=witness)
    if path.exists():
        with pytest.raises(JournalError) as read:
            read_own(path, kind=ABOUT.kind, witness=witness)
        assert read.value.reason == caught.value.reason
    return caught.value.reason


def restore_folder(snapshot: Path, folder: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(snapshot, folder)


@pytest.mark.parametrize("lock", ["older", "zeroed", "gone"])
@pytest.mark.parametrize("num_since", [1, 3])
def test_an_older_copy_of_the_whole_folder_is_refused(
    path: Path, witness: RollbackGuard, tmp_path: Path, lock: str, num_since: int
) -> None:
    add(path, 2, witness)
    snapshot = tmp_path / "snapshot"
    shutil.copytree(path.parent, snapshot)
    for _ in range(num_since):
        add(path, 1, witness)
    restore_folder(snapshot, path.parent)
    if lock == "zeroed":
        lock_file_of(path).write_bytes(bytes(256))
    elif lock == "gone":
        lock_file_of(path).unlink()
    told = f"(as {witness.file_of(path)} tells)"
    expected = f"has 2 records, and had {2 + num_since} {told}: it was cut short, or is an older copy"
    assert refused(path, witness).startswith(expected if lock == "older" else "has 2 records, and nothing in")
    if lock == "older":
        assert num_rows(path, None) == 2  # without a witness nobody can tell
    else:
        with pytest.raises(JournalError, match="has 2 records, and nothing in"):
            JournalFile.open(path, ABOUT)


def test_a_folder_that_is_gone_is_missed_until_somebody_accepts_that(path: Path, witness: RollbackGuard) -> None:
    add(path, 3, witness)
    shutil.rmtree(path.parent)
    said = refused(path, witness)
    assert said.startswith("is gone, and had 3 records. Put it back, or restore a backup with")
    told = witness.file_of(path)
    assert said.endswith(f"removes {told}, and begins anew")
    path.parent.mkdir(exist_ok=True)
    told.unlink()
    assert num_rows(path, witness) == 0


def test_of_two_copies_on_one_machine_the_first_to_go_on_is_the_journal(
    path: Path, witness: RollbackGuard, tmp_path: Path
) -> None:
    add(path, 2, witness)
    other = tmp_path / "other" / NAME
    shutil.copytree(path.parent, other.parent)
    assert num_rows(other, witness) == 2
    add(other, 1, witness)
    assert refused(path, witness).startswith("has 2 records, and had 3")
    add(other, 1, witness)
    assert num_rows(other, witness) == 4


def test_a_folder_that_is_moved_goes_on(path: Path, witness: RollbackGuard, tmp_path: Path) -> None:
    add(path, 2, witness)
    moved = tmp_path / "moved" / NAME
    path.parent.rename(moved.parent)
    add(moved, 2, witness)
    assert num_rows(moved, witness) == 4


def test_a_key_knows_a_journal_wherever_it_is_and_one_process_has_it(path: Path, tmp_path: Path) -> None:
    """As that of a server's session: a copy of its folder does not go on beside it, or after it."""
    witness = RollbackGuard(tmp_path / "witness", "session 1")
    add(path, 1, witness)
    copy = tmp_path / "copy" / NAME
    shutil.copytree(path.parent, copy.parent)
    journal, _ = JournalFile.open(path, ABOUT, witness=witness)
    with journal, pytest.raises(JournalError, match="is in use by process"):
        JournalFile.open(copy, ABOUT, witness=witness)
    add(path, 1, witness)
    assert refused(copy, witness).startswith("has 1 records, and had 2")
    shutil.rmtree(copy.parent)
    shutil.rmtree(path.parent)
    assert refused(path, witness).startswith("is gone, and had 2 records")
    add(path, 1, RollbackGuard(witness.folder, "session 2"))  # another one in the same place


def test_sessions_that_begin_alike_are_not_taken_for_each_other(tmp_path: Path) -> None:
    """Of two servers that ask the same parties, the first rows are equal, and each may be started again."""
    for number, (session, count) in enumerate((("1", 4), ("2", 1), ("1", 1), ("2", 2))):
        witness = RollbackGuard(tmp_path / "witness", f"session {session}")
        about = About(kind="session", configuration={"session id": session})
        journal, rows = JournalFile.open(tmp_path / session / NAME, about, witness=witness)
        with journal:
            assert len(rows) == (0, 0, 4, 1)[number]
            journal.append([row(len(rows) + place) for place in range(count)])


def test_a_backup_in_the_place_of_a_lost_journal_counts_from_then_on(
    path: Path, witness: RollbackGuard, tmp_path: Path
) -> None:
    add(path, 2, witness)
    backup = tmp_path / "backup"
    copy_journal(path, backup, backup_of=7)
    add(path, 1, witness)
    assert len(read_own(backup, kind=ABOUT.kind, witness=witness).rows) == 2  # nobody goes on with it
    elsewhere = tmp_path / "elsewhere" / NAME
    path.parent.rename(elsewhere.parent)  # and goes on there
    add(elsewhere, 1, witness)
    install_journal(backup, path, kind=ABOUT.kind, witness=witness, backup_of=0)
    assert num_rows(path, witness) == 2
    add(path, 5, witness)
    assert num_rows(path, witness) == 7


def test_a_witness_that_tells_nothing_or_less_keeps_nobody_out(path: Path, witness: RollbackGuard) -> None:
    """As on another machine, or after a kill between a commit and what tells of it."""
    add(path, 2, witness)
    told = witness.file_of(path)
    before = told.read_bytes()
    add(path, 1, witness)
    for said in (before, b"", bytes(256)):
        told.write_bytes(said)
        assert num_rows(path, witness) == 3
    assert str(path) in told.read_text() or told.stat().st_size == 256


def test_what_is_told_is_never_newer_than_the_journal(
    path: Path, witness: RollbackGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(path, 1, witness)
    write = HeadFile.write

    def check(file: HeadFile, head: Head, *, of: str = "") -> None:
        write(file, head, of=of)
        assert file.head is not None
        read_journal(path, kind=ABOUT.kind).check(head, path)

    monkeypatch.setattr(HeadFile, "write", check)
    journal, _ = JournalFile.open(path, ABOUT, witness=witness)
    with journal:
        journal.append([row(1)])


def test_a_commit_counts_though_nobody_can_tell_of_it(
    path: Path, witness: RollbackGuard, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(path, 1, witness)
    journal, _ = JournalFile.open(path, ABOUT, witness=witness)
    with journal:
        monkeypatch.setattr(HeadFile, "write", _fail)
        journal.append([row(1)])
    monkeypatch.undo()
    assert num_rows(path, witness) == 2


def _fail(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_witness_that_cannot_be_is_named_with_what_helps(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(JournalError, match=r"can have no witness in .*/file/witness.*: name another folder"):
        JournalFile.open(path, ABOUT, witness=RollbackGuard(tmp_path / "file" / "witness"))
    planted = RollbackGuard(tmp_path / "witness")
    planted.folder.mkdir()
    planted.file_of(path).symlink_to(tmp_path / "target")
    with pytest.raises(JournalError, match="can have no witness"):
        JournalFile.open(path, ABOUT, witness=planted)
    assert not (tmp_path / "target").exists()
    planted.folder.chmod(0o777)
    with pytest.raises(JournalError, match=r"can have no witness in .*: name a folder of one's own, to which nobody"):
        JournalFile.open(path, ABOUT, witness=planted)
    for folder in (path.parent, path.parent / "within"):
        with pytest.raises(ConfigurationError, match=r"--witness (is|are) .*another folder than the journal's"):
            witness_of(folder, path)


@pytest.mark.parametrize("where", ["state", "state/of ann", "data", "data/of ann", "elsewhere"])
@pytest.mark.parametrize("name", ["journal.sqlite", HOST_FILE])
def test_wherever_a_journal_is_its_witness_is_in_no_folder_that_an_older_copy_takes_back(where: str, name: str) -> None:
    known = {"state": platformdirs.user_state_path, "data": platformdirs.user_data_path}
    place, _, below = where.partition("/")
    of_user = known[place]("psephos", appauthor=False) if place in known else Path(place)
    journal = (of_user / below / name).absolute()
    assert (default_journal() == journal) == (where == "state" and name == "journal.sqlite")
    told = witness_of(None, journal).folder
    assert told.is_absolute()
    assert not told.is_relative_to(journal.parent)


def test_what_is_restored_changes_nothing_that_is_told_of_others(
    path: Path, witness: RollbackGuard, tmp_path: Path
) -> None:
    others = [tmp_path / name / NAME for name in ("first", "second")]
    for number, other in enumerate(others):
        journal, _ = JournalFile.open(other, About(kind=ABOUT.kind), witness=witness)
        with journal:
            journal.append([row(100 + number)])
    add(path, 2, witness)
    told = {other: witness.file_of(other).read_bytes() for other in others}
    copy_journal(path, tmp_path / "backup", backup_of=1)
    install_journal(tmp_path / "backup", tmp_path / "elsewhere" / NAME, kind=ABOUT.kind, witness=witness, backup_of=0)
    assert {other: witness.file_of(other).read_bytes() for other in others} == told


def test_journals_of_others_do_not_matter(path: Path, witness: RollbackGuard, tmp_path: Path) -> None:
    other = tmp_path / "other" / NAME
    journal, _ = JournalFile.open(other, About(kind=ABOUT.kind), witness=witness)
    with journal:
        journal.append([row(number) for number in range(100, 110)])
    add(path, 1, witness)
    assert (num_rows(path, witness), num_rows(other, witness)) == (1, 10)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (witness.folder, *witness.folder.iterdir())]
    assert modes == [0o700, 0o600, 0o600]
