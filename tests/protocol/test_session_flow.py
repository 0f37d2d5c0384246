"""The flow of a session from phase to phase: when a phase closes, what follows, how all ends."""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import pytest
from helpers import (
    Session,
    failure_of,
    hello,
    make_inputs,
    make_names,
    make_vote,
    messages_of,
    outcome_of_those_who_reported,
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
from psephos.protocol import (
    JOIN,
    ConfigurationError,
    LocalProtocolError,
    PhaseRules,
    PluginError,
    QuorumError,
    SessionRules,
    Tally,
)
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.dpwevote.central import CentralVariant, CentralVotes
from psephos.protocol.effects import Attended, Closed, Drop, Effect, Fail, Opened, Presence, Send, SetDeadline
from psephos.protocol.messages import (
    MAX_NAMES_IN_ABORT,
    Abort,
    Report,
    Request,
)
from psephos.protocol.phases import Phase
from psephos.protocol.states import SessionState, State


def _tallies(*totals: int) -> list[Tally]:
    """Return the tally of a weights phase with so many reports of each group."""
    return [Tally(sum(totals), np.array(totals, dtype=np.int64))]


def test_a_late_party_is_not_asked_again() -> None:
    server = make_server(rules=TWO_OF_THREE)
    join(server, *make_names(3))
    server.receive("p1", weight_report())
    server.receive("p2", weight_report())
    effects = server.receive_timeout("weights")
    assert [recipients for recipients, message in messages_of(effects) if isinstance(message, Request)] == [
        ("p1", "p2")
    ]
    assert Opened("opinions", 2) in effects
    assert Closed("weights", 2, 1, VOTE.phases[0].outcome(_tallies(0, 2, 0))) in effects


def test_a_phase_closes_as_soon_as_everybody_has_answered() -> None:
    server = make_server()
    effects = join(server, *make_names(3))
    assert effects[6:] == [
        Closed(JOIN, 3, 0, None),
        Opened("weights", 3),
        SetDeadline("weights", 300.0),
        Send(make_names(3), Request(0, raw(None))),
    ]


def test_joining_closes_when_the_last_one_who_could_join_has_left() -> None:
    server = make_server(rules=TWO_OF_THREE)
    join(server, "p0", "p1")
    effects = server.receive("p2", Abort("not today"))
    assert effects[:2] == [Attended("p2", Presence.LEFT, "not today"), Closed(JOIN, 2, 1, None)]
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
    session = Session(VOTE, make_inputs(VOTE, 4), rules=SessionRules(quorum=2))
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


def test_a_quorum_out_of_reach_ends_the_session_at_once_on_every_side() -> None:
    server = server_in(State.REPORTED)
    assert server.receive_loss("p1") == [Attended("p1", Presence.LOST)]
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
    server = make_server(rules=TWO_OF_THREE)
    join(server, "p1")
    effects = server.receive_timeout(JOIN)
    error = failure_of(effects)
    assert isinstance(error, QuorumError)
    assert (error.phase, error.received, error.missing) == (JOIN, 1, ("p0", "p2"))
    assert [recipients for recipients, _ in messages_of(effects)] == [("p1",)]


def test_a_quorum_out_of_reach_while_joining_ends_the_session_at_once() -> None:
    """Missing are those who are gone, and p2, who had not come."""
    server = make_server(rules=TWO_OF_THREE)
    join(server, "p0")
    assert server.receive("p0", Abort("not today")) == [Attended("p0", Presence.LEFT, "not today")]
    error = failure_of(server.receive("p1", Abort("")))
    assert isinstance(error, QuorumError)
    assert str(error).endswith("; the first is out because p0 ended the session: not today")
    assert server.attendance is not None
    assert server.attendance.reasons == {"p0": "not today", "p1": "it gives no reason"}
    assert (error.received, error.required) == (0, 2)
    assert (error.missing, error.num_missing) == (("p0", "p1", "p2"), 3)


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
    server = make_server(rules=SessionRules(phases={JOIN: PhaseRules(quorum=2), "weights": PhaseRules(quorum=3)}))
    join(server, "p0", "p1")
    effects = server.receive_timeout(JOIN)
    assert isinstance(failure_of(effects), QuorumError)
    assert not [message for _, message in messages_of(effects) if isinstance(message, Request)]


def test_a_thousand_of_the_missing_are_named_to_the_clients_and_the_rest_counted() -> None:
    server = make_server(MAX_NAMES_IN_ABORT + 2, rules=SessionRules(quorum=2))
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


class _Quoting(CentralVotes):
    """A stranger's phase, which quotes what it refuses."""

    def check_report(self, report: Sequence[int], public: Sequence[int]) -> None:
        raise ValueError(f"{list(report)} is refused")


class _QuotingVariant(CentralVariant):
    def make_phases(self) -> Iterator[Phase]:
        yield _Quoting(self._parameters, self.central_sums, columns=range(2))


class _QuotingVote(DPWeVote):
    def make_variant(self) -> CentralVariant:
        return _QuotingVariant(self.parameters)


def test_a_strangers_refusal_of_what_a_trusted_server_sees_quotes_nothing() -> None:
    vote = _QuotingVote(Parameters(candidates=("a",), variant="central"))
    server = Session(vote, vote.encode({"weight": [1, 2], "a": [0, 1]})).server()
    server.start()
    join(server, "p0", "p1")
    failure = failure_of(server.receive("p0", Report(0, raw([2, 1]))))
    assert isinstance(failure, QuorumError)
    assert failure.first_drop.endswith("ValueError: what it says is left out, since it may tell what is private")
    assert "[2, 1]" not in str(failure)


def test_the_first_reason_for_a_drop_stands_in_the_servers_error_and_is_told_to_nobody() -> None:
    server = make_server(2)
    join(server, "p0", "p1")
    effects = server.receive("p0", Report(0, raw([77])))
    failure = failure_of(effects)
    assert isinstance(failure, QuorumError)
    assert failure.first_drop.startswith("p0's report in phase 'weights' is not what the phase declares")
    assert f"; the first is out because {failure.first_drop}" in str(failure)
    aborts = [message for to, message in messages_of(effects) if isinstance(message, Abort) and "p1" in to]
    assert [abort.phase for abort in aborts] == ["weights"]
    assert "the first is out" not in aborts[0].reason


def test_a_quorum_that_nobody_was_dropped_from_says_nothing_of_drops() -> None:
    server = make_server(2)
    join(server, "p0", "p1")
    failure = failure_of(server.receive_loss("p0"))
    assert isinstance(failure, QuorumError)
    assert failure.first_drop == ""
    assert "is out" not in str(failure)


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
        server = make_server(3, rules=SessionRules(quorum=1))
        join(server, "p0", "p1", "p2")
        for name in ("p0", "p1", "p2"):
            server.receive(name, weight_report())
        for name in ("p0", "p1"):
            server.receive(name, opinion_report())
        for name in ("p0", "p1")[:num_gone]:
            server.receive_loss(name)
        told.append(finish(server.receive_loss("p2")).num_told)
    assert told == [2, 1, 0]
