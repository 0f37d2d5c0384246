"""One session from inputs to outcome: agents over a transport, or arrays. The same bits either way."""

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
import trio

from ...agents.adversaries import SERVER, Attempt, DeviatingChannel, DeviatingListener, Deviation, try_to_join
from ...agents.client import Client
from ...agents.driver import LINGER_SECONDS, EffectListener
from ...agents.events import Log, log_effect
from ...agents.modes import Mode, Simulation
from ...agents.server import Server
from ...protocol.checked import check_declared, check_own_columns, checked_inputs
from ...protocol.effects import Closed, Effect, Opened
from ...protocol.errors import ConfigurationError, ConnectionLostError, PsephosError, UnheardError
from ...protocol.kept import KeptReports
from ...protocol.messages import Hello
from ...protocol.phases import Inputs, Phase, PhasedProtocol
from ...protocol.population import run_batches, run_population
from ...protocol.privacy import Budget, Ledger, LedgerEntry
from ...protocol.randomness import SimulatedNoise
from ...protocol.roster import Roster
from ...protocol.rules import JOIN, PhaseRules
from ...protocol.server_machine import SessionResult
from ...protocol.tally import Tally
from ...protocol.traffic import PhaseTraffic, TrafficMeter
from ...protocol.views import View
from ...transports.abc import Channel, Transport
from ...transports.faults import FaultyTransport, Weather
from ..plugins import ARRAY, check_transport, find_client_role, find_server_role, make_transport
from .blaming import Plugin, blaming, blaming_plugins, parts_of
from .keeping import Keeping
from .limits import calm_collector, reserve_descriptors
from .parties import check_names

OutcomeT = TypeVar("OutcomeT", bound=msgspec.Struct)

__all__ = [
    "AgentClasses",
    "SessionRecord",
    "Strangers",
    "run_agents",
    "run_arrays",
    "run_streamed",
    "simulate",
]

_SECONDS_BETWEEN_PROGRESS: Final = 0.2
# So long strangers wait before they look again whether everybody else has joined.
_SECONDS_BETWEEN_LOOKS: Final = 0.01


class AgentClasses(msgspec.Struct, frozen=True):
    """Which agents play the two sides."""

    client: type[Client]
    server: type[Server]


@dataclasses.dataclass(frozen=True, eq=False)
class Strangers:
    """Connections that are nobody's of the session, made while all parties but one have joined and before it begins.

    Args:
        hellos: what they say first, one connection each.
        attempts: the caller's list, which gets what came of each.
    """

    hellos: Sequence[Hello]
    attempts: list[Attempt] = dataclasses.field(default_factory=list[Attempt])


class SessionRecord(msgspec.Struct, kw_only=True):
    """What a session leaves.

    Args:
        outcome: what was released.
        tallies: each phase's.
        num_received: each phase's number of reports; None where that is private.
        entries: the ledger: of each party in roster order, or one line for all of them (arrays).
        own_outcomes: what single parties were told, by their places; for each of them alone.
        endings: for each party that did not end with the outcome, why.
        views: what each party saw, the server's first; only where asked for.
        traffic: how much was said in each phase; of agents alone.
        kept: what this session and earlier ones leave to later ones of the same scopes. Private: never written.
    """

    outcome: msgspec.Struct
    tallies: tuple[Tally, ...]
    num_received: tuple[int | None, ...]
    entries: Sequence[LedgerEntry]
    own_outcomes: Mapping[int, msgspec.Struct] = {}
    endings: Mapping[str, PsephosError] = {}
    views: Sequence[View] = ()
    traffic: Sequence[PhaseTraffic] = ()
    kept: KeptReports = {}

    def unheard(self, protocol: PhasedProtocol[Any, Any], num_parties: int) -> UnheardError | None:
        """Return the error for a release that nobody heard; None where somebody did, or where that is private.

        Args:
            protocol: what was run.
            num_parties: how many there were.
        """
        if protocol.hides_participation or not num_parties or len(self.endings) < num_parties:
            return None
        first = str(next(iter(self.endings.values())))
        return UnheardError(role=protocol.client_role, num_parties=num_parties, first=first)


