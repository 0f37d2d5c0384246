"""Choices by given qualities, of which better ones are more probable: the exponential mechanism, permute-and-flip.

With Δ the most that one person changes a quality, and rate ε/(2Δ), both are ε-DP. Permute-and-flip asks the choices in
a random order and takes the first that is kept, with probability e^(−rate·(best − its quality)); its expected loss of
quality is never more than the exponential mechanism's, and down to half of it.

Source: McSherry and Talwar (2007); McKenna and Sheldon (2020), Algorithm 1, Theorems 1 and 2; Canonne, Kamath and
Steinke (2020) for exact sampling.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import scipy as sp

from ..arrays import FloatArray
from ..elementary import exp, expm1, ln, log1p
from .exact import RandBelow, bernoulli_exp
from .hyper import Uniform
from .logarithms import log_of, log_sums

# e^(−x) is no positive float far beyond this.
_GREATEST_EXPONENT: Final = 700


def choice_probabilities(qualities: Sequence[Fraction], rate: Fraction) -> tuple[float, ...]:
    """Return P[choice] ∝ e^(rate·quality), for all choices in order, at least one."""
    masses = _masses(qualities, rate)
    total = math.fsum(masses)
    return tuple(mass / total for mass in masses)


def choose(qualities: Sequence[Fraction], rate: Fraction, uniform: float) -> int:
    """Return the choice that a uniform in [0, 1) names, by the inverse of the cumulative law."""
    masses = _masses(qualities, rate)
    remaining_mass = uniform * math.fsum(masses)
    for place, mass in enumerate(masses):
        remaining_mass -= mass
        if remaining_mass < 0:
            return place
    return max(range(len(masses)), key=masses.__getitem__)  # rounding


def choose_exactly(qualities: Sequence[Fraction], rate: Fraction, randbelow: RandBelow) -> int:
    """Return a choice, drawn without rounding: any one, kept with probability e^(−rate·(best − its quality)).

    The best is always kept, so that as many draws as there are choices are enough on average.
    """
    best = max(qualities)
    while True:
        place = randbelow(len(qualities))
        if bernoulli_exp(rate * (best - qualities[place]), randbelow):
            return place


def flip_probabilities(qualities: Sequence[Fraction], rate: Fraction) -> tuple[float, ...]:
    """Return P[choice] of permute-and-flip, for all choices in order.

    Let choices come at independent uniform times. One that comes at t wins when it is kept and none before it is, so
    that P = p ∫ Π (1 − t·p_other) dt over [0, 1].
    """
    masses = [Fraction(mass) for mass in _masses(qualities, rate)]
    law: list[float] = []
    for place, mass in enumerate(masses):
        product = [Fraction(1)]  # coefficients of a polynomial in t
        for other_place, of_other in enumerate(masses):
            if other_place != place:
                shifted = [Fraction(0), *(of_other * part for part in product)]
                product = [part - less for part, less in zip([*product, Fraction(0)], shifted, strict=True)]
        integral = sum((part / power for power, part in enumerate(product, start=1)), Fraction(0))
        law.append(float(mass * integral))
    return tuple(law)


def log_choice_probabilities(deficits: FloatArray) -> FloatArray:
    """Return ln P[choice] of the exponential mechanism for many laws: also where P is below the least float.

    Deficits are rate·(best quality − quality) ≥ 0 of each choice, with a 0 in each row; the shape of both is (c, m).
    """
    return -deficits - log_sums(-deficits, axis=1)[:, None]


def log_flip_probabilities(deficits: FloatArray) -> FloatArray:
    """Return ln P[choice] of permute-and-flip for many laws, as `log_choice_probabilities` does.

    The integral of `flip_probabilities` is the mean of a polynomial of a uniform t, and a Gauss-Legendre rule gives it
    exactly; 1 − t·p is a sum of positive terms, (1 − t) + t·(1 − p), so that no digits are lost.
    """
    times, rests, log_shares = Uniform(0.0, 1.0).mixture(deficits.shape[1] - 1)
    fallen = -sp.special.expm1(-deficits)  # 1 − p
    # For each time, law and choice: that a choice which came before has not been kept.
    passed = log_of(rests[:, None, None] + times[:, None, None] * fallen)
    other_passes = passed.sum(axis=2, keepdims=True) - passed
    return -deficits + log_sums(other_passes + log_shares[:, None, None], axis=0)


def greatest_choice_deficit(num_choices: int, level: float) -> float:
    """Return x such that rate·(best quality − chosen quality) ≥ x has probability `level` at most, whatever they are.

    That is (m − 1)/(m − 1 + e^x) at most, m ≥ 2, where all but one are so much worse.
    """
    return max(ln(num_choices - 1) + log1p(-level) - ln(level), 0.0)


def greatest_flip_deficit(num_choices: int, level: float) -> float:
    """Return `greatest_choice_deficit` of permute-and-flip.

    The probability is at most 1 − (1 − (1 − e^(−x))^m)/(m·e^(−x)): the best is reached when all before it have failed.
    """
    low, high = 0.0, greatest_choice_deficit(num_choices, level)
    while low < (middle := (low + high) / 2) < high:
        decay = exp(-middle)
        passed = num_choices * log1p(-decay) if middle else -math.inf
        chance = 1.0 + expm1(passed) / (num_choices * decay) if middle else 1.0 - 1.0 / num_choices
        low, high = (middle, high) if chance > level else (low, middle)
    return high


def flip(qualities: Sequence[Fraction], rate: Fraction, uniforms: Sequence[float]) -> int:
    """Return the choice that uniforms in [0, 1) name by permute-and-flip: two each, for its turn and for keeping it."""
    masses = _masses(qualities, rate)
    remaining_places = list(range(len(masses)))
    for turn in range(len(masses)):
        place = remaining_places.pop(min(int(uniforms[2 * turn] * len(remaining_places)), len(remaining_places) - 1))
        if uniforms[2 * turn + 1] < masses[place]:
            return place
    raise AssertionError("the best choice is always kept")


def flip_exactly(qualities: Sequence[Fraction], rate: Fraction, randbelow: RandBelow) -> int:
    """Return a choice by permute-and-flip, drawn without rounding."""
    best = max(qualities)
    remaining_places = list(range(len(qualities)))
    while True:
        place = remaining_places.pop(randbelow(len(remaining_places)))
        if bernoulli_exp(rate * (best - qualities[place]), randbelow):
            return place


def _masses(qualities: Sequence[Fraction], rate: Fraction) -> list[float]:
    best = max(qualities)
    exponents = [rate * (best - quality) for quality in qualities]
    return [exp(-float(x)) if x < _GREATEST_EXPONENT else 0.0 for x in exponents]
