"""Rosters: the parties that may take part in a session as separate processes, their public columns, and certificates.

Private columns of a parties' table are never read.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ...protocol.columns import unknown_column
from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol
from ..reading.cells import plain_cell
from ..reading.files import check_regular
from ..reading.sources import PartiesTable
from .parties import read_parties_file, sources_of

ROSTER_FILE: Final = "roster.csv"  # file name in a folder of `psephos roster`
PARAMETERS_FILE: Final = "parameters.json"  # file of the protocol's parameters, as in the invitations
FINGERPRINT_COLUMN: Final = "certificate_sha256"  # column of the fingerprints of the parties' certificates
SIGNATURE_COLUMN: Final = "signature_key"  # column of the public signature keys, in masked sessions
KEY_COLUMNS: Final = frozenset({FINGERPRINT_COLUMN, SIGNATURE_COLUMN})
_SAID_ELSEWHERE: Final = "set, in the scenario or by --set: a roster has only public columns, and they do not say it"


def read_roster(path: Path, kind: type[PhasedProtocol[Any, Any]]) -> PartiesTable:
    """Read a roster's parties from a CSV file, or from a folder of `psephos roster`.

    The columns are the role's name, the public columns, and `FINGERPRINT_COLUMN`. A folder also has the agreed
    parameters that describe the parties' table.
    """
    try:
        parties = read_parties_file(path / ROSTER_FILE if path.is_dir() else path, kind.client_role)
    except ConfigurationError as error:
        if error.field != f"{kind.client_role}s":
            raise
        raise ConfigurationError(field="--roster", value=error.value, allowed=error.allowed) from None
    table = {plain_cell(name): [plain_cell(str(entry)) for entry in entries] for name, entries in parties.table.items()}
    agreed_parameters: Mapping[str, Any] = _read_agreed(path / PARAMETERS_FILE, kind) if path.is_dir() else {}
    return dataclasses.replace(
        parties, names=[plain_cell(name) for name in parties.names], table=table, parameters=agreed_parameters
    )


def _read_agreed(path: Path, kind: type[PhasedProtocol[Any, Any]]) -> Mapping[str, Any]:
    """Return the agreed parameters that the parties' table determines; the scenario states all others.

    They are read from the agreement, since a table may determine them differently from its source, such as the order of
    tasks.
    """
    sources = sources_of(kind)
    check_regular(path, field="--roster")
    try:
        agreed_parameters = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        allowed = f"The parameters in {path} cannot be read ({error}). Draw up a new roster."
        raise ConfigurationError(field="--roster", value=str(path), allowed=allowed) from None
    of_table = sources.parameters_of_table | sources.implied_parameters
    return {name: value for name, value in agreed_parameters.items() if name in of_table}


def merge_roster(
    kind: type[PhasedProtocol[Any, Any]],
    roster: PartiesTable,
    own_parties: PartiesTable | None,
    parameters: Mapping[str, Any],
) -> PartiesTable:
    """Return the table that determines the parameters that a scenario leaves to its parties.

    A roster has only public columns. `own_parties` is None if the scenario has none, or if an agreement determines all.
    """
    sources = sources_of(kind)
    if own_parties is None:
        if left_out := parameters_left_to_parties(kind, {**roster.parameters, **parameters}):
            raise ConfigurationError(field=left_out[0], value="left out", allowed=_SAID_ELSEWHERE)
        stated_names = {name for group in sources.alternatives if group & parameters.keys() for name in group}
        agreed_parameters = {name: value for name, value in roster.parameters.items() if name not in stated_names}
        return dataclasses.replace(roster, parameters=agreed_parameters)
    of_public = sources.parameters_of_public_columns
    table = {name: entries for name, entries in own_parties.table.items() if name not in KEY_COLUMNS}
    # The roster's public columns override those of the scenario's own parties.
    other_parameters = {name: value for name, value in own_parties.parameters.items() if name not in of_public}
    with roster.name_lines_in_errors():
        of_roster = of_public & kind.complete({**other_parameters, **parameters}, {**table, **roster.table}).keys()
    kept_parameters = {name: value for name, value in own_parties.parameters.items() if name not in of_roster} | dict(
        roster.parameters
    )
    return dataclasses.replace(
        own_parties, table=table, parameters=kept_parameters, fixed=own_parties.fixed - of_roster
    )


def parameters_left_to_parties(kind: type[PhasedProtocol[Any, Any]], parameters: Mapping[str, Any]) -> list[str]:
    """Return the parameters that only the scenario's own parties determine, since no public column does."""
    sources = sources_of(kind)
    needed_parameters = sources.parameters_of_table - sources.parameters_of_public_columns - sources.implied_parameters
    return sorted(needed_parameters - parameters.keys())


def check_columns(parties: PartiesTable, known_names: Sequence[str]) -> None:
    """Raise ConfigurationError if there is an unknown column, such as a misspelled one."""
    for name in parties.table:
        if name not in known_names:
            raise unknown_column(name, known_names, field=f"{name} ({parties.source} line 1)" if parties.lines else "")


def fingerprints_in(parties: PartiesTable) -> list[str] | None:
    """Return the fingerprints of the parties' certificates; None if they have none."""
    return _digits_in(parties, FINGERPRINT_COLUMN)


def signature_keys_in(parties: PartiesTable) -> list[bytes] | None:
    """Return the parties' public signature keys; None if they have none."""
    keys = _digits_in(parties, SIGNATURE_COLUMN)
    return None if keys is None else list(map(bytes.fromhex, keys))


def _digits_in(parties: PartiesTable, column: str) -> list[str] | None:
    if column not in parties.table:
        return None
    entry_texts = [str(each) for each in parties.table[column]]
    for place, each in enumerate(entry_texts):
        if not re.fullmatch(r"[0-9a-f]{64}", each):
            line = f" line {parties.lines[place]}" if parties.lines else ""
            allowed = "64 hexadecimal digits, as `psephos roster` writes"
            raise ConfigurationError(field=f"{column} ({parties.source}{line})", value=each, allowed=allowed)
    return entry_texts