async def run_agents(
    protocol: PhasedProtocol[Any, Any],
    *,
    names: Sequence[str],
    inputs: Inputs,
    mode: Mode,
    transport: Transport,
    classes: AgentClasses | None = None,
    rules: Mapping[str, PhaseRules] | None = None,
    default_rules: PhaseRules | None = None,
    budget: Budget | None = None,
    ledgers: Mapping[str, Ledger] | None = None,
    log: Log | None = None,
    listener: EffectListener | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
    entries: list[LedgerEntry] | None = None,
    kept: KeptReports | None = None,
    deviations: Mapping[str, Deviation] | None = None,
    views: list[View] | None = None,
    strangers: Strangers | None = None,
    plugins: Sequence[Plugin] = (),
    weather: Weather | None = None,
) -> SessionRecord:
    """Run a session with one agent a party, all in this process, over `transport`.

    No deadline is waited for once all parties have answered or gone, even where a deployment waits since who takes part
    is private: the server, which knows when its machine waits for nobody else, lets it pass. A clock that jumps as
    soon as all tasks are idle would not do: over sockets a report may be on its way then.

    Args:
        protocol: what is run.
        names: the parties, in roster order.
        inputs: their rows, in the same order.
        mode: a simulation or a deployment.
        transport: how they talk.
        classes: who plays the sides; by default the roles that the protocol names.
        rules: deadline and quorum by phase.
        default_rules: for the other phases.
        budget: each party's privacy budget.
        ledgers: by name, where a party's losses are charged that has had some before, in place of a budget.
        log: where events go; None for nowhere.
        listener: told of every effect of the server's machine.
        on_progress: called a few times a second with the open phase, how many have reported and how many have not.
        entries: the caller's list, which gets every loss however the session ends; what is paid stays paid.
        kept: the caller's, with what earlier sessions left; it gets what this one leaves, however it ends.
        deviations: what parties do that do not follow the protocol, by name; the server's under `SERVER`.
        views: the caller's list, which gets every view however the session ends, where the mode records them.
        strangers: who else tries to take part.
        plugins: whose code runs besides, to be blamed for what it raises.
        weather: what the network does to payloads besides; a party whose connection is lost does not come back.

    Raises:
        QuorumError: a phase closed without its quorum.
        PluginError: the code of the protocol, of the transport, of an agent or of one of `plugins` raised something, or
            the protocol's breaks its contract.
        ConfigurationError: the roster or a rule is not allowed, the system has too few descriptors, or a kept report is
            of another law, or of values that have changed.
        OSError: no listener can be opened, or a party cannot connect.
    """
    if classes is None:
        classes = AgentClasses(find_client_role(protocol.client_role), find_server_role(protocol.server_role))
    reserve_descriptors(transport, num_parties=len(names))
    entries = [] if entries is None else entries
    keeping = Keeping(protocol, names, inputs, kept)
    plugins = (
        *plugins,
        parts_of(protocol),
        Plugin(f"transport {transport.name!r}", (type(transport),)),
        Plugin(f"client role {classes.client.role!r}", (classes.client,)),
        Plugin(f"server role {classes.server.role!r}", (classes.server,)),
    )
    meter = TrafficMeter(protocol)
    with calm_collector(len(names)), blaming_plugins(plugins, is_private=protocol.keeps_words):
        server = classes.server(
            protocol,
            roster=Roster(names, inputs.public),
            mode=mode,
            rules=rules,
            default_rules=default_rules,
            skips_waiting=True,
            **keeping.of_server(),
            log=log,
            listener=listener,
            meter=meter,
        )
        rows: list[list[int]] = inputs.private.tolist()
        public: list[list[int]] = inputs.public.tolist()
        clients = {
            name: classes.client(
                protocol,
                party=name,
                place=place,
                row=rows[place],
                public=public[place],
                mode=mode,
                ledger=None if ledgers is None else ledgers[name],
                budget=budget,
                patience_seconds=math.inf,  # its server is in this process, and busy rather than silent
                **keeping.of_client(name),
                log=log,
            )
            for place, name in enumerate(names)
        }
        earlier = {name: len(client.ledger.entries) for name, client in clients.items()}
        if weather is not None:
            transport = FaultyTransport(transport, weather)
        try:
            result, endings = await _meet(server, clients, transport, on_progress, deviations or {}, strangers)
        finally:
            entries.extend(
                entry for name, client in clients.items() for entry in client.ledger.entries[earlier[name] :]
            )
            keeping.take_up({name: client.kept for name, client in clients.items()}, server.kept)
            views = [] if views is None else views
            views.extend(agent.view for agent in (server, *clients.values()) if agent.view is not None)
    return SessionRecord(
        outcome=result.outcome,
        tallies=result.tallies,
        num_received=result.num_received,
        entries=entries,
        own_outcomes=result.own_outcomes,
        endings=endings,
        views=views,
        traffic=meter.phases,
        kept=keeping.all,
    )


