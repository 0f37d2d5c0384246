"""What is inferred of a ranking, against sums over all that the others may rank and report."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from helpers import make_fair_inputs, make_fair_vote
from psephos.protocol import ConfigurationError, Inputs, SimulatedNoise
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.protocol.fair_voting import FairVoting, Parameters, RandomizedRankings
from psephos.protocol.mechanisms import rankings_of_codes
from psephos.protocol.privacy import NeighboringRelation
from psephos.scenarios.attacks import Coalition, CoalitionView, Ending, Posteriors, find_attack, view_by_arrays
from psephos.scenarios.fair_voting.attack.inference import FairVotingAttack
from psephos.scenarios.fair_voting.attack.sums import Others, law_of_sums

ORDERS = rankings_of_codes(np.arange(6, dtype=np.int64), 3)
TARGET = np.array([0])
RANKING, FAVORITE, NO_SECRET = "ranking", "favorite", "weight"
FORMS: dict[str, dict[str, Any]] = {
    "exponential": {"mechanism": "exponential", "epsilon": 3.0},
    "permute and flip": {"mechanism": "permute_and_flip", "objective": "penalized"},
    "sampling": {"mechanism": "sampling", "num_samples": 2},
    "sampling, printed": {"mechanism": "sampling", "num_samples": 2, "scale": "printed"},
    "sub-sampling": {"mechanism": "sampling", "num_samples": 2, "reading": "subsample"},
    "laplace": {"mechanism": "laplace", "epsilon": 2.0},
    "laplace, add or remove": {"mechanism": "laplace", "relation": NeighboringRelation.ADD_OR_REMOVE_ONE},
    "laplace, printed": {"mechanism": "laplace", "calibration": "printed"},
    "pairwise": {"mechanism": "pairwise", "objective": "copeland", "epsilon": 3.0},
    "pair": {"mechanism": "sampled_pair"},
    "position": {"mechanism": "sampled_position", "epsilon": 2.0},
    "whole": {"mechanism": "whole_ranking"},
    "scores": {"mechanism": "noisy_scores"},
}
CENTRAL = ["exponential", "permute and flip", "sampling", "sampling, printed", "laplace", "laplace, add or remove"]
LOCAL = ["pair", "position", "whole", "scores"]


def make(form: str, *, seed: int = 0) -> tuple[FairVotingAttack, Inputs]:
    """Return an attack on seven voters of two groups, of whom the first is of the larger one; by pairs of one."""
    vote = make_fair_vote(*((7,) if form == "pairwise" else (4, 3)), **FORMS[form])
    inputs = make_fair_inputs(vote, seed=seed)
    order = np.argsort(inputs.public[:, 0], kind="stable")
    return FairVotingAttack(vote), Inputs(inputs.private[order], inputs.public[order])


def see(
    attack: FairVotingAttack, inputs: Inputs, *members: int, seed: int = 3, has_server: bool = False
) -> CoalitionView:
    noise = SimulatedNoise(seed, session="s")
    coalition = Coalition(members, has_server=has_server)
    return view_by_arrays(attack.protocol, inputs, noise=noise, coalition=coalition)


def released_law(attack: FairVotingAttack, seen: CoalitionView, rankings: IntArray, groups: IntArray) -> float:
    """Return the probability of what was published, of all voters' rankings."""
    phase = attack.protocol.disclosed_phase
    sums = phase.sums_of(rankings, groups).reshape(1, -1)
    return math.exp(phase.tally_mechanism.log_likelihoods(seen.totals[0].reshape(1, -1), sums)[0, 0])


def infer(attack: FairVotingAttack, seen: CoalitionView, targets: IntArray = TARGET) -> Posteriors:
    """Return what is inferred of whole rankings."""
    return attack.posteriors([seen], targets, secret=RANKING)


def check_posterior(found: Posteriors, weights: list[float]) -> None:
    """Check that the first target's rankings are as likely as these weights, by Bayes."""
    assert found.probabilities[0] == pytest.approx(normalized(weights), rel=1e-9)


def normalized(numbers: list[float]) -> FloatArray:
    return np.array(numbers) / math.fsum(numbers)


