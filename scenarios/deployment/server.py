"""Serve a session whose clients are separate processes."""

import contextlib
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import trio

from ...agents.driver import NOBODY, EffectListener, Observers
from ...agents.journals import SittingOfServer
from ...agents.modes import Mode
from ...agents.rollback_guard import RollbackGuard
from ...agents.session_journal import SessionJournal
from ...agents.session_status import Companion
from ...protocol.effects import Effect, LiarNamed
from ...protocol.errors import UnheardError, refuse
from ...protocol.memoized_reports import ReceivedReports
from ...protocol.messages import NO_DESCRIPTOR, PROTOCOL_VERSION, SessionDescriptor
from ...protocol.records import Accepted, PhaseClosed, SessionFailed
from ...protocol.roles import SessionKind
from ...protocol.roster import Roster
from ...protocol.rules import names_of
from ...protocol.session_flow import SessionResult
from ...protocol.traffic import TrafficMeter
from ...transports.abc import Listener
from ..plugins import find_server_role
from ..running.folder import RunFolder
from ..running.limits import calm_collector, reserve_for_server
from ..running.plugin_errors import Plugin, blame_plugins, parts_of
from ..running.resolution import ServerRun
from ..running.results import public_result
from ..running.rosters import FINGERPRINT_COLUMN, SIGNATURE_COLUMN
from ..running.statements import setting_of
from ..running.writing import describe_failure, open_run, write_outcome
from .common import DEFAULT_TRANSPORT, TLSKeys, find_transport, name_address_in_errors, with_descriptor

if TYPE_CHECKING:
    from .web import WebSite

__all__ = ["JOURNAL_FILE", "Serving", "open_sitting", "roster_rows", "serve", "serve_in_folder"]

JOURNAL_FILE: Final = "journal.sqlite"
"""File name of a session's journal, in the folder that `psephos roster` wrote."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Serving:
    """The settings with which a server runs one session; those of a party are a `Joining`.

    Args:
        address: the address to listen on, in the transport's form; for TCP HOST:PORT, where port 0 lets the system
            choose.
        mode: a deployment, or a simulation, which gives no privacy.
        transport: the transport's name.
        descriptor: identifies the session, as in its invitations.
        journal: file of the session's journal, created if missing, from which the session continues after a restart.
        witness: the journal's rollback guard, outside its folder (`journals.witness_of`); without one, an older copy of
            the folder is accepted.
        kept: memoized reports of earlier sessions, by phase and party (`earlier.read_kept`).
        web: the pages by which browsers take part (`web.open_site`). If all parties have links, nothing else listens.
    """

    side: ServerRun
    address: str
    mode: Mode
    transport: str = DEFAULT_TRANSPORT
    keys: TLSKeys | None = dataclasses.field(default=None, repr=False)
    descriptor: SessionDescriptor = NO_DESCRIPTOR
    journal: Path | None = None
    witness: RollbackGuard | None = None
    kept: ReceivedReports = dataclasses.field(default_factory=dict[str, Any], repr=False)
    web: "WebSite | None" = None

    def check_authenticated(self, source: str = "") -> None:
        """Raise ConfigurationError unless parties authenticate themselves if the session requires it.

        `source` is the scenario's name in a command. If participation is private, refusing a name that is already taken
        would reveal that its party takes part. With certificates nobody else can use the name.
        """
        has_certificates = self.side.fingerprints is not None
        hides = self.side.protocol.hides_participation
        allowed = "given, with certificates: participation is private here, and without them anybody could ask who came"
        needs_them = hides and self.mode.kind is SessionKind.DEPLOYMENT
        refuse(needs_them and not has_certificates, "--roster", "left out or without certificates", allowed)
        allowed = (
            "First draw up a roster, which says who takes part: psephos roster "
            f"{source or self.side.scenario.name} --make-keys --out vote. On one machine, --transport tcp needs none."
        )
        needs_them = self.transport == DEFAULT_TRANSPORT
        refuse(needs_them and not has_certificates, "--roster", "left out or without certificates", allowed)
        allowed = f"{DEFAULT_TRANSPORT!r} where the roster has certificates, which {self.transport!r} does not show"
        refuse(self.transport != DEFAULT_TRANSPORT and has_certificates, "transport", self.transport, allowed)


def roster_rows(side: ServerRun, roster: Roster) -> list[dict[str, object]]:
    """Return the rows of a roster's file: names, public columns as they were given, and any fingerprints."""
    table = {**side.public_table, **side.protocol.write_public(roster.public)}
    choice_names = {column.name for column in side.protocol.columns() if column.chosen}
    columns = {name: list(entries) for name, entries in table.items() if name not in choice_names}
    return [
        {
            side.protocol.client_role: name,
            **{column: entries[place] for column, entries in columns.items()},
            **({} if roster.fingerprints is None else {FINGERPRINT_COLUMN: roster.fingerprints[place]}),
            **({} if roster.keys is None else {SIGNATURE_COLUMN: roster.keys[place].hex()}),
        }
        for place, name in enumerate(roster.names)
    ]


