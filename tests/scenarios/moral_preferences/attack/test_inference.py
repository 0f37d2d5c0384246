"""What coalitions learn of voters' preferences: laws worked by hand, the bounds, and the same for agents."""

import dataclasses
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import make_preference_inputs, make_preferences
from psephos.protocol import ConfigurationError, SimulatedNoise
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.moral_preferences import MoralPreferences, Paradigm, Parameters
from psephos.protocol.phases import Inputs
from psephos.scenarios.attacks import (
    NO_CANDIDATE,
    Coalition,
    CoalitionView,
    Ending,
    evaluate,
    find_attack,
    view_by_arrays,
)
from psephos.scenarios.moral_preferences.attack.inference import MoralAttack

SERVER = Coalition((), has_server=True)
CANDIDATE, MEMBERSHIP = MoralAttack.secrets
FEATURES = ("lives", "pets", "law")
NUM_VOTERS = 8
LAST = np.array([NUM_VOTERS - 1])
ALL_BUT_LAST = Coalition(tuple(range(NUM_VOTERS - 1)), has_server=False)


def records(num_voters: int, *, seed: int = 3) -> list[FloatArray]:
    """Return voters' records, six each, of voters who each have a taste of their own."""
    generator = np.random.default_rng(seed)
    pairs = generator.standard_normal((num_voters, 6, 2, 3))
    tastes = generator.standard_normal((num_voters, 1, 3))
    is_wrong = ((pairs[:, :, 0] - pairs[:, :, 1]) * tastes).sum(axis=2) < 0
    pairs[is_wrong] = pairs[is_wrong][:, ::-1]
    return list(pairs)


def survey(paradigm: Paradigm = Paradigm.VLDP, **settings: Any) -> MoralPreferences:
    return MoralPreferences(Parameters(features=FEATURES, paradigm=paradigm, max_records=6, **settings))


def inputs_of(protocol: MoralPreferences, num_voters: int = NUM_VOTERS) -> Inputs:
    """Return everybody's rows."""
    return protocol.encode({"records": records(num_voters)})


def see(
    protocol: MoralPreferences, inputs: Inputs, coalition: Coalition = SERVER, *, session: str = "s"
) -> CoalitionView:
    return view_by_arrays(protocol, inputs, noise=SimulatedNoise(5, session=session), coalition=coalition)


def everybody(inputs: Inputs) -> IntArray:
    return np.arange(len(inputs), dtype=np.int64)


# The same for agents and arrays


# Exact laws


@pytest.mark.parametrize("paradigm", [Paradigm.VLCP, Paradigm.RLCP])
def test_a_trusted_aggregator_knows_every_voter(paradigm: Paradigm) -> None:
    protocol = survey(paradigm)
    inputs = inputs_of(protocol)
    attack = MoralAttack(protocol).against(inputs)
    seen, targets = see(protocol, inputs), everybody(inputs)
    found = evaluate(attack.posteriors([seen], targets, secret=CANDIDATE), attack.truths(CANDIDATE, inputs))
    assert (found.success, found.greatest_log_odds_ratio) == (1.0, math.inf)
    assert found.information == pytest.approx(3.0)  # one of eight
    assert attack.loss(CANDIDATE, inputs.public, targets, SERVER) == math.inf


def test_all_but_one_face_the_whole_noise_for_the_last_one() -> None:
    """Reading M12: odds are e^((‖r − v'‖₁ − ‖r − v‖₁)ε/2B), r being what they have left of the released sum."""
    protocol = survey(Paradigm.VLCP, epsilon=1.5)
    inputs = inputs_of(protocol)
    attack = MoralAttack(protocol).against(inputs)
    seen = see(protocol, inputs, ALL_BUT_LAST)
    step = protocol.summary.step
    released = np.array(getattr(seen.release, "preferences")) * NUM_VOTERS  # noqa: B009  any protocol's
    left = released - inputs.private[:-1].sum(axis=0) * step
    distances = np.abs(left - attack.line_up * step).sum(axis=1)
    found = attack.posteriors([seen], LAST, secret=CANDIDATE)
    weights = np.exp(-distances * 1.5 / (2 * protocol.parameters.bound))
    np.testing.assert_allclose(found.probabilities[0], weights / weights.sum(), rtol=1e-4)
    assert (
        found.log_odds_ratios[0]
        <= attack.loss(CANDIDATE, inputs.public, LAST, ALL_BUT_LAST)
        == pytest.approx(1.5, rel=1e-4)
    )


