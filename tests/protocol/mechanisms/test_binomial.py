"""Binomial numbers: their law against scipy's and against exact fractions, and both ways to draw them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_laws import exact_law
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.mechanisms.binomial import binomial_law, draw_binomial, draw_binomial_exactly
from scipy.stats import binom
from strategies import CHECKED

KINDS = [
    (0, Fraction(1, 2)),
    (1, Fraction(1, 3)),
    (7, Fraction(0)),
    (7, Fraction(1)),
    (12, Fraction(1, 2)),
    (12, Fraction(1, 10**12)),
    (12, 1 - Fraction(1, 2**40)),
    (300, Fraction(2, 5)),
    (5000, Fraction(1, 999)),
    (100_000, Fraction(6, 7)),
]
every_kind = pytest.mark.parametrize(("number", "probability"), KINDS)


def exact_chance(number: int, probability: Fraction, count: int) -> Fraction:
    return math.comb(number, count) * probability**count * (1 - probability) ** (number - count)


@every_kind
def test_the_law_is_scipys(number: int, probability: Fraction) -> None:
    least, masses = binomial_law(number, probability)
    counts = np.arange(least, least + len(masses))
    assert np.allclose(masses, binom.pmf(counts, number, float(probability)), rtol=1e-9, atol=1e-300)
    assert math.fsum(masses) == pytest.approx(1, abs=1e-14)
    assert 0 <= least <= least + len(masses) - 1 <= number


@every_kind
def test_what_the_law_leaves_out_is_rarer_than_a_uniform_can_name(number: int, probability: Fraction) -> None:
    least, masses = binomial_law(number, probability)
    greatest = least + len(masses) - 1
    outside = binom.cdf(least - 1, number, float(probability)) + binom.sf(greatest, number, float(probability))
    assert outside < 2.0**-70


@CHECKED
@given(st.integers(0, 40), st.fractions(0, 1, max_denominator=60))
def test_the_law_is_that_of_exact_fractions(number: int, probability: Fraction) -> None:
    least, masses = binomial_law(number, probability)
    for count in range(number + 1):
        told = masses[count - least] if 0 <= count - least < len(masses) else 0.0
        assert told == pytest.approx(float(exact_chance(number, probability, count)), rel=1e-13, abs=2.0**-79)


def test_the_law_of_many_is_right_to_some_units_in_the_last_place() -> None:
    """At a million trials the mode's probability and ratios by hand: C(2k, k)/4^k."""
    number = 1 << 20
    least, masses = binomial_law(number, Fraction(1, 2))
    middle = math.exp(math.lgamma(number + 1) - 2 * math.lgamma(number / 2 + 1) - number * math.log(2))
    assert masses[number // 2 - least] == pytest.approx(middle, rel=1e-8)
    assert max(abs(a - b) for a, b in zip(masses, reversed(masses), strict=True)) < 1e-15


@pytest.mark.few(most=5)
@pytest.mark.unmeasured
@every_kind
def test_a_count_is_that_whose_share_of_the_unit_interval_holds_the_uniform(number: int, probability: Fraction) -> None:
    least, masses = binomial_law(number, probability)
    low = 0.0
    for place, mass in enumerate(masses):
        if mass > 1e-12:
            assert draw_binomial(number, probability, low + mass / 2) == least + place
        low += mass


@every_kind
def test_the_uniforms_at_both_ends_name_counts(number: int, probability: Fraction) -> None:
    lowest, highest = draw_binomial(number, probability, 0.0), draw_binomial(number, probability, 1 - 2.0**-53)
    assert 0 <= lowest <= highest <= number
    if probability in {0, 1}:
        assert lowest == highest == number * probability


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1, 3), Fraction(9, 10), Fraction(0.3), Fraction(1)])
@pytest.mark.parametrize("number", [0, 1, 2, 6])
def test_exact_draws_have_exactly_the_law(number: int, probability: Fraction) -> None:
    law = exact_law(lambda below: draw_binomial_exactly(number, probability, below))
    assert law == {count: chance for count in range(number + 1) if (chance := exact_chance(number, probability, count))}
