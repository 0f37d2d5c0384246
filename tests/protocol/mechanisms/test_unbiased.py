"""Unbiased reports of a number: exact means, variances by brute force from the table, both limits, all symmetries."""

import decimal
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import (
    FiniteChannel,
    UnbiasedReport,
    has_optimal,
    optimal,
    randomized_response,
    two_point,
)
from psephos.protocol.mechanisms.finite_channel import TOTAL_MASS, least_ratio_of

Maker = Callable[..., UnbiasedReport]


def numbers(*values: float | Fraction) -> tuple[Fraction, ...]:
    """Return exact numbers, in increasing order."""
    return tuple(sorted(Fraction(value) for value in values))


def signed(*weights: int | Fraction) -> tuple[Fraction, ...]:
    """Return both signs of each weight, as halves are for the majority."""
    return numbers(*(sign * weight for weight in weights for sign in (-1, 1)))


THREE = signed(1, 2, 3)
FIXED_QUOTA = numbers(0, 1, 2, 3)
THIRD = Fraction(1, 3)
TWO_THIRDS = numbers(*(w * (opinion - 2 * THIRD) for w in (1, 2, 3) for opinion in (0, 1)))
SETS = {
    "signed": THREE,
    "fixed quota": FIXED_QUOTA,
    "two thirds": TWO_THIRDS,
    "two": numbers(-0.1, 7.3),
    "close": numbers(1, 1.001, 5, 6),
}


def averaged(values: Sequence[Fraction], *, epsilon: float) -> UnbiasedReport:
    """Return the optimal mechanism for the uniform prior."""
    return optimal(values, epsilon=epsilon, prior=(1 / len(values),) * len(values))


MAKERS: dict[str, Maker] = {
    "two-point": two_point,
    "k-RR": randomized_response,
    "worst case": functools.cache(optimal),
    "uniform prior": functools.cache(averaged),
}
EPSILONS = [0.1, pytest.param(1.0, marks=pytest.mark.full("between two that are checked when quick")), 10.0]

every_set = pytest.mark.parametrize("values", SETS.values(), ids=SETS)
every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
every_epsilon = pytest.mark.parametrize("epsilon", EPSILONS)


def law(report: UnbiasedReport) -> list[list[Fraction]]:
    """Return P[report | value], as the exact numbers that the floats are."""
    return [[Fraction(chance) for chance in row] for row in report.mechanism.channel_matrix()]


def mean(row: Sequence[Fraction], estimates: Sequence[Fraction]) -> Fraction:
    return sum((chance * estimate for chance, estimate in zip(row, estimates, strict=True)), start=Fraction(0))


@every_maker
@every_set
@every_epsilon
def test_every_mean_is_the_value(make: Maker, values: tuple[Fraction, ...], epsilon: float) -> None:
    """In exact arithmetic; off by no more than a unit or two of 2**−53 in a law moves an estimate."""
    report = make(values, epsilon=epsilon)
    assert report.values == values
    assert len(report.estimates) == report.mechanism.report_range[1] + 1
    biases = [abs(mean(row, report.estimates) - value) for row, value in zip(law(report), values, strict=True)]
    reach = max(map(abs, report.estimates))
    assert max(biases) <= len(report.estimates) * reach / 2**52
    assert report.greatest_bias == float(max(biases))
    if report.name == "optimal" and len(report.estimates) > len(values):  # it is solved for its integer law
        assert max(biases) <= reach / 10**30


@pytest.mark.few(most=4)
@every_maker
@every_set
@every_epsilon
def test_variances_are_those_of_the_table(make: Maker, values: tuple[Fraction, ...], epsilon: float) -> None:
    report = make(values, epsilon=epsilon)
    exact = [
        mean(row, [(estimate - value) ** 2 for estimate in report.estimates])
        for row, value in zip(law(report), values, strict=True)
    ]
    assert report.variances == pytest.approx([float(variance) for variance in exact], rel=1e-12)
    assert report.worst_variance == max(report.variances)
    shares = [Fraction(n + 1) for n in range(len(values))]
    shares = [share / sum(shares) for share in shares]
    by_hand = float(sum(share * variance for share, variance in zip(shares, exact, strict=True)))
    assert report.mean_variance([float(share) for share in shares]) == pytest.approx(by_hand, rel=1e-12)


