"""A journal's file for its single writer: rows are added, and never changed.

When `append` returns, all of its rows are on the disk; when it raises, none is. Only one process can have a journal
open. It holds a lock on a second file next to the journal, which ends with the process, however that ends. Another
process gets an error that names the first one.
"""

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from ..protocol.errors import JournalError
from ..transports.own_files import OWN_FOLDER, is_own
from .journal_format import (
    APPLICATION_ID,
    BEGINNING,
    SCHEMA,
    TABLES,
    About,
    Closing,
    Contents,
    Head,
    Row,
    beginning_of,
    check_header,
    check_kind,
    check_usable,
    connect,
    contents_of,
    journal_errors,
    link,
    lock_file_of,
    lost_journal_error,
    open_to_read,
    read_journal,
    sibling_file,
    to_journal_error,
)
from .rollback_guard import HeadFile, RollbackGuard, sync_folder

_BEYOND_RETRY: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class JournalFile(Closing):
    """A journal that this process holds exclusively until it is closed. See `JournalFile.open`.

    Attributes:
        is_new: whether this process created the journal.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, lock: "_Heads", contents: Contents, *, is_new: bool
    ) -> None:
        self.path = path
        self.about = contents.about
        self.is_new = is_new
        self._connection = connection
        self._lock = lock
        self._num_rows = len(contents.rows)
        self._chain = contents.chains[-1]
        self._origin = contents.origin
        self._failure: JournalError | None = None

    @classmethod
    def open(
        cls,
        path: Path,
        about: About | tuple[str, ...],
        *,
        may_be_backup: bool = False,
        witness: RollbackGuard | None = None,
    ) -> tuple[Self, Sequence[Row]]:
        """Open a journal, or make one.

        Args:
            path: the path of the file. A missing folder is made, private to its owner like the files.
            about: the description of a new journal; an existing one must have the same kind. Or a tuple of allowed
                kinds; then a missing journal is not made.
            may_be_backup: whether a backup may be opened, too.
            witness: records the journal's length outside its folder, so that an older copy of the whole folder is
                detected.

        Returns:
            The journal, and its rows.

        Raises:
            JournalError: the journal is in use, cannot be read or written, is not of this kind and version, or was
                changed since its last use.
        """
        path = path.resolve()
        kind = about.kind if isinstance(about, About) else about
        with journal_errors(path, kind):
            if path.is_dir():
                raise JournalError("is a folder: name a file", path=str(path))
            if isinstance(about, About):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            elif not path.exists() and not lock_file_of(path).exists():
                raise JournalError("does not exist: check its name and folder", path=str(path))
            if os.access(path.parent, os.W_OK) and not is_own(path.parent):
                raise JournalError(f"has to be in {OWN_FOLDER}", path=str(path))
            if path.exists():
                check_header(path)  # before any lock file is made next to a foreign file
            with contextlib.ExitStack() as opened:
                lock = opened.enter_context(_Heads(path, witness))
                is_new = not path.exists()
                if is_new:
                    lock.check_not_lost(kind)
                    if not isinstance(about, About):
                        raise JournalError("does not exist: check its name and folder", path=str(path))
                    lock.begin()
                    _make(path, about)
                else:
                    check_header(path)
                connection = opened.enter_context(contextlib.closing(connect(path, "mode=rw")))
                contents = contents_of(connection, path)
                lock.check(contents)
                check_kind(contents.about, kind, path)
                if not may_be_backup:
                    check_usable(contents.about, path)
                opened.pop_all()  # success: the files stay open
        journal = cls(path, connection, lock, contents, is_new=is_new)
        journal._tell_head()
        return journal, contents.rows

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows: all of them are durable when this returns, and none when it raises.

        After a temporary error, such as a full disk, the same rows may be tried again. After an error with an unknown
        effect on the disk, such as a failed synchronization, later calls are refused until the journal is opened again.

        Raises:
            JournalError: the rows were not written, or one has the session, kind and key of an earlier row.
        """
        with self._transaction():
            chain = self._insert(rows, after=self._num_rows, chain=self._chain)
        if not self._num_rows and rows:
            self._origin = beginning_of(self.about, link(BEGINNING, 1, rows[0]))
        self._num_rows, self._chain = self._num_rows + len(rows), chain
        self._tell_head()

    def check(self) -> None:
        """Raise JournalError if an error has left open what is on the disk: then nothing here is known for certain."""
        if self._failure is not None:
            reason = f"failed before, and is to be opened anew ({self._failure.reason})"
            raise JournalError(reason, path=str(self.path))

    def close(self) -> None:
        self._connection.close()
        self._lock.close()

    def _insert(self, rows: Sequence[Row], *, after: int, chain: bytes) -> bytes:
        """Insert rows, and return the chain after them."""
        lines: list[tuple[object, ...]] = []
        for sequence, row in enumerate(rows, start=after + 1):
            chain = link(chain, sequence, row)
            lines.append((sequence, *row, chain))
        self._connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)", lines)
        return chain

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        """Commit what the code inside writes, or take all of it back."""
        self.check()
        with journal_errors(self.path, self.about.kind):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if isinstance(error, sqlite3.Error) and _leaves_open(error):
                    self._failure = to_journal_error(error, self.path)
                elif not isinstance(error, Exception):
                    self._failure = JournalError("was interrupted", path=str(self.path))
                if self._connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):  # SQLite may have rolled back already
                        self._connection.execute("ROLLBACK")
                raise

    def _tell_head(self) -> None:
        self._lock.tell(num_rows=self._num_rows, chain=self._chain, first=self._origin)


