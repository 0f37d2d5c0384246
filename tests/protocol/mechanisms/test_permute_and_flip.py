"""Permute-and-flip: its law by brute force, its privacy, and that it is never worse than the exponential mechanism."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from psephos.protocol.mechanisms.exponential import (
    choice_probabilities,
    flip,
    flip_exactly,
    flip_probabilities,
)

QUALITIES = [
    [Fraction(0)],
    [Fraction(0), Fraction(0)],
    [Fraction(3), Fraction(1), Fraction(2)],
    [Fraction(1, 3), Fraction(1, 2), Fraction(-4), Fraction(1, 2)],
    [Fraction(0), Fraction(-10_000)],
]
RATES = [Fraction(0), Fraction(1, 7), Fraction(2)]


def law_by_orders(qualities: Sequence[Fraction], rate: Fraction) -> list[float]:
    """Return the law by enumerating all orders in which choices may be asked."""
    best = max(qualities)
    kept = [math.exp(-float(rate * (best - quality))) for quality in qualities]
    law = [0.0] * len(qualities)
    orders = list(itertools.permutations(range(len(qualities))))
    for order in orders:
        reached = 1 / len(orders)
        for place in order:
            law[place] += reached * kept[place]
            reached *= 1 - kept[place]
    return law


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("qualities", QUALITIES)
def test_the_law_is_that_of_all_orders(qualities: list[Fraction], rate: Fraction) -> None:
    assert flip_probabilities(qualities, rate) == pytest.approx(law_by_orders(qualities, rate), abs=1e-14)


def test_the_law_of_fifty_choices_sums_to_one() -> None:
    law = flip_probabilities([Fraction(place, 10) for place in range(50)], Fraction(1, 2))
    assert math.fsum(law) == pytest.approx(1, abs=1e-14)
    assert list(law) == sorted(law)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("qualities", QUALITIES)
def test_the_expected_quality_is_no_less_than_the_exponential_mechanisms(
    qualities: list[Fraction], rate: Fraction
) -> None:
    expected = [
        math.fsum(probability * float(quality) for probability, quality in zip(law, qualities, strict=True))
        for law in (flip_probabilities(qualities, rate), choice_probabilities(qualities, rate))
    ]
    assert expected[0] >= expected[1] - 1e-12


@pytest.mark.parametrize("size", [2, 3, 4])
def test_qualities_that_move_by_the_sensitivity_change_no_probability_by_more_than_epsilon(size: int) -> None:
    """All moves of ±1 and 0 of some qualities, rate ε/2 for Δ = 1: the greatest ratio comes near e^ε and not above."""
    epsilon = Fraction(3, 2)
    worst = 0.0
    for start in ([Fraction(0)] * size, [Fraction(place) for place in range(size)]):
        law = flip_probabilities(start, epsilon / 2)
        for moves in itertools.product((-1, 0, 1), repeat=size):
            moved = [quality + move for quality, move in zip(start, moves, strict=True)]
            other = flip_probabilities(moved, epsilon / 2)
            worst = max(worst, *(abs(math.log(one / two)) for one, two in zip(law, other, strict=True)))
    assert 0.5 * float(epsilon) < worst <= float(epsilon) + 1e-12


def test_draws_have_the_law() -> None:
    """40,000 draws each way; five standard errors a share, so that both together fail for one seed in 250,000."""
    qualities, rate = QUALITIES[3], Fraction(2)
    law = flip_probabilities(qualities, rate)
    generator = random.Random(20)
    number = 40_000
    draws = {
        "uniforms": [flip(qualities, rate, [generator.random() for _ in range(8)]) for _ in range(number)],
        "integers": [flip_exactly(qualities, rate, generator.randrange) for _ in range(number)],
    }
    for kind, drawn in draws.items():
        counts = Counter(drawn)
        for place, probability in enumerate(law):
            error = math.sqrt(number * probability * (1 - probability))
            assert abs(counts[place] - number * probability) <= 5 * error + 1e-9, (kind, place)
