"""What a trusted aggregator elects with: the exact laws of Algorithm 2 and of choices by quality on tiny profiles."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_laws import exact_law, law_of_rows, least_tail
from helpers import make_fair_vote
from psephos.protocol.arrays import IntArray
from psephos.protocol.fair_voting import DisclosedRankings, FairVoting, Objective, Scoring, make_scores
from psephos.protocol.fair_voting.choices import Choice, ExponentialChoice, SampledChoice, SampleScale
from psephos.protocol.fair_voting.sampling_bounds import SampleReading
from psephos.protocol.mechanisms import ExactMechanism, RandBelow, RowMechanism
from psephos.protocol.privacy import NeighboringRelation, NonPrivate, PureMechanism
from thoroughness import draws

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
PARITY = Objective("parity")

Ranking = tuple[int, ...]
Profile = tuple[tuple[Ranking | None, ...], ...]
"""Each group's rankings; None for who is missing."""
PROFILE: tuple[tuple[Ranking, ...], ...] = (((0, 1, 2), (2, 0, 1)), ((1, 0, 2), (1, 2, 0), (0, 1, 2)))


def choice_of(vote: FairVoting) -> Choice:
    return vote.disclosed_phase.elects_by(Choice)


def present(profile: Profile) -> tuple[IntArray, IntArray]:
    """Return the rankings of those who report, and their groups."""
    told = [(ranking, group) for group, own in enumerate(profile) for ranking in own if ranking is not None]
    rankings = np.array([ranking for ranking, _ in told], dtype=np.int64)
    return rankings.reshape(len(told), -1 if told else 3), np.array([group for _, group in told], dtype=np.int64)[
        :, None
    ]


def sums_of(phase: DisclosedRankings, profile: Profile) -> list[int]:
    rankings, public = present(profile)
    return phase.sums_of(rankings, public[:, 0]).reshape(-1).tolist()


def profiles_of(rankings: Sequence[Ranking | None]) -> Iterator[Profile]:
    """Yield the profiles of groups of two and one."""
    for first, second in itertools.product(itertools.combinations_with_replacement(rankings, 2), rankings):
        yield first, (second,)


# Algorithm 2


def printed_algorithm_2(
    vote: FairVoting,
    profile: Sequence[Sequence[Ranking]],
    randbelow: RandBelow,
    *,
    scale: SampleScale,
    reading: SampleReading,
) -> int:
    """Play Algorithm 2 line by line, as printed but for the two readings and for ties, which fall at random."""
    parameters = vote.parameters
    size, samples = len(parameters.alternatives), parameters.samples
    if randbelow(20) < 20 * Fraction(parameters.gamma):  # line 2; γ is 0 or a twentieth's multiple to rounding
        return int(randbelow(size))
    voters = [list(own) for own in profile]
    if reading == "subsample":  # line 4
        sampled: list[list[Ranking]] = []
        for own in voters:
            left = list(own)
            sampled.append([left.pop(randbelow(len(left))) for _ in range(samples)])
        voters = sampled
    told: list[list[Fraction]] = []
    for own, group_size in zip(voters, parameters.group_sizes, strict=True):
        row: list[Fraction] = []
        for alternative in range(size):  # line 5
            asked = sum(randbelow(size) < 2 for _ in range(samples))  # line 7
            hits = 0
            for _ in range(asked):  # lines 8 to 12
                ranking = own[randbelow(len(own))]
                others = [other for other in range(size) if other != alternative]
                hits += ranking[alternative] < ranking[others[randbelow(len(others))]]
            row.append(
                Fraction(hits, group_size) if scale == "printed" else Fraction(hits * size * (size - 1), 2 * samples)
            )
        told.append(row)
    tied = parameters.make_objective().best_alternatives(told, parameters.group_sizes)
    return tied[randbelow(len(tied))]


