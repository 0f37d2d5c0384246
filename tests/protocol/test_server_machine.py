"""The server's machine: what it counts, whom it blames, when a phase closes."""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pytest
from helpers import (
    SESSION_NAME,
    Session,
    drop_of,
    error_of,
    failure_of,
    hello,
    make_inputs,
    make_names,
    make_preferences,
    make_vote,
    messages_of,
    outcome_of_those_who_reported,
    raw,
)
from psephos.protocol import (
    JOIN,
    ConfigurationError,
    ConflictingReportError,
    Inputs,
    LocalProtocolError,
    MalformedMessageError,
    PhaseRules,
    PluginError,
    QuorumError,
    RemoteProtocolError,
    Roster,
    ServerMachine,
    SessionKind,
    SessionResult,
    Side,
    Tally,
    UnexpectedMessageError,
)
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.parameters import MAX_CANDIDATES
from psephos.protocol.effects import Closed, Drop, Effect, Fail, Finish, Opened, Send, SetDeadline
from psephos.protocol.messages import (
    MAX_MESSAGE_BYTES,
    MAX_NAMES_IN_ABORT,
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
VOTE = make_vote()
TWO_OF_THREE = PhaseRules(quorum=2)


def make_server(
    num_parties: int = 3,
    *,
    vote: DPWeVote = VOTE,
    rules: dict[str, PhaseRules] | None = None,
    default_rules: PhaseRules | None = None,
) -> ServerMachine:
    """Return a server that waits for its roster."""
    session = Session(vote, make_inputs(vote, num_parties), rules=rules, default_rules=default_rules)
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
    server = make_server(default_rules=TWO_OF_THREE)
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


# Rules


def test_a_quorum_above_the_roster_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        make_server(3, default_rules=PhaseRules(quorum=4))


def test_rules_for_no_phase_are_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_server(rules={"wieghts": PhaseRules()})
    assert (caught.value.field, caught.value.value) == ("rules", "wieghts")
    assert caught.value.allowed == "one of join, weights, opinions (did you mean 'weights'?)"


def test_a_view_of_another_kind_of_session_is_refused() -> None:
    session = Session(VOTE, make_inputs(VOTE, 2), kind=SessionKind.DEPLOYMENT)
    with pytest.raises(ConfigurationError) as caught:
        session.server(session.server_view())
    assert (caught.value.field, caught.value.value) == ("view", "simulation")


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
    session = Session(protocol, inputs, default_rules=TWO_OF_THREE)
    server = session.server()
    server.start()
    for party in session.names:
        server.receive(party, hello(party, protocol=protocol.name))
    phase = protocol.phase
    far = Report(0, raw([phase.mechanism_of((1,)).report_range[1] + 1, 0]))
    error = drop_of(server.receive("p0", far)).error
    assert isinstance(error, MalformedMessageError)
    assert "the range at the voter's ε" in str(error)
    assert server.state_of("p0") is State.ENDED
    assert not any(isinstance(effect, Drop) for effect in server.receive("p1", far))
    result = finish(server.receive("p2", Report(0, raw([5, 6]))))
    assert result.num_received == (2,)


# Starting


def test_a_server_starts_once_and_waits_for_its_roster() -> None:
    session = Session(VOTE, make_inputs(VOTE, 2), rules={JOIN: PhaseRules(deadline_seconds=7.5)})
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


def test_a_party_is_admitted_once() -> None:
    server = server_in(State.JOINED)
    with pytest.raises(UnexpectedMessageError, match="'p0' has joined before") as caught:
        server.admit(hello("p0"))
    assert (caught.value.sender, caught.value.state) == ("p0", "joined")


def test_nobody_is_admitted_once_the_first_phase_is_open() -> None:
    server = make_server(default_rules=TWO_OF_THREE)
    join(server, "p1", "p2")
    server.receive_timeout(JOIN)
    with pytest.raises(UnexpectedMessageError, match="no longer admits anybody") as caught:
        server.admit(hello("p0"))
    assert (caught.value.sender, caught.value.state) == ("p0", "collecting")


def test_a_server_of_deployments_refuses_simulated_noise() -> None:
    server = Session(VOTE, make_inputs(VOTE, 2), kind=SessionKind.DEPLOYMENT).server()
    server.start()
    with pytest.raises(RemoteProtocolError, match="kind is 'deployment', 'p0' came with 'simulation'"):
        server.admit(hello("p0"))


def test_the_first_hello_is_welcomed_with_the_parameters() -> None:
    server = make_server()
    assert join(server, "p0") == [Send(("p0",), Welcome(PROTOCOL_VERSION, VOTE.encoded_parameters))]
    assert server.state_of("p0") is State.JOINED


def test_a_second_hello_ends_the_row() -> None:
    server = server_in(State.JOINED)
    error = drop_of(server.receive("p0", hello("p0"))).error
    assert isinstance(error, UnexpectedMessageError)
    assert server.state_of("p0") is State.ENDED


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
    "Welcome": lambda: Welcome(PROTOCOL_VERSION, VOTE.encoded_parameters),
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
        assert effects == ([] if step == "loss" else [Send(("p0",), Abort("noise")), Drop("p0", error)])
        assert server.state_of("p0") is State.ENDED
    assert [server.state_of("p1"), server.state_of("p2")] == others


def test_a_party_that_never_joined_may_not_report_later() -> None:
    server = make_server(default_rules=TWO_OF_THREE)
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


def test_the_same_report_again_is_counted_once() -> None:
    server = server_in(State.REPORTED)
    assert server.receive("p0", weight_report()) == []
    assert server.state_of("p0") is State.REPORTED
    assert server.receive("p1", weight_report()) == []
    result = _complete(server, "p2", opinions=make_names(3))
    assert result.num_received == (3, 3)
    assert result.tallies[0].totals.tolist() == [0, 3, 0]


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


def test_a_late_party_is_not_asked_again() -> None:
    server = make_server(default_rules=TWO_OF_THREE)
    join(server, *make_names(3))
    server.receive("p1", weight_report())
    server.receive("p2", weight_report())
    effects = server.receive_timeout("weights")
    assert [recipients for recipients, message in messages_of(effects) if isinstance(message, Request)] == [
        ("p1", "p2")
    ]
    assert Opened("opinions", 2) in effects
    assert Closed("weights", 2, 1, VOTE.phases[0].outcome(_tallies(0, 2, 0))) in effects


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


# Closing


def test_a_phase_closes_as_soon_as_everybody_has_answered() -> None:
    server = make_server()
    effects = join(server, *make_names(3))
    assert effects[3:] == [
        Closed(JOIN, 3, 0, None),
        Opened("weights", 3),
        SetDeadline("weights", 300.0),
        Send(make_names(3), Request(0, raw(None))),
    ]


def test_joining_closes_when_the_last_one_who_could_join_has_left() -> None:
    server = make_server(default_rules=TWO_OF_THREE)
    join(server, "p0", "p1")
    effects = server.receive("p2", Abort("not today"))
    assert effects[0] == Closed(JOIN, 2, 1, None)
    assert Opened("weights", 2) in effects


def test_at_the_deadline_a_phase_closes_with_whoever_has_reported() -> None:
    server = server_in(State.REPORTED)
    server.receive("p1", weight_report(0))
    effects = server.receive_timeout("weights")
    assert isinstance(effects[0], Closed)
    assert (effects[0].phase, effects[0].num_received, effects[0].num_missing) == ("weights", 2, 1)
    assert [server.state_of(name) for name in make_names(3)] == [State.ASKED, State.ASKED, State.LATE]


@pytest.mark.parametrize("phase", [JOIN, "opinions", "nothing of the kind", ""])
def test_a_deadline_of_another_phase_changes_nothing(phase: str) -> None:
    server = server_in(State.REPORTED)
    assert server.receive_timeout(phase) == []
    assert server.state_of("p0") is State.REPORTED


@pytest.mark.parametrize("phase", [JOIN, "weights", "opinions"])
def test_a_deadline_after_the_end_changes_nothing(phase: str) -> None:
    finished = server_in(State.FINISHED)
    assert finished.receive_timeout(phase) == []
    assert finished.state is SessionState.RELEASED
    aborted = make_server()
    aborted.receive_timeout(JOIN)
    assert aborted.receive_timeout(phase) == []
    assert aborted.state is SessionState.ABORTED


def test_a_request_carries_what_the_phase_before_it_published() -> None:
    server = server_in(State.REPORTED)
    server.receive("p1", weight_report(0))
    effects = server.receive("p2", weight_report(0))
    (request,) = (message for _, message in messages_of(effects) if isinstance(message, Request))
    assert request == Request(1, raw(VOTE.phases[0].outcome(_tallies(2, 1, 0))))


def test_the_result_is_that_of_those_who_reported() -> None:
    session = Session(VOTE, make_inputs(VOTE, 4), default_rules=PhaseRules(quorum=2))
    wire = session.wire()
    wire.start()
    while wire.server.state is SessionState.GATHERING or any(wire.down[name] for name in session.names):
        wire.deliver(
            next(d for d in wire.available() if d.direction == "down" or wire.server.state is SessionState.GATHERING)
        )
    wire.up["p1"].clear()  # its weight is lost
    for party in ("p0", "p2", "p3"):
        wire.feed_server(party, wire.up[party].popleft())
    wire.expire("weights")
    for party in ("p2", "p3"):
        wire.feed_client(party, wire.down[party].popleft())
        wire.feed_server(party, wire.up[party].popleft())
    wire.expire("opinions")
    assert wire.result is not None
    outcome, tallies = outcome_of_those_who_reported(session, [[0, 2, 3], [2, 3]])
    assert (wire.result.outcome, wire.result.tallies, wire.result.num_received) == (outcome, tallies, (3, 2))


# Quorums


def test_a_quorum_out_of_reach_ends_the_session_at_once_on_every_side() -> None:
    server = server_in(State.REPORTED)
    assert server.receive_loss("p1") == []
    effects = server.receive_loss("p2")
    error = failure_of(effects)
    assert isinstance(error, QuorumError)
    assert (error.phase, error.received, error.required, error.missing) == ("weights", 1, 2, ("p1", "p2"))
    assert messages_of(effects) == [
        (
            ("p0",),
            Abort(str(error), phase="weights", received=1, required=2, missing=("p1", "p2"), num_missing=2),
        )
    ]
    assert server.state is SessionState.ABORTED
    assert server.state_of("p0") is State.ENDED


def test_a_quorum_of_everybody_is_out_of_reach_with_the_first_fault() -> None:
    server = make_server()
    join(server, *make_names(3))
    abort, drop, quorum_abort, fail = server.receive("p1", Report(0, raw([7])))
    assert isinstance(drop, Drop)
    assert isinstance(fail, Fail)
    assert isinstance(abort, Send)
    assert abort.recipients == ("p1",)
    assert isinstance(quorum_abort, Send)
    assert quorum_abort.recipients == ("p0", "p2")


def test_a_quorum_missed_while_joining_names_those_who_did_not_come() -> None:
    server = make_server(default_rules=TWO_OF_THREE)
    join(server, "p1")
    effects = server.receive_timeout(JOIN)
    error = failure_of(effects)
    assert isinstance(error, QuorumError)
    assert (error.phase, error.received, error.missing) == (JOIN, 1, ("p0", "p2"))
    assert [recipients for recipients, _ in messages_of(effects)] == [("p1",)]


def test_a_quorum_out_of_reach_while_joining_ends_the_session_at_once() -> None:
    """Missing are those who are gone, and not p2, who had time left."""
    server = make_server(default_rules=TWO_OF_THREE)
    join(server, "p0")
    assert server.receive("p0", Abort("not today")) == []
    error = failure_of(server.receive("p1", Abort("nor I")))
    assert isinstance(error, QuorumError)
    assert (error.received, error.required) == (0, 2)
    assert (error.missing, error.num_missing) == (("p0", "p1"), 2)


def test_a_quorum_missed_at_the_deadline_ends_the_session_even_for_who_has_reported() -> None:
    server = server_in(State.REPORTED)
    effects = server.receive_timeout("weights")
    assert isinstance(failure_of(effects), QuorumError)
    assert [recipients for recipients, _ in messages_of(effects)] == [make_names(3)]
    assert {server.state_of(name) for name in make_names(3)} == {State.ENDED}


def test_a_late_party_hears_that_a_later_quorum_was_missed() -> None:
    server = server_in(State.LATE)
    effects = server.receive_timeout("opinions")
    assert [recipients for recipients, _ in messages_of(effects)] == [make_names(3)]


def test_nobody_is_asked_for_a_report_that_cannot_reach_its_quorum() -> None:
    """A party that answers such a request pays with its privacy for a session that is over."""
    server = make_server(rules={JOIN: PhaseRules(quorum=2), "weights": PhaseRules(quorum=3)})
    join(server, "p0", "p1")
    effects = server.receive_timeout(JOIN)
    assert isinstance(failure_of(effects), QuorumError)
    assert not [message for _, message in messages_of(effects) if isinstance(message, Request)]


def test_a_thousand_of_the_missing_are_named_to_the_clients_and_the_rest_counted() -> None:
    server = make_server(MAX_NAMES_IN_ABORT + 2, default_rules=PhaseRules(quorum=2))
    join(server, "p0")
    effects = server.receive_timeout(JOIN)
    error = failure_of(effects)
    assert isinstance(error, QuorumError)
    assert len(error.missing) == MAX_NAMES_IN_ABORT + 1
    ((_, abort),) = messages_of(effects)
    assert isinstance(abort, Abort)
    assert (len(abort.missing), abort.num_missing) == (MAX_NAMES_IN_ABORT, MAX_NAMES_IN_ABORT + 1)


def test_after_an_abort_nothing_that_was_on_its_way_counts() -> None:
    server = server_in(State.REPORTED)
    server.receive_timeout("weights")
    for party in make_names(3):
        assert server.receive(party, weight_report()) == []
        assert server.receive_loss(party) == []


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
        roster=Roster(("p0",), np.zeros((1, 2), dtype=np.int64)),
        session=SESSION_NAME,
        kind=SessionKind.SIMULATION,
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


def _tallies(*totals: int) -> list[Tally]:
    """Return the tally of a weights phase with so many reports of each group."""
    return [Tally(sum(totals), np.array(totals, dtype=np.int64))]


class Huge(msgspec.Struct, frozen=True):
    """An outcome of two megabytes."""

    text: str = "x" * 2_000_000


def test_an_outcome_that_does_not_fit_into_a_message_ends_the_session_on_every_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Everybody has paid by then; at least everybody is told why."""
    vote = make_vote()

    def outcome(_: object) -> Huge:
        return Huge()

    monkeypatch.setattr(vote, "outcome", outcome)
    monkeypatch.setattr(vote, "outcome_type", Huge)
    session = Session(vote, make_inputs(vote, 2))
    server = session.server()
    server.start()
    for name in session.names:
        server.receive(name, hello(name))
    effects: list[Effect] = []
    for phase, values in enumerate(([0], [1, 0])):
        for name in session.names:
            effects = server.receive(name, Report(phase, raw(values[: vote.phases[phase].num_values])))
    failure = failure_of(effects)
    assert isinstance(failure, LocalProtocolError)
    assert "the outcome, of type Huge, does not fit into a message" in str(failure)
    assert [type(message) for _, message in messages_of(effects)] == [Abort]
    assert messages_of(effects)[0][0] == session.names
    assert server.state is SessionState.ABORTED


def test_the_first_reason_for_a_drop_stands_in_the_servers_error_and_is_told_to_nobody() -> None:
    server = make_server(2)
    join(server, "p0", "p1")
    effects = server.receive("p0", Report(0, raw([77])))
    failure = failure_of(effects)
    assert isinstance(failure, QuorumError)
    assert failure.first_drop.startswith("p0's report in phase 'weights' is not what the phase declares")
    assert f"; the first was dropped because {failure.first_drop}" in str(failure)
    aborts = [message for to, message in messages_of(effects) if isinstance(message, Abort) and "p1" in to]
    assert [abort.phase for abort in aborts] == ["weights"]
    assert "the first was dropped" not in aborts[0].reason


def test_a_quorum_that_nobody_was_dropped_from_says_nothing_of_drops() -> None:
    server = make_server(2)
    join(server, "p0", "p1")
    failure = failure_of(server.receive_loss("p0"))
    assert isinstance(failure, QuorumError)
    assert failure.first_drop == ""
    assert "dropped" not in str(failure)


@pytest.mark.parametrize(
    "error",
    [
        KeyError("what nobody else shall read"),
        ConfigurationError(field="report", value="what nobody else shall read", allowed="less"),
    ],
    ids=["any", "one of ours"],
)
def test_parties_are_told_which_protocol_failed_and_not_what_the_exception_says(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    vote = make_vote()

    def outcome(_: object) -> msgspec.Struct:
        raise error

    monkeypatch.setattr(vote, "outcome", outcome)
    server = make_server(2, vote=vote)
    join(server, "p0", "p1")
    effects: list[Effect] = []
    for report in (weight_report(), opinion_report()):
        for name in ("p0", "p1"):
            effects = server.receive(name, report)
    failure = failure_of(effects)
    assert isinstance(failure, PluginError)
    assert (failure.plugin, failure.step) == ("protocol 'dpwevote'", "outcome")
    assert "what nobody else shall read" in failure.reason
    assert failure.__cause__ is error
    (abort,) = (message for _, message in messages_of(effects))
    assert isinstance(abort, Abort)
    assert abort.reason == "protocol 'dpwevote' failed in outcome"
    assert server.state is SessionState.ABORTED


def test_a_result_says_how_many_were_there_to_hear_it() -> None:
    told: list[int | None] = []
    for num_gone in (0, 1, 2):
        server = make_server(3, default_rules=PhaseRules(quorum=1))
        join(server, "p0", "p1", "p2")
        for name in ("p0", "p1", "p2"):
            server.receive(name, weight_report())
        for name in ("p0", "p1"):
            server.receive(name, opinion_report())
        for name in ("p0", "p1")[:num_gone]:
            server.receive_loss(name)
        told.append(finish(server.receive_loss("p2")).num_told)
    assert told == [2, 1, 0]
