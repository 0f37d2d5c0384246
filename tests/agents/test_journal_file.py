"""A journal's file under faults: nothing that was kept is lost, nothing half, and nothing is read that was not kept."""

import contextlib
import functools
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import hypothesis
import journal_child
import psephos.agents.journal_format
import pytest
from hypothesis import strategies as st
from journal_child import ABOUT, row
from psephos.agents.journal_file import JournalFile, copy_journal, install_journal
from psephos.agents.journal_format import APPLICATION_ID, About, Contents, lock_file_of, read_journal
from psephos.protocol.errors import JournalError
from small_disks import small_disk
from thoroughness import draws

PAGE = 4096
NOBODY = 65534
NAME = "journal.sqlite3"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journals" / NAME


@pytest.fixture
def child(path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts processes that take steps with the journal (`journal_child`), and ends them."""
    started: list[subprocess.Popen[str]] = []

    def start(*steps: str, before: tuple[str, ...] = (), at: Path = path) -> subprocess.Popen[str]:
        command = [*before, sys.executable, journal_child.__file__, str(at), *steps]
        pipe = subprocess.PIPE
        process = subprocess.Popen(  # noqa: S603  our own
            command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, cwd=Path(__file__).parents[1]
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def kept(path: Path) -> Contents:
    """Return what a journal holds, as its owner finds it, who closes it again."""
    journal, rows = JournalFile.open(path, ABOUT, may_be_backup=True)
    with journal:
        contents = read_journal(path, kind=ABOUT.kind)
        assert contents.rows == rows
        return contents


def fill(path: Path, count: int, *, commits: int = 1) -> None:
    """Make a journal with rows."""
    journal, _ = JournalFile.open(path, ABOUT)
    with journal:
        for commit in range(commits):
            journal.append([row(commit * count + number) for number in range(count)])


def refused(path: Path) -> str:
    """Return why a journal is refused, to its owner and to a reader alike where both are."""
    with pytest.raises(JournalError) as caught:
        JournalFile.open(path, ABOUT)
    assert caught.value.path == str(path.resolve())
    assert str(caught.value).startswith(f"the journal {path.resolve()} ")
    assert "\n" not in str(caught.value)
    return caught.value.reason


def test_what_was_kept_is_there_in_order_and_for_its_owner_alone(path: Path) -> None:
    journal, rows = JournalFile.open(path, ABOUT)
    assert (journal.is_new, rows) == (True, [])
    journal.append([row(0), row(1)])
    journal.append([row(2)])
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == dict.fromkeys((NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}.lock"), 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    journal.close()
    path.chmod(0o644)
    journal, rows = JournalFile.open(path, ABOUT)
    journal.close()
    assert (journal.is_new, rows) == (False, [row(0), row(1), row(2)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_there_is_once_is_refused_twice_and_the_commit_with_it(path: Path) -> None:
    journal, _ = JournalFile.open(path, ABOUT)
    with journal:
        journal.append([row(0)])
        with pytest.raises(JournalError, match="has already what there is once"):
            journal.append([row(1), row(0, size=8)])
        with pytest.raises(JournalError, match="has already"):
            journal.append([row(2), row(2)])
        journal.append([row(1), row(2)])
        repeatable = row(3)._replace(key=None)
        journal.append([repeatable, repeatable])
    assert kept(path).rows == [row(0), row(1), row(2), repeatable, repeatable]


def test_a_second_process_is_told_which_has_it_and_a_reader_reads(
    path: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    holder = child("open", "append 3", "wait")
    assert holder.stdout is not None
    assert [holder.stdout.readline() for _ in range(2)] == ["open 0\n", "kept 3\n"]
    assert refused(path) == f"is in use by process {holder.pid}: wait until that has ended"
    with pytest.raises(JournalError, match=f"is in use by process {holder.pid}"):
        install_journal(path, path, kind="person")
    assert read_journal(path, kind="person").rows == [row(0), row(1), row(2)]
    copy = path.with_name("copy")
    copy_journal(path, copy)
    assert read_journal(copy, kind="person", is_copy=True).rows == [row(0), row(1), row(2)]
    holder.kill()
    holder.wait()
    assert read_journal(path, kind="person").rows == [row(0), row(1), row(2)]
    assert kept(path).rows == [row(0), row(1), row(2)]


def test_one_process_has_it_once_as_well(path: Path) -> None:
    journal, _ = JournalFile.open(path, ABOUT)
    with journal:
        assert refused(path) == f"is in use by process {os.getpid()}: wait until that has ended"
        assert refused(path.parent / ".." / path.parent.name / NAME).startswith("is in use")
    kept(path)


@pytest.mark.parametrize("count", ["1", pytest.param("40", marks=pytest.mark.full("five seconds of commits"))])
def test_a_process_that_is_killed_has_kept_what_it_said_and_nothing_by_halves(
    child: Callable[..., subprocess.Popen[str]], count: str
) -> None:
    times = draws(6, full=150)
    said, _ = child(f"killed {times} {count}").communicate()
    lines = [line.split() for line in said.splitlines()]
    assert [line[0] for line in lines] == ["killed"] * times, said
    before = 0
    for promised, found in ((int(line[1]), int(line[2])) for line in lines):
        assert before <= promised <= found <= promised + int(count)  # whoever is killed may have kept more than it said
        assert found % int(count) == 0
        before = found
    assert before > times


def test_a_disk_that_is_full_keeps_all_or_nothing_and_goes_on_when_there_is_room(
    path: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    """A limit of the process: writes beyond it are short, and then fail."""
    size = 5 * PAGE
    steps = ("open", "append 3", f"limit {size}", "append 300 400", "append 200 400", "limit -1", "append 5", "close")
    said, _ = child(*steps).communicate()
    lines = said.splitlines()
    assert lines[:2] == ["open 0", "kept 3"]
    assert len(lines) == 5
    assert all(line.startswith(f"error the journal {path} cannot be ") for line in lines[2:4])
    assert lines[4] == "kept 8"
    assert kept(path).rows == [row(number) for number in range(8)]


@pytest.mark.few(most=2)
@pytest.mark.parametrize("size", [0, PAGE, 3 * PAGE])
def test_a_journal_that_cannot_be_made_for_want_of_room_is_not_there(
    path: Path, child: Callable[..., subprocess.Popen[str]], size: int
) -> None:
    steps = (f"limit {size}", "open", "limit -1", "open", "append 1", "close")
    said, _ = child(*steps).communicate()
    lines = said.splitlines()
    assert lines[-2:] == ["open 0", "kept 1"] or lines[0] == "open 0"
    assert kept(path).rows == [row(0)]
    assert not list(path.parent.glob("*.new*"))


def test_no_room_for_the_index_of_the_log_is_a_full_disk(
    path: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    """Which SQLite calls SQLITE_IOERR_SHMSIZE."""
    fill(path, 1)
    said, _ = child(f"limit {5 * PAGE}", "open", "limit -1", "open").communicate()
    assert said == f"error the journal {path} cannot be written: the disk is full. Make room, then go on\nopen 1\n"


@pytest.mark.full("a process more, on a disk of its own")
def test_a_file_system_that_is_full(tmp_path: Path, child: Callable[..., subprocess.Popen[str]]) -> None:
    with small_disk(tmp_path, "256k") as small:
        at = small / NAME
        said, _ = child("open", "append 10", at=at).communicate()
        assert said == "open 0\nkept 10\n"
        with (small / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(1024))
        said, _ = child("open", "append 100 400", at=at).communicate()
        assert f"the journal {at} can" in said
        (small / "ballast").unlink()
        assert kept(at).rows == [row(number) for number in range(10)]
        said, _ = child("open", "append 1000 400", "append 10", at=at).communicate()
        assert (
            said
            == f"open 10\nerror the journal {at} cannot be written: the disk is full. Make room, then go on\nkept 20\n"
        )
        assert kept(at).rows == [row(number) for number in range(20)]


def test_a_synchronization_that_fails_ends_the_journal_until_it_is_opened_anew(
    path: Path, child: Callable[..., subprocess.Popen[str]]
) -> None:
    """What was to be synchronized may be on the disk or not, and may not be tried again: the system forgets it."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace, which lets system calls fail")
    fill(path, 2)
    calls = "fsync,fdatasync"
    traced = (strace, "-f", "-qq", "-o", os.devnull, "-e", f"trace={calls}", "-e", f"inject={calls}:error=EIO:when=1+")
    said, _ = child("open", "append 1", "append 1", "close", before=traced).communicate()
    if "PTRACE" in said:
        pytest.skip("may not trace a process here")
    lines = said.splitlines()
    assert lines[0] == "open 2"
    assert "cannot be used: disk I/O error (SQLITE_IOERR_FSYNC)" in lines[1]
    assert "failed before, and is to be opened anew" in lines[2]
    rows = kept(path).rows
    assert rows == [row(number) for number in range(len(rows))]
    assert len(rows) in {2, 3}


