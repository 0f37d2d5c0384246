"""The Laplace baseline: its grids, its exact moments, and its standard errors against the noise's own law.

Tallies at which every sum is at its expectation stand for many copies of a few partners, rounded to integers.
"""

import functools
import itertools
import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
import scipy
from hypothesis import example, given
from hypothesis import strategies as st
from makers import as_usual, vote_of
from numpy.polynomial import Polynomial
from psephos.protocol import Tally
from psephos.protocol.arrays import FloatArray
from psephos.protocol.dpwevote import CandidateOutcome, DPWeVote, Outcome, Parameters
from psephos.protocol.dpwevote.laplace import LaplaceGrids, LaplaceVariant
from psephos.protocol.elementary import quotient_up
from psephos.protocol.estimators import Verdict
from psephos.protocol.mechanisms import CLAMP_IN_SCALES, MAX_EPSILON, DiscreteLaplace
from strategies import CHECKED, told
from vote_margins import margin_of

# What a report never reaches, and how many partners may then be added up in 64 bits.
LIMIT = 2**19
MOST_PARTNERS = 2**24

# So many copies that rounding the sums to integers moves nothing by more than about 1e-6.
COPIES = 1 << 22

PARTIES: list[tuple[tuple[float, int, bool], ...]] = [  # weight, opinion, absent from the opinions
    ((1.0, 1, False), (3.0, 0, False), (2.0, 1, False)),
    ((3.0, 1, False), (3.0, 1, False)),
    ((3.0, 1, False), (1.0, 0, False), (2.0, 1, True), (3.0, 0, True)),
]
QUOTAS: list[dict[str, Any]] = [{}, {"quota_fraction": 0.25}, {"quota_fraction": 1.0}, {"quota": 5e6}]


make_vote = as_usual(vote_of, candidates=("a",), variant="laplace")


def first(outcome: Outcome) -> CandidateOutcome:
    return outcome.candidates[0]


@functools.cache
def second_moment(mechanism: DiscreteLaplace) -> float:
    """Return E[x²] of the noise, summed over its law."""
    noise = np.arange(1, math.ceil(50 * mechanism.scale), dtype=np.float64)
    law = mechanism.noise_probability(1) * np.exp((1 - noise) / mechanism.scale)
    return 2 * float(np.sum(noise**2 * law))


def greatest_report(steps: int, *, epsilon: float) -> int:
    """Return how far a report may be from the least value, where values span so many grid steps."""
    return steps + math.ceil(CLAMP_IN_SCALES * quotient_up(steps, epsilon))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("weights", [(1.0, 2.0, 3.0), (0.5, 7.25), (1.0, 2.5, 100.0)])
def test_the_grids_are_powers_of_two_and_hold_the_losses_exactly(weights: tuple[float, ...], epsilon: float) -> None:
    parameters = Parameters(candidates=("a",), variant="laplace", weights=weights, epsilon=epsilon)
    grids = LaplaceGrids(parameters)
    least, *_, greatest = grids.weights_on_grid
    for step in (grids.weight_step, grids.opinion_step):
        assert math.frexp(step)[0] == 0.5
    assert least == 0
    assert grids.weight.value_range == (0, greatest)
    assert grids.weight.scale == quotient_up(greatest, epsilon / 2)
    assert grids.opinion.value_range == (0, round(1 / grids.opinion_step))
    assert grids.opinion.scale == quotient_up(round(1 / grids.opinion_step), epsilon / 2)
    moved = [
        abs(Fraction(weight) - Fraction(weights[0]) - steps * Fraction(grids.weight_step))
        for weight, steps in zip(weights, grids.weights_on_grid, strict=True)
    ]
    assert max(moved) <= Fraction(grids.weight_step) / 2
    assert grids.rounding == float(max(moved))
    # Reading W3: the scales are those of the continuum, and so is the variance to within 1/(12 · 2900²).
    assert grids.weight.scale * grids.weight_step == pytest.approx((weights[-1] - weights[0]) / (epsilon / 2))
    assert grids.opinion.scale * grids.opinion_step == pytest.approx(1 / (epsilon / 2))
    for mechanism in (grids.weight, grids.opinion):
        assert mechanism.scale > 2900
        assert second_moment(mechanism) == pytest.approx(2 * mechanism.scale**2, rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.002, 0.05, 0.5, 1.0, 3.0, 20.0, 30.0])
