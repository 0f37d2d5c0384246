"""The exponential mechanism on given qualities: its law by hand, and both ways to draw from it."""

import itertools
import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from exact_laws import exact_law
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.mechanisms import Below
from psephos.protocol.mechanisms.exponential import choice_probabilities, choose, choose_exactly
from scipy.special import chdtrc
from strategies import CHECKED

qualities_of_choices = st.lists(st.fractions(-50, 50, max_denominator=30), min_size=1, max_size=6)
rates = st.fractions(0, 3, max_denominator=30)


def test_the_law_worked_by_hand() -> None:
    """Qualities 0, 1, 2 at rate ln 2: shares 1, 2, 4 of 7, to the rounding of the rate."""
    rate = Fraction(math.log(2))
    law = choice_probabilities([Fraction(0), Fraction(1), Fraction(2)], rate)
    assert law == pytest.approx((1 / 7, 2 / 7, 4 / 7), rel=1e-15)


def test_at_rate_zero_all_choices_are_alike() -> None:
    assert choice_probabilities([Fraction(-7), Fraction(3)], Fraction(0)) == (0.5, 0.5)


def test_choices_that_are_far_worse_are_never_taken() -> None:
    """A power of e below the least float is 0, and no exponential overflows."""
    qualities = [Fraction(0), Fraction(10**9), Fraction(-(10**9))]
    assert choice_probabilities(qualities, Fraction(1)) == (0.0, 1.0, 0.0)
    for uniform in (0.0, 0.5, 1 - 2.0**-53):
        assert choose(qualities, Fraction(1), uniform) == 1


@CHECKED
@given(qualities_of_choices, rates)
def test_the_law_is_the_definition(qualities: list[Fraction], rate: Fraction) -> None:
    law = choice_probabilities(qualities, rate)
    masses = [math.exp(rate * (quality - max(qualities))) for quality in qualities]
    assert law == pytest.approx([mass / math.fsum(masses) for mass in masses], rel=1e-12, abs=1e-300)
    assert math.fsum(law) == pytest.approx(1, abs=1e-15)


@CHECKED
@given(qualities_of_choices, rates)
def test_only_differences_of_qualities_count(qualities: list[Fraction], rate: Fraction) -> None:
    moved = [quality + 10**6 for quality in qualities]
    assert choice_probabilities(moved, rate) == choice_probabilities(qualities, rate)


@CHECKED
@given(qualities_of_choices, rates)
def test_a_uniform_names_the_choice_in_whose_share_it_lies(qualities: list[Fraction], rate: Fraction) -> None:
    law = choice_probabilities(qualities, rate)
    for place, (low, high) in enumerate(itertools.pairwise([0.0, *itertools.accumulate(law)])):
        if high - low > 1e-12:
            assert choose(qualities, rate, (low + high) / 2) == place
    for uniform in (0.0, 1 - 2.0**-53):
        assert law[choose(qualities, rate, uniform)] > 0


class _RejectedError(Exception):
    """The first round has kept no choice."""


@pytest.mark.parametrize("sevenths", [(0, 0), (0, 1, 2), (0, -3, 3), (6, 0, 0, 1)])
def test_exact_draws_keep_a_choice_exactly_as_often_as_the_law_says(sevenths: tuple[int, ...]) -> None:
    """One round of the rejection, played through: a choice is kept with e^(−rate·what it lacks)/k, and the rest again.

    With sevenths, no bound of another draw is the number of choices, so that the next round is known by its bound.
    """
    qualities = [Fraction(number) for number in sevenths]

    def one_round(below: Below) -> int:
        rounds = 0

        def counted(bound: int) -> int:
            nonlocal rounds
            rounds += bound == len(qualities)
            return below(bound)

        def first_only(bound: int) -> int:
            drawn = counted(bound)
            if rounds > 1:
                raise _RejectedError
            return drawn

        try:
            return int(choose_exactly(qualities, Fraction(1, 7), first_only))
        except _RejectedError:
            return -1

    law = exact_law(one_round)
    best = max(sevenths)
    for place, number in enumerate(sevenths):
        assert float(law[place]) == pytest.approx(math.exp((number - best) / 7) / len(sevenths), abs=1e-14)
    assert sum(law.values()) > 1 - Fraction(1, 10**14)


def test_exact_draws_of_a_single_choice_or_at_rate_zero_reject_nothing() -> None:
    for qualities in ([Fraction(4)], [Fraction(4), Fraction(-9), Fraction(2)]):
        law = exact_law(lambda below, given=qualities: int(choose_exactly(given, Fraction(0), below)))
        assert law == dict.fromkeys(range(len(qualities)), Fraction(1, len(qualities)))


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1), Fraction(5, 3)])
def test_exact_draws_follow_the_law(rate: Fraction) -> None:
    """Over seeded draws, by chi-square. False alarm: 1e-6 for each rate."""
    qualities = [Fraction(number) for number in (0, 1, 3, -2, 3)]
    generator = random.Random(4)
    counts = Counter(choose_exactly(qualities, rate, generator.randrange) for _ in range(30_000))
    law = choice_probabilities(qualities, rate)
    statistic = math.fsum((counts[place] - 30_000 * p) ** 2 / (30_000 * p) for place, p in enumerate(law))
    assert chdtrc(len(law) - 1, statistic) > 1e-6
