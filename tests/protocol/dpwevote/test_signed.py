"""Signed weights in one report: small sessions by hand and by every vector of reports, at each kind of quota."""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from makers import as_usual, vote_of
from psephos.protocol import Inputs, SimulatedNoise, Tally, run_population
from psephos.protocol.dpwevote import OPTIMAL_LIMITS, DPWeVote, Outcome, Parameters
from psephos.protocol.dpwevote.signed import make_report, signed_weights
from psephos.protocol.estimators import LinearEstimator
from psephos.protocol.mechanisms import UnbiasedReport, has_optimal
from psephos.protocol.privacy import NeighboringRelation, TrustModel
from vote_margins import margin_of

VARIANTS = ["two_point", "signed_rr", "optimal"]
THIRDS = Fraction(2, 3)

every_variant = pytest.mark.parametrize("variant", VARIANTS)


make_parameters = as_usual(Parameters, candidates=("a",), variant="signed_rr")


make_vote = as_usual(vote_of, candidates=("a",), variant="signed_rr")


def counted(counts: Sequence[Sequence[int]]) -> list[Tally]:
    return [Tally(sum(counts[0]), np.array(counts))]


def table(weights: Sequence[float], **opinions: Sequence[int]) -> dict[str, Any]:
    return {"weight": list(weights), **{name: list(column) for name, column in opinions.items()}}


def all_outcomes(vote: DPWeVote, inputs: Inputs) -> Iterator[tuple[float, Outcome]]:
    """Yield (probability, outcome) for every vector of reports of one candidate."""
    (phase,) = vote.phases
    report = make_report(vote.parameters)
    law = report.mechanism.channel_matrix()
    values: list[int] = inputs.private[:, 0].tolist()
    for reports in itertools.product(range(len(report.estimates)), repeat=len(values)):
        chance = math.prod(law[value][drawn] for value, drawn in zip(values, reports, strict=True))
        tally = phase.tally(np.array(reports).reshape(-1, 1), earlier=[], public=np.empty((len(values), 0), np.int64))
        yield chance, vote.outcome([tally])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (-1.5, -1, -0.5, 0.5, 1, 1.5)),
        ({"quota_fraction": 0.5}, (-1.5, -1, -0.5, 0.5, 1, 1.5)),
        ({"quota_fraction": 0.75}, (-2.25, -1.5, -0.75, 0.25, 0.5, 0.75)),
        ({"quota": 4.0}, (0, 1, 2, 3)),
        ({"quota_fraction": 1.0}, (-3, -2, -1, 0)),
        ({"weights": (1.0, 2.0, 6.0), "groups": ((1.0, 2.0), (6.0,))}, (-3, -0.75, 0.75, 3)),
    ],
)
def test_signed_weights_are_what_a_vote_adds_to_the_margin(given: dict[str, Any], expected: tuple[float, ...]) -> None:
    """w(φ − τ) for a share τ, wφ for a fixed quota; a "no" is the same 0 for all weights there."""
    assert signed_weights(make_parameters(**given)) == tuple(map(Fraction, expected))


def test_signed_weights_of_two_thirds_are_exact() -> None:
    values = signed_weights(make_parameters(quota_fraction=2 / 3))
    assert values == tuple(sorted(w * (opinion - THIRDS) for w in (1, 2, 3) for opinion in (0, 1)))


def test_a_small_session_by_hand() -> None:
    """k-RR of ±1/2, ±1, ±3/2 at e^ε = 7: p = 7/12, q = 1/12, t = 2v, since Σv = 0.

    Reports of (−3/2, −1, 1, 3/2, 3/2) add up to 2·3/2 = 3.
    """
    outcome = make_vote(epsilon=math.log(7)).outcome(counted([[1, 1, 0, 0, 1, 2]]))
    (candidate,) = outcome.candidates
    assert margin_of(candidate).value == pytest.approx(3, rel=1e-14)
    assert candidate.leans_yes
    assert (candidate.support, candidate.quota, candidate.bias) == (None, None, 0)
    assert (outcome.total_weight, outcome.weight_counts, outcome.num_partners) == (None, (), 5)


