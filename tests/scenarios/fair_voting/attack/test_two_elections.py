"""Two elections that differ in one voter, against sums over all profiles and winners."""

import dataclasses
import itertools

import numpy as np
import pytest
from bad_input import refuses
from helpers import make_fair_inputs, make_fair_vote
from psephos.protocol import ConfigurationError, Inputs, SimulatedNoise
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting.kinds import MechanismName
from psephos.protocol.mechanisms import rankings_of_codes
from psephos.scenarios.attacks import (
    Coalition,
    CoalitionView,
    Ending,
    evaluate_channel,
    success_bound,
    view_by_arrays,
)
from psephos.scenarios.fair_voting.attack.inference import Change, FairVotingAttack
from psephos.scenarios.fair_voting.attack.two_elections import TwoElections

ORDERS = rankings_of_codes(np.arange(6, dtype=np.int64), 3)
UNIFORM = np.full(6, 1 / 6)
NOBODY = Coalition((), has_server=False)
RANKING, FAVORITE, NO_SECRET = "ranking", "favorite", "weight"
CHANGES: list[Change] = ["left", "changed"]


def make(mechanism: MechanismName, *sizes: int, epsilon: float = 4.0) -> tuple[FairVotingAttack, Inputs]:
    samples = 2 if mechanism == "sampling" else None
    vote = make_fair_vote(*(sizes or (2, 2)), mechanism=mechanism, epsilon=epsilon, num_samples=samples)
    inputs = make_fair_inputs(vote)
    order = np.argsort(inputs.public[:, 0], kind="stable")
    return FairVotingAttack(vote), Inputs(inputs.private[order], inputs.public[order])


def winners(attack: FairVotingAttack, rankings: IntArray, groups: IntArray) -> FloatArray:
    phase = attack.protocol.disclosed_phase
    assert phase.choice is not None
    return np.exp(phase.choice.log_laws(phase.sums_of(rankings, groups).reshape(1, -1))[0])


def others_of(inputs: Inputs, members: tuple[int, ...]) -> list[IntArray]:
    """Return all profiles of the voters after the first, of whom the members' rankings are known."""
    honest = [place for place in range(1, len(inputs)) if place not in members]
    profiles: list[IntArray] = []
    for own in itertools.product(ORDERS, repeat=len(honest)):
        rankings = inputs.private.copy()
        if honest:
            rankings[honest] = own
        profiles.append(rankings[1:])
    return profiles


def joint_law(
    attack: FairVotingAttack, after: FairVotingAttack, inputs: Inputs, change: Change, members: tuple[int, ...]
) -> FloatArray:
    """Return P[both winners | the target's ranking], shape (6, 3, 3): over all profiles of the others."""
    groups, law = inputs.public[:, 0], np.zeros((6, 3, 3))
    profiles = others_of(inputs, members)
    for number, own in enumerate(ORDERS):
        for rest in profiles:
            first = winners(attack, np.concatenate([own[None], rest]), groups)
            if change == "left":
                second = winners(after, rest, groups[1:])
            else:
                others = [other for place, other in enumerate(ORDERS) if place != number]
                second = np.mean(
                    [winners(after, np.concatenate([other[None], rest]), groups) for other in others], axis=0
                )
            law[number] += np.outer(first, second) / len(profiles)
    return law


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("members", [(), (2,), (1, 2)], ids=["nobody", "one", "all"])
def test_two_winners_tell_what_their_joint_law_tells(change: Change, members: tuple[int, ...]) -> None:
    attack, inputs = make("exponential", 2, 1)
    second = make("exponential", 1, 1)[0] if change == "left" else attack
    elections = TwoElections(attack, second.protocol, change)
    found = elections.evaluate(inputs, target=0, coalition=Coalition(members, has_server=False), secret=RANKING)
    law = joint_law(attack, second, inputs, change, members)
    expected = evaluate_channel(law.reshape(6, -1), places=np.arange(6), prior=UNIFORM)
    assert found.success == pytest.approx(expected.success)
    assert found.information == pytest.approx(expected.information)
    assert found.greatest_log_odds_ratio == pytest.approx(expected.greatest_log_odds_ratio)
    bound = elections.bound(0)
    once = attack.loss(RANKING, inputs.public, np.array([0]), NOBODY)
    assert bound == pytest.approx(once if change == "left" else 2 * once)
    assert found.greatest_log_odds_ratio <= bound * (1 + 1e-9)
    assert found.success <= success_bound(bound, UNIFORM)