@every_maker
@every_set
@every_epsilon
def test_every_column_keeps_the_promise(make: Maker, values: tuple[Fraction, ...], epsilon: float) -> None:
    """In integers against a ratio that is above e^(−ε); k-RR's two floats may be a rounding off, as elsewhere."""
    report = make(values, epsilon=epsilon)
    assert report.epsilon == epsilon
    with decimal.localcontext(prec=60):
        true_ratio = Fraction((-Decimal(epsilon)).exp())
    for column in zip(*law(report), strict=True):
        if isinstance(report.mechanism, FiniteChannel):
            assert min(column) >= max(column) * least_ratio_of(epsilon) > max(column) * true_ratio
        else:
            assert min(column) >= max(column) * true_ratio * (1 - Fraction(1, 2**50))


@every_maker
@every_set
def test_no_privacy_is_left_unused(make: Maker, values: tuple[Fraction, ...]) -> None:
    """In some column the ratio is e^ε but for rounding: less privacy could not be sold as this."""
    report = make(values, epsilon=1.5)
    greatest = max(max(column) / min(column) for column in zip(*law(report), strict=True))
    assert math.log(greatest) == pytest.approx(1.5, rel=1e-10)


def test_two_points_worked_by_hand() -> None:
    """Weights 1, 2, 3 and ε = 1: c = 3/tanh(1/2) = 6.4919; for v = ±1 the variance is c² − 1 = 41.1 (reading W8)."""
    report = two_point(THREE, epsilon=1.0)
    c = 3 / math.tanh(0.5)
    assert c == pytest.approx(6.4918, abs=1e-3)
    assert [float(estimate) for estimate in report.estimates] == pytest.approx([-c, c], rel=1e-14)
    chances = [row[1] for row in report.mechanism.channel_matrix()]
    assert chances == pytest.approx([(1 + v / 3 * math.tanh(0.5)) / 2 for v in (-3, -2, -1, 1, 2, 3)], rel=1e-14)
    assert report.variances == pytest.approx([c * c - v * v for v in (-3, -2, -1, 1, 2, 3)], rel=1e-13)
    assert report.worst_variance == pytest.approx(41.1, abs=0.05)
    assert math.isnan(report.lower_bound)
    assert report.certificate is None


def test_randomized_response_worked_by_hand() -> None:
    """Four values at e^ε = 5: p = 5/8, q = 1/8, t(r) = (v − 6/8)·2 = −3/2, 1/2, 5/2, 9/2.

    E[t² | v] = (p − q)·t(v)² + q·Σt² = t(v)²/2 + 29/8; less v²: 19/4, 11/4, 11/4, 19/4.
    """
    report = randomized_response(FIXED_QUOTA, epsilon=math.log(5))
    assert [float(estimate) for estimate in report.estimates] == pytest.approx([-1.5, 0.5, 2.5, 4.5], rel=1e-13)
    assert report.variances == pytest.approx([4.75, 2.75, 2.75, 4.75], rel=1e-13)


@every_maker
def test_of_two_values_there_is_one_best_report(make: Maker) -> None:
    """One bit: Var = (e^ε)/(e^ε − 1)² for 0 and 1, whatever it is called."""
    report = make(numbers(0, 1), epsilon=1.0)
    assert report.variances == pytest.approx([math.e / (math.e - 1) ** 2] * 2, rel=1e-12)