@pytest.mark.parametrize("form", [*CENTRAL, "pairwise"])
@pytest.mark.parametrize("members", [(1, 2, 3, 4, 5, 6), (2, 3, 4, 5, 6), (1, 2, 3, 5)], ids=["all", "five", "four"])
def test_a_release_is_judged_over_all_that_honest_voters_may_rank(form: str, members: tuple[int, ...]) -> None:
    attack, inputs = make(form)
    seen = see(attack, inputs, *members)
    found = infer(attack, seen)
    honest = [place for place in range(7) if place not in members]
    expected: list[float] = []
    for own in ORDERS:
        rankings, total = inputs.private.copy(), 0.0
        for others in itertools.product(ORDERS, repeat=len(honest) - 1):
            rankings[honest] = [own, *others]
            total += released_law(attack, seen, rankings, inputs.public[:, 0])
        expected.append(total)
    check_posterior(found, expected)


def test_line_4_of_algorithm_2_is_judged_over_all_sub_samples() -> None:
    attack, inputs = make("sub-sampling")
    phase = attack.protocol.disclosed_phase
    assert phase.choice is not None
    seen = see(attack, inputs, 1, 2, 3, 4, 5, 6)
    found = infer(attack, seen)
    (winner,) = seen.totals[0].tolist()
    expected: list[float] = []
    for own in ORDERS:
        rankings, total = inputs.private.copy(), 0.0
        rankings[0] = own
        for of_first in itertools.combinations(range(4), 2):
            for of_second in itertools.combinations(range(4, 7), 2):
                places = [*of_first, *of_second]
                sums = phase.sums_of(rankings[places], inputs.public[places, 0]).reshape(-1)
                total += math.exp(phase.choice.log_laws(sums[None])[0, winner])
        expected.append(total)
    check_posterior(found, expected)


def test_sessions_with_the_same_voters_are_judged_together() -> None:
    """The voter who is not known ranks alike in both: sessions are not independent of each other."""
    attack, inputs = make("exponential")
    sessions = [see(attack, inputs, 2, 3, 4, 5, 6, seed=seed) for seed in (1, 2, 3)]
    found = attack.posteriors(sessions, TARGET, secret=RANKING)
    rankings, groups = inputs.private.copy(), inputs.public[:, 0]
    expected: list[float] = []
    for own in ORDERS:
        total = 0.0
        for other in ORDERS:
            rankings[[0, 1]] = [own, other]
            total += math.prod(released_law(attack, seen, rankings, groups) for seen in sessions)
        expected.append(total)
    check_posterior(found, expected)
    apart = sum(attack.release_log_likelihoods(seen, TARGET, attack.candidates("ranking"))[0] for seen in sessions)
    assert normalized(np.exp(apart).tolist()) != pytest.approx(found.probabilities[0], rel=1e-6)


@pytest.mark.parametrize("form", ["pair", "position"])
def test_a_tally_of_reports_is_judged_over_all_that_honest_voters_may_report(form: str) -> None:
    attack, inputs = make(form)
    phase = attack.protocol.phase
    assert isinstance(phase, RandomizedRankings)
    seen = see(attack, inputs, 3, 4, 5)
    found = infer(attack, seen, np.array([1, 6]))
    reports = np.arange(phase.mechanism.report_range[1] + 1, dtype=np.int64)[:, None]
    laws = np.exp(phase.mechanism.log_likelihoods(reports, ORDERS)).T
    rest = seen.totals[0][0, 1:] - phase.report.totals_of(seen.reports[0][[3]])
    expected: list[float] = []
    for own in laws:
        total = 0.0
        for drawn in itertools.product(range(len(reports)), repeat=3):
            if phase.report.totals_of(reports[list(drawn)]).tolist() == rest.tolist():
                total += own[drawn[0]] * math.prod(laws.mean(axis=0)[list(drawn[1:])])
        expected.append(total)
    check_posterior(found, expected)
    with_server = infer(attack, see(attack, inputs, has_server=True), np.array([6]))
    assert found.log_odds_ratios[1] <= with_server.log_odds_ratios[0] * (
        1 + 1e-9
    )  # one of two in the group, against the report itself


