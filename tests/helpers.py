"""A pretend wire that joins one server's machine with its clients' machines, and makers of small sessions.

The wire carries encoded bytes in queues, one a direction and party, and delivers them in whatever order a test
asks for; it has no clock, so a deadline expires when it is told to. After each step it checks what must hold for
every session whatever its parties do; `Wire.check_end` checks what must hold when all is over.

What it promises to machines is less than a transport does: a test may drop, repeat, swap or damage what is queued.
"""

import collections
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from psephos.protocol import (
    ClientMachine,
    Inputs,
    Phase,
    PhasedProtocol,
    PhaseRules,
    PsephosError,
    RemoteProtocolError,
    Roster,
    ServerMachine,
    SessionKind,
    SessionResult,
    Side,
    SimulatedNoise,
    Tally,
    View,
)
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.effects import Charged, Closed, Drop, Effect, Fail, Finish, Keep, Opened, Send, SetDeadline
from psephos.protocol.fair_voting import FairVoting, Rankings
from psephos.protocol.fair_voting import Parameters as FairVotingParameters
from psephos.protocol.mechanisms import RowMechanism
from psephos.protocol.messages import (
    NO_CHARTER,
    PROTOCOL_VERSION,
    Abort,
    Charter,
    Hello,
    Inquiry,
    Message,
    Report,
    decode,
    encode,
)
from psephos.protocol.moral_preferences import MoralPreferences
from psephos.protocol.moral_preferences import Parameters as PreferenceParameters
from psephos.protocol.population import draw_for_release, draw_reports, released_tally, tally_batch
from psephos.protocol.privacy import Budget, Ledger
from psephos.protocol.randomness import NoiseSource
from psephos.protocol.records import ClientRecord, ServerRecord
from psephos.protocol.states import CONVERSATION, SESSION, State
from psephos.protocol.views import Observation
from psephos.scenarios.testing import replay as replay_into

__all__ = [
    "SERVER",
    "SESSION_NAME",
    "CountingNoise",
    "Delivery",
    "Session",
    "Wire",
    "closed",
    "drop_of",
    "encoded_values",
    "error_of",
    "failure_of",
    "hello",
    "make_fair_inputs",
    "make_fair_vote",
    "make_inputs",
    "make_names",
    "make_preference_inputs",
    "make_preferences",
    "make_vote",
    "messages_of",
    "outcome_of_those_who_reported",
    "raw",
    "receive_at_server",
    "replay",
]

SERVER: Final = "server"
SESSION_NAME: Final = "spring-ballot"

Protocol: TypeAlias = PhasedProtocol[Any, Any]


class Delivery(NamedTuple):
    """One payload that may be delivered next: the first of a queue."""

    direction: Literal["up", "down"]
    party: str


Chooser: TypeAlias = Callable[[Sequence[Delivery]], int]
"""Picks the next of several deliveries by its place."""


# Makers


def make_vote(**changes: Any) -> DPWeVote:
    """Return a vote on two candidates with weights 1, 2, 3 at ε = 2, changed as asked."""
    given: dict[str, Any] = {"candidates": ("ada", "bob"), "epsilon": 2.0, **changes}
    return DPWeVote(Parameters(**given))


def make_names(num_parties: int) -> tuple[str, ...]:
    """Return the names of a roster, numbered from p0."""
    return tuple(f"p{place}" for place in range(num_parties))


def make_inputs(vote: DPWeVote, num_parties: int, *, seed: int = 0) -> Inputs:
    """Return rows drawn from the vote's weights and from both opinions, as users' tables would make them."""
    generator = np.random.default_rng(seed)
    table: dict[str, list[float]] = {
        "weight": [
            vote.parameters.weights[n] for n in generator.integers(len(vote.parameters.weights), size=num_parties)
        ]
    }
    for candidate in vote.parameters.candidates:
        table[candidate] = [float(opinion) for opinion in generator.integers(2, size=num_parties)]
    return vote.encode(table)


def make_preferences(num_features: int = 2, **given: Any) -> MoralPreferences:
    """Return a session on moral preferences whose features are called a, b and so on."""
    return MoralPreferences(PreferenceParameters(features=tuple("abcdefghij"[:num_features]), **given))


