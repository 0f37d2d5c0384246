"""One session by agents, one for each party, over a transport and all in this process."""

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
    """Which agents play the two sides.

    Examples:
        >>> from psephos.agents import CloudServer, Partner
        >>> AgentClasses(Partner, CloudServer).client.role
        'partner'
    """

    client: type[Client]
    server: type[Server]


class Adversity(msgspec.Struct, frozen=True, kw_only=True):
    """What a session meets beside honest parties and a calm network.

    Examples:
        >>> from psephos.agents.adversaries import Deviation
        >>> list(Adversity(deviations={"ann": Deviation()}).deviations)
        ['ann']
    """

    # What parties do that do not follow the protocol, by name; the server's under `SERVER`.
    deviations: Mapping[str, Deviation] = {}
    strangers: Strangers | None = None  # who else tries to take part
    plugins: Sequence[Plugin] = ()  # whose code runs besides, to be blamed for what it raises
    # What the network does to payloads; a party whose connection is lost does not come back.
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
    """Run a session with one agent a party, all in this process, over `transport`.

    No deadline is waited for once all parties have answered or gone, even where a deployment waits since who takes part
    is private: the server, which knows when its machine waits for nobody else, lets it pass. A clock that jumps as
    soon as all tasks are idle would not do: over sockets a report may be on its way then.

    Args:
        names: the parties, in roster order.
        inputs: their rows, in the same order.
        classes: who plays the sides; by default the roles that the protocol names.
        ledgers: by name, where a party's losses are charged; by default new ones, without a budget.
        observers: who observes it, and gets what it leaves.
        adversity: who does not follow the protocol, and what else goes wrong.

    Raises:
        QuorumError: a phase closed without its quorum.
        PluginError: the code of the protocol, of the transport, of an agent or of a plug-in of the adversity raised
            something, or the protocol's breaks its contract.
        ConfigurationError: the roster or a rule is not allowed, the system has too few descriptors, or a kept report is
            of another law, or of values that have changed.
        OSError: no listener can be opened, or a party cannot connect.

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
        # Their server is in this process, and busy rather than silent.
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
