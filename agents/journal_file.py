"""A journal's file for its one writer: rows are added, and none is changed.

The rule that holds here: when `append` returns, all of its rows are on the disk; when it raises, none is. One process
at a time has a journal open. It holds a lock on the file beside it, which ends with the process however that ends;
another process is told which one has it.
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
    """A journal that is this process's alone until it is closed. See `JournalFile.open`.

    Attributes:
        is_new: whether there was none before.
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
            path: the file's. A folder that is missing is made, and then its owner's alone, as the files are.
            about: what a new one says of itself; of one that is there the kind has to be the same. Or the kinds of
                which it may be, where one that is missing is not made.
            may_be_backup: whether a backup may be opened as well.
            witness: where it is told outside the journal's folder how far the journal is; by which an older copy of
                the whole folder is found.

        Returns:
            The journal, and the rows that are in it.

        Raises:
            JournalError: it is in use, cannot be read or written, is not a journal of this kind and version, or is not
                as it was left.
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
                check_header(path)  # nothing is left beside another's file
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
                opened.pop_all()  # all is well: they stay open
        journal = cls(path, connection, lock, contents, is_new=is_new)
        journal._tell_head()
        return journal, contents.rows

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows: all of them are durable when this returns, and none is there when it raises.

        After a full disk, or what else may pass, the same rows may be tried again. After an error that leaves open what
        is on the disk, such as a failed synchronization, each later call is refused, until the journal is opened anew.

        Raises:
            JournalError: they are not kept, or one would be the second of its session, kind and key.
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
                    with contextlib.suppress(sqlite3.Error):  # SQLite has taken it back by itself
                        self._connection.execute("ROLLBACK")
                raise

    def _tell_head(self) -> None:
        self._lock.tell(num_rows=self._num_rows, chain=self._chain, first=self._origin)


def copy_journal(path: Path, target: Path, **changes: Any) -> None:
    """Write a consistent copy of a journal, also of one that a process has open.

    Args:
        target: a new file, its owner's alone; it is there when the copy is whole and on the disk.
        changes: what the copy says of itself that the journal does not, by fields of `About`.

    Raises:
        JournalError: one of them cannot be read or written, or there is a file, or has been a journal, in its place.
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
    """Put a copy of a journal in a journal's place, where no process may have one open.

    Args:
        path: the journal's place; a file that is there is kept under another name.
        witness: the rollback guard, which starts again from this journal.
        changes: new values of fields of `About`.

    Returns:
        What was there before, under its new name; None where nothing was.

    Raises:
        JournalError: one of them cannot be read or written, or a process has the journal open.
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
    heads = [] if witness is None else list(witness.heads(path))  # first: it is never newer than what is read then
    with journal_errors(path, kind):
        contents = read_journal(path, kind=kind)
        _check_told(contents, heads, path)
    return contents


def _check_told(contents: Contents, heads: Iterable[tuple[Path, Head, bool]], path: Path) -> None:
    first = "" if contents.about.backup_of else contents.origin  # nobody goes on with a backup
    for file, head, is_here in heads:
        if is_here or (head.first and head.first == first):
            contents.check(head, path, file=file)


class _Heads(Closing):
    """All that tells how far a journal is, held until it is closed or the process ends, however it does.

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
        """Tell of a journal that is about to be made; where there is no room for that, none is.

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
            with contextlib.suppress(OSError):  # then it tells of less than there is, and that much can be checked
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
    """Whether nobody knows what is on the disk after an error. A write that failed was not committed."""
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
    """Let all that is in the log be in the file itself. Closing does that too, and does not say if it cannot."""
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
    with contextlib.suppress(FileNotFoundError):  # the log first: without it the lock file still tells what is missing
        sibling_file(path, "-wal").rename(sibling_file(aside, "-wal"))
    sibling_file(path, "-shm").unlink(missing_ok=True)
    return path.rename(aside)


def _unlink(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        sibling_file(path, ending).unlink(missing_ok=True)