def test_a_report_is_judged_by_its_voters_own_epsilon() -> None:
    """Of a group some have ε = .5 and some 3: odds are bounded by each one's own, and tallies are apart."""
    vote = make_fair_vote(4, 3, mechanism="whole_ranking", epsilons=(0.5, 3.0))
    inputs = make_fair_inputs(make_fair_vote(4, 3, mechanism="whole_ranking"))
    levels = np.arange(7, dtype=np.int64)[:, None] % 2
    inputs = Inputs(inputs.private, np.hstack([np.sort(inputs.public, axis=0), levels]))
    attack = FairVotingAttack(vote)
    of_server = infer(attack, see(attack, inputs, has_server=True), np.arange(7))
    assert of_server.log_odds_ratios.tolist() == pytest.approx([0.5 if not own else 3.0 for own in levels[:, 0]])
    # Of the first group voters 1 and 3 have ε = 3: with 3 in the coalition, the tally of their level is 1's report.
    of_voters = infer(attack, see(attack, inputs, 3), np.array([1]))
    assert of_voters.probabilities[0] == pytest.approx(of_server.probabilities[1], rel=1e-9)


@pytest.mark.parametrize("form", LOCAL)
def test_the_last_honest_voter_of_a_group_is_as_naked_as_before_the_aggregator(form: str) -> None:
    attack, inputs = make(form)
    of_server = infer(attack, see(attack, inputs, has_server=True))
    of_voters = infer(attack, see(attack, inputs, 1, 2, 3))
    np.testing.assert_allclose(of_voters.probabilities, of_server.probabilities, rtol=1e-12)
    np.testing.assert_allclose(of_voters.log_odds_ratios, of_server.log_odds_ratios, rtol=1e-9)


@pytest.mark.parametrize("form", [*CENTRAL, *LOCAL, "laplace, printed"])
def test_the_released_estimates_tell_what_the_tally_tells(form: str) -> None:
    attack, inputs = make(form)
    seen = see(attack, inputs, 1, 2, 3, 4, 5, 6)
    released = CoalitionView(
        protocol=seen.protocol,
        coalition=seen.coalition,
        rows=seen.rows,
        public=seen.public,
        reports=seen.reports,
        told=seen.told,
        find_ending=seen.find_ending,
    )
    of_tally, of_release = (infer(attack, each) for each in (seen, released))
    if form == "position":  # the middle position counts nothing, whoever has it
        assert of_release.log_odds_ratios[0] <= of_tally.log_odds_ratios[0] * (1 + 1e-9)
    else:
        np.testing.assert_allclose(of_release.probabilities, of_tally.probabilities, rtol=1e-12)


@pytest.mark.parametrize("form", CENTRAL)
def test_a_trusted_aggregator_knows_the_ranking(form: str) -> None:
    attack, inputs = make(form)
    seen = see(attack, inputs, has_server=True)
    targets = np.arange(7)
    for secret in (RANKING, FAVORITE, "pair"):
        found = attack.posteriors([seen], targets, secret=secret)
        assert found.guesses.tolist() == attack.truths(secret, inputs).tolist()
        assert np.allclose(found.probabilities.max(axis=1), 1)
        assert (found.log_odds_ratios == math.inf).all()
        assert attack.loss(secret, inputs.public, targets, seen.coalition) == math.inf


@pytest.mark.parametrize("form", [form for form in FORMS if form != "sub-sampling"])
@pytest.mark.parametrize("members", [(2, 3, 4), (1, 2, 3, 4, 5, 6)], ids=["three", "all"])
def test_odds_never_exceed_what_is_proven(form: str, members: tuple[int, ...]) -> None:
    if form in {"whole", "scores"} and len(members) < 6:
        members = (1, 2, 3)
    greatest = 0.0
    for seed in range(3):
        attack, inputs = make(form, seed=seed)
        seen = see(attack, inputs, *members, seed=seed)
        found = infer(attack, seen)
        bound = attack.loss("ranking", inputs.public, TARGET, seen.coalition)
        greatest = max(greatest, float(found.log_odds_ratios[0]))
        assert greatest <= bound * (1 + 1e-9)
    assert greatest > 0


def test_another_ranking_costs_twice_what_adding_a_voter_costs() -> None:
    attack, inputs = make("laplace, add or remove")
    bound = attack.loss("ranking", inputs.public, TARGET, Coalition((), has_server=False))
    assert bound == pytest.approx(2 * attack.protocol.losses[0].proven)
    odds = max(float(infer(attack, see(attack, inputs, 1, 2, 3, seed=seed)).log_odds_ratios[0]) for seed in range(20))
    assert attack.protocol.losses[0].proven < odds <= bound * (1 + 1e-9)


