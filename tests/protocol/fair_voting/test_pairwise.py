"""A plain election by noisy pairwise counts: Copeland's and Kemeny's winners, by plain loops and by brute force."""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
import pytest
from helpers import make_fair_inputs, make_fair_vote
from makers import as_usual
from psephos.protocol import ConfigurationError, SimulatedNoise, Tally, run_population
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting import Details, FairVoting, Outcome, Rankings
from psephos.protocol.fair_voting.pairwise import (
    best_by_pairs,
    copeland_scores,
    kemeny_orders,
    p_value_of_pairs,
    preferences_of,
    table_of_pairs,
)
from psephos.protocol.fair_voting.parameters import MAX_EPSILON, MIN_EPSILON
from psephos.protocol.fair_voting.rules import copeland
from psephos.protocol.mechanisms import MAX_ALTERNATIVES, VectorLaplace
from psephos.protocol.privacy import NeighboringRelation
from psephos.scenarios import simulate
from reference_runs import run_fair_voting

NOISE = SimulatedNoise(3, session="s")
REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
RANKINGS = list(itertools.permutations(range(3)))
RULES = ("copeland", "kemeny")
REACH: Final = 16
"""Of noise in the brute force: beyond is 1e-7 of it, at scale 1."""


def vote_of(*sizes: int, rule: str = "copeland", **given: Any) -> FairVoting:
    return make_fair_vote(*(sizes or (6,)), objective=rule, mechanism="pairwise", **given)


def details_of(outcome: Outcome) -> Details:
    assert isinstance(outcome.details, Details)
    return outcome.details


def noise_of(vote: FairVoting) -> VectorLaplace:
    mechanism = vote.disclosed_phase.tally_mechanism
    assert isinstance(mechanism, VectorLaplace)
    return mechanism


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_arrays_agents_and_the_reference_are_one(rule: str, relation: NeighboringRelation) -> None:
    vote = vote_of(7, rule=rule, relation=relation, num_alternatives=4, epsilon=4.0)
    inputs = make_fair_inputs(vote, seed=4)
    outcome = run_population(vote, inputs, noise=NOISE).outcome
    assert outcome == run_fair_voting(vote, inputs, noise=NOISE)
    assert outcome.epsilon_proven == pytest.approx(4.0)
    many = vote_of(5, num_alternatives=9)
    assert details_of(run_population(many, make_fair_inputs(many), noise=NOISE).outcome).ranking == ()
    assert len(details_of(outcome).differences) == 6
    assert len(msgspec.msgpack.encode(outcome)) <= len(msgspec.msgpack.encode(vote.largest_outcome(7)))
    orders: list[list[int]] = np.argsort(inputs.private, axis=1).tolist()
    parties = {f"v{number}": ("g0", ["abcd"[place] for place in order]) for number, order in enumerate(orders)}
    found = [simulate(vote, parties, seed=5, transport=path) for path in ("array", "memory", "tcp")]
    assert found[0] == found[1] == found[2]


def test_points_and_rankings_are_those_of_plain_loops() -> None:
    """A ranking's agreement is the number of voters and pairs that it orders alike; points are contests won."""
    for seed, size in itertools.product(range(6), (2, 3, 5)):
        generator = np.random.default_rng([seed, size])
        orders = [generator.permutation(size).tolist() for _ in range(4 + seed % 2)]
        positions = np.argsort(np.array(orders), axis=1).astype(np.int64)
        table = table_of_pairs(preferences_of(positions).sum(axis=0).tolist())

        def preferring(one: int, other: int, orders: Sequence[list[int]] = orders) -> int:
            return sum(own.index(one) < own.index(other) for own in orders)

        points = [
            sum(
                1.0
                if preferring(one, other) > preferring(other, one)
                else 0.5 * (preferring(one, other) * 2 == len(orders))
                for other in range(size)
                if other != one
            )
            for one in range(size)
        ]
        assert copeland_scores(table).tolist() == points
        assert best_by_pairs("copeland", table) == copeland(Rankings(positions))
        agreements = {
            order: sum(preferring(order[one], order[other]) for one in range(size) for other in range(one + 1, size))
            for order in itertools.permutations(range(size))
        }
        best = [order for order, own in agreements.items() if own == max(agreements.values())]
        assert [tuple(order) for order in kemeny_orders(table).tolist()] == best
        assert best_by_pairs("kemeny", table) == sorted({order[0] for order in best})


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_sensitivity_is_that_of_the_farthest_neighbors(size: int) -> None:
    rows = preferences_of(np.array(list(itertools.permutations(range(size))), dtype=np.int64))
    farthest = int(np.abs(rows[:, None] - rows).sum(axis=2).max())
    assert noise_of(vote_of(num_alternatives=size)).sensitivity == farthest == size * (size - 1)
    added = int(np.abs(rows).sum(axis=1).max())
    assert noise_of(vote_of(num_alternatives=size, relation=ADD)).sensitivity == added == size * (size - 1) // 2


