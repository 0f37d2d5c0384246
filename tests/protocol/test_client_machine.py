"""The client's machine: one party against a server that keeps the rules, and one that does not."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from helpers import SERVER, SESSION_NAME, CountingNoise, failure_of, hello, make_vote, messages_of, raw
from psephos.protocol import (
    BudgetExceededError,
    ClientMachine,
    ConfigurationError,
    LocalProtocolError,
    MalformedMessageError,
    NoiseSource,
    PhasedProtocol,
    PrivacyError,
    QuorumError,
    RemoteProtocolError,
    SessionAborted,
    SessionKind,
    Side,
    SimulatedNoise,
    UnexpectedMessageError,
    View,
    run_population,
)
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.effects import Charged, Effect, Fail, Finish, Send
from psephos.protocol.mechanisms import RowMechanism
from psephos.protocol.messages import (
    NO_CHARTER,
    PROTOCOL_VERSION,
    Abort,
    Charter,
    Inquiry,
    Message,
    Release,
    Report,
    Request,
    Terms,
    Welcome,
    decode,
    encode,
)
from psephos.protocol.privacy import Budget, Ledger, NeighboringRelation
from psephos.protocol.states import CONVERSATION, Move, State
from psephos.protocol.views import Happening

VOTE = make_vote()
ROW = (1, 0, 1, 1)  # group 1, no to ada, yes to bob, weight 1 of the public set
TABLE = CONVERSATION[Side.CLIENT]


class RefusingNoise:
    """A noise source that must not be asked."""

    @property
    def kind(self) -> SessionKind:
        """Simulation."""
        return SessionKind.SIMULATION

    def check(self, mechanism: RowMechanism) -> None:
        """Know how."""

    def randomize(
        self, mechanism: RowMechanism, values: Sequence[int], *, protocol: str, phase: str, place: int
    ) -> list[int]:
        """Fail."""
        raise AssertionError(f"{protocol}: {values} of place {place} went through {mechanism} in phase {phase!r}")


def make_client(
    *,
    protocol: PhasedProtocol[Any, Any] = VOTE,
    ledger: Ledger | None = None,
    noise: NoiseSource | None = None,
    view: View | None = None,
    party: str = "p0",
    row: Sequence[int] = ROW,
    charter: Charter = NO_CHARTER,
) -> ClientMachine:
    return ClientMachine(
        protocol,
        party=party,
        place=0,
        row=row,
        session=SESSION_NAME,
        noise=SimulatedNoise(1, session=SESSION_NAME) if noise is None else noise,
        ledger=Ledger(party) if ledger is None else ledger,
        server=SERVER,
        charter=charter,
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
    assert make_client(charter=Charter("an id")).start() == [Send((SERVER,), hello("p0", session_id="an id"))]


AGREED = Charter("an id", "a roster", 1_900_000_000)


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        ({"id": "b"}, "id is 'b', agreed 'an id'"),
        ({"roster": "", "expires": 0}, "roster is '', agreed 'a roster'; expires is 0, agreed 1900000000"),
        ({"expires": 1_900_000_001}, "expires is 1900000001, agreed 1900000000"),
    ],
)
def test_a_session_that_is_another_one_than_was_agreed_to_is_left_before_anything_is_reserved(
    other: dict[str, Any], difference: str
) -> None:
    client = make_client(charter=AGREED)
    client.start()
    charter = msgspec.structs.replace(AGREED, **other)
    effects = client.receive(SERVER, msgspec.structs.replace(welcome(), charter=charter))
    error = failure_of(effects)
    assert str(error) == f"server's session is another one than was agreed to: {difference}"
    assert messages_of(effects) == [((SERVER,), Abort(str(error)))]
    assert client.state is State.ENDED


@pytest.mark.parametrize("charter", [Charter(), Charter("an id"), AGREED])
def test_what_was_not_agreed_of_a_charter_is_taken_as_the_server_says_it(charter: Charter) -> None:
    client = make_client(charter=charter)
    client.start()
    assert client.receive(SERVER, msgspec.structs.replace(welcome(), charter=AGREED)) == []
    assert client.state is State.JOINED


def test_a_name_that_cannot_name_a_party_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        make_client(party=" p0")


@pytest.mark.parametrize("row", [(3, 0, 1), (-1, 0, 1), (1, 0, 2), (1, -1, 0), (1, 0), (), (1,)])
def test_a_row_that_does_not_fit_is_refused_without_being_shown(row: Sequence[int]) -> None:
    with pytest.raises(ValueError, match=r"^p0: phase '(weights|opinions)' takes [12] values in \[0, [12]\]$"):
        make_client(row=row)


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


# Welcome


def test_a_server_of_another_version_is_refused() -> None:
    client = client_in(State.GREETED)
    error = failure_of(client.receive(SERVER, welcome(version=PROTOCOL_VERSION + 1)))
    assert isinstance(error, RemoteProtocolError)
    assert (str(error), error.sender) == (
        f"server speaks version {PROTOCOL_VERSION + 1}, this side {PROTOCOL_VERSION}",
        SERVER,
    )


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"epsilon": 4.0}, "epsilon is 4.0, agreed 2.0"),
        ({"candidates": ("ada", "eve")}, "candidates is ['ada', 'eve'], agreed ['ada', 'bob']"),
        ({"quota": 3.5}, "quota is 3.5, agreed None"),
        (
            {"passes": "more_than", "epsilon": 1.0},
            "epsilon is 1.0, agreed 2.0; passes is 'more_than', agreed 'at_least'",
        ),
    ],
)
def test_a_server_with_other_parameters_is_refused_by_field_and_both_values(
    change: dict[str, object], difference: str
) -> None:
    client = client_in(State.GREETED, noise=RefusingNoise())
    effects = client.receive(SERVER, welcome(make_vote(**change)))
    error = failure_of(effects)
    assert isinstance(error, RemoteProtocolError)
    assert str(error) == f"server's parameters are not those agreed to: {difference}"
    assert messages_of(effects) == [((SERVER,), Abort(str(error)))]
    assert client.state is State.ENDED


def test_a_parameter_that_one_side_does_not_know_is_named() -> None:
    agreed: dict[str, object] = msgspec.msgpack.decode(VOTE.encoded_parameters, type=dict[str, object])
    client = client_in(State.GREETED)
    error = failure_of(client.receive(SERVER, Welcome(PROTOCOL_VERSION, raw({**agreed, "extra": 1}))))
    assert str(error).endswith("agreed to: extra is 1, agreed None")


def test_the_same_parameters_in_other_bytes_are_refused_with_a_reason() -> None:
    """The refusal is right, since the bytes are what was agreed to; an empty reason would help nobody."""
    agreed: dict[str, object] = msgspec.msgpack.decode(VOTE.encoded_parameters, type=dict[str, object])
    swapped = dict(reversed(agreed.items()))
    error = failure_of(client_in(State.GREETED).receive(SERVER, Welcome(PROTOCOL_VERSION, raw(swapped))))
    assert not str(error).endswith(": ")


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


@pytest.mark.parametrize("name", list(NOT_PARAMETERS))
def test_parameters_that_cannot_be_read_are_the_servers_fault(name: str) -> None:
    client = client_in(State.GREETED)
    error = failure_of(client.receive(SERVER, Welcome(PROTOCOL_VERSION, msgspec.Raw(NOT_PARAMETERS[name]))))
    assert isinstance(error, RemoteProtocolError)
    assert str(error).endswith("they cannot be read")


def test_a_refusal_of_huge_parameters_can_be_sent() -> None:
    """The reason quotes what the server sent, and must stay below the limit of a message."""
    client = client_in(State.GREETED)
    effects = client.receive(SERVER, Welcome(PROTOCOL_VERSION, raw({"candidates": "\x01" * 500_000})))
    for _, message in messages_of(effects):
        assert decode(encode(message)) == message


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


def test_a_budget_that_just_holds_the_session_lets_it_through() -> None:
    ledger = Ledger("p0", budget=Budget(epsilon=3.0))
    client = client_in(State.REPORTED, ledger=ledger)
    client.receive(SERVER, Request(1, raw(None)))
    assert len(ledger.entries) == 3
    assert ledger.remaining == pytest.approx(0.0)


def test_another_session_cannot_take_what_a_session_under_way_needs() -> None:
    ledger = Ledger("p0", budget=Budget(epsilon=3.0))
    client = client_in(State.REPORTED, ledger=ledger)
    with pytest.raises(BudgetExceededError):
        ledger.charge(VOTE.losses[0], session="elsewhere", phase="weights")
    assert [type(effect) for effect in client.receive(SERVER, Request(1, raw(None)))] == [Charged, Charged, Send]
    assert {entry.session for entry in ledger.entries} == {SESSION_NAME}


def test_what_a_session_did_not_need_is_others_again() -> None:
    ledger = Ledger("p0", budget=Budget(epsilon=3.0))
    client = client_in(State.REPORTED, ledger=ledger)
    assert ledger.remaining == 0.0
    client.receive_loss(SERVER)
    assert ledger.remaining == 3.0 - ledger.spent > 0


def test_a_party_never_sends_what_is_no_integer() -> None:
    with pytest.raises(TypeError):
        make_client(row=(0.5, 1, 1, 0))  # pyright: ignore[reportArgumentType]  on purpose


def test_a_view_of_another_kind_of_session_is_refused() -> None:
    class SecureLike(RefusingNoise):
        @property
        def kind(self) -> SessionKind:
            return SessionKind.DEPLOYMENT

    view = View("p0", Side.CLIENT, SESSION_NAME, SessionKind.SIMULATION)
    with pytest.raises(ConfigurationError):
        make_client(noise=SecureLike(), view=view)


def test_a_budget_of_another_relation_refuses_before_anything_is_drawn() -> None:
    budget = Budget(epsilon=100.0, relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    client = client_in(State.GREETED, ledger=Ledger("p0", budget=budget), noise=RefusingNoise())
    assert isinstance(failure_of(client.receive(SERVER, welcome())), PrivacyError)


# Requests


def test_a_report_is_charged_then_drawn_then_sent() -> None:
    ledger = Ledger("p0")
    noise = CountingNoise(SimulatedNoise(1, session=SESSION_NAME))
    client = client_in(State.REPORTED, ledger=ledger, noise=noise)
    effects = client.receive(SERVER, Request(1, raw({"quota": "anything"})))
    assert [type(effect) for effect in effects] == [Charged, Charged, Send]
    assert noise.draws == [("weights", 0), ("opinions", 0)]
    assert [(entry.person, entry.session, entry.phase, entry.unit) for entry in ledger.entries] == [
        ("p0", SESSION_NAME, "weights", "weight"),
        ("p0", SESSION_NAME, "opinions", "opinion"),
        ("p0", SESSION_NAME, "opinions", "opinion"),
    ]
    report = report_of(effects)
    expected = SimulatedNoise(1, session=SESSION_NAME).randomize(
        VOTE.phases[1].mechanism, ROW[1:3], protocol="dpwevote", phase="opinions", place=0
    )
    assert (report.phase, msgspec.msgpack.decode(report.payload)) == (1, expected)


def test_the_same_request_again_gets_the_same_bytes_and_nothing_new_is_charged() -> None:
    ledger = Ledger("p0")
    noise = CountingNoise(SimulatedNoise(1, session=SESSION_NAME))
    client = client_in(State.JOINED, ledger=ledger, noise=noise)
    first = report_of(client.receive(SERVER, Request(0, raw(None))))
    for _ in range(2):
        effects = client.receive(SERVER, Request(0, raw(None)))
        assert effects == [Send((SERVER,), first)]
        assert client.state is State.REPORTED
    assert noise.draws == [("weights", 0)]
    assert len(ledger.entries) == 1


def test_another_request_for_the_same_phase_is_the_servers_fault_and_draws_nothing() -> None:
    noise = CountingNoise(SimulatedNoise(1, session=SESSION_NAME))
    client = client_in(State.JOINED, noise=noise)
    client.receive(SERVER, Request(0, raw(None)))
    error = failure_of(client.receive(SERVER, Request(0, raw({"quota": 1}))))
    assert isinstance(error, UnexpectedMessageError)
    assert str(error) == "server sent another Request of phase 0 in state 'reported'"
    assert noise.draws == [("weights", 0)]


@pytest.mark.parametrize("phase", [-1, 1, 2, 2**63])
def test_a_request_out_of_turn_is_the_servers_fault_and_draws_nothing(phase: int) -> None:
    client = client_in(State.JOINED, noise=RefusingNoise())
    error = failure_of(client.receive(SERVER, Request(phase, raw(None))))
    assert isinstance(error, UnexpectedMessageError)
    assert str(error) == f"server sent a Request of phase {phase} in state 'joined'"


def test_a_request_beyond_the_last_phase_is_the_servers_fault() -> None:
    client = client_in(State.REPORTED)
    client.receive(SERVER, Request(1, raw(None)))
    error = failure_of(client.receive(SERVER, Request(2, raw(None))))
    assert isinstance(error, UnexpectedMessageError)
    assert error.state == "reported"


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
