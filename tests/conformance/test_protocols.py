"""What every registered protocol keeps: agents' machines, arrays, reference run and replay give the same bits.

Each case makes sessions of one protocol, of all its variants, and its reference run where it has one. The quiz is no
registered one: it has what a protocol may have and the registered ones need not.
"""

import dataclasses
import itertools
from collections.abc import Callable

import msgspec
import pytest
from helpers import Session, make_inputs, make_vote, replay
from hypothesis import given, settings
from hypothesis import strategies as st
from psephos.protocol import ConfigurationError, SessionRules, SimulatedNoise, run_population
from psephos.protocol.effects import Drop, Effect, Fail
from psephos.protocol.phases import Inputs
from psephos.protocol.population import draw_reports, release_tallies, run_batches, tally_places
from psephos.protocol.tally import Merged, Tally
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.protocol.truth_discovery.reference import reference_run as run_truth_discovery
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.system import find_protocol, protocol_names
from psephos.scenarios.testing import PROTOCOL_PROMISES, check_protocol
from reference_runs import run_dpwevote, run_fair_voting, run_moral_preferences
from strategies import CHECKED, choosers, crowd_sessions, fair_sessions, preference_sessions, quizzes, sessions
from thoroughness import draws

Reference = Callable[..., msgspec.Struct]


@dataclasses.dataclass(frozen=True)
class Case:
    """One protocol, how to make sessions of it, and its reference run, which those of the baseline have not."""

    name: str
    sessions: st.SearchStrategy[Session]
    reference: Reference | None = None


def run_crowd(protocol: TruthDiscovery, inputs: Inputs, *, noise: SimulatedNoise) -> msgspec.Struct:
    return run_truth_discovery(protocol, inputs, noise=noise).outcome


CASES = [
    Case("dpwevote", sessions(), run_dpwevote),
    Case(
        "fair-voting",
        fair_sessions(),
        run_fair_voting,
    ),
    Case(
        "truth-discovery",
        crowd_sessions(),
        run_crowd,
    ),
    Case(
        "moral-preferences",
        preference_sessions(),
        run_moral_preferences,
    ),
    Case("quiz", quizzes()),
]
every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def test_every_registered_protocol_is_tested_here() -> None:
    assert {case.name for case in CASES} == {*protocol_names(), "quiz"}
    for name in protocol_names():
        assert find_protocol(name).name == name


@every_case
@settings(CHECKED, max_examples=draws(2, full=40))
@given(st.data())
def test_a_protocol_keeps_every_promise_that_anybody_s_is_asked_for(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions.filter(_is_checkable))
    check_protocol(session.protocol, session.inputs, promises=PROTOCOL_PROMISES[:-4])


@every_case
@settings(CHECKED, max_examples=draws(1, full=2))
@given(st.data())
def test_what_is_drawn_follows_its_law_and_tells_no_more_than_is_stated(case: Case, data: st.DataObject) -> None:
    """False alarm: below 1e-6 for each example; they are the same every time."""
    session = data.draw(case.sessions.filter(_is_checkable))
    check_protocol(session.protocol, session.inputs, promises=PROTOCOL_PROMISES[-4:])


