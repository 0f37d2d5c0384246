"""Mechanisms with exact samplers, which take only uniform integers, and the building blocks of such samplers.

A deployment samples without floating-point error. For laws of rational numbers and powers of e, uniform integers below
a bound are enough. They come in as a function: from the operating system's entropy in a deployment, from a seed in a
test.

Source: Canonne, Kamath and Steinke (2020), Algorithm 1, for Bernoulli(e^(−x)).
"""

import abc
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from ..arguments import exact_arguments
from .mechanism import RowMechanism

RandBelow: TypeAlias = Callable[[int], int]
"""A function that returns a uniform integer in [0, n), for n ≥ 1, independent of all earlier ones."""


class ExactMechanism(RowMechanism):
    """A mechanism with an exact sampler.

    Examples:
        >>> import random
        >>> from psephos.protocol.mechanisms import SampledPair
        >>> SampledPair(1.0, 3).randomize_exactly([1, 0, 2], random.Random(1).randrange)
        [1]
    """

    __slots__ = ()

    @abc.abstractmethod
    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        """Return a report of a row, drawn without any rounding; a ValueError refuses a row that is not allowed."""


@exact_arguments
def bernoulli(probability: Fraction, randbelow: RandBelow) -> bool:
    """Draw a Bernoulli variable: return True with this probability, in [0, 1].

    Examples:
        >>> import random
        >>> randbelow = random.Random(1).randrange
        >>> [bernoulli(Fraction(1, 4), randbelow) for _ in range(5)]
        [False, True, False, True, False]
    """
    return randbelow(probability.denominator) < probability.numerator


@exact_arguments
def bernoulli_exp(x: Fraction, randbelow: RandBelow) -> bool:
    """Draw a Bernoulli variable: return True with probability e^(−x), x ≥ 0.

    Examples:
        >>> import random
        >>> randbelow = random.Random(1).randrange
        >>> sum(bernoulli_exp(Fraction(1), randbelow) for _ in range(1_000))  # about 1000/e
        368
    """
    return happens_exp(*x.as_integer_ratio(), randbelow)


def happens_exp(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """Do it for x = numerator/denominator, in lowest terms or not: of more than 1, e^(−1) as often as x has a whole."""
    quotient, remainder = divmod(numerator, denominator)
    for _ in range(quotient):
        if not _happens_exp_small(1, 1, randbelow):
            return False
    return not remainder or _happens_exp_small(remainder, denominator, randbelow)


def _happens_exp_small(numerator: int, denominator: int, randbelow: RandBelow) -> bool:
    """Do it for x in (0, 1]: the first of events with probability x/1, x/2, … that fails has an odd number."""
    number = 1 + (numerator == denominator)  # skips a first factor of 1
    while randbelow(denominator * number) < numerator:
        number += 1
    return number % 2 == 1
