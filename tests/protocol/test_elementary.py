"""Elementary functions: rounded correctly, so that every processor has the same bits."""

import decimal
import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psephos.protocol.elementary import (
    erfc,
    exp,
    ln,
    log1p,
    normal_tail,
    power_of_two_above,
    power_of_two_below,
)
from scipy.special import ndtr


@given(st.floats(-700, 700))
@example(0.0)
@example(-1e-300)
def test_the_exponential_is_the_float_nearest_to_it(x: float) -> None:
    exact = Fraction(decimal.Context(prec=80).exp(decimal.Decimal(x)))
    nearest = exp(x)
    for other in (math.nextafter(nearest, 0), math.nextafter(nearest, math.inf)):
        assert abs(Fraction(nearest) - exact) <= abs(Fraction(other) - exact)


def assert_nearest(value: float, exact: Fraction) -> None:
    for other in (math.nextafter(value, -math.inf), math.nextafter(value, math.inf)):
        assert abs(Fraction(value) - exact) <= abs(Fraction(other) - exact)


@given(st.floats(min_value=5e-324, max_value=1.7e308))
@example(1.0)
@example(math.nextafter(1.0, 0))
@example(math.nextafter(1.0, 2))
@example(5e-324)
def test_the_logarithm_is_the_float_nearest_to_it(x: float) -> None:
    assert_nearest(ln(x), Fraction(decimal.Context(prec=80).ln(decimal.Decimal(x))))


@given(st.floats(min_value=-1, max_value=1e308, exclude_min=True).filter(lambda x: x == 0 or abs(x) >= 1e-30))
@example(0.0)
@example(1e-30)
@example(-1e-30)
@example(math.nextafter(-1.0, 0))
@example(1e-9)
def test_the_logarithm_of_one_and_a_number_is_the_float_nearest_to_it(x: float) -> None:
    context = decimal.Context(prec=700)
    exact = decimal.Context(prec=120).ln(context.add(decimal.Decimal(1), decimal.Decimal(x)))
    assert_nearest(log1p(x), Fraction(exact))


def test_the_logarithms_at_their_ends() -> None:
    assert (ln(1.0), log1p(0.0)) == (0.0, 0.0)
    assert ln(2.0) == log1p(1.0) == 0.6931471805599453
    assert ln(0.0) == log1p(-1.0) == -math.inf
    # Where 1 + x is 1, the logarithm is still x.
    assert log1p(1e-25) == 1e-25


@given(st.floats(-30, 26))
def test_the_error_function_is_that_of_the_standard_library(x: float) -> None:
    assert erfc(x) == pytest.approx(math.erfc(x), rel=1e-13)


@given(st.floats(-30, 30))
def test_the_normal_tail_is_that_of_scipy(x: float) -> None:
    assert normal_tail(x) == pytest.approx(float(ndtr(-x)), rel=1e-12)


def test_the_error_function_at_its_ends() -> None:
    """erfc(1) by its published digits; where it is below the least float it is 0."""
    assert erfc(0.0) == 1.0
    assert erfc(1.0) == 0.15729920705028513
    assert (erfc(28.0), erfc(-28.0)) == (0.0, 2.0)
    assert erfc(27.2) > 0


@given(st.floats(min_value=1e-300, max_value=1e300))
@example(1.0)
@example(2.0**-40)
@example(math.nextafter(2.0**60, 0))
@example(math.nextafter(2.0**60, math.inf))
def test_powers_of_two_are_the_nearest_on_either_side(x: float) -> None:
    below, above = power_of_two_below(x), power_of_two_above(x)
    assert math.frexp(below)[0] == math.frexp(above)[0] == 0.5
    assert below <= x <= above
    assert above == (below if x == below else 2 * below)
