"""Lines of a file of ballots as text, and the error for a faulty one.

A fault is named with its line, an encoding's too.
"""

from collections.abc import Generator
from pathlib import Path

from ....protocol.errors import ConfigurationError
from ...reading.files import decode_lines, open_bytes, readable


def line_fault(path: Path, line: int, value: object, allowed: str, *, what: str = "") -> ConfigurationError:
    """Return the error for something on a line, from 1; by default all of it is meant."""
    place_text = f"{path.name} line {line}"
    return ConfigurationError(field=f"{what} ({place_text})" if what else place_text, value=value, allowed=allowed)


def read_lines(path: Path, *, field: str) -> Generator[str]:
    """Yield the lines of a file of UTF-8, which may be packed (`.gz`), with their ends.

    Whoever may stop before the end closes it (`contextlib.closing`): an error keeps a generator alive, and so its file
    open. A byte order mark is left out.
    """
    with readable(path, field=field, value=path), open_bytes(path) as file:
        yield from decode_lines(file, path)
