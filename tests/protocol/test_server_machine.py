"""The server's machine: whom it lets in, what it counts, and whom it blames."""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from helpers import (
    SESSION_NAME,
    Session,
    drop_of,
    error_of,
    hello,
    make_inputs,
    make_names,
    make_preferences,
    make_vote,
    messages_of,
    raw,
)
from lone_machines import (
    TWO_OF_THREE,
    VOTE,
    finish,
    join,
    make_server,
    opinion_report,
    server_in,
    weight_report,
)
from psephos.agents import SecureNoise
from psephos.protocol import (
    JOIN,
    ConfigurationError,
    ConflictingReportError,
    Inputs,
    LocalProtocolError,
    MalformedMessageError,
    PhaseRules,
    RemoteProtocolError,
    Roster,
    ServerMachine,
    SessionMode,
    SessionResult,
    SessionRules,
    Side,
    SimulatedNoise,
    UnexpectedMessageError,
)
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.parameters import MAX_CANDIDATES
from psephos.protocol.effects import Attended, Drop, Effect, Presence, Send, SetDeadline
from psephos.protocol.messages import (
    MAX_MESSAGE_BYTES,
    PROTOCOL_VERSION,
    Abort,
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
from psephos.protocol.states import CONVERSATION, Move, SessionState, State

TABLE = CONVERSATION[Side.SERVER]


# Rules


def test_a_quorum_above_the_roster_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        make_server(3, rules=SessionRules(quorum=4))


def test_rules_for_no_phase_are_refused() -> None:
    with refuses("rules", "wieghts") as caught:
        make_server(rules=SessionRules(phases={"wieghts": PhaseRules()}))
    assert caught.value.allowed == "one of join, weights, opinions (did you mean 'weights'?)"


def test_a_view_of_another_kind_of_session_is_refused() -> None:
    session = Session(VOTE, make_inputs(VOTE, 2))
    with refuses("view", "simulation"):
        session.server(session.server_view(), noise=SecureNoise())


def test_a_phase_may_not_be_called_as_the_time_before_the_first_one() -> None:
    """Else the deadline for joining would close it, and one rule would govern both."""
    vote = make_vote()
    vote.phases[0].name = JOIN
    with pytest.raises(ConfigurationError):
        make_server(vote=vote)


# Randomizers of one's own


def test_a_report_beyond_the_senders_own_range_is_refused_though_others_may_send_it() -> None:
    """p0's ε is 1 and p1's is 1/100, whose noise reaches a hundred times as far."""
    protocol = make_preferences(2, epsilons=(0.01, 1.0))
    inputs = Inputs(np.zeros((3, 2), dtype=np.int64), np.array([[1], [0], [1]], dtype=np.int64))
    session = Session(protocol, inputs, rules=TWO_OF_THREE)
    server = session.server()
    server.start()
    for party in session.names:
        server.receive(party, hello(party, protocol=protocol.name))
    phase = protocol.phase
    far = Report(0, phase.codec.encode([phase.mechanism_of((1,)).report_range[1] + 1, 0]))
    error = drop_of(server.receive("p0", far)).error
    assert isinstance(error, MalformedMessageError)
    assert "the range at the voter's ε" in str(error)
    assert server.state_of("p0") is State.ENDED
    assert not any(isinstance(effect, Drop) for effect in server.receive("p1", far))
    result = finish(server.receive("p2", Report(0, phase.codec.encode([5, 6]))))
    assert result.num_received == (2,)


# Starting


def test_a_server_starts_once_and_waits_for_its_roster() -> None:
    session = Session(VOTE, make_inputs(VOTE, 2), rules=SessionRules(phases={JOIN: PhaseRules(deadline_seconds=7.5)}))
    server = session.server()
    assert server.state is SessionState.IDLE
    assert server.start() == [SetDeadline(JOIN, 7.5)]
    assert server.state is SessionState.GATHERING
    with pytest.raises(LocalProtocolError) as caught:
        server.start()
    assert (caught.value.role, caught.value.state) == ("server", "gathering")


def test_a_deadline_before_the_start_breaks_nothing() -> None:
    server = Session(VOTE, make_inputs(VOTE, 2)).server()
    assert server.receive_timeout(JOIN) == []
    assert server.start() == [SetDeadline(JOIN, 300.0)]


def test_nobody_is_admitted_before_the_start() -> None:
    server = Session(VOTE, make_inputs(VOTE, 2)).server()
    with pytest.raises(UnexpectedMessageError, match="no longer admits anybody"):
        server.admit(hello("p0"))


# Who is admitted


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 1}, f"the server's version is {PROTOCOL_VERSION}, 'p0' came with 1"),
        ({"version": 99}, f"the server's version is {PROTOCOL_VERSION}, 'p0' came with 99"),
        ({"protocol": "moral"}, "the server's protocol is 'dpwevote', 'p0' came with 'moral'"),
        ({"session_id": "0" * 32}, "'p0' came with the id of another session"),
        ({"session": "autumn"}, "the server's session is 'spring-ballot', 'p0' came with 'autumn'"),
        ({"kind": "deployment"}, "the server's kind is 'simulation', 'p0' came with 'deployment'"),
        ({"party": "p9"}, "'p9' is not on the roster"),
    ],
)
def test_a_connection_that_means_another_session_is_refused_and_nothing_changes(
    change: dict[str, object], reason: str
) -> None:
    server = make_server()
    with pytest.raises(RemoteProtocolError) as caught:
        server.admit(hello("p0", **change))
    error = caught.value
    assert (str(error), error.sender, error.role) == (reason, change.get("party", "p0"), "server")
    assert error.message_type == "Hello"
    assert [server.state_of(name) for name in make_names(3)] == [State.NEW] * 3
    server.admit(hello("p0"))