@pytest.mark.parametrize("weights", [(1.0, 2.0, 3.0), (0.5, 7.25), (1.0, 2.5, 100.0)])
def test_no_finer_grid_would_hold_the_reports(weights: tuple[float, ...], epsilon: float) -> None:
    """All of these weights are on the grids concerned, so that rounding plays no part."""
    grids = LaplaceGrids(Parameters(candidates=("a",), variant="laplace", weights=weights, epsilon=epsilon))
    for spread, step, mechanism in (
        (weights[-1] - weights[0], grids.weight_step, grids.weight),
        (1.0, grids.opinion_step, grids.opinion),
    ):
        steps = round(spread / step)
        reach = greatest_report(steps, epsilon=epsilon / 2)
        assert mechanism.report_range == (steps - reach, reach)
        assert reach < LIMIT <= greatest_report(2 * steps, epsilon=epsilon / 2)


@CHECKED
@given(st.floats(1.0, 2.0), st.floats(math.log(LaplaceVariant.least_epsilon), math.log(MAX_EPSILON)).map(math.exp))
@example(1.0, LaplaceVariant.least_epsilon)
@example(1.0, MAX_EPSILON)
@example(1.075, LaplaceVariant.least_epsilon)  # 8.6 of the grid's steps, rounded up to 9
def test_reports_stay_below_their_limit(spread: float, epsilon: float) -> None:
    """Whatever the weights' spread, and although rounding it to the grid may widen it by half a step."""
    loss = min(max(epsilon, LaplaceVariant.least_epsilon), MAX_EPSILON)
    vote = make_vote(weights=(1.0, 1.0 + spread), epsilon_weight=loss, epsilon_opinion=loss)
    for phase in vote.phases:
        low, high = phase.mechanism.report_range
        assert max(-low, high) < LIMIT


@pytest.mark.parametrize(
    ("weights", "epsilon"),
    [
        ((1.0, 2.0, 3.0), LaplaceVariant.least_epsilon),
        ((1.0, 9.6), LaplaceVariant.least_epsilon),
        ((1.0, 2.0, 3.0), 1.0),
        ((1.0, 1.0 + 2.0**-22, 3000.0), 2.0),
        ((0.3, 1.7, 9.1), 4.0),
        ((1.0, 2.0**36), MAX_EPSILON),
    ],
)
def test_sums_over_sixteen_million_partners_at_the_edge_of_the_range_are_exact(
    weights: tuple[float, ...], epsilon: float
) -> None:
    """Σ v² and Σ v·u are the largest; one partner's tally is doubled 24 times."""
    vote = make_vote(weights=weights, epsilon_weight=epsilon, epsilon_opinion=epsilon)
    of_weights, of_opinions = vote.phases
    grids, none = LaplaceGrids(vote.parameters), np.empty((1, 0), dtype=np.int64)
    for v, u in itertools.product(of_weights.mechanism.report_range, of_opinions.mechanism.report_range):
        reported = np.array([[v]])
        tallies = [
            of_weights.tally(reported, earlier=[], public=none),
            of_opinions.tally(np.array([[u]]), earlier=[reported], public=none),
        ]
        for _ in range(24):
            tallies = [tally.merge(tally) for tally in tallies]
        assert [tally.num_reports for tally in tallies] == [MOST_PARTNERS] * 2
        assert tallies[0].totals.tolist() == [MOST_PARTNERS * v, MOST_PARTNERS * v**2]
        assert tallies[1].totals.tolist() == [[MOST_PARTNERS * n for n in (u, v, v**2, v * u)]]
        outcome = vote.outcome(tallies)
        weight = Fraction(weights[0]) + v * Fraction(grids.weight_step)
        assert told(outcome.total_weight).value == float(MOST_PARTNERS * weight)
        assert told(first(outcome).support).value == float(MOST_PARTNERS * weight * u * Fraction(grids.opinion_step))
        assert math.isfinite(margin_of(first(outcome)).standard_error)


