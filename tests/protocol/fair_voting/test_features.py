"""Features that overlap: disparities by brute force over voters, what one voter moves, losses, and outcomes."""

import dataclasses
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import make_fair_inputs, make_fair_vote
from makers import as_usual
from psephos.protocol import ConfigurationError, SimulatedNoise, run_population
from psephos.protocol.fair_voting import Details, Feature, Objective
from psephos.protocol.fair_voting.choices import ExponentialChoice, SampledChoice
from psephos.protocol.fair_voting.confirmation import p_value_of
from psephos.protocol.fair_voting.kinds import MechanismName
from psephos.protocol.fair_voting.objective import Utilities, join_groups, merits_of, qualities_of
from psephos.protocol.fair_voting.report_laws import LaplaceSums
from psephos.protocol.fair_voting.utility_noise import UtilityNoise
from psephos.protocol.privacy import NeighboringRelation

GENDER = Feature(name="gender", of=("women", "women", "men"))
DIET = Feature(name="diet", of=("vegan", "any", "any"))
BOTH = (GENDER, DIET)
SIZES = (1, 2, 3)
PARTITIONS = (GENDER.partition, DIET.partition)


make = as_usual(make_fair_vote, *SIZES, features=BOTH)


def utilities_of(rankings: list[tuple[int, ...]], scores: tuple[int, ...]) -> Utilities:
    """Return the crossings' mean utilities; voters stand crossing after crossing."""
    stops = list(itertools.accumulate(SIZES))
    return [
        [
            Fraction(sum(scores[own[place]] for own in rankings[stop - size : stop]), size)
            for place in range(len(scores))
        ]
        for size, stop in zip(SIZES, stops, strict=True)
    ]


def test_a_feature_puts_groups_together() -> None:
    assert GENDER.groups == ("women", "men")
    assert GENDER.partition == ((0, 1), (2,))
    assert GENDER.sizes(SIZES) == (3, 3)
    assert DIET.groups == ("vegan", "any")
    assert DIET.sizes(SIZES) == (1, 5)


def test_a_disparity_is_the_greatest_between_groups_of_any_feature() -> None:
    """By the means over all voters of each group, for many profiles."""
    generator = np.random.default_rng(1)
    objective = Objective("parity", partitions=PARTITIONS)
    owner = [0, 1, 1, 2, 2, 2]
    for _ in range(50):
        rankings: list[tuple[int, ...]] = [tuple(generator.permutation(3).tolist()) for _ in owner]
        utilities = utilities_of(rankings, (2, 1, 0))
        for place in range(3):
            worst = Fraction(0)
            for feature in BOTH:
                means = [
                    Fraction(sum(2 - rankings[voter][place] for voter in members), len(members))
                    for name in feature.groups
                    for members in [[voter for voter in range(6) if feature.of[owner[voter]] == name]]
                ]
                assert join_groups(utilities, SIZES, feature.partition, place) == means
                worst = max(worst, max(means) - min(means))
            assert objective.disparities(utilities, SIZES)[place] == worst


@pytest.mark.few(most=2)
@pytest.mark.parametrize("name", ["parity", "penalized", "constrained", "welfare_constrained"])
def test_no_voter_moves_a_quality_by_more_than_is_said(name: Any) -> None:
    """Over all neighboring profiles of two alternatives; parity attains it in the middle crossing."""
    objective = Objective(name, Fraction(1, 4), Fraction(3, 2), PARTITIONS, welfare_share=Fraction(3, 4))
    scores = (1, 0)
    rankings: list[tuple[int, ...]] = [(0, 1), (1, 0)]
    moved = [Fraction(0)] * 3
    for profile in itertools.product(rankings, repeat=6):
        before = utilities_of(list(profile), scores)
        for voter, crossing in enumerate([0, 1, 1, 2, 2, 2]):
            changed = list(profile)
            changed[voter] = changed[voter][::-1]
            after = utilities_of(changed, scores)
            for place in range(2):
                one, other = (objective.qualities(each, SIZES)[place] for each in (before, after))
                moved[crossing] = max(moved[crossing], abs(one - other))
    said = [objective.quality_sensitivity(1, SIZES, crossing) for crossing in range(3)]
    assert all(one <= other for one, other in zip(moved, said, strict=True))
    of_disparity, of_welfare = Fraction(3, 2), Fraction(1, 6)
    if name == "parity":
        of_disparity, of_welfare = Fraction(1), Fraction(0)
    if name == "welfare_constrained":  # the floor's price is of welfare, and the share counts twice
        of_disparity, of_welfare = Fraction(1), Fraction(3, 2) * Fraction(7, 4) / 6
    assert said == [of_welfare + of_disparity * own for own in (1, Fraction(1, 3), Fraction(1, 3))]
    assert moved[1] == said[1] if name == "parity" else moved[1] > 0


