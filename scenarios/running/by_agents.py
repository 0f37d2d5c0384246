"""Run a session in this process by agents, one for each party, over a transport."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from ...agents.adversaries import Deviation
from ...agents.client import Client
from ...agents.modes import Mode, with_keys
from ...agents.pending import UnlimitedPlaces
from ...agents.server import Server
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.privacy import Ledger
from ...protocol.roster import Roster
from ...protocol.rules import DEFAULT_RULES, SessionRules
from ...protocol.traffic import TrafficMeter
from ...transports.abc import Transport
from ...transports.faults import FaultyTransport, Weather
from ..plugins import find_client_role, find_server_role
from .earlier_reports import EarlierReports
from .in_process import Strangers, hold_in_process
from .limits import calm_collector, reserve_descriptors
from .plugin_errors import Plugin, blame_plugins, parts_of
from .record import SessionObservers, SessionRecord

__all__ = ["Adversity", "AgentClasses", "run_agents"]


class AgentClasses(msgspec.Struct, frozen=True):
    """The agent classes of the two sides.

    Examples:
        >>> from psephos.agents import CloudServer, Partner
        >>> AgentClasses(Partner, CloudServer).client.role
        'partner'
    """

    client: type[Client]
    server: type[Server]


class Adversity(msgspec.Struct, frozen=True, kw_only=True):
    """Deviating parties, strangers and network faults in a session.

    Examples:
        >>> from psephos.agents.adversaries import Deviation
        >>> list(Adversity(deviations={"ann": Deviation()}).deviations)
        ['ann']
    """

    # Deviations of parties from the protocol, by name; the server's under `SERVER`.
    deviations: Mapping[str, Deviation] = {}
    strangers: Strangers | None = None  # connections of strangers that try to take part
    plugins: Sequence[Plugin] = ()  # plug-ins whose code also runs, to be named for exceptions
    # Faults of the network; a party whose connection is lost does not reconnect.
    weather: Weather | None = None


_NONE: Final = Adversity()


async def run_agents(
    protocol: PhasedProtocol[Any, Any],
    *,
    names: Sequence[str],
    inputs: Inputs,
    mode: Mode,
    transport: Transport,
    classes: AgentClasses | None = None,
    rules: SessionRules = DEFAULT_RULES,
    ledgers: Mapping[str, Ledger] | None = None,
    observers: SessionObservers | None = None,
    adversity: Adversity = _NONE,
) -> SessionRecord:
    """Run a session with one agent for each party, all in this process, over `transport`.

    Deadlines pass as soon as all parties have answered or left, even if a deployment would wait because participation
    is private: the server skips the rest when its machine waits for none. A clock that jumps when all tasks are idle
    would not work, since a report may still be on its way over a socket.

    Args:
        names: the parties' names, in roster order.
        inputs: the parties' rows, in the same order.
        classes: the agent classes; by default the roles that the protocol names.
        ledgers: maps parties to the ledgers that are charged; by default new ones without a budget.
        observers: observers, which also receive the results.
        adversity: deviations and faults.

    Raises:
        QuorumError: a phase closed without its quorum.
        PluginError: the code of the protocol, of the transport, of an agent or of a plug-in raised an exception, or the
            protocol breaks its contract.
        ConfigurationError: the roster or a rule is not allowed, the system has too few file descriptors, or a memoized
            report has another law or changed values.
        OSError: a listener cannot be opened, or a party cannot connect.

    Examples:
        >>> import trio
        >>> from psephos.agents import Simulation
        >>> from psephos.protocol import SimulatedNoise
        >>> from psephos.transports import MemoryTransport
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> how = {"mode": Simulation("tea", SimulatedNoise(7, session="tea")), "transport": MemoryTransport()}
        >>> async def main():
        ...     inputs = vote.encode({"weight": [1, 2], "roof": [1, 0]})
        ...     return await run_agents(vote, names=["ann", "bob"], inputs=inputs, **how)
        >>> trio.run(main).num_received
        (2, 2)
    """
    if classes is None:
        classes = AgentClasses(find_client_role(protocol.client_role), find_server_role(protocol.server_role))
    reserve_descriptors(transport, num_parties=len(names))
    meter = TrafficMeter(protocol)
    observers = msgspec.structs.replace(observers or SessionObservers(), meter=meter)
    earlier_reports = EarlierReports(protocol, names, inputs, observers.kept)
    plugins = (
        *adversity.plugins,
        parts_of(protocol),
        Plugin(f"transport {transport.name!r}", (type(transport),)),
        Plugin(f"client role {classes.client.role!r}", (classes.client,)),
        Plugin(f"server role {classes.server.role!r}", (classes.server,)),
    )
    with calm_collector(len(names)), blame_plugins(plugins, is_private=protocol.keeps_words):
        roster, mode, signers = with_keys(protocol, Roster(names, inputs.public), mode)
        server = classes.server(
            protocol,
            roster,
            mode,
            rules=rules,
            places=UnlimitedPlaces(),
            memoized_reports=earlier_reports.received(),
            observers=observers,
        )
        # The server is in this process, so it may be busy, but not dead.
        clients = {
            party.name: classes.client(protocol, party, mode, patience_seconds=math.inf, log=observers.log)
            for party in earlier_reports.parties(ledgers, signers)
        }
        earlier_counts = {name: len(client.ledger.entries) for name, client in clients.items() if ledgers}
        if adversity.weather is not None:
            transport = FaultyTransport(transport, adversity.weather)
        try:
            result, endings = await hold_in_process(
                server, clients, transport, observers.on_progress, adversity.deviations, adversity.strangers
            )
        finally:
            observers.entries.extend(
                [
                    entry
                    for name, client in clients.items()
                    for entry in client.ledger.entries[earlier_counts.get(name, 0) :]
                ]
            )
            if earlier_reports.is_asked:
                earlier_reports.take_up(
                    {name: client.memoized_reports for name, client in clients.items()}, server.memoized_reports
                )
            observers.views.extend(agent.view for agent in (server, *clients.values()) if agent.view is not None)
    return SessionRecord(
        outcome=result.outcome,
        tallies=result.tallies,
        num_received=result.num_received,
        entries=observers.entries,
        own_outcomes=result.own_outcomes,
        endings=endings,
        views=observers.views,
        traffic=meter.phases,
        kept=earlier_reports.all,
    )
