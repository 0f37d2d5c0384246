"""Samplers made of uniform integers: their laws by playing every outcome of every draw."""

import math
from fractions import Fraction

import pytest
from exact_laws import exact_law
from psephos.protocol.mechanisms import RandBelow, bernoulli, bernoulli_exp


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(1, 3), Fraction(5, 7), Fraction(1), Fraction(0.1)])
def test_an_event_has_happened_with_exactly_its_probability(probability: Fraction) -> None:
    law = exact_law(lambda below: bernoulli(probability, below))
    assert law.get(True, Fraction(0)) == probability
    assert sum(law.values()) == 1


@pytest.mark.parametrize("x", [Fraction(1, 7), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(3), Fraction(0.3)])
def test_an_event_of_a_power_of_e_has_happened_with_that_probability(x: Fraction) -> None:
    """To what playing it leaves out, which is below 1e-14."""
    law = exact_law(lambda below: bernoulli_exp(x, below))
    left_out = 1 - sum(law.values())
    assert left_out < Fraction(1, 10**14)
    assert float(law[True]) == pytest.approx(math.exp(-x), abs=2e-14)
    assert float(law[False]) == pytest.approx(-math.expm1(-x), abs=2e-14)


def test_an_event_of_probability_one_takes_no_luck() -> None:
    assert exact_law(lambda below: bernoulli_exp(Fraction(0), below)) == {True: 1}


def test_a_rare_event_stops_at_the_first_factor_that_fails() -> None:
    """e^(−10**9) is a product of 10**9 factors; whoever drew all of them would never end."""
    asked: list[int] = []

    def below(bound: int) -> int:
        asked.append(bound)
        return bound - 1

    # The second event, of 1/2, is the first that does not happen: an even number, and so no event.
    assert not bernoulli_exp(Fraction(10**9), below)
    assert asked == [2]


@pytest.mark.parametrize("whole", [1, 2, 9, 64, 745, 10_000])
def test_a_power_of_e_has_all_of_its_factors_however_rare_it_is(whole: int) -> None:
    """Each happens where its event of probability 1/2 does, and that of 1/3 does not; that of 1 takes no draw."""
    asked: list[int] = []

    def below(bound: int) -> int:
        asked.append(bound)
        return bound - 1 if bound == 3 else 0

    assert bernoulli_exp(Fraction(whole), below)
    assert asked == [2, 3] * whole


def test_no_number_beyond_the_denominator_is_ever_asked_for() -> None:
    """So that the draws are exact: the bound is the probability's own denominator."""
    asked: list[int] = []

    def below(bound: int) -> int:
        asked.append(bound)
        return 0

    use: RandBelow = below
    assert bernoulli(Fraction(2, 6), use)
    assert asked == [3]
