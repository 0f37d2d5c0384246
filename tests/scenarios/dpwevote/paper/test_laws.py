"""What is expected without drawing, against formulas worked by hand and against draws."""

import itertools
import math

import numpy as np
import pytest
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse
from psephos.scenarios.dpwevote.paper import runs as module
from psephos.scenarios.dpwevote.paper.laws import chance_of_passing, expected_quota_error, law_of, normal_accuracy
from psephos.scenarios.dpwevote.paper.runs import VoteCells, runs_behind
from psephos.scenarios.dpwevote.paper.workloads import FIXED, UNIFORM, Workload, make_vote
from psephos.scenarios.experiments.paper_files import rows_beside

ALL_HEAVY, FEW_HEAVY = FIXED
WEIGHTS = np.array([1.0, 2.0, 3.0])
TRUE = np.array([-0.5, 0.5, -1.0, 1.0, -1.5, 1.5])


@pytest.mark.parametrize("variant", ["joint", "laplace", "two_point", "signed_rr", "optimal"])
def test_unbiased_variants_contribute_the_truth_on_average(variant: str) -> None:
    law = law_of(make_vote(variant, epsilon=1.0))
    np.testing.assert_allclose(law.means, TRUE, atol=1e-3)  # the Laplace baseline's grid


def test_the_printed_rule_shrinks_weights_towards_their_mean() -> None:
    """E = (c·w + 2(1 − c))·φ − w/2 with c = (3p − 1)/2 (reading W2)."""
    law = law_of(make_vote("printed", epsilon=2.0))
    c = (3 * math.e / (math.e + 2) - 1) / 2
    expected = [(c * w + 2 * (1 - c)) * opinion - w / 2 for w in WEIGHTS for opinion in (0, 1)]
    np.testing.assert_allclose(law.means, expected, rtol=1e-12, atol=1e-12)
    assert np.abs(law.means - TRUE).max() == pytest.approx(1 - c)


def test_the_two_point_law_by_hand() -> None:
    """Reports ±1.5/tanh(ε/2): E[t²] is their square, and the third central moment −2v·(E[t²] − v²).

    Reports are unbiased, so that the limit has ρ = √(E[v²]/E[t²]): accuracy .608 at ε = 1.
    """
    vote = make_vote("two_point", epsilon=1.0)
    law, square = law_of(vote), (1.5 / math.tanh(0.5)) ** 2
    np.testing.assert_allclose(law.variances, square - TRUE**2, rtol=1e-12)
    np.testing.assert_allclose(law.thirds, -2 * TRUE * (square - TRUE**2), rtol=1e-9)
    assert law.mean_variance == pytest.approx(square - 14 / 12)
    limit = 0.5 + math.asin(math.sqrt(14 / 12 / square)) / math.pi
    assert normal_accuracy(vote, UNIFORM, 10) == pytest.approx(limit, rel=1e-9)


def test_the_laplace_law_by_hand() -> None:
    """Noise variances 8/ε₁² and 2/ε₂² with ε₁ = ε₂ = ½ (reading W3), but for the grid."""
    law = law_of(make_vote("laplace", epsilon=1.0))
    of_weight, of_opinion = 32.0, 8.0
    weights, opinions = np.repeat(WEIGHTS, 2), np.tile([-0.5, 0.5], 3)
    expected = weights**2 * of_opinion + opinions**2 * of_weight + of_weight * of_opinion
    np.testing.assert_allclose(law.variances, expected, rtol=1e-4)
    np.testing.assert_allclose(law.thirds, 6 * weights * opinions * of_weight * of_opinion, rtol=1e-3)


@pytest.mark.full("a second of trials")
@pytest.mark.parametrize("variant", ["printed", "joint", "laplace", "optimal"])
def test_the_limit_is_what_many_trials_give(variant: str) -> None:
    """200 partners, 6000 trials at ε = 2: .0062 a standard error; finite numbers move it by less than .004.

    Tolerance .03: false alarm 3e-5 each.
    """
    vote = make_vote(variant, epsilon=2.0)
    found = VoteCells(trials=6000, seed=11).run(vote, UNIFORM, num_partners=200)
    assert float(found["accuracy"].mean()) == pytest.approx(normal_accuracy(vote, UNIFORM, 200), abs=0.03)


