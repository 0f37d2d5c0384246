"""Disks that fail: the files below the real journals, in memory or in a folder.

A commit is there as a whole or not at all, as SQLite promises; what a crash in its midst leaves is therefore what a
crash just before it leaves. Everything else may go wrong: the process may die before or after a commit, the disk may be
full, and a commit may be reported to have failed and be there all the same.
"""

import contextlib
import random
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from psephos.agents import host_journal, person_journal, session_journal
from psephos.agents.host_journal import HostJournal
from psephos.agents.journal_file import JournalFile
from psephos.agents.journal_format import About, Row
from psephos.agents.person_journal import PersonJournal
from psephos.agents.rollback_guard import RollbackGuard
from psephos.agents.session_journal import SessionJournal
from psephos.protocol.errors import JournalError

__all__ = [
    "Disk",
    "FolderDisk",
    "MemoryDisk",
    "SnapshotDisk",
    "open_host_journal",
    "open_person_journal",
    "open_session_journal",
]


class MemoryDisk:
    """Keeps a file's rows in memory."""

    def __init__(self) -> None:
        self._about: About | None = None
        self._rows: list[Row] = []
        self._keys: set[tuple[str, str, str]] = set()

    def open(self, about: About) -> tuple[About, Sequence[Row], bool]:
        """Return what the file says of itself, its rows, and whether it is new."""
        is_new = self._about is None
        self._about = self._about or about
        return self._about, tuple(self._rows), is_new

    def append(self, rows: Sequence[Row]) -> None:
        keys = [(row.session, row.kind, row.key) for row in rows if row.key is not None]
        if len(set(keys)) < len(keys) or self._keys.intersection(keys):
            raise JournalError("has already what there is once, and not twice; nothing was kept")
        self._keys.update(keys)
        self._rows += rows

    def close(self) -> None:
        """Do nothing: memory stays."""


class FolderDisk:
    """Keeps a file's rows in a real journal file, which a process that dies leaves as it is."""

    def __init__(self, path: Path, *, witness: RollbackGuard | None = None) -> None:
        self._path = path
        self._witness = witness
        self._file: JournalFile | None = None

    def open(self, about: About) -> tuple[About, Sequence[Row], bool]:
        self._file, rows = JournalFile.open(self._path, about, witness=self._witness)
        return self._file.about, rows, self._file.is_new

    def append(self, rows: Sequence[Row]) -> None:
        assert self._file is not None
        self._file.append(rows)

    def close(self) -> None:
        """Let go of the file, as the end of a process does."""
        if self._file is not None:
            self._file.close()
            self._file = None


class SnapshotDisk(FolderDisk):
    """Is taken back to an older snapshot now and then, as a whole, before a process begins: which has to find it.

    Attributes:
        num_refused: how often one did.
    """

    def __init__(self, path: Path, *, witness: RollbackGuard, luck: random.Random) -> None:
        super().__init__(path, witness=witness)
        self.num_refused = 0
        self._luck = luck
        self._snapshots: list[dict[str, bytes]] = []

    def open(self, about: About) -> tuple[About, Sequence[Row], bool]:
        """Open the file, once an older one was refused in its place."""
        if len(self._snapshots) > 1 and self._luck.random() < _SHARE_TAKEN_BACK:
            newest = self._copy()
            self._put(self._luck.choice(self._snapshots[:-1]))
            try:
                super().open(about)
            except JournalError:
                self.num_refused += 1
            else:
                raise AssertionError("an older snapshot passes for the journal")
            self._put(newest)
        return super().open(about)

    def append(self, rows: Sequence[Row]) -> None:
        """Commit rows, and take a snapshot."""
        super().append(rows)
        self._snapshots.append(self._copy())

    def _copy(self) -> dict[str, bytes]:
        # Without the index of the log, which a process makes anew.
        files = (file for file in self._path.parent.glob(f"{self._path.name}*") if not file.name.endswith("-shm"))
        return {file.name: file.read_bytes() for file in files}

    def _put(self, files: dict[str, bytes]) -> None:
        for file in self._path.parent.glob(f"{self._path.name}*"):
            file.unlink()
        for name, content in files.items():
            (self._path.parent / name).write_bytes(content)


_SHARE_TAKEN_BACK = 0.8
Disk = MemoryDisk | FolderDisk
Commit = Callable[[Callable[[], None], Sequence[Row]], None]
"""Lets a commit happen, or not: called with what commits, and with the rows."""


class _File(JournalFile):
    """A journal's file over a disk."""

    def __init__(self, disk: Disk, about: About, commit: Commit, *, is_new: bool) -> None:
        self.path = Path("journal")
        self.about = about
        self.is_new = is_new
        self._disk = disk
        self._commit = commit
        self._has_failed = False

    def append(self, rows: Sequence[Row]) -> None:
        """Commit rows, if the world lets it; after an error that leaves open what is there, no more."""
        self.check()
        try:
            self._commit(lambda: self._disk.append(rows), rows)
        except BaseException:
            self._has_failed = True
            raise

    def check(self) -> None:
        """Raise JournalError after such an error."""
        if self._has_failed:
            raise JournalError("failed before, and is to be opened anew")

    def close(self) -> None:
        """Let go of the disk."""
        self._disk.close()


@contextlib.contextmanager
def _opening(disk: Disk, commit: Commit) -> Generator[None]:
    """Let journals that are opened inside lie on a disk."""

    class File(_File):
        @classmethod
        def open(cls, path: Path, about: About | tuple[str, ...], **_: Any) -> tuple[_File, Sequence[Row]]:
            del path
            assert isinstance(about, About)
            kept, rows, is_new = disk.open(about)
            return _File(disk, kept, commit, is_new=is_new), rows

    with (
        mock.patch.object(person_journal, "JournalFile", File),
        mock.patch.object(session_journal, "JournalFile", File),
        mock.patch.object(host_journal, "JournalFile", File),
    ):
        yield


def open_person_journal(disk: Disk, commit: Commit, *, clock: Callable[[], float]) -> PersonJournal:
    """Return a person's journal on a disk, by a clock that may be wrong."""
    with _opening(disk, commit):
        return PersonJournal.open(Path("journal"), now=clock(), clock=clock)


def open_host_journal(disk: Disk, commit: Commit, *, clock: Callable[[], float]) -> HostJournal:
    """Return the journal of a host's parties on a disk, likewise."""
    with _opening(disk, commit):
        return HostJournal.open(Path("journal"), now=clock(), clock=clock)


def open_session_journal(disk: Disk, commit: Commit, *, configuration: dict[str, str]) -> SessionJournal:
    """Return a server's journal on a disk.

    Raises:
        ConfigurationError: it was begun with another configuration.
    """
    with _opening(disk, commit):
        return SessionJournal.open(Path("journal"), configuration=configuration)
