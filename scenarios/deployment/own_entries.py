"""One party's own entries, from a file that is its alone."""

import csv
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...protocol.errors import ConfigurationError
from ..system import load_each

__all__ = ["INPUT", "OwnEntries", "OwnFile", "read_own_entries"]

INPUT: Final = "--input"
"""What names the file, for errors."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnFile:
    """A CSV file of one party's own.

    Args:
        path: the file.
        party: whose.
        roles: what a column of names may be called; it may be missing.
        header: its first line.
        rows: the others that are not blank, each with its line number.
    """

    path: Path
    party: str
    roles: Sequence[str]
    header: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]]

    def entries(self) -> list[tuple[int, dict[str, str]]]:
        """Return each row by column, without the names, and where it stands.

        Raises:
            ConfigurationError: a row has another number of entries, or is another party's.
        """
        lines: list[tuple[int, dict[str, str]]] = []
        for line, row in self.rows:
            if len(row) != len(self.header):
                field, allowed = (
                    f"{self.path.name} line {line}",
                    f"{len(self.header)} entries: {', '.join(self.header)}",
                )
                raise ConfigurationError(field=field, value=f"{len(row)} entries", allowed=allowed)
            own = {name: entry.strip() for name, entry in zip(self.header, row, strict=True)}
            for role in self.roles:
                name = own.pop(role, self.party)
                if name != self.party:
                    field = f"{role} ({self.path.name} line {line})"
                    raise ConfigurationError(field=field, value=name, allowed=f"{self.party!r}")
            lines.append((line, own))
        return lines


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnEntries:
    """How a system reads a file of one party's own entries that has more than a line of them.

    Args:
        columns: of the header, by which such a file is known.
        read: returns the entries by column.
    """

    columns: frozenset[str]
    read: Callable[[OwnFile], Mapping[str, Any]]


def read_own_entries(path: Path, *, party: str, roles: Sequence[str]) -> Mapping[str, Any]:
    """Return one party's entries by column, from a CSV with a header and that party's line.

    A file with the columns of a system's `OwnEntries` is read as that says.

    Args:
        path: the file.
        party: whose.
        roles: what the column of names may be called; it may be missing.

    Raises:
        ConfigurationError: it cannot be read, holds no line or several, or another party's.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, list[str]())]
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        allowed = f"a readable CSV file ({reason})"
        raise ConfigurationError(field=INPUT, value=str(path), allowed=allowed) from None
    except csv.Error as error:
        allowed = f"a well-formed CSV file ({error})"
        raise ConfigurationError(field=INPUT, value=str(path), allowed=allowed) from None
    if not all(header) or len(set(header)) < len(header) or not header:
        allowed = "a header of distinct, non-empty names"
        raise ConfigurationError(field=f"{path.name} line 1", value=header, allowed=allowed)
    own = OwnFile(path=path, party=party, roles=roles, header=header, rows=rows)
    for _, known in load_each("own_entries", OwnEntries):
        if known.columns <= set(header):
            return known.read(own)
    if len(rows) != 1:
        allowed = f"a header and one line, that of {party!r}"
        raise ConfigurationError(field=INPUT, value=f"{path} with {len(rows)} lines below its header", allowed=allowed)
    ((_, entries),) = own.entries()
    return entries