@pytest.mark.parametrize("weights", [(1.5, 2.5), (0.5, 1.5, 2.5), (1.0, 1.5, 2.5)])
@pytest.mark.parametrize("epsilon", [0.004, 0.01, 1.0])
def test_different_weights_stay_different_on_the_grid(weights: tuple[float, ...], epsilon: float) -> None:
    parameters = Parameters(candidates=("a",), variant="laplace", weights=weights, epsilon=epsilon)
    on_grid = LaplaceGrids(parameters).weights_on_grid
    assert all(a < b for a, b in itertools.pairwise(on_grid))


def test_weights_between_two_points_of_the_grid_are_rounded_up() -> None:
    """At ε_w = 1/2 the grid's step is 2⁻¹¹: 2½ steps become 3 and 3½ become 4, where half to even would say 2 and 4."""
    step = 2.0**-11
    weights = (1.0, 1.0 + 2.5 * step, 1.0 + 3.5 * step, 1.0 + 3.75 * step, 3.0)
    grids = LaplaceGrids(Parameters(candidates=("a",), variant="laplace", weights=weights, epsilon=1.0))
    assert grids.weight_step == step
    assert grids.weights_on_grid == (0, 3, 4, 4, 4096)
    assert grids.rounding == step / 2


@pytest.mark.parametrize("quota", [{}, {"quota_fraction": 0.25}, {"quota_fraction": 0.9}, {"quota": 2.0}])
@pytest.mark.parametrize("epsilon", [0.002, 0.1, 1.0, 4.0])
@pytest.mark.parametrize(
    "weights", [(1.0, 2.0, 3.0), (1.0, 2.3), (0.3, 1.7, 9.1), (1.0, 9.6), (1.0, 1.0 + 2.0**-22, 3000.0)]
)
def test_the_stated_bound_is_the_most_by_which_rounding_to_the_grid_moves_a_margin(
    weights: tuple[float, ...], epsilon: float, quota: dict[str, Any]
) -> None:
    """A partner adds w̃φ̃ − τw̃ with E[w̃] the rounded weight: (E[w̃] − w)(φ − τ) is what the mean misses."""
    vote = make_vote(weights=weights, epsilon=epsilon, **quota)
    grids, tau = LaplaceGrids(vote.parameters), vote.parameters.fraction
    least, step = Fraction(weights[0]), Fraction(grids.weight_step)
    most = max(
        abs((least + steps * step - Fraction(weight)) * (opinion - Fraction(tau)))
        for weight, steps in zip(weights, grids.weights_on_grid, strict=True)
        for opinion in (0, 1)
    )
    tallies = [Tally(7, np.array([0, 0])), Tally(7, np.array([[0, 0, 0, 0]]))]
    assert vote.outcome(tallies).weight_bias_bound == pytest.approx(7 * float(most), rel=1e-12)


def test_public_weights_are_not_rounded() -> None:
    vote = make_vote(public_weights=True, weights=(0.3, 1.7, 9.1))
    assert vote.outcome([Tally(3, np.array([[[1, 0], [1, 0], [1, 0]]]))]).weight_bias_bound == 0


