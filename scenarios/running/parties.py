"""The parties of a scenario: from a CSV file, a generator or a data set, or written down in the scenario.

A file has a header: the role's name (partner, voter), then the protocol's columns; one of a crowd's answers has a line
for each answer instead. Every fault is named with its line before anything runs.
"""

import collections
import contextlib
import csv
import dataclasses
import re
from collections.abc import Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from ...protocol.errors import ConfigurationError
from ...protocol.fair_voting import FairVoting
from ...protocol.moral_preferences import MoralPreferences
from ...protocol.phases import Entries, PhasedProtocol
from ...protocol.roles import check_party_name
from ...protocol.truth_discovery import TruthDiscovery
from ..datasets import load_data_set
from ..dpwevote.data.made_up import generate
from ..fair_voting.data.parties import is_of_ballots, load_electorate
from ..moral_preferences.data import load_voters
from ..truth_discovery.data.parties import load_workers
from .loaded import Loaded

__all__ = ["PartiesTable", "check_names", "read_parties", "read_parties_file"]


@dataclasses.dataclass(frozen=True)
class PartiesTable:
    """Names and entries, in roster order.

    Args:
        names: the parties.
        table: the other columns.
        lines: where each party stands in its file; empty where there is none.
        source: what to call that in errors.
        is_generated: whether a generator made up what is private of them.
        is_of_data_set: whether a data set holds them.
        is_public_record: whether everybody may know their values already.
        parameters: what a data set says of the protocol's parameters, where the scenario does not.
        fixed: which of these cannot be set otherwise.
        gold: what is true, where somebody knows: a name's true value.
        note: what became of the rows of their file, as a line for people.
        has_header: whether the first line of their file says what is in the others.
    """

    names: Sequence[str]
    table: Mapping[str, Entries]
    lines: Sequence[int] = ()
    source: str = ""
    is_generated: bool = False
    is_of_data_set: bool = False
    is_public_record: bool = False
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    fixed: frozenset[str] = frozenset()
    gold: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    note: str = ""
    has_header: bool = True

    def complete(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return a scenario's parameters with what the source of the parties says of the others.

        Raises:
            ConfigurationError: one is given otherwise that follows from the parties.
        """
        for name in self.fixed & given.keys():
            if given[name] != self.parameters[name]:
                allowed = f"left out: it follows from {self.source or 'the parties'}"
                raise ConfigurationError(field=name, value=given[name], allowed=allowed)
        return {**self.parameters, **given}

    @contextlib.contextmanager
    def naming_lines(self) -> Generator[None]:
        """Let errors about the table's rows name line and party rather than the row, and other ones the file's header.

        Raises:
            ConfigurationError: what the code inside raises.
        """
        try:
            yield
        except ConfigurationError as error:
            row = re.search(r"(.*) in row (\d+)(: .*)?$", error.field)
            if row is None and not (self.lines and self.has_header):
                raise
            if row is None:
                field = f"{error.field} ({self.source} line 1)"
                raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None
            number = int(row[2])
            where = self.names[number - 1]
            if self.lines:
                where = f"{self.source} line {self.lines[number - 1]}, {where}"
            field = f"{row[1]}{row[3] or ''} ({where})"
            raise ConfigurationError(field=field, value=error.value, allowed=error.allowed) from None


def read_parties(
    parties: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    parameters: Mapping[str, Any],
    protocol: type[PhasedProtocol[Any, Any]],
    data: str = "",
) -> PartiesTable:
    """Return the parties that a scenario names.

    Args:
        parties: a CSV file's path, a generator's table, one that names a data set, or a table for each party.
        parameters: the scenario's, before they are checked.
        protocol: whose columns and role.
        data: the folder of data sets.

    Raises:
        ConfigurationError: there are none, a file cannot be read, a column or an entry is missing, a party is named
            twice.
    """
    role = protocol.client_role
    if not parties:
        kept = f"a run's scenario.json keeps none that its scenario listed: give --set {role}s=FILE"
        allowed = f"a file, a generator, or at least one {role} ({kept})"
        raise ConfigurationError(field=f"{role}s", value="none", allowed=allowed)
    match parties:
        case Mapping() if "data" in parties:
            loaded = load_data_set(parties, folder=data, parameters=parameters, protocol=protocol)
            return _from_loaded(loaded, role, is_of_data_set=True)
        case str() | Mapping() if issubclass(protocol, TruthDiscovery) and not _is_table(parties, {role, "tasks"}):
            return _from_loaded(load_workers(parties, parameters=parameters), role)
        case str() | Mapping() if issubclass(protocol, MoralPreferences) and not _is_table(parties, {role}, {"record"}):
            return _from_loaded(load_voters(parties), role)
        case Mapping() if issubclass(protocol, FairVoting):
            return _from_loaded(load_electorate(parties), role)
        case str() if issubclass(protocol, FairVoting) and is_of_ballots(parties):
            return _from_loaded(load_electorate(parties), role)
        case str():
            return read_parties_file(Path(parties), role)
        case Mapping():
            count, table = generate(protocol, parties, parameters=parameters)
            return PartiesTable([f"{role}-{number}" for number in range(1, count + 1)], table, is_generated=True)
        case _:
            return _from_rows(parties, role)


def _is_table(
    parties: str | Mapping[str, Any], columns: AbstractSet[str], others: AbstractSet[str] = frozenset()
) -> bool:
    """Return whether parties are a file with a line for each of them, not one for each answer or record.

    Args:
        parties: what a scenario names.
        columns: that such a file has.
        others: that such a file has not.
    """
    if not isinstance(parties, str):
        return False
    try:
        with Path(parties).open(encoding="utf-8-sig", newline="") as file:
            header = [name.strip() for name in next(csv.reader(file), list[str]())]
    except (OSError, UnicodeDecodeError, csv.Error):
        return False  # whoever reads it says why
    return columns <= set(header) and not others & set(header)


def _from_loaded(loaded: Loaded, role: str, *, is_of_data_set: bool = False) -> PartiesTable:
    return PartiesTable(
        names=check_names(loaded.names, role, source=loaded.source, lines=loaded.lines),
        table=loaded.table,
        lines=loaded.lines,
        source=loaded.source,
        is_generated=loaded.is_generated,
        is_of_data_set=is_of_data_set,
        is_public_record=loaded.is_public_record,
        parameters=loaded.parameters,
        fixed=loaded.fixed,
        gold=loaded.gold,
        note=loaded.note,
        has_header=not is_of_ballots(loaded.source),
    )


def _from_rows(rows: Sequence[Mapping[str, Any]], role: str) -> PartiesTable:
    ((usual, _),) = collections.Counter(frozenset(row) for row in rows).most_common(1)
    columns = next(list(row) for row in rows if usual == frozenset(row))
    for number, row in enumerate(rows, start=1):
        if frozenset(row) != usual or role not in row:
            allowed = f"{role} and the columns of the others: {', '.join(columns)}"
            raise ConfigurationError(field=f"{role}s[{number}]", value=sorted(row), allowed=allowed)
    names = check_names([str(row[role]) for row in rows], role)
    return PartiesTable(names, {column: [row[column] for row in rows] for column in columns if column != role})


def read_parties_file(path: Path, role: str) -> PartiesTable:
    """Return the parties of a CSV file with a line for each of them.

    Args:
        path: the file.
        role: what the column of names is called.

    Raises:
        ConfigurationError: it cannot be read, has no such column, no line, or one that is no row of it.
    """
    line = 1  # where a record begins, which may go on over the lines that follow
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # with or without a byte-order mark
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, list[str]())]
            _check_header(header, path, role)
            rows: list[tuple[str, ...]] = []
            lines: list[int] = []
            line = reader.line_num + 1
            for row in reader:
                if row and len(row) != len(header):
                    allowed = f"{len(header)} entries: {', '.join(header)}"
                    raise ConfigurationError(field=f"{path.name} line {line}", value=row, allowed=allowed)
                if row:  # no blank line
                    rows.append(tuple(row))  # of text alone, which the collector leaves in peace: a list it would not
                    lines.append(line)
                line = reader.line_num + 1
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(field=f"{role}s", value=str(path), allowed=f"a readable CSV file ({reason})") from None
    except csv.Error as error:
        allowed = f"a well-formed CSV file (line {line}: {error})"
        raise ConfigurationError(field=f"{role}s", value=str(path), allowed=allowed) from None
    if not rows:
        raise ConfigurationError(field=f"{role}s", value=str(path), allowed=f"a file with at least one {role}")
    entries = {name: [row[place] for row in rows] for place, name in enumerate(header)}
    names = check_names([name.strip() for name in entries.pop(role)], role, source=path.name, lines=lines)
    return PartiesTable(names, entries, lines, path.name)


def _check_header(header: Sequence[str], path: Path, role: str) -> None:
    for number, name in enumerate(header):
        if not name or name in header[:number]:
            allowed = "a header of distinct, non-empty names"
            raise ConfigurationError(field=f"{path.name} line 1", value=name, allowed=allowed)
    if role not in header:
        allowed = f"a header with the column {role!r}"
        raise ConfigurationError(field=f"{path.name} line 1", value=list(header), allowed=allowed)


def check_names(names: Sequence[Any], role: str, *, source: str = "", lines: Sequence[int] = ()) -> Sequence[str]:
    """Return the names, if they can name the parties of a session.

    Args:
        names: of the parties, in roster order.
        role: what a party is called in errors.
        source: the file that they are from.
        lines: where each stands in it; empty where there is no file.

    Raises:
        ConfigurationError: there is none, one is taken twice, or one cannot name a party.
    """
    if not names:
        raise ConfigurationError(field=f"{role}s", value="none", allowed=f"at least one {role}")
    with contextlib.suppress(ConfigurationError):
        if all(isinstance(name, str) and check_party_name(name) for name in names) and len(set(names)) == len(names):
            return names
    # One of them cannot be: look for the first, and for where it stands.
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        where = f"{role} ({source} line {lines[place]})" if lines else role
        if not isinstance(name, str):
            raise ConfigurationError(field=where, value=name, allowed="a name, as text")
        check_party_name(name, field=where)
        if places.setdefault(name, place) != place:
            first = f"line {lines[places[name]]}" if lines else f"row {places[name] + 1}"
            raise ConfigurationError(field=where, value=name, allowed=f"named once (it is also in {first})")
    return names
