"""Files that somebody else wrote: what the system says of one becomes what is wrong with a setting.

A CSV file is refused, with its line, where it is not what it should be.
"""

import contextlib
import csv
import gzip
import operator
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Final, cast

from ...protocol.errors import ConfigurationError

__all__ = ["decoded", "header_of", "open_bytes", "open_text", "read_rows", "readable", "readable_in_data_folder"]

_BOM: Final = b"\xef\xbb\xbf"
_MAX_SHOWN_BYTES: Final = 40


@contextlib.contextmanager
def readable(path: Path, *, field: str, value: Path | None = None, what: str = "a readable file") -> Generator[None]:
    """Turn what the system says of a file into what is wrong with a setting.

    Args:
        path: the file.
        field: the setting.
        value: its value; by default the file.
        what: the setting should be.

    Raises:
        ConfigurationError: in place of it.
    """
    try:
        yield
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise ConfigurationError(field=field, value=str(value or path), allowed=f"{what} ({reason})") from None


def readable_in_data_folder(path: Path) -> AbstractContextManager[None]:
    """Do the same for a data set's file, which is in the data set's folder in the folder of all data sets."""
    what = f"a folder with a readable file {path.parent.name}/{path.name}"
    return readable(path, field="data", value=path.parent.parent, what=what)


def read_rows(path: Path, *columns: str, field: str = "") -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the rows of a CSV file, which may be packed (`.gz`): the line where each begins, and its entries.

    Blank lines are left out.

    Args:
        path: the file.
        columns: two or more of its header's, whose entries are wanted.
        field: the setting that names the file; empty where it is a data set's.

    Raises:
        ConfigurationError: the file cannot be read, lacks a column, or has a line that is no row of it.
    """
    line = 1  # where a row begins, which may go on over the lines that follow
    with readable(path, field=field) if field else readable_in_data_folder(path), open_text(path) as file:
        reader = csv.reader(file, strict=True)
        try:
            header = [name.strip() for name in next(reader, list[str]())]
            for column in columns:
                if column not in header:
                    allowed = f"a header with the column {column!r}"
                    raise ConfigurationError(field=f"{path.name} line 1", value=header, allowed=allowed)
            pick = operator.itemgetter(*map(header.index, columns))
            line = reader.line_num + 1
            for row in reader:
                if row and len(row) != len(header):
                    allowed = f"{len(header)} entries: {', '.join(header)}"
                    raise ConfigurationError(field=f"{path.name} line {line}", value=row, allowed=allowed)
                if row:
                    yield line, pick(row)
                line = reader.line_num + 1
        except csv.Error as error:
            allowed = f"well-formed CSV ({error})"
            raise ConfigurationError(field=f"{path.name} line {line}", value=str(path), allowed=allowed) from None


def open_text(path: Path) -> IO[str]:
    """Return a file of UTF-8, which may be packed (`.gz`), with or without a byte order mark; lines end as they do."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def open_bytes(path: Path) -> IO[bytes]:
    """Return a file, which may be packed (`.gz`)."""
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    return path.open("rb")


def decoded(file: IO[bytes], path: Path) -> Iterator[str]:
    """Yield the lines of a file of UTF-8, with or without a byte order mark, as text with their ends.

    Args:
        file: opened.
        path: its, for errors.

    Raises:
        ConfigurationError: a line is no text; the field names it.
    """
    for number, line in enumerate(file, start=1):
        content = line.removeprefix(_BOM) if number == 1 else line
        field = f"{path.name} line {number}"
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            allowed = f"UTF-8 text (byte {error.start + 1} of the line is 0x{content[error.start]:02x}: {error.reason})"
            raise ConfigurationError(field=field, value=content[:_MAX_SHOWN_BYTES], allowed=allowed) from None
        if "\0" in text:
            raise ConfigurationError(field=field, value=text[:_MAX_SHOWN_BYTES], allowed="text without NUL bytes")
        yield text


def header_of(path: str | Path) -> Sequence[str]:
    """Return the header of a CSV file; nothing where it cannot be read, which whoever reads it says."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return [name.strip() for name in next(csv.reader(file), list[str]())]
    except (OSError, UnicodeDecodeError, csv.Error):
        return ()