def test_in_the_local_paradigms_all_but_one_see_as_much_as_the_server() -> None:
    for protocol in (survey(), survey(Paradigm.RLDP, mechanism="pooled")):
        inputs = inputs_of(protocol)
        attack = MoralAttack(protocol).against(inputs)
        colluding, server = (
            attack.posteriors([see(protocol, inputs, coalition)], LAST, secret=CANDIDATE)
            for coalition in (ALL_BUT_LAST, SERVER)
        )
        np.testing.assert_array_equal(colluding.probabilities, server.probabilities)


def test_who_is_alone_at_a_level_of_epsilon_is_alone_before_a_few() -> None:
    protocol = survey(epsilons=(0.5, 4.0))
    inputs = protocol.encode({"records": records(4), "epsilon": [0.5, 0.5, 0.5, 4.0]})
    attack = MoralAttack(protocol).against(inputs)
    few = Coalition((0,), has_server=False)
    seen = see(protocol, inputs, few)
    alone = np.array([3])
    exposed = attack.posteriors([seen], alone, secret=CANDIDATE)
    np.testing.assert_array_equal(
        exposed.probabilities, attack.posteriors([see(protocol, inputs)], alone, secret=CANDIDATE).probabilities
    )
    hidden = attack.posteriors([seen], np.array([1, 2]), secret=CANDIDATE)
    np.testing.assert_array_equal(hidden.probabilities[0], hidden.probabilities[1])
    assert hidden.log_odds_ratios.max() < exposed.log_odds_ratios[0]
    assert attack.loss(CANDIDATE, inputs.public, np.array([1, 3]), few) == pytest.approx(4.0, rel=1e-4)


def test_a_sum_of_several_honest_voters_still_tells_something_of_one() -> None:
    """At a large ε, of 60 sessions at least 40 are right, which guessing reaches with a probability below .7 %.

    The other honest voter's row is not known, so that some are wrong.
    """
    protocol = survey(Paradigm.VLCP, epsilon=50.0)
    inputs = inputs_of(protocol, 6)
    attack = MoralAttack(protocol, line_up=inputs.private[:2])
    generator = np.random.default_rng(1)
    right = 0
    for session in range(60):
        truth, other = generator.integers(0, 2, 2)
        rows = inputs.private.copy()
        rows[4:] = inputs.private[[other, truth]]
        made = Inputs(rows, inputs.public)
        seen = see(protocol, made, Coalition((0, 1, 2, 3), has_server=False), session=f"s{session}")
        right += int(attack.posteriors([seen], np.array([5]), secret=CANDIDATE).guesses[0]) == truth
    assert 40 <= right < 60


def test_a_voter_who_stayed_away_leaves_nothing_to_infer() -> None:
    for protocol in (survey(), survey(Paradigm.VLCP)):
        inputs = inputs_of(protocol)
        seen = see(protocol, inputs, ALL_BUT_LAST)
        totals = seen.totals[0].copy()
        if protocol.parameters.is_local:
            totals[0, 0] -= 1
        assert seen.release is not None
        ending = Ending(release=msgspec.structs.replace(seen.release, num_voters=NUM_VOTERS - 1))
        missing = dataclasses.replace(seen, totals=(totals,), find_ending=lambda ending=ending: ending)
        for nothing in (missing, dataclasses.replace(seen, totals=())):
            odds = MoralAttack(protocol).against(inputs).posteriors([nothing], LAST, secret=CANDIDATE).log_odds_ratios
            assert not odds.any()


# Places of maxima, membership, and what is refused


def test_where_a_noisy_objective_is_greatest_tells_whose_it_is_and_no_more_than_its_coefficients() -> None:
    """At a large ε, of 400 reports of one of two voters: guessing has a standard deviation of .025."""
    protocol = survey(Paradigm.RLDP, mechanism="functional", epsilon=60.0)
    inputs = inputs_of(protocol, 2)
    rows = np.tile(inputs.private, (200, 1))
    made = Inputs(rows, np.empty((400, 0), dtype=np.int64))
    attack = MoralAttack(protocol, line_up=inputs.private)
    found = evaluate(
        attack.posteriors([see(protocol, made)], everybody(made), secret=CANDIDATE), attack.truths(CANDIDATE, made)
    )
    assert found.success > 0.8
    noise = getattr(protocol.phase.mechanism, "noise")  # noqa: B009  of Algorithm 3
    # A report beyond both voters' coefficients attains the bound, so that machines round it to either side.
    assert found.greatest_log_odds_ratio <= np.abs(rows[0] - rows[1]).sum() / noise.scale * (1 + 1e-12)


