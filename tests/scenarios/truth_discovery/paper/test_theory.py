"""The error bound by hand and by enumeration, the law of Δ by quadrature and by draws, and truths told at no price."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray, IntArray
from psephos.scenarios.truth_discovery.paper.theory import (
    ProductOfUniforms,
    exact_error,
    likelihood_at_zero,
    mean_accuracy_at_zero,
    printed_bound,
)
from psephos.scenarios.truth_discovery.workers import printed_factor
from scipy import integrate, special, stats
from thoroughness import draws

HALF = Fraction(1, 2)
LAWS = [ProductOfUniforms(high, n) for high in (0.6, 1.0, 1.8) for n in (1, 2, 5, 12)]


def test_the_printed_bound_is_below_the_error() -> None:
    """Reading T8: 11 workers at p = ¼ (¾ once folded back): the error is .0343, the printed bound 1.1e-4."""
    error = exact_error(0.25, 11)
    assert error == pytest.approx(0.0343, abs=5e-5)
    assert error == pytest.approx(sum(math.comb(11, k) * 0.75**k * 0.25 ** (11 - k) for k in range(6)), rel=1e-12)
    assert printed_bound(0.25, 11) == pytest.approx(1.1e-4, abs=5e-6)
    assert printed_bound(0.25, 11) < error < 0.75**5.5  # Chernoff's


@pytest.mark.parametrize("quality", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("num_workers", [1, 2, 3, 6])
def test_the_exact_error_is_that_of_an_enumeration(quality: float, num_workers: int) -> None:
    expected = 0.0
    for signs in itertools.product((1, -1), repeat=num_workers):
        chance = math.prod(quality if sign > 0 else 1 - quality for sign in signs)
        weighted = math.log(quality / (1 - quality)) * sum(signs)
        expected += chance * (0.5 if not sum(signs) else float(weighted < 0))
    assert exact_error(quality, num_workers) == pytest.approx(expected, rel=1e-12)
    assert expected <= (2 * math.sqrt(quality * (1 - quality))) ** num_workers  # Chernoff's bound


def test_the_printed_factor_differs_between_workers_whom_the_paper_calls_equivalent() -> None:
    """G(¼) = .436 and G(¾) = .951, though the signed vote of both is the same; above .6 or so it even exceeds 1."""
    assert [printed_factor(quality) for quality in (0.25, 0.5, 0.75)] == pytest.approx([0.4356, 1, 0.9512], abs=1e-4)
    assert printed_factor(0.6) > 1


def name(law: ProductOfUniforms) -> str:
    return f"U(0, {law.high})^{law.num_workers}"


def drawn(law: ProductOfUniforms, size: int) -> FloatArray:
    return np.random.default_rng(7).uniform(0, law.high, (size, law.num_workers)).prod(axis=1)


def chances_of(law: ProductOfUniforms, changes: FloatArray) -> list[float]:
    return [law.distribution(change) for change in changes.tolist()]


def excess(smaller: ProductOfUniforms, greater: ProductOfUniforms) -> float:
    """Return the greatest P[second ≤ x] − P[first ≤ x]: at most 0 where the first law is stochastically smaller."""
    changes = max(smaller.greatest, greater.greatest) * np.arange(1, 301) / 300
    return max(np.subtract(chances_of(greater, changes), chances_of(smaller, changes)).tolist())


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_the_density_is_the_papers_and_the_distribution_its_integral(law: ProductOfUniforms) -> None:
    n, scaled = law.num_workers, np.geomspace(1e-12, 0.999, 60)
    changes = law.greatest * scaled
    expected = np.log(1 / scaled) ** (n - 1) / (law.greatest * math.factorial(n - 1))
    np.testing.assert_allclose([law.density(change) for change in changes.tolist()], expected, rtol=1e-9)
    np.testing.assert_allclose(chances_of(law, changes), special.gammaincc(n, -np.log(scaled)), rtol=1e-10)
    found = integrate.quad(law.density, 0.3 * law.greatest, 0.9 * law.greatest)[0]
    low, high = (law.distribution(part * law.greatest) for part in (0.3, 0.9))
    assert found == pytest.approx(high - low, rel=1e-6)
    beyond = 1.01 * law.greatest
    assert (law.density(beyond), law.distribution(beyond)) == (0.0, 1.0)


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_draws_follow_the_law(law: ProductOfUniforms) -> None:
    """Kolmogorov and Smirnov's test, fixed seed: false alarm 1e-4 each, .0012 for all twelve."""
    chances = chances_of(law, drawn(law, draws(500, full=2000)))
    assert float(stats.kstest(chances, "uniform").pvalue) > 1e-4


