"""Counts from randomized reports: the inverse matrix, unbiased counts, and the projection to what is possible."""

import math
from fractions import Fraction
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from psephos.protocol.estimators import LinearEstimator, estimate_counts, project_to_simplex
from psephos.protocol.estimators.frequencies import debiased_values, inverse_matrix
from psephos.protocol.mechanisms import MAX_EPSILON, MIN_EPSILON, GeneralizedRandomizedResponse

numbers = st.lists(st.floats(min_value=-50, max_value=50), min_size=1, max_size=8)
totals = st.floats(min_value=0, max_value=100)


@pytest.mark.parametrize("num_choices", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, MAX_EPSILON])
def test_the_inverse_undoes_the_channel(epsilon: float, num_choices: int) -> None:
    mechanism = GeneralizedRandomizedResponse(epsilon, num_choices)
    product = np.array(inverse_matrix(mechanism)) @ np.array(mechanism.channel_matrix())
    np.testing.assert_allclose(product, np.eye(num_choices), atol=1e-12 * max(1, 1 / epsilon))


def exact_channel(mechanism: GeneralizedRandomizedResponse) -> list[list[Fraction]]:
    """Return P[report | value] as fractions: p as its float holds it, and all lies alike."""
    keep, choices = Fraction(mechanism.keep_probability), range(mechanism.num_choices)
    return [[keep if x == r else (1 - keep) / (mechanism.num_choices - 1) for r in choices] for x in choices]


@hypothesis.given(
    st.floats(min_value=1e-6, max_value=MAX_EPSILON),
    st.lists(st.floats(min_value=-9, max_value=9) | st.fractions(-9, 9), min_size=2, max_size=6),
)
def test_debiased_values_have_exactly_these_expectations(epsilon: float, values: list[float | Fraction]) -> None:
    mechanism = GeneralizedRandomizedResponse(epsilon, len(values))
    debiased = debiased_values(mechanism, values)
    assert all(isinstance(d, Fraction) for d in debiased)
    channel = exact_channel(mechanism)
    exact = [Fraction(value) for value in values]
    assert [sum(c * d for c, d in zip(row, debiased, strict=True)) for row in channel] == exact
    assert sum(debiased) == sum(exact)


def test_hand_worked_debiased_values() -> None:
    """At p = 1/2 of three, (v − Σv/4)/(1/4) = 4v − Σv; of two at p = 3/4, 3/2 and −1/2 for 1 and 0."""
    of_weights = debiased_values(GeneralizedRandomizedResponse(math.log(2), 3), (1.0, 2, Fraction(3)))
    assert list(map(float, of_weights)) == pytest.approx([-2, 2, 6])
    assert of_weights[1] == 2
    of_opinions = debiased_values(GeneralizedRandomizedResponse(math.log(3), 2), (0, 1))
    assert list(map(float, of_opinions)) == pytest.approx([-0.5, 1.5])


@pytest.mark.parametrize("numbers", [(), (1, 2), (1, 2, 3, 4)])
@pytest.mark.parametrize(("find", "what"), [(debiased_values, "values"), (estimate_counts, "counts")])
def test_a_wrong_number_of_values_or_counts_is_refused(find: Any, what: str, numbers: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"{len(numbers)} {what} are given: give 3"):
        find(GeneralizedRandomizedResponse(1.0, 3), numbers)


def test_hand_worked_standard_error() -> None:
    """The same mechanism: 16 times Σ n_x·Var; one who holds the value adds p(1 − p) = ¼, another q(1 − q) = 3/16.

    Reports (6, 3, 3) say that all 12 hold value 0 and none holds 1.
    """
    zero, one, _ = estimate_counts(GeneralizedRandomizedResponse(math.log(2), 3), (6, 3, 3))
    assert zero.standard_error == pytest.approx(math.sqrt(16 * 12 / 4))
    assert one.standard_error == pytest.approx(math.sqrt(16 * 12 * 3 / 16))


@pytest.mark.parametrize("num_choices", [2, 3, 5, 8, 25, 99, 198])
@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 1.0, MAX_EPSILON])
def test_counts_have_the_bits_of_the_general_way(epsilon: float, num_choices: int) -> None:
    """Bits, of the estimate and of its standard error, though the general way goes through k matrices."""
    mechanism = GeneralizedRandomizedResponse(epsilon, num_choices)
    channel, inverse = mechanism.channel_matrix(), inverse_matrix(mechanism)
    draws = np.random.default_rng(num_choices)
    ladder = [[0] * num_choices, [1] + [0] * (num_choices - 1), [10**17] * num_choices]
    ladder += [draws.poisson(mean, num_choices).tolist() for mean in (0.3, 40.0, 1e6)]
    places = {0, num_choices - 1} if num_choices > 8 else range(num_choices)  # each takes O(k²)
    general = {place: LinearEstimator(inverse[place], channel, inverse) for place in places}
    for counts in ladder:
        estimates = estimate_counts(mechanism, counts)
        for place, estimator in general.items():
            assert estimates[place] == estimator.estimate(counts), (counts, place)


def test_hand_worked_projections() -> None:
    assert project_to_simplex((12.0, 4.0, -4.0), total=12) == (10.0, 2.0, 0.0)
    assert project_to_simplex((5.0,), total=3) == (3.0,)
    assert project_to_simplex((1.0, 1.0), total=1) == (0.5, 0.5)
    assert project_to_simplex((9.0, -9.0), total=0) == (0.0, 0.0)


@hypothesis.given(numbers, totals)
def test_a_projection_is_possible(values: list[float], total: float) -> None:
    projected = project_to_simplex(values, total=total)
    assert min(projected) >= 0
    assert math.fsum(projected) == pytest.approx(total, abs=1e-9)


@hypothesis.given(numbers, totals)
def test_a_projection_has_the_optimality_conditions(values: list[float], total: float) -> None:
    """One threshold θ: projected = max(v − θ, 0), the conditions of Karush, Kuhn and Tucker."""
    hypothesis.assume(total > 1e-6)
    projected = project_to_simplex(values, total=total)
    thresholds = [v - x for v, x in zip(values, projected, strict=True) if x > 0]
    assert max(thresholds) - min(thresholds) < 1e-9
    assert all(v <= min(thresholds) + 1e-9 for v, x in zip(values, projected, strict=True) if x == 0)


@pytest.mark.parametrize(("values", "total"), [((), 1.0), ((1.0,), -1.0), ((1.0,), math.nan)])
def test_projecting_nothing_or_onto_nothing_is_refused(values: tuple[float, ...], total: float) -> None:
    with pytest.raises(ValueError, match="give one or more, and a total of at least 0"):
        project_to_simplex(values, total=total)
