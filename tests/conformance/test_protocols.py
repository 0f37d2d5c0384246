"""What every registered protocol keeps: agents' machines, arrays, reference run and replay give the same bits.

Each case makes sessions of one protocol, of all its variants, and its reference run where it has one. The quiz is no
registered one: it has what a protocol may have and the registered ones need not.
"""

import collections
import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from helpers import Session, make_inputs, make_vote, replay
from hypothesis import given, settings
from hypothesis import strategies as st
from psephos.protocol import Inputs, PhaseRules, SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, reference_run
from psephos.protocol.effects import Drop, Effect, Fail
from psephos.protocol.fair_voting import reference_run as fair_voting_reference_run
from psephos.protocol.moral_preferences import reference_run as moral_preferences_reference_run
from psephos.protocol.population import draw_reports, run_batches
from psephos.protocol.truth_discovery.reference import reference_run as truth_discovery_reference_run
from psephos.scenarios.system import find_protocol, protocol_names
from strategies import CHECKED, choosers, crowd_sessions, fair_sessions, preference_sessions, quizzes, sessions

Reference = Callable[[Any, Inputs, SimulatedNoise], msgspec.Struct | None]


@dataclasses.dataclass(frozen=True)
class Case:
    """One protocol and how to make sessions of it."""

    name: str
    sessions: st.SearchStrategy[Session]
    reference: Reference


def _dpwevote_reference(protocol: DPWeVote, inputs: Inputs, noise: SimulatedNoise) -> msgspec.Struct | None:
    return None if protocol.parameters.variant == "laplace" else reference_run(protocol, inputs, noise=noise)


CASES = [
    Case("dpwevote", sessions(), _dpwevote_reference),
    Case(
        "fair-voting",
        fair_sessions(),
        lambda protocol, inputs, noise: fair_voting_reference_run(protocol, inputs, noise=noise),
    ),
    Case(
        "truth-discovery",
        crowd_sessions(),
        lambda protocol, inputs, noise: truth_discovery_reference_run(protocol, inputs, noise=noise).outcome,
    ),
    Case(
        "moral-preferences",
        preference_sessions(),
        lambda protocol, inputs, noise: moral_preferences_reference_run(protocol, inputs, noise=noise),
    ),
    Case("quiz", quizzes(), lambda _protocol, _inputs, _noise: None),
]
every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def test_every_registered_protocol_is_tested_here() -> None:
    assert {case.name for case in CASES} == {*protocol_names(), "quiz"}
    for name in protocol_names():
        assert find_protocol(name).name == name


