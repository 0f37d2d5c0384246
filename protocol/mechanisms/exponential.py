"""The exponential mechanism on given qualities: better choices are exponentially more probable.

Source: McSherry and Talwar (2007); Canonne, Kamath and Steinke (2020) for exact sampling, by rejection.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from ..elementary import exp
from .exact import Below, has_happened_exp

__all__ = ["choice_probabilities", "choose", "choose_exactly"]

# e^(−x) is no positive float far beyond this.
_GREATEST_EXPONENT: Final = 700


def choice_probabilities(qualities: Sequence[Fraction], rate: Fraction) -> tuple[float, ...]:
    """Return P[choice] ∝ e^(rate·quality), for all choices in order.

    Args:
        qualities: one for each choice, at least one.
        rate: ≥ 0: ε/(2Δ), where one person changes a quality by Δ at most.
    """
    masses = _masses(qualities, rate)
    total = math.fsum(masses)
    return tuple(mass / total for mass in masses)


def choose(qualities: Sequence[Fraction], rate: Fraction, uniform: float) -> int:
    """Return the choice that a uniform in [0, 1) names, by the inverse of the cumulative law.

    Args:
        qualities: see `choice_probabilities`.
        rate: see there.
        uniform: in [0, 1).
    """
    masses = _masses(qualities, rate)
    left = uniform * math.fsum(masses)
    for place, mass in enumerate(masses):
        left -= mass
        if left < 0:
            return place
    return max(range(len(masses)), key=masses.__getitem__)  # rounding


def choose_exactly(qualities: Sequence[Fraction], rate: Fraction, below: Below) -> int:
    """Return a choice, drawn without rounding: any one, kept with probability e^(−rate·(best − its quality)).

    The best is always kept, so that as many draws as there are choices are enough on average.

    Args:
        qualities: see `choice_probabilities`.
        rate: see there.
        below: where randomness comes from.
    """
    best = max(qualities)
    while True:
        place = below(len(qualities))
        if has_happened_exp(rate * (best - qualities[place]), below):
            return place


def _masses(qualities: Sequence[Fraction], rate: Fraction) -> list[float]:
    best = max(qualities)
    exponents = [rate * (best - quality) for quality in qualities]
    return [exp(-float(x)) if x < _GREATEST_EXPONENT else 0.0 for x in exponents]