@pytest.mark.parametrize("weights", [(1.0, 2.0, 3.0), (0.1, 0.3), (0.3, 1.7, 9.1)])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 7, 1000])
@pytest.mark.parametrize("public", [True, False])
def test_halves_are_a_tie(number: int, weights: tuple[float, ...], *, public: bool) -> None:
    """All opinions come out as one half: Σ w̃(φ̃ − 1/2) is 0, and a tie passes (W4), whatever bits the weights have."""
    given: dict[str, Any] = {"weights": weights, "public_weights": public, "epsilon": 1.0}
    vote = make_vote(**given)
    half = LaplaceGrids(vote.parameters).opinion.greatest // 2
    if public:
        tallies = [Tally(number * len(weights), np.array([[[number, number * half]] * len(weights)]))]
    else:
        v = 1235
        of_weights = np.array([number * v, number * v**2])
        tallies = [
            Tally(number, of_weights),
            Tally(number, np.array([[number * half, *of_weights, number * v * half]])),
        ]
    assert margin_of(first(vote.outcome(tallies))).value == 0
    assert vote.outcome(tallies).candidates[0].leans_yes
    assert not make_vote(**given, passes="more_than").outcome(tallies).candidates[0].leans_yes


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
    published: Any = vote.phases[0].outcome([Tally(9, np.array([round((20 - 9 * 1) / grids.weight_step), 0]))])
    assert (published.total_weight.value, published.quota.value) == (20.0, quota)
    of_total = math.sqrt(9 * second_moment(grids.weight)) * grids.weight_step
    assert published.total_weight.standard_error == pytest.approx(of_total)
    assert published.quota.standard_error == pytest.approx(vote.parameters.fraction * of_total)


def test_opinions_are_added_for_each_public_weight() -> None:
    (opinions,) = make_vote(candidates=("a", "b"), public_weights=True).phases
    public = np.array([[2, 2], [0, 0], [2, 2]])
    tally = opinions.tally(np.array([[1, 4], [2, 0], [-3, 1]]), earlier=[], public=public)
    assert tally.totals.tolist() == [[[1, 2], [0, 0], [2, -2]], [[1, 0], [0, 0], [2, 5]]]


@pytest.mark.parametrize("partners", PARTIES)
@pytest.mark.parametrize("quota", QUOTAS)
def test_the_estimates_at_expected_sums_are_true_and_have_the_exact_variance(
    partners: tuple[tuple[float, int, bool], ...], quota: dict[str, Any]
) -> None:
    """Var[w̃(φ̃ − τ)] = E[w̃²]·E[(φ̃ − τ)²] − (w(φ − τ))² for those who answer, τ²·Var[w̃] for the absent.

    A report is v = (w̃ − 1)/step: E[v] = (w − 1)/step, E[v²] = ((w − 1)² + Var[w̃])/step².
    """
    vote = make_vote(**quota)
    grids, tau = LaplaceGrids(vote.parameters), vote.parameters.fraction
    ws, os = grids.weight_step, grids.opinion_step
    a, b = second_moment(grids.weight) * ws**2, second_moment(grids.opinion) * os**2
    present = [(w, o) for w, o, absent in partners if not absent]

    def steps(number: float) -> int:
        return round(COPIES * number)

    weights = [
        steps(sum(w - 1 for w, *_ in partners) / ws),
        steps(sum((w - 1) ** 2 + a for w, *_ in partners) / ws**2),
    ]
    opinions = [
        steps(sum(o for _, o in present) / os),
        steps(sum(w - 1 for w, _ in present) / ws),
        steps(sum((w - 1) ** 2 + a for w, _ in present) / ws**2),
        steps(sum((w - 1) * o for w, o in present) / ws / os),
    ]
    outcome = vote.outcome(
        [Tally(COPIES * len(partners), np.array(weights)), Tally(COPIES * len(present), np.array([opinions]))]
    )
    result = first(outcome)
    support = sum(w * o for w, o in present)
    total = sum(w for w, *_ in partners)
    held_against = tau * total + (vote.parameters.quota or 0.0) / COPIES
    assert told(outcome.total_weight).value / COPIES == pytest.approx(total)
    assert told(result.support).value / COPIES == pytest.approx(support)
    assert told(result.quota).value / COPIES == pytest.approx(held_against)
    assert margin_of(result).value / COPIES == pytest.approx(support - held_against)
    assert result.bias == 0
    assert outcome.weight_counts == ()

    def exact(fraction: float) -> float:
        of_present = sum((w * w + a) * ((o - fraction) ** 2 + b) - (w * (o - fraction)) ** 2 for w, o in present)
        return of_present + fraction**2 * a * (len(partners) - len(present))

    assert margin_of(result).standard_error ** 2 / COPIES == pytest.approx(exact(tau), rel=1e-5)
    assert told(result.support).standard_error ** 2 / COPIES == pytest.approx(exact(0.0), rel=1e-5)
    assert told(outcome.total_weight).standard_error ** 2 / COPIES == pytest.approx(a * len(partners))
    assert told(result.quota).standard_error ** 2 / COPIES == pytest.approx(tau**2 * a * len(partners))