async def _meet(
    server: Server,
    clients: Mapping[str, Client],
    transport: Transport,
    on_progress: Callable[[str, int, int], None] | None,
    deviations: Mapping[str, Deviation],
    strangers: Strangers | None = None,
) -> tuple[SessionResult, dict[str, PsephosError]]:
    """Let a server and its clients hold their session.

    Returns:
        What it leaves with the server, and for each client that did not end with the outcome, why.

    Raises:
        PsephosError: the server ended without a result.
        OSError: no listener could be opened, or a client could not connect while the session lasted.

    Cancelled, it closes every channel at once.
    """
    result: SessionResult | None = None
    failure: PsephosError | OSError | None = None  # kept until the nursery has closed, which would wrap it
    parties = _Parties(clients)
    watching = trio.CancelScope()

    async def watch(report: Callable[[str, int, int], None]) -> None:
        with watching:
            while True:
                _report_progress(server, report)
                await trio.sleep(_SECONDS_BETWEEN_PROGRESS)

    async with await transport.open_listener() as listening, trio.open_nursery() as nursery:

        async def meet_strangers(strangers: Strangers) -> None:
            """Let strangers try their luck, once all parties but one have joined or nobody joins any more."""
            while server.progress[0] == JOIN and sum(each.has_joined for each in clients.values()) < len(clients) - 1:  # noqa: ASYNC110  who joins sets no event
                await trio.sleep(_SECONDS_BETWEEN_LOOKS)
            with contextlib.suppress(OSError):  # the session has ended before
                strangers.attempts.extend(await try_to_join(transport, listening.address, strangers.hellos))

        async def connect_all() -> None:
            nonlocal failure
            ordered = list(clients) if strangers is None else _one_held_back(clients, strangers)
            for number, name in enumerate(ordered, start=1):
                client = clients[name]
                if strangers is not None and number == len(ordered):
                    await meet_strangers(strangers)
                try:
                    channel = await transport.connect(listening.address)
                except OSError as error:
                    if not server.has_ended:  # else it came late, and the others have their outcome
                        failure = error
                        nursery.cancel_scope.cancel()
                    return
                if (deviation := deviations.get(name)) is not None:
                    channel = DeviatingChannel(channel, deviation)
                nursery.start_soon(parties.take_part, name, client, channel)

        if on_progress is not None:
            nursery.start_soon(watch, on_progress)
        nursery.start_soon(connect_all)
        try:
            of_server = deviations.get(SERVER)
            result = await server.serve(listening if of_server is None else DeviatingListener(listening, of_server))
        except PsephosError as error:
            failure = error
        watching.cancel()
        if isinstance(transport, FaultyTransport):  # some may wait on connections that are half open, for ever
            await parties.wait_for_a_while()
            nursery.cancel_scope.cancel()
    if failure is not None:
        raise failure
    assert result is not None  # noqa: S101  one of the two was set
    return result, parties.endings


class _Parties:
    """Who takes part, and how those end who do not hear the outcome.

    Attributes:
        endings: for each client that did not end with the outcome, why.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.endings: dict[str, PsephosError] = {}
        self._at_work = dict.fromkeys(names)
        self._all_done = trio.Event()

    async def take_part(self, name: str, client: Client, channel: Channel) -> None:
        """Take part in one party's name."""
        try:
            await client.take_part(channel)
        except PsephosError as error:
            self.endings[name] = error
        del self._at_work[name]
        if not self._at_work:
            self._all_done.set()

    async def wait_for_a_while(self) -> None:
        """Wait for those who are at work, and take the others' connections for lost; they can then be cancelled."""
        with trio.move_on_after(LINGER_SECONDS):
            await self._all_done.wait()
        lost = ConnectionLostError(reason="the connection was lost before the release", by=SERVER)
        self.endings |= dict.fromkeys(self._at_work, lost)


