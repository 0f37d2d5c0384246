"""Linear estimates against brute force: the exact mean and variance over every vector of reports."""

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import hypothesis
import pytest
from hypothesis import strategies as st
from psephos.protocol.arrays import FloatArray
from psephos.protocol.estimators import LinearEstimator
from psephos.protocol.estimators.frequencies import inverse_matrix
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse


def all_counts(
    channel: Sequence[Sequence[float]] | FloatArray, values: Sequence[int]
) -> Iterator[tuple[float, list[int]]]:
    """Yield (probability, counts of reports) for every vector of reports of parties with these values."""
    num_reports = len(channel[0])
    for reports in itertools.product(range(num_reports), repeat=len(values)):
        chance = math.prod(channel[value][report] for value, report in zip(values, reports, strict=True))
        yield chance, [reports.count(report) for report in range(num_reports)]


def krr_estimator(epsilon: float, contributions: Sequence[Fraction | float]) -> LinearEstimator:
    mechanism = GeneralizedRandomizedResponse(epsilon, len(contributions))
    return LinearEstimator(contributions, mechanism.channel_matrix(), inverse_matrix(mechanism))


@hypothesis.settings(max_examples=30, deadline=None)
@hypothesis.given(
    st.floats(min_value=0.05, max_value=5),
    st.lists(st.floats(min_value=-9, max_value=9) | st.fractions(-9, 9, max_denominator=20), min_size=2, max_size=4),
    st.data(),
)
def test_mean_and_variance_over_all_reports_are_the_stated_ones(
    epsilon: float, contributions: list[Fraction | float], data: st.DataObject
) -> None:
    estimator = krr_estimator(epsilon, contributions)
    values = data.draw(st.lists(st.integers(0, len(contributions) - 1), min_size=1, max_size=4))
    outcomes = [(chance, float(estimator.total(counts))) for chance, counts in all_counts(estimator.channel, values)]
    mean = math.fsum(chance * value for chance, value in outcomes)
    variance = math.fsum(chance * (value - mean) ** 2 for chance, value in outcomes)
    assert math.fsum(chance for chance, _ in outcomes) == pytest.approx(1)
    assert mean == pytest.approx(math.fsum(map(estimator.expectation, values)), rel=1e-9, abs=1e-9)
    assert variance == pytest.approx(math.fsum(map(estimator.variance, values)), rel=1e-9, abs=1e-9)


@hypothesis.given(
    st.lists(st.floats(min_value=-9, max_value=9) | st.fractions(-9, 9), min_size=3, max_size=3),
    st.lists(st.integers(0, 10**9), min_size=3, max_size=3),
)
def test_a_total_is_exact_and_an_estimate_is_its_nearest_float(
    contributions: list[Fraction | float], counts: list[int]
) -> None:
    estimator = krr_estimator(1.0, contributions)
    total = estimator.total(counts)
    assert isinstance(total, Fraction)
    assert total == sum(Fraction(d) * n for d, n in zip(contributions, counts, strict=True))
    estimate = estimator.estimate(counts)
    assert estimate.value == float(total)
    assert estimate.standard_error == math.sqrt(estimator.total_variance(counts))


def test_a_total_of_thirds_and_tenths_cancels_exactly() -> None:
    """0.1 + 0.2 − 0.3 is not 0 for the floats of these names, and is for the fractions."""
    assert krr_estimator(1.0, (Fraction(1, 10), Fraction(2, 10), Fraction(-3, 10))).total([1, 1, 1]) == 0
    assert krr_estimator(1.0, (0.1, 0.2, -0.3)).total([1, 1, 1]) == Fraction(0.1) + Fraction(0.2) - Fraction(0.3) > 0
    assert krr_estimator(1.0, (Fraction(1, 3), Fraction(-2, 3), 0.0)).total([2 * 10**15, 10**15, 7]) == 0