@pytest.mark.parametrize("quota", [{}, {"quota_fraction": 0.25}, {"quota": 5.0}])
def test_public_weights_need_opinions_alone(quota: dict[str, Any]) -> None:
    """Three of weight 1, Σφ̃ = 2½; two of weight 3, Σφ̃ = ½: support 4, total 9, variance b(3·1 + 2·9)."""
    vote = make_vote(public_weights=True, weights=(1.0, 3.0), epsilon=1.0, **quota)
    grids = LaplaceGrids(vote.parameters)
    half = grids.opinion.greatest // 2
    outcome = vote.outcome([Tally(5, np.array([[[3, 5 * half], [2, half]]]))])
    result = first(outcome)
    held_against = quota.get("quota", 9 * quota.get("quota_fraction", 0.5))
    assert (told(outcome.total_weight).value, told(outcome.total_weight).standard_error) == (9.0, 0.0)
    assert (told(result.support).value, told(result.quota).value, margin_of(result).value) == (
        4.0,
        held_against,
        4 - held_against,
    )
    assert told(result.quota).standard_error == 0
    variance = second_moment(grids.opinion) * grids.opinion_step**2 * 21
    assert margin_of(result).standard_error == pytest.approx(math.sqrt(variance))
    assert told(result.support).standard_error == pytest.approx(math.sqrt(variance))
    assert outcome.num_partners == 5


def test_weights_collected_for_each_candidate_are_averaged() -> None:
    vote = make_vote(candidates=("a", "b"), weight_collection="per_candidate", epsilon=1.0)
    grids = LaplaceGrids(vote.parameters)
    one = round(1 / grids.weight_step)
    opinions = Tally(10, np.array([[0, 10 * one, 40 * one**2, 0]]))
    # Ten partners hold 10 at the least: reports say what is above.
    rounds = [Tally(10, np.array([(total - 10) * one, 40 * one**2])) for total in (16, 24)]
    outcome = vote.outcome([rounds[0], opinions, rounds[1], opinions])
    noise = grids.weight.noise_variance * grids.weight_step**2
    assert told(outcome.total_weight).value == 20.0
    assert told(outcome.total_weight).standard_error == pytest.approx(math.sqrt(10 * noise / 2))
    assert [told(candidate.quota).value for candidate in outcome.candidates] == [8.0, 12.0]
    assert [margin_of(candidate).value for candidate in outcome.candidates] == [-8.0, -12.0]
    assert told(outcome.candidates[0].quota).standard_error == pytest.approx(math.sqrt(10 * noise) / 2)


def test_the_variance_is_raised_to_what_is_possible_and_its_error_for_probabilities_lowered_to_that() -> None:
    """Sums that no values could have: Σφ̃ far beyond n, Σw̃² below n·w²_min + n·a, and far beyond."""
    vote = make_vote(quota=5.0, epsilon=1.0)
    grids = LaplaceGrids(vote.parameters)
    a = grids.weight.noise_variance * grids.weight_step**2
    b = grids.opinion.noise_variance * grids.opinion_step**2
    of_weights = Tally(4, np.array([0, 0]))
    few = first(vote.outcome([of_weights, Tally(4, np.array([[-(10**6), 0, 0, 0]]))]))
    assert margin_of(few).standard_error ** 2 == pytest.approx(4 * (b * 1 + a * b))
    many = first(vote.outcome([of_weights, Tally(4, np.array([[10**6, 0, 10**12, 0]]))]))
    assert margin_of(many).standard_error ** 2 > 4 * (b * 9 + a + a * b)


# Bounds on errors, by enumeration of the noise of a weight's report; given that, an opinion's has closed forms.
FRACTIONS: list[float] = [0.25, 0.5, 0.9]


