"""Phases that hide who reports: no quorum, closed by their deadlines alone, and nothing says who or how many came.

Neighbors here are sessions with one voter more or less of the same roster, and what is compared is all that the
server's machine asks for but the noisy numbers: two sessions that differ in anything else can be told apart for sure.
"""

import itertools
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from bad_input import refuses
from helpers import (
    Session,
    Wire,
    make_fair_inputs,
    make_fair_vote,
    make_inputs,
    make_vote,
    outcome_of_those_who_reported,
)
from hypothesis import given
from hypothesis import strategies as st
from makers import AddedUp
from psephos.protocol import Inputs, Phase, PhaseRules, SessionRules, SimulatedNoise, Tally, run_population
from psephos.protocol.arrays import IntArray
from psephos.protocol.effects import Closed, Effect, Fail, Finish, Opened, SetDeadline
from psephos.protocol.errors import ConfigurationError, PluginError
from psephos.protocol.mechanisms import DiscreteLaplace, VectorLaplace
from psephos.protocol.messages import Message, Release
from psephos.protocol.phases import CentralPhase, Column, PhasedProtocol
from psephos.protocol.population import released_tally
from psephos.protocol.privacy import NeighboringRelation, PrivacyLoss, TrustModel
from psephos.protocol.rules import JOIN, names_of
from psephos.protocol.session_flow import SessionResult
from psephos.protocol.states import SESSION, SessionState
from psephos.protocol.views import Happening
from strategies import CHECKED, choosers

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
MECHANISMS: list[dict[str, Any]] = [
    {"mechanism": "laplace"},
    {"mechanism": "laplace", "calibration": "printed"},
    {"mechanism": "exponential", "objective": "penalized"},
    {"mechanism": "permute_and_flip"},
]
every_mechanism = pytest.mark.parametrize("given_", MECHANISMS, ids=lambda given: "-".join(map(str, given.values())))
ABSENT: list[tuple[int, ...]] = [(), (4,), (0, 2), (1, 2, 3), (0, 1, 2, 3, 4)]
"""Places of those who stay away; the last are all."""


def make_session(rules: SessionRules | None = None, **changes: Any) -> Session:
    """Return a vote of three and two voters that hides who takes part."""
    vote = make_fair_vote(3, 2, relation=ADD, **changes)
    return Session(vote, make_fair_inputs(vote, seed=4), rules=rules)


def play(session: Session, absent: Collection[int] = (), leaves: Collection[int] = ()) -> Wire:
    """Play a session in which some never come, and some come and leave before they report."""
    wire = session.wire()
    wire.start()
    for place in absent:
        wire.up[session.names[place]].clear()
        wire.crash(session.names[place])
    settle(wire)
    for place in leaves:
        wire.lose(session.names[place])
    wire.run()
    return wire


def settle(wire: Wire) -> None:
    """Deliver all that is on its way; no deadline passes."""
    while available := wire.available():
        wire.deliver(available[0])
    wire.hang_up()


def told(effects: Sequence[Effect]) -> list[object]:
    """Return what is shown and logged of a server's effects: all but messages, whose recipients the network knows."""
    shown: list[object] = []
    for effect in effects:
        match effect:
            case Opened() | SetDeadline() | Fail():
                shown.append(effect)
            case Closed():
                shown.append(msgspec.structs.replace(effect, outcome=None))
            case Finish(result):
                assert isinstance(result, SessionResult)
                shown.append((result.num_received, [tally.num_reports for tally in result.tallies]))
            case _:
                pass
    return shown


def heard_by(wire: Wire, party: str) -> list[Message]:
    """Return what the server told one party, up to the noisy numbers of the release."""
    sent = [seen.message for seen in wire.view.observations if (seen.happening, seen.peer) == (Happening.SENT, party)]
    return [Release(msgspec.Raw(b"")) if isinstance(each, Release) else each for each in sent if each is not None]


# What is published.


