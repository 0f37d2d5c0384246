"""The client's machine: one party against a server that keeps the rules, and one that does not."""

from collections.abc import Callable

import msgspec
import pytest
from helpers import SERVER, SESSION_NAME, CountingNoise, failure_of, hello, messages_of, raw
from lone_machines import (
    NOT_PARAMETERS,
    ROW,
    VOTE,
    RefusingNoise,
    client_in,
    make_client,
    release,
    welcome,
)
from psephos.protocol import (
    BudgetExceededError,
    ConfigurationError,
    LocalProtocolError,
    MalformedMessageError,
    QuorumError,
    SessionAborted,
    SessionKind,
    Side,
    SimulatedNoise,
    UnexpectedMessageError,
    View,
)
from psephos.protocol.effects import Fail, Finish, Send
from psephos.protocol.messages import (
    PROTOCOL_VERSION,
    Abort,
    Inquiry,
    Message,
    Release,
    Report,
    Request,
    SessionDescriptor,
    Terms,
)
from psephos.protocol.privacy import Budget, Ledger
from psephos.protocol.states import CONVERSATION, Move, State
from psephos.protocol.views import Happening

TABLE = CONVERSATION[Side.CLIENT]


# Making and starting one


def test_a_new_machine_says_hello_once() -> None:
    client = make_client()
    assert (client.state, client.party) == (State.NEW, "p0")
    assert client.start() == [Send((SERVER,), hello("p0"))]
    assert client.state is State.GREETED
    with pytest.raises(LocalProtocolError) as caught:
        client.start()
    assert (caught.value.role, caught.value.state) == ("client", "greeted")


def test_a_hello_names_the_sessions_id() -> None:
    assert make_client(descriptor=SessionDescriptor("an id")).start() == [
        Send((SERVER,), hello("p0", session_id="an id"))
    ]


def test_a_name_that_cannot_name_a_party_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        make_client(party=" p0")


# The whole product of states and messages

MESSAGES: dict[str, Callable[[], Message]] = {
    "Hello": lambda: hello("p1"),
    "Welcome": welcome,
    "the next Request": lambda: Request(0, raw(None)),
    "Report": lambda: Report(0, raw([1])),
    "Release": release,  # before the last request
    "Release to who was late": lambda: release(is_late=True),
    "Abort": lambda: Abort("enough"),
    "Inquiry": lambda: Inquiry(PROTOCOL_VERSION, "p0"),
    "Terms": lambda: Terms(PROTOCOL_VERSION, SESSION_NAME, "dpwevote", "simulation", VOTE.encoded_parameters, 0),
}
MOVES = {
    "Hello": None,
    "Welcome": Move.WELCOME,
    "the next Request": Move.REQUEST,
    "Report": None,
    "Release": None,
    "Release to who was late": Move.RELEASE,
    "Abort": Move.BREAK,
    "Inquiry": None,
    "Terms": None,
}
REACHABLE = [State.NEW, State.GREETED, State.JOINED, State.REPORTED, State.FINISHED, State.ENDED]


@pytest.mark.parametrize("name", list(MESSAGES))
@pytest.mark.parametrize("state", REACHABLE)
def test_what_the_table_allows_moves_and_everything_else_is_the_servers_fault(state: State, name: str) -> None:
    noise = CountingNoise(SimulatedNoise(1, session=SESSION_NAME))
    ledger = Ledger("p0")
    client = client_in(state, noise=noise, ledger=ledger)
    draws_before, entries_before = len(noise.draws), len(ledger.entries)
    message = MESSAGES[name]()
    if state is State.REPORTED and isinstance(message, Request):
        message = Request(1, raw(None))
    effects = client.receive(SERVER, message)
    move = MOVES[name]
    if not TABLE[state]:
        assert effects == []
        assert client.state is state
    elif move is None or move not in TABLE[state]:
        assert client.state is State.ENDED
        (abort, fail) = effects
        assert isinstance(fail, Fail)
        error = fail.error
        assert isinstance(error, UnexpectedMessageError)
        assert (error.sender, error.role, error.state) == (SERVER, "client", state.value)
        assert error.message_type == type(message).__name__
        assert abort == Send((SERVER,), Abort(str(error)))
    elif move is Move.REQUEST:
        assert client.state is State.REPORTED  # asked and answered in one step
        assert len(noise.draws) == draws_before + 1
        assert len(ledger.entries) > entries_before
        return
    else:
        assert client.state is TABLE[state][move]
    assert len(noise.draws) == draws_before
    assert len(ledger.entries) == entries_before


@pytest.mark.parametrize("step", ["loss", "fault"])
@pytest.mark.parametrize("state", REACHABLE)
def test_a_lost_or_senseless_connection_ends_every_conversation_that_is_not_over(state: State, step: str) -> None:
    client = client_in(state)
    error = MalformedMessageError("noise", sender=SERVER)
    effects = client.receive_loss(SERVER) if step == "loss" else client.receive_fault(SERVER, error)
    if not TABLE[state]:
        assert effects == []
        assert client.state is state
        return
    assert client.state is State.ENDED
    if step == "fault":
        assert effects == [Send((SERVER,), Abort("noise")), Fail(error)]
    else:
        lost = failure_of(effects)
        assert isinstance(lost, SessionAborted)
        assert (lost.by, lost.reason) == (SERVER, "the connection was lost before the release")