def _report_progress(server: Server, report: Callable[[str, int, int], None]) -> None:
    phase, received, outstanding = server.progress
    if received is not None and outstanding is not None:  # else how many there are is private
        report(phase, received, outstanding)


def _one_held_back(names: Iterable[str], strangers: Strangers) -> list[str]:
    """Return the parties with one at the end in whose name no stranger speaks, if there is one."""
    spoken = {hello.party for hello in strangers.hellos}
    return sorted(names, key=lambda name: name not in spoken)


def run_arrays(
    protocol: PhasedProtocol[Any, Any],
    *,
    inputs: Inputs,
    noise: SimulatedNoise,
    session: str,
    log: Log | None = None,
    listener: EffectListener | None = None,
    entries: list[LedgerEntry] | None = None,
    names: Sequence[str] = (),
    kept: KeptReports | None = None,
) -> SessionRecord:
    """Run the same session as array computations; the ledger gets one line for each loss, for all parties together.

    Args:
        protocol: what is run.
        inputs: all parties' rows.
        noise: the simulation's.
        session: the session's name.
        log: where events go; None for nowhere.
        listener: told of each phase as it closes, as it would be by the server's machine.
        entries: the caller's list, which gets every loss however the session ends; they are charged before anything
            is drawn.
        names: the parties, in roster order; needed where reports are kept, which are known by them.
        kept: as `run_agents`.

    Raises:
        ValueError: as `run_population`, or reports are kept and the parties have no names.
        ConfigurationError: a kept report is of another law, or of values that have changed.
        PluginError: as `run_population`, and where the protocol's mechanisms raise something.
    """

    def on_phase(phase: Phase, tally: Tally, outcome: msgspec.Struct | None) -> None:
        tell(Opened(phase.name, None if phase.hides_participation else len(inputs)))
        tell(_closed(phase, tally, outcome))

    tell = _telling(session, log, listener)
    protocol.check_loss_groups(inputs.public)
    entries = [] if entries is None else entries
    keeping = Keeping(protocol, names, inputs, kept)
    entries.extend(
        LedgerEntry.of(
            loss,
            person=f"each of {count} {protocol.client_role}{'s' if count > 1 else ''}{group and ' '}{group}",
            session=session,
            phase=phase.name,
            num_persons=count,
        )
        for phase in protocol.phases
        for group, count, losses in phase.loss_groups(keeping.public_of_new(phase))
        for loss in losses
        if count
    )
    with blaming_plugins([parts_of(protocol)], is_private=protocol.keeps_words):
        result = run_population(protocol, inputs, noise=noise, on_phase=on_phase, kept=keeping.of_arrays())
    keeping.take_up_arrays(result.kept)
    return SessionRecord(
        outcome=result.outcome,
        tallies=result.tallies,
        num_received=_received(protocol, result.tallies),
        entries=entries,
        own_outcomes=result.own_outcomes,
        kept=keeping.all,
    )