@pytest.mark.few(most=2)
@pytest.mark.parametrize(
    ("epsilon", "second_moment", "half_unit"),
    [(0.5, 148.4, 0.05), (1.0, 40.07, 0.005), (2.0, 12.07, 0.005), (3.0, 7.20, 0.005), (5.0, 5.054, 0.0005)],
)
def test_the_readings_second_moments(epsilon: float, second_moment: float, half_unit: float) -> None:
    """W8: E[t²] over the uniform prior on ±1, ±2, ±3, to all printed digits; E[v²] = 14/3."""
    prior = (1 / 6,) * 6
    report = optimal(THREE, epsilon=epsilon, prior=prior)
    assert report.prior == prior
    assert report.mean_variance(prior) + 14 / 3 == pytest.approx(second_moment, abs=half_unit)


def test_the_readings_worst_variance() -> None:
    """W8: 35.8 at ε = 1 in the worst case, where two points have 41.1."""
    report = optimal(THREE, epsilon=1.0)
    assert report.worst_variance == pytest.approx(35.8, abs=0.05)
    assert report.name == "optimal"
    assert report.prior == ()


@pytest.mark.few(most=3)
@every_set
@every_epsilon
def test_the_optimal_mechanism_is_no_worse_than_the_simple_ones(values: tuple[Fraction, ...], epsilon: float) -> None:
    prior = tuple((n + 1) / math.comb(len(values) + 1, 2) for n in range(len(values)))
    simple = [two_point(values, epsilon=epsilon), randomized_response(values, epsilon=epsilon)]
    assert optimal(values, epsilon=epsilon).worst_variance <= min(report.worst_variance for report in simple)
    best = optimal(values, epsilon=epsilon, prior=prior)
    assert best.mean_variance(prior) <= min(report.mean_variance(prior) for report in simple)


def test_each_objective_is_best_by_its_own_measure() -> None:
    prior = (1 / 6,) * 6
    worst, average = optimal(THREE, epsilon=1.0), optimal(THREE, epsilon=1.0, prior=prior)
    assert worst.worst_variance < 0.99 * average.worst_variance
    assert average.mean_variance(prior) < 0.999 * worst.mean_variance(prior)


@pytest.mark.few(most=2)
@pytest.mark.parametrize(
    ("near", "far", "epsilon", "part"),
    [(two_point, randomized_response, 1e-3, 0.7), (randomized_response, two_point, 25.0, 1e-6)],
)
@every_set
def test_at_little_privacy_lost_two_points_are_nearly_best_and_at_much_randomized_response(
    values: tuple[Fraction, ...], near: Maker, far: Maker, epsilon: float, part: float
) -> None:
    """k-RR spends on telling values apart that the margin does not need; of two points the variance stays."""
    best = optimal(values, epsilon=epsilon)
    assert best.worst_variance == pytest.approx(near(values, epsilon=epsilon).worst_variance, rel=1e-4)
    if len(values) > 2:
        assert best.worst_variance < part * far(values, epsilon=epsilon).worst_variance


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6])
def test_the_least_epsilon_has_reports_too(epsilon: float) -> None:
    report = optimal(THREE, epsilon=epsilon)
    assert report.worst_variance == pytest.approx(36 / epsilon**2, rel=1e-5)


@pytest.mark.parametrize("make", [MAKERS["two-point"], MAKERS["worst case"], MAKERS["uniform prior"]])
@every_epsilon
def test_symmetric_values_have_a_symmetric_law(make: Maker, epsilon: float) -> None:
    """Each report has a mirror image: P[r' | −v] = P[r | v] and t(r') = −t(r), but for units of 2**−53."""
    report = make(THREE, epsilon=epsilon)
    table = law(report)
    reach = float(max(map(abs, report.estimates)))
    columns = list(zip(*table, strict=True))
    for column, estimate in zip(columns, report.estimates, strict=True):
        nearest = min(
            (
                abs(float(estimate + other)) / reach
                + float(max(abs(a - b) for a, b in zip(column, mirror[::-1], strict=True)))
            )
            for mirror, other in zip(columns, report.estimates, strict=True)
        )
        assert nearest < 1e-12
    assert report.variances == pytest.approx(report.variances[::-1], rel=1e-12)


