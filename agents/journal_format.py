"""The format of a journal's file, and its reader, which checks all of it before use.

A journal is one SQLite database. Each row contains a SHA-256 of itself and all rows before it, so a changed or missing
row in between is detected. The lock file next to it records the number of rows, so missing rows at the end are
detected, too: a damaged or lost write-ahead log loses the last rows, and SQLite reports no error. An older copy, or a
missing journal, is detected in the same way. A journal without a lock file is refused. If the whole folder is an older
copy, the witness shows it (`rollback_guard`).

Readers need no lock: they see the last commit, whether a process has the journal open or was killed.
"""

import abc
import contextlib
import hashlib
import os
import sqlite3
import stat
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Annotated, Final, NamedTuple, Self, TypeVar
from urllib.parse import quote

import msgspec

from ..protocol.errors import JournalError

RecordT = TypeVar("RecordT")

APPLICATION_ID: Final = 0x50736570
"""The application id in SQLite's file header: "Psep"."""
SCHEMA: Final = 4
"""The version of the tables below and of their content; another version is refused."""
TABLES: Final = (
    "CREATE TABLE about (only INTEGER PRIMARY KEY CHECK (only = 1), body BLOB, digest BLOB)",
    "CREATE TABLE record (sequence INTEGER PRIMARY KEY, session TEXT, kind TEXT, key TEXT, body BLOB, chain BLOB)",
    "CREATE UNIQUE INDEX once ON record (session, kind, key)",  # rows without a key may be repeated
)
SESSION: Final = "session"
"""The kind of a server's journal."""
BEGINNING: Final = bytes(32)
LOCK_BYTES: Final = 256
_STAMPS: Final = ("application_id", "user_version", "journal_mode")
_MAGIC: Final = b"SQLite format 3\x00"
_HEADER_BYTES: Final = 100
_SECONDS_TO_WAIT: Final = 2.0
"""The seconds to wait for another program that has locked the database, such as a person who inspects it."""
_HOW_TO_MEND: Final = "restore a backup with `psephos journal restore`"
_OF_SERVER: Final = "put the newest copy of its folder back, or draw up the session anew with `psephos roster`"
"""The remedy for a server's journal, which must not be restored from a backup, since noise could be drawn twice."""
_FULL: Final = "cannot be written: the disk is full. Make room, then go on"
_TEXT_OF_CODE: Final = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR_SHMSIZE: _FULL,  # no space for the index of the log
    sqlite3.SQLITE_READONLY: "cannot be written: the file or its folder is read-only",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: the file or its folder may not be read or written",
    sqlite3.SQLITE_PERM: "cannot be opened: the file may not be read or written",
    sqlite3.SQLITE_BUSY: "is locked by another program, which has it open: close that one",
    sqlite3.SQLITE_CONSTRAINT: "has already what there is once, and not twice; nothing was kept",
    sqlite3.SQLITE_CORRUPT: f"is damaged: {_HOW_TO_MEND}",
    sqlite3.SQLITE_NOTADB: f"is damaged, or not a journal: {_HOW_TO_MEND}",
}


class Closing(abc.ABC):
    """An open resource that closes as its `with` is left."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Row(NamedTuple):
    """One stored record.

    Args:
        session: the session's id; empty in a journal of one session.
        key: a key that is unique for this session and kind; None if several records are allowed.
        body: the record, encoded.
    """

    session: str
    kind: str
    key: str | None
    body: bytes


class About(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The description of a journal in its own file.

    Args:
        kind: the kind of journal: "person", "host" or "session".
        configuration: the configuration that it belongs to, by field.
        backup_of: the time at which a backup was made, in seconds since 1970; 0 if the journal is no backup.
        unsure_rows: the number of rows restored from a backup, whose sessions may have had further rows.
        unsure_since: the time at which that backup was made, in seconds since 1970; 0 if unknown.
    """

    kind: str
    configuration: dict[str, str] = {}
    backup_of: int = 0
    unsure_rows: int = 0
    unsure_since: int = 0