def test_two_layers_change_less_in_most_cases_and_as_much_on_average() -> None:
    """20,000 draws: at most .004 a standard error; false alarm below 1e-5. By hand Q(2, 2 ln 2) = (1 + 2 ln 2)/4."""
    law = ProductOfUniforms(0.9, 4)
    below = law.distribution(law.mean)
    assert below == pytest.approx((drawn(law, 20_000) <= 0.45**4).mean(), abs=0.018)
    two = ProductOfUniforms(0.7, 2)
    assert two.distribution(two.mean) == pytest.approx((1 + 2 * math.log(2)) / 4)


@pytest.mark.full("a second of drawing")
def test_a_smaller_b_and_more_users_make_the_printed_changes_stochastically_smaller() -> None:
    small, large = (ProductOfUniforms(high, 5) for high in (0.4, 0.6))
    assert excess(small, large) <= 0
    assert excess(large, small) > 0.3
    for fewer, more in itertools.pairwise(ProductOfUniforms(0.9, n) for n in range(1, 7)):
        assert excess(more, fewer) <= 0


def test_more_users_do_not_make_the_right_change_smaller_for_large_b() -> None:
    """Π 2·p^f at b = 1: by hand P[Δ ≤ 1.5] is .75 for one user, and ⅜·(1 + ln(8/3)) = .743 for two; the means are 1."""
    one, two = (ProductOfUniforms(2.0, n) for n in (1, 2))
    assert one.distribution(1.5) == pytest.approx(0.75)
    assert two.distribution(1.5) == pytest.approx(3 / 8 * (1 + math.log(8 / 3)))
    assert excess(two, one) > 0.1
    assert excess(ProductOfUniforms(1.8, 8), ProductOfUniforms(1.8, 4)) > 0.005
    assert one.mean == two.mean == 1


def test_the_chances_at_zero_by_hand() -> None:
    """U(0, 1), two answers: 1/3, 1/6, 1/3, so that ln 2 is lost where 0 is claimed; and all reports together have 1."""
    assert [likelihood_at_zero(k, 2) for k in range(3)] == [Fraction(1, 3), Fraction(1, 6), Fraction(1, 3)]
    assert sum(math.comb(5, k) * likelihood_at_zero(k, 5) for k in range(6)) == 1


def majority(reports: IntArray) -> IntArray:
    return (2 * reports.sum(axis=0) > len(reports)).astype(np.int64)


def like_the_first_task(reports: IntArray) -> IntArray:
    """Estimate 0 for the first task, and for the others whether most workers answered them alike."""
    return majority(reports ^ reports[:, :1])


def test_no_estimator_beats_a_half_at_zero() -> None:
    """Majority, one that uses likeness, and 20 random tables over all 64 reports of 3 workers on 2 tasks."""
    generator = np.random.default_rng(5)
    tables = generator.integers(0, 2, (20, 64, 2))
    places = 2 ** np.arange(6).reshape(3, 2)

    def look_up(table: IntArray, reports: IntArray) -> IntArray:
        return np.array(table[int((reports * places).sum())], dtype=np.int64)

    estimators = [majority, like_the_first_task, *(functools.partial(look_up, table) for table in tables)]
    answers, truths = np.array([[0, 1], [0, 1], [0, 0]]), np.array([0, 1])
    for estimate in estimators:
        assert mean_accuracy_at_zero(estimate, answers, truths) == HALF


def test_the_accuracy_on_one_truth_may_be_above_a_half() -> None:
    """One worker, one answer, and who always answers 0: right in one of the two worlds (reading T5)."""
    zeros = np.zeros(1, dtype=np.int64)
    assert mean_accuracy_at_zero(lambda _: zeros, np.array([[0]]), np.array([0])) == HALF