@every_maker
@pytest.mark.parametrize(("factor", "shift"), [(Fraction(7, 3), 0), (Fraction(1), 11), (Fraction(1, 1024), -5)])
def test_moving_and_stretching_the_values_moves_and_stretches_the_reports(
    make: Maker, factor: Fraction, shift: int
) -> None:
    """The law stays, variances are multiplied by the factor's square, and so is what bounds them."""
    values = numbers(-3, -1, 0.5, 2)
    moved = tuple(factor * value + shift for value in values)
    here, there = make(values, epsilon=1.0), make(moved, epsilon=1.0)
    scale = float(factor) ** 2
    assert there.variances == pytest.approx([scale * variance for variance in here.variances], rel=1e-9)
    expected = sorted(float(factor * estimate + shift) for estimate in here.estimates)
    assert sorted(map(float, there.estimates)) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if here.certificate is not None and there.certificate is not None:
        assert there.lower_bound == pytest.approx(scale * here.lower_bound, rel=1e-8)
        assert float(there.certificate.proven_bound()) == pytest.approx(there.lower_bound, rel=1e-9)


@pytest.mark.full("the optimal mechanism at many prices")
@every_maker
def test_values_and_their_mirror_images_cost_the_same(make: Maker) -> None:
    """Of a set that is not symmetric."""
    values = numbers(0, 1, 2, 7)
    mirrored = numbers(*(-value for value in values))
    here, there = make(values, epsilon=2.0), make(mirrored, epsilon=2.0)
    assert there.variances[::-1] == pytest.approx(here.variances, rel=1e-4)
    assert there.worst_variance == pytest.approx(here.worst_variance, rel=1e-8)


@pytest.mark.parametrize("make", [MAKERS["k-RR"], MAKERS["worst case"], MAKERS["uniform prior"]])
@every_set
@every_epsilon
def test_debiasing_rows_invert_the_law(make: Maker, values: tuple[Fraction, ...], epsilon: float) -> None:
    """Σ_r d[v][r]·P[r | u] is 1 for u = v and 0 otherwise, so that counts are estimated without bias."""
    report = make(values, epsilon=epsilon)
    assert report.debiasing is not None
    products = [[float(mean(row, list(map(Fraction, weights)))) for row in law(report)] for weights in report.debiasing]
    size = max(map(abs, itertools.chain.from_iterable(report.debiasing)))
    np.testing.assert_allclose(products, np.eye(len(values)), atol=1e-14 * max(size, 1))


@every_epsilon
def test_two_points_cannot_tell_values_apart(epsilon: float) -> None:
    assert two_point(THREE, epsilon=epsilon).debiasing is None
    assert two_point(numbers(0, 1), epsilon=epsilon).debiasing is not None


def test_values_with_one_law_cannot_be_told_apart() -> None:
    half = TOTAL_MASS // 2
    silent = FiniteChannel(1.0, ((half, half), (half, half)))
    assert UnbiasedReport("k-RR", 1.0, numbers(0, 1), silent, numbers(0, 1)).debiasing is None


@pytest.mark.parametrize("make", [two_point, randomized_response, optimal])
@pytest.mark.parametrize("values", [(), (1,), (1, 1), (2, 1), (1, 3, 2)])
def test_values_must_be_two_or_more_and_increase(make: Maker, values: tuple[int, ...]) -> None:
    with pytest.raises(ConfigurationError, match="at least two, in increasing order") as caught:
        make(tuple(map(Fraction, values)), epsilon=1.0)
    assert caught.value.field == "values"


@pytest.mark.parametrize("make", [two_point, randomized_response, optimal])
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, 30.1])
def test_an_epsilon_out_of_range_is_refused(make: Maker, epsilon: float) -> None:
    with pytest.raises(ConfigurationError, match="epsilon is"):
        make(THREE, epsilon=epsilon)


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        (numbers(*range(22)), "is 22 of them: use at most 20 for the optimal mechanism"),
        (numbers(*range(13)), "at most 12 for the optimal mechanism, since these are not an even number"),
        (numbers(*range(19), 40), "at most 12 for the optimal mechanism, since these are not an even number"),
    ],
)
def test_more_values_than_the_program_is_solved_for_are_refused(values: tuple[Fraction, ...], allowed: str) -> None:
    """Twenty where the set is the same upside down and even, twelve otherwise; only the limit of the set is named."""
    assert not has_optimal(values)
    with pytest.raises(ConfigurationError, match=allowed) as caught:
        optimal(values, epsilon=1.0)
    assert caught.value.field == "values"
    assert caught.value.value == f"{len(values)} of them"
    assert len(two_point(values, epsilon=1.0).variances) == len(values)


