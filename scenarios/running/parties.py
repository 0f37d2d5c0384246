"""Read the parties of a scenario: from a CSV file, a generator, a data set, or the scenario itself.

A file has a header with the role's name (partner, voter) and the protocol's columns; a crowd's file has a line for each
answer. Errors name the line, and are found before anything runs.
"""

import collections
import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ...protocol.columns import first_alike, normalize_name
from ...protocol.errors import ConfigurationError, did_you_mean, quote, refuse, require
from ...protocol.phases import PhasedProtocol
from ...protocol.roles import check_party_name
from ..datasets import load_data_set
from ..reading.batches import is_columnar, is_table
from ..reading.columns import NameColumn, join_batches, read_text
from ..reading.files import MAX_FILE_BYTES, check_size, readable
from ..reading.frames import path_of
from ..reading.headers import USUAL, TableOptions, check_column_names
from ..reading.sources import PartiesTable, PartySources
from ..reading.text_forms import form_of, open_table
from ..system import part_of

_NAME: Final = "name"  # alternative heading of the column of names
_AS_THEY_ARE: Final[Mapping[str, str]] = MappingProxyType({})


def read_parties(
    parties: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    parameters: Mapping[str, Any],
    protocol: type[PhasedProtocol[Any, Any]],
    data: str = "",
) -> PartiesTable:
    """Return the parties of a scenario, whose parameters are not yet checked.

    `parties` is a CSV file's path, a generator's table, a table that names a data set, or a list of tables, one for
    each party.

    Raises:
        ConfigurationError: there are no parties, a file cannot be read, a column or an entry is missing, or a party is
            repeated.
    """
    role = protocol.client_role
    advice = f"a run's scenario.json keeps none that its scenario listed: give --set {role}s=FILE"
    allowed = f"a file, a generator, or at least one {role} ({advice})"
    require(parties, f"{role}s", "none", allowed)
    sources = sources_of(protocol)
    fields = parties if isinstance(parties, Mapping) else dict[str, Any]()
    allowed = "left out: it is of files that are read in batches, by `psephos run`"
    refuse("manifest" in fields, f"{role}s.manifest", fields.get("manifest"), allowed)
    for path in (parties,) if isinstance(parties, str) else (fields[key] for key in sources.paths if key in fields):
        allowed = "one file, read at once: many files, and larger ones, are for `psephos run`"
        refuse(isinstance(path, str) and is_columnar(path) and not is_table(path), f"{role}s", path, allowed)
    match parties:
        case Mapping() if "data" in parties:
            parties_loaded = load_data_set(parties, folder=data, parameters=parameters, protocol=protocol)
            return _checked(dataclasses.replace(parties_loaded, is_of_data_set=True), role)
        case str() | Mapping():
            parties_loaded = None if sources.read is None else sources.read(parties, parameters=parameters)
            if parties_loaded is not None:
                return _checked(parties_loaded, role)
            if isinstance(parties, str):
                return read_parties_file(path_of(parties), role)
            allowed = "a file or a list: this protocol has no generator"
            raise ConfigurationError(field=f"{role}s", value=dict(parties), allowed=allowed)
        case _:
            return _from_rows(parties, role)


def sources_of(protocol: type[PhasedProtocol[Any, Any]]) -> PartySources:
    """Return the sources of parties of a protocol's system; empty without a system.

    Examples:
        >>> from psephos.scenarios.system import find_protocol
        >>> "file" in sources_of(find_protocol("dpwevote")).keys
        True
    """
    return part_of(protocol, "sources", PartySources) or PartySources()


def _checked(parties: PartiesTable, role: str) -> PartiesTable:
    names = check_names(parties.names, role, source=parties.source, lines=parties.lines)
    return dataclasses.replace(parties, names=names)


def _from_rows(rows: Sequence[Mapping[str, Any]], role: str) -> PartiesTable:
    ((usual_keys, _),) = collections.Counter(frozenset(row) for row in rows).most_common(1)
    columns = next(list(row) for row in rows if usual_keys == frozenset(row))
    for number, row in enumerate(rows, start=1):
        if frozenset(row) != usual_keys or role not in row:
            allowed = f"{role} and the columns of the others: {', '.join(columns)}"
            raise ConfigurationError(field=f"{role}s[{number}]", value=sorted(row), allowed=allowed)
    names = check_names([str(row[role]) for row in rows], role)
    if (places := first_alike(names)) is not None:
        first, second_name = (names[place] for place in places)
        allowed = (
            f"unlike {first!r}, but for case and blanks: if both are one person, leave one out, else name them apart"
        )
        raise ConfigurationError(field=f"{role}s[{places[1] + 1}].{role}", value=second_name, allowed=allowed)
    return PartiesTable(names, {column: [row[column] for row in rows] for column in columns if column != role})


