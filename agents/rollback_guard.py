"""How long a journal was, recorded in files of their own: the lock beside it, and a witness outside its folder.

The rule that holds here: such a record is never newer than the journal. So a journal with fewer rows than one of them
records was cut short, or is an older copy. The lock goes where its folder goes: a snapshot of the folder has both, and
they agree. The witness stays. It also records journals of the same beginning at other places, so that of two copies on
one machine only one goes on.
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
    """A file that tells how far a journal was, held until it is released or the process ends, however it does.

    Args:
        file: which; made if it is not there.

    Attributes:
        head: what it told before; None where it is new, or cannot be read.

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

        In place, and not synchronized: what is on the disk may be older, never newer. What was never told before is
        synchronized once, so that no loss of power leaves a file that tells nothing.

        Args:
            of: whose journal it is, for people who look into the file.
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
        folder: holds a file for each journal; made with its parents, its owner's alone.
        key: what the journal is known by wherever it is, such as its session's id; by default its path.

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
        """Hold the file of a journal.

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