class Noting(sqlite3.Connection):
    """A connection that notes, as it is closed, how it has synchronized, and how much it has changed."""

    closed: ClassVar[list[tuple[int, int, int]]] = []

    def close(self) -> None:
        settings = (self.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "fullfsync"))
        self.closed.append((*settings, self.total_changes))
        super().close()


def test_whatever_writes_a_journal_synchronizes_each_commit(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a loss of power takes back commits whose reports have left. By SQLite 2 is FULL; 1 is now and then."""
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, factory=Noting))
    Noting.closed.clear()
    fill(path, 2)
    backup, other = path.with_name("backup"), path.with_name("other")
    copy_journal(path, backup, backup_of=1)
    install_journal(backup, other, kind=ABOUT.kind, backup_of=0)
    journal, _ = JournalFile.open(other, ABOUT)
    with journal:
        journal.append([row(2)])
    writing = [settings for *settings, changes in Noting.closed if changes]
    assert len(writing) >= 4
    assert writing == [[2, 1]] * len(writing)


@pytest.mark.few(most=1)
@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_may_not_be_written_is_refused(child: Callable[..., subprocess.Popen[str]], what: str) -> None:
    """By a user whom rights bind: root may write everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own" / NAME
        fill(path, 2)
        Path(folder).chmod(0o755)
        path.parent.chmod(0o555 if what == "folder" else 0o755)
        if os.geteuid() == 0 and what == "file":
            os.chown(path.parent, NOBODY, NOBODY)
        path.chmod(0o444)
        lock_file_of(path).chmod(0o444 if what == "folder" else 0o666)
        user = (f"user {NOBODY}",) if os.geteuid() == 0 else ()
        said, _ = child(*user, "open", at=path).communicate()
        assert said.startswith(f"error the journal {path} cannot be opened or written: Permission denied")
        path.parent.chmod(0o755)
        os.chown(path.parent, os.geteuid(), os.getegid())
        path.chmod(0o600)
        lock_file_of(path).chmod(0o600)
        assert kept(path).rows == [row(0), row(1)]


def test_a_folder_that_others_may_write_to_is_refused_before_anything_in_it_is_touched(path: Path) -> None:
    """Else a link in a journal's place would have its target's rights changed, and be written to."""
    fill(path, 1)
    target = path.with_name("target")
    target.write_bytes(path.read_bytes())
    target.chmod(0o644)
    path.unlink()
    path.symlink_to(target)
    path.parent.chmod(0o1777)
    with pytest.raises(JournalError, match=r"has to be in a folder of one's own, to which nobody else may write"):
        JournalFile.open(path, ABOUT)
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert set(path.parent.iterdir()) == {path, target, lock_file_of(path)}


def test_a_new_folder_that_may_not_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert refused(tmp_path / "file" / NAME).startswith("cannot be opened or written: ")


def test_a_program_that_has_locked_it_is_in_the_way_for_a_while(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psephos.agents.journal_format, "_SECONDS_TO_WAIT", 0.05)
    journal, _ = JournalFile.open(path, ABOUT)
    with journal, contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="is locked by another program"):
            journal.append([row(0)])
        other.execute("ROLLBACK")
        journal.append([row(0)])
    assert kept(path).rows == [row(0)]