def test_nobody_is_admitted_once_the_first_phase_is_open() -> None:
    server = make_server(rules=TWO_OF_THREE)
    join(server, "p1", "p2")
    server.receive_timeout(JOIN)
    with pytest.raises(UnexpectedMessageError, match="no longer admits anybody") as caught:
        server.admit(hello("p0"))
    assert (caught.value.sender, caught.value.state) == ("p0", "collecting")


def test_a_second_hello_in_the_name_of_somebody_who_has_yet_to_join_is_a_fault_and_no_crash() -> None:
    server = server_in(State.JOINED)
    drop = drop_of(server.receive("p0", hello("p1")))
    assert drop.party == "p0"
    assert isinstance(drop.error, RemoteProtocolError)
    assert (server.state_of("p0"), server.state_of("p1")) == (State.ENDED, State.NEW)
    server.admit(hello("p1"))


def test_a_first_hello_in_the_name_of_somebody_else_is_a_fault() -> None:
    server = server_in(State.NEW)
    assert drop_of(server.receive("p0", hello("p1"))).party == "p0"
    assert server.state_of("p1") is State.NEW


@pytest.mark.parametrize("field", ["party", "session", "protocol", "kind"])
def test_a_refusal_of_a_huge_hello_can_be_sent(field: str) -> None:
    """The reason quotes what the client sent, and must stay below the limit of a message."""
    server = server_in(State.NEW)
    for _, message in messages_of(server.receive("p0", hello("p0", **{field: "\x01" * 500_000}))):
        assert decode(encode(message)) == message
    with pytest.raises(RemoteProtocolError) as caught:
        make_server().admit(hello("p0", **{field: "\x01" * 500_000}))
    encode(Abort(reason=str(caught.value)))


# The whole product of states and messages

MESSAGES: dict[str, Callable[[], Message]] = {
    "Hello": lambda: hello("p0"),
    "Welcome": lambda: Welcome.make(VOTE),
    "Request": lambda: Request(0, raw(None)),
    "Report": weight_report,
    "Release": lambda: Release(raw(None)),
    "Abort": lambda: Abort("enough"),
    "Inquiry": lambda: Inquiry(PROTOCOL_VERSION, "p0"),
    "Terms": lambda: Terms(PROTOCOL_VERSION, SESSION_NAME, "dpwevote", "simulation", VOTE.encoded_parameters, 0),
}
MOVES = {"Hello": Move.HELLO, "Report": Move.REPORT, "Abort": Move.BREAK}
REACHABLE = [state for state in State if state is not State.GREETED]