_ABOUT: Final = msgspec.msgpack.Decoder(About)


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The contents of a lock file or a witness: who holds the journal, and its length after the last commit.

    Args:
        length: the number of rows.
        chain: the digest after the last row.
        first: the identity of the journal (`beginning_of`).
    """

    process: int
    length: Annotated[int, msgspec.Meta(ge=0)] = 0
    chain: str = BEGINNING.hex()
    first: str = ""


class Contents(NamedTuple):
    """All that a journal holds."""

    about: About
    rows: Sequence[Row]
    chains: Sequence[bytes]

    @property
    def origin(self) -> str:
        """What identifies the journal and all its copies; empty for an empty journal."""
        return beginning_of(self.about, self.chains[1]) if self.rows else ""

    def check(self, head: Head, path: Path, *, file: Path | None = None) -> None:
        """Raise JournalError if a journal is not the one, or not all of the one, of which a head tells, from a file."""
        num_rows, source = len(self.rows), "" if file is None else f" (as {file} tells)"
        if num_rows < head.length:
            reason = f"has {num_rows} records, and had {head.length}{source}: it was cut short, or is an older copy"
            raise JournalError(f"{reason}: {_HOW_TO_MEND}", path=str(path))
        if self.chains[head.length].hex() != head.chain:
            reason = f"is another one than was here last{source}"
            raise JournalError(f"{reason}: put that one back, or {_HOW_TO_MEND}", path=str(path))

    def check_locked(self, head: Head | None, path: Path) -> None:
        """Raise JournalError if a journal has records, and no lock file tells how many; a backup needs none."""
        if head is not None:
            self.check(head, path)
        elif self.rows and not self.about.backup_of:
            reason = f"has {len(self.rows)} records, and nothing in {lock_file_of(path).name} tells how many there were"
            raise JournalError(f"{reason}: put that file back, or {_HOW_TO_MEND}", path=str(path))


def lost_journal_error(num_rows: int, files: Iterable[Path], path: Path, kind: str | tuple[str, ...]) -> JournalError:
    """Return the error of a journal that is gone, of whose records these files tell."""
    reason = f"is gone, and had {num_rows} records. Put it back, or {_HOW_TO_MEND}"
    if kind != SESSION:
        reason += ". Without either nobody knows what was lost so far; whoever accepts that removes "
        reason += f"{' and '.join(map(str, files))}, and begins anew"
    return JournalError(reason, path=str(path))


def lock_file_of(path: Path) -> Path:
    """Return the lock file of a journal, which is next to it.

    Examples:
        >>> lock_file_of(Path("ann.journal")).name
        'ann.journal.lock'
    """
    return path.with_name(f"{path.name}.lock")


def sibling_file(path: Path, ending: str) -> Path:
    """Return the file of this path with an ending more."""
    return path.with_name(path.name + ending)


def read_journal(path: Path, *, kind: str | tuple[str, ...], is_copy: bool = False) -> Contents:
    """Read a journal, also while a process has it open, or after a process that was killed.

    Args:
        kind: the allowed kind or kinds of the journal.
        is_copy: whether it is a copy elsewhere, which needs no lock file.

    Raises:
        JournalError: it cannot be read, is not a journal of this kind and version, or was changed since its last use.
    """
    path = path.resolve()
    with journal_errors(path, kind):
        with open_to_read(path) as (connection, head):
            contents = contents_of(connection, path)
        if head is not None or not is_copy:
            contents.check_locked(head, path)
        check_kind(contents.about, kind, path)
        return contents


@contextlib.contextmanager
def open_to_read(path: Path) -> Generator[tuple[sqlite3.Connection, Head | None]]:
    """Yield a connection that only reads, and what the lock file says, which is never newer than what is read."""
    if path.is_dir():
        raise JournalError("is a folder: name a file", path=str(path))
    if not path.exists():
        raise JournalError("does not exist: check its name and folder", path=str(path))
    head = read_head(lock_file_of(path))
    connection = connect(path, "mode=ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        # In a read-only folder, SQLite cannot make the index of a log; without a log none is needed.
        is_unopened = error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
        if not is_unopened or sibling_file(path, "-wal").exists():
            raise
        connection = connect(path, "mode=ro&immutable=1")
    try:
        yield connection, head
    finally:
        connection.close()


def contents_of(connection: sqlite3.Connection, path: Path) -> Contents:
    """Return all that a journal holds, as of one moment, once everything in it has been checked."""
    connection.execute("BEGIN")
    try:
        _check_version(*(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _STAMPS), path=path)
        if connection.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise _damage_error(path, "SQLite's check of it fails")
        tables = tuple(sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema ORDER BY rowid"))
        if tables != TABLES:
            raise _damage_error(path, "its tables are others")
        about = _read_about(connection, path)
        rows: list[Row] = []
        chains = [BEGINNING]
        for sequence, session, kind, key, body, chain in connection.execute("SELECT * FROM record ORDER BY sequence"):
            row = Row(session, kind, key, body)
            chains.append(link(chains[-1], sequence, row))
            if sequence != len(chains) - 1 or chain != chains[-1]:
                raise _damage_error(path, f"record {len(chains) - 1} is not the one that was kept")
            rows.append(row)
    except (TypeError, AttributeError) as error:  # a column has another type
        raise _damage_error(path, str(error)) from error
    finally:
        if connection.in_transaction:  # on a full disk, SQLite rolls back by itself
            connection.execute("ROLLBACK")
    return Contents(about, rows, chains)


def check_header(path: Path) -> None:
    """Raise JournalError unless a file can be a journal; SQLite itself has not touched it yet."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        header = os.pread(descriptor, _HEADER_BYTES, 0)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    if not header.startswith(_MAGIC):
        raise JournalError("is not a journal: it is no SQLite file. Name another by --journal", path=str(path))
    if len(header) < _HEADER_BYTES:
        raise _damage_error(path, "it was cut short")
    version, application = (int.from_bytes(header[place : place + 4], "big") for place in (60, 68))
    _check_version(application, version, "wal", path=path)