def test_what_is_not_a_journal_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    for content, reason in (
        (b"", "is not a journal: it is no SQLite file"),
        (b"Dear diary, " * 100, "is not a journal: it is no SQLite file"),
        (b"SQLite format 3\x00", "is damaged, since it was cut short"),
    ):
        path.write_bytes(content)
        assert refused(path).startswith(reason)
        assert path.read_bytes() == content
    path.unlink()
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (place TEXT)")
    before = path.read_bytes()
    assert refused(path) == "is not a journal: it is another application's SQLite file"
    with pytest.raises(JournalError, match="another application's"):
        read_journal(path, kind="person")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
    path.unlink()
    path.mkdir()
    assert refused(path) == "is a folder: name a file"
    with pytest.raises(JournalError, match="is a folder"):
        read_journal(path, kind="person")


@pytest.mark.parametrize("version", [0, 3, 5])
def test_another_version_is_named(path: Path, version: int) -> None:
    fill(path, 1)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {version}")
    said = refused(path)
    assert said == f"is of version {version}, and this psephos reads version 4: use the psephos that wrote it"
    with pytest.raises(JournalError, match="use the psephos that wrote it"):
        read_journal(path, kind="person")


def test_another_kind_is_named(path: Path) -> None:
    fill(path, 1)
    with pytest.raises(JournalError, match="is that of a person, not of a session"):
        JournalFile.open(path, About(kind="session"))
    with pytest.raises(JournalError, match="is that of a person, not of a session"):
        read_journal(path, kind="session")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM record WHERE sequence = 2",
        "DELETE FROM record WHERE sequence = 3",
        "DELETE FROM record",
        "UPDATE record SET body = x'00' WHERE sequence = 1",
        "UPDATE record SET body = NULL WHERE sequence = 1",
        "UPDATE record SET key = NULL WHERE sequence = 2",
        "UPDATE record SET session = 'other' WHERE sequence = 2",
        "UPDATE record SET kind = 7 WHERE sequence = 3",
        "UPDATE record SET chain = x'00' WHERE sequence = 3",
        "UPDATE record SET sequence = 4 WHERE sequence = 3",
        "DELETE FROM about",
        "UPDATE about SET digest = body",
        "UPDATE about SET body = NULL",
        "DROP INDEX once",
        "CREATE TABLE more (anything TEXT)",
        "ALTER TABLE record RENAME COLUMN body TO words",
        "PRAGMA application_id = 7",
    ],
)
def test_a_row_that_is_changed_or_missing_is_found(path: Path, statement: str) -> None:
    fill(path, 3)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(statement)
    said = refused(path)
    assert said.startswith(("is damaged, since ", "has 2 records, and had 3", "has 0 records", "is not a journal"))
    with pytest.raises(JournalError):
        read_journal(path, kind="person")