@every_case
@settings(CHECKED, max_examples=3)
@given(st.data())
def test_batches_have_the_bits_of_all_parties_at_once_in_every_phase(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    number = len(session.inputs)
    cuts = sorted(data.draw(st.sets(st.integers(0, number), max_size=3)) | {0, number})
    batches = [session.inputs.slice_rows(start, stop) for start, stop in itertools.pairwise(cuts)]
    at_once = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    try:
        found = run_batches(session.protocol, batches, noise=session.fresh_noise())
    except ConfigurationError:  # of parties that are there in part: sizes of groups, societies
        assert len(batches) > 1
        found = run_batches(session.protocol, [session.inputs], noise=session.fresh_noise())
    assert found.tallies == at_once.tallies
    assert found.outcome == at_once.outcome


@every_case
@settings(CHECKED, max_examples=3)
@given(st.data())
def test_ranges_of_places_in_any_order_and_counted_again_have_the_bits_of_all_parties(
    case: Case, data: st.DataObject
) -> None:
    session = data.draw(case.sessions)
    number = len(session.inputs)
    cuts = sorted(data.draw(st.sets(st.integers(1, number), max_size=3)) | {0, number})
    ranges = data.draw(st.permutations(list(itertools.pairwise(cuts))))
    at_once = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    merged = [Merged() for _ in session.protocol.phases]

    def tallied(start: int, stop: int) -> tuple[Tally, ...]:
        rows, noise = session.inputs.slice_rows(start, stop), session.fresh_noise()
        return tally_places(session.protocol, rows, noise=noise, start=start)

    for start, stop in ranges:
        try:
            tallies = tallied(start, stop)
        except ConfigurationError:  # of parties that are there in part: sizes of groups, societies
            assert len(ranges) > 1
            return
        assert tallied(start, stop) == tallies
        for own, tally in zip(merged, tallies, strict=True):
            own.add(tally)
    found = release_tallies(session.protocol, [own.total() for own in merged], noise=session.fresh_noise())
    assert (found.tallies, found.outcome, found.own_outcomes) == (
        at_once.tallies,
        at_once.outcome,
        at_once.own_outcomes,
    )


@every_case
@CHECKED
@given(st.data())
def test_agents_in_any_order_arrays_reference_and_replay_give_the_same_bits(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    wire = session.play(data.draw(choosers()))
    assert wire.result is not None
    assert wire.result == _again(session).play().result
    arrays = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    assert wire.result.outcome == arrays.outcome
    assert wire.result.tallies == arrays.tallies
    assert wire.result.own_outcomes == arrays.own_outcomes
    assert wire.own == {name: arrays.own_outcomes.get(place) for place, name in enumerate(session.names)}
    assert set(wire.outcomes) == set(session.names)
    if case.reference is not None and getattr(session.protocol.parameters, "variant", "") != "laplace":
        assert case.reference(session.protocol, session.inputs, noise=session.fresh_noise()) == arrays.outcome
    view, effects = replay(session, wire.view.observations)
    assert view.observations == wire.view.observations
    assert effects == wire.effects
    _check_losses(session)


def _check_losses(session: Session) -> None:
    """Check that every loss is proven, and that the session that was played cost the sum of its phases."""
    public_rows: list[list[int]] = session.inputs.public.tolist()
    for public, ledger in zip(public_rows, session.ledgers.values(), strict=True):
        losses = session.protocol.losses_of(public)
        assert [(entry.proven, entry.part) for entry in ledger.entries] == [(loss.proven, loss.part) for loss in losses]
        assert all(0 < entry.proven < float("inf") for entry in ledger.entries)
        assert ledger.reserved == pytest.approx(0, abs=1e-12)
        # Whoever agrees to the parameters alone knows the most that any row can cost.
        assert sum(loss.proven for loss in losses) <= sum(loss.proven for loss in session.protocol.losses) * (1 + 1e-9)


@every_case
@CHECKED
@given(st.data())
def test_a_replay_of_a_session_with_absentees_gives_the_same_bits(case: Case, data: st.DataObject) -> None:
    drawn = data.draw(case.sessions)
    rules = SessionRules() if drawn.protocol.hides_participation else SessionRules(quorum=1)
    session = _again(drawn, rules=rules)
    wire = session.wire()
    wire.start()
    choose = data.draw(choosers())
    for _ in range(data.draw(st.integers(0, 30))):
        available = wire.available()
        match data.draw(st.sampled_from(["deliver", "deliver", "deliver", "lose", "expire", "damage"])):
            case "deliver" if available:
                wire.deliver(available[choose(available)])
            case "lose":
                wire.lose(data.draw(st.sampled_from(session.names)))
            case "expire" if wire.deadlines:
                wire.expire(wire.deadlines[0])
            case "damage":
                wire.feed_server(data.draw(st.sampled_from(session.names)), b"\xc1")  # no message begins like this
            case _:
                pass
    wire.run()
    wire.check_end()
    view, effects = replay(session, wire.view.observations)
    assert view.observations == wire.view.observations
    assert [_comparable(effect) for effect in effects] == [_comparable(effect) for effect in wire.effects]


@settings(CHECKED, max_examples=draws(3, full=5))
@given(st.integers(0, 2**32), st.sampled_from(["joint", "printed", "laplace", "two_point", "optimal"]))
def test_a_larger_session_gives_the_same_bits(seed: int, variant: str) -> None:
    """More parties than a block of noise or a batch holds, and a name that sorts otherwise than its place."""
    vote = make_vote(variant=variant)
    session = Session(vote, make_inputs(vote, 60, seed=seed), seed=seed)
    wire = session.play()
    assert wire.result is not None
    arrays = run_population(session.protocol, session.inputs, noise=session.fresh_noise(), batch_rows=7)
    assert (wire.result.outcome, wire.result.tallies) == (arrays.outcome, arrays.tallies)


@pytest.mark.parametrize(
    "name", ["moral-synthetic", "own-epsilon", "peer-grading", "private-groups", "trusted-count", "two-societies"]
)
def test_what_is_said_against_a_report_quotes_nothing_of_it(name: str) -> None:
    """It goes into the server's log. Each number of a right report in turn is one that nobody reports."""
    side = resolve(load_scenario(name))
    noise = SimulatedNoise(1, session=name)
    (phase,) = side.protocol.phases
    report = draw_reports(phase, side.inputs, noise=noise, protocol=name, start=0)[0].tolist()
    greatest = phase.mechanism.report_range[1] + 12_345_678_901
    for place in range(len(report)):
        with pytest.raises(ValueError, match=r"\w") as refused:
            phase.check_report([*report[:place], greatest, *report[place + 1 :]], side.inputs.public[0].tolist())
        assert str(greatest) not in str(refused.value)


def _is_checkable(session: Session) -> bool:
    """Return whether it is a session that anybody could hold, of two parties or more."""
    try:
        session.protocol.check_roster(session.inputs.public)
    except ConfigurationError:
        return False
    return len(session.inputs) > 1


def _again(session: Session, rules: SessionRules | None = None) -> Session:
    """Return the session as it was before anything was drawn."""
    return Session(
        session.protocol,
        session.inputs,
        seed=session.seed,
        names=session.names,
        rules=rules,
        clients_know=session.clients_know,
    )


def _comparable(effect: Effect) -> object:
    """Return an effect such that equal ones compare equal; errors compare by identity, so by type and words here."""
    match effect:
        case Fail(error):
            return "fail", type(error), str(error)
        case Drop(party, error):
            return "drop", party, type(error), str(error)
        case _:
            return effect