@every_mechanism
def test_neighbors_differ_in_the_noisy_outcome_alone(given_: dict[str, Any]) -> None:
    """And not in how many were asked, reported or are missing, in what others hear, or in how the session ends."""
    sessions = [make_session(**given_) for _ in ABSENT]
    wires = [play(session, absent) for session, absent in zip(sessions, ABSENT, strict=True)]
    for one, other in itertools.pairwise(wires):
        assert told(one.effects) == told(other.effects)
    for wire, absent in zip(wires, ABSENT, strict=True):
        assert wire.failure is None
        present = [place for place in range(5) if place not in absent]
        for place in present:
            assert heard_by(wire, f"p{place}")[1:] == heard_by(wires[0], "p0")[1:]  # the first has its own public row
    assert told(wires[0].effects) == [
        SetDeadline(JOIN, 300.0),
        Closed(JOIN, None, None, None),
        Opened("rankings", None),
        SetDeadline("rankings", 300.0),
        Closed("rankings", None, None, None),
        ((None,), [0]),
    ]


@CHECKED
@given(st.data())
def test_any_subset_in_any_order_gives_the_bits_of_the_arrays(data: st.DataObject) -> None:
    """Who stays away, and who leaves when asked, leave 0 each."""
    session = make_session(**data.draw(st.sampled_from(MECHANISMS)))
    absent, leaves = data.draw(st.sets(st.integers(0, 4))), data.draw(st.sets(st.integers(0, 4)))
    wire = session.wire()
    wire.start()
    for place in absent:
        wire.lose(session.names[place])
    choose = data.draw(choosers())
    while (available := wire.available()) and wire.server.state is SessionState.GATHERING:
        wire.deliver(available[choose(available)])
    wire.expire(JOIN)
    for place in leaves:
        wire.lose(session.names[place])
    wire.run(choose)
    wire.check_end()
    assert wire.result is not None
    places = sorted({*range(5)} - absent - leaves)
    assert (wire.result.outcome, wire.result.tallies) == outcome_of_those_who_reported(session, [places])


def test_nobody_at_all_leaves_noise_alone() -> None:
    """With little noise each group's mean is nearly 1, the center of Borda's scores: what an indifferent voter says."""
    wire = play(make_session(epsilon=30.0), range(5))
    assert wire.result is not None
    outcome: Any = wire.result.outcome
    for each in outcome.alternatives:
        assert all(abs(own.value - 1.0) < 0.25 for own in each.utilities)  # of a fixed seed


def test_an_empty_array_is_a_session_only_where_participation_is_hidden() -> None:
    session = make_session()
    nobody = session.inputs.slice_rows(0, 0)
    assert run_population(session.protocol, nobody, noise=session.fresh_noise()).tallies[0].num_reports == 0
    public = make_fair_vote(3, 2)
    with pytest.raises(ValueError, match="at least one party"):
        run_population(public, nobody, noise=session.fresh_noise())


# When a phase closes.


def test_neither_joining_nor_the_phase_closes_before_its_deadline() -> None:
    session = make_session()
    wire = session.wire()
    wire.start()
    settle(wire)  # everybody has joined
    assert wire.server.state is SessionState.GATHERING
    assert wire.server.settled_phase == JOIN
    wire.expire(JOIN)
    assert wire.server.settled_phase is None
    settle(wire)  # everybody has reported
    assert (wire.server.state, wire.server.settled_phase) == (SessionState.COLLECTING, "rankings")
    assert wire.result is None
    wire.expire("rankings")
    assert wire.result is not None
    assert wire.server.settled_phase is None


def test_neither_joining_nor_the_phase_ends_where_everybody_has_left() -> None:
    session = make_session()
    wire = session.wire()
    wire.start()
    settle(wire)
    for name in session.names[:2]:
        wire.lose(name)
    assert wire.server.state is SessionState.GATHERING
    wire.expire(JOIN)
    for name in session.names:
        wire.lose(name)
    assert (wire.server.state, wire.server.settled_phase) == (SessionState.COLLECTING, "rankings")
    wire.expire("rankings")
    assert wire.result is not None


