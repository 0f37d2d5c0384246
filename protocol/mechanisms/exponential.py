"""Private selection by quality: the exponential mechanism, and permute-and-flip.

Let Δ be the greatest change of a quality by one person. With rate ε/(2Δ), both are ε-DP. Permute-and-flip visits the
choices in random order, keeps each with probability e^(−rate·(best − its quality)), and takes the first that is kept.
Its expected loss of quality is at most that of the exponential mechanism, and can be half of it.

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

# Not far beyond this exponent, e^(−x) underflows.
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
    return max(range(len(masses)), key=masses.__getitem__)  # rounding left the uniform above the last sum


def choose_exactly(qualities: Sequence[Fraction], rate: Fraction, randbelow: RandBelow) -> int:
    """Draw a choice of the exponential mechanism without rounding.

    Propose a uniform choice, and accept it with probability e^(−rate·(best − its quality)). The best one is always
    accepted, so the expected number of proposals is at most the number of choices.
    """
    best = max(qualities)
    while True:
        place = randbelow(len(qualities))
        if bernoulli_exp(rate * (best - qualities[place]), randbelow):
            return place


def flip_probabilities(qualities: Sequence[Fraction], rate: Fraction) -> tuple[float, ...]:
    """Return P[choice] of permute-and-flip, for all choices in order.

    Let the choices come at independent uniform times, and let p be the probability that a choice is kept. A choice at
    time t wins if it is kept, and no choice before it is. So P = p ∫ Π (1 − t·p_other) dt over [0, 1].
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
    """Return ln P[choice] of the exponential mechanism for many laws, also if P underflows; shape (c, m).

    Args:
        deficits: rate·(best quality − quality) ≥ 0 of each choice, shape (c, m), with a 0 in each row.
    """
    return -deficits - log_sums(-deficits, axis=1)[:, None]


def log_flip_probabilities(deficits: FloatArray) -> FloatArray:
    """Return ln P[choice] of permute-and-flip for many laws; see `log_choice_probabilities` for arguments and shape.

    The integral of `flip_probabilities` is that of a polynomial, so a Gauss-Legendre rule computes it exactly. 1 − t·p
    is computed as a sum of positive terms, (1 − t) + t·(1 − p), so that no digits are lost.
    """
    times, rests, log_shares = Uniform(0.0, 1.0).mixture(deficits.shape[1] - 1)
    fallen = -sp.special.expm1(-deficits)  # 1 − p
    # For each time t, law and choice: ln(1 − t·p), for the event that the choice was not kept before t.
    passed = log_of(rests[:, None, None] + times[:, None, None] * fallen)
    other_passes = passed.sum(axis=2, keepdims=True) - passed
    return -deficits + log_sums(other_passes + log_shares[:, None, None], axis=0)


def greatest_choice_deficit(num_choices: int, level: float) -> float:
    """Return x such that rate·(best quality − chosen quality) ≥ x has probability at most `level` for all qualities.

    For m ≥ 2 choices the probability is at most (m − 1)/(m − 1 + e^x); this is attained if all choices but the best
    have the deficit x.
    """
    return max(ln(num_choices - 1) + log1p(-level) - ln(level), 0.0)


def greatest_flip_deficit(num_choices: int, level: float) -> float:
    """Return `greatest_choice_deficit` of permute-and-flip.

    The probability is at most 1 − (1 − (1 − e^(−x))^m)/(m·e^(−x)): the best is taken if none before it is kept.
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
