"""One machine by itself: a server or a client that a test brings into a state by hand, message by message."""

from collections.abc import Sequence
from typing import Any

from helpers import (
    SERVER,
    SESSION_NAME,
    Session,
    hello,
    make_inputs,
    make_names,
    make_vote,
    messages_of,
    raw,
)
from psephos.protocol import (
    ClientMachine,
    NoiseSource,
    Party,
    PhasedProtocol,
    ServerMachine,
    SessionKind,
    SessionMode,
    SessionResult,
    SessionRules,
    SimulatedNoise,
    View,
    run_population,
)
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.effects import Effect, Finish
from psephos.protocol.mechanisms import RowMechanism
from psephos.protocol.messages import (
    NO_DESCRIPTOR,
    PROTOCOL_VERSION,
    Abort,
    Release,
    Report,
    Request,
    SessionDescriptor,
    Welcome,
)
from psephos.protocol.privacy import Ledger
from psephos.protocol.states import State

VOTE = make_vote()
TWO_OF_THREE = SessionRules(quorum=2)


def make_server(
    num_parties: int = 3,
    *,
    vote: DPWeVote = VOTE,
    rules: SessionRules | None = None,
) -> ServerMachine:
    """Return a server that waits for its roster."""
    session = Session(vote, make_inputs(vote, num_parties), rules=rules)
    server = session.server()
    server.start()
    return server


def join(server: ServerMachine, *parties: str) -> list[Effect]:
    return [effect for party in parties for effect in server.receive(party, hello(party))]


def weight_report(group: int = 1) -> Report:
    return Report(0, raw([group]))


def opinion_report(*opinions: int) -> Report:
    return Report(1, raw(list(opinions or (0, 1))))


def finish(result: Sequence[Effect]) -> SessionResult:
    (ending,) = (effect for effect in result if isinstance(effect, Finish))
    assert isinstance(ending.result, SessionResult)
    return ending.result


def server_in(state: State) -> ServerMachine:
    """Return a server of three, quorum two, whose row p0 has come to `state` by the rules."""
    server = make_server(rules=TWO_OF_THREE)
    if state is State.NEW:
        return server
    if state is State.JOINED:
        join(server, "p0")
        return server
    join(server, "p0", "p1", "p2")
    if state is State.ENDED:
        server.receive("p0", Abort("not today"))  # on purpose: whose connection was lost may come back
    elif state is State.REPORTED:
        server.receive("p0", weight_report())
    elif state is State.LATE:
        server.receive("p1", weight_report())
        server.receive("p2", weight_report())
        server.receive_timeout("weights")
    elif state is State.FINISHED:
        for party in make_names(3):
            server.receive(party, weight_report())
        for party in make_names(3):
            server.receive(party, opinion_report())
    assert server.state_of("p0") is state
    return server


NOT_PARAMETERS = {
    "nil": b"\xc0",
    "no bytes": b"",
    "an unused opcode": b"\xc1",
    "a key that cannot be one": b"\x81\x80\x01",
    "text that is not UTF-8": b"\x81\xa1a\xa1\xff",
    "a key that is not UTF-8": b"\x81\xa1\xff\x01",
    "nesting without end": b"\x81\xa1a" + b"\x91" * 100_000 + b"\x00",
    "an impossible time": b"\x81\xa1a\xd7\xff" + b"\xff" * 8,
}
ROW = (1, 0, 1, 1)  # group 1, no to ada, yes to bob, weight 1 of the public set


class RefusingNoise:
    """A noise source that must not be asked."""

    @property
    def kind(self) -> SessionKind:
        return SessionKind.SIMULATION

    def check(self, mechanism: RowMechanism) -> None:
        """Know how."""

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        raise AssertionError(f"{protocol}: {values} of place {place} went through {mechanism} in phase {phase!r}")

    def entropy(self, *, protocol: str, phase: str, place: int) -> bytes:
        raise AssertionError(f"{protocol}: place {place} drew secrets in phase {phase!r}")


def make_client(
    *,
    protocol: PhasedProtocol[Any, Any] = VOTE,
    ledger: Ledger | None = None,
    noise: NoiseSource | None = None,
    view: View | None = None,
    party: str = "p0",
    row: Sequence[int] = ROW,
    descriptor: SessionDescriptor = NO_DESCRIPTOR,
) -> ClientMachine:
    return ClientMachine(
        protocol,
        Party(party, 0, row, ledger=ledger),
        SessionMode(SESSION_NAME, noise or SimulatedNoise(1, session=SESSION_NAME), descriptor=descriptor),
        view=view,
    )


def welcome(vote: DPWeVote = VOTE, version: int = PROTOCOL_VERSION) -> Welcome:
    return Welcome(version, vote.encoded_parameters)


def release(*, is_late: bool = False) -> Release:
    client_row = VOTE.encode({"weight": [2.0], "ada": [0], "bob": [1]})
    protocol: PhasedProtocol[Any, Any] = VOTE
    outcome = run_population(protocol, client_row, noise=SimulatedNoise(1, session="other")).outcome
    return Release(raw(outcome), is_late=is_late)


def client_in(state: State, **options: Any) -> ClientMachine:
    """Return a client that has come to `state` by the rules; REPORTED is after the first phase."""
    client = make_client(**options)
    if state is State.NEW:
        return client
    client.start()
    if state is State.GREETED:
        return client
    if state is State.ENDED:
        client.receive_loss(SERVER)
        return client
    client.receive(SERVER, welcome())
    if state is State.JOINED:
        return client
    client.receive(SERVER, Request(0, raw(None)))
    if state is State.FINISHED:
        client.receive(SERVER, Request(1, raw(None)))
        client.receive(SERVER, release())
    assert client.state is state
    return client


def report_of(effects: Sequence[Effect]) -> Report:
    (report,) = (message for _, message in messages_of(effects) if isinstance(message, Report))
    return report