@functools.cache
def law(rule: str, relation: NeighboringRelation, epsilon: float, profile: tuple[tuple[int, ...], ...]) -> FloatArray:
    """Return the law of the winner, shape (3,), over all noise that is near enough; ties are shared alike."""
    noise = noise_of(vote_of(2, rule=rule, relation=relation, epsilon=epsilon))
    reach = np.arange(-REACH, REACH + 1)
    each = np.array([noise.noise_probability(own) for own in reach.tolist()])
    chances = np.einsum("i,j,k->ijk", each, each, each).reshape(-1)
    present = np.array(profile, dtype=np.int64).reshape(-1, 3)
    totals = np.stack(np.meshgrid(reach, reach, reach, indexing="ij"), axis=-1).reshape(-1, 3)
    wins = winners(rule, totals + preferences_of(present).sum(axis=0))
    found: FloatArray = chances @ wins
    return found / found.sum()


def winners(rule: str, totals: IntArray) -> FloatArray:
    """Return each one's share in the win, of differences (0 to 1, 0 to 2, 1 to 2), shape (n, 3)."""
    if rule == "copeland":
        merits = np.sign(totals) @ np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    else:
        signs = np.array(
            [[1 if own.index(a) < own.index(b) else -1 for a, b in ((0, 1), (0, 2), (1, 2))] for own in RANKINGS]
        )
        agreements = totals @ signs.T
        merits = np.stack(
            [agreements[:, [own[0] == first for own in RANKINGS]].max(axis=1) for first in range(3)], axis=1
        )
    best = merits == merits.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("rule", RULES)
def test_the_brute_force_elects_as_the_protocol_does(rule: str) -> None:
    for row in np.random.default_rng(2).integers(-3, 4, size=(60, 3)):
        shares = winners(rule, row[None])[0]
        assert best_by_pairs("kemeny" if rule == "kemeny" else "copeland", table_of_pairs(row.tolist())) == list(
            np.flatnonzero(shares)
        )
        outcome = vote_of(4, rule=rule).outcome([Tally(4, row[None].astype(np.int64))])
        assert shares["abc".index(outcome.winner)] > 0


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("rule", RULES)
def test_the_loss_of_a_winner_is_never_more_than_epsilon(rule: str, relation: NeighboringRelation) -> None:
    """By brute force over all profiles of two voters. The winner alone tells less than the differences."""
    epsilon = 6.0 if relation is REPLACE else 3.0  # scale 1
    greatest = 0.0
    for first, second in itertools.product(RANKINGS, RANKINGS):
        own = law(rule, relation, epsilon, tuple(sorted((first, second))))
        for other in [()] if relation is ADD else [(another,) for another in RANKINGS]:
            ratios = own / law(rule, relation, epsilon, tuple(sorted((first, *other))))
            greatest = max(greatest, float(np.abs(np.log(ratios)).max()))
    assert epsilon / 4 < greatest <= epsilon


def test_a_winner_is_confirmed_by_its_closest_contest() -> None:
    """(m − 1)·P[noise ≥ lead], and never without a positive lead over each other one."""
    noise = noise_of(vote_of(50, num_alternatives=4, epsilon=2.0))
    table = table_of_pairs([30, 20, 25, 5, -4, 1])
    beyond = sum(noise.noise_probability(own) for own in range(20, 20 + round(60 * noise.scale)))
    assert p_value_of_pairs(table, 0, noise) == pytest.approx(3 * beyond)
    assert p_value_of_pairs(table, 1, noise) == p_value_of_pairs(table_of_pairs([0, 9, 9]), 0, noise) == 0.5