async def serve(
    serving: Serving,
    *,
    sitting: SittingOfServer | None = None,
    observers: Observers = NOBODY,
    on_listening: Callable[[str], None] | None = None,
    beside: Sequence[Companion] = (),
) -> SessionResult:
    """Serve one session at an address.

    Args:
        sitting: the session's opened journal (`open_sitting`).
        on_listening: called with the address once clients can connect.
        beside: as in `Server.serve`.

    Raises:
        ConfigurationError: as `Serving.check_authenticated`, `find_transport` and `reserve_for_server`; or the address
            is invalid.
        QuorumError: a phase closed without its quorum.
        PluginError: a plugin's code raised an exception, or the protocol breaks its contract.
        OSError: the address is in use, or not on this machine.
    """
    serving.check_authenticated()
    side, mode, roster = serving.side, serving.mode, serving.side.roster
    is_web_alone = serving.web is not None and serving.keys is not None and not serving.keys.peers
    transport = None if is_web_alone else find_transport(serving.transport, keys=serving.keys)
    kind = find_server_role(side.protocol.server_role)
    plugins = (
        parts_of(side.protocol),
        Plugin(f"server role {side.protocol.server_role!r}", (kind,)),
        *(() if transport is None else (Plugin(f"transport {serving.transport!r}", (type(transport),)),)),
    )
    with blame_plugins(plugins, is_private=side.protocol.keeps_words, is_last=True):
        server = kind(
            side.protocol,
            roster,
            with_descriptor(mode, msgspec.structs.replace(serving.descriptor, roster=roster.digest)),
            rules=side.rules,
            places=reserve_for_server(
                num_parties=side.num_connections,
                num_others=0 if serving.web is None else serving.web.most_connections,
            ),
            sitting=sitting,
            memoized_reports=serving.kept,
            secret=b"" if serving.keys is None else serving.keys.secret,
            observers=observers,
        )
        async with contextlib.AsyncExitStack() as stack:
            listeners: list[Listener] = []
            if transport is not None:
                with name_address_in_errors(serving.address, field="--listen"):
                    listeners.append(await stack.enter_async_context(await transport.open_listener(serving.address)))
            if serving.web is not None:
                listeners.append(await stack.enter_async_context(await serving.web.open_listener()))
                beside = (*beside, serving.web.watch)
            if on_listening is not None:
                on_listening(listeners[0].address)
            with calm_collector(len(side.names)):
                return await server.serve(*listeners, companions=beside)