def test_a_voter_in_several_groups_pays_for_the_smallest_of_them() -> None:
    """Also where a voter is added or removed; what moves a quality is by brute force above."""
    for relation in NeighboringRelation:
        given: dict[str, Any] = {"mechanism": "exponential", "epsilon": 1.2, "relation": relation}
        assert make(**given).disclosed_phase.elects_by(ExponentialChoice).proven == pytest.approx((1.2, 0.4, 0.4))
        one_only = make_fair_vote(*SIZES, features=(GENDER,), **given)
        assert one_only.disclosed_phase.elects_by(ExponentialChoice).proven == pytest.approx((1.2, 1.2, 1.2))


@pytest.mark.parametrize("mechanism", ["laplace", "whole_ranking", "joint_pair"])
def test_several_features_cost_no_more_than_their_crossings(mechanism: MechanismName) -> None:
    """A release of sums, or reports, is the same; features and a floor are computed from it."""
    plain = make_fair_vote(*SIZES, mechanism=mechanism)
    vote = make(mechanism=mechanism, objective="welfare_constrained", welfare_share=0.75)
    assert [loss.proven for loss in vote.losses] == [loss.proven for loss in plain.losses] == [1.0]
    inputs = make_fair_inputs(vote)
    one, other = (run_population(each, inputs, noise=SimulatedNoise(1, session="s")) for each in (vote, plain))
    assert [tally.totals.tolist() for tally in one.tallies] == [tally.totals.tolist() for tally in other.tallies]
    assert isinstance(one.outcome.details, Details)
    assert (one.outcome.features, one.outcome.details.welfare_share) == (BOTH, 0.75)


def test_a_release_has_every_feature_and_the_objective_takes_the_worst() -> None:
    vote = make(mechanism="laplace", objective="parity", epsilon=3.0)
    inputs = make_fair_inputs(vote, seed=4)
    outcome = run_population(vote, inputs, noise=SimulatedNoise(1, session="s")).outcome
    assert outcome is not None
    assert outcome.features == BOTH
    for alternative in outcome.alternatives:
        assert alternative.features
        of_gender, of_diet = alternative.features
        own = [estimate.value for estimate in alternative.utilities]
        errors = [estimate.standard_error for estimate in alternative.utilities]
        women = of_gender.utilities[0]
        assert women.value == pytest.approx((own[0] + 2 * own[1]) / 3)
        assert women.standard_error == pytest.approx(math.hypot(errors[0], 2 * errors[1]) / 3)
        anything = of_diet.utilities[1]
        assert anything.value == pytest.approx((2 * own[1] + 3 * own[2]) / 5)
        assert alternative.disparity == pytest.approx(max(of_gender.disparity, of_diet.disparity))
    best = min(outcome.alternatives, key=lambda alternative: alternative.disparity)
    assert outcome.winner == best.name
    assert "least disparity" in vote.truth(inputs)


@pytest.mark.parametrize("partitions", [PARTITIONS, ()])
@pytest.mark.parametrize("name", ["parity", "penalized", "constrained", "welfare_constrained"])
def test_merits_of_floats_are_those_of_fractions(name: Any, partitions: Any) -> None:
    objective = Objective(name, Fraction(1, 2), Fraction(3, 2), partitions, welfare_share=Fraction(3, 4))
    generator = np.random.default_rng(2)
    sizes = np.array(SIZES, dtype=np.float64)
    for _ in range(30):
        whole = generator.integers(0, 17, size=(3, 4))
        exact: Utilities = [[Fraction(int(value), 8) for value in row] for row in whole]
        merits = merits_of(whole[None] / 8, objective, sizes)[0]
        assert np.flatnonzero(merits >= merits.max() - 1e-9).tolist() == objective.best_alternatives(exact, SIZES)
        qualities = qualities_of(whole[None] / 8, objective, sizes)[0]
        assert qualities == pytest.approx([float(own) for own in objective.qualities(exact, SIZES)])


@pytest.mark.full("a second of CPU")
@pytest.mark.parametrize("name", ["parity", "penalized", "welfare_constrained"])
def test_a_wrong_winner_is_confirmed_as_seldom_as_is_said(name: Any) -> None:
    """Two alternatives alike in truth: at level .05 one is confirmed in at most 5 % of 300 draws and four errors."""
    objective = Objective(name, Fraction(1, 2), Fraction(1), PARTITIONS, welfare_share=Fraction(3, 4))
    scales = tuple(error / math.sqrt(2) for error in (0.3, 0.2, 0.1))
    noise = UtilityNoise((0.3, 0.2, 0.1), LaplaceSums((0, 1, 2), scales, (1, 1, 1), (1e9,) * 3), is_balanced=False)
    sizes = np.array(SIZES, dtype=np.float64)
    truth = np.array([[1.0, 1.0], [1.5, 1.5], [0.4, 0.4]])
    generator = np.random.default_rng(3)
    wrong = 0
    for _ in range(300):
        drawn = truth + generator.laplace(size=(3, 2)) * np.array([[0.3], [0.2], [0.1]]) / math.sqrt(2)
        winner = int(np.argmax(merits_of(drawn[None], objective, sizes)[0]))
        wrong += p_value_of(drawn, winner, noise, objective=objective, sizes=sizes) <= 0.05
    assert wrong <= 300 * 0.05 + 4 * math.sqrt(300 * 0.05)