@every_case
@CHECKED
@given(st.data())
def test_agents_arrays_reference_and_replay_give_the_same_bits(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    wire = session.play(data.draw(choosers()))
    assert wire.result is not None
    arrays = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    assert wire.result.outcome == arrays.outcome
    assert wire.result.tallies == arrays.tallies
    assert wire.result.own_outcomes == arrays.own_outcomes
    assert wire.own == {name: arrays.own_outcomes.get(place) for place, name in enumerate(session.names)}
    assert set(wire.outcomes) == set(session.names)
    reference = case.reference(session.protocol, session.inputs, session.fresh_noise())
    assert reference in {None, arrays.outcome}
    view, effects = replay(session, wire.view.observations)
    assert view.observations == wire.view.observations
    assert effects == wire.effects


@every_case
@CHECKED
@given(st.data())
def test_equal_results_have_equal_bytes(case: Case, data: st.DataObject) -> None:
    """Numbers that compare equal may differ, as 0.0 and −0.0 do; bytes may not."""
    session = data.draw(case.sessions)
    wire = session.play()
    assert wire.result is not None
    arrays = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    assert msgspec.json.encode(wire.result.outcome) == msgspec.json.encode(arrays.outcome)


@every_case
@CHECKED
@given(st.data())
def test_a_session_does_not_depend_on_the_order_of_delivery(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    results = [_again(session).play(choose).result for choose in (None, data.draw(choosers()), data.draw(choosers()))]
    assert results[0] is not None
    assert results[0] == results[1] == results[2]


@every_case
@CHECKED
@given(st.data(), st.integers(1, 10))
def test_arrays_do_not_depend_on_the_size_of_a_batch(case: Case, data: st.DataObject, batch_rows: int) -> None:
    session = data.draw(case.sessions)
    whole = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    batches = run_population(session.protocol, session.inputs, noise=session.fresh_noise(), batch_rows=batch_rows)
    assert batches == whole


@every_case
@CHECKED
@given(st.data())
def test_batches_that_come_one_after_another_give_the_same_bits(case: Case, data: st.DataObject) -> None:
    """For protocols of one phase; the others are refused."""
    session = data.draw(case.sessions)
    number = len(session.inputs)
    ends = sorted(data.draw(st.lists(st.integers(0, number), max_size=4)))
    batches = [session.inputs.of_range(*ends_of) for ends_of in itertools.pairwise([0, *ends, number])]
    if len(session.protocol.phases) > 1:
        with pytest.raises(ValueError, match="a protocol of one phase"):
            run_batches(session.protocol, batches, noise=session.fresh_noise())
        return
    whole = run_population(session.protocol, session.inputs, noise=session.fresh_noise())
    assert run_batches(session.protocol, batches, noise=session.fresh_noise()) == whole


@every_case
@CHECKED
@given(st.data())
def test_a_replay_of_a_session_with_absentees_gives_the_same_bits(case: Case, data: st.DataObject) -> None:
    drawn = data.draw(case.sessions)
    rules = PhaseRules() if drawn.protocol.hides_participation else PhaseRules(quorum=1)
    session = _again(drawn, default_rules=rules)
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


@every_case
@CHECKED
@given(st.data())
def test_an_outcome_survives_the_wire(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    outcome = run_population(session.protocol, session.inputs, noise=session.fresh_noise()).outcome
    payload = msgspec.msgpack.encode(outcome)
    assert msgspec.msgpack.decode(payload, type=session.protocol.outcome_type) == outcome
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=session.protocol.outcome_type) == outcome


@every_case
@CHECKED
@given(st.data())
def test_what_is_for_one_client_alone_survives_the_wire_and_is_of_the_declared_type(
    case: Case, data: st.DataObject
) -> None:
    session = data.draw(case.sessions)
    own_outcomes = run_population(session.protocol, session.inputs, noise=session.fresh_noise()).own_outcomes
    assert set(own_outcomes) <= set(range(len(session.inputs)))
    for own in (*own_outcomes.values(), None):
        assert session.protocol.own_outcome_decoder.decode(msgspec.msgpack.encode(own)) == own


@every_case
@CHECKED
@given(st.data())
def test_an_honest_report_and_row_pass_the_protocols_own_checks(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    protocol, public = session.protocol, session.inputs.public
    rows: list[list[int]] = session.inputs.private.tolist()
    public_rows: list[list[int]] = public.tolist()
    for row, its_public in zip(rows, public_rows, strict=True):
        protocol.check_row(row, its_public)
    for phase in protocol.phases:
        noise = session.fresh_noise()
        drawn = draw_reports(phase, session.inputs, noise=noise, protocol=protocol.name, start=0)
        reports: list[list[int]] = drawn.tolist()
        for report, its_public in zip(reports, public_rows, strict=True):
            phase.check_report(report, its_public)


@every_case
@CHECKED
@given(st.data())
def test_groups_of_losses_have_everybody_once_and_the_losses_of_everybody(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    public_rows: list[list[int]] = session.inputs.public.tolist()
    for phase in session.protocol.phases:
        groups = phase.loss_groups(session.inputs.public)
        names = [name for name, _, _ in groups]
        assert len(set(names)) == len(names)
        assert names == [""] or all(names)
        in_groups = collections.Counter[str]()
        for _, count, losses in groups:
            in_groups[repr(losses)] += count
        assert in_groups == collections.Counter(repr(phase.losses_of(public)) for public in public_rows)


@every_case
@CHECKED
@given(st.data())
def test_every_loss_is_proven_and_a_session_costs_the_sum_of_its_phases(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    wire = session.play()
    assert wire.result is not None
    public_rows: list[list[int]] = session.inputs.public.tolist()
    for public, ledger in zip(public_rows, session.ledgers.values(), strict=True):
        losses = session.protocol.losses_of(public)
        assert [(entry.proven, entry.part) for entry in ledger.entries] == [(loss.proven, loss.part) for loss in losses]
        assert all(0 < entry.proven < float("inf") for entry in ledger.entries)
        assert ledger.reserved == pytest.approx(0, abs=1e-12)
        # Whoever agrees to the parameters alone knows the most that any row can cost.
        assert sum(loss.proven for loss in losses) <= sum(loss.proven for loss in session.protocol.losses) * (1 + 1e-9)


@settings(CHECKED, max_examples=5)
@given(st.integers(0, 2**32), st.sampled_from(["joint", "printed", "laplace", "two_point", "optimal"]))
def test_a_larger_session_gives_the_same_bits(seed: int, variant: str) -> None:
    """More parties than a block of noise or a batch holds, and a name that sorts otherwise than its place."""
    vote = make_vote(variant=variant)
    session = Session(vote, make_inputs(vote, 60, seed=seed), seed=seed)
    wire = session.play()
    assert wire.result is not None
    arrays = run_population(session.protocol, session.inputs, noise=session.fresh_noise(), batch_rows=7)
    assert (wire.result.outcome, wire.result.tallies) == (arrays.outcome, arrays.tallies)


def _again(session: Session, default_rules: PhaseRules | None = None) -> Session:
    """Return the session as it was before anything was drawn."""
    return Session(
        session.protocol,
        session.inputs,
        seed=session.seed,
        names=session.names,
        default_rules=default_rules,
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
