"""A number with its standard error, and the probability that its sign is wrong."""

import math

import hypothesis
import pytest
from hypothesis import strategies as st
from psephos.protocol.estimators import Estimate, probability_of_other_sign
from scipy.special import ndtr

values = st.floats(min_value=-1e6, max_value=1e6)
errors = st.floats(min_value=1e-3, max_value=1e6)


def test_a_margin_of_one_standard_error_is_wrong_with_sixteen_percent() -> None:
    assert probability_of_other_sign(Estimate(2.0, 2.0), positive=True) == pytest.approx(0.158655, abs=1e-6)
    assert probability_of_other_sign(Estimate(-2.0, 2.0), positive=False) == pytest.approx(0.158655, abs=1e-6)


def test_a_decision_against_the_estimate_is_wrong_with_more_than_one_half() -> None:
    assert probability_of_other_sign(Estimate(2.0, 2.0), positive=False) == pytest.approx(0.841345, abs=1e-6)
    assert probability_of_other_sign(Estimate(-2.0, 2.0), positive=True) == pytest.approx(0.841345, abs=1e-6)


def test_no_margin_is_a_coin_toss() -> None:
    assert probability_of_other_sign(Estimate(0.0, 2.0), positive=True) == 0.5
    assert probability_of_other_sign(Estimate(0.0, 2.0), positive=False) == 0.5


@pytest.mark.parametrize(
    ("margin", "positive", "wrong"), [(1.0, True, 0.0), (1.0, False, 1.0), (-1.0, True, 1.0), (-1.0, False, 0.0)]
)
def test_what_was_not_randomized_is_certain(margin: float, positive: bool, wrong: float) -> None:  # noqa: FBT001  a row
    assert probability_of_other_sign(Estimate(margin, 0.0), positive=positive) == wrong


@hypothesis.given(values, errors)
def test_the_two_decisions_are_wrong_with_complementary_probabilities(value: float, error: float) -> None:
    margin = Estimate(value, error)
    for_yes = probability_of_other_sign(margin, positive=True)
    assert for_yes + probability_of_other_sign(margin, positive=False) == pytest.approx(1)
    assert for_yes == pytest.approx(float(ndtr(-value / error)), abs=1e-15, rel=1e-9)


def test_a_far_margin_keeps_its_small_probability() -> None:
    """Φ(−10) = 7.6e-24: no cancellation from 1 − Φ(10)."""
    assert probability_of_other_sign(Estimate(10.0, 1.0), positive=True) == pytest.approx(7.619853e-24, rel=1e-6)
    assert math.isfinite(probability_of_other_sign(Estimate(1e300, 1.0), positive=True))


def test_what_nothing_randomized_is_right_or_wrong_for_sure() -> None:
    for value, positive, probability in ((0.0, True, 0.0), (0.5, True, 0.0), (-0.5, True, 1.0), (0.5, False, 1.0)):
        assert probability_of_other_sign(Estimate(value, 0.0), positive=positive) == probability