@pytest.mark.parametrize(
    ("features", "field", "words"),
    [
        ((), "features", "1 to 16"),
        ((Feature(name="diet", of=("a", "b")),), "feature 'diet'", "each of the 3 groups"),
        ((Feature(name="diet", of=("a", "a", "a")),), "feature 'diet'", "two groups of it or more"),
        ((Feature(name="diet", of=("a", "", "b")),), "feature 'diet'", "printable"),
        ((Feature(name=" diet", of=("a", "b", "b")),), "features", "distinct names"),
        ((GENDER, GENDER), "features", "distinct names"),
    ],
)
def test_features_that_are_none_are_refused(features: tuple[Feature, ...], field: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        make_fair_vote(*SIZES, features=features)
    assert caught.value.field == field


OBJECTIVES: list[dict[str, Any]] = [
    {"objective": "parity"},
    {"objective": "penalized", "fairness_weight": 0.7},
    {"objective": "constrained", "max_disparity": 0.5},
    {"objective": "welfare_constrained", "welfare_share": 0.75},
]


@pytest.mark.parametrize("scale", ["unbiased", "printed"])
@pytest.mark.parametrize("given", OBJECTIVES, ids=repr)
def test_the_law_of_samples_is_that_of_all_counts_of_the_crossings(given: dict[str, Any], scale: Any) -> None:
    """Two alternatives, one sample: all 64 vectors of counts, elected by the objective, with their exact chances."""
    vote = make(mechanism="sampling", num_alternatives=2, num_samples=1, scale=scale, scores=(3.0, 1.0), **given)
    choice = vote.disclosed_phase.elects_by(SampledChoice)
    inputs = make_fair_inputs(vote, seed=6)
    values: list[int] = vote.disclosed_phase.sums_of(inputs.private, inputs.public[:, 0]).reshape(-1).tolist()
    chances = choice.hit_probabilities(values)
    objective = vote.parameters.make_objective()
    if scale == "printed":
        objective = dataclasses.replace(objective, least_utility=Fraction(0))
    law = [Fraction(0)] * 2
    for flat in itertools.product((0, 1), repeat=6):
        counts = [flat[start : start + 2] for start in (0, 2, 4)]
        best = objective.best_alternatives(choice.utilities_of(counts), SIZES)
        chance = Fraction(1)
        for own, hits in zip(chances, counts, strict=True):
            for theta, hit in zip(own, hits, strict=True):
                chance *= theta if hit else 1 - theta
        for place in best:
            law[place] += chance / len(best)
    gamma = Fraction(choice.gamma)
    expected = [float(gamma / 2 + (1 - gamma) * own) for own in law]
    assert choice.probabilities(values) == pytest.approx(expected, rel=1e-12)


def test_features_change_no_proof_of_samples_but_that_of_parity_between_two() -> None:
    """What is proven of three crossings is of any objective; of two, each feature's groups are these."""
    for sizes, features in ((SIZES, BOTH), ((2, 3), (Feature(name="side", of=("left", "right")),))):
        for reading in ("group", "subsample"):
            given: dict[str, Any] = {"mechanism": "sampling", "num_samples": 1, "reading": reading}
            plain = make_fair_vote(*sizes, **given)
            vote = make_fair_vote(*sizes, features=features, **given)
            assert [loss.proven for loss in vote.losses] == [loss.proven for loss in plain.losses]


@pytest.mark.few(most=1)
@pytest.mark.parametrize("given", OBJECTIVES, ids=repr)
def test_a_proven_epsilon_of_samples_holds_with_features(given: dict[str, Any]) -> None:
    """By the law of the winner for all neighbors of all profiles of three alternatives, in groups of 1, 1 and 1."""
    vote = make_fair_vote(
        1, 1, 1, features=BOTH, mechanism="sampling", calibration="proven", epsilon=2.0, num_samples=1, **given
    )
    choice = vote.disclosed_phase.elects_by(SampledChoice)
    assert max(choice.proven) <= 2.0
    assert choice.proven == tuple(loss.proven for loss in vote.losses) * 3
    step = np.array(choice.scoring.steps)
    rankings = list(itertools.permutations(range(3)))
    laws: dict[tuple[int, ...], tuple[float, ...]] = {}
    for profile in itertools.product(range(6), repeat=3):
        values = np.concatenate([step[list(rankings[own])] for own in profile])
        laws[profile] = choice.probabilities(values.tolist())
    found = 0.0
    for profile, law in laws.items():
        for voter, other in itertools.product(range(3), range(6)):
            neighbor = (*profile[:voter], other, *profile[voter + 1 :])
            found = max(found, *(math.log(a / b) for a, b in zip(law, laws[neighbor], strict=True)))
    assert 0 < found <= max(choice.proven)