@contextlib.contextmanager
def open_sitting(
    serving: Serving, *, on_resuming: Callable[[str], None] | None = None
) -> Generator[SittingOfServer | None]:
    """Yield a session's journal, created if missing; None if the session has no journal file.

    Args:
        on_resuming: called with a sentence on the progress of a resumed session, or on its failure; without numbers if
            participation is private.

    Raises:
        JournalError: the journal cannot be used.
        ConfigurationError: the journal belongs to a session with other settings.
    """
    path, side, mode, descriptor = serving.journal, serving.side, serving.mode, serving.descriptor
    if path is None:
        yield None
        return
    required = {
        f"quorum of {name}": str(side.rules.phase_rules(name).num_required(len(side.names)))
        for name, is_hidden in names_of(side.protocol).items()
        if not is_hidden
    }
    configuration = {
        "version of the wire": str(PROTOCOL_VERSION),
        "session": mode.session,
        "session id": descriptor.id,
        "kind": mode.kind.value,
        "protocol": side.protocol.name,
        "parameters": hashlib.sha256(side.protocol.encoded_parameters).hexdigest(),
        "roster": side.roster.digest,
        **required,
    }
    with SessionJournal.open(path, configuration=configuration, witness=serving.witness) as journal:
        if on_resuming is not None and journal.records:
            num_closed = sum(isinstance(record, PhaseClosed) for record in journal.records)
            num_reports = sum(isinstance(record, Accepted) for record in journal.records)
            reports_note = "" if side.protocol.hides_participation else f", {num_reports:,} reports are kept"
            phases_note = f"{num_closed} of {len(side.protocol.phases)} phases are closed{reports_note}"
            line = f"going on with this session: {phases_note}"
            if isinstance(last := journal.records[-1], SessionFailed):
                line = f"this session has failed: too few took part in phase {last.phase!r}; who joins is told"
            on_resuming(line)
        yield journal


def serve_in_folder(
    serving: Serving,
    folder: RunFolder,
    *,
    on_resuming: Callable[[str], None] | None = None,
    pictures: bool = True,
    listener: EffectListener | None = None,
    on_listening: Callable[[str], None] | None = None,
    beside: Sequence[Companion] = (),
) -> SessionResult:
    """Serve a session, and write its results into a folder; ledgers are in the clients' folders.

    Arguments and errors are those of `serve` and `open_sitting`. After an error, the folder has the events, and
    `run.json` has the failure. If no client was connected to receive the outcome, `UnheardError` is raised, and the
    folder has the outcome too.
    """
    side, mode = serving.side, serving.mode
    if mode.kind is SessionKind.SIMULATION:
        side = msgspec.structs.replace(side, scenario=msgspec.structs.replace(side.scenario, noise="simulated"))
    event_fields = {"transport": serving.transport, "kind": mode.kind.value}
    if side.note:
        event_fields["parties"] = side.note
    with (
        open_sitting(serving, on_resuming=on_resuming) as sitting,
        open_run(folder, side, event_fields, has_ledger=False, is_live=True) as run,
    ):
        meter = None if side.protocol.hides_participation else TrafficMeter(side.protocol)
        has_begun = sitting is not None and bool(sitting.records)  # messages before the restart were not counted
        evidence_listener = _evidence_listener(folder, run.ending, listener)
        observers = Observers(log=run.log, listener=evidence_listener, meter=meter)
        session = functools.partial(
            serve, serving, sitting=sitting, observers=observers, on_listening=on_listening, beside=beside
        )
        session_result = trio.run(session, restrict_keyboard_interrupt_to_checkpoints=True)
        run.ending["transcript"] = session_result.transcript
        if meter is not None:
            run.ending["traffic_since_restart" if has_begun else "traffic"] = meter.phases
        unheard_error = None
        if session_result.num_told == 0:
            unheard_error = UnheardError(role=side.protocol.client_role, num_parties=len(side.names))
            run.ending["failure"] = describe_failure(unheard_error)
    scenario = side.scenario
    result = public_result(
        side.protocol, session_result, session=scenario.name, kind=mode.kind, num_parties=len(side.names)
    )
    title, setting = scenario.title or scenario.name, setting_of(side.protocol, len(side.names))
    write_outcome(folder, session_result.outcome, result, title=title, setting=setting, pictures=pictures)
    if unheard_error is not None:
        raise unheard_error
    return session_result


def _evidence_listener(folder: RunFolder, ending: dict[str, Any], listener: EffectListener | None) -> EffectListener:
    """Return a listener that also writes evidence against tampering parties, and names them in `run.json`."""
    noted_events: list[dict[str, str]] = []

    def listen(effect: Effect) -> None:
        if isinstance(effect, LiarNamed):
            ending["named"] = noted_events
            noted_events.append({"party": effect.party, "deed": effect.deed})
            with contextlib.suppress(OSError):  # a full disk does not end the session
                noted_events[-1]["evidence"] = folder.write_evidence(effect.evidence, len(noted_events))
        if listener is not None:
            listener(effect)

    return listen
