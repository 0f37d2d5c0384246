"""What all seven variants keep: contributions that add up to the margins, rows that are read back."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from bad_input import refuses
from makers import as_usual, vote_of
from psephos.protocol import SimulatedNoise, run_population
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote.variant import unit_of
from psephos.protocol.estimators import Verdict
from psephos.protocol.population import draw_reports
from vote_margins import margin_of

CASES: list[dict[str, Any]] = [
    *({"variant": variant} for variant in ("joint", "printed", "laplace", "two_point", "signed_rr", "optimal", "auto")),
    *({"variant": variant, "public_weights": True} for variant in ("joint", "printed", "laplace", "auto")),
    *({"variant": variant, "weight_collection": "per_candidate"} for variant in ("joint", "printed", "laplace")),
    *({"variant": variant, "groups": ((0.1, 1.3), (2.7, 7.9))} for variant in ("joint", "printed", "optimal")),
]
QUOTAS: list[dict[str, Any]] = [{}, {"quota_fraction": 2 / 3}, {"quota": 41.7}]
WEIGHTS = (0.1, 1.3, 2.7, 7.9)

every_case = pytest.mark.parametrize("case", CASES, ids=str)


make_vote = as_usual(vote_of, candidates=("a", "b", "c"), weights=WEIGHTS, epsilon=2.0)


def rows(number: int) -> dict[str, list[Any]]:
    generator = np.random.default_rng(8)
    opinions = generator.integers(0, 2, (3, number)).tolist()
    return {"weight": generator.choice(WEIGHTS, number).tolist(), **dict(zip("abc", opinions, strict=True))}


@pytest.mark.unmeasured
@every_case
@pytest.mark.parametrize("quota", QUOTAS, ids=str)
def test_contributions_add_up_to_the_margins(case: dict[str, Any], quota: dict[str, Any]) -> None:
    """Less a fixed quota, up to rounding; a row for each partner, a column for each candidate."""
    vote = make_vote(**case, **quota)
    inputs = vote.encode(rows(200))
    noise = SimulatedNoise(4, session="s")
    reports: list[IntArray] = [
        draw_reports(phase, inputs, noise=noise, protocol=vote.name, start=0) for phase in vote.phases
    ]
    contributions = vote.contributions(reports, inputs.public)
    assert contributions.shape == (200, 3)
    assert contributions.dtype == np.float64
    outcome = run_population(vote, inputs, noise=noise).outcome
    sums = contributions.sum(axis=0) - (vote.parameters.quota or 0)
    size = float(np.abs(contributions).sum())
    for number, candidate in enumerate(outcome.candidates):
        assert margin_of(candidate).value == pytest.approx(float(sums[number]), abs=1e-13 * size)


@every_case
def test_a_contribution_depends_on_its_own_reports_alone(case: dict[str, Any]) -> None:
    vote = make_vote(**case)
    inputs = vote.encode(rows(50))
    noise = SimulatedNoise(4, session="s")
    reports = [draw_reports(phase, inputs, noise=noise, protocol=vote.name, start=0) for phase in vote.phases]
    whole = vote.contributions(reports, inputs.public)
    half = vote.contributions([of_phase[25:] for of_phase in reports], inputs.public[25:])
    np.testing.assert_array_equal(half, whole[25:])


@every_case
@pytest.mark.parametrize("quota", [*QUOTAS, {"quota_fraction": 1.0}], ids=str)
def test_rows_are_read_back_as_they_were_made(case: dict[str, Any], quota: dict[str, Any]) -> None:
    """And the truth is their noise-free count; it speaks of the weights, not of their groups."""
    vote = make_vote(**case, **quota)
    table = rows(60)
    inputs = vote.encode(table)
    answers = vote._variant.decode(inputs)  # pyright: ignore[reportPrivateUsage]  what truths are made of
    assert [WEIGHTS[place] for place in answers.places.tolist()] == table["weight"]
    assert answers.opinions.T.tolist() == [table[name] for name in "abc"]
    of_all = math.fsum(table["weight"])
    supports = {name: math.fsum(itertools.compress(table["weight"], table[name])) for name in "abc"}
    threshold = quota.get("quota", of_all * quota.get("quota_fraction", 0.5))
    assert vote.truth(inputs) == pytest.approx({**supports, "total weight": of_all, "quota": threshold})


@pytest.mark.parametrize("case", [case for case in CASES if case.keys() <= {"variant", "public_weights"}], ids=str)
@pytest.mark.parametrize("weights", [(1e-9, 1e15), (1e-9, math.nextafter(1e-9, 1)), (math.nextafter(1e15, 0), 1e15)])
@pytest.mark.parametrize("epsilon", [0.002, 30.0])
def test_the_least_and_the_greatest_weights_have_finite_estimates(
    case: dict[str, Any], weights: tuple[float, ...], epsilon: float
) -> None:
    vote = make_vote(**case, candidates=("a", "b"), weights=weights, epsilon=epsilon)
    inputs = vote.encode({"weight": list(weights) * 5, "a": [1, 0] * 5, "b": [0, 1] * 5})
    outcome = run_population(vote, inputs, noise=SimulatedNoise(5, session="s")).outcome
    estimates = [outcome.total_weight]
    for candidate in outcome.candidates:
        estimates += [candidate.support, candidate.quota, candidate.margin]
    told = [estimate for estimate in estimates if estimate is not None]
    assert math.isfinite(outcome.weight_bias_bound)
    assert all(math.isfinite(estimate.value) and 0 <= estimate.standard_error < math.inf for estimate in told)


@every_case
@pytest.mark.parametrize("quota", QUOTAS, ids=str)
def test_a_support_comes_with_its_quota_or_not_at_all(case: dict[str, Any], quota: dict[str, Any]) -> None:
    """Where both are told, the margin is their difference up to what the printed rule does to none of them."""
    vote = make_vote(**case, **quota)
    outcome = run_population(vote, vote.encode(rows(60)), noise=SimulatedNoise(4, session="s")).outcome
    tells = not vote.parameters.reports_signed_weights
    assert (outcome.total_weight is not None) == tells
    for candidate in outcome.candidates:
        assert (candidate.support is None) == (candidate.quota is None) == (not tells and not quota.get("quota"))
        if candidate.support is not None and candidate.quota is not None:
            difference = candidate.support.value - candidate.quota.value
            assert margin_of(candidate).value == pytest.approx(difference, abs=1e-9)


def test_weights_lie_on_a_lattice() -> None:
    half = Fraction(1, 2)
    assert unit_of([Fraction(1), Fraction(2), half]) == half
    assert unit_of([Fraction(3, 10), Fraction(9, 20)]) == Fraction(3, 20)


@pytest.mark.bad_input("a level outside (0, 1/2)")
@pytest.mark.parametrize("level", [0.0, 0.5, float("nan")])
def test_a_level_that_cannot_be_is_refused(level: float) -> None:
    with refuses("level"):
        make_vote(level=level)


def test_several_verdicts_are_wrong_at_most_as_often_as_all_their_levels_together() -> None:
    vote = make_vote(level=0.01)
    inputs = vote.encode(rows(5))
    assert run_population(vote, inputs, noise=SimulatedNoise(5, session="s")).outcome.joint_level == 0.03


@every_case
def test_each_side_of_a_margin_has_a_reach_of_its_own_by_each_key(case: dict[str, Any]) -> None:
    """Whichever is asked for first: reports may be skewed, and sessions of many keys are judge at once."""
    parameters = make_vote(**case).parameters
    variant = parameters.kind(parameters)
    more = variant.bias_bound(10) + variant.rounding_bound(10)
    reaches = {("a", 1.0): 5.0, ("a", -1.0): 2.0, ("b", 1.0): 1.0, ("b", -1.0): 7.0}
    for order in itertools.permutations(reaches):
        margins = np.array([sign * (reaches[key, sign] + more + off) for key, sign in order for off in (-0.5, 0.5)])
        keys = [key for key, _ in order for _ in range(2)]
        found = variant.judge(margins, keys, lambda key, sign: reaches[key, sign], num_partners=10)
        sure = {1.0: Verdict.PASSES, -1.0: Verdict.FAILS}
        assert found == [verdict for _, sign in order for verdict in (Verdict.TOO_CLOSE, sure[sign])]


@every_case
@pytest.mark.parametrize("quota", QUOTAS, ids=str)
def test_nothing_true_is_outside_of_what_is_said_to_be_possible(case: dict[str, Any], quota: dict[str, Any]) -> None:
    """Of the votes that are farthest, and all weights alike: each end is reached where all weigh most, or least."""
    vote = make_vote(**case, **quota)
    supports: list[float] = []
    for weight, opinion in itertools.product(WEIGHTS, (0, 1)):
        inputs = vote.encode({"weight": [weight] * 20, **dict.fromkeys("abc", [opinion] * 20)})
        possible = run_population(vote, inputs, noise=SimulatedNoise(1, session="s")).outcome.possible
        true = vote.truth(inputs)
        told = {
            "support": true["a"],
            "total_weight": true["total weight"],
            "quota": true["quota"],
            "margin": true["a"] - true["quota"],
        }
        for name, number in told.items():
            low, high = getattr(possible, name)
            assert low - 1e-9 <= number <= high + 1e-9, (name, weight, opinion)
        supports.append(possible.support[1])
    assert max(supports) == pytest.approx(20 * WEIGHTS[-1])