def elected_exactly(vote: FairVoting, profile: Profile) -> dict[int, Fraction]:
    """Return the exact law of the winner through the phase itself, subsampling included."""
    phase = vote.disclosed_phase
    rankings, public = present(profile)
    tally = phase.tally(rankings, earlier=[], public=public)

    def elect(randbelow: RandBelow) -> int:
        def draw(mechanism: RowMechanism, values: Sequence[int]) -> list[int]:
            assert isinstance(mechanism, ExactMechanism)
            return [int(number) for number in mechanism.randomize_exactly(values, randbelow)]

        (winner,) = phase.randomize_tally(tally, draw).totals.tolist()
        return winner

    return exact_law(elect)


@pytest.mark.few(most=1)
@pytest.mark.unmeasured
@pytest.mark.parametrize(("scale", "gamma"), [("printed", 0.0), ("unbiased", 0.5)])
def test_algorithm_2_is_the_printed_one_where_voters_are_drawn_from_the_group(scale: SampleScale, gamma: float) -> None:
    """For three alternatives, groups of two and one, and one sample: every way of every draw, on both sides."""
    vote = make_fair_vote(2, 1, mechanism="sampling", num_samples=1, gamma=gamma, scale=scale)
    profile = (((0, 1, 2), (2, 0, 1)), ((1, 0, 2),))
    printed = exact_law(lambda below: printed_algorithm_2(vote, profile, below, scale=scale, reading="group"))
    assert elected_exactly(vote, profile) == printed
    assert sum(printed.values()) == 1


@pytest.mark.few(most=1)
@pytest.mark.unmeasured
@pytest.mark.parametrize(("sizes", "samples", "scale"), [((3, 2), 1, "printed"), ((2, 3), 2, "unbiased")])
def test_algorithm_2_is_the_printed_one_where_voters_are_sampled_first(
    sizes: tuple[int, int], samples: int, scale: SampleScale
) -> None:
    """For two alternatives, of which everybody is asked; who is sampled is asked over and over."""
    vote = make_fair_vote(
        *sizes,
        num_alternatives=2,
        mechanism="sampling",
        num_samples=samples,
        gamma=0.25,
        scale=scale,
        reading="subsample",
    )
    profile = tuple(tuple([(0, 1), (1, 0), (0, 1)][:size]) for size in sizes)
    printed = exact_law(lambda below: printed_algorithm_2(vote, profile, below, scale=scale, reading="subsample"))
    assert elected_exactly(vote, profile) == printed
    assert sum(printed.values()) == 1


def law_by_enumeration(choice: SampledChoice, values: Sequence[int]) -> list[Fraction]:
    """Return P[winner]: over all counts S, each binomial, the best share what γ leaves."""
    return list(_law_of_chances(choice, tuple(map(tuple, choice.hit_probabilities(values)))))


@functools.cache
def _law_of_chances(choice: SampledChoice, chances: tuple[tuple[Fraction, ...], ...]) -> list[Fraction]:
    size, samples = choice.num_alternatives, choice.num_samples
    gamma = Fraction(choice.gamma)
    weighted: dict[tuple[int, ...], Fraction] = {(): 1 - gamma}
    for chance in itertools.chain.from_iterable(chances):
        binomial = [math.comb(samples, n) * chance**n * (1 - chance) ** (samples - n) for n in range(samples + 1)]
        weighted = {
            (*counts, n): probability * own
            for counts, probability in weighted.items()
            for n, own in enumerate(binomial)
            if own
        }
    law = [gamma / size] * size
    for counts, probability in weighted.items():
        tied = _winners_of(choice, counts)
        for place in tied:
            law[place] += probability / len(tied)
    return law


