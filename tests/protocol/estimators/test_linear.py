"""Linear estimates against brute force: the exact mean and variance over every vector of reports."""

import itertools
import math
from collections.abc import Iterator, Sequence

import hypothesis
import pytest
from hypothesis import strategies as st
from psephos.protocol.estimators import LinearEstimator
from psephos.protocol.estimators.frequencies import inverse_matrix
from psephos.protocol.mechanisms import GeneralizedRandomizedResponse


def all_counts(channel: Sequence[Sequence[float]], values: Sequence[int]) -> Iterator[tuple[float, list[int]]]:
    """Yield (probability, counts of reports) for every vector of reports of parties with these values."""
    num_reports = len(channel[0])
    for reports in itertools.product(range(num_reports), repeat=len(values)):
        chance = math.prod(channel[value][report] for value, report in zip(values, reports, strict=True))
        yield chance, [reports.count(report) for report in range(num_reports)]


def krr_estimator(epsilon: float, contributions: Sequence[float]) -> LinearEstimator:
    mechanism = GeneralizedRandomizedResponse(epsilon, len(contributions))
    return LinearEstimator(contributions, mechanism.channel_matrix(), inverse_matrix(mechanism))


@hypothesis.settings(max_examples=30, deadline=None)
@hypothesis.given(
    st.floats(min_value=0.05, max_value=5),
    st.lists(st.floats(min_value=-9, max_value=9), min_size=2, max_size=4),
    st.data(),
)
def test_mean_and_variance_over_all_reports_are_the_stated_ones(
    epsilon: float, contributions: list[float], data: st.DataObject
) -> None:
    estimator = krr_estimator(epsilon, contributions)
    values = data.draw(st.lists(st.integers(0, len(contributions) - 1), min_size=1, max_size=4))
    outcomes = [(chance, estimator.estimate(counts).value) for chance, counts in all_counts(estimator.channel, values)]
    mean = math.fsum(chance * value for chance, value in outcomes)
    variance = math.fsum(chance * (value - mean) ** 2 for chance, value in outcomes)
    assert math.fsum(chance for chance, _ in outcomes) == pytest.approx(1)
    assert mean == pytest.approx(math.fsum(map(estimator.expectation, values)), rel=1e-9, abs=1e-9)
    assert variance == pytest.approx(math.fsum(map(estimator.variance, values)), rel=1e-9, abs=1e-9)


def test_the_standard_error_at_the_expected_counts_is_the_exact_one() -> None:
    """At e^ε = 2 and k = 3, 8 parties of value 0 are expected to report (4, 2, 2).

    Between its bounds the squared standard error is linear in the counts, so this shows that its mean is the exact
    variance.
    """
    estimator = krr_estimator(math.log(2), (1.0, 5.0, -2.0))
    for of_each in ((8, 0, 0), (8, 4, 0), (4, 12, 8)):
        counts = [sum(n * (2 if x == r else 1) for x, n in enumerate(of_each)) // 4 for r in range(3)]
        exact = math.fsum(n * estimator.variance(x) for x, n in enumerate(of_each))
        assert estimator.estimate(counts).standard_error ** 2 == pytest.approx(exact, rel=1e-12)


def test_the_squared_standard_error_is_linear_between_its_bounds() -> None:
    estimator = krr_estimator(1.0, (1.0, 5.0, -2.0))
    whole = estimator.estimate([40, 35, 25]).standard_error ** 2
    parts = [estimator.estimate(counts).standard_error ** 2 for counts in ([20, 15, 15], [20, 20, 10])]
    assert whole == pytest.approx(sum(parts), rel=1e-12)


@hypothesis.given(
    st.floats(min_value=0.05, max_value=5),
    st.lists(st.floats(min_value=-9, max_value=9), min_size=3, max_size=3),
    st.lists(st.integers(0, 500), min_size=3, max_size=3),
)
def test_the_standard_error_is_one_that_some_values_could_have(
    epsilon: float, contributions: list[float], counts: list[int]
) -> None:
    estimator = krr_estimator(epsilon, contributions)
    variances = [estimator.variance(value) for value in range(3)]
    squared = estimator.estimate(counts).standard_error ** 2
    assert sum(counts) * min(variances) * (1 - 1e-12) <= squared <= sum(counts) * max(variances) * (1 + 1e-12)


def test_the_bounds_act_where_the_debiased_counts_are_impossible() -> None:
    """All 8 report 1 at e^ε = 2: debiased, 24 hold 1 and −8 each hold the others; the variance is kept at an end."""
    estimator = krr_estimator(math.log(2), (0.0, 0.0, 1.0))
    others, own = estimator.variance(0), estimator.variance(2)  # q(1 − q) = 3/16 and p(1 − p) = 1/4
    assert (others, own) == (pytest.approx(3 / 16), pytest.approx(1 / 4))
    assert estimator.estimate([0, 8, 0]).standard_error ** 2 == pytest.approx(8 * others)
    assert estimator.estimate([0, 0, 8]).standard_error ** 2 == pytest.approx(8 * own)


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
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    contributions: Sequence[float], channel: Sequence[Sequence[float]], inverse: Sequence[Sequence[float]]
) -> None:
    with pytest.raises(ValueError, match="channel and inverse need rows of"):
        LinearEstimator(contributions, channel, inverse)


def test_counts_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        krr_estimator(1.0, (1.0, 5.0)).estimate([1, 2, 3])