def test_a_journal_that_is_gone_is_missed(path: Path) -> None:
    fill(path, 3)
    path.unlink()
    assert refused(path).startswith("is gone, and had 3 records. Put it back, or restore a backup")
    with pytest.raises(JournalError, match="does not exist"):
        read_journal(path, kind="person")
    lock_file_of(path).unlink()
    assert kept(path).rows == []


def test_an_older_copy_and_another_journal_are_found(path: Path) -> None:
    fill(path, 3)
    older = path.read_bytes()
    journal, _ = JournalFile.open(path, ABOUT)
    with journal:
        journal.append([row(3)])
    path.write_bytes(older)
    assert refused(path).startswith("has 3 records, and had 4: it was cut short, or is an older copy")
    other = path.with_name("other")
    journal, _ = JournalFile.open(other, ABOUT)
    with journal:
        journal.append([row(number) for number in range(10, 17)])
    shutil.copy(other, path)
    assert refused(path).startswith("is another one than was here last")


@pytest.mark.parametrize("said", [None, b"", bytes(256), b"{" * 256, b'{"process": 7, "length": -9}'])
def test_a_journal_with_records_whose_lock_tells_nothing_is_refused_however_often(
    path: Path, said: bytes | None
) -> None:
    """An older copy of the file would pass; only a backup needs no lock, and is not gone on with."""
    fill(path, 2)
    lock, before = lock_file_of(path), lock_file_of(path).read_bytes()
    if said is None:
        lock.unlink()
    else:
        lock.write_bytes(said)
    reason = f"has 2 records, and nothing in {NAME}.lock tells how many there were: put that file back, or restore"
    for _ in range(2):
        assert refused(path).startswith(reason)
        with pytest.raises(JournalError, match="has 2 records, and nothing in"):
            read_journal(path, kind="person")
    lock.write_bytes(before)
    assert kept(path).rows == [row(0), row(1)]