@pytest.mark.parametrize("form", ["whole", "scores"])
def test_a_crowds_tally_that_is_taken_for_normal_hides_most_of_a_report(form: str) -> None:
    vote = make_fair_vote(60, 3, **FORMS[form])
    attack, inputs = FairVotingAttack(vote), make_fair_inputs(vote)
    targets = np.flatnonzero(inputs.public[:, 0] == 0)[:2]
    found = infer(attack, see(attack, inputs, int(targets[1]) + 1), targets[:1])
    assert (
        0
        < found.log_odds_ratios[0]
        < attack.loss(RANKING, inputs.public, targets[:1], Coalition((), has_server=False)) / 2
    )
    assert found.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize("form", ["whole", "scores"])
def test_a_small_crowds_tally_is_not_taken_for_normal(form: str) -> None:
    attack, inputs = make(form)
    with pytest.raises(ConfigurationError, match="all but 3 of a group") as caught:
        infer(attack, see(attack, inputs, 1))
    assert caught.value.field == "coalition"


def test_whoever_hears_nothing_believes_what_it_believed() -> None:
    for form in FORMS:
        attack, inputs = make(form)
        unheard = dataclasses.replace(see(attack, inputs), totals=(), find_ending=Ending)
        found = attack.posteriors([unheard], TARGET, secret=FAVORITE)
        assert found.probabilities[0] == pytest.approx([1 / 3] * 3)
        assert found.log_odds_ratios.tolist() == [0.0]


def test_secrets_are_labels_of_rankings() -> None:
    attack, inputs = make("pair")
    rankings = attack.candidates("ranking")
    assert rankings.labels[0] == "a > b > c"
    assert rankings.labels[3] == "c > a > b"  # positions 1, 2, 0
    assert rankings.rows[3].tolist() == [1, 2, 0]
    truth = attack.truths("ranking", inputs)
    np.testing.assert_array_equal(rankings.rows[truth], inputs.private)
    assert attack.candidates("favorite").labels == ("a", "b", "c")
    assert attack.candidates("favorite").places.tolist() == [0, 0, 1, 2, 1, 2]
    assert attack.candidates("pair").labels == ("a over b", "b over a")
    assert attack.candidates("pair").places.tolist() == [int(row[0] > row[1]) for row in ORDERS]


@pytest.mark.parametrize("mechanism", ["sampled_pair", "sampled_position"])
@pytest.mark.parametrize("secret", ["favorite", "pair"])
def test_a_few_rankings_stand_for_all_of_a_label(mechanism: str, secret: str) -> None:
    vote = make_fair_vote(2, 2, num_alternatives=7, mechanism=mechanism)
    attack = FairVotingAttack(vote)
    candidates = attack.candidates(secret)
    listed = rankings_of_codes(np.arange(math.factorial(7), dtype=np.int64), 7)
    phase = vote.phase
    reports = np.arange(phase.mechanism.report_range[1] + 1, dtype=np.int64)[:, None]
    places = np.argmin(listed, axis=1) if secret == FAVORITE else (listed[:, 0] > listed[:, 1]).astype(np.int64)
    for label in range(len(candidates.labels)):
        of_all = np.exp(phase.mechanism.log_likelihoods(reports, listed[places == label])).mean(axis=1)
        of_few = np.exp(phase.mechanism.log_likelihoods(reports, candidates.rows[candidates.places == label]))
        np.testing.assert_allclose(of_few.mean(axis=1), of_all, rtol=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "secret", "size"),
    [
        ("exponential", "favorite", 7),
        ("noisy_scores", "pair", 7),
        ("sampled_pair", "ranking", 7),
        ("sampled_pair", "pair", 30),
    ],
    ids=str,
)
def test_too_many_candidates_are_refused(mechanism: str, secret: str, size: int) -> None:
    attack = FairVotingAttack(make_fair_vote(2, 2, num_alternatives=size, mechanism=mechanism))
    with pytest.raises(ConfigurationError, match="at most 6") as caught:
        attack.candidates(secret)
    assert caught.value.field == "alternatives"


def test_a_member_is_no_target() -> None:
    attack, inputs = make("pair")
    with pytest.raises(ConfigurationError, match="no member of the coalition"):
        infer(attack, see(attack, inputs, 0, 1))
    with pytest.raises(ConfigurationError, match="one of ranking, favorite, pair"):
        attack.posteriors([], TARGET, secret=NO_SECRET)