def copy_journal(path: Path, target: Path, **changes: Any) -> None:
    """Write a consistent copy of a journal, also of one that a process has open.

    Args:
        path: the journal.
        target: a new private file, which appears only when the copy is complete and on the disk.
        changes: fields of `About` that differ in the copy.

    Raises:
        JournalError: a file cannot be read or written, or `target` exists, or was the place of a journal.
    """
    path, target = path.resolve(), target.resolve()
    with journal_errors(path), open_to_read(path) as (connection, _):
        if target.exists() or lock_file_of(target).exists():
            raise JournalError("is there already, or was: name a new file", path=str(target))
        with journal_errors(target), _new_file(target) as fresh, contextlib.closing(connect(fresh, "mode=rw")) as copy:
            connection.backup(copy)
            about = contents_of(copy, target).about
            copy.execute("BEGIN IMMEDIATE")
            _write_about(copy, msgspec.structs.replace(about, **changes))
            copy.execute("COMMIT")
            _write_log_back(copy)


def install_journal(
    source: Path, path: Path, *, kind: str | tuple[str, ...], witness: RollbackGuard | None = None, **changes: Any
) -> Path | None:
    """Replace a journal that no process has open by a copy of a journal.

    Args:
        source: the copy.
        path: the place of the journal; an existing file is renamed.
        kind: the allowed kind or kinds of the copy.
        witness: the rollback guard, which starts again from this journal.
        changes: new values of fields of `About`.

    Returns:
        The new name of the earlier file; None if there was none.

    Raises:
        JournalError: a file cannot be read or written, or a process has the journal open.
    """
    path = path.resolve()
    with journal_errors(path):
        if path.is_dir():
            raise JournalError("is a folder: name a file", path=str(path))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _Heads(path, witness) as lock:
            fresh = sibling_file(path, ".restored")
            _unlink(fresh)
            copy_journal(source, fresh, **changes)
            contents = read_journal(fresh, kind=kind, is_copy=True)
            aside = _set_aside(path) if path.exists() else None
            fresh.rename(path)
            _unlink(fresh)
            sync_folder(path.parent)
            lock.tell_installed(contents)
    return aside


def read_own(path: Path, *, kind: str | tuple[str, ...], witness: RollbackGuard | None = None) -> Contents:
    """Read the contents of a journal in its place, and check them against its rollback guard first."""
    path = path.resolve()
    heads = [] if witness is None else list(witness.heads(path))  # read first: never newer than the journal
    with journal_errors(path, kind):
        contents = read_journal(path, kind=kind)
        _check_told(contents, heads, path)
    return contents


def _check_told(contents: Contents, heads: Iterable[tuple[Path, Head, bool]], path: Path) -> None:
    first = "" if contents.about.backup_of else contents.origin  # a session never continues from a backup
    for file, head, is_here in heads:
        if is_here or (head.first and head.first == first):
            contents.check(head, path, file=file)