@pytest.mark.few(most=2)
@pytest.mark.parametrize("workload", [ALL_HEAVY, FEW_HEAVY], ids=lambda workload: workload.name)
@pytest.mark.parametrize("variant", ["printed", "joint", "laplace", "optimal"])
def test_fixed_votes_pass_as_often_as_the_normal_law_says(variant: str, workload: Workload) -> None:
    """500 partners, 4000 trials: at most .0079 a standard error; tolerance .04 is five of them: 6e-7 each."""
    vote = make_vote(variant, epsilon=2.0)
    found = VoteCells(trials=4000, seed=12).run(vote, workload, num_partners=500)
    expected = chance_of_passing(law_of(vote), workload.numbers(500))
    assert float(found["passed"].mean()) == pytest.approx(expected, abs=0.04)
    is_right = expected if workload is ALL_HEAVY else 1 - expected
    assert normal_accuracy(vote, workload, 500) == pytest.approx(is_right)


@pytest.mark.parametrize(("variant", "accuracy"), [("printed", 0.234), ("joint", 0.963)])
def test_the_manuals_numbers_for_all_weights_three(variant: str, accuracy: float) -> None:
    """docs/dpwevote.md and reading W2: printed 23 %, joint 96 %."""
    assert normal_accuracy(make_vote(variant, epsilon=2.0), ALL_HEAVY, 500) == pytest.approx(accuracy, abs=1e-3)


def test_the_quotas_error_by_hand() -> None:
    """One partner, printed: E[Var[ŵ | w]/4w²] over w, with Var from the debiased weights; Laplace: 8/(4w²ε²)."""
    mechanism = GeneralizedRandomizedResponse(0.5, 3)
    keep, lie = mechanism.keep_probability, mechanism.flip_probability
    variances = np.array(mechanism.channel_matrix()) @ ((WEIGHTS - 6 * lie) / (keep - lie)) ** 2 - WEIGHTS**2
    for variant, variance in (("printed", variances), ("laplace", 32)):
        expected = float(np.mean(variance / 4 / WEIGHTS**2))
        found = expected_quota_error(make_vote(variant, epsilon=1.0), num_partners=1)
        assert found == pytest.approx(expected, rel=1e-4 if variant == "laplace" else 1e-9)


@pytest.mark.parametrize(("variant", "number", "error"), [("printed", 100, 0.0128), ("laplace", 10, 0.211)])
def test_the_quotas_error_is_the_readings(variant: str, number: int, error: float) -> None:
    """W1: .0128 at n = 100; W3: .211 at n = 10, both at ε = 1."""
    vote = make_vote(variant, epsilon=1.0)
    assert expected_quota_error(vote, num_partners=number) == pytest.approx(error, rel=4e-3)


def test_the_published_tables_are_whole_and_their_decimals_tell_the_runs() -> None:
    tables: dict[tuple[str, ...], list[float]] = {}
    for line in rows_beside(module.__name__, "published.csv"):
        tables.setdefault((line["table"], line["variant"], line["partners"]), []).append(float(line["value"]))
    assert set(tables) == set(itertools.product("34", ("laplace", "printed"), ("10", "50", "100")))
    assert {len(values) for values in tables.values()} == {10}
    assert all(a > b for (table, *_), row in tables.items() if table == "4" for a, b in itertools.pairwise(row))
    for variant, runs in (("printed", 20_000), ("laplace", 40_000)):
        shares = itertools.chain(*(row for key, row in tables.items() if key[:2] == ("3", variant)))
        assert runs_behind([*shares]) == runs


def test_runs_by_hand() -> None:
    assert runs_behind([0.5, 0.0005]) == 2000
    assert runs_behind([0.50025]) == 4000
    assert runs_behind([0.12345, 0.00001, 0.99997]) == 2000  # no multiple fits, so nothing is told