@functools.cache
def _winners_of(choice: SampledChoice, counts: tuple[int, ...]) -> list[int]:
    size, samples = choice.num_alternatives, choice.num_samples
    rows = [counts[start : start + size] for start in range(0, len(counts), size)]
    if choice.scale == "printed":
        told = [[Fraction(own, n) for own in row] for row, n in zip(rows, choice.group_sizes, strict=True)]
        assert not choice.objective.least_utility  # a share of no answers is 0
    else:
        best, worst = Fraction(choice.scoring.scores[0]), Fraction(choice.scoring.scores[-1])
        told = [[own * size * (best - worst) / (2 * samples) + worst for own in row] for row in rows]
    return list(choice.objective.best_alternatives(told, choice.group_sizes))


SAMPLED: list[dict[str, Any]] = [
    {},
    {"scale": "printed"},
    {"gamma": 0.0},
    {"objective": "constrained", "max_disparity": 0.5},
    {"objective": "penalized", "fairness_weight": 0.5, "scale": "printed"},
    {"scores": "plurality", "objective": "penalized"},
    {"scores": (4.0, 3.0, -1.0), "objective": "constrained", "max_disparity": 2.0},
    {"objective": "welfare_constrained", "welfare_share": 0.5, "scale": "printed"},
    {"scores": (4.0, 3.0, -1.0), "objective": "welfare_constrained"},
]


def sampled(num_samples: int, given: dict[str, Any]) -> tuple[SampledChoice, list[int]]:
    """Return what elects, and the sums of `PROFILE`."""
    options: dict[str, Any] = {"mechanism": "sampling", "num_samples": num_samples, "gamma": 0.25, **given}
    vote = make_fair_vote(2, 3, **options)
    return vote.disclosed_phase.elects_by(SampledChoice), sums_of(vote.disclosed_phase, PROFILE)


@pytest.mark.unmeasured
@pytest.mark.parametrize("given", SAMPLED, ids=repr)
def test_the_law_of_sampled_choices_is_that_of_all_counts(given: dict[str, Any]) -> None:
    """With one sample, of groups of 2 and 3, exactly."""
    choice, values = sampled(1, given)
    law = law_of_rows(lambda below: choice.randomize_exactly(values, below))
    expected = law_by_enumeration(choice, values)
    assert sum(expected) == 1
    assert law == {(place,): chance for place, chance in enumerate(expected) if chance}


@pytest.mark.few(most=5)
@pytest.mark.unmeasured
@pytest.mark.parametrize("given", SAMPLED, ids=repr)
def test_the_law_that_is_computed_is_that_of_all_counts_and_simulations_follow_it(given: dict[str, Any]) -> None:
    """With two samples, of groups of 2 and 3, to rounding; by chi-square. False alarm: 1e-7 for each case."""
    choice, values = sampled(2, given)
    expected = [float(chance) for chance in law_by_enumeration(choice, values)]
    assert choice.probabilities(values) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    check_simulated(choice, values, expected)


def check_simulated(
    choice: Choice, values: list[int], law: Sequence[float], *, number: int = draws(1_500, full=4_000)
) -> None:
    uniforms = np.random.default_rng(11).random((number, choice.slots_of(len(values))))
    winners = choice.randomize_rows(np.tile(np.array(values, dtype=np.int64), (number, 1)), uniforms)
    assert winners.shape == (number, 1)
    told: list[int] = winners[:, 0].tolist()
    assert least_tail(told, dict(enumerate(law))) > 1e-7
    head: list[list[float]] = uniforms[:100].tolist()
    assert winners[:100].tolist() == [choice.randomize_row(values, own) for own in head]


def test_chances_of_a_hit_are_those_of_the_questions() -> None:
    """θ = (2/m)·P[a random voter prefers a to a random other one]: 2/3 of 3/4 for two voters who rank a 1st and 2nd."""
    vote = make_fair_vote(2, 1, mechanism="sampling", num_samples=1)
    choice = vote.disclosed_phase.elects_by(SampledChoice)
    values = sums_of(vote.disclosed_phase, (((0, 1, 2), (1, 0, 2)), ((2, 0, 1),)))
    assert choice.hit_probabilities(values) == [
        [Fraction(2, 3) * Fraction(3, 4), Fraction(2, 3) * Fraction(3, 4), Fraction(0)],
        [Fraction(0), Fraction(2, 3), Fraction(1, 3)],
    ]


