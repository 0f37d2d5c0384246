"""How probably a decision is wrong, under a prior that is named.

Write S for the unbiased estimate of the margin, s for its standard error, M for the true margin and W for all weight
(where weights are private: as if all weights of the set were alike frequent). Given M, S is normal about it.

    uniform    M is uniform on what is possible: any share of yes is as likely as any other
    coins      every partner tosses a fair coin: M is normal about its mean, with t² = Σw²/4
    mixed      half of the one, half of the other, the default of majorities

What is uniform alone calls a vote decided that is near to a coin toss, as the paper's own workload is; that all votes
are coin tosses is what no electorate would say of itself. Fair coins say nothing of another quota than half of all
weight: there `uniform` is the only one.
"""

import dataclasses
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from ..elementary import exp, normal_tail, square
from ..estimators import Estimate

__all__ = ["Electorate", "ErrorPrior", "error_probability", "threshold_of", "unit_of"]

ErrorPrior: TypeAlias = Literal["mixed", "uniform"]

# An estimate that is further outside what is possible is taken as so many standard errors outside: the probability of
# an error then is too great rather than too small, and beyond 1e-80 anyway.
_FURTHEST: Final = 20.0


@dataclasses.dataclass(frozen=True)
class Electorate:
    """The margins that are possible.

    Args:
        least: the margin if all say no.
        greatest: the margin if all say yes.
        squares: Σw² of those who report opinions.
        threshold: halfway between the greatest margin that fails and the least one that passes.
    """

    least: float
    greatest: float
    squares: float
    threshold: float


def unit_of(numbers: Iterable[Fraction]) -> Fraction:
    """Return the greatest number of which all of these are multiples; not all are 0."""
    exact = list(numbers)
    denominator = math.lcm(*(number.denominator for number in exact))
    return Fraction(math.gcd(*(int(number * denominator) for number in exact)), denominator)


def threshold_of(margin: Fraction, unit: Fraction, *, tie_passes: bool) -> Fraction:
    """Return what lies halfway between the greatest margin that fails and the least one that passes.

    `margin` is a possible one, the others are multiples of the unit away, and a margin of 0 may pass or not.
    """
    steps = -margin / unit
    first = math.ceil(steps) if tie_passes else math.floor(steps) + 1
    return margin + (first - Fraction(1, 2)) * unit


def error_probability(margin: Estimate, electorate: Electorate, *, prior: ErrorPrior, passed: bool) -> float:
    """Return the probability that a decision is wrong, by an unbiased estimate of the margin.

    Where the decision contradicts the estimate, the probability exceeds ½.
    """
    error, threshold = margin.standard_error, electorate.threshold
    if not error:
        return 0.0 if passed == (margin.value > threshold) else 1.0
    low, high = electorate.least, electorate.greatest
    value = min(max(margin.value, low - _FURTHEST * error), high + _FURTHEST * error)
    possible = _normal_between(low, high, value, error)
    between = min(max(threshold, low), high)
    wrong = _normal_between(low, between, value, error) if passed else _normal_between(between, high, value, error)
    of_uniform = wrong / possible
    if prior == "uniform":
        return of_uniform
    noise, spread = square(error), electorate.squares / 4
    center = (low + high) / 2
    off = value - center
    after = center + off * spread / (noise + spread)
    deviation = error * math.sqrt(spread / (noise + spread))
    towards = after - threshold if passed else threshold - after
    of_coins = normal_tail(towards / deviation)
    # How well each foretold the estimate.
    by_uniform = possible / (high - low)
    by_coins = exp(-square(off) / (2 * (noise + spread))) / math.sqrt(2 * math.pi * (noise + spread))
    return (by_uniform * of_uniform + by_coins * of_coins) / (by_uniform + by_coins)


def _normal_between(low: float, high: float, mean: float, deviation: float) -> float:
    """Return the probability of an interval, as a difference of the smaller tails."""
    below, above = (low - mean) / deviation, (high - mean) / deviation
    if below >= above:
        return 0.0
    if below > 0:
        return normal_tail(below) - normal_tail(above)
    if above < 0:
        return normal_tail(-above) - normal_tail(-below)
    return 1.0 - normal_tail(-below) - normal_tail(above)