def test_a_lock_of_less_than_there_is_and_none_beside_an_empty_journal_keep_nobody_out(path: Path) -> None:
    """As after a kill between a commit and what tells of it, and before the first commit."""
    fill(path, 0)
    before = lock_file_of(path).read_bytes()
    lock_file_of(path).unlink()
    fill(path, 2)
    lock_file_of(path).write_bytes(before)
    assert kept(path).rows == [row(0), row(1)]


def test_what_is_new_is_on_the_disk_before_anything_follows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No loss of power leaves a lock that tells nothing beside a journal with records, or takes a journal away."""
    synchronized: list[str] = []
    synchronize = os.fsync

    def note(descriptor: int) -> None:
        synchronized.append(Path(f"/proc/self/fd/{descriptor}").resolve().name)
        synchronize(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    folder = path.parent.name
    fill(path, 1)
    assert synchronized == [f"{NAME}.lock", folder, f"{NAME}.new", folder]  # the folder where a file has its name
    synchronized.clear()
    fill(path, 0)
    assert synchronized == []
    install_journal(path, path.with_name("other"), kind=ABOUT.kind)
    assert synchronized == ["other.restored.new", folder, folder, "other.lock", folder]


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal that was closed: one file, and what its lock file says."""
    path = tmp_path_factory.mktemp("closed") / NAME
    fill(path, 30, commits=4)
    return path


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal whose process was killed: most of it is in the log."""
    path = tmp_path_factory.mktemp("killed") / NAME
    fill(path, 30)
    process = subprocess.Popen(  # noqa: S603  our own
        [sys.executable, journal_child.__file__, str(path), "open", "append 30", "append 30", "append 30", "wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while process.stdout.readline() != "kept 120\n":
        pass
    process.kill()
    process.communicate()
    assert path.with_name(f"{NAME}-wal").stat().st_size > 3 * PAGE
    return path


def damaged(original: Path, folder: Path, ending: str, change: Callable[[bytearray], None]) -> Path:
    """Return a copy of a journal of which one file was changed."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original.parent, folder)
    (folder / f"{NAME}-shm").unlink(missing_ok=True)  # it died with the process, or its machine
    file = folder / f"{NAME}{ending}"
    content = bytearray(file.read_bytes())
    change(content)
    file.write_bytes(content)
    return folder / NAME


def check_found_or_harmless(path: Path) -> bool:
    """Check that a damaged journal is refused, or has all that was kept; return whether it is refused."""
    try:
        contents = kept(path)
    except JournalError:
        return True
    assert contents.rows == [row(number) for number in range(120)]
    assert contents.about == ABOUT
    return False


