"""Tables in Parquet and Arrow, by pyarrow, an extra: read at once, as the rows that a CSV file of them has."""

import contextlib
import functools
import importlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

from ...protocol.errors import ConfigurationError, refuse, require
from .cells import text_of
from .files import check_size

BEGINNINGS: Final = (b"PAR1", b"ARROW1")
"""Of such files."""


@functools.cache
def _import_pyarrow() -> Any:
    try:
        return importlib.import_module("pyarrow")  # an extra, which files of text do not need
    except ImportError:
        return None


def pyarrow_for(path: Path) -> Any:
    """Return pyarrow; ConfigurationError, of a file that needs it, where it is not installed."""
    allowed = "Parquet and Arrow need `pip install 'psephos[columnar]'`. Or save it as CSV."
    require(arrow := _import_pyarrow(), path.name, str(path), allowed)
    return arrow


@contextlib.contextmanager
def translate_arrow_errors(path: Path, form: str) -> Generator[None]:
    """Turn what pyarrow says of a damaged file into a ConfigurationError."""
    arrow = pyarrow_for(path)
    try:
        yield
    except arrow.ArrowException as error:
        problem = str(error).partition("\n")[0]
        raise ConfigurationError(
            field=path.name, value=str(path), allowed=f"a whole file of {form} ({problem})"
        ) from None


def rows_of_columns(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file of columns as text, its names before them, numbered as the lines of a CSV file."""
    check_size(path, field=path.name)
    with translate_arrow_errors(path, "Parquet or Arrow"), path.open("rb") as file:
        is_parquet = file.read(len(BEGINNINGS[0])) == BEGINNINGS[0]
        arrow = pyarrow_for(path)
        if is_parquet:
            table = importlib.import_module("pyarrow.parquet").ParquetFile(path).read()
        else:
            table = arrow.ipc.open_file(path.read_bytes()).read_all()
        yield 1, list(table.column_names)
        number = 1
        for batch in table.to_batches():
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                for cell in row:
                    is_several = isinstance(cell, (list, dict, bytes))
                    refuse(is_several, f"{path.name} row {number - 1}", cell, "a text, a number, true or false, a time")
                yield number, ["" if cell is None else text_of(cell) for cell in row]