def test_almost_without_noise_all_is_read_from_the_same_counts() -> None:
    """Welfare is that of Borda's scores; who sent nothing prefers nothing."""
    vote = vote_of(41, num_alternatives=4, epsilon=30.0)
    inputs = make_fair_inputs(vote, seed=8)
    outcome = run_population(vote, inputs, noise=NOISE).outcome
    true = vote.utilities_in(inputs)[0]
    for own, value in zip(outcome.alternatives, true, strict=True):
        assert own.welfare.value == pytest.approx(float(value), abs=6 * own.welfare.standard_error)
        assert own.disparity == 0
    told = details_of(outcome)
    table = table_of_pairs(list(told.differences))
    assert told.copeland_scores == tuple(copeland_scores(table).tolist())
    assert "".join(told.ranking) in {
        "".join("abcd"[place] for place in order) for order in kemeny_orders(table).tolist()
    }
    assert outcome.winner in {"abcd"[place] for place in best_by_pairs("copeland", table)}
    assert vote.truth(inputs)["this objective"] == vote.truth(inputs)["copeland"]
    few = vote.disclosed_phase.sums_of(inputs.private[:3], np.zeros(3, dtype=np.int64))
    assert few.tolist() == [preferences_of(inputs.private[:3]).sum(axis=0).tolist()]


def test_errors_of_what_is_read_are_those_of_the_noise() -> None:
    """Over 12,000 draws a mean square is within 10 % of its own with a probability above 1 − 1e-5.

    A welfare is half of m − 1 differences, over the voters.
    """
    vote = vote_of(20, num_alternatives=3, epsilon=1.0)
    rows = np.zeros((4_000, 3), dtype=np.int64)
    drawn = noise_of(vote).randomize_rows(rows, np.random.default_rng(7).random(rows.shape))
    outcome = vote.outcome([Tally(20, drawn[:1])])
    error = details_of(outcome).difference_error or 0.0
    assert error == pytest.approx(math.sqrt(np.square(drawn).mean()), rel=0.05)
    first, second, _ = drawn[0].tolist()
    assert outcome.alternatives[0].welfare.value == pytest.approx(1 + (first + second) / 40)
    assert outcome.alternatives[0].welfare.standard_error == pytest.approx(error * math.sqrt(2) / 40)


@pytest.mark.parametrize("epsilon", [MIN_EPSILON, MAX_EPSILON])
def test_there_is_room_at_every_epsilon(epsilon: float) -> None:
    """For the most alternatives and voters, and for the fewest."""
    for size, number in ((MAX_ALTERNATIVES, 1 << 21), (2, 1)):
        vote = vote_of(number, num_alternatives=size, epsilon=epsilon)
        assert noise_of(vote).event.epsilon == pytest.approx(epsilon)
        assert vote.largest_outcome(number).winner in vote.parameters.alternatives


@pytest.mark.parametrize(
    ("sizes", "given", "said"),
    [
        ((3,), {"mechanism": "laplace"}, "'pairwise' with objective 'copeland'"),
        ((3,), {"objective": "welfare"}, "'copeland' or 'kemeny' with mechanism 'pairwise'"),
        ((3,), {"scores": "plurality"}, "'borda' with mechanism 'pairwise'"),
        ((3,), {"calibration": "printed"}, "'tight'"),
        ((3,), {"objective": "kemeny", "num_alternatives": 7}, "6 at most with objective 'kemeny'"),
        ((3, 2), {}, "one alone with mechanism 'pairwise'"),
    ],
)
def test_what_pairs_do_not_tell_is_refused(sizes: tuple[int, ...], given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        as_usual(make_fair_vote, mechanism="pairwise", objective="copeland")(*sizes, **given)


@pytest.mark.parametrize("rule", RULES)
def test_no_false_ranking_gains_more_than_privacy_allows(rule: str) -> None:
    """Measured over all truths, lies and one other voter, of a utility from 0 to 1; at ε = 6 the bound is .995."""
    greatest = 0.0
    for true, other in itertools.product(RANKINGS, RANKINGS):
        utility = np.array([1 - position / 2 for position in true])
        served = [float(law(rule, REPLACE, 6.0, tuple(sorted((said, other)))) @ utility) for said in RANKINGS]
        greatest = max(greatest, max(served) - served[RANKINGS.index(true)])
    assert greatest < (0.05 if rule == "copeland" else 0.01)


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_the_release_attains_what_is_charged(relation: NeighboringRelation) -> None:
    """Far out the law of a report differs by all of ε between a ranking and its reverse, or nobody."""
    vote = vote_of(3, relation=relation, epsilon=1.3)
    order = np.array([[0, 1, 2]], dtype=np.int64)
    rows = preferences_of(np.concatenate([order, 2 - order]))
    others = rows[1:] if relation is REPLACE else 0 * rows[1:]
    far = np.full((1, 3), 100, dtype=np.int64)
    told = noise_of(vote).log_likelihoods(far, np.concatenate([rows[:1], others]))[0]
    assert abs(told[0] - told[1]) == pytest.approx(1.3)
    (loss,) = vote.losses
    assert loss.proven == pytest.approx(1.3)
