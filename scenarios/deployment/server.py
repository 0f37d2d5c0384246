"""The server of a session whose clients are elsewhere."""

import functools
from collections.abc import Callable

import trio

from ...agents.driver import EffectListener
from ...agents.events import Log
from ...agents.modes import Mode
from ...agents.server import Server
from ...protocol.errors import ConfigurationError, UnheardError
from ...protocol.roles import SessionKind
from ...protocol.roster import Roster
from ...protocol.server_machine import SessionResult
from ...transports.abc import Transport
from ..plugins import find_server_role
from ..running.blaming import Plugin, blaming_plugins, parts_of
from ..running.folder import RunFolder
from ..running.resolution import Resolved
from ..running.results import published
from ..running.rosters import TOKEN_COLUMN
from ..running.writing import describe_failure, open_run, write_outcome
from .common import DEFAULT_TRANSPORT, find_transport, naming_address

__all__ = ["check_tokens", "roster_rows", "serve", "serve_in_folder"]


def check_tokens(side: Resolved, *, kind: SessionKind) -> None:
    """Raise ConfigurationError if anybody could ask the server who has come, where that is private.

    A seat that is taken is refused to whoever else comes in its name; with tokens nobody else can.

    Args:
        side: what is served.
        kind: the session's; a simulation protects nothing.
    """
    if side.protocol.hides_participation and side.token_digests is None and kind is SessionKind.DEPLOYMENT:
        allowed = "given, with tokens: participation is private here, and without tokens anybody could ask who came"
        raise ConfigurationError(field="--roster", value="left out or without tokens", allowed=allowed)


def roster_rows(side: Resolved, roster: Roster) -> list[dict[str, object]]:
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


async def serve(
    side: Resolved,
    *,
    address: str,
    transport: str = DEFAULT_TRANSPORT,
    mode: Mode,
    log: Log | None = None,
    listener: EffectListener | None = None,
    on_listening: Callable[[str], None] | None = None,
) -> SessionResult:
    """Serve one session at an address.

    Args:
        side: what is served.
        address: in the transport's form; of TCP HOST:PORT, where port 0 lets the system choose.
        transport: over which, by its name.
        mode: a deployment or a simulation.
        log: where events go.
        listener: told of every effect of the server's machine.
        on_listening: told of the address once clients can connect.

    Raises:
        ConfigurationError: as `check_tokens` and `find_transport`, or it is no address.
        QuorumError: a phase closed without its quorum.
        PluginError: somebody's code raised something, or the protocol's breaks its contract.
        OSError: the address is taken, or not this machine's.
    """
    check_tokens(side, kind=mode.kind)
    kind = find_server_role(side.protocol.server_role)
    opened = find_transport(transport)
    plugins = (
        parts_of(side.protocol),
        Plugin(f"server role {side.protocol.server_role!r}", (kind,)),
        Plugin(f"transport {transport!r}", (type(opened),)),
    )
    with blaming_plugins(plugins, is_private=side.protocol.keeps_words, is_last=True):
        return await _serve(
            side,
            kind,
            address=address,
            transport=opened,
            mode=mode,
            log=log,
            listener=listener,
            on_listening=on_listening,
        )


async def _serve(
    side: Resolved,
    kind: type[Server],
    *,
    address: str,
    transport: Transport,
    mode: Mode,
    log: Log | None,
    listener: EffectListener | None,
    on_listening: Callable[[str], None] | None,
) -> SessionResult:
    server = kind(
        side.protocol,
        roster=side.roster,
        mode=mode,
        rules=side.rules,
        default_rules=side.default_rules,
        log=log,
        listener=listener,
    )
    with naming_address(address, field="--listen"):
        listening = await transport.open_listener(address)
    if on_listening is not None:
        on_listening(listening.address)
    return await server.serve(listening)


def serve_in_folder(
    side: Resolved,
    folder: RunFolder,
    *,
    address: str,
    transport: str = DEFAULT_TRANSPORT,
    mode: Mode,
    pictures: bool = True,
    listener: EffectListener | None = None,
    on_listening: Callable[[str], None] | None = None,
) -> SessionResult:
    """Serve a session and leave what came of it in a folder; who paid what is in the clients' own.

    Arguments and errors are those of `serve`; after an error the folder holds the events, and `run.json` the failure.
    Where nobody was there to be told the outcome, that is an `UnheardError`, and the folder holds the outcome as well.
    """
    how = {"transport": transport, "kind": mode.kind.value}
    with open_run(folder, side, how, has_ledger=False, is_live=True) as run:
        session = functools.partial(
            serve,
            side,
            address=address,
            transport=transport,
            mode=mode,
            log=run.log,
            listener=listener,
            on_listening=on_listening,
        )
        left = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
        run.ending["transcript"] = left.transcript
        unheard = None
        if left.num_told == 0:
            unheard = UnheardError(role=side.protocol.client_role, num_parties=len(side.names))
            run.ending["failure"] = describe_failure(unheard)
    scenario = side.scenario
    result = published(side.protocol, left, session=scenario.name, kind=mode.kind, num_parties=len(side.names))
    write_outcome(folder, left.outcome, result, title=scenario.title or scenario.name, pictures=pictures)
    if unheard is not None:
        raise unheard
    return left