class _Heads(Closing):
    """All records of a journal's length, held until they are closed or the process ends.

    Raises:
        JournalError: another process has the journal open.
        OSError: a file cannot be made.
    """

    def __init__(self, path: Path, witness: RollbackGuard | None) -> None:
        self._path = path
        self._witness = witness
        self._files = [HeadFile(lock_file_of(path), path)]
        try:
            if witness is not None:
                self._files.append(witness.open(path))
            self._heads_told = [] if witness is None else list(witness.heads(path))
        except BaseException:
            self.close()
            raise

    def check_not_lost(self, kind: str | tuple[str, ...]) -> None:
        """Raise JournalError if there was a journal, which is gone."""
        heads = {head_file.file: head for head_file in self._files if (head := head_file.head) is not None}
        heads = {file: head for file, head in heads.items() if head.length}
        if heads:
            raise lost_journal_error(max(head.length for head in heads.values()), heads, self._path, kind)

    def begin(self) -> None:
        """Record a journal that is about to be made; if this fails, the journal is not made.

        Raises:
            OSError: a file cannot be written.
        """
        for file in self._files:
            file.write(Head(process=os.getpid()), of=self._whose)

    def check(self, contents: Contents) -> None:
        """Raise JournalError if a journal is not all that was told of it."""
        contents.check_locked(self._files[0].head, self._path)
        _check_told(contents, self._heads_told, self._path)

    def tell(self, *, num_rows: int, chain: bytes, first: str) -> None:
        """Tell how far the journal is."""
        head = Head(process=os.getpid(), length=num_rows, chain=chain.hex(), first=first)
        for file in self._files:
            with contextlib.suppress(OSError):  # the recorded length is then too small, and still a valid check
                file.write(head, of=self._whose)

    def tell_installed(self, contents: Contents) -> None:
        """Tell of a journal that was put here, whatever was told before."""
        if self._witness is not None:
            self._witness.forget_elsewhere(self._path, contents.origin)
        self.tell(num_rows=len(contents.rows), chain=contents.chains[-1], first=contents.origin)

    @property
    def _whose(self) -> str:
        return (self._witness and self._witness.key) or str(self._path)

    def close(self) -> None:
        for file in self._files:
            file.release()


def _leaves_open(error: sqlite3.Error) -> bool:
    """Return whether the state of the disk is unknown after an error. A failed write was not committed."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    is_failed_write = code == sqlite3.SQLITE_IOERR_WRITE
    return code & 0xFF in _BEYOND_RETRY or (code & 0xFF == sqlite3.SQLITE_IOERR and not is_failed_write)


def _write_about(connection: sqlite3.Connection, about: About) -> None:
    body = msgspec.msgpack.encode(about)
    connection.execute("INSERT OR REPLACE INTO about VALUES (1, ?, ?)", (body, hashlib.sha256(body).digest()))


def _make(path: Path, about: About) -> None:
    """Make a journal, which is there when it is whole: a process that ends in between leaves none."""
    with _new_file(path) as fresh, contextlib.closing(connect(fresh, "mode=rw")) as connection:
        for setting in (f"application_id = {APPLICATION_ID}", f"user_version = {SCHEMA}", "journal_mode = WAL"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("BEGIN")
        for table in TABLES:
            connection.execute(table)
        _write_about(connection, about)
        connection.execute("COMMIT")
        _write_log_back(connection)


def _write_log_back(connection: sqlite3.Connection) -> None:
    """Copy the write-ahead log into the file. Closing does this too, but does not report failures."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextlib.contextmanager
def _new_file(path: Path) -> Generator[Path]:
    """Yield an empty file of its owner's alone, which takes its place once the code inside has ended well."""
    fresh = path.with_name(f"{path.name}.new")
    _unlink(fresh)
    try:
        os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        yield fresh
        descriptor = os.open(fresh, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        fresh.rename(path)
        sync_folder(path.parent)
    finally:
        _unlink(fresh)


def _set_aside(path: Path) -> Path:
    """Give a journal and its log another name, and return it."""
    number = 1
    while (aside := path.with_name(f"{path.name}.before-{number}")).exists():
        number += 1
    with contextlib.suppress(FileNotFoundError):  # first: the lock file then shows what is missing
        sibling_file(path, "-wal").rename(sibling_file(aside, "-wal"))
    sibling_file(path, "-shm").unlink(missing_ok=True)
    return path.rename(aside)


def _unlink(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        sibling_file(path, ending).unlink(missing_ok=True)