def test_a_budget_that_does_not_hold_the_session_refuses_before_anything_is_drawn() -> None:
    """The session costs 1 for the weight and 1 for each of two opinions."""
    ledger = Ledger("p0", budget=Budget(epsilon=2.5))
    client = client_in(State.GREETED, ledger=ledger, noise=RefusingNoise())
    effects = client.receive(SERVER, welcome())
    error = failure_of(effects)
    assert isinstance(error, BudgetExceededError)
    assert (error.requested, error.remaining, error.unit) == (pytest.approx(3.0), 2.5, "weight, opinion")
    assert messages_of(effects) == [((SERVER,), Abort("the party's privacy budget does not allow it"))]
    assert (client.state, ledger.entries) == (State.ENDED, ())


def test_what_a_session_did_not_need_is_others_again() -> None:
    ledger = Ledger("p0", budget=Budget(epsilon=3.0))
    client = client_in(State.REPORTED, ledger=ledger)
    assert ledger.remaining == 0.0
    client.receive_loss(SERVER)
    assert ledger.remaining == 3.0 - ledger.spent > 0


def test_a_view_of_another_kind_of_session_is_refused() -> None:
    class SecureLike(RefusingNoise):
        @property
        def kind(self) -> SessionKind:
            return SessionKind.DEPLOYMENT

    view = View("p0", Side.CLIENT, SESSION_NAME, SessionKind.SIMULATION)
    with pytest.raises(ConfigurationError):
        make_client(noise=SecureLike(), view=view)


# Release and abort


@pytest.mark.parametrize(("num_asked", "is_late"), [(2, False), (2, True), (1, True)])
def test_a_release_finishes_the_session_and_says_who_was_late(num_asked: int, *, is_late: bool) -> None:
    client = client_in(State.JOINED)
    for phase in range(num_asked):
        client.receive(SERVER, Request(phase, raw(None)))
    message = release(is_late=is_late)
    assert client.receive(SERVER, message) == [Finish(msgspec.msgpack.decode(message.payload, type=VOTE.outcome_type))]
    assert client.state is State.FINISHED
    assert client.late_phase == (("weights", "opinions")[num_asked - 1] if is_late else None)
    assert (client.transcript is None) == (num_asked < 2)


@pytest.mark.parametrize("num_asked", [0, 1])
def test_a_release_before_the_last_request_is_refused_and_no_outcome_is_taken(num_asked: int) -> None:
    client = client_in(State.JOINED)
    for phase in range(num_asked):
        client.receive(SERVER, Request(phase, raw(None)))
    effects = client.receive(SERVER, release())
    assert isinstance(failure_of(effects), UnexpectedMessageError)
    assert not any(isinstance(effect, Finish) for effect in effects)
    assert (client.state, client.transcript) == (State.ENDED, None)


def test_nobody_is_late_who_was_asked_nothing() -> None:
    error = failure_of(client_in(State.JOINED).receive(SERVER, release(is_late=True)))
    assert str(error) == "server sent a Release in state 'joined'"


NOT_OUTCOMES = {
    **NOT_PARAMETERS,
    "a name that is not UTF-8": msgspec.msgpack.encode({"candidates": [{"name": "x"}]}).replace(b"\xa1x", b"\xa1\xff"),
}


@pytest.mark.parametrize("name", list(NOT_OUTCOMES))
def test_a_release_that_is_no_outcome_is_the_servers_fault(name: str) -> None:
    client = client_in(State.REPORTED)
    client.receive(SERVER, Request(1, raw(None)))
    effects = client.receive(SERVER, Release(msgspec.Raw(NOT_OUTCOMES[name])))
    error = failure_of(effects)
    assert isinstance(error, MalformedMessageError)
    assert (error.sender, error.role) == (SERVER, "client")
    assert str(error).startswith("server's release is no Outcome: ")
    assert client.state is State.ENDED


def test_an_abort_says_who_ended_the_session_and_why() -> None:
    error = failure_of(client_in(State.JOINED).receive(SERVER, Abort("no time")))
    assert isinstance(error, SessionAborted)
    assert (error.reason, error.by) == ("no time", SERVER)


def test_an_abort_for_want_of_a_quorum_names_phase_numbers_and_missing() -> None:
    abort = Abort("few", phase="weights", received=1, required=4, missing=("p1", "p2"), num_missing=3)
    error = failure_of(client_in(State.REPORTED).receive(SERVER, abort))
    assert isinstance(error, QuorumError)
    assert (error.phase, error.received, error.required) == ("weights", 1, 4)
    assert (error.missing, error.num_missing) == (("p1", "p2"), 3)


# Views


def test_a_view_shows_everything_that_was_sent_and_received_in_order() -> None:
    view = View("p0", Side.CLIENT, SESSION_NAME, SessionKind.SIMULATION, ROW)
    client = client_in(State.REPORTED, view=view)
    client.receive_loss(SERVER)
    assert [(o.happening, o.peer, type(o.message).__name__) for o in view.observations] == [
        (Happening.SENT, SERVER, "Hello"),
        (Happening.RECEIVED, SERVER, "Welcome"),
        (Happening.RECEIVED, SERVER, "Request"),
        (Happening.SENT, SERVER, "Report"),
        (Happening.LOST, SERVER, "NoneType"),
    ]


def test_a_view_shows_nothing_after_the_end() -> None:
    view = View("p0", Side.CLIENT, SESSION_NAME, SessionKind.SIMULATION, ROW)
    client = client_in(State.FINISHED, view=view)
    seen = len(view.observations)
    client.receive(SERVER, Abort("late"))
    client.receive_loss(SERVER)
    assert len(view.observations) == seen