def law_of(mechanism: DiscreteLaplace, *, scales: int) -> tuple[Any, Any]:
    """Return noise in steps, as far as so many scales, and its law."""
    reach = math.ceil(scales * mechanism.scale)
    noise = np.arange(-reach, reach + 1, dtype=np.float64)
    return noise, mechanism.noise_probability(0) * np.exp(-np.abs(noise) / mechanism.scale)


@functools.cache
def even_moments(mechanism: DiscreteLaplace, step: float, most: int) -> list[float]:
    """Return E X^j of noise by its law, j = 0, 1, …; odd ones vanish."""
    noise, powers = law_of(mechanism, scales=90)
    found = list[float]()
    for j in range(most):
        found.append(float(powers.sum()) if j % 2 == 0 else 0.0)
        powers *= noise * step
    return found


def moments_of(vote: DPWeVote, weight: float, opinion: float, most: int) -> list[float]:
    """Return E d^j of what a report adds less its mean: ((w + X)·Y + (φ − τ)·X)^j, a polynomial of X for each Y^k."""
    grids, c = LaplaceGrids(vote.parameters), opinion - vote.parameters.fraction
    x = even_moments(grids.weight, grids.weight_step, 2 * most)
    y = even_moments(grids.opinion, grids.opinion_step, most)
    found = list[float]()
    for j in range(most):
        terms = list[float]()
        for k in range(j + 1):
            power = Polynomial([weight, 1.0]) ** k * Polynomial([0.0, c]) ** (j - k)
            terms += [math.comb(j, k) * y[k] * own * x[place] for place, own in enumerate(map(float, power.coef))]
        found.append(math.fsum(terms))
    return found


def variant_of(vote: DPWeVote) -> LaplaceVariant:
    kind = vote.parameters.kind(vote.parameters)
    assert isinstance(kind, LaplaceVariant)
    return kind


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_bounds_on_moments_are_those_of_the_worst_partner(fraction: float) -> None:
    """Of each weight, for each opinion; the greatest is attained, so that no bound is larger than it has to be."""
    vote = make_vote(weights=(1.0, 3.5), epsilon=2.0, quota_fraction=fraction)
    variant, most = variant_of(vote), 7
    units = [variant._unit**j for j in range(most)]  # pyright: ignore[reportPrivateUsage]  bounds that no result shows by themselves
    bounds = [bound * unit for bound, unit in zip(variant._moments[:most], units, strict=True)]  # pyright: ignore[reportPrivateUsage]  likewise
    each = {(w, o): moments_of(vote, w, o, most) for w in vote.parameters.weights for o in (0.0, 1.0)}
    for moments in each.values():
        assert all(abs(own) <= bound * (1 + 1e-9) for own, bound in zip(moments, bounds, strict=True))
    worst = each[3.5, 0.0 if fraction > 0.5 else 1.0]
    assert [abs(own) for own in worst] == pytest.approx(bounds, rel=1e-7, abs=1e-9)
    assert variant.worst_variance == pytest.approx(max(moments[2] for moments in each.values()), rel=1e-7)


def tail_of_products(vote: DPWeVote, weight: float, opinion: float, reach: float) -> float:
    """Return P[(w + X)·Y + (φ − τ)·X ≥ reach], by a sum over all X."""
    grids, c = LaplaceGrids(vote.parameters), opinion - vote.parameters.fraction
    noise, law = law_of(grids.weight, scales=40)
    x = noise * grids.weight_step
    held = np.maximum(np.abs(weight + x), 1e-9)  # Y is as likely as −Y
    steps: FloatArray = np.ceil((reach - c * x) / held / grids.opinion_step)
    scale = grids.opinion.scale
    beyond: FloatArray = np.exp(-np.abs(np.where(steps > 0, steps, 1 - steps)) / scale) / (1 + math.exp(-1 / scale))
    return float(np.sum(law * np.where(steps > 0, beyond, 1 - beyond)))


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_noise_reaches_the_reach_of_one_report_no_more_often_than_the_level(fraction: float) -> None:
    vote = make_vote(weights=(1.0, 3.0), epsilon=2.0, quota_fraction=fraction)
    variant, level = variant_of(vote), vote.parameters.level
    reach = variant.reach([1])
    tails = [tail_of_products(vote, w, o, reach) for w in vote.parameters.weights for o in (0.0, 1.0)]
    assert max(tails) <= level
    assert max(tail_of_products(vote, 3.0, o, reach / 3) for o in (0.0, 1.0)) > level
    assert variant.reach([4]) > 1.5 * reach
    # And what rounding does to weights comes on top of it.
    rough = variant_of(make_vote(weights=(1.0, 1.7, 3.0), epsilon=2.0, quota_fraction=fraction))
    noise = rough._noise_reach([4])  # pyright: ignore[reportPrivateUsage]  likewise
    assert rough.reach([4]) - noise == pytest.approx(rough.bias_bound(4)) != 0
    assert variant.reach([0]) == math.inf