def read_parties_file(
    path: Path,
    role: str,
    columns: Mapping[str, str] = _AS_THEY_ARE,
    *,
    has_numbers: bool = False,
    options: TableOptions = USUAL,
) -> PartiesTable:
    """Read parties from a CSV file of any form (`reading.text_forms`), with a line for each party.

    Args:
        role: heading of the column of names.
        columns: maps columns to the file's different headings.
        has_numbers: whether the file has no names, and parties are named by their line number.
        options: options for reading the table.
    """
    field = f"{role}s"
    check_size(path, field=field)
    with contextlib.ExitStack() as stack:
        stack.enter_context(readable(path, field=field, what="a readable CSV file"))
        form = form_of(path, [] if has_numbers else [columns.get(role, role)], options)
        table = stack.enter_context(open_table(path, form, max_lines=MAX_FILE_BYTES))
        place_text = f"{path.name} line {table.line}"
        is_said = columns or has_numbers  # otherwise every column counts, and one without a heading is ambiguous
        require(is_said or not table.unnamed, place_text, "", "a header of distinct, non-empty names")
        header = _rename_header(table.header, place_text, "" if has_numbers else role, columns, role=role)
        places = {name: place for place, name in enumerate(header)}
        batches = read_text(path, form, table, places, uncoded=[role], max_bytes=MAX_FILE_BYTES)
        rows = join_batches(batches, names="" if has_numbers else role)
    allowed = f"There is no row in {path.name}. Add a line for each {role} below its header."
    require(rows.num_rows, f"{role}s", str(path), allowed)
    entries, width = dict(rows.table), len(str(rows.num_rows))
    names_of_rows = (
        [f"{role} {number:0{width}d}" for number in range(1, rows.num_rows + 1)] if has_numbers else entries.pop(role)
    )
    names = (
        names_of_rows
        if isinstance(names_of_rows, NameColumn) and names_of_rows.are_plain
        else [name.strip() for name in names_of_rows]
    )
    names = check_names(names, role, source=path.name, lines=rows.lines)
    return PartiesTable(names, entries, rows.lines, path.name, note=table.note())


def _rename_header(
    header: Sequence[str], place_text: str, names: str, columns: Mapping[str, str], *, role: str
) -> list[str]:
    """Return a file's header with the protocol's names of columns; the column of names may be missing."""
    for column, name in columns.items():
        if name not in header:
            allowed = (
                f"a column of {place_text.partition(' line ')[0]}: {', '.join(header)}{did_you_mean(name, header)}"
            )
            raise ConfigurationError(field=f"{role}s.columns.{column}", value=name, allowed=allowed)
    column_of_name = {name: column for column, name in columns.items()}
    header = [column_of_name.get(name, name) for name in header]
    folded_header = [name.casefold() for name in header]
    name_columns = [
        place for place, name in enumerate(folded_header) if name == (names if names in folded_header else _NAME)
    ]
    if names and names not in header and len(name_columns) == 1:
        header[name_columns[0]] = names
    check_column_names(header, place_text)
    allowed = f"a header with the column {names!r}{did_you_mean(names, header)}"
    require(not names or names in header, place_text, header, allowed)
    return header


def check_names(names: Sequence[Any], role: str, *, source: str = "", lines: Sequence[int] = ()) -> Sequence[str]:
    """Return names in roster order after checking that they are valid and distinct, and at least one.

    `lines` are the names' lines in a file; empty without a file.

    Examples:
        >>> check_names(["ann", "bob"], "partner")
        ['ann', 'bob']
        >>> check_names(["ann", "ann"], "partner")
        Traceback (most recent call last):
        psephos.protocol.errors.ConfigurationError: partner: Is it one partner? 'ann' is also in row 1. Keep ...
    """
    require(names, f"{role}s", "none", f"at least one {role}")
    with contextlib.suppress(ConfigurationError):
        if _are_of_a_large_file(names):
            return names
        if all(isinstance(name, str) and check_party_name(name) for name in names) and len(set(names)) == len(names):
            return names
    # At least one name is invalid: find the first, and its line.
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        place_text = f"{role} ({source} line {lines[place]})" if lines else role
        if not isinstance(name, str):
            raise ConfigurationError(field=place_text, value=name, allowed="a name, as text")
        check_party_name(name, field=place_text)
        if places.setdefault(name, place) != place:
            first = f"line {lines[places[name]]}" if lines else f"row {places[name] + 1}"
            allowed = (
                f"Is it one {role}? {quote(name)} is also in {first}. Keep one of the two, or give each its own name."
            )
            raise ConfigurationError(field=place_text, value=name, allowed=allowed)
    return names


def _are_of_a_large_file(names: Sequence[Any]) -> bool:
    """Return whether names of a large file are valid, checked without creating strings."""
    return isinstance(names, NameColumn) and names.are_plain and names.are_distinct


def check_unlike(parties: PartiesTable, role: str) -> None:
    """Raise ConfigurationError if two names in a file differ only in case or blanks.

    They may belong to one person, who would be charged twice; a scenario's `repeats` decides.
    """
    are_unlike = isinstance(parties.names, NameColumn) and parties.names.are_unlike
    if are_unlike or (places := first_alike(parties.names)) is None:
        return
    first, second_place = places
    allowed = (
        f"unlike {parties.names[first]!r} in {parties.source} line {parties.lines[first]}, but for case and blanks: "
        "if both are "
        f"one person, set {role}s.repeats to the line that counts (first or last), if not, to none"
    )
    place_text = f"{role} ({parties.source} line {parties.lines[second_place]})"
    raise ConfigurationError(field=place_text, value=parties.names[second_place], allowed=allowed)


def one_row_each(parties: PartiesTable, role: str, row_that_counts: str) -> PartiesTable:
    """Return the first or the last row of each party; names that differ only in case or blanks are equal.

    Raises:
        ConfigurationError: there is no such column.
    """
    allowed = f"a header with the column {role!r}, or {role}s.columns, which says what it is called"
    require(role in parties.table, f"{parties.source} line 1", list(parties.table), allowed)
    names = [str(name).strip() for name in parties.table[role]]
    rows = range(len(names)) if row_that_counts == "last" else reversed(range(len(names)))
    kept_rows = sorted({normalize_name(names[row]): row for row in rows}.values())
    table = {name: entries for name, entries in parties.table.items() if name != role}
    number = len(names) - len(kept_rows)
    note = f"Of {role}s with several rows the {row_that_counts} one counts: {number:,} of {len(names):,} are left out."
    return dataclasses.replace(parties, names=names, table=table).of_rows(kept_rows).with_note(note if number else "")