@pytest.mark.parametrize("name", list(MESSAGES))
@pytest.mark.parametrize("state", REACHABLE)
def test_what_the_table_allows_moves_and_everything_else_ends_that_row_alone(state: State, name: str) -> None:
    server = server_in(state)
    others = [server.state_of("p1"), server.state_of("p2")]
    session_state = server.state
    effects = server.receive("p0", MESSAGES[name]())
    move = MOVES.get(name)
    if not TABLE[state]:
        assert effects == []
        assert server.state_of("p0") is state
    elif move is None or move not in TABLE[state]:
        abort, drop, *rest = effects
        assert rest == []
        assert isinstance(drop, Drop)
        error = drop.error
        assert isinstance(error, UnexpectedMessageError)
        assert (drop.party, error.sender, error.role, error.state) == ("p0", "p0", "server", state.value)
        assert error.message_type == name
        assert abort == Send(("p0",), Abort(str(error)))
        assert server.state_of("p0") is State.ENDED
    elif move is Move.HELLO:
        assert server.state_of("p0") is State.JOINED  # greeted and welcomed in one step
    else:
        assert server.state_of("p0") is TABLE[state][move]
    assert [server.state_of("p1"), server.state_of("p2")] == others
    assert server.state is session_state


@pytest.mark.parametrize("step", ["loss", "fault"])
@pytest.mark.parametrize("state", REACHABLE)
def test_a_lost_or_senseless_connection_ends_that_row_alone(state: State, step: str) -> None:
    server = server_in(state)
    others = [server.state_of("p1"), server.state_of("p2")]
    error = MalformedMessageError("noise", sender="p0")
    effects = server.receive_loss("p0") if step == "loss" else server.receive_fault("p0", error)
    if not TABLE[state]:
        assert effects == []
        assert server.state_of("p0") is state
    else:
        lost, dropped = [Attended("p0", Presence.LOST)], [Send(("p0",), Abort("noise")), Drop("p0", error)]
        assert effects == (lost if step == "loss" else dropped)
        assert server.state_of("p0") is State.ENDED
    assert [server.state_of("p1"), server.state_of("p2")] == others


def test_a_party_that_never_joined_may_not_report_later() -> None:
    server = make_server(rules=TWO_OF_THREE)
    join(server, "p1", "p2")
    server.receive_timeout(JOIN)
    error = drop_of(server.receive("p0", weight_report())).error
    assert str(error) == "p0 sent a Report of phase 0 in state 'new' of phase 'weights'"


# Reports

NOT_REPORTS: list[object] = [[], [3], [-1], [0, 0], [1.0], [True], ["1"], None, 0, {}, [[1]], [2**63]]


@pytest.mark.parametrize("values", NOT_REPORTS)
def test_a_report_that_the_phase_did_not_declare_is_malformed_and_not_counted(values: object) -> None:
    server = server_in(State.ASKED)
    error = drop_of(server.receive("p0", Report(0, raw(values)))).error
    assert isinstance(error, MalformedMessageError)
    assert (error.sender, error.role, error.state, error.message_type) == ("p0", "server", "asked", "Report")
    assert str(error).startswith("p0's report in phase 'weights' is not what the phase declares: ")
    result = _complete(server, "p1", "p2")
    assert result.num_received == (2, 2)


@pytest.mark.parametrize(
    "payload", [b"", b"\xc1", b"\x91", b"\x91\xa1\xff", b"\x91" * 100_000 + b"\x00", b"\x91\x01\x01"]
)
def test_a_report_that_cannot_be_read_is_malformed(payload: bytes) -> None:
    error = drop_of(server_in(State.ASKED).receive("p0", Report(0, msgspec.Raw(payload)))).error
    assert isinstance(error, MalformedMessageError)


@pytest.mark.parametrize("phase", [-1, 1, 2, 2**62])
@pytest.mark.parametrize("state", [State.ASKED, State.REPORTED])
def test_a_report_for_another_phase_is_unexpected(state: State, phase: int) -> None:
    server = server_in(state)
    error = drop_of(server.receive("p0", Report(phase, raw([1])))).error
    assert isinstance(error, UnexpectedMessageError)
    assert str(error) == f"p0 sent a Report of phase {phase} in state {state.value!r} of phase 'weights'"


def test_the_same_report_again_is_counted_once_when_the_next_phase_is_already_open() -> None:
    """The last one to report closes the phase by it, so a repetition of that report always comes later."""
    server = make_server()
    join(server, *make_names(3))
    for party in make_names(3):
        server.receive(party, weight_report())
    assert server.receive("p2", weight_report()) == []
    assert server.state_of("p2") is State.ASKED
    for party in make_names(3)[:-1]:
        server.receive(party, opinion_report())
    result = finish(server.receive("p2", opinion_report()))
    assert result.num_received == (3, 3)


