"""All that defines one session, makers of its machines, and other ways to the same result."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
import numpy as np
from exchanges import SERVER, SESSION_NAME
from makers import make_names
from psephos.protocol import (
    ClientMachine,
    Inputs,
    Party,
    Phase,
    PhasedProtocol,
    Roster,
    ServerMachine,
    SessionKind,
    SessionMode,
    SessionRules,
    Side,
    SimulatedNoise,
    Tally,
    View,
    run_population,
)
from psephos.protocol.arrays import IntArray
from psephos.protocol.effects import Effect
from psephos.protocol.mechanisms import RowMechanism
from psephos.protocol.messages import NO_DESCRIPTOR, SessionDescriptor
from psephos.protocol.population import draw_for_release, draw_reports, released_tally, tally_batch
from psephos.protocol.privacy import Budget, Ledger
from psephos.protocol.randomness import NoiseSource
from psephos.protocol.records import ClientRecord, ServerRecord
from psephos.protocol.rules import DEFAULT_RULES
from psephos.protocol.views import Observation
from psephos.scenarios.testing import replay as replay_into
from wire import Chooser, Wire

Protocol: TypeAlias = PhasedProtocol[Any, Any]


class CountingNoise:
    """A simulation's noise that remembers what it was asked for.

    Attributes:
        draws: (phase, place) of each call, in order.
    """

    def __init__(self, noise: SimulatedNoise) -> None:
        self._noise = noise
        self.draws: list[tuple[str, int]] = []

    @property
    def kind(self) -> SessionKind:
        return SessionKind.SIMULATION

    def check(self, mechanism: RowMechanism) -> None:
        """Ask the simulation's noise."""
        self._noise.check(mechanism)

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Return what the simulation's noise returns."""
        self.draws.append((phase, place))
        return self._noise.randomize(mechanism, values, protocol=protocol, phase=phase, place=place)

    def entropy(self, *, protocol: str, phase: str, place: int) -> bytes:
        """Return what the simulation's noise returns."""
        return self._noise.entropy(protocol=protocol, phase=phase, place=place)


class Session:
    """All that defines a session, and makers of its machines.

    Args:
        protocol: what is run.
        inputs: the rows of all parties.
        seed: of the simulated noise.
        names: the roster; p0, p1, … by default.
        rules: deadlines and quorums.
        budget: each party's.
        fingerprints: of each party's certificate, for a roster that has them.
        descriptor: what makes the session this one.
        clients_know: whether each client knows its public row, or takes the server's.
    """

    def __init__(
        self,
        protocol: Protocol,
        inputs: Inputs,
        *,
        seed: int = 0,
        names: Sequence[str] | None = None,
        rules: SessionRules | None = None,
        budget: Budget | None = None,
        fingerprints: Sequence[str] | None = None,
        descriptor: SessionDescriptor = NO_DESCRIPTOR,
        clients_know: bool = True,
    ) -> None:
        self.protocol = protocol
        self.inputs = inputs
        self.names = tuple(names) if names is not None else make_names(len(inputs))
        self.roster = Roster(self.names, inputs.public, fingerprints=fingerprints)
        self.descriptor = descriptor
        self.rules = rules or DEFAULT_RULES
        self.budget = budget
        self.seed = seed
        self.clients_know = clients_know
        self.noise = CountingNoise(self.fresh_noise())
        self.ledgers = {name: Ledger(name, budget=budget) for name in self.names}

    def fresh_noise(self) -> SimulatedNoise:
        """Return the session's noise again, with nothing drawn ahead."""
        return SimulatedNoise(self.seed, session=SESSION_NAME)

    def mode(self, noise: NoiseSource | None = None) -> SessionMode:
        return SessionMode(SESSION_NAME, noise or self.noise, descriptor=self.descriptor)

    def party(self, name: str, *, ledger: Ledger | None = None) -> Party:
        place = self.names.index(name)
        row: list[int] = self.inputs.private[place].tolist()
        public: list[int] = self.inputs.public[place].tolist()
        ledger = ledger or self.ledgers[name]
        return Party(name, place, row, public=public if self.clients_know else None, ledger=ledger)

    def server(
        self,
        view: View | None = None,
        *,
        noise: NoiseSource | None = None,
        records: Sequence[ServerRecord] | None = None,
        secret: bytes = b"",
    ) -> ServerMachine:
        """Return a new server for the session; with records one that keeps them, and goes on from these."""
        return ServerMachine(
            self.protocol,
            self.roster,
            self.mode(noise),
            rules=self.rules,
            view=view,
            records=records,
            secret=secret,
        )

    def server_view(self) -> View:
        return View(SERVER, Side.SERVER, SESSION_NAME, SessionKind.SIMULATION)

    def client(
        self,
        name: str,
        *,
        view: View | None = None,
        protocol: Protocol | None = None,
        noise: NoiseSource | None = None,
        ledger: Ledger | None = None,
        records: Sequence[ClientRecord] | None = None,
    ) -> ClientMachine:
        """Return a new client for one party, who may hold another protocol than the server.

        With records it keeps them, and goes on from these.
        """
        party = self.party(name, ledger=ledger)
        return ClientMachine(protocol or self.protocol, party, self.mode(noise), view=view, records=records)

    def wire(self) -> Wire:
        """Return a wire between new machines of the session."""
        return Wire(self)

    def play(self, choose: Chooser | None = None) -> Wire:
        """Start, deliver everything, expire what is left, and check the end."""
        wire = self.wire()
        wire.start()
        wire.run(choose)
        wire.check_end()
        return wire


