"""What a data set is: where its parties come from, what may be chosen, how its files are read.

A file is read as it was published, and refused, with its line, where it is not what it should be.
"""

import csv
import dataclasses
import gzip
import operator
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol
from ..loaded import Loaded
from ..reading import readable_in_data_folder

__all__ = ["DataSet", "Loaded", "read_rows"]


@dataclasses.dataclass(frozen=True)
class DataSet:
    """One data set: how its parties are chosen and read.

    Args:
        protocol: whose parties they can be.
        options: a struct; what a scenario may choose.
        load: returns the parties, of the options, the data set's own folder and the scenario's parameters, which have
            not been checked.
    """

    protocol: type[PhasedProtocol[Any, Any]]
    options: type[msgspec.Struct]
    load: Callable[[Any, Path, Mapping[str, Any]], Loaded]


def read_rows(path: Path, *columns: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the rows of a CSV file, which may be packed (`.gz`): the line where each begins, and its entries.

    Blank lines are left out.

    Args:
        path: the file.
        columns: two or more of its header's, whose entries are wanted.

    Raises:
        ConfigurationError: the file cannot be read, lacks a column, or has a line that is no row of it.
    """
    line = 1  # where a row begins, which may go on over the lines that follow
    with readable_in_data_folder(path), _open(path) as file:
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


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")