def test_the_total_variance_without_its_bounds_has_the_exact_variance_as_its_mean() -> None:
    """Brute force over four reports, beside so many others that no bound is near."""
    estimator = krr_estimator(math.log(2), (1.0, 5.0, -2.0))
    values, others = (0, 1, 1, 2), [60, 50, 40]
    of_others = estimator.total_variance(others)
    mean = math.fsum(
        chance * (estimator.total_variance([n + more for n, more in zip(counts, others, strict=True)]) - of_others)
        for chance, counts in all_counts(estimator.channel, values)
    )
    assert mean == pytest.approx(math.fsum(map(estimator.variance, values)), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("contributions", [(0.0, 0.0, 1.0), (1.0, -2.0, 4.0), (3.0, 3.0, -1.0)])
def test_a_squared_standard_error_is_on_average_no_less_than_the_variance_whatever_is_held(
    epsilon: float, contributions: tuple[float, ...]
) -> None:
    """By the law of all reports; a limit from above made it too small where all hold the worst value."""
    estimator = krr_estimator(epsilon, contributions)
    channel = GeneralizedRandomizedResponse(epsilon, 3).channel_matrix()
    for number in (1, 2, 4):
        for held in itertools.combinations_with_replacement(range(3), number):
            stated = 0.0
            for reports in itertools.product(range(3), repeat=number):
                chance = math.prod(channel[value][report] for value, report in zip(held, reports, strict=True))
                stated += chance * estimator.estimate([reports.count(value) for value in range(3)]).standard_error ** 2
            assert stated >= sum(map(estimator.variance, held)) * (1 - 1e-12)


def test_the_bounds_act_where_the_debiased_counts_are_impossible() -> None:
    """All 8 report 1 at e^ε = 2: debiased, 24 hold 1 and −8 each hold the others; the variance is raised to the least.

    Where all report 2, the same counts give −16 others' and 24 of 2's own, which is left as it is.
    """
    estimator = krr_estimator(math.log(2), (0.0, 0.0, 1.0))
    others, own = estimator.variance(0), estimator.variance(2)  # q(1 − q) = 3/16 and p(1 − p) = 1/4
    assert (others, own) == (pytest.approx(3 / 16), pytest.approx(1 / 4))
    assert estimator.estimate([0, 8, 0]).standard_error ** 2 == pytest.approx(8 * others)
    assert estimator.estimate([0, 0, 8]).standard_error ** 2 == pytest.approx(24 * own - 16 * others)


def test_no_reports_estimate_nothing_without_error() -> None:
    estimate = krr_estimator(1.0, (1.0, 5.0)).estimate([0, 0])
    assert (estimate.value, estimate.standard_error) == (0.0, 0.0)


def test_constant_contributions_have_no_error() -> None:
    estimate = krr_estimator(1.0, (2.5, 2.5, 2.5)).estimate([3, 4, 5])
    assert estimate.value == pytest.approx(30)
    assert estimate.standard_error == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    ("contributions", "channel", "inverse"),
    [
        ((1.0,), ((0.5, 0.5), (0.5, 0.5)), ((1.0, 0.0), (0.0, 1.0))),
        ((1.0, 2.0), ((0.5,), (0.5,)), ((1.0, 0.0), (0.0, 1.0))),
        ((1.0, 2.0), ((0.5, 0.5), (0.5, 0.5)), ((1.0,), (0.0,))),
        ((1.0, 2.0), ((0.5, 0.5), (0.5, 0.5)), ((1.0, 0.0),)),
        ((1.0, 2.0), ((0.5, 0.5), (1.0,)), None),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    contributions: Sequence[float], channel: Sequence[Sequence[float]], inverse: Sequence[Sequence[float]] | None
) -> None:
    with pytest.raises(ValueError, match="channel and inverse need rows of"):
        LinearEstimator(contributions, channel, inverse)


def test_counts_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        krr_estimator(1.0, (1.0, 5.0)).estimate([1, 2, 3])
    with pytest.raises(ValueError, match="zip"):
        krr_estimator(1.0, (1.0, 5.0)).total([1])


def test_without_an_inverse_the_variance_is_bounded_by_the_greatest() -> None:
    """Two reports of three values: P[1] = 1/4, 1/2, 3/4, d = ∓2. Var = 4 − mean²: 3, 4, 3; five reports: 20 at most."""
    channel = ((0.75, 0.25), (0.5, 0.5), (0.25, 0.75))
    estimator = LinearEstimator((-2.0, 2.0), channel, None)
    assert [estimator.variance(value) for value in range(3)] == [3, 4, 3]
    for counts in ([5, 0], [2, 3], [0, 5]):
        assert estimator.total_variance(counts) == 20
        assert estimator.estimate(counts).standard_error == math.sqrt(20)
    assert estimator.estimate([1, 4]).value == 6
    assert estimator.estimate([0, 0]).standard_error == 0
