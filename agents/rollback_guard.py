"""Rollback guard: the length of a journal, recorded in two other files: the lock next to it, and a witness elsewhere.

Such a record is never newer than the journal. So a journal with fewer rows than a record was truncated, or is an older
copy. A snapshot of the journal's folder contains the lock, too, so the two agree. The witness is outside of the folder,
and detects the older copy. It also records journals with the same beginning at other places, so that of two copies on
one machine only one can continue.
"""

import dataclasses
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from ..protocol.errors import JournalError, JournalInUseError
from ..transports.own_files import OWN_FOLDER, is_own
from .journal_format import LOCK_BYTES, Head, read_head

_DIGITS: Final = 32


class HeadFile:
    """A file with the length of a journal, locked until it is released or the process ends.

    Args:
        file: the path of the file, which is made if it does not exist.

    Attributes:
        head: its content when it was opened; None if it is new, or cannot be read.

    Raises:
        JournalError: another process holds it.
        OSError: it cannot be made.
    """

    def __init__(self, file: Path, journal: Path) -> None:
        self.file = file
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(file, flags, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.head = read_head(file)
        except BlockingIOError:
            head = read_head(file)
            os.close(self._descriptor)
            holder = "another process" if head is None else f"process {head.process}"
            raise JournalInUseError(f"is in use by {holder}: wait until that has ended", path=str(journal)) from None
        except BaseException:
            os.close(self._descriptor)
            raise
        if self.head is not None:
            self.write(self.head)

    def write(self, head: Head, *, of: str = "") -> None:
        """Record the length of the journal.

        It is written in place and not synchronized, so the disk may have an older length, but never a newer one. Only
        the first write is synchronized, so that a loss of power cannot leave an empty file.

        Args:
            head: the length of the journal.
            of: the owner of the journal, for people who read the file.
        """
        is_first = os.fstat(self._descriptor).st_size == 0
        content = msgspec.json.encode(msgspec.structs.replace(head, process=os.getpid()))
        os.pwrite(self._descriptor, content.ljust(LOCK_BYTES - 1) + b"\n", 0)
        if is_first:
            os.pwrite(self._descriptor, of.encode(errors="surrogateescape") + b"\n", LOCK_BYTES)
            os.fsync(self._descriptor)
            sync_folder(self.file.parent)

    def release(self) -> None:
        """Let others in; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@dataclasses.dataclass(frozen=True)
class RollbackGuard:
    """The files outside a journal's folder that record how long the journal was.

    Args:
        folder: the folder with a file for each journal; made with its parents, private to its owner.
        key: the identity of the journal at any place, such as its session's id; by default its path.

    Examples:
        >>> RollbackGuard(Path("/somewhere"), key="a1").file_of(Path("ann.journal")).suffix
        '.head'
    """

    folder: Path
    key: str = ""

    def file_of(self, journal: Path) -> Path:
        """Return the file of a journal."""
        return self.folder / f"{hashlib.sha256(os.fsencode(self.key or journal)).hexdigest()[:_DIGITS]}.head"

    def open(self, journal: Path) -> HeadFile:
        """Open and lock the file of a journal.

        Raises:
            JournalError: another process holds it, or it cannot be made.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_own(self.folder):
                raise JournalError(f"can have no witness in {self.folder}: name {OWN_FOLDER}", path=str(journal))
            return HeadFile(self.file_of(journal), journal)
        except OSError as error:
            reason = f"can have no witness in {self.folder} ({error.strerror}): name another folder (--witness)"
            raise JournalError(reason, path=str(journal)) from error

    def heads(self, journal: Path) -> Iterator[tuple[Path, Head, bool]]:
        """Yield each file with what it tells, and whether that is of this place."""
        own_file = self.file_of(journal)
        for file in self.folder.glob("*.head"):
            if (head := read_head(file)) is not None:
                yield file, head, file == own_file

    def forget_elsewhere(self, journal: Path, first: str) -> None:
        """Let what is told of other places no longer count for journals that begin like this one."""
        for file in self.folder.glob("*.head"):
            head = None if file == self.file_of(journal) else read_head(file)
            if head is not None and head.first == first:
                head_file = HeadFile(file, journal)
                head_file.write(msgspec.structs.replace(head, first=""))
                head_file.release()


def sync_folder(folder: Path) -> None:
    """Let what is new in a folder be on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