def _check_version(application: int, version: int, mode: str, *, path: Path) -> None:
    if application != APPLICATION_ID:
        raise JournalError("is not a journal: it is another application's SQLite file", path=str(path))
    if version != SCHEMA:
        reason = f"is of version {version}, and this psephos reads version {SCHEMA}: use the psephos that wrote it"
        raise JournalError(reason, path=str(path))
    if mode not in {"wal", "off"}:  # "off" if it is read without a log
        raise _damage_error(path, f"its mode is {mode!r}")


def check_kind(about: About, kind: str | tuple[str, ...], path: Path) -> None:
    """Raise JournalError if a journal is of another kind."""
    kinds = (kind,) if isinstance(kind, str) else kind
    if about.kind not in kinds:
        raise JournalError(f"is that of a {about.kind}, not of a {' or a '.join(kinds)}", path=str(path))


def check_usable(about: About, path: Path) -> None:
    """Raise JournalError if a journal is a backup: somebody's losses would be in two places."""
    if about.backup_of:
        reason = "is a backup, which may not know all losses: `psephos journal restore` says what that means"
        raise JournalError(reason, path=str(path))


def read_head(file: Path) -> Head | None:
    """Read a lock file or a witness; None if there is no file, or none that can be read."""
    try:
        with file.open("rb") as stream:
            return msgspec.json.decode(stream.read(LOCK_BYTES), type=Head)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # it is new, or its content was lost with the power


@contextlib.contextmanager
def journal_errors(path: Path, kind: str | tuple[str, ...] = ()) -> Generator[None]:
    """Add the journal's name, and a remedy for its kind, to its errors, those of SQLite and the system too."""
    try:
        with _convert_errors(path):
            yield
    except JournalError as error:
        if kind != SESSION or _HOW_TO_MEND not in error.reason:
            raise
        raise JournalError(error.reason.replace(_HOW_TO_MEND, _OF_SERVER), path=error.path) from error


@contextlib.contextmanager
def _convert_errors(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise to_journal_error(error, path) from error
    except UnicodeDecodeError as error:  # SQLite's error message quotes bytes of a damaged file
        raise _damage_error(path, f"what SQLite says against it is no text ({error.reason})") from error
    except OSError as error:
        file_text = "" if error.filename in {None, str(path)} else f" ({error.filename})"
        raise JournalError(f"cannot be opened or written: {error.strerror}{file_text}", path=str(path)) from error


def to_journal_error(error: sqlite3.Error, path: Path) -> JournalError:
    """Turn an error of SQLite's into a JournalError that says what helps."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    reason = _TEXT_OF_CODE.get(code) or _TEXT_OF_CODE.get(code & 0xFF)
    if reason is None:
        reason = f"cannot be used: {error} ({getattr(error, 'sqlite_errorname', type(error).__name__)})"
    return JournalError(reason, path=str(path))


def connect(path: Path, options: str) -> sqlite3.Connection:
    """Open the database of a journal, which is there, with options of SQLite's URI."""
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?{options}",
        uri=True,
        isolation_level=None,  # this module begins and ends transactions explicitly
        check_same_thread=False,
        timeout=_SECONDS_TO_WAIT,
    )
    # With NORMAL, SQLite would synchronize a write-ahead log only sometimes, and a loss of power could lose the last
    # commits, whose reports were sent. The other settings flush to the disk on macOS, too, and distrust a damaged file.
    try:
        for setting in ("synchronous = FULL", "fullfsync = ON", "cell_size_check = ON", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _damage_error(path: Path, reason: str) -> JournalError:
    return JournalError(f"is damaged, since {reason}: {_HOW_TO_MEND}", path=str(path))


def link(chain: bytes, sequence: int, row: Row) -> bytes:
    """Return the chain as it is after a row."""
    key = b"" if row.key is None else b"=" + row.key.encode()
    parts = (sequence.to_bytes(8, "big"), row.session.encode(), row.kind.encode(), key, row.body)
    return hashlib.sha256(chain + b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()


def beginning_of(about: About, chain: bytes) -> str:
    """Return the identity of a journal, from its description and the chain after its first row.

    The first rows of two servers' sessions may be equal, so a server's identity also depends on its configuration.
    """
    if not about.configuration:
        return chain.hex()
    return hashlib.sha256(msgspec.json.encode(about.configuration, order="sorted") + chain).hexdigest()


def decode_record(body: bytes, decoder: msgspec.msgpack.Decoder[RecordT], path: Path) -> RecordT:
    """Decode a row's record.

    Raises:
        JournalError: the row has no such record.
    """
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damage_error(path, f"something else stands where a record was kept ({error})") from None


def _read_about(connection: sqlite3.Connection, path: Path) -> About:
    lines = connection.execute("SELECT body, digest FROM about").fetchall()
    if len(lines) == 1:
        ((body, digest),) = lines
        if hashlib.sha256(body).digest() == digest:
            return decode_record(body, _ABOUT, path)
    raise _damage_error(path, "what it says of itself is not what was kept")
