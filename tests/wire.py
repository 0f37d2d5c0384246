"""A pretend wire that joins one server's machine with its clients' machines.

The wire carries encoded bytes in queues, one a direction and party, and delivers them in whatever order a test
asks for; it has no clock, so a deadline expires when it is told to. After each step it checks what must hold for
every session whatever its parties do; `Wire.check_end` checks what must hold when all is over.

What it promises to machines is less than a transport does: a test may drop, repeat, swap or damage what is queued.
"""

import collections
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec
from exchanges import SERVER, has_ending, is_over
from psephos.protocol import PsephosError, RemoteProtocolError, SessionResult, Side
from psephos.protocol.effects import (
    Attended,
    Charged,
    Closed,
    Drop,
    Effect,
    Fail,
    Finish,
    Keep,
    LiarNamed,
    Opened,
    Send,
    SetDeadline,
)
from psephos.protocol.messages import Abort, Hello, Report, decode, encode
from psephos.protocol.privacy import Ledger
from psephos.protocol.states import SESSION, State

if TYPE_CHECKING:
    from machine_sessions import Session


class Delivery(NamedTuple):
    """One payload that may be delivered next: the first of a queue."""

    direction: Literal["up", "down"]
    party: str


Chooser: TypeAlias = Callable[[Sequence[Delivery]], int]

"""Picks the next of several deliveries by its place."""


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
        named: for each party that was found to have lied in a masked phase, what it has done, and what proves it.
        outcomes: for each party that finished, the outcome.
        own: for each party that finished, what it alone was told.
        failures: for each party that failed, the error.
        accepted: for each phase that closed, the number of reports that it closed with; None where that is private.
        crashed: the parties whose machines are gone.
        refusals: for each party that came back and was refused, why.
    """

    def __init__(self, session: "Session") -> None:
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
        self.named: dict[str, LiarNamed] = {}
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
            self.down[party].append(encode(Abort.from_error(error)))
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
        was_over = is_over(Side.CLIENT, client.state)
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
            assert is_over(Side.CLIENT, client.state), f"{name} hangs: it is {client.state.value}"
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
        assert not (effects and not SESSION[state_before] and has_ending(effects)), "a session ends once"
        for name, state in before.items():
            comes_back = name == sender and name in self._greeting
            assert comes_back or not is_over(Side.SERVER, state) or after[name] is state, f"{name}'s row left its end"
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
                    assert party == sender or party in self.named, f"{sender}'s message dropped {party}"
                    self.drops[party] = error
                    self._hung_up_by_server.add(party)
                case LiarNamed(party):
                    assert party not in self.named, f"{party} was named twice"
                    self.named[party] = effect
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
                case Opened() | Attended():
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
                        sent = self.reports.setdefault((party, message.step), [])
                        sent.append(payload)
                        assert len(set(sent)) == 1, f"{party} drew twice for phase {message.step}"
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
                case SetDeadline() | Drop() | LiarNamed() | Attended() | Opened() | Closed() | Keep():
                    raise AssertionError(f"a client never asks for {effect}")

    def _tell_of_loss(self, party: str) -> None:
        if party in self._greeting:
            self._greeting.discard(party)  # the server never knew who it was, or has refused it
        else:
            self._step_of_server(party, lambda: self.server.receive_loss(party))

    def _lose_at_client(self, party: str) -> None:
        if party not in self.crashed:
            self._act_for_client(party, self.clients[party].receive_loss(SERVER))
