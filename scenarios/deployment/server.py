"""The server of a session whose clients are elsewhere."""

import dataclasses
import functools
import importlib.metadata
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import trio

from ...agents.driver import EffectListener
from ...agents.events import Log
from ...agents.modes import Mode
from ...protocol.errors import ConfigurationError
from ...protocol.phases import Entries, PhasedProtocol
from ...protocol.roster import Roster
from ...protocol.rules import PhaseRules
from ...protocol.server_machine import SessionResult
from ...transports.tcp import TCPTransport
from ..plugins import find_server_role
from ..presentation import draw_outcome, rows_of
from ..running.config import Scenario
from ..running.conversion import convert
from ..running.folder import RunFolder, open_event_log
from ..running.parties import read_parties, read_parties_file, sources_of
from ..running.resolution import blaming, data_folder, make_rules, refuse_large
from ..running.results import published
from ..running.run import describe_failure
from ..running.sources import PartiesTable
from ..system import find_protocol
from .common import naming_address
from .invitations import TOKEN_COLUMN

__all__ = ["ServerSide", "resolve_server", "roster_rows", "serve", "serve_in_folder"]


class ServerSide(msgspec.Struct, kw_only=True):
    """What a server of a scenario needs.

    Args:
        scenario: as written, with what was set.
        protocol: the protocol with its parameters.
        public_table: the public columns, as they were given.
        roster: who may take part.
        rules: by phase.
        default_rules: for the other phases.
    """

    scenario: Scenario
    protocol: PhasedProtocol[Any, Any]
    public_table: Mapping[str, Entries]
    roster: Roster
    rules: Mapping[str, PhaseRules]
    default_rules: PhaseRules


def resolve_server(scenario: Scenario, *, roster: Path | None = None) -> ServerSide:
    """Look up and check what a server needs; of the parties' table no private column is looked at.

    Args:
        scenario: what is to be served.
        roster: a CSV of the parties: the role's name, the public columns, and `TOKEN_COLUMN`; by default the scenario's
            own parties, without tokens.

    Raises:
        ConfigurationError: something is not allowed.
    """
    kind = find_protocol(scenario.protocol)
    parties = _read_own(scenario, kind) if roster is None else _read_roster(roster, kind)
    table = dict(parties.table)
    digests = table.pop(TOKEN_COLUMN, None)
    with blaming(kind):
        described = parties if roster is None else _described_by(scenario, kind, parties)
        with parties.naming_lines():
            given = kind.complete(described.complete(scenario.parameters), {**described.table, **table})
        protocol = kind(convert(given, kind.parameters_type, "parameters"))
        public = [column.name for column in protocol.columns() if not column.private]
        private = [column.name for column in protocol.columns() if column.private]
        _check_columns(parties, [kind.client_role, *public, *(private if roster is None else []), TOKEN_COLUMN])
        public_table = {name: table[name] for name in public if name in table}
        with parties.naming_lines():
            public_rows = protocol.encode_public(public_table, num_parties=len(parties.names))
        protocol.check_roster(public_rows)
        refuse_large(protocol, public_rows)
    rules, default_rules = make_rules(scenario, protocol, num_parties=len(parties.names))
    if digests is not None:
        _check_digests([str(digest) for digest in digests], parties)
    return ServerSide(
        scenario=scenario,
        protocol=protocol,
        public_table=public_table,
        roster=Roster(parties.names, public_rows, token_digests=None if digests is None else [str(d) for d in digests]),
        rules=rules,
        default_rules=default_rules,
    )


def roster_rows(side: ServerSide, roster: Roster) -> list[dict[str, object]]:
    """Return the lines of a roster's file: names, public columns as they were given, the tokens' digests."""
    digests = roster.token_digests or ("",) * len(roster)
    table = {**side.public_table, **side.protocol.write_public(roster.public)}
    columns = {name: list(entries) for name, entries in table.items()}
    return [
        {
            side.protocol.client_role: name,
            **{column: entries[place] for column, entries in columns.items()},
            TOKEN_COLUMN: digests[place],
        }
        for place, name in enumerate(roster.names)
    ]


def _read_own(scenario: Scenario, kind: type[PhasedProtocol[Any, Any]]) -> PartiesTable:
    parties, parameters = scenario.parties, scenario.parameters
    return read_parties(parties, parameters=parameters, protocol=kind, data=data_folder(scenario))


def _read_roster(path: Path, kind: type[PhasedProtocol[Any, Any]]) -> PartiesTable:
    try:
        return read_parties_file(path, kind.client_role)
    except ConfigurationError as error:
        if error.field != f"{kind.client_role}s":
            raise
        raise ConfigurationError(field="--roster", value=error.value, allowed=error.allowed) from None


