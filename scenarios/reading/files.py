"""Read users' files: an error of the operating system becomes an error of the setting that names the file.

A line is refused, with its number, where it is no text.
"""

import contextlib
import gzip
import io
import os
import stat
import zlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path, PosixPath
from typing import IO, Any, AnyStr, Final, cast

from ...protocol.errors import ConfigurationError, did_you_mean, refuse

BOM: Final = b"\xef\xbb\xbf"  # what may stand before UTF-8
MAX_LINE: Final = 1 << 24  # characters, or bytes, of one line: more are no line of a table, and would fill the memory
MAX_FILE_BYTES: Final = 1 << 28  # of a table that is held in memory: as objects these are a few GB
CUT_SHORT: Final = "not empty: it was cut short as it was written. Repeat the command that did, with a new --out"
"""What a file of JSON has to be, of which a full disk or a kill left nothing."""
_MAX_SHOWN_BYTES: Final = 40
_IN_MEMORY: Final = frozenset({".json", ".csv", ".svg", ".md"})  # files of a run that are read whole


class HeldFile(PosixPath):
    """A file that is in memory alone: it has a name, for errors, and no place on a disk."""

    data: bytes


class WatchedFile(PosixPath):
    """A file of which it is known how far it has been read since it was opened last."""

    opened: Sequence[IO[Any]] = ()

    @property
    def num_read(self) -> int:
        """How many of its bytes, packed as they are, have been read; 0 of one that is closed."""
        last = next((file for file in reversed(self.opened) if not file.closed), None)
        return 0 if last is None else os.lseek(last.fileno(), 0, os.SEEK_CUR)


@contextlib.contextmanager
def readable(path: Path, *, field: str, value: Path | None = None, what: str = "a readable file") -> Generator[None]:
    """Turn what the system says of a file into a ConfigurationError of the setting that names it.

    The setting's value is the file unless given, and `what` it should be. Of `data`, it is the folder of all data sets,
    in which each has one. A pipe or a device, which may wait for ever, or have no end, is neither opened nor read.
    """
    if field == "data" and value is None:
        value, what = path.parent.parent, f"a folder with a readable file {path.parent.name}/{path.name}"
    try:
        check_regular(path, field=field)
        yield
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        shown = Path(str(value or path))
        hint = similar_files(shown) if isinstance(error, FileNotFoundError) and not shown.exists() else ""
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise ConfigurationError(field=field, value=str(value or path), allowed=f"{what} ({reason}){hint}") from None


def similar_files(path: Path) -> str:
    """Return a hint at what is called nearly as a path that is not there, in its folder; empty where nothing is."""
    with contextlib.suppress(OSError):
        return did_you_mean(path.name, sorted(each.name for each in path.parent.iterdir()))
    return ""


def check_regular(path: Path, *, field: str) -> None:
    """Raise ConfigurationError for what is neither a file nor a folder, nor missing: that is for whoever reads it."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    is_one = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    refuse(not is_one, field, str(path), "a file on a disk: save what comes through a pipe or a device as one first")


def check_size(path: Path, *, field: str, max_bytes: int = MAX_FILE_BYTES) -> None:
    """Raise ConfigurationError if a file is too large to be held in memory, or is no file on a disk.

    A missing one is for whoever reads it.
    """
    check_regular(path, field=field)
    with contextlib.suppress(OSError):
        if (num_bytes := size_of(path)) > max_bytes:
            allowed = f"a file of at most {max_bytes:,} bytes: all of it has to fit into memory"
            raise ConfigurationError(field=field, value=f"{path} of {num_bytes:,} bytes", allowed=allowed)


def size_of(path: Path) -> int:
    """Return how many bytes a file has."""
    return len(path.data) if isinstance(path, HeldFile) else path.stat().st_size


def check_files(folder: Path) -> None:
    """Refuse a run's folder whose files lead out of it, or to `private/`, or are too large, or pipes.

    Anybody may have made it. The folder itself may be a link.
    """
    field, what = "RUN", "the folder of a run"
    with readable(folder, field=field, what=what):
        folder_path = folder.resolve()
        for file in folder.iterdir():
            if file.is_symlink() and (target := file.resolve()).parent != folder_path:
                allowed = f"{what} whose files are in it: {file.name} leads to {target}"
                raise ConfigurationError(field=field, value=str(folder), allowed=allowed)
            check_regular(file, field=f"{field} {file.name}")
            if file.suffix in _IN_MEMORY:
                check_size(file, field=field)


def open_text(path: Path, encoding: str = "utf-8-sig", *, errors: str = "strict") -> IO[str]:
    """Return a file of text, which may be packed (`.gz`); lines end as they do.

    It is UTF-8, with or without a byte order mark, unless said otherwise.
    """
    if isinstance(path, HeldFile):
        return io.TextIOWrapper(open_bytes(path), encoding=encoding, errors=errors, newline="")
    if path.suffix == ".gz":
        return _watch_file(path, gzip.open(path, "rt", encoding=encoding, errors=errors, newline=""))
    return _watch_file(path, path.open(encoding=encoding, errors=errors, newline=""))


def open_bytes(path: Path) -> IO[bytes]:
    """Return a file, which may be packed (`.gz`)."""
    if isinstance(path, HeldFile):
        return io.BytesIO(path.data)
    return _watch_file(path, cast("IO[bytes]", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb"))


def _watch_file(path: Path, open_file: IO[AnyStr]) -> IO[AnyStr]:
    if isinstance(path, WatchedFile):
        path.opened = [*(file for file in path.opened if not file.closed), open_file]
    return open_file


def decode_lines(file: IO[bytes], path: Path) -> Iterator[str]:
    """Yield the lines of a file of UTF-8, with or without a byte order mark, as text with their ends."""
    for number, line in read_bounded_lines(file, path):
        yield decode_line(line.removeprefix(BOM) if number == 1 else line, f"{path.name} line {number}")


def decode_line(line: bytes, place_text: str, *, hint: str = "") -> str:
    """Return a line of UTF-8, without a byte order mark, as text.

    Raises:
        ConfigurationError: it is no text, or holds a NUL: `place_text` it stands, and with a hint what to do about it.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        hint = hint or "; save it as CSV (UTF-8) in the program that wrote it"
        allowed = f"UTF-8 text (byte {error.start + 1} of the line is 0x{line[error.start]:02x}: {error.reason}){hint}"
        raise ConfigurationError(field=place_text, value=line[:_MAX_SHOWN_BYTES], allowed=allowed) from None
    refuse("\0" in text, place_text, text[:_MAX_SHOWN_BYTES], "text without NUL bytes")
    return text


def read_bounded_lines(file: IO[AnyStr], path: Path) -> Iterator[tuple[int, AnyStr]]:
    """Yield the number of each line, from 1, and the line with its end; ConfigurationError if it is over `MAX_LINE`."""
    number = 1
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            place_text, start = f"{path.name} line {number}", line[:_MAX_SHOWN_BYTES]
            raise ConfigurationError(
                field=place_text, value=start, allowed=f"a line of less than {MAX_LINE:,} characters"
            )
        yield number, line
        number += 1
