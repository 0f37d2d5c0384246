"""One party's entries: read from its own file, or asked for; and write such a file."""

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
"""What names the file, for errors."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnFile:
    """A CSV file of one party's own.

    Args:
        roles: what a column of names may be called; it may be missing.
        header: its first line.
        rows: the others that are not blank, each with its line number.
    """

    path: Path
    party: str
    roles: Sequence[str]
    header: Sequence[str]
    rows: Sequence[tuple[int, Sequence[str]]] = dataclasses.field(repr=False)

    def entries(self) -> list[tuple[int, dict[str, str]]]:
        """Return each row by column, without the names, and where it stands.

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
    """What a party is asked for that has no file.

    Args:
        allowed: what may be answered to each question, by its name.
        entries: returns the entries by column, of answers by question; it may be given some of the answers.

    Examples:
        >>> questions = Questions(allowed={"roof": "yes or no"})
        >>> questions.entries({"roof": "yes"})
        {'roof': 'yes'}
    """

    allowed: Mapping[str, str]
    entries: Callable[[Mapping[str, str]], Mapping[str, Any]] = dict


@dataclasses.dataclass(frozen=True, kw_only=True)
class OwnEntries:
    """How a system reads and writes one party's own entries that are more than a line, or more than text and numbers.

    Args:
        columns: of the header, by which a file of more than a line is known.
        read: returns the entries by column; None where a file has a header and one line.
        write: returns the lines of a file, the header first, of a protocol and the entries by column as `encode` takes
            them; None where each is text or a number.
        ask: returns what to ask for, of a protocol and the party's public row; None for each column of its own where
            there is no `read`, and for nothing but the file where there is one.
        is_by_rows: whether `read` needs the header and rows alone, so that those of several parties may be in one file.
    """

    columns: frozenset[str] = frozenset()
    read: Callable[[OwnFile], Mapping[str, Any]] | None = None
    write: Callable[[PhasedProtocol[Any, Any], Mapping[str, Any]], Sequence[Sequence[str]]] | None = None
    ask: Callable[[PhasedProtocol[Any, Any], Sequence[int]], Questions] | None = None
    is_by_rows: bool = False


def questions_of(protocol: PhasedProtocol[Any, Any], public: Sequence[int]) -> Questions | None:
    """Return what to ask a party for, one by one; None where only a file can hold it.

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
    r"""Return what one party's own file holds, which `read_own_entries` reads.

    Args:
        entries: by column, as `encode` takes them.

    Raises:
        ConfigurationError: an entry is neither text nor a number, and the system does not say how to write it.

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
    """Return one party's entries by column, from a CSV with a header and that party's line.

    A file with the columns of a system's `OwnEntries` is read as that says.

    Args:
        roles: what the column of names may be called; it may be missing.

    Raises:
        ConfigurationError: it cannot be read, holds no line or several, or another party's.
    """
    check_size(path, field=INPUT)

    fault = (INPUT, "{path}", "a well-formed CSV file ({error})")
    with (
        readable(path, field=INPUT, what="a readable CSV file"),
        open_table(path, form_of(path, roles), max_lines=MAX_FILE_BYTES, fault=fault, num_empty=1) as table,
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
    """Return the entries of several parties, by name, whose own files are parts of this one beside a column of names.

    Args:
        field: what names the file, for errors.

    Returns:
        None where a party has a line, or the file is none that a party may have.

    Raises:
        ConfigurationError: it cannot be read, or as `OwnEntries.read`.
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
