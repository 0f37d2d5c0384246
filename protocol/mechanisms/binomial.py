"""Binomial numbers from one uniform each, with the same bits on every processor.

The probabilities are computed from the mode outwards, by ratios of neighboring ones, with basic arithmetic only.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from .exact import RandBelow

# Counts with a smaller probability, relative to the mode, are never reached by a uniform of 53 bits.
_NEGLIGIBLE: Final = 2.0**-80


def binomial_law(number: int, probability: Fraction) -> tuple[int, Sequence[float]]:
    """Return the least count of Bin(number, probability) that is not negligible, and P[count] from it upwards.

    The probabilities have an error of about 1e-15, relative to their sum.
    """
    if number == 0 or probability == 0:
        return 0, (1.0,)
    if probability == 1:
        return number, (1.0,)
    odds = float(probability / (1 - probability))
    mode = min(int((number + 1) * probability), number)
    upper_masses: list[float] = []
    mass, count = 1.0, mode
    while count < number and mass > _NEGLIGIBLE:
        mass *= (number - count) / (count + 1) * odds
        count += 1
        upper_masses.append(mass)
    lower_masses: list[float] = []
    mass, count = 1.0, mode
    while count > 0 and mass > _NEGLIGIBLE:
        mass *= count / ((number - count + 1) * odds)
        count -= 1
        lower_masses.append(mass)
    masses = [*reversed(lower_masses), 1.0, *upper_masses]
    total = math.fsum(masses)
    return count, [mass / total for mass in masses]


def draw_binomial(number: int, probability: Fraction, uniform: float) -> int:
    """Return the count that a uniform in [0, 1) names, by the inverse of the cumulative law."""
    least, masses = binomial_law(number, probability)
    remaining_mass = uniform
    for place, mass in enumerate(masses):
        remaining_mass -= mass
        if remaining_mass < 0:
            return least + place
    return least + len(masses) - 1  # rounding left the uniform above the last sum


def draw_binomial_exactly(number: int, probability: Fraction, randbelow: RandBelow) -> int:
    """Return a count of events that have happened, drawn one by one without rounding."""
    numerator, denominator = probability.as_integer_ratio()
    return sum(randbelow(denominator) < numerator for _ in range(number))