@pytest.mark.parametrize("ending", ["", "-wal"])
def test_a_file_that_is_cut_off_at_any_page_is_found(closed: Path, killed: Path, tmp_path: Path, ending: str) -> None:
    original = killed if ending else closed
    size = (original.parent / f"{NAME}{ending}").stat().st_size
    step = PAGE + 24 if ending else PAGE
    lengths = sorted({0, 1, 31, 32, 100, size - 1, *range(32 if ending else 0, size, step), *range(0, size, PAGE)})

    for length in lengths:

        def cut(content: bytearray, length: int = length) -> None:
            del content[length:]

        assert check_found_or_harmless(damaged(original, tmp_path / "cut", ending, cut)), length


@pytest.mark.parametrize("ending", ["", "-wal"])
@hypothesis.given(data=st.data())
@hypothesis.settings(
    max_examples=draws(50, full=1_000), suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
def test_bytes_that_are_not_as_they_were_written_are_found_or_do_no_harm(
    closed: Path, killed: Path, tmp_path: Path, ending: str, data: st.DataObject
) -> None:
    original = killed if ending or data.draw(st.booleans()) else closed
    size = (original.parent / f"{NAME}{ending}").stat().st_size
    offsets = st.integers(0, size - 1)
    if not ending:  # a page's header is where a change does most
        headers = st.tuples(st.integers(0, size // PAGE - 1), st.integers(0, 120))
        offsets = st.one_of(offsets, headers.map(lambda place: place[0] * PAGE + place[1]))
    flips: dict[int, int] = data.draw(st.dictionaries(offsets, st.integers(1, 255), min_size=1, max_size=4))

    def flip(content: bytearray) -> None:
        for offset, bits in flips.items():
            content[offset] ^= bits

    check_found_or_harmless(damaged(original, tmp_path / "flipped", ending, flip))


def test_a_log_that_is_gone_is_missed(killed: Path, tmp_path: Path) -> None:
    path = damaged(killed, tmp_path / "gone", "", lambda _: None)
    path.with_name(f"{NAME}-wal").unlink()
    assert refused(path).startswith("has 30 records, and had 120")


def test_a_copy_takes_no_others_place_and_is_its_owners_alone(path: Path) -> None:
    fill(path, 3)
    target = path.with_name("copy")
    copy_journal(path, target, backup_of=7)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert read_journal(target, kind="person").rows == kept(path).rows
    with pytest.raises(JournalError, match=f"{target} is there already, or was: name a new file"):
        copy_journal(path, target)
    assert refused(target).startswith("is a backup, which may not know all losses: `psephos journal restore`")
    with pytest.raises(JournalError, match="does not exist"):
        copy_journal(path.with_name("nothing"), path.with_name("more"))


def test_a_journal_is_installed_beside_what_was_there(path: Path, killed: Path, tmp_path: Path) -> None:
    """What was there keeps its log under its new name: nothing of it is lost, and none of it is the new one's."""
    target = damaged(killed, tmp_path / "there", "", lambda _: None)
    fill(path, 5)
    aside = install_journal(path, target, kind="person")
    assert aside is not None
    assert aside == target.with_name(f"{NAME}.before-1")
    assert kept(target).rows == [row(number) for number in range(5)]
    assert read_journal(aside, kind="person", is_copy=True).rows == [row(number) for number in range(120)]
    assert install_journal(path, target, kind="person") == target.with_name(f"{NAME}.before-2")
    assert install_journal(path, tmp_path / "fresh" / NAME, kind="person") is None
    assert kept(tmp_path / "fresh" / NAME).rows == [row(number) for number in range(5)]


def test_the_number_of_the_application_is_its_name() -> None:
    assert APPLICATION_ID.to_bytes(4, "big") == b"Psep"
