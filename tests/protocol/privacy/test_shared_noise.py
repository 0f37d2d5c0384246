"""What sums with fewer honest shares than planned lose: never less than exactly, to the last digit and at any distance.

The exact loss is worked out here by definition, in 60 digits.
"""

import decimal
import functools
import itertools
from decimal import Decimal
from fractions import Fraction

import pytest
from psephos.protocol.privacy.shared_noise import shared_laplace_loss
from thoroughness import draws

_PRECISION = 60
SHAPES = [(3, 4), (1, 4), (39, 40), (1, 100), (2, 3)]
"""Honest shares, and those planned."""


@functools.lru_cache(maxsize=8)
def weights_of(scale: float, shape: Fraction, number: int) -> tuple[Decimal, ...]:
    """Return P[X = k] of a negative binomial number, in proportion, for so many k."""
    with decimal.localcontext(prec=_PRECISION):
        decay, size = (-1 / Decimal(scale)).exp(), Decimal(shape.numerator) / shape.denominator
        found = [Decimal(1)]
        for place in range(number - 1):
            found.append(found[-1] * decay * (place + size) / (place + 1))
    return tuple(found)


def exact_loss(scale: float, shape: Fraction, distance: int) -> Decimal:
    """Return ln(q(0)/q(distance)) of the difference of two such numbers."""
    number = int(70 * scale) + 70
    weights = weights_of(scale, shape, number + distance)
    with decimal.localcontext(prec=_PRECISION):
        near = sum((own * own for own in weights[:number]), start=Decimal(0))
        far = sum((own * other for own, other in zip(weights[:number], weights[distance:], strict=True)), Decimal(0))
        return (near / far).ln()


def loss_of(scale: float, planned: int, honest: int, distance: int) -> Decimal:
    return Decimal(shared_laplace_loss(scale=scale, sensitivity=distance, planned=planned, honest=honest, width=1))


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.75])
def test_a_loss_is_never_below_the_exact_one_at_whatever_distance(scale: float) -> None:
    """Up to a hundred scales it is so by rounding alone, and beyond by what is added up in steps."""
    far = int(100 * scale)
    distances = sorted({1, 2, 7, far - 1, far, far + 1, far + far // 2, 2 * far - 1, 2 * far, 3 * far + 5})
    for (honest, planned), distance in itertools.product(SHAPES, filter(None, distances)):
        exact = exact_loss(scale, Fraction(honest, planned), distance)
        stated = loss_of(scale, planned, honest, distance)
        assert stated >= exact, (honest, planned, distance)
        assert stated <= exact + Decimal("1e-8") or distance > far


def test_roundings_never_bring_a_loss_below_the_exact_one() -> None:
    """For many scales, of which each has roundings of its own: the more, the more terms there are."""
    for number in range(draws(40, full=200)):
        scale, (honest, planned) = 0.5 + (number % 40) ** 2 / 7 + number / 97, SHAPES[number % len(SHAPES)]
        for distance in (1, 3):
            exact = exact_loss(scale, Fraction(honest, planned), distance)
            assert loss_of(scale, planned, honest, distance) >= exact, scale