def make_preference_inputs(protocol: MoralPreferences, num_voters: int, *, seed: int = 0) -> Inputs:
    """Return rows of voters with one to four records of normal features; societies and levels of ε take turns."""
    parameters = protocol.parameters
    generator = np.random.default_rng(seed)
    numbers = generator.integers(1, min(4, parameters.max_records), size=num_voters, endpoint=True).tolist()
    table: dict[str, list[Any]] = {
        "records": [generator.normal(size=(number, 2, parameters.num_features)) for number in numbers]
    }
    if names := parameters.names_of_societies:
        table["society"] = [names[voter % len(names)] for voter in range(num_voters)]
    if parameters.is_personal:
        table["epsilon"] = [parameters.epsilons[voter % len(parameters.epsilons)] for voter in range(num_voters)]
    return protocol.encode(table)


def make_fair_vote(*group_sizes: int, num_alternatives: int = 3, **given: Any) -> FairVoting:
    """Return a fair vote on alternatives called a, b and so on, of groups called g0, g1 and so on."""
    sizes = group_sizes or (3, 2)
    return FairVoting(
        FairVotingParameters(
            alternatives=tuple("abcdefghijklmnopqrstuvwxyz"[:num_alternatives]),
            groups=tuple(f"g{number}" for number in range(len(sizes))),
            group_sizes=sizes,
            **given,
        )
    )


def make_fair_inputs(protocol: FairVoting, *, seed: int = 0) -> Inputs:
    """Return rows of all voters of the groups, in an order drawn at random, whose rankings are uniform."""
    parameters = protocol.parameters
    generator = np.random.default_rng(seed)
    groups = generator.permutation(np.repeat(np.arange(len(parameters.groups)), parameters.group_sizes))
    positions = [generator.permutation(len(parameters.alternatives)) for _ in groups]
    return protocol.encode({"group": groups, "ranking": Rankings(np.array(positions, dtype=np.int64))})


def hello(party: str, /, **changes: Any) -> Hello:
    """Return the Hello that admits `party` to a simulated DPWeVote session, changed as asked."""
    given: dict[str, Any] = {
        "version": PROTOCOL_VERSION,
        "session": SESSION_NAME,
        "protocol": "dpwevote",
        "kind": "simulation",
        "party": party,
        **changes,
    }
    return Hello(**given)


def raw(value: object) -> msgspec.Raw:
    """Return a payload that carries `value`."""
    return msgspec.Raw(msgspec.msgpack.encode(value))


# What effects say


def messages_of(effects: Sequence[Effect]) -> list[tuple[tuple[str, ...], Message]]:
    """Return recipients and message of every `Send`."""
    return [(effect.recipients, effect.message) for effect in effects if isinstance(effect, Send)]


def drop_of(effects: Sequence[Effect]) -> Drop:
    """Return the one `Drop` among the effects."""
    (drop,) = (effect for effect in effects if isinstance(effect, Drop))
    return drop


def failure_of(effects: Sequence[Effect]) -> PsephosError:
    """Return the error of the one `Fail` among the effects."""
    (fail,) = (effect for effect in effects if isinstance(effect, Fail))
    return fail.error


def error_of(effects: Sequence[Effect]) -> PsephosError | None:
    """Return the first error among the effects, a dropped row's or a failure's; None where all went well."""
    for effect in effects:
        if isinstance(effect, (Drop, Fail)):
            return effect.error
    return None


def receive_at_server(server: ServerMachine, sender: str, message: Message, *, fingerprint: str = "") -> list[Effect]:
    """Hand a server a message as its agent does: what a connection begins with is checked before any row hears of it.

    A refusal is an `Abort` on that connection, and the connection's end.
    """
    begins = server.state_of(sender) is State.NEW or _is_over(Side.SERVER, server.state_of(sender))
    try:
        if isinstance(message, Inquiry) and begins:
            return [Send((sender,), server.answer(message, fingerprint=fingerprint))]
        if isinstance(message, Hello) and begins:
            server.admit(message, fingerprint=fingerprint)
    except RemoteProtocolError as error:
        return [Send((sender,), Abort.because(error)), Drop(sender, error)]
    return server.receive(sender, message)


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
        """Simulation."""
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