def test_estimates_without_bias_and_as_printed_worked_by_hand() -> None:
    """Of n_s = 4 and m = 3: S·3·2/8, and S/n_k."""
    scoring = Scoring(make_scores("borda", 3))
    choice = SampledChoice(scoring, (10, 5), PARITY, 4, (10, 5), 0.05, "unbiased", (1.0, 1.0))
    assert choice.utilities_of([[4, 2, 0], [1, 0, 4]]) == [[3, Fraction(3, 2), 0], [Fraction(3, 4), 0, 3]]
    printed = dataclasses.replace(choice, scale="printed")
    assert printed.utilities_of([[4, 2, 0], [1, 0, 4]]) == [
        [Fraction(2, 5), Fraction(1, 5), 0],
        [Fraction(1, 5), 0, Fraction(4, 5)],
    ]


@pytest.mark.parametrize("scores", ["borda", "plurality", "veto", (2.0, 1.5, -1.0)])
def test_the_unbiased_estimate_is_unbiased(scores: Any) -> None:
    """E[S] = n_s·θ, so that the estimate of E[S] is the mean utility itself, exactly."""
    choice, values = sampled(4, {"scores": scores})
    unit, zero = choice.utilities_of([[1] * 3, [0] * 3])  # linear in the counts, whose means are fractions
    made = [Fraction(score) for score in make_scores(scores, 3)]
    for own, chances in zip(PROFILE, choice.hit_probabilities(values), strict=True):
        for place, chance in enumerate(chances):
            mean = zero[place] + 4 * chance * (unit[place] - zero[place])
            assert mean == sum(made[ranking[place]] for ranking in own) / len(own)


@pytest.mark.parametrize("uniform", [0.0, 0.2, 0.249, 0.25 - 2.0**-54])
def test_below_gamma_any_alternative_wins(uniform: float) -> None:
    vote = make_fair_vote(2, 3, mechanism="sampling", num_samples=1, gamma=0.25)
    choice = choice_of(vote)
    values = sums_of(vote.disclosed_phase, (((0, 1, 2),) * 2, ((0, 1, 2),) * 3))
    expected = min(int(uniform / 0.25 * 3), 2)
    assert choice.randomize_row(values, [uniform] + [0.5] * 7) == [expected]


def test_sums_that_no_voters_have_are_refused() -> None:
    vote = make_fair_vote(2, 1, mechanism="sampling", num_samples=1)
    choice = choice_of(vote)
    most = 2 * choice.scoring.steps[0]
    for values in ([most + 1, 0, 0, 0, 0, 0], [0, 0, 0, -most, 0, 0]):
        with pytest.raises(ValueError, match="as many voters as the group has"):
            choice.randomize_row(values, [0.9] * 8)
        with pytest.raises(ValueError, match="as many voters as the group has"):
            choice.randomize_exactly(values, lambda bound: bound - 1)
    for values in ([0] * 5, [0] * 7, []):
        with pytest.raises(ValueError, match=f"{len(values)} sums are given: give 3 for each of 2 groups"):
            choice.randomize_row(values, [0.9] * 8)


def test_a_release_draws_as_many_numbers_whichever_way_its_coin_falls() -> None:
    """Else the time that it takes would tell who looks on what the proven loss takes for hidden."""
    choice = choice_of(make_fair_vote(3, 2, mechanism="sampling", num_samples=4, gamma=0.25))
    asked: list[list[int]] = []
    for fallen in (0, 1):
        bounds: list[int] = []

        def below(bound: int, bounds: list[int] = bounds, fallen: int = fallen) -> int:
            bounds.append(bound)
            return 0 if fallen else bound - 1

        choice.randomize_exactly([0] * 6, below)
        asked.append(bounds)
    tails, heads = asked
    assert heads[:-1] == tails[:-1]
    assert len(heads) == len(tails) == 6 * 4 + 2


