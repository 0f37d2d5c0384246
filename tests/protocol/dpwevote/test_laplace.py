"""The Laplace baseline: its grids, its exact moments, and its standard errors against the noise's own law.

Tallies at which every sum is at its expectation stand for many copies of a few partners, rounded to integers.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from psephos.protocol import Tally
from psephos.protocol.dpwevote import CandidateOutcome, DPWeVote, Outcome, Parameters
from psephos.protocol.dpwevote.laplace import LaplaceGrids
from psephos.protocol.mechanisms import DiscreteLaplace

# So many copies that rounding the sums to integers moves nothing by more than about 1e-6.
COPIES = 1 << 22

PARTIES: list[tuple[tuple[float, int, bool], ...]] = [  # weight, opinion, absent from the opinions
    ((1.0, 1, False), (3.0, 0, False), (2.0, 1, False)),
    ((3.0, 1, False), (3.0, 1, False)),
    ((3.0, 1, False), (1.0, 0, False), (2.0, 1, True), (3.0, 0, True)),
]
QUOTAS: list[dict[str, Any]] = [{}, {"quota_fraction": 0.25}, {"quota_fraction": 1.0}, {"quota": 5e6}]


def make_vote(**given: Any) -> DPWeVote:
    fields: dict[str, Any] = {"candidates": ("a",), "variant": "laplace", **given}
    return DPWeVote(Parameters(**fields))


def first(outcome: Outcome) -> CandidateOutcome:
    return outcome.candidates[0]


def second_moment(mechanism: DiscreteLaplace) -> float:
    """Return E[x²] of the noise, summed over its law."""
    reach = math.ceil(50 * mechanism.scale)
    return 2 * math.fsum(noise**2 * mechanism.noise_probability(noise) for noise in range(1, reach))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("weights", [(1.0, 2.0, 3.0), (0.5, 7.25), (1.0, 2.5, 100.0)])
def test_the_grids_are_powers_of_two_and_hold_the_losses_exactly(weights: tuple[float, ...], epsilon: float) -> None:
    parameters = Parameters(candidates=("a",), variant="laplace", weights=weights, epsilon=epsilon)
    grids = LaplaceGrids(parameters)
    least, *_, greatest = grids.weights_on_grid
    for step in (grids.weight_step, grids.opinion_step):
        assert math.frexp(step)[0] == 0.5
    assert grids.weight.value_range == (least, greatest)
    assert grids.weight.scale == (greatest - least) / (epsilon / 2)
    assert grids.opinion.value_range == (0, round(1 / grids.opinion_step))
    assert grids.opinion.scale == 1 / grids.opinion_step / (epsilon / 2)
    for weight, steps in zip(weights, grids.weights_on_grid, strict=True):
        assert abs(weight - steps * grids.weight_step) <= grids.weight_step / 2
    # Reading W3: the scales are those of the continuum.
    assert grids.weight.scale * grids.weight_step == pytest.approx((weights[-1] - weights[0]) / (epsilon / 2), rel=0.01)
    assert grids.opinion.scale * grids.opinion_step == pytest.approx(1 / (epsilon / 2))


@pytest.mark.parametrize("weights", [(1.5, 2.5), (0.5, 1.5, 2.5), (1.0, 1.5, 2.5)])
@pytest.mark.parametrize("epsilon", [0.004, 0.01, 1.0])
def test_different_weights_stay_different_on_the_grid(weights: tuple[float, ...], epsilon: float) -> None:
    parameters = Parameters(candidates=("a",), variant="laplace", weights=weights, epsilon=epsilon)
    on_grid = LaplaceGrids(parameters).weights_on_grid
    assert all(a < b for a, b in itertools.pairwise(on_grid))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("weights", [(1.0, 2.0, 3.0), (1.0, 2.3), (0.3, 1.7, 9.1)])
def test_rounding_weights_to_the_grid_moves_a_margin_by_no_more_than_the_stated_bound(
    weights: tuple[float, ...], epsilon: float
) -> None:
    """A partner adds w̃φ̃ − τw̃ with E[w̃] the rounded weight: (E[w̃] − w)(φ − τ) is what the mean misses."""
    vote = make_vote(weights=weights, epsilon=epsilon)
    grids = LaplaceGrids(vote.parameters)
    for weight, steps in zip(weights, grids.weights_on_grid, strict=True):
        missed = abs(steps * grids.weight_step - weight) / 2
        tallies = [Tally(1, np.array([steps, steps**2])), Tally(1, np.array([[0, steps, steps**2, 0]]))]
        assert missed <= vote.outcome(tallies).weight_bias_bound + 1e-12


def test_tallies_add_weights_squares_and_products() -> None:
    weights, opinions = make_vote(candidates=("a", "b")).phases
    reported = np.array([[3], [-5], [10]])
    none = np.empty((3, 0), dtype=np.int64)
    assert weights.tally(reported, earlier=[], public=none) == Tally(3, np.array([8, 134]))
    tally = opinions.tally(np.array([[1, 4], [2, 0], [-3, 1]]), earlier=[reported], public=none)
    assert tally.totals.tolist() == [[0, 8, 134, 3 - 10 - 30], [5, 8, 134, 12 + 10]]


@pytest.mark.parametrize(("given", "quota"), [({}, 10.0), ({"quota_fraction": 0.25}, 5.0), ({"quota": 7.0}, 7.0)])
def test_the_weights_phase_publishes_the_quota(given: dict[str, Any], quota: float) -> None:
    vote = make_vote(epsilon=1.0, **given)
    grids = LaplaceGrids(vote.parameters)
    published: Any = vote.phases[0].outcome([Tally(9, np.array([round(20 / grids.weight_step), 0]))])
    assert (published.total_weight.value, published.quota.value) == (20.0, quota)
    of_total = math.sqrt(9 * second_moment(grids.weight)) * grids.weight_step
    assert published.total_weight.standard_error == pytest.approx(of_total)
    assert published.quota.standard_error == pytest.approx(vote.parameters.fraction * of_total)


def test_opinions_are_added_for_each_public_weight() -> None:
    (opinions,) = make_vote(candidates=("a", "b"), public_weights=True).phases
    public = np.array([[2, 2], [0, 0], [2, 2]])
    tally = opinions.tally(np.array([[1, 4], [2, 0], [-3, 1]]), earlier=[], public=public)
    assert tally.totals.tolist() == [[[1, 2], [0, 0], [2, -2]], [[1, 0], [0, 0], [2, 5]]]


def test_a_sum_that_does_not_fit_is_refused_and_never_wrong() -> None:
    """One report of 5e9 steps has a square of 2.5e19, beyond 64 bits: refused here, or never reached by a grid."""
    vote = make_vote(weights=(1.0, 1.0 + 2.0**-22, 3000.0), epsilon=2.0)
    try:
        weights, _ = vote.phases
    except ValueError:
        return
    report = min(5_000_000_000, weights.mechanism.report_range[1])
    try:
        tally = weights.tally(np.array([[report]]), earlier=[], public=np.empty((1, 0), dtype=np.int64))
    except OverflowError:
        return
    assert tally.totals.tolist() == [report, report**2]


@pytest.mark.parametrize("partners", PARTIES)
@pytest.mark.parametrize("quota", QUOTAS)
def test_the_estimates_at_expected_sums_are_true_and_have_the_exact_variance(
    partners: tuple[tuple[float, int, bool], ...], quota: dict[str, Any]
) -> None:
    """Var[w̃(φ̃ − τ)] = E[w̃²]·E[(φ̃ − τ)²] − (w(φ − τ))² for those who answer, τ²·Var[w̃] for the absent."""
    vote = make_vote(**quota)
    grids, tau = LaplaceGrids(vote.parameters), vote.parameters.fraction
    ws, os = grids.weight_step, grids.opinion_step
    a, b = second_moment(grids.weight) * ws**2, second_moment(grids.opinion) * os**2
    present = [(w, o) for w, o, absent in partners if not absent]

    def steps(number: float) -> int:
        return round(COPIES * number)

    weights = [steps(sum(w for w, *_ in partners) / ws), steps(sum(w * w + a for w, *_ in partners) / ws**2)]
    opinions = [
        steps(sum(o for _, o in present) / os),
        steps(sum(w for w, _ in present) / ws),
        steps(sum(w * w + a for w, _ in present) / ws**2),
        steps(sum(w * o for w, o in present) / ws / os),
    ]
    outcome = vote.outcome(
        [Tally(COPIES * len(partners), np.array(weights)), Tally(COPIES * len(present), np.array([opinions]))]
    )
    result = first(outcome)
    support = sum(w * o for w, o in present)
    total = sum(w for w, *_ in partners)
    held_against = tau * total + (vote.parameters.quota or 0.0) / COPIES
    assert outcome.total_weight.value / COPIES == pytest.approx(total)
    assert result.support.value / COPIES == pytest.approx(support)
    assert result.quota.value / COPIES == pytest.approx(held_against)
    assert result.margin.value / COPIES == pytest.approx(support - held_against)
    assert result.bias == 0

    def exact(fraction: float) -> float:
        of_present = sum((w * w + a) * ((o - fraction) ** 2 + b) - (w * (o - fraction)) ** 2 for w, o in present)
        return of_present + fraction**2 * a * (len(partners) - len(present))

    assert result.margin.standard_error**2 / COPIES == pytest.approx(exact(tau), rel=1e-5)
    assert result.support.standard_error**2 / COPIES == pytest.approx(exact(0.0), rel=1e-5)
    assert outcome.total_weight.standard_error**2 / COPIES == pytest.approx(a * len(partners))
    assert result.quota.standard_error**2 / COPIES == pytest.approx(tau**2 * a * len(partners))


@pytest.mark.parametrize("quota", [{}, {"quota_fraction": 0.25}, {"quota": 5.0}])
def test_public_weights_need_opinions_alone(quota: dict[str, Any]) -> None:
    """Three of weight 1, Σφ̃ = 2½; two of weight 3, Σφ̃ = ½: support 4, total 9, variance b(3·1 + 2·9)."""
    vote = make_vote(public_weights=True, weights=(1.0, 3.0), epsilon=1.0, **quota)
    grids = LaplaceGrids(vote.parameters)
    half = grids.opinion.greatest // 2
    outcome = vote.outcome([Tally(5, np.array([[[3, 5 * half], [2, half]]]))])
    result = first(outcome)
    held_against = quota.get("quota", 9 * quota.get("quota_fraction", 0.5))
    assert (outcome.total_weight.value, outcome.total_weight.standard_error) == (9.0, 0.0)
    assert (result.support.value, result.quota.value, result.margin.value) == (4.0, held_against, 4 - held_against)
    assert result.quota.standard_error == 0
    variance = second_moment(grids.opinion) * grids.opinion_step**2 * 21
    assert result.margin.standard_error == pytest.approx(math.sqrt(variance))
    assert result.support.standard_error == pytest.approx(math.sqrt(variance))
    assert outcome.num_partners == 5


def test_weights_collected_for_each_candidate_are_averaged() -> None:
    vote = make_vote(candidates=("a", "b"), weight_collection="per_candidate", epsilon=1.0)
    grids = LaplaceGrids(vote.parameters)
    one = round(1 / grids.weight_step)
    opinions = Tally(10, np.array([[0, 20 * one, 40 * one**2, 0]]))
    rounds = [Tally(10, np.array([total * one, 40 * one**2])) for total in (16, 24)]
    outcome = vote.outcome([rounds[0], opinions, rounds[1], opinions])
    noise = grids.weight.noise_variance * grids.weight_step**2
    assert outcome.total_weight.value == 20.0
    assert outcome.total_weight.standard_error == pytest.approx(math.sqrt(10 * noise / 2))
    assert [candidate.quota.value for candidate in outcome.candidates] == [8.0, 12.0]
    assert [candidate.margin.value for candidate in outcome.candidates] == [-8.0, -12.0]
    assert outcome.candidates[0].quota.standard_error == pytest.approx(math.sqrt(10 * noise) / 2)


def test_the_variance_stays_within_what_is_possible() -> None:
    """Sums that no values could have: Σφ̃ far beyond n, Σw̃² below n·w²_min + n·a."""
    vote = make_vote(quota=5.0, epsilon=1.0)
    grids = LaplaceGrids(vote.parameters)
    a = grids.weight.noise_variance * grids.weight_step**2
    b = grids.opinion.noise_variance * grids.opinion_step**2
    of_weights = Tally(4, np.array([0, 0]))
    few = first(vote.outcome([of_weights, Tally(4, np.array([[-(10**6), 0, 0, 0]]))]))
    assert few.margin.standard_error**2 == pytest.approx(4 * (b * 1 + a * b))
    many = first(vote.outcome([of_weights, Tally(4, np.array([[10**6, 0, 10**12, 0]]))]))
    assert many.margin.standard_error**2 == pytest.approx(4 * (b * 9 + a + a * b))


def test_the_baseline_does_not_tell_how_many_hold_a_weight() -> None:
    vote = make_vote()
    outcome = vote.outcome([Tally(1, np.array([64, 4096])), Tally(1, np.array([[0, 64, 4096, 0]]))])
    assert outcome.weight_counts == ()
