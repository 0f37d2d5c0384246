"""How probably a decision is wrong, under a prior that is named.

Write S for the unbiased estimate of the margin, s for its standard error, M for the true margin and W for all weight
(where weights are private: as if all weights of the set were alike frequent). Given M, S is normal about it, or has
Laplace's law where a trusted server adds noise once.

    uniform    M is uniform on what is possible: any share of yes is as likely as any other
    coins      every partner tosses a fair coin: M is normal about its mean, with t² = Σw²/4
    mixed      half of the one, half of the other, the default of majorities

What is uniform alone calls a vote decided that is near to a coin toss, as the paper's own workload is; that all votes
are coin tosses is what no electorate would say of itself. Fair coins say nothing of another quota than half of all
weight: there `uniform` is the only one.
"""

import abc
import dataclasses
import functools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, Literal, TypeAlias

import numpy as np
import scipy as sp

from ..arrays import FloatArray
from ..elementary import exp, ln, normal_tail, square
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


def error_probability(
    margin: Estimate,
    electorate: Electorate,
    *,
    prior: ErrorPrior,
    passed: bool,
    laplace_scale: float = 0.0,
    masses: FloatArray | None = None,
) -> float:
    """Return the probability that a decision is wrong, by an unbiased estimate of the margin.

    Where the decision contradicts the estimate, the probability exceeds ½.

    Args:
        laplace_scale: of the estimate's noise, where that has Laplace's law; else the step of `masses`; 0 for a normal
            one.
        masses: of the noise, where it has a law of its own: of 0, 1, … steps; it is symmetric.
    """
    error, threshold = margin.standard_error, electorate.threshold
    low, high = electorate.least, electorate.greatest
    if not error or low == high:
        known = margin.value if low < high else low
        return 0.0 if passed == (known > threshold) else 1.0
    value = min(max(margin.value, low - _FURTHEST * error), high + _FURTHEST * error)
    if masses is not None:
        noise: _Noise = _OwnNoise(value, laplace_scale, masses)
    else:
        noise = _LaplaceNoise(value, laplace_scale) if laplace_scale else _NormalNoise(value, error)
    possible = noise.between(low, high)
    between = min(max(threshold, low), high)
    of_uniform = (noise.between(low, between) if passed else noise.between(between, high)) / possible
    if prior == "uniform":
        return of_uniform
    # How well each foretold the estimate.
    by_uniform = possible / (high - low)
    by_coins, of_coins = noise.of_coins((low + high) / 2, electorate.squares / 4, threshold, passed=passed)
    return (by_uniform * of_uniform + by_coins * of_coins) / (by_uniform + by_coins)


class _Noise(abc.ABC):
    """The law of an estimate of this value."""

    def __init__(self, value: float, size: float) -> None:
        self._value, self._size = value, size

    @abc.abstractmethod
    def between(self, low: float, high: float) -> float:
        """Return the integral of the estimate's density over margins in an interval."""

    @abc.abstractmethod
    def of_coins(self, center: float, spread: float, threshold: float, *, passed: bool) -> tuple[float, float]:
        """Return, if margins are normal, the estimate's density and the probability that the decision is wrong."""


class _NormalNoise(_Noise):
    def between(self, low: float, high: float) -> float:
        return _normal_between(low, high, self._value, self._size)

    def of_coins(self, center: float, spread: float, threshold: float, *, passed: bool) -> tuple[float, float]:
        noise = square(self._size)
        off = self._value - center
        after = center + off * spread / (noise + spread)
        deviation = self._size * math.sqrt(spread / (noise + spread))
        towards = after - threshold if passed else threshold - after
        density = exp(-square(off) / (2 * (noise + spread))) / math.sqrt(2 * math.pi * (noise + spread))
        return density, normal_tail(towards / deviation)


class _LaplaceNoise(_Noise):
    def between(self, low: float, high: float) -> float:
        """Return it as a difference of the smaller tails."""
        below, above = (low - self._value) / self._size, (high - self._value) / self._size
        if below >= above:
            return 0.0
        if below > 0 or above < 0:
            near, far = (below, above) if below > 0 else (-above, -below)
            return (exp(-near) - exp(-far)) / 2
        return 1.0 - exp(below) / 2 - exp(-above) / 2

    def of_coins(self, center: float, spread: float, threshold: float, *, passed: bool) -> tuple[float, float]:
        """Return them from the logarithms of the parts beside the estimate, of which each is a normal integral."""
        deviation = math.sqrt(spread)
        tilt = deviation / self._size
        value, tie = (self._value - center) / deviation, (threshold - center) / deviation

        def part(low: float, high: float) -> float:
            """Return the logarithm of the joint density over standardized margins on one side of the estimate."""
            if low >= high:
                return -math.inf
            sign = 1.0 if high <= value else -1.0
            return square(tilt) / 2 - sign * tilt * value + _log_normal_between(low - sign * tilt, high - sign * tilt)

        cuts = sorted((value, tie))
        ends = [(-math.inf, cuts[0]), (cuts[0], cuts[1]), (cuts[1], math.inf)]
        parts = [(high <= tie, part(low, high)) for low, high in ends]
        greatest = max(log for _, log in parts)
        sizes = [(fails, exp(log - greatest) if log > -math.inf else 0.0) for fails, log in parts]
        total = math.fsum(size for _, size in sizes)
        wrong = math.fsum(size for fails, size in sizes if fails is passed)
        return exp(greatest + ln(total)) / (2 * self._size), wrong / total


class _OwnNoise(_Noise):
    """Noise of whole steps, each spread evenly over one."""

    def __init__(self, value: float, size: float, masses: FloatArray) -> None:
        super().__init__(value, size)
        self._noise = np.arange(1 - len(masses), len(masses)) * size
        self._masses = _of_both_signs(masses.tobytes())

    def between(self, low: float, high: float) -> float:
        margins = self._value - self._noise
        within = np.clip((np.minimum(high, margins + self._size / 2) - low) / self._size, 0.0, 1.0)
        within = np.minimum(within, np.clip((high - margins + self._size / 2) / self._size, 0.0, 1.0))
        parts = within * self._masses
        return math.fsum(parts[parts != 0].tolist())

    def of_coins(self, center: float, spread: float, threshold: float, *, passed: bool) -> tuple[float, float]:
        margins = self._value - self._noise
        logs = (margins - center) * (margins - center) / (-2 * spread * ln(2.0))
        greatest = float(logs.max())
        joint = self._masses * sp.special.exp2(logs - greatest)
        total, wrong = (math.fsum(some.tolist()) for some in (joint, joint[(margins < threshold) == passed]))
        return exp(greatest * ln(2.0)) * total / math.sqrt(2 * math.pi * spread), wrong / total


@functools.lru_cache(maxsize=8)
def _of_both_signs(masses: bytes) -> FloatArray:
    """Return the masses of all steps, from those of 0, 1, …: they sum to 1."""
    of_steps = np.frombuffer(masses)
    both = np.concatenate([of_steps[:0:-1], of_steps])
    return both / math.fsum(both.tolist())


def _log_normal_between(low: float, high: float) -> float:
    """Return the logarithm of the probability of an interval, by the smaller tails."""
    if low > 0:
        return _log_normal_between(-high, -low)
    upper, lower = float(sp.special.log_ndtr(high)), float(sp.special.log_ndtr(low))
    if lower == -math.inf:
        return upper
    return upper + math.log(-math.expm1(lower - upper)) if lower < upper else -math.inf


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