def test_a_small_session_with_a_fixed_quota_by_hand() -> None:
    """k-RR of 0, 1, 2, 3 at e^ε = 5: t = −3/2, 1/2, 5/2, 9/2. Reports of (0, 2, 3): −3/2 + 5/2 + 9/2 = 11/2."""
    (candidate,) = make_vote(epsilon=math.log(5), quota=6.0).outcome(counted([[1, 0, 1, 1]])).candidates
    assert candidate.support is not None
    assert candidate.quota is not None
    assert candidate.support.value == pytest.approx(5.5, rel=1e-13)
    assert (candidate.quota.value, candidate.quota.standard_error) == (6.0, 0.0)
    assert margin_of(candidate).value == pytest.approx(-0.5, rel=1e-12)
    assert candidate.support.standard_error == margin_of(candidate).standard_error
    assert not candidate.leans_yes


def test_a_small_session_of_two_points_by_hand() -> None:
    """At ε = 1, c = (3/2)/tanh(1/2): seven plus and four minus are 3c; the error is √11·√(c² − 1/4), the greatest."""
    c = 1.5 / math.tanh(0.5)
    (candidate,) = make_vote(variant="two_point").outcome(counted([[4, 7]])).candidates
    assert margin_of(candidate).value == pytest.approx(3 * c, rel=1e-14)
    assert margin_of(candidate).standard_error == pytest.approx(math.sqrt(11 * (c * c - 0.25)), rel=1e-12)


@every_variant
@pytest.mark.parametrize(
    "given", [{}, {"quota_fraction": 2 / 3}, {"quota": 2.5}, {"groups": ((1.0,), (2.0, 3.0))}], ids=str
)
def test_margins_are_unbiased_and_their_errors_exact_on_average(variant: str, given: dict[str, Any]) -> None:
    """Over every vector of reports of two partners: the mean is the truth of what stands for their weights.

    The mean squared error is at most that stated on average, which its bounds push up with so few reports.
    """
    vote = make_vote(variant=variant, epsilon=1.5, **given)
    inputs = vote.encode(table([1, 3], a=[1, 0]))
    outcomes = list(all_outcomes(vote, inputs))
    first, second = vote.parameters.group_means[0], vote.parameters.group_means[-1]
    share = vote.parameters.fraction
    truth = first * (1 - share) - second * share - (vote.parameters.quota or 0)
    margins = [(chance, margin_of(outcome.candidates[0])) for chance, outcome in outcomes]
    assert math.fsum(chance for chance, _ in margins) == pytest.approx(1)
    assert math.fsum(chance * margin.value for chance, margin in margins) == pytest.approx(truth, abs=1e-9)
    variance = math.fsum(chance * (margin.value - truth) ** 2 for chance, margin in margins)
    report = make_report(vote.parameters)
    places: list[int] = inputs.private[:, 0].tolist()
    assert variance == pytest.approx(math.fsum(report.variances[place] for place in places), rel=1e-9)
    if variant == "two_point":
        stated = [margin.standard_error**2 for _, margin in margins]
        assert stated == pytest.approx([2 * report.worst_variance] * len(stated))


@pytest.mark.parametrize("variant", ["signed_rr", "optimal"])
def test_the_stated_error_at_the_expected_counts_is_the_exact_one(variant: str) -> None:
    """Squared errors are linear between their bounds, so this is their mean over many partners."""
    report = make_report(make_parameters(variant=variant, epsilon=1.5))
    law = np.array(report.mechanism.channel_matrix())
    numbers = np.array([40, 10, 5, 20, 30, 15])
    counts = np.rint(10**9 * (numbers @ law)).astype(np.int64).tolist()
    estimator = LinearEstimator(report.estimates, report.mechanism.channel_matrix(), report.debiasing)
    exact = float(numbers @ np.array(report.variances))
    assert estimator.total_variance(counts) / 10**9 == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_a_support_that_equals_a_fixed_quota_passes_only_at_least(epsilon: float) -> None:
    """Σt = Σv by k-RR, so two of each report are a support of 2·(0 + 1 + 2 + 3) = 12 at every ε, exactly."""
    given: dict[str, Any] = {"epsilon": epsilon}
    for passes, expected in (("at_least", [True, True, False]), ("more_than", [True, False, False])):
        quotas = (math.nextafter(12, 0), 12.0, math.nextafter(12, 99))
        votes = [make_vote(quota=quota, passes=passes, **given) for quota in quotas]
        assert [vote.outcome(counted([[2] * 4])).candidates[0].leans_yes for vote in votes] == expected