def test_leaving_shows_more_than_one_election_and_less_than_all_colluders() -> None:
    attack, inputs = make("exponential", 2, 1)
    after = make("exponential", 1, 1)[0]
    elections = TwoElections(attack, after.protocol, "left")
    seen = [elections.evaluate(inputs, target=0, coalition=NOBODY, secret=RANKING).information]
    law = joint_law(attack, after, inputs, "left", ()).sum(axis=2)
    seen.insert(0, evaluate_channel(law, places=np.arange(6), prior=UNIFORM).information)
    all_others = Coalition((1, 2), has_server=False)
    seen.append(elections.evaluate(inputs, target=0, coalition=all_others, secret=RANKING).information)
    assert seen[0] < seen[1] < seen[2]


def both(
    attack: FairVotingAttack, after: FairVotingAttack, inputs: Inputs, *, seed: int
) -> tuple[CoalitionView, CoalitionView]:
    """Return what the last voter saw of both elections, in the second of which the first one has no part."""
    first, second = (SimulatedNoise(seed, session=session) for session in ("first", "second"))
    last = len(inputs) - 1
    rest = Inputs(inputs.private[1:], inputs.public[1:])
    return (
        view_by_arrays(attack.protocol, inputs, noise=first, coalition=Coalition((last,), has_server=False)),
        view_by_arrays(after.protocol, rest, noise=second, coalition=Coalition((last - 1,), has_server=False)),
    )


def test_both_winners_move_beliefs_by_their_joint_law() -> None:
    attack, inputs = make("permute_and_flip")
    after = make("permute_and_flip", 1, 2)[0]
    seen = both(attack, after, inputs, seed=5)
    found = TwoElections(attack, after.protocol, "left").posteriors(seen, target=0, secret=RANKING)
    (first,), (second,) = (each.totals[0].tolist() for each in seen)
    expected = joint_law(attack, after, inputs, "left", (3,))[:, first, second]
    assert found.probabilities[0] == pytest.approx(expected / expected.sum())


@pytest.mark.parametrize("change", CHANGES)
def test_two_releases_with_noise_move_odds_no_farther_than_is_proven(change: Change) -> None:
    attack, inputs = make("laplace", 3, 1, epsilon=2.0)
    elections = TwoElections(attack, attack.protocol, change)
    greatest = 0.0
    for seed in range(8):
        seen = both(attack, attack, inputs, seed=seed)
        found = elections.posteriors(seen, target=0, secret=RANKING)
        assert found.probabilities.sum() == pytest.approx(1)
        greatest = max(greatest, float(found.log_odds_ratios[0]))
        assert greatest <= elections.bound(0) * (1 + 1e-9)
    assert greatest > 0.5


def test_elections_that_do_not_fit_are_refused() -> None:
    attack, inputs = make("exponential")
    other = make_fair_vote(2, 2, num_alternatives=4, mechanism="exponential")
    local = make_fair_vote(2, 2, mechanism="sampled_pair")
    sampled = make_fair_vote(2, 2, mechanism="sampling", num_samples=1, reading="subsample")
    for second, field in (
        (other, "second"),
        (make("laplace")[0].protocol, "second"),
        (local, "mechanism"),
        (sampled, "reading"),
    ):
        with refuses(field):
            TwoElections(attack, second, "left")
    noisy = make("laplace")[0]
    with pytest.raises(ConfigurationError, match="the winner alone"):
        TwoElections(noisy, noisy.protocol, "left").evaluate(inputs, target=0, coalition=NOBODY, secret=RANKING)
    elections = TwoElections(attack, attack.protocol, "changed")
    with pytest.raises(ConfigurationError, match="no member"):
        elections.evaluate(inputs, target=0, coalition=Coalition((0,), has_server=False), secret=RANKING)
    heard = view_by_arrays(attack.protocol, inputs, noise=SimulatedNoise(1, session="s"), coalition=NOBODY)
    unheard = dataclasses.replace(heard, totals=(), find_ending=Ending)
    with pytest.raises(ConfigurationError, match="both elections to their end"):
        elections.posteriors((unheard, unheard), target=0, secret=RANKING)
