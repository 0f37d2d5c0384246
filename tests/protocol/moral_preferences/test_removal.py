"""A voter who is there or not: half the noise on the sum, a public number to divide by, and no count in the release."""

import math
from typing import Any

import numpy as np
import pytest
from helpers import Session, make_preference_inputs, make_preferences
from makers import as_usual
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.mechanisms import VectorLaplace
from psephos.protocol.moral_preferences import DisclosedPhase, MoralPreferences, Paradigm
from psephos.protocol.phases import Inputs
from psephos.protocol.privacy import NeighboringRelation, total_of

make_protocol = as_usual(make_preferences, paradigm=Paradigm.VLCP, relation="add-remove-one", num_voters=8, epsilon=0.5)


def mechanism_of(protocol: MoralPreferences) -> VectorLaplace:
    assert isinstance(protocol.phase, DisclosedPhase)
    assert isinstance(protocol.phase.tally_mechanism, VectorLaplace)
    return protocol.phase.tally_mechanism


def test_the_noise_is_half_of_what_a_replaced_voter_needs_and_the_ledger_says_for_what() -> None:
    protocol, replaced = make_protocol(), make_preferences(paradigm=Paradigm.VLCP, epsilon=0.5)
    mine, other = mechanism_of(protocol), mechanism_of(replaced)
    assert 2 * mine.scale == other.scale
    assert 2 * mine.sensitivity == other.sensitivity == 2 * protocol.summary.bound
    (loss,) = protocol.losses
    assert (loss.relation, loss.unit, loss.proven, loss.claimed) == (
        NeighboringRelation.ADD_OR_REMOVE_ONE,
        "voter",
        0.5,
        0.5,
    )
    assert total_of([loss], relation=NeighboringRelation.REPLACE_ONE).proven == 1.0  # it leaves, and another comes


def test_the_law_of_the_release_differs_by_epsilon_at_most_with_and_without_the_voter_who_moves_it_most() -> None:
    """The greatest log-ratio of the exact law of a coordinate, where the voter is at a vertex: ε, and no more."""
    protocol = make_protocol(num_features=1)
    mechanism = mechanism_of(protocol)
    values = np.array([0, protocol.summary.bound], dtype=np.int64)
    reports = np.linspace(-6 * mechanism.scale, 6 * mechanism.scale, 2001).astype(np.int64)
    laws = mechanism.log_probabilities(reports, values)
    ratios = np.abs(laws[:, 0] - laws[:, 1]) if laws.shape[1] == len(values) else np.abs(laws[0] - laws[1])
    assert float(ratios.max()) == pytest.approx(0.5, rel=1e-9)


def test_agents_and_arrays_have_the_same_bits_and_neither_tells_how_many_came() -> None:
    protocol = make_protocol()
    inputs = make_preference_inputs(protocol, 5)
    session = Session(protocol, inputs, seed=3)
    wire = session.play()
    assert wire.result is not None
    arrays = run_population(protocol, inputs, noise=session.fresh_noise())
    assert wire.result.outcome == arrays.outcome
    assert wire.result.num_received == (None,)
    assert (arrays.outcome.num_voters, arrays.outcome.relation) == (8, "add-remove-one")
    assert arrays.outcome.epsilon_voter == arrays.outcome.epsilon_record == 1.0
    (tally,) = arrays.tallies
    assert tally.num_reports == 0


def test_the_mean_is_of_the_public_number_and_its_error_of_the_noise() -> None:
    """400 sessions, to five standard errors (6e-7); the standard deviation to 20 %."""
    protocol = make_protocol()
    inputs = make_preference_inputs(protocol, 5)
    truth = list(protocol.truth(inputs).values())
    steps = inputs.private.sum(axis=0) * protocol.summary.step / 8
    assert truth == pytest.approx(steps.tolist(), rel=1e-12)
    outcomes = [
        run_population(protocol, inputs, noise=SimulatedNoise(seed, session="vote")).outcome for seed in range(400)
    ]
    found = np.array([outcome.preferences for outcome in outcomes])
    errors = outcomes[0].errors
    assert errors is not None
    assert errors[0] == pytest.approx(math.sqrt(2) * 2.0 / 0.5 / 8, rel=1e-4)  # √2·B/(Nε)
    assert np.all(np.abs(found.mean(axis=0) - truth) < 5 * np.array(errors) / 20)
    assert found.std(axis=0) == pytest.approx(np.array(errors), rel=0.2)


def test_a_session_to_which_nobody_came_is_held() -> None:
    protocol = make_protocol()
    nobody = Inputs(np.empty((0, 2), dtype=np.int64), np.empty((0, 0), dtype=np.int64))
    outcome = run_population(protocol, nobody, noise=SimulatedNoise(1, session="vote")).outcome
    assert outcome.num_voters == 8


@pytest.mark.bad_input("neighbors or a norm that a mechanism has not")
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"paradigm": Paradigm.VLDP}, "relation is .*: use 'replace-one', but for 'laplace' in VLCP"),
        ({"paradigm": Paradigm.RLCP}, "relation is .*: use 'replace-one', but for 'laplace' in VLCP"),
        ({"paradigm": Paradigm.RLDP}, "relation is .*: use 'replace-one', but for 'laplace' in VLCP"),
        ({"mechanism": "direction"}, "relation is .*: use 'replace-one', but for 'laplace' in VLCP"),
        ({"num_voters": 0}, r"give num_voters, in \[1, 4294967296\]: N is public"),
        ({"relation": "replace-one"}, "leave out num_voters: with replace-one neighbors"),
    ],
)
def test_what_has_no_such_neighbors_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        make_protocol(**given)


@pytest.mark.bad_input("neighbors or a norm that a mechanism has not")
def test_a_public_number_below_the_roster_or_left_out_is_refused() -> None:
    protocol = make_protocol(num_voters=4)
    with pytest.raises(ConfigurationError, match=r"num_voters is .*: use at least the 5 voters of the roster"):
        protocol.check_roster(np.empty((5, 0), dtype=np.int64))
    protocol.check_roster(np.empty((4, 0), dtype=np.int64))
    with pytest.raises(ConfigurationError, match=r"give num_voters, "):
        make_preferences(paradigm=Paradigm.VLCP, relation="add-remove-one")
