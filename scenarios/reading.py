"""Files that somebody else wrote: what the system says of one becomes what is wrong with a setting."""

import contextlib
import zlib
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path

from ..protocol.errors import ConfigurationError

__all__ = ["readable", "readable_in_data_folder"]


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
