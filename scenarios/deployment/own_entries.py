"""Read a party's entries from its file, describe the questions for them, and write such a file."""

import csv
import dataclasses
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from ...protocol.errors import ConfigurationError, refuse, require
from ...protocol.phases import PhasedProtocol
from ..reading.files import MAX_FILE_BYTES, check_size, readable
from ..reading.text_forms import form_of, header_of, open_table, read_rows
from ..system import load_each, part_of

INPUT: Final = "--input"
"""The option that errors name for the file."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnFile:
    """One party's CSV file.

    Args:
        roles: possible headings of the column of names, which may be missing.
        header: the file's first line.
        rows: the other lines that are not blank, each with its line number.
    """

    path: Path
    party: str
    roles: Sequence[str]
    header: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]] = dataclasses.field(repr=False)

    def entries(self) -> list[tuple[int, dict[str, str]]]:
        """Return each row by column, without the names, and its line.

        Raises:
            ConfigurationError: a row is another party's.
        """
        lines: list[tuple[int, dict[str, str]]] = []
        for line, row in self.rows:
            own_cells = {name: entry.strip() for name, entry in zip(self.header, row, strict=True)}
            for role in self.roles:
                name = own_cells.pop(role, self.party)
                if name != self.party:
                    field = f"{role} ({self.path.name} line {line})"
                    raise ConfigurationError(field=field, value=name, allowed=f"{self.party!r}")
            lines.append((line, own_cells))
        return lines


@dataclasses.dataclass(frozen=True, kw_only=True)
class Questions:
    """The questions for a party without a file.

    Args:
        allowed: maps each question's name to the allowed answers, in words.
        entries: maps answers by question, possibly not all, to entries by column.

    Examples:
        >>> questions = Questions(allowed={"roof": "yes or no"})
        >>> questions.entries({"roof": "yes"})
        {'roof': 'yes'}
    """

    allowed: Mapping[str, str]
    entries: Callable[[Mapping[str, str]], Mapping[str, Any]] = dict


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnEntries:
    """How a system reads and writes one party's entries, if they are more than one line of text and numbers.

    Args:
        columns: the header by which a file of several lines is recognized.
        read: returns the entries by column; None if a file has a header and one line.
        write: maps a protocol and entries by column, as for `encode`, to a file's lines, header first; None if each
            entry is text or a number.
        ask: maps a protocol and the party's public row to questions. None asks for each private column if there is no
            `read`, and only for the file if there is one.
        is_by_rows: whether `read` needs only header and rows, so that one file may have the rows of several parties.
    """

    columns: frozenset[str] = frozenset()
    read: Callable[[OwnFile], Mapping[str, Any]] | None = None
    write: Callable[[PhasedProtocol[Any, Any], Mapping[str, Any]], Sequence[Sequence[str]]] | None = None
    ask: Callable[[PhasedProtocol[Any, Any], Sequence[int]], Questions] | None = None
    is_by_rows: bool = False


def questions_of(protocol: PhasedProtocol[Any, Any], public: Sequence[int]) -> Questions | None:
    """Return the questions for a party, one by one; None if its values need a file.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> questions_of(vote, ()).allowed
        {'weight': 'one of 1, 2', 'roof': 'yes or no'}
    """
    own_entries: OwnEntries | None = part_of(type(protocol), "own_entries", OwnEntries)
    if own_entries is not None and own_entries.ask is not None:
        return own_entries.ask(protocol, public)
    if own_entries is not None and own_entries.read is not None:
        return None
    return Questions(allowed={column.name: column.description for column in protocol.columns() if column.is_own})


def write_own_file(protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any]) -> bytes:
    r"""Return the content of one party's file, which `read_own_entries` can read.

    Args:
        entries: the party's entries by column, as for `encode`.

    Raises:
        ConfigurationError: an entry is neither text nor a number, and the system cannot write it.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> write_own_file(vote, {"weight": 1, "roof": "yes"})
        b'weight,roof\r\n1,yes\r\n'
    """
    own_entries: OwnEntries | None = part_of(type(protocol), "own_entries", OwnEntries)
    if own_entries is not None and own_entries.write is not None:
        lines = own_entries.write(protocol, entries)
    else:
        lines = [list(entries), [_cell_of(entry, column=name) for name, entry in entries.items()]]
    text = io.StringIO(newline="")
    csv.writer(text).writerows(lines)
    return text.getvalue().encode()


def _cell_of(entry: Any, *, column: str) -> str:
    value: object = cast("Any", entry).item() if isinstance(entry, np.generic) else entry
    if isinstance(value, (str, int, float)):
        return str(value)
    allowed = "text or a number, or the system says how a party's own file holds it (own_entries)"
    raise ConfigurationError(field=f"column {column!r}", value=f"a {type(value).__name__}", allowed=allowed)


def read_own_entries(path: Path, *, party: str, roles: Sequence[str]) -> Mapping[str, Any]:
    """Read one party's entries by column, from a CSV file with a header and that party's line.

    A file with the columns of a system's `OwnEntries` is read by it.

    Args:
        roles: possible headings of the column of names, which may be missing.

    Raises:
        ConfigurationError: the file cannot be read, has no line or several, or is another party's.
    """
    check_size(path, field=INPUT)
    with (
        readable(path, field=INPUT, what="a readable CSV file"),
        open_table(path, form_of(path, roles), max_lines=MAX_FILE_BYTES, num_empty=1) as table,
    ):
        header, rows = table.header, list(table)
        is_named = header and not table.unnamed and len(set(header)) == len(header)
    require(is_named, f"{path.name} line {table.line}", header, "a header of distinct, non-empty names")
    own_file = OwnFile(path=path, party=party, roles=roles, header=header, rows=rows)
    for _, known_entries in load_each("own_entries", OwnEntries):
        if known_entries.read is not None and known_entries.columns <= set(header):
            return known_entries.read(own_file)
    allowed = f"There are {len(rows)} lines below the header of {path}. Keep one, that of {party!r}."
    refuse(len(rows) != 1, INPUT, str(path), allowed)
    ((_, entries),) = own_file.entries()
    return entries


def read_entries_of_many(
    path: Path, protocol: type[PhasedProtocol[Any, Any]], *, field: str
) -> dict[str, Mapping[str, Any]] | None:
    """Read the entries of several parties, by name, from one file with a column of names.

    Args:
        field: the option that errors name for the file.

    Returns:
        None if each party has one line, or the file's columns are not those of a system's `OwnEntries`.

    Raises:
        ConfigurationError: the file cannot be read; also as `OwnEntries.read`.
    """
    role, header = protocol.client_role, header_of(path)
    known_entries = part_of(protocol, "own_entries", OwnEntries)
    if (
        known_entries is None
        or known_entries.read is None
        or not known_entries.is_by_rows
        or not {role, *known_entries.columns} <= set(header)
    ):
        return None
    refuse(len(set(header)) < len(header), f"{path.name} line 1", header, "a header of distinct, non-empty names")
    header.remove(role)
    rows: dict[str, list[tuple[int, Sequence[str]]]] = {}
    for line, (name, *row) in read_rows(path, role, *header, field=field):
        rows.setdefault(name.strip(), []).append((line, row))
    return {
        name: known_entries.read(OwnFile(path=path, party=name, roles=(), header=header, rows=entries_of_row))
        for name, entries_of_row in rows.items()
    }