def test_unknown_voters_of_several_sub_samples_are_refused() -> None:
    attack, inputs = make("sub-sampling")
    sessions = [see(attack, inputs, 2, 3, seed=seed) for seed in (1, 2)]
    with pytest.raises(ConfigurationError, match="all voters but one"):
        attack.posteriors(sessions, TARGET, secret=RANKING)
    assert attack.posteriors(sessions[:1], TARGET, secret=RANKING).log_odds_ratios[0] > 0


@pytest.mark.parametrize("num_sampled", [None, 4], ids=["all", "sampled"])
def test_drawn_profiles_have_the_exact_law(num_sampled: int | None) -> None:
    """Each sum is drawn as often as it should be, to 5 standard errors: false alarms below 1e-4 over all sums."""
    utilities = np.array([[1, 0, -1], [0, 1, -1], [-1, 0, 1]])
    others = [
        Others(np.array([[1, 0, -1], [0, 0, 0], [-1, 1, 0]]), 3, np.array([0.5, 0.3, 0.2]), num_sampled),
        Others(np.array([[1, 0, -1]]), 1, np.array([0.5, 0.3, 0.2])),
    ]
    exact = law_of_sums(others, utilities, max_terms=1_000, draws=1, seed=0)
    drawn = law_of_sums(others, utilities, max_terms=1, draws=20_000, seed=0)
    assert len(exact.weights) < len(drawn.weights) == 20_000
    assert math.fsum(exact.weights.tolist()) == pytest.approx(1)
    rows, numbers = np.unique(drawn.rows, axis=0, return_counts=True)
    found = {tuple(row): number / 20_000 for row, number in zip(rows.tolist(), numbers.tolist(), strict=True)}
    expected = {tuple(row): weight for row, weight in zip(exact.rows.tolist(), exact.weights.tolist(), strict=True)}
    assert found.keys() <= expected.keys()
    for row, weight in expected.items():
        assert abs(found.get(row, 0.0) - weight) <= 5 * math.sqrt(weight / 20_000) + 1e-4


def test_profiles_are_drawn_where_there_are_too_many() -> None:
    """Candidates are judged over the same draws, so that another seed moves posteriors little."""
    vote = make_fair_vote(10, 10, mechanism="permute_and_flip", epsilon=8.0)
    attack, inputs = FairVotingAttack(vote), make_fair_inputs(vote)
    seen = see(attack, inputs, 1)
    found = infer(attack, seen).probabilities
    other = FairVotingAttack(vote, seed=1).posteriors([seen], TARGET, secret=RANKING).probabilities
    assert found.tolist() != other.tolist()
    np.testing.assert_allclose(other, found, atol=0.02)


def test_many_targets_are_judged_at_once() -> None:
    vote = make_fair_vote(6_000, 4_000, num_alternatives=4, mechanism="sampled_position")
    attack, inputs = find_attack(vote), make_fair_inputs(vote)
    assert isinstance(attack, FairVotingAttack)
    targets = np.arange(10_000)
    seen = see(attack, inputs, has_server=True)
    found = attack.evaluate(attack.posteriors([seen], targets, secret=FAVORITE), inputs, targets, secret=FAVORITE)
    assert found.num_targets == 10_000
    assert found.success > found.baseline + 5 * found.success_error
    assert found.greatest_log_odds_ratio <= 1 + 1e-9


def test_who_did_not_vote_is_counted_as_indifferent() -> None:
    """A vote without its last voter: the roster's sizes stay, and its sums have nothing of the one who is absent."""
    attack, inputs = make("exponential")
    short = Inputs(inputs.private[:6], inputs.public[:6])
    seen = see(attack, short, 1, 2, 3, 4, 5)
    found = infer(attack, seen)
    expected: list[float] = []
    for own in ORDERS:
        rankings = short.private.copy()
        rankings[0] = own
        expected.append(released_law(attack, seen, rankings, short.public[:, 0]))
    check_posterior(found, expected)


def test_sessions_of_the_local_model_are_not_joined() -> None:
    """So that a coalition without the aggregator is refused several of them, where others are unknown."""
    given: dict[str, Any] = {"alternatives": ("a", "b", "c"), "groups": ("l", "r"), "group_sizes": (2, 2)}
    joined = [
        FairVotingAttack(FairVoting(Parameters(**given, mechanism=mechanism))).joins_sessions
        for mechanism in ("exponential", "laplace", "sampled_pair", "whole_ranking")
    ]
    assert joined == [True, True, False, False]
