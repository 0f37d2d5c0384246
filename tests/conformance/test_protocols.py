"""What every registered protocol keeps: agents' machines, arrays, reference run and replay give the same bits.

Each case makes sessions of one protocol, of all its variants, and its reference run where it has one.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from helpers import Session, make_inputs, make_vote, replay
from hypothesis import given, settings
from hypothesis import strategies as st
from psephos.protocol import Inputs, PhasedProtocol, PhaseRules, SimulatedNoise, run_population
from psephos.protocol.dpwevote import DPWeVote, reference_run
from psephos.protocol.effects import Drop, Effect, Fail
from psephos.scenarios.plugins import PROTOCOLS, find_protocol, names_in
from strategies import CHECKED, choosers, sessions

Reference = Callable[[PhasedProtocol[Any, Any], Inputs, SimulatedNoise], msgspec.Struct | None]


@dataclasses.dataclass(frozen=True)
class Case:
    """One protocol and how to make sessions of it."""

    name: str
    sessions: st.SearchStrategy[Session]
    reference: Reference


def _dpwevote_reference(
    protocol: PhasedProtocol[Any, Any], inputs: Inputs, noise: SimulatedNoise
) -> msgspec.Struct | None:
    assert isinstance(protocol, DPWeVote)
    return None if protocol.parameters.variant == "laplace" else reference_run(protocol, inputs, noise=noise)


CASES = [Case("dpwevote", sessions(), _dpwevote_reference)]
every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def test_every_registered_protocol_is_tested_here() -> None:
    assert tuple(sorted(case.name for case in CASES)) == names_in(PROTOCOLS)
    for case in CASES:
        assert find_protocol(case.name).name == case.name


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
def test_a_replay_of_a_session_with_absentees_gives_the_same_bits(case: Case, data: st.DataObject) -> None:
    session = _again(data.draw(case.sessions), default_rules=PhaseRules(quorum=1))
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
def test_every_loss_is_proven_and_a_session_costs_the_sum_of_its_phases(case: Case, data: st.DataObject) -> None:
    session = data.draw(case.sessions)
    wire = session.play()
    assert wire.result is not None
    for ledger in session.ledgers.values():
        assert [entry.proven for entry in ledger.entries] == [loss.proven for loss in session.protocol.losses]
        assert all(0 < entry.proven < float("inf") for entry in ledger.entries)


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
        session.protocol, session.inputs, seed=session.seed, names=session.names, default_rules=default_rules
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