def test_the_status_of_a_session_has_no_number() -> None:
    session = make_session()
    wire = session.wire()
    wire.start()
    assert wire.server.progress == (JOIN, None, None)
    settle(wire)
    assert wire.server.progress == (JOIN, None, None)
    wire.expire(JOIN)
    assert wire.server.progress == ("rankings", None, None)


def test_where_participation_is_public_a_settled_phase_has_closed() -> None:
    vote = make_vote()
    session = Session(vote, make_inputs(vote, 3))
    wire = session.wire()
    assert wire.server.settled_phase is None  # it has not begun
    wire.start()
    while available := wire.available():
        assert wire.server.settled_phase is None
        wire.deliver(available[0])
    assert wire.result is not None
    assert not SESSION[wire.server.state]


# Quorums.


@pytest.mark.bad_input("a quorum where who takes part is private")
@pytest.mark.parametrize("quorum", [1, 3, 5, 9, 0.5, 1.0])
@pytest.mark.parametrize("where", ["default", JOIN, "rankings"])
def test_a_quorum_is_refused_wherever_it_is_named(where: str, quorum: float) -> None:
    of_one = SessionRules(phases={where: PhaseRules(quorum=quorum)})
    session = make_session(SessionRules(quorum=quorum) if where == "default" else of_one)
    with refuses("quorum", quorum) as caught:
        session.server()
    assert caught.value.allowed.startswith("left out: participation is private")


@pytest.mark.bad_input("a quorum where who takes part is private")
def test_a_phase_that_waits_for_its_deadline_must_have_one() -> None:
    session = make_session(SessionRules(deadline_seconds=float("inf")))
    with pytest.raises(ConfigurationError, match=r"deadline_seconds (is|are) .*finite: participation is private"):
        session.server()


def test_no_quorum_named_is_everybody_where_participation_is_public() -> None:
    assert PhaseRules().num_required(7) == 7
    assert PhaseRules().num_required(7, hides_participation=True) == 0
    assert names_of(make_fair_vote(3, 2)) == {JOIN: False, "rankings": False}
    assert names_of(make_fair_vote(3, 2, relation=ADD)) == {JOIN: True, "rankings": True}


# Phases of both kinds.