def test_losses_of_groups_and_the_greatest_of_them() -> None:
    vote = make_fair_vote(200, 20, mechanism="sampling", num_samples=3)
    choice = choice_of(vote)
    larger, smaller = choice.proven
    assert 0 < larger < smaller < math.inf
    assert choice.event_of(6) == choice.event_of_group(1) == PureMechanism(epsilon=smaller)
    assert choice.event_of_group(0) == PureMechanism(epsilon=larger)
    never = choice_of(make_fair_vote(200, 20, mechanism="sampling", num_samples=3, gamma=0.0))
    assert never.event_of(6) == never.event_of_group(0) == NonPrivate()


@pytest.mark.unmeasured
@pytest.mark.parametrize(("reading", "gamma"), [("group", 0.05), ("group", 0.5), ("subsample", 0.05)])
def test_algorithm_2_is_as_private_as_it_is_proven_to_be(reading: SampleReading, gamma: float) -> None:
    """By brute force over all profiles of groups of 2 and 1 on three alternatives, and all changes of one ranking."""
    vote = make_fair_vote(2, 1, mechanism="sampling", num_samples=1, gamma=gamma, reading=reading)
    proven = [vote.losses_of([group])[0].proven for group in (0, 1)]
    choice = vote.disclosed_phase.elects_by(SampledChoice)

    def law(profile: Profile) -> list[Fraction]:
        if reading == "group":
            return law_by_enumeration(choice, sums_of(vote.disclosed_phase, profile))
        laws = [  # each voter of the first group is the one that is sampled as often
            law_by_enumeration(choice, sums_of(vote.disclosed_phase, ((own,), profile[1]))) for own in profile[0]
        ]
        return [sum(chances, Fraction(0)) / len(laws) for chances in zip(*laws, strict=True)]

    rankings = list(itertools.permutations(range(3)))
    check_private({profile: law(profile) for profile in profiles_of(rankings)}, proven, rankings)


def check_private(
    laws: dict[Profile, list[Fraction]] | dict[Profile, list[float]],
    proven: Sequence[float],
    others: Sequence[Ranking | None],
) -> None:
    """Hold the largest log ratio of neighbors against what is proven of each group; some loss must be there.

    Neighbors have one of the `others` for one voter's ranking.
    """
    greatest = [0.0] * len(proven)
    for profile, law in laws.items():
        for group, own in enumerate(profile):
            for place, other in itertools.product(range(len(own)), others):
                changed = tuple(sorted((*own[:place], other, *own[place + 1 :]), key=lambda one: one or (9,)))
                neighbor = (*profile[:group], changed, *profile[group + 1 :])
                ratios = [abs(math.log(a / b)) for a, b in zip(law, laws[neighbor], strict=True)]
                greatest[group] = max(greatest[group], *ratios)
    assert all(0 < found <= bound + 1e-12 for found, bound in zip(greatest, proven, strict=True))


# The exponential mechanism, and permute-and-flip


QUALITIES: list[dict[str, Any]] = [
    {},
    {"objective": "penalized", "fairness_weight": 0.5},
    {"objective": "constrained", "max_disparity": 0.5, "fairness_weight": 2.0},
    {"scores": "plurality", "objective": "penalized", "fairness_weight": 0.0},
    {"objective": "welfare_constrained", "welfare_share": 0.75, "fairness_weight": 2.0},
]


