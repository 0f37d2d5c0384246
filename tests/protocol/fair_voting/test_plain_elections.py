"""One group: a plain private election, by all mechanisms, with laws and losses by brute force over small profiles."""

import itertools
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from helpers import make_fair_inputs, make_fair_vote
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.fair_voting import FairVoting, Rankings
from psephos.protocol.fair_voting.choices import ExponentialChoice
from psephos.protocol.fair_voting.kinds import LOCAL
from psephos.protocol.privacy import NeighboringRelation
from reference_runs import run_fair_voting

NOISE = SimulatedNoise(3, session="s")
REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
RANKINGS = list(itertools.permutations(range(3)))
BY_QUALITY = ("exponential", "permute_and_flip")


def plain(*sizes: int, **given: Any) -> FairVoting:
    return make_fair_vote(*(sizes or (6,)), objective="welfare", **given)


def choice_of(vote: FairVoting) -> ExponentialChoice:
    return vote.disclosed_phase.elects_by(ExponentialChoice)


def law(vote: FairVoting, profile: Any) -> list[float]:
    """Return the law of the winner; who is None leaves 0."""
    present = np.array([ranking for ranking in profile if ranking is not None], dtype=np.int64).reshape(-1, 3)
    sums = vote.disclosed_phase.sums_of(present, np.zeros(len(present), dtype=np.int64))
    return list(choice_of(vote).probabilities(sums.reshape(-1).tolist()))


@pytest.mark.parametrize("scores", ["borda", "plurality", "veto"])
@pytest.mark.parametrize("mechanism", ["laplace", "sampling", *BY_QUALITY, *LOCAL])
def test_every_mechanism_elects_and_equals_the_reference(mechanism: str, scores: str) -> None:
    given: dict[str, Any] = {"num_samples": 2} if mechanism == "sampling" else {}
    if scores != "borda" and mechanism == "sampled_pair":
        pytest.skip("comparisons of pairs estimate equally spaced scores alone")
    vote = plain(mechanism=mechanism, scores=scores, epsilon=2.0, **given)
    inputs = make_fair_inputs(vote, seed=4)
    found = run_population(vote, inputs, noise=NOISE)
    assert found.outcome == run_fair_voting(vote, inputs, noise=NOISE)
    assert found.outcome.winner in vote.parameters.alternatives
    assert found.outcome.objective == "welfare"


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("mechanism", BY_QUALITY)
@pytest.mark.parametrize("scores", ["borda", "plurality"])
def test_the_loss_is_attained_and_never_passed(scores: str, mechanism: str, relation: NeighboringRelation) -> None:
    """By brute force over all profiles of two voters. With λ·ΔW of one group the noise would be twice as large.

    Two voters attain some of it, and the exponential mechanism at most all.
    """
    vote = plain(2, mechanism=mechanism, scores=scores, epsilon=1.5, relation=relation)
    choice = choice_of(vote)
    assert choice.rate == pytest.approx(1.5 / 2 / (choice.scoring.greatest_change(relation) / 2))
    greatest = 0.0
    for first, second in itertools.product(RANKINGS, RANKINGS):
        own = law(vote, (first, second))
        for other in [None] if relation is ADD else RANKINGS:
            ratios = [max(a / b, b / a) for a, b in zip(own, law(vote, (first, other)), strict=True)]
            greatest = max(greatest, math.log(max(ratios)))
    assert 0.5 < greatest <= 1.5 + 1e-12


def test_a_verdict_is_the_law_of_one_difference_of_noise() -> None:
    """Two others cost at most a seventh more than one: P[L − L' ≥ lead], L of Laplace's law with scale b.

    P[L − L' ≥ x] = e^(−x/b)·(2 + x/b)/4, to the rounding of noise that is drawn in steps.
    """
    vote = plain(50, mechanism="laplace", epsilon=0.5)
    rankings = np.array([RANKINGS[0]] * 30 + [RANKINGS[2]] * 20, dtype=np.int64)
    inputs = vote.encode({"ranking": Rankings(rankings)})
    outcome = run_population(vote, inputs, noise=NOISE).outcome
    first, second, *_ = sorted((own.welfare.value for own in outcome.alternatives), reverse=True)
    scale = vote.disclosed_phase.scoring.sensitivity(REPLACE) * vote.disclosed_phase.scoring.step / 0.5 / 50
    reach = (first - second) / scale
    pair = math.exp(-reach) * (2 + reach) / 4
    p_value = outcome.assurance.p_value
    assert p_value is not None
    assert pair < 0.4
    assert pair * 0.999 < p_value < 1.15 * pair


def test_a_table_needs_no_groups() -> None:
    table = {"ranking": ["a>b>c", "b>a>c", "a>c>b"]}
    given = FairVoting.complete({"groups": ["all"], "objective": "welfare"}, table)
    assert (given["group_sizes"], given["alternatives"]) == ([3], ["a", "b", "c"])
    vote = plain(3)
    assert vote.encode(table).public.tolist() == [[0], [0], [0]]
    assert vote.encode({**table, "group": ["g0"] * 3}).public.tolist() == [[0], [0], [0]]
    assert vote.encode_own({"ranking": "c>b>a"}, [0]) == (2, 1, 0)
    with pytest.raises(ConfigurationError, match="group"):
        make_fair_vote(2, 1).encode(table)
    with pytest.raises(ConfigurationError, match="group"):
        FairVoting.complete({}, table)


def test_nobody_is_compared_and_nobody_s_group_is_secret() -> None:
    parameters = plain(3).parameters
    for field, value in (("objective", "parity"), ("objective", "penalized"), ("mechanism", "joint")):
        with pytest.raises(ConfigurationError, match="there is one group"):
            msgspec.structs.replace(parameters, **{field: value})


@pytest.mark.parametrize("mechanism", BY_QUALITY)
@pytest.mark.parametrize("scores", ["borda", "plurality"])
def test_no_false_ranking_gains_more_than_privacy_allows(scores: str, mechanism: str) -> None:
    """Measured over all truths, lies and other voters: what a lie gains of the winner's rank, at most.

    Of a utility from 0 to 1 it is (e^ε − 1)/(e^ε + 1). Who votes Borda may gain by a lie, a little.
    """
    epsilon = 1.0
    vote = plain(2, mechanism=mechanism, scores=scores, epsilon=epsilon)
    greatest = 0.0
    for true, other in itertools.product(RANKINGS, RANKINGS):
        utility = [1 - position / 2 for position in true]
        served = [sum(p * u for p, u in zip(law(vote, (said, other)), utility, strict=True)) for said in RANKINGS]
        greatest = max(greatest, max(served) - served[RANKINGS.index(true)])
    assert greatest <= (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    assert greatest < 0.02