def _described_by(scenario: Scenario, kind: type[PhasedProtocol[Any, Any]], roster: PartiesTable) -> PartiesTable:
    """Return the table that says what the scenario leaves to its own: a roster has public columns alone."""
    of_public = sources_of(kind).parameters_of_public_columns
    left_out = sorted(sources_of(kind).parameters_of_table - of_public - scenario.parameters.keys())
    is_of_data_set = isinstance(scenario.parties, Mapping) and "data" in scenario.parties
    if not left_out and not is_of_data_set:
        return roster
    if not scenario.parties:
        allowed = "set, in the scenario or by --set: a roster has public columns alone, which do not say it"
        raise ConfigurationError(field=left_out[0], value="left out", allowed=allowed)
    own = _read_own(scenario, kind)
    table = {name: entries for name, entries in own.table.items() if name != TOKEN_COLUMN}
    # What follows from the roster's public columns is that, and not what the scenario's own parties say of it.
    others = {name: value for name, value in own.parameters.items() if name not in of_public}
    with roster.naming_lines():
        of_roster = of_public & kind.complete({**others, **scenario.parameters}, {**table, **roster.table}).keys()
    parameters = {name: value for name, value in own.parameters.items() if name not in of_roster}
    return dataclasses.replace(own, table=table, parameters=parameters, fixed=own.fixed - of_roster)


def _check_columns(parties: PartiesTable, known: Sequence[str]) -> None:
    """Raise ConfigurationError if there is a column of another name, such as a misspelled one of tokens."""
    for name in parties.table:
        if name not in known:
            field = f"{name} ({parties.source} line 1)" if parties.lines else name
            allowed = f"left out: the columns are {', '.join(known[:12])}{', ...' if len(known) > 12 else ''}"  # noqa: PLR2004  as many as are shown
            raise ConfigurationError(field=field, value="an unknown column", allowed=allowed)


def _check_digests(digests: Sequence[str], parties: PartiesTable) -> None:
    for place, digest in enumerate(digests):
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            line = f" line {parties.lines[place]}" if parties.lines else ""
            field = f"{TOKEN_COLUMN} ({parties.source}{line})"
            raise ConfigurationError(
                field=field, value=digest, allowed="64 hexadecimal digits, as `psephos roster` writes"
            )


async def serve(
    side: ServerSide,
    *,
    address: str,
    mode: Mode,
    log: Log | None = None,
    listener: EffectListener | None = None,
    on_listening: Callable[[str], None] | None = None,
) -> SessionResult:
    """Serve one session at an address.

    Args:
        side: what is served.
        address: HOST:PORT; port 0 lets the system choose.
        mode: a deployment or a simulation.
        log: where events go.
        listener: told of every effect of the server's machine.
        on_listening: told of the address once clients can connect.

    Raises:
        QuorumError: a phase closed without its quorum.
        OSError: the address is taken, or not this machine's.
    """
    server = find_server_role(side.protocol.server_role)(
        side.protocol,
        roster=side.roster,
        mode=mode,
        rules=side.rules,
        default_rules=side.default_rules,
        log=log,
        listener=listener,
    )
    with naming_address(address):
        listening = await TCPTransport().open_listener(address)
    if on_listening is not None:
        on_listening(listening.address)
    return await server.serve(listening)


def serve_in_folder(
    side: ServerSide,
    folder: RunFolder,
    *,
    address: str,
    mode: Mode,
    pictures: bool = True,
    listener: EffectListener | None = None,
    on_listening: Callable[[str], None] | None = None,
) -> SessionResult:
    """Serve a session and leave what came of it in a folder; who paid what is in the clients' own.

    Args:
        side: what is served.
        folder: the run's folder.
        address: HOST:PORT.
        mode: a deployment or a simulation.
        pictures: also draw the outcome.
        listener: told of every effect of the server's machine.
        on_listening: told of the address once clients can connect.

    Raises:
        QuorumError, OSError: as `serve`; the folder then holds the events, and in `run.json` the failure.
    """
    scenario, protocol = side.scenario, side.protocol
    folder.write_json("scenario.json", _as_served(side))
    started = time.perf_counter()
    ending: dict[str, Any] = {}
    try:
        with open_event_log(folder.events, is_live=True) as log:
            session = functools.partial(
                serve, side, address=address, mode=mode, log=log, listener=listener, on_listening=on_listening
            )
            left = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
            ending["transcript"] = left.transcript
    except BaseException as error:
        ending["failure"] = describe_failure(error)
        raise
    finally:
        how = {"transport": "tcp", "kind": mode.kind.value, "seconds": time.perf_counter() - started}
        folder.write_json("run.json", {**how, "psephos": importlib.metadata.version("psephos"), **ending})
    result = published(protocol, left, session=scenario.name, kind=mode.kind, num_parties=len(side.roster))
    folder.write_json("result.json", result)
    folder.write_table("estimates.csv", rows_of(left.outcome, truth=None))
    if pictures:
        draw_outcome(left.outcome, title=scenario.title or scenario.name, truth=None, folder=folder.path)
    return left


def _as_served(side: ServerSide) -> dict[str, Any]:
    """Return the scenario as plain data, without parties and seed, with the parameters that were agreed to."""
    written: dict[str, Any] = msgspec.to_builtins(side.scenario)
    written["parameters"] = msgspec.to_builtins(side.protocol.parameters)
    for name in ("parties", "seed", "data"):
        written.pop(name)
    return written