def run_streamed(
    protocol: PhasedProtocol[Any, Any],
    *,
    batches: Iterable[Inputs],
    num_parties: int | None,
    noise: SimulatedNoise,
    session: str,
    log: Log | None = None,
    listener: EffectListener | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> SessionRecord:
    """Run a session of one phase as array computations over parties that come in batches; see `run_arrays`.

    Args:
        protocol: what is run.
        batches: their rows; whoever opened them knows what was charged.
        num_parties: how many there are, where that is known beforehand.
        noise: the simulation's.
        session: the session's name.
        log: where events go.
        listener: told of the phase as it opens and closes.
        on_progress: called after each batch with the phase, how many have reported and how many have not.

    Raises:
        ValueError: as `run_batches`.
        PluginError: as `run_arrays`.
    """
    phase = protocol.phases[0]
    tell = _telling(session, log, listener)
    if log is not None:  # how many will be asked is not always known
        log.info("phase_opened", session=session, party="arrays", phase=phase.name)

    def on_batch(count: int) -> None:
        if on_progress is not None:
            on_progress(phase.name, count, max(0, (num_parties or 0) - count))

    with blaming_plugins([parts_of(protocol)], is_private=protocol.keeps_words):
        result = run_batches(protocol, batches, noise=noise, on_batch=on_batch)
    tell(_closed(phase, result.tallies[0], None))
    return SessionRecord(
        outcome=result.outcome,
        tallies=result.tallies,
        num_received=_received(protocol, result.tallies),
        entries=(),
        own_outcomes=result.own_outcomes,
    )


def _closed(phase: Phase, tally: Tally, outcome: msgspec.Struct | None) -> Closed:
    """Return what the server's machine would say as a phase closes in which all parties have reported."""
    counts = (None, None) if phase.hides_participation else (tally.num_reports, 0)
    return Closed(phase.name, *counts, outcome)


def _received(protocol: PhasedProtocol[Any, Any], tallies: Sequence[Tally]) -> tuple[int | None, ...]:
    """Return each phase's number of reports; None where that is private."""
    return tuple(
        None if phase.hides_participation else tally.num_reports
        for phase, tally in zip(protocol.phases, tallies, strict=True)
    )


def _telling(session: str, log: Log | None, listener: EffectListener | None) -> EffectListener:
    """Return what tells of the effects that the server's machine would have."""

    def tell(effect: Effect) -> None:
        if log is not None:
            log_effect(log, session=session, party="arrays", effect=effect)
        if listener is not None:
            listener(effect)

    return tell


def simulate(
    protocol: PhasedProtocol[Any, OutcomeT],
    parties: Mapping[str, Sequence[Any]],
    *,
    seed: int,
    transport: str = "array",
    session: str = "simulation",
    round_number: int = 0,
) -> OutcomeT:
    """Run one simulated session and return its outcome: the shortest way from values to a result.

    It is the outcome of `psephos run`, bit for bit, of a scenario with the same protocol, parameters and parties, where
    seed and round are the same and `session` is the scenario's name: of a file `tea.toml`, "tea".

    Args:
        protocol: what is run.
        parties: each party's entries, in the order of `protocol.columns()`.
        seed: ≥ 0; the same seed gives the same bits on every path.
        transport: "array", or "memory" or "tcp" for agents.
        session: the session's name, in a scenario the scenario's; other names draw other noise.
        round_number: tells repeated votes of one session apart; other rounds draw other noise.

    Raises:
        ConfigurationError: there are no parties, or a name, an entry, the seed or the transport is not allowed.
        PluginError: the code of the protocol or of the transport raised something, or the protocol's breaks its
            contract.
        UnheardError: nobody heard the outcome.

    Privacy:
        None: a simulation's seed takes its noise off again.
    """
    check_transport(transport)
    names = check_names(tuple(parties), protocol.client_role)
    columns = protocol.columns()
    for name, entries in parties.items():
        if len(entries) != len(columns):
            allowed = f"{len(columns)} entries: {', '.join(column.name for column in columns)}"
            raise ConfigurationError(field=f"entries of {name}", value=f"{len(entries)} entries", allowed=allowed)
    table = {column.name: [entries[place] for entries in parties.values()] for place, column in enumerate(columns)}
    with blaming(type(protocol)):
        check_declared(type(protocol))
        check_own_columns(protocol)
        inputs = checked_inputs(protocol, protocol.encode(table), num_parties=len(names))
        protocol.check_roster(inputs.public)
        protocol.check_inputs(inputs)
    noise = SimulatedNoise(seed, session=session, round_number=round_number)
    if transport == ARRAY:
        return run_arrays(protocol, inputs=inputs, noise=noise, session=session).outcome  # pyright: ignore[reportReturnType]  the protocol's own
    agents = functools.partial(
        run_agents,
        protocol,
        names=names,
        inputs=inputs,
        mode=Simulation(session, noise),
        transport=make_transport(transport),
    )
    record = trio.run(agents, restrict_keyboard_interrupt_to_checkpoints=True)
    if (unheard := record.unheard(protocol, len(names))) is not None:
        raise unheard
    return record.outcome  # pyright: ignore[reportReturnType]  the protocol's own