@pytest.mark.parametrize("variant", ["two_point", "signed_rr"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_balanced_reports_are_exactly_a_tie(variant: str, epsilon: float) -> None:
    number = 2 if variant == "two_point" else 6
    outcome = make_vote(variant=variant, epsilon=epsilon).outcome(counted([[5] * number]))
    assert margin_of(outcome.candidates[0]).value == 0
    assert outcome.candidates[0].leans_yes
    assert outcome.winners == ()  # a side is no verdict
    more = make_vote(variant=variant, epsilon=epsilon, passes="more_than")
    assert not more.outcome(counted([[5] * number])).candidates[0].leans_yes


@every_variant
@pytest.mark.parametrize("candidates", [("a",), ("a", "b", "c")])
def test_each_candidate_costs_epsilon(variant: str, candidates: tuple[str, ...]) -> None:
    """One report for each, of weight and opinion together: claimed, proven and charged to the ledger."""
    vote = make_vote(variant=variant, candidates=candidates, epsilon=0.75)
    total = 0.75 * len(candidates)
    assert vote.parameters.epsilon_total == total
    assert (vote.parameters.loss_of_weight, vote.parameters.loss_of_opinion) == (0.0, 0.75)
    (phase,) = vote.phases
    assert (phase.name, phase.num_values) == ("votes", len(candidates))
    assert [loss.claimed for loss in vote.losses] == [loss.proven for loss in vote.losses] == [0.75] * len(candidates)
    assert {(loss.unit, loss.relation, loss.model) for loss in vote.losses} == {
        ("weight and opinion", NeighboringRelation.REPLACE_ONE, TrustModel.LOCAL)
    }
    outcome = run_population(
        vote,
        vote.encode(table([1, 2, 3], **{name: [1, 0, 1] for name in candidates})),
        noise=SimulatedNoise(3, session="s"),
    ).outcome
    assert (outcome.epsilon_weight, outcome.epsilon_opinion, outcome.epsilon_total) == (0.0, 0.75, total)
    assert len(outcome.candidates) == len(candidates)


def test_candidates_are_estimated_from_their_own_reports() -> None:
    """k-RR of e^ε = 7 doubles: 3 reports of 3/2 are 9; of −1/2, −3; a row for each candidate."""
    vote = make_vote(candidates=("a", "b"), epsilon=math.log(7))
    outcome = vote.outcome(counted([[0, 0, 0, 0, 0, 3], [0, 0, 3, 0, 0, 0]]))
    assert [margin_of(candidate).value for candidate in outcome.candidates] == pytest.approx([9, -3], rel=1e-14)
    assert outcome.candidates[0].leans_yes


def test_a_row_holds_the_place_of_each_signed_weight() -> None:
    """−3/2, −1, −1/2, 1/2, 1, 3/2: weight 2 says yes to a, no to b."""
    inputs = make_vote(candidates=("a", "b")).encode(table([2, 3], a=[1, 0], b=[0, 1]))
    assert inputs.private.tolist() == [[4, 1, 1], [0, 5, 2]]


@pytest.mark.parametrize(("fraction", "greater"), [(0.5, 0.5), (0.75, 0.75), (0.25, 0.75)])
def test_groups_bound_the_bias(fraction: float, greater: float) -> None:
    """1 and 4 stand as 2.5, 1.5 off: times the greater one of τ and 1 − τ, for each of 30 partners."""
    vote = make_vote(weights=(1.0, 4.0, 9.0), groups=((1.0, 4.0), (9.0,)), quota_fraction=fraction)
    assert vote.outcome(counted([[5, 10, 10, 5]])).weight_bias_bound == pytest.approx(45 * greater)
    assert make_vote().outcome(counted([[5] * 6])).weight_bias_bound == 0


@pytest.mark.parametrize("variant", ["signed_rr", "optimal"])
def test_almost_no_noise_gives_the_truth(variant: str) -> None:
    vote = make_vote(variant=variant, epsilon=30.0, candidates=("a", "b"))
    inputs = vote.encode(table([3, 1, 2, 2] * 50, a=[1, 0, 1, 1] * 50, b=[0, 1, 0, 0] * 50))
    outcome = run_population(vote, inputs, noise=SimulatedNoise(5, session="s")).outcome
    assert [margin_of(candidate).value for candidate in outcome.candidates] == pytest.approx([150, -150], abs=1e-6)
    assert outcome.candidates[0].leans_yes


def test_a_hundred_weights_are_estimated_without_a_system_of_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred signed weights by k-RR: what debiases their counts is known, and solving for it takes ten seconds."""
    monkeypatch.setattr(UnbiasedReport, "debiasing", property(lambda _: pytest.fail("solved for")))
    vote = make_vote(weights=tuple(map(float, range(1, 101))))
    counts = [[0] * 199 + [7]]
    margin = margin_of(vote.outcome(counted(counts)).candidates[0])
    assert margin.value > 0
    assert margin.standard_error > 0


def test_a_prior_in_words_is_that_in_numbers() -> None:
    uniform = make_report(make_parameters(variant="optimal", prior="uniform"))
    assert uniform.mechanism == make_report(make_parameters(variant="optimal", prior=(1 / 6,) * 6)).mechanism
    assert uniform.mechanism != make_report(make_parameters(variant="optimal")).mechanism


def test_other_variants_have_no_signed_report() -> None:
    with pytest.raises(ValueError, match="'joint' does not report signed weights"):
        make_report(make_parameters(variant="joint"))


QUOTAS: dict[str, dict[str, Any]] = {
    "majority": {},
    "fixed": {"quota": 5.0},
    "all": {"quota_fraction": 1.0},
    "share": {"quota_fraction": 2 / 3},
    "small share": {"quota_fraction": 0.25},
}
LIMITS = {"majority": 10, "fixed": 11, "all": 11, "share": 6, "small share": 6}


@pytest.mark.parametrize("kind", QUOTAS)
@pytest.mark.parametrize("spaced", [True, False])
def test_the_limits_of_the_optimal_mechanism_are_those_that_are_stated(kind: str, *, spaced: bool) -> None:
    """By asking for every number of weights: evenly spaced, so that 0 and an odd number are symmetric, or not."""
    offered: list[int] = []
    for number in range(2, 30):
        weights = tuple(float(place if spaced else place * place) for place in range(1, number + 1))
        parameters = make_parameters(variant="optimal", weights=weights, **QUOTAS[kind])
        if has_optimal(signed_weights(parameters)):
            offered.append(number)
            continue
        with refuses("weights", f"{number} in variant 'optimal'") as refused:
            DPWeVote(parameters).phases  # noqa: B018  it is made when it is asked for
        assert refused.value.allowed == OPTIMAL_LIMITS
    beyond = [13, 15, 17, 19] if spaced and kind in {"fixed", "all"} else []
    assert offered == [*range(2, LIMITS[kind] + 1), *beyond]


def test_the_manual_states_the_same_limits() -> None:
    numbers = re.findall(r"[0-9]+", OPTIMAL_LIMITS)
    manual = (Path(__file__).parents[3] / "docs" / "dpwevote-variants.md").read_text(encoding="utf-8")
    (stated,) = re.findall(r"It is computed, in seconds, for (.*?)\. Beyond", " ".join(manual.split()))
    assert re.findall(r"[0-9]+", stated) == numbers == ["10", "11", "19", "0", "0", "19", "6"]