def test_noise_in_votes_of_public_weights_reaches_their_reach_no_more_often_than_the_level() -> None:
    """Of a partner of weight 1 and another one of weight 3: a sum over the noise of the first one."""
    vote = make_vote(weights=(1.0, 3.0), epsilon=2.0, public_weights=True)
    variant, grids = variant_of(vote), LaplaceGrids(vote.parameters)
    noise, law = law_of(grids.opinion, scales=40)

    def tail(reach: float) -> float:
        steps: FloatArray = np.ceil((reach / grids.opinion_step - noise) / 3)
        beyond: FloatArray = np.exp(-np.where(steps > 0, steps, 1 - steps) / grids.opinion.scale)
        beyond /= 1 + math.exp(-1 / grids.opinion.scale)
        return float(np.sum(law * np.where(steps > 0, beyond, 1 - beyond)))

    reach = variant.reach([1, 1])
    assert tail(reach) <= vote.parameters.level < tail(reach / 2)
    assert variant.reach([0, 4]) > 1.5 * variant.reach([0, 1]) > 3 * variant.reach([1, 0])
    assert variant.reach([0, 0]) == math.inf


@pytest.mark.parametrize("level", [0.2, 0.05, 0.001])
def test_noise_of_some_partners_of_one_public_weight_reaches_its_reach_no_more_often_than_the_level(
    level: float,
) -> None:
    """On the grid that it is on, of which each point has a mass: exactly, by adding its law up."""
    vote = make_vote(weights=(1.0, 3.0), epsilon=2.0, public_weights=True, level=level)
    variant, grids = variant_of(vote), LaplaceGrids(vote.parameters)
    noise, law = law_of(grids.opinion, scales=25)
    sums: FloatArray = noise
    masses: FloatArray = law
    for number in (1, 2, 3):
        for weight, numbers in ((1, [number, 0]), (3, [0, number])):
            reach = variant.reach(numbers) / (weight * grids.opinion_step)
            assert float(masses[sums >= reach].sum()) <= level < float(masses[sums >= 0.9 * reach].sum())
        sums = np.arange(float(sums[0] + noise[0]), float(sums[-1] + noise[-1] + 1))
        masses = cast("FloatArray", scipy.signal.fftconvolve(masses, law))


def test_who_reports_a_weight_alone_adds_the_noise_of_its_share_of_the_quota() -> None:
    """With τ = ¼, two of whom nobody reports an opinion: 2·τ²·Var[w̃]. However far the quota is, nothing is decided."""
    vote = make_vote(weights=(1.0, 3.0), epsilon=2.0, quota_fraction=0.25)
    grids = LaplaceGrids(vote.parameters)
    outcome = vote.outcome([Tally(2, np.array([10**9, 10**18 // 2])), Tally(0, np.array([[0, 0, 0, 0]]))])
    variance = second_moment(grids.weight) * grids.weight_step**2
    assert margin_of(first(outcome)).standard_error ** 2 == pytest.approx(2 * variance / 16, rel=1e-6)
    assert margin_of(first(outcome)).value < -10_000
    assert first(outcome).verdict.verdict is Verdict.TOO_CLOSE