@pytest.mark.parametrize("values", [numbers(*range(20)), numbers(*range(11), 30)])
def test_so_many_are_not(values: tuple[Fraction, ...]) -> None:
    assert has_optimal(values)


@pytest.mark.parametrize(
    "prior",
    [
        (1.0,),
        (1 / 7,) * 7,
        (0.5, 0.5, 0.5, 0.5, -0.5, -0.5),
        (0.5, 0.5, math.nan, 0.0, 0.0, 0.0),
        (0.2,) * 6,
        (1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 6 + 2e-9),
        (math.inf, 0.0, 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_what_is_no_prior_is_refused(prior: tuple[float, ...]) -> None:
    with pytest.raises(ConfigurationError, match="6 shares that sum to 1") as caught:
        optimal(THREE, epsilon=1.0, prior=prior)
    assert caught.value.field == "prior"


@pytest.mark.full("the optimal mechanism at many prices")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 10.0, 15.0])
@pytest.mark.parametrize(
    "prior", [(1.0, 0.0, 0.0, 0.0), (0.0, 0.5, 0.5, 0.0), (0.0, 1.0, 0.0, 0.0), (0.25, 0.0, 0.0, 0.75)]
)
def test_a_prior_of_zeros_is_bounded_by_what_holds_for_that_prior(epsilon: float, prior: tuple[float, ...]) -> None:
    """Values that are never held have a finite variance all the same, and the bound is below what is reached.

    A bound for a prior with a trace of everything was above it.
    """
    report = optimal(FIXED_QUOTA, epsilon=epsilon, prior=prior)
    assert report.lower_bound <= report.mean_variance(prior) <= report.lower_bound * (1 + 1e-6)
    assert math.isfinite(report.worst_variance)
    assert report.certificate is not None
    assert [float(share) for share in report.certificate.prior] == pytest.approx(prior)
    assert float(report.certificate.proven_bound()) == pytest.approx(report.lower_bound, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.002, 1.0, 20.0])
def test_values_that_are_nearly_one_have_an_optimal_report_too(epsilon: float) -> None:
    """Signed weights of two weights that differ by one unit in the last place: the laws of equals are equal.

    The least squares that make a solution exact are singular then.
    """
    near = math.nextafter(1e-9, 1)
    report = optimal(numbers(-near, -1e-9, 1e-9, near), epsilon=epsilon)
    assert report.worst_variance == pytest.approx(
        two_point(numbers(-near, near), epsilon=epsilon).worst_variance, rel=1e-6
    )
    assert report.lower_bound <= report.worst_variance * (1 + 1e-12)
    assert report.greatest_bias <= 1e-12 * near / min(epsilon, 1)


@pytest.mark.full("the optimal mechanism at many prices")
@pytest.mark.parametrize("epsilon", [1.0, 5.0])
@pytest.mark.parametrize("values", [signed(1, Fraction(10**7 + 1, 10**7), 3), signed(Fraction(1, 10**9), 1, 10**15)])
def test_some_values_that_are_nearly_one_keep_the_others_optimal(values: tuple[Fraction, ...], epsilon: float) -> None:
    """The reports that tell them apart are hardly more probable than what the barrier leaves of useless ones."""
    report = optimal(values, epsilon=epsilon)
    assert report.lower_bound <= report.worst_variance <= report.lower_bound * (1 + 1e-6)


def test_the_same_question_is_answered_once() -> None:
    assert optimal(THREE, epsilon=1.25) is optimal(list(THREE), epsilon=1.25)