def test_membership_is_the_first_row_against_all_others() -> None:
    protocol = survey(epsilon=3.0)
    inputs = inputs_of(protocol)
    attack = MoralAttack(protocol).against(inputs)
    seen, targets = see(protocol, inputs), everybody(inputs)
    of_candidates = attack.posteriors([seen], targets, secret=CANDIDATE).probabilities
    found = attack.posteriors([seen], targets, secret=MEMBERSHIP, prior=np.array([7 / 8, 1 / 8]))
    np.testing.assert_allclose(found.probabilities[:, 1], of_candidates[:, 0])
    np.testing.assert_array_equal(attack.truths(MEMBERSHIP, inputs), np.eye(8, dtype=np.int64)[0])
    assert attack.evaluate_redrawn(found, inputs, targets, secret=MEMBERSHIP) == evaluate(
        found, attack.truths(MEMBERSHIP, inputs)
    )
    elsewhere = MoralAttack(protocol, line_up=inputs.private[:3])
    assert elsewhere.truths(CANDIDATE, inputs).tolist() == [0, 1, 2, *[NO_CANDIDATE] * 5]
    assert elsewhere.truths(MEMBERSHIP, inputs).tolist() == [1, *[0] * 7]


def test_what_is_no_attack_is_refused() -> None:
    protocol = survey()
    inputs = inputs_of(protocol)
    seen = see(protocol, inputs)
    with pytest.raises(ConfigurationError, match="2 to 4096 distinct rows"):
        find_attack(protocol).candidates(CANDIDATE)
    with pytest.raises(ConfigurationError, match="line-up is 1 row: use 2 to 4096 distinct rows"):
        MoralAttack(protocol, line_up=inputs.private[:1]).candidates(CANDIDATE)
    attack = MoralAttack(protocol).against(inputs)
    untold = dataclasses.replace(seen, told=(np.zeros(NUM_VOTERS, dtype=np.bool_),))
    np.testing.assert_allclose(attack.posteriors([untold], LAST, secret=CANDIDATE).log_odds_ratios, 0)
    functional = survey(Paradigm.RLDP, mechanism="functional")
    inputs = inputs_of(functional)
    attack = MoralAttack(functional, num_simulated=8).against(inputs)
    few = see(functional, inputs, Coalition((0,), has_server=False))
    with pytest.raises(ConfigurationError, match="all voters but one: where an objective"):
        attack.posteriors([few], LAST, secret=CANDIDATE)


@pytest.mark.parametrize("given", [{"paradigm": Paradigm.VLCP}, {"paradigm": Paradigm.VLCP, "mechanism": "direction"}])
def test_members_of_a_society_learn_of_its_last_voter_what_a_session_of_their_own_would_tell(
    given: dict[str, Any],
) -> None:
    """The first society's noise is a session's by itself; of the others nothing is needed."""
    divided = make_preferences(societies=("north", "south"), max_records=4, **given)
    alone = make_preferences(max_records=4, **given)
    inputs = make_preference_inputs(divided, 8)
    own = np.flatnonzero(inputs.public[:, 0] == 0)
    told: list[Any] = []
    for protocol, rows, members in (
        (divided, inputs, tuple(own[1:].tolist())),
        (alone, Inputs(inputs.private[own], inputs.public[own, 1:]), (1, 2, 3)),
    ):
        noise = SimulatedNoise(4, session="vote")
        seen = view_by_arrays(protocol, rows, noise=noise, coalition=Coalition(members, has_server=False))
        attack = MoralAttack(protocol, line_up=inputs.private[own])
        told.append(
            attack.posteriors([seen], np.array([0], dtype=np.int64), secret=attack.default_secret).probabilities
        )
    assert np.array_equal(*told)
    assert not np.allclose(told[0], 1 / len(own))
