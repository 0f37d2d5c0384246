"""How far noise reaches at a level: no less far than the exact law says, and no farther, at scales of a ladder."""

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy as sp
from psephos.protocol.mechanisms import DiscreteLaplace, VectorLaplace
from psephos.protocol.mechanisms.polya import share_reach

EXACT = decimal.Context(prec=80, Emin=-(10**9))
SCALES = (2.0**-5, 0.1, 0.25, 0.7, 1.0, 2.5, 40.0, 2.0**16, 2.0**30 + 0.5, 2.0**39)
LEVELS = (0.4999, 0.25, 0.05, 1e-3, 1e-12, 1e-40, 1e-200)
SHARES = ((1, 1), (4, 1), (4, 4), (8, 11), (3, 96), (200, 150))
"""How many make a draw of Laplace noise, and how many are in a sum."""


def tail_of(scale: float, noise: int) -> Fraction:
    """Return P[x >= noise] = a^noise/(1 + a), to 80 digits."""
    rate = EXACT.divide(-1, decimal.Decimal(scale))
    decay = EXACT.exp(rate)
    return Fraction(EXACT.divide(EXACT.exp(EXACT.multiply(rate, noise)), EXACT.add(1, decay)))


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_noise_reaches_as_far_as_its_exact_law_says(scale: float) -> None:
    for mechanism in (VectorLaplace(scale, 1, 1), DiscreteLaplace(scale, 0, 1)):
        for level in LEVELS:
            reach = mechanism.reach_of(level)
            assert tail_of(scale, reach) <= Fraction(level), level
            assert reach == 1 or tail_of(scale, reach - 1) > Fraction(level) * Fraction(1 - 2e-12), level


def share_tail(scale: float, shape: float, noise: int) -> float:
    """Return P[X - Y >= noise] of two negative binomial numbers, added up over Y."""
    decay = math.exp(-1 / scale)
    numbers = np.arange(math.ceil(60 * scale) + 60)
    law = sp.stats.nbinom(shape, 1 - decay)
    return math.fsum((law.pmf(numbers) * law.sf(numbers + noise - 1)).tolist())


@pytest.mark.parametrize(("planned", "number"), SHARES)
@pytest.mark.parametrize("scale", [2.0**-4, 0.3, 1.0, 3.0, 25.0])
def test_noise_of_shares_reaches_as_far_as_its_exact_law_says(scale: float, planned: int, number: int) -> None:
    """Tails are right to 1e-9 of themselves; those that are looked up are raised by a 2^-30 or so."""
    for level in (0.3, 0.05, 1e-3, 1e-7):
        reach = share_reach(scale=scale, planned=planned, num_shares=number, level=level)
        assert share_tail(scale, number / planned, reach) <= level * (1 + 1e-9), level
        assert reach == 1 or share_tail(scale, number / planned, reach - 1) > level * (1 - 1e-8), level