class Session:
    """All that defines a session, and makers of its machines.

    Args:
        protocol: what is run.
        inputs: the rows of all parties.
        seed: of the simulated noise.
        names: the roster; p0, p1, … by default.
        rules: deadlines and quorums by phase.
        default_rules: for the other phases.
        budget: each party's.
        kind: of the server; the clients simulate.
        fingerprints: of each party's certificate, for a roster that has them.
        charter: what makes the session this one.
        clients_know: whether each client knows its public row, or takes the server's.
    """

    def __init__(
        self,
        protocol: Protocol,
        inputs: Inputs,
        *,
        seed: int = 0,
        names: Sequence[str] | None = None,
        rules: Mapping[str, PhaseRules] | None = None,
        default_rules: PhaseRules | None = None,
        budget: Budget | None = None,
        kind: SessionKind = SessionKind.SIMULATION,
        fingerprints: Sequence[str] | None = None,
        charter: Charter = NO_CHARTER,
        clients_know: bool = True,
    ) -> None:
        self.protocol = protocol
        self.inputs = inputs
        self.names = tuple(names) if names is not None else make_names(len(inputs))
        self.roster = Roster(self.names, inputs.public, fingerprints=fingerprints)
        self.charter = charter
        self.rules = rules
        self.default_rules = default_rules
        self.budget = budget
        self.kind = kind
        self.seed = seed
        self.clients_know = clients_know
        self.noise = CountingNoise(self.fresh_noise())
        self.ledgers = {name: Ledger(name, budget=budget) for name in self.names}

    def fresh_noise(self) -> SimulatedNoise:
        """Return the session's noise again, with nothing drawn ahead."""
        return SimulatedNoise(self.seed, session=SESSION_NAME)

    def server(
        self,
        view: View | None = None,
        *,
        noise: NoiseSource | None = None,
        records: Sequence[ServerRecord] | None = None,
    ) -> ServerMachine:
        """Return a new server for the session; with records one that keeps them, and goes on from these."""
        return ServerMachine(
            self.protocol,
            roster=self.roster,
            session=SESSION_NAME,
            kind=self.kind,
            charter=self.charter,
            rules=self.rules,
            default_rules=self.default_rules,
            noise=noise or (self.noise if self.kind is SessionKind.SIMULATION else None),
            view=view,
            records=records,
        )

    def server_view(self) -> View:
        """Return an empty view for the server."""
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
        place = self.names.index(name)
        row: list[int] = self.inputs.private[place].tolist()
        public: list[int] = self.inputs.public[place].tolist()
        return ClientMachine(
            self.protocol if protocol is None else protocol,
            party=name,
            place=place,
            row=row,
            public=public if self.clients_know else None,
            session=SESSION_NAME,
            noise=noise or self.noise,
            ledger=ledger or self.ledgers[name],
            server=SERVER,
            charter=self.charter,
            view=view,
            records=records,
        )

    def wire(self) -> "Wire":
        """Return a wire between new machines of the session."""
        return Wire(self)

    def play(self, choose: Chooser | None = None) -> "Wire":
        """Start, deliver everything, expire what is left, and check the end."""
        wire = self.wire()
        wire.start()
        wire.run(choose)
        wire.check_end()
        return wire