def closed(session: Session, phase: Phase, tally: Tally) -> Tally:
    """Return what a phase leaves whose reports have this tally: with noise where the server draws it."""
    draw = draw_for_release(session.fresh_noise(), protocol=session.protocol.name, phase=phase)
    return released_tally(phase, tally, draw)


def outcome_of_those_who_reported(
    session: Session, places_by_phase: Sequence[Sequence[int]]
) -> tuple[msgspec.Struct, tuple[Tally, ...]]:
    """Return outcome and tallies by arrays, over exactly those who reported in each phase.

    Args:
        session: the session.
        places_by_phase: for each phase, the places of those who reported, increasing; a subset of the phase's before.
    """
    noise = session.fresh_noise()
    drawn: list[IntArray] = []
    tallies: list[Tally] = []
    for phase, places in zip(session.protocol.phases, places_by_phase, strict=True):
        reports = draw_reports(phase, session.inputs, noise=noise, protocol=session.protocol.name, start=0)
        rows = np.array(places, dtype=np.int64)
        tallies.append(closed(session, phase, tally_batch(phase, reports, drawn, session.inputs.public, rows)))
        drawn.append(reports)
    outcome: msgspec.Struct = session.protocol.outcome(tallies)
    return outcome, tuple(tallies)


def replay(session: Session, observations: Sequence[Observation]) -> tuple[View, list[Effect]]:
    """Feed what a server saw into a new server; return that one's view and effects."""
    view = session.server_view()
    machine = session.server(view)
    return view, replay_into(machine, observations)


def play_own_levels(
    protocol: Protocol,
    inputs: Inputs,
    public: IntArray,
    *,
    of_roster: Protocol,
    reference: Callable[..., Any],
) -> tuple[Session, Any]:
    """Play a session whose parties say their level as they come, and return it and what it has found.

    Agents, arrays, a session that has levels from its roster, and the reference are checked to have the same bits.

    Args:
        public: the rows as they are before anybody has come.
        of_roster: the same protocol with levels from the roster.
        reference: returns the outcome of all in one function.
    """
    session = Session(protocol, inputs, seed=7)
    session.roster = Roster(session.names, public)
    result = session.play().result
    assert result is not None
    arrays = run_population(protocol, inputs, noise=session.fresh_noise()).outcome
    assert result.outcome == arrays == reference(protocol, inputs, noise=session.fresh_noise())
    assert run_population(of_roster, inputs, noise=session.fresh_noise()).outcome == arrays
    return session, arrays