def test_a_different_report_is_refused_and_the_first_one_stands() -> None:
    server = server_in(State.REPORTED)
    error = drop_of(server.receive("p0", weight_report(2))).error
    assert isinstance(error, ConflictingReportError)
    assert (error.sender, error.role, error.state, error.message_type) == ("p0", "server", "reported", "Report")
    assert str(error) == "p0 reported a second time in phase 'weights', and differently; the first stands"
    assert server.state_of("p0") is State.ENDED
    result = _complete(server, "p1", "p2")
    assert result.num_received == (3, 2)
    assert result.tallies[0].totals.tolist() == [0, 3, 0]


def test_a_late_report_is_neither_counted_nor_a_fault() -> None:
    server = server_in(State.LATE)
    for report in (weight_report(), weight_report(2), Report(0, raw("nonsense"))):
        assert server.receive("p0", report) == []
    assert server.state_of("p0") is State.LATE
    server.receive("p1", opinion_report())
    effects = server.receive("p2", opinion_report())
    assert finish(effects).num_received == (2, 2)
    assert server.state_of("p0") is State.FINISHED
    told = [
        (recipients, message.is_late) for recipients, message in messages_of(effects) if isinstance(message, Release)
    ]
    assert told == [(("p1", "p2"), False), (("p0",), True)]


@pytest.mark.parametrize("largest", [2.0**24, 2.0**30])
def test_a_report_at_the_edge_of_its_range_never_stops_the_vote(largest: float) -> None:
    """What a phase declares to be in range must also fit into its tally, or one party ends the session for all."""
    vote = make_vote(variant="laplace", weights=(1.0, 2.0, largest))
    server = make_server(vote=vote)
    join(server, *make_names(3))
    _, greatest = vote.phases[0].mechanism.report_range
    for party in make_names(3):
        server.receive(party, Report(0, raw([greatest])))
    assert server.state is SessionState.COLLECTING


# What is released


@pytest.mark.parametrize("excess", [0, 1])
def test_parameters_that_do_not_fit_into_the_terms_are_refused_before_anybody_comes(
    excess: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hold more than the welcome does, and an inquiry must not be what ends a session."""
    vote = make_vote()
    terms = Terms(PROTOCOL_VERSION, SESSION_NAME, "dpwevote", "simulation", raw("x" * 70_000), 299)
    largest = 70_000 + MAX_MESSAGE_BYTES - len(encode(terms))
    monkeypatch.setattr(vote, "encoded_parameters", raw("x" * (largest + excess)))
    session = Session(vote, make_inputs(vote, 300))
    if excess:
        with pytest.raises(ValueError, match="this Terms has"):
            session.server()
    else:
        encode(session.server().answer(Inquiry(PROTOCOL_VERSION, "p299")))


def test_everything_that_the_largest_ballot_sends_fits_into_a_message() -> None:
    """Else the session fails at its very end, when everybody has paid."""
    candidates = tuple(f"candidate {number}" for number in range(MAX_CANDIDATES))
    vote = DPWeVote(Parameters(candidates=candidates, weights=(1.0,), public_weights=True))
    server = ServerMachine(
        vote,
        Roster(("p0",), np.zeros((1, 2), dtype=np.int64)),
        SessionMode(SESSION_NAME, SimulatedNoise(1, session=SESSION_NAME)),
    )
    server.start()
    effects = server.receive("p0", hello("p0")) + server.receive("p0", Report(0, raw([1] * MAX_CANDIDATES)))
    for _, message in messages_of(effects):
        assert decode(encode(message)) == message
    assert len(finish(effects).tallies[0].totals) == MAX_CANDIDATES


def _complete(server: ServerMachine, *weights: str, opinions: Sequence[str] = ("p1", "p2")) -> SessionResult:
    """Let these parties report their weights, then the others their opinions, and return the result."""
    effects: list[Effect] = []
    for party in weights:
        effects += server.receive(party, weight_report())
    for party in opinions:
        effects += server.receive(party, opinion_report())
    assert error_of(effects) is None
    return finish(effects)