class Wire:
    """Joins one server and n clients; each step is a call.

    Attributes:
        server: the server's machine.
        clients: the clients' machines by name.
        view: the server's view.
        up: for each party, what is on its way to the server.
        down: for each party, what is on its way from the server.
        deadlines: the phases whose deadlines have not expired, oldest first.
        effects: everything that the server's machine asked for.
        reports: (party, phase) → the bytes of each report that the party's machine sent.
        drops: for each party whose row the server ended, the error.
        outcomes: for each party that finished, the outcome.
        own: for each party that finished, what it alone was told.
        failures: for each party that failed, the error.
        accepted: for each phase that closed, the number of reports that it closed with; None where that is private.
        crashed: the parties whose machines are gone.
        refusals: for each party that came back and was refused, why.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.view = session.server_view()
        self.server = session.server(self.view)
        self.clients = {name: session.client(name) for name in session.names}
        self.up: dict[str, collections.deque[bytes]] = {name: collections.deque() for name in session.names}
        self.down: dict[str, collections.deque[bytes]] = {name: collections.deque() for name in session.names}
        self.deadlines: list[str] = []
        self.effects: list[Effect] = []
        self.reports: dict[tuple[str, int], list[bytes]] = {}
        self.drops: dict[str, RemoteProtocolError] = {}
        self.outcomes: dict[str, msgspec.Struct] = {}
        self.own: dict[str, msgspec.Struct | None] = {}
        self.failures: dict[str, PsephosError] = {}
        self.accepted: dict[str, int | None] = {}
        self.crashed: set[str] = set()
        self.refusals: dict[str, RemoteProtocolError] = {}
        self.result: SessionResult | None = None
        self.failure: PsephosError | None = None
        self._hung_up_by_client: set[str] = set()
        self._hung_up_by_server: set[str] = set()
        self._greeting: set[str] = set()  # came back, and the server does not know yet who speaks
        self._first_draw = dict.fromkeys(session.names, 0)  # of each party's present machine, among all draws
        self._reported: set[str] = set()  # the server has accepted a report of theirs
        self._may_not_draw: set[str] = set()  # came back after that

    # Steps

    def start(self) -> None:
        """Start all machines."""
        self._act_for_server(None, self.server.start())
        for name, client in self.clients.items():
            self._act_for_client(name, client.start())

    def available(self) -> list[Delivery]:
        """Return every queue that holds something, in roster order."""
        up = [Delivery("up", name) for name, queue in self.up.items() if queue]
        return up + [Delivery("down", name) for name, queue in self.down.items() if queue]

    def deliver(self, delivery: Delivery) -> None:
        """Deliver the first payload of one queue."""
        queue = self.up if delivery.direction == "up" else self.down
        payload = queue[delivery.party].popleft()
        if delivery.direction == "up":
            self.feed_server(delivery.party, payload)
        else:
            self.feed_client(delivery.party, payload)

    def feed_server(self, party: str, payload: bytes) -> list[Effect]:
        """Hand the server some bytes from `party`."""
        if party in self._greeting:
            return self._greet(party, payload)
        try:
            message = decode(payload, sender=party)
        except RemoteProtocolError as problem:
            error = problem
            return self._step_of_server(party, lambda: self.server.receive_fault(party, error))
        was_asked = self.server.state_of(party) is State.ASKED
        effects = self._step_of_server(party, lambda: self.server.receive(party, message))
        if was_asked and isinstance(message, Report) and not any(isinstance(effect, Drop) for effect in effects):
            self._reported.add(party)
        return effects

    def _greet(self, party: str, payload: bytes) -> list[Effect]:
        """Hand the server what a new connection begins with, as its agent does: a refusal moves no row."""
        try:
            message = decode(payload, sender=party)
            if not isinstance(message, Hello) or message.party != party:
                raise RemoteProtocolError(f"{party} began without its Hello", sender=party)  # noqa: TRY301  told below
            self.server.admit(message, fingerprint=self.session.roster.fingerprint_of(party))
        except RemoteProtocolError as error:
            self.refusals[party] = error
            self.up[party].clear()
            self.down[party].append(encode(Abort.because(error)))
            self._hung_up_by_server.add(party)
            return []
        effects = self._step_of_server(party, lambda: self.server.receive(party, message))
        self._greeting.discard(party)
        return effects

    def feed_client(self, party: str, payload: bytes) -> list[Effect]:
        """Hand a client some bytes from the server."""
        if party in self.crashed:
            return []
        client = self.clients[party]
        was_over = _is_over(Side.CLIENT, client.state)
        try:
            message = decode(payload, sender=SERVER)
        except RemoteProtocolError as error:
            effects = client.receive_fault(SERVER, error)
        else:
            effects = client.receive(SERVER, message)
        assert not (was_over and effects), f"{party} acted after its end: {effects}"
        self._act_for_client(party, effects)
        return effects

    def expire(self, phase: str) -> list[Effect]:
        """Tell the server that a deadline has passed, whether it was set or not."""
        if phase in self.deadlines:
            self.deadlines.remove(phase)
        return self._step_of_server(None, lambda: self.server.receive_timeout(phase))

    def crash(self, party: str) -> None:
        """A client's process is gone: nothing that it is sent arrives; what it had sent may still."""
        self.crashed.add(party)
        self._hung_up_by_client.add(party)
        self.down[party].clear()

    def lose(self, party: str) -> None:
        """The network loses one connection with all that is on its way; both ends note it."""
        self.up[party].clear()
        self.down[party].clear()
        self._hung_up_by_client.discard(party)
        self._hung_up_by_server.discard(party)
        self._tell_of_loss(party)
        self._lose_at_client(party)

    def restart(self, party: str) -> None:
        """A client's process and its connection are gone; the process begins anew, with a ledger of its own."""
        self.lose(party)
        if party in self._reported:
            self._may_not_draw.add(party)
        self.crashed.discard(party)
        self.outcomes.pop(party, None)
        self.own.pop(party, None)
        self.failures.pop(party, None)
        self._first_draw[party] = len(self.session.noise.draws)
        self.session.ledgers[party] = Ledger(party, budget=self.session.budget)
        self.clients[party] = self.session.client(party)
        self._greeting.add(party)
        self._act_for_client(party, self.clients[party].start())

    def hang_up(self) -> bool:
        """Tell each end that the other one has closed and nothing more is on its way; return whether any was told."""
        told = False
        for party in list(self._hung_up_by_client):
            if not self.up[party]:
                self._hung_up_by_client.discard(party)
                self._tell_of_loss(party)
                told = True
        for party in list(self._hung_up_by_server):
            if not self.down[party]:
                self._hung_up_by_server.discard(party)
                self._lose_at_client(party)
                told = True
        return told

    def run(self, choose: Chooser | None = None) -> None:
        """Deliver until nothing is left, then expire the oldest deadline, and so on until all is over."""
        while True:
            available = self.available()
            if available:
                self.deliver(available[0 if choose is None else choose(available)])
            elif not self.hang_up():
                if not self.deadlines or not SESSION[self.server.state]:
                    return
                self.expire(self.deadlines[0])

    # What must hold

    def check_end(self) -> None:
        """Check what must hold when everything was delivered and all deadlines have expired."""
        assert not SESSION[self.server.state], f"the session hangs: it is {self.server.state.value}"
        assert (self.result is None) != (self.failure is None), "a server finishes or fails"
        for name, client in self.clients.items():
            if name in self.crashed:
                continue
            assert _is_over(Side.CLIENT, client.state), f"{name} hangs: it is {client.state.value}"
            assert (name in self.outcomes) != (name in self.failures), f"{name} must finish or fail, and once"
        if self.result is not None:
            for name, outcome in self.outcomes.items():
                assert outcome == self.result.outcome, f"{name} heard another outcome than the server released"
                own = self.result.own_outcomes.get(self.session.names.index(name))
                assert self.own[name] == own, f"{name} was told {self.own[name]}, and the server meant {own}"
        else:
            assert not self.outcomes, "nobody hears an outcome that was not released"
        self._check_charges()

    def states(self) -> dict[str, State]:
        """Return where each row of the server stands."""
        return {name: self.server.state_of(name) for name in self.clients}

    def _check_charges(self) -> None:
        """A party is charged for exactly what was drawn, and each report is drawn once."""
        reported = {phase.name for phase in self.session.protocol.phases}  # what a server draws has other names
        for place, name in enumerate(self.session.names):
            recent = self.session.noise.draws[self._first_draw[name] :]
            draws = [draw for draw in recent if draw[1] == place and draw[0] in reported]
            assert len(set(draws)) == len(draws), f"{name} drew a report twice"
            assert not (draws and name in self._may_not_draw), f"{name} had reported, and drew again"
            public: list[int] = self.session.inputs.public[place].tolist()
            charged = [(entry.phase, entry.unit, entry.proven) for entry in self.session.ledgers[name].entries]
            due = [
                (phase.name, loss.unit, loss.proven)
                for phase in self.session.protocol.phases
                for loss in phase.losses_of(public)
                if (phase.name, place) in draws
            ]
            assert charged == due, f"{name} was charged {charged} for draws that cost {due}"

    # Acting on effects

    def _step_of_server(self, sender: str | None, step: Callable[[], list[Effect]]) -> list[Effect]:
        before = self.states()
        state_before = self.server.state
        effects = step()
        after = self.states()
        assert not (effects and not SESSION[state_before] and _has_ending(effects)), "a session ends once"
        for name, state in before.items():
            comes_back = name == sender and name in self._greeting
            assert comes_back or not _is_over(Side.SERVER, state) or after[name] is state, f"{name}'s row left its end"
        if not any(isinstance(effect, (Opened, Closed, Fail)) for effect in effects):
            changed = {name for name in before if before[name] is not after[name]}
            assert changed <= {sender}, f"a step of {sender} moved the rows of {changed}"
        self._act_for_server(sender, effects)
        self._check_charges()
        return effects

    def _act_for_server(self, sender: str | None, effects: Sequence[Effect]) -> None:
        self.effects.extend(effects)
        for effect in effects:
            match effect:
                case Send(recipients, message):
                    payload = encode(message)
                    for recipient in recipients:
                        if recipient not in self.crashed:
                            self.down[recipient].append(payload)
                case SetDeadline(phase, seconds):
                    assert seconds > 0
                    self.deadlines.append(phase)
                case Drop(party, error):
                    assert party == sender, f"{sender}'s message dropped {party}"
                    self.drops[party] = error
                    self._hung_up_by_server.add(party)
                case Closed(phase, num_received):
                    assert phase not in self.accepted, f"phase {phase} closed twice"
                    self.accepted[phase] = num_received
                case Finish(result):
                    assert isinstance(result, SessionResult)
                    self.result = result
                    self._hung_up_by_server.update(self.clients)
                case Fail(error):
                    self.failure = error
                    self._hung_up_by_server.update(self.clients)
                case Opened():
                    pass
                case Charged() | Keep():
                    raise AssertionError("a server is charged nothing, and keeps nothing here")

    def _act_for_client(self, party: str, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(recipients, message):
                    assert recipients == (SERVER,)
                    payload = encode(message)
                    self.up[party].append(payload)
                    if isinstance(message, Report):
                        sent = self.reports.setdefault((party, message.phase), [])
                        sent.append(payload)
                        assert len(set(sent)) == 1, f"{party} drew twice for phase {message.phase}"
                case Finish(result, own):
                    assert party not in self.outcomes
                    self.outcomes[party] = result
                    self.own[party] = own
                    self._hung_up_by_client.add(party)
                case Fail(error):
                    assert party not in self.failures
                    self.failures[party] = error
                    self._hung_up_by_client.add(party)
                case Charged(charge):
                    assert charge.entry.person == party
                case SetDeadline() | Drop() | Opened() | Closed() | Keep():
                    raise AssertionError(f"a client never asks for {effect}")

    def _tell_of_loss(self, party: str) -> None:
        if party in self._greeting:
            self._greeting.discard(party)  # the server never knew who it was, or has refused it
        else:
            self._step_of_server(party, lambda: self.server.receive_loss(party))

    def _lose_at_client(self, party: str) -> None:
        if party not in self.crashed:
            self._act_for_client(party, self.clients[party].receive_loss(SERVER))


def _is_over(side: Side, state: State) -> bool:
    return not CONVERSATION[side][state]


def _has_ending(effects: Sequence[Effect]) -> bool:
    return any(isinstance(effect, (Finish, Fail)) for effect in effects)


# Other ways to the same result


def encoded_values(payload: bytes) -> tuple[int, list[int]]:
    """Return phase and values of an encoded report."""
    message = decode(payload)
    assert isinstance(message, Report)
    return message.phase, msgspec.msgpack.decode(message.payload, type=list[int])


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
