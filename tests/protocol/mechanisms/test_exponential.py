"""The exponential mechanism and permute-and-flip on given qualities: laws by hand, and both ways to draw from them."""

import itertools
import math
from fractions import Fraction

import pytest
from exact_laws import exact_law
from hypothesis import given
from hypothesis import strategies as st
from psephos.protocol.mechanisms import RandBelow
from psephos.protocol.mechanisms.exponential import (
    choice_probabilities,
    choose,
    choose_exactly,
    flip,
    flip_exactly,
    flip_probabilities,
    greatest_choice_deficit,
    greatest_flip_deficit,
)
from strategies import CHECKED

qualities_of_choices = st.lists(st.fractions(-50, 50, max_denominator=30), min_size=1, max_size=6)
rates = st.fractions(0, 3, max_denominator=30)


@CHECKED
@given(qualities_of_choices, rates)
def test_the_law_is_the_definition(qualities: list[Fraction], rate: Fraction) -> None:
    law = choice_probabilities(qualities, rate)
    masses = [math.exp(rate * (quality - max(qualities))) for quality in qualities]
    assert law == pytest.approx([mass / math.fsum(masses) for mass in masses], rel=1e-12, abs=1e-300)
    assert math.fsum(law) == pytest.approx(1, abs=1e-15)


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

    def one_round(randbelow: RandBelow) -> int:
        rounds = 0

        def counted(bound: int) -> int:
            nonlocal rounds
            rounds += bound == len(qualities)
            return randbelow(bound)

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


# Permute-and-flip


def law_over_orders(chances: list[float]) -> list[float]:
    """Return P[choice] by the definition: over all orders, the first that is kept."""
    law = [0.0] * len(chances)
    orders = list(itertools.permutations(range(len(chances))))
    for order in orders:
        left = 1 / len(orders)
        for place in order:
            law[place] += left * chances[place]
            left *= 1 - chances[place]
    return law


@CHECKED
@given(st.lists(st.fractions(-20, 20, max_denominator=9), min_size=1, max_size=5), rates)
def test_permute_and_flip_is_its_definition(qualities: list[Fraction], rate: Fraction) -> None:
    best = max(qualities)
    chances = [math.exp(-rate * (best - quality)) for quality in qualities]
    law = flip_probabilities(qualities, rate)
    assert law == pytest.approx(law_over_orders(chances), rel=1e-9, abs=1e-12)
    assert math.fsum(law) == pytest.approx(1, abs=1e-14)


@CHECKED
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=5), st.data())
def test_permute_and_flip_is_as_private_as_the_exponential_mechanism(numbers: list[int], data: st.DataObject) -> None:
    """Where each quality moves by 1 at most, no choice's probability grows by more than e^(2·rate)."""
    rate = Fraction(1, 2)
    moves = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=len(numbers), max_size=len(numbers)))
    before = [Fraction(number) for number in numbers]
    after = [quality + move for quality, move in zip(before, moves, strict=True)]
    for law_of in (choice_probabilities, flip_probabilities):
        ratios = [one / other for one, other in zip(law_of(before, rate), law_of(after, rate), strict=True)]
        assert max(ratios) <= math.e * (1 + 1e-12)


def test_exact_flips_have_the_law() -> None:
    """All orders and all flips, played through; what is left out is below 1e-9."""
    qualities = [Fraction(0), Fraction(1), Fraction(3)]
    law = exact_law(lambda below: int(flip_exactly(qualities, Fraction(1, 5), below)))
    assert sum(law.values()) > 1 - Fraction(1, 10**9)
    expected = flip_probabilities(qualities, Fraction(1, 5))
    assert [float(law[place]) for place in range(3)] == pytest.approx(expected, abs=1e-9)


@CHECKED
@given(st.lists(st.fractions(-9, 9, max_denominator=4), min_size=1, max_size=5), rates, st.data())
def test_uniforms_flip_in_their_order(qualities: list[Fraction], rate: Fraction, data: st.DataObject) -> None:
    """Of two uniforms the first names the choice among those left, the second whether it is kept."""
    number = len(qualities)
    order = data.draw(st.permutations(range(number)))
    keeps = data.draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=number, max_size=number))
    left, uniforms = list(range(number)), list[float]()
    for place, keep in zip(order, keeps, strict=True):
        uniforms += [(left.index(place) + 0.5) / len(left), keep]
        left.remove(place)
    chances = [math.exp(-rate * (max(qualities) - quality)) for quality in qualities]
    kept = [place for place, keep in zip(order, keeps, strict=True) if keep < chances[place]]
    assert flip(qualities, rate, uniforms) == kept[0]
    for extreme in (0.0, 1 - 2.0**-53):
        assert 0 <= flip(qualities, rate, [extreme] * (2 * number)) < number


@pytest.mark.parametrize("size", [2, 3, 12])
@pytest.mark.parametrize("level", [0.4, 0.05, 1e-6])
def test_a_choice_is_so_much_worse_with_the_level_where_all_others_are(size: int, level: float) -> None:
    """(m − 1)/(m − 1 + e^x), and for permute-and-flip half of the exponential mechanism's e^x or so."""
    for greatest, law in ((greatest_choice_deficit, choice_probabilities), (greatest_flip_deficit, flip_probabilities)):
        deficit = greatest(size, level)
        qualities = [Fraction(0), *[-Fraction(deficit)] * (size - 1)]
        assert 1 - law(qualities, Fraction(1))[0] == pytest.approx(level, rel=1e-6, abs=1e-12)
    assert greatest_choice_deficit(2, 0.05) == pytest.approx(math.log(19))
    assert greatest_flip_deficit(2, 0.05) == pytest.approx(math.log(10))


@CHECKED
@given(qualities_of_choices.filter(lambda qualities: len(qualities) > 1), rates, st.sampled_from([0.3, 0.05, 0.001]))
def test_no_qualities_make_a_worse_choice_likelier(qualities: list[Fraction], rate: Fraction, level: float) -> None:
    for greatest, law_of in (
        (greatest_choice_deficit, choice_probabilities),
        (greatest_flip_deficit, flip_probabilities),
    ):
        reach = greatest(len(qualities), level) * (1 + 1e-12)
        law = law_of(qualities, rate)
        far = [chance for chance, own in zip(law, qualities, strict=True) if rate * (max(qualities) - own) >= reach]
        assert math.fsum(far) <= level * (1 + 1e-9)


def test_at_a_level_that_any_choice_keeps_nothing_may_be_lacking() -> None:
    assert greatest_choice_deficit(2, 0.6) == greatest_flip_deficit(2, 0.6) == 0.0