class Count(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters: in which order the phases come."""

    order: tuple[str, ...] = ("shown", "hidden")


class Sum(msgspec.Struct, frozen=True):
    """What is released, and what the phases' tallies say of how many they count."""

    total: int
    counts: tuple[int, ...]


def _loss(relation: NeighboringRelation, model: TrustModel, event: Any) -> PrivacyLoss:
    return PrivacyLoss(mechanism="toy", event=event, unit="value", relation=relation, model=model, claimed=1.0)


class Shown(AddedUp):
    """Reports of which everybody may know whose there are."""

    def __init__(self) -> None:
        mechanism = DiscreteLaplace(4.0, 0, 1)
        losses = [_loss(NeighboringRelation.REPLACE_ONE, TrustModel.LOCAL, mechanism.event)]
        super().__init__("shown", columns=range(1), mechanism=mechanism, losses=losses)


class Hidden(AddedUp, CentralPhase):
    """Values of which nobody may know how many there are."""

    def __init__(self) -> None:
        mechanism = VectorLaplace(scale=4.0, sensitivity=1, bound=100)
        losses = [_loss(ADD, TrustModel.CENTRAL, mechanism.event_of(1))]
        super().__init__("hidden", columns=range(1), bound=1, tally_mechanism=mechanism, losses=losses)


class Mixed(PhasedProtocol[Count, Sum]):
    """A sum in two phases, of which one hides who reports."""

    name = "mixed"
    parameters_type = Count
    outcome_type = Sum

    def make_phases(self) -> list[Phase]:
        phases = {"shown": Shown, "hidden": Hidden}
        return [phases[name]() for name in self.parameters.order]

    def columns(self) -> tuple[Column, ...]:
        return (Column("value", private=True, description="0 or 1"),)

    def encode(self, table: Any) -> Inputs:
        values = np.array(table["value"], dtype=np.int64).reshape(-1, 1)
        return Inputs(values, np.empty((len(values), 0), dtype=np.int64))

    def outcome(self, tallies: Sequence[Tally]) -> Sum:
        """Return the last phase's total, and what a careless protocol would publish."""
        return Sum(int(tallies[-1].totals[0]), tuple(tally.num_reports for tally in tallies))


def make_mixed(rules: SessionRules | None = None) -> Session:
    """Return a session of four in two phases, the second of which hides who reports."""
    mixed = Mixed(Count())
    return Session(mixed, mixed.encode({"value": [1, 0, 1, 1]}), rules=rules)


def test_a_phase_that_shows_who_reports_keeps_its_quorum_before_one_that_hides() -> None:
    wire = play(make_mixed(SessionRules(phases={"shown": PhaseRules(quorum=3)})), absent=[2])
    assert wire.result is not None
    assert wire.result.num_received == (3, None)
    # Of the hidden phase not even the protocol's own outcome knows how many there were.
    assert wire.result.outcome == Sum(int(wire.result.tallies[1].totals[0]), (3, 0))
    assert [effect for effect in wire.effects if isinstance(effect, (Opened, Closed))] == [
        Closed(JOIN, None, None, None),
        Opened("shown", None),  # as many as have joined
        Closed("shown", 3, 1, None),
        Opened("hidden", None),
        Closed("hidden", None, None, None),
    ]


def test_a_phase_that_shows_who_reports_still_names_who_is_missing() -> None:
    wire = play(make_mixed(), absent=[2])
    assert "missing: p2" in str(wire.failure)


@pytest.mark.bad_input("a quorum where who takes part is private")
@pytest.mark.parametrize("name", [JOIN, "hidden"])
def test_of_phases_of_both_kinds_those_that_hide_take_no_quorum(name: str) -> None:
    with pytest.raises(ConfigurationError, match="leave out quorum"):
        make_mixed(SessionRules(phases={name: PhaseRules(quorum=2)})).server()


def test_a_phase_that_shows_who_reports_cannot_follow_one_that_hides() -> None:
    """Only who has reported is asked again, so that the second would say who was in the first."""
    with refuses("phases", "shown") as caught:
        _ = Mixed(Count(order=("hidden", "shown"))).phases
    assert caught.value.allowed.startswith("before 'hidden': that phase hides who reports")


def test_a_server_without_noise_is_no_server_of_a_phase_that_needs_it() -> None:
    with pytest.raises(TypeError, match="in phase 'hidden' the server draws the noise"):
        released_tally(Hidden(), Tally(1, np.array([1])), None)


def test_the_noise_of_the_server_does_not_depend_on_who_came() -> None:
    """Simulated, it is the release's own stream: the same bits whoever reports, so that paths are comparable."""
    noise = SimulatedNoise(5, session="s")
    vote = make_fair_vote(3, 2, relation=ADD, epsilon=0.1)
    inputs = make_fair_inputs(vote, seed=4)
    all_of, none = (run_population(vote, rows, noise=noise).tallies[0] for rows in (inputs, inputs.slice_rows(0, 0)))
    public = vote.phase.tally(inputs.private, earlier=[], public=inputs.public)
    assert (all_of.totals - none.totals).tolist() == public.totals.tolist()


@pytest.mark.parametrize("num_voters", [2, 5])
def test_a_tally_that_does_not_add_up_is_named_without_saying_how_many_came(
    monkeypatch: pytest.MonkeyPatch, num_voters: int
) -> None:
    def greatest(_: Phase, reports: IntArray, **_others: object) -> Tally:
        return Tally(len(reports), np.ones(1, dtype=np.int64))

    monkeypatch.setattr(Hidden, "tally", greatest)
    toy = Mixed(Count(order=("hidden",)))
    inputs = toy.encode({"value": [1] * num_voters})
    with pytest.raises(PluginError) as caught:
        run_population(toy, inputs, noise=SimulatedNoise(3, session="hidden"))
    assert caught.value.reason == "the tallies of two halves of some clients do not add up to that of all of them"
