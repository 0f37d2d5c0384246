"""Generalized randomized response: its numbers, both limits, its exact law, and its rounding."""

import decimal
import fractions
import math

import hypothesis
import numpy as np
import pytest
from exact_laws import exact_log
from hypothesis import strategies as st
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.mechanisms import MAX_EPSILON, MIN_EPSILON, GeneralizedRandomizedResponse, check_epsilon

LN2 = math.log(2)
GREATEST_UNIFORM = 1 - 2.0**-53

epsilons = st.floats(min_value=1e-3, max_value=MAX_EPSILON)
numbers_of_choices = st.integers(min_value=2, max_value=60)


def exact_log_ratio(mechanism: GeneralizedRandomizedResponse) -> decimal.Decimal:
    """Return ln(p/q) for the law as it is sampled: p is the stored number, and the lies share 1 − p alike."""
    keep = fractions.Fraction(mechanism.keep_probability)
    return exact_log(keep * (mechanism.num_choices - 1) / (1 - keep))


def test_hand_worked_values_at_two_choices() -> None:
    """e^ε = 3, k = 2: p = 3/4, q = 1/4."""
    mechanism = GeneralizedRandomizedResponse(math.log(3), 2)
    assert mechanism.channel_matrix() == (
        (pytest.approx(3 / 4), pytest.approx(1 / 4)),
        (pytest.approx(1 / 4), pytest.approx(3 / 4)),
    )


@pytest.mark.parametrize("num_choices", [2, 3, 7, 1000])
def test_the_greatest_epsilon_keeps_almost_always_and_still_tells_lies(num_choices: int) -> None:
    mechanism = GeneralizedRandomizedResponse(MAX_EPSILON, num_choices)
    assert 1 - mechanism.keep_probability == pytest.approx((num_choices - 1) * math.exp(-MAX_EPSILON), rel=0.01)
    reports = {mechanism.randomize_one(0, (u,)) for u in (0.0, 0.5, GREATEST_UNIFORM)}
    assert reports == {0, num_choices - 1}


@hypothesis.given(epsilons, numbers_of_choices)
def test_the_largest_log_ratio_is_epsilon_and_never_above(epsilon: float, num_choices: int) -> None:
    mechanism = GeneralizedRandomizedResponse(epsilon, num_choices)
    log_ratio = exact_log_ratio(mechanism)
    assert log_ratio <= decimal.Decimal(epsilon)
    # p is a few units in the last place too low, which is a relative 5e-16 of 1 − p.
    assert float(log_ratio) == pytest.approx(epsilon, abs=1e-14 + 1e-15 / (1 - mechanism.keep_probability))


@pytest.mark.parametrize("num_choices", [2, 3, 33, 1000])
@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 2e-9, 1e-7])
def test_the_least_epsilons_bound_the_law_and_leave_something_to_estimate(epsilon: float, num_choices: int) -> None:
    """Rounding p down by a few units must not turn it below q, nor the loss of a tiny ε around."""
    mechanism = GeneralizedRandomizedResponse(epsilon, num_choices)
    log_ratio = exact_log_ratio(mechanism)
    assert log_ratio <= decimal.Decimal(epsilon)
    assert float(log_ratio) == pytest.approx(epsilon, rel=1e-5)
    gap = mechanism.keep_probability - mechanism.flip_probability
    assert gap == pytest.approx(math.expm1(epsilon) / (math.expm1(epsilon) + num_choices), rel=1e-5)


@pytest.mark.parametrize(
    "epsilon",
    [0.0, -1.0, math.nan, math.inf, 5e-324, math.nextafter(MIN_EPSILON, 0), math.nextafter(MAX_EPSILON, 31)],
)
def test_an_epsilon_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(ConfigurationError, match=r"epsilon is .*: use a value from") as caught:
        GeneralizedRandomizedResponse(epsilon, 3)
    assert caught.value.field == "epsilon"


def test_an_epsilon_is_checked_under_the_name_that_it_has_for_its_user() -> None:
    check_epsilon(MIN_EPSILON, field="epsilon_weight")
    check_epsilon(MAX_EPSILON, field="epsilon_weight")
    with pytest.raises(ConfigurationError, match=r"epsilon_weight is .*: use a value from") as caught:
        check_epsilon(0.0, field="epsilon_weight")
    assert caught.value.field == "epsilon_weight"


@pytest.mark.parametrize("num_choices", [1, 0, -3])
def test_fewer_than_two_choices_are_refused(num_choices: int) -> None:
    with pytest.raises(ConfigurationError, match=r"num_choices is .*: use at least 2") as caught:
        GeneralizedRandomizedResponse(1.0, num_choices)
    assert (caught.value.field, caught.value.value) == ("num_choices", num_choices)


@hypothesis.given(st.data())
def test_one_value_is_randomized_as_in_an_array(data: st.DataObject) -> None:
    mechanism = GeneralizedRandomizedResponse(data.draw(epsilons), data.draw(numbers_of_choices))
    keep, lie = mechanism.keep_probability, mechanism.flip_probability
    edges = [0.0, GREATEST_UNIFORM, keep, math.nextafter(keep, 0), math.nextafter(keep, 1)]
    for number in range(mechanism.num_choices):
        edge = min(keep + number * lie, GREATEST_UNIFORM)
        edges += [math.nextafter(edge, 0), edge, min(math.nextafter(edge, 1), GREATEST_UNIFORM)]
    edges += data.draw(st.lists(st.floats(min_value=0, max_value=1, exclude_max=True), max_size=5))
    value = data.draw(st.integers(0, mechanism.num_choices - 1))
    reports = mechanism.randomize(np.full(len(edges), value), np.array(edges).reshape(-1, 1))
    assert reports.dtype == np.int64
    assert reports.tolist() == [mechanism.randomize_one(value, (edge,)) for edge in edges]
    assert set(reports.tolist()) <= set(range(mechanism.num_choices))


def test_a_uniform_below_p_keeps_and_p_itself_lies() -> None:
    mechanism = GeneralizedRandomizedResponse(1.0, 4)
    keep = mechanism.keep_probability
    for value in range(4):
        assert mechanism.randomize_one(value, (math.nextafter(keep, 0),)) == value
        assert mechanism.randomize_one(value, (keep,)) != value


@pytest.mark.parametrize("value", [0, 1, 2, 3])
def test_the_place_above_p_names_the_lies_in_order(value: int) -> None:
    mechanism = GeneralizedRandomizedResponse(1.0, 4)
    middles = [mechanism.keep_probability + (place + 0.5) * mechanism.flip_probability for place in range(3)]
    lies = [mechanism.randomize_one(value, (middle,)) for middle in middles]
    assert lies == [other for other in range(4) if other != value]


@pytest.mark.parametrize(("epsilon", "num_choices"), [(0.01, 2), (LN2, 3), (1.0, 7), (4.0, 3), (30.0, 5)])
def test_the_sampler_integrates_to_the_matrix(epsilon: float, num_choices: int) -> None:
    """Each report's uniforms are an interval, so a grid of N midpoints counts each to within one."""
    mechanism = GeneralizedRandomizedResponse(epsilon, num_choices)
    num_points = 1 << 14
    grid = (np.arange(num_points).reshape(-1, 1) + 0.5) / num_points
    for value, row in enumerate(mechanism.channel_matrix()):
        counts = np.bincount(mechanism.randomize(np.full(num_points, value), grid), minlength=num_choices)
        np.testing.assert_allclose(counts / num_points, row, atol=1.01 / num_points)
