"""The law of Δ: by hand, by quadrature, by simulation, and the claims that are made of it."""

import itertools
import math

import numpy as np
import pytest
from psephos.protocol.arrays import FloatArray
from psephos.scenarios.truth_discovery.paper.error_change import (
    ProductOfUniforms,
    domination_excess,
    figure_1,
)
from scipy import integrate, special, stats
from thoroughness import draws

LAWS = [
    ProductOfUniforms(low, high, n)
    for low, high in [(0.0, 0.6), (0.0, 1.0), (0.2, 0.6), (0.01, 0.9), (0.5, 0.55)]
    for n in (1, 2, 5, 12)
]


def name(law: ProductOfUniforms) -> str:
    return f"U({law.low}, {law.high})^{law.num_workers}"


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("high", [0.3, 1.0])
def test_without_a_lower_end_the_density_is_the_papers(n: int, high: float) -> None:
    changes = high**n * np.linspace(0.001, 0.999, 50)
    expected = np.log(high**n / changes) ** (n - 1) / (high**n * math.factorial(n - 1))
    np.testing.assert_allclose(ProductOfUniforms(0.0, high, n).density(changes), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_without_a_lower_end_the_distribution_is_an_incomplete_gamma_function(n: int) -> None:
    law = ProductOfUniforms(0.0, 0.8, n)
    scaled = np.geomspace(1e-12, 1, 60)
    expected = np.asarray(special.gammaincc(n, -np.log(scaled)))
    np.testing.assert_allclose(law.distribution(law.greatest * scaled), expected, rtol=1e-10)


def test_two_factors_by_hand() -> None:
    """U(1, 2)²: on [1, 2] f = ln x, on [2, 4] f = ln(4/x); P[X ≤ 2] = 2 ln 2 − 1."""
    law = ProductOfUniforms(1.0, 2.0, 2)
    expected = [0, 0, math.log(1.5), math.log(2), math.log(4 / 3), 0, 0]
    np.testing.assert_allclose(law.density([0.5, 1, 1.5, 2, 3, 4, 5]), expected, atol=1e-15)
    assert law.distribution(2.0) == pytest.approx(2 * math.log(2) - 1, rel=1e-14)
    assert law.distribution([-1, 0, 0.99, 1, 4, 4.1]).tolist() == [0, 0, 0, 0, 1, 1]


def test_one_factor_is_uniform() -> None:
    law = ProductOfUniforms(0.25, 0.75, 1)
    assert law.density([0.2, 0.25, 0.5, 0.75, 0.8]).tolist() == [0, 2, 2, 2, 0]
    assert law.distribution([0.25, 0.5, 0.75]).tolist() == [0, 0.5, 1]
    assert ProductOfUniforms(0.0, 0.5, 1).density(0.0) == 2


@pytest.mark.few(most=5)
@pytest.mark.parametrize("law", LAWS, ids=name)
def test_the_density_integrates_to_one_and_to_the_moments(law: ProductOfUniforms) -> None:
    """In the logarithm of Δ, where nothing is infinite; below 1e-30 of the greatest nothing counts."""
    top = math.log(law.greatest)
    bottom = max(math.log(law.low) * law.num_workers if law.low else -math.inf, top - 70)

    def moment(power: int) -> float:
        def integrand(logarithm: float) -> float:
            change = math.exp(logarithm)
            return change ** (power + 1) * float(law.density(change))

        kinks = np.linspace(bottom, top, 14).tolist()
        pieces = [integrate.quad(integrand, *pair, epsrel=1e-7)[0] for pair in itertools.pairwise(kinks)]
        return math.fsum(map(float, pieces))

    assert moment(0) == pytest.approx(1, rel=1e-6)
    assert law.mean == pytest.approx(moment(1), rel=1e-6)


@pytest.mark.few(most=5)
@pytest.mark.parametrize("law", LAWS, ids=name)
def test_the_distribution_is_the_densitys_integral(law: ProductOfUniforms) -> None:
    for ends in [(0.2, 0.3), (0.5, 0.9), (0.05, 0.95)]:
        low, high = map(float, np.quantile(drawn(law, 1000), ends))
        kinks = np.geomspace(low, high, 8).tolist()
        pieces = [
            integrate.quad(lambda change: float(law.density(change)), *pair, epsrel=1e-7)[0]
            for pair in itertools.pairwise(kinks)
        ]
        expected = float(law.distribution(high) - law.distribution(low))
        assert math.fsum(map(float, pieces)) == pytest.approx(expected, rel=1e-6)


def drawn(law: ProductOfUniforms, size: int) -> FloatArray:
    return np.random.default_rng(7).uniform(law.low, law.high, (size, law.num_workers)).prod(axis=1)


def chance_of_such_draws(changes: FloatArray, law: ProductOfUniforms) -> float:
    """Return the p-value: what the law makes of its own draws is uniform."""
    return float(stats.kstest(law.distribution(changes), "uniform").pvalue)


@pytest.mark.few(most=5)
@pytest.mark.parametrize("law", LAWS, ids=name)
def test_draws_follow_the_law(law: ProductOfUniforms) -> None:
    """Kolmogorov and Smirnov's test, fixed seed: false alarm 1e-4 each, .002 for all twenty."""
    assert chance_of_such_draws(drawn(law, draws(500, full=2000)), law) > 1e-4


def test_draws_of_another_law_are_noticed() -> None:
    law = ProductOfUniforms(0.2, 0.6, 5)
    assert chance_of_such_draws(drawn(law, 2000), ProductOfUniforms(0.2, 0.63, 5)) < 1e-4


def test_how_often_two_layers_change_less_is_what_draws_give() -> None:
    """20,000 draws: at most .004 a standard error; false alarm below 1e-5. By hand Q(2, 2 ln 2) = (1 + 2 ln 2)/4."""
    law = ProductOfUniforms(0.1, 0.9, 4)
    below = drawn(law, 20_000) <= law.one_layer
    assert law.chance_below_one_layer == pytest.approx(below.mean(), abs=0.018)
    assert ProductOfUniforms(0.0, 0.7, 2).chance_below_one_layer == pytest.approx((1 + 2 * math.log(2)) / 4)
    assert law.mean == law.one_layer == pytest.approx(0.5**4)


def test_a_smaller_b_makes_changes_stochastically_smaller() -> None:
    """The second claim holds; one layer's change shrinks by the same factor."""
    small, large = (ProductOfUniforms(0.0, high, 5) for high in (0.4, 0.6))
    assert domination_excess(small, large) == 0
    assert domination_excess(large, small) > 0.3


def test_more_users_make_the_printed_change_stochastically_smaller() -> None:
    laws = [ProductOfUniforms(0.0, 0.9, n) for n in range(1, 7)]
    for fewer, more in itertools.pairwise(laws):
        assert domination_excess(more, fewer) == 0


def test_more_users_do_not_make_the_right_change_smaller_for_large_b() -> None:
    """Π 2·p^f at b = 1: by hand P[Δ ≤ 1.5] is .75 for one user, and ⅜·(1 + ln(8/3)) = .743 for two; the means are 1."""
    one, two = (ProductOfUniforms(0.0, 2.0, n) for n in (1, 2))
    assert float(one.distribution(1.5)) == pytest.approx(0.75)
    assert float(two.distribution(1.5)) == pytest.approx(3 / 8 * (1 + math.log(8 / 3)))
    assert domination_excess(two, one) > 0.1
    assert one.mean == two.mean == 1
    assert domination_excess(ProductOfUniforms(0.0, 1.0, 2), ProductOfUniforms(0.0, 1.0, 1)) == 0


def test_many_users_and_close_ends_cancel_no_digits() -> None:
    """The logarithm is nearly normal for n = 60 of U(.5, .6), of which half are below exp(60·E[ln U])."""
    law = ProductOfUniforms(0.5, 0.6, 60)
    mean_logarithm = ((0.6 * math.log(0.6) - 0.6) - (0.5 * math.log(0.5) - 0.5)) / 0.1
    assert float(law.distribution(math.exp(60 * mean_logarithm))) == pytest.approx(0.5, abs=0.02)
    least, greatest = map(float, np.quantile(drawn(law, 2000), (0, 1)))
    places = np.geomspace(least, greatest, 50)
    assert np.all(np.diff(law.distribution(places)) > 0)
    assert np.all(law.density(places) > 0)


def test_the_density_is_infinite_at_zero_for_two_and_more() -> None:
    assert ProductOfUniforms(0.0, 0.5, 2).density(0.0) == math.inf
    assert ProductOfUniforms(0.1, 0.5, 2).density(0.0) == 0


def test_figure_1_has_a_curve_for_each_b_and_each_n() -> None:
    by_high, by_number = figure_1(highs=[0.5, 0.9], numbers=[3, 4, 5], num_points=200)
    assert [(curve.law.high, curve.law.num_workers) for curve in by_high] == [(0.5, 3), (0.9, 3)]
    assert [(curve.law.high, curve.law.num_workers) for curve in by_number] == [(0.9, 3), (0.9, 4), (0.9, 5)]
    for curve in (*by_high, *by_number):
        assert curve.changes.shape == curve.densities.shape == (200,)
        assert curve.changes[-1] == pytest.approx(0.9**3)
        np.testing.assert_array_equal(curve.densities, curve.law.density(curve.changes))
    assert by_high[0].densities[0] > by_high[1].densities[0]
    assert by_high[0].densities[-1] == 0


def test_bad_arguments_are_refused() -> None:
    for low, high in [(-0.1, 0.5), (0.5, 0.5), (0.5, 0.4), (0.0, math.inf)]:
        with pytest.raises(ValueError, match="low and high must be 0 <= low < high, finite"):
            ProductOfUniforms(low, high, 2)
    with pytest.raises(ValueError, match="num_workers must be >= 1, got 0"):
        ProductOfUniforms(0.0, 0.5, 0)
    law = ProductOfUniforms(0.0, 0.5, 2)
    with pytest.raises(ValueError, match="changes must be finite"):
        law.density([math.nan])
    with pytest.raises(ValueError, match="changes must be finite"):
        law.distribution([math.inf])
    with pytest.raises(ValueError, match="num_points must be > 0, got 0"):
        domination_excess(law, law, num_points=0)
    with pytest.raises(ValueError, match="num_points must be > 0, got 0"):
        figure_1(highs=[0.5], numbers=[2], num_points=0)
    with pytest.raises(ValueError, match="must not be empty"):
        figure_1(highs=[], numbers=[2])
    with pytest.raises(ValueError, match=r"highs must be in \(0, 1\], got 1.5"):
        figure_1(highs=[1.5], numbers=[2])