@pytest.mark.unmeasured
@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize("mechanism", ["exponential", "permute_and_flip"])
@pytest.mark.parametrize("given", QUALITIES, ids=repr)
def test_choices_by_quality_are_as_private_as_they_are_proven_to_be(
    given: dict[str, Any], mechanism: str, relation: NeighboringRelation
) -> None:
    """By brute force over all profiles of groups of 2 and 1; who is removed leaves the utilities of the center."""
    epsilon = 1.5
    vote = make_fair_vote(2, 1, mechanism=mechanism, epsilon=epsilon, relation=relation, **given)
    choice = vote.disclosed_phase.elects_by(ExponentialChoice)
    proven = [vote.losses_of([group])[0].proven for group in (0, 1)]
    assert max(proven) == epsilon
    rankings = list(itertools.permutations(range(3)))
    profiles = profiles_of([*rankings, None] if relation is ADD else rankings)
    laws = {profile: list(choice.probabilities(sums_of(vote.disclosed_phase, profile))) for profile in profiles}
    check_private(laws, proven, [None] if relation is ADD else rankings)


@pytest.mark.few(most=3)
@pytest.mark.unmeasured
@pytest.mark.parametrize("given", QUALITIES, ids=repr)
def test_the_law_of_the_exponential_mechanism_is_its_definition(given: dict[str, Any]) -> None:
    vote = make_fair_vote(2, 3, mechanism="exponential", epsilon=2.0, **given)
    choice = vote.disclosed_phase.elects_by(ExponentialChoice)
    scores = [Fraction(score) for score in make_scores(vote.parameters.scores, 3)]
    utilities = [
        [sum((scores[r[place]] for r in own), Fraction(0)) / len(own) for place in range(3)] for own in PROFILE
    ]
    objective = vote.parameters.make_objective()
    qualities = objective.qualities(utilities, (2, 3))
    delta = max(objective.quality_sensitivity(1, (2, 3), group) * (scores[0] - scores[-1]) for group in (0, 1))
    masses = [math.exp(2.0 * float((quality - max(qualities)) / (2 * delta))) for quality in qualities]
    values = sums_of(vote.disclosed_phase, PROFILE)
    law = choice.probabilities(values)
    assert law == pytest.approx([mass / math.fsum(masses) for mass in masses], rel=1e-9)
    check_simulated(choice, values, law)


@pytest.mark.few(most=3)
@pytest.mark.parametrize("given", QUALITIES, ids=repr)
def test_simulated_permute_and_flip_follows_its_law(given: dict[str, Any]) -> None:
    """By chi-square. False alarm: 1e-7 for each case."""
    vote = make_fair_vote(2, 3, mechanism="permute_and_flip", epsilon=3.0, **given)
    choice, values = vote.disclosed_phase.elects_by(ExponentialChoice), sums_of(vote.disclosed_phase, PROFILE)
    check_simulated(choice, values, choice.probabilities(values))


def test_a_voter_of_a_larger_group_pays_less_worked_by_hand() -> None:
    """Parity: in proportion to 1/n_k. Welfare: every voter counts alike. Both: d/n + λ·d/n_k."""
    parity = choice_of(make_fair_vote(8, 2, mechanism="exponential", epsilon=1.0))
    assert parity.proven == (0.25, 1.0)
    welfare = choice_of(
        make_fair_vote(8, 2, mechanism="exponential", epsilon=1.0, objective="penalized", fairness_weight=0.0)
    )
    assert welfare.proven == (1.0, 1.0)
    both = choice_of(make_fair_vote(8, 2, mechanism="exponential", epsilon=1.0, objective="penalized"))
    assert both.proven == (pytest.approx((1 / 10 + 1 / 8) / (1 / 10 + 1 / 2)), 1.0)
    assert both.event_of(6) == PureMechanism(epsilon=1.0)


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.0, 1.9])
def test_no_voter_is_charged_less_than_it_loses_to_the_last_bit(epsilon: float) -> None:
    for few, many in itertools.combinations((3, 7, 11, 13, 19), 2):
        larger, smaller = choice_of(make_fair_vote(many, few, mechanism="exponential", epsilon=epsilon)).proven
        assert math.nextafter(larger, 0) < Fraction(epsilon) * few / many <= Fraction(larger)
        assert smaller == epsilon
