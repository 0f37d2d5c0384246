"""Tests on sums of independent reports: from where on a sum decides, at a level that holds for every truth.

Three are here. Where reports have two kinds, their number is held against the binomial law, exactly: proven. Elsewhere
the sum is held against the normal law with the greatest moments that any truth can have, the next terms of Cornish and
Fisher's expansion, and half of what one step of a report may jump: from three reports on, no truth was found by search
that breaks the level, at 20 %, 5 % and 1 %. The nearest came to 5.0 % at 5 % (Laplace noise), and to 4.8 % of finite
reports; that is no proof.

Source: Hoeffding (1956), On the distribution of the number of successes in independent trials, Theorem 5; Cornish and
Fisher (1938) for the terms; Chernoff (1952).
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple, Self

import numpy as np

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray
from ..elementary import ln, normal_quantile, power_of_two_below, square
from ..errors import ConfigurationError, refuse, require
from ..mechanisms.logarithms import log_of, log_sums
from .verdict import check_level

__all__ = ["Alike", "Spread", "binomial_bounds", "chernoff_threshold"]

# Terms below this part of the greatest one do not change a sum of floats.
_NEGLIGIBLE = 1e-25
# Chernoff's bound holds for each of these multiples of what is best where a sum is normal: rounding cannot break it.
_FACTORS: Final = tuple(2.0 ** (-number / 4) for number in range(-8, 33))
_GREATEST_EXPONENT: Final = 300.0
# Thresholds are raised by this, more than all rounding errors, to a grid on which a processor's last bit does not show.
_RAISED: Final = 2.0**-20
_GRID: Final = 2.0**-24


@dataclasses.dataclass(frozen=True)
class Spread:
    """How far a sum of independent reports may be from its mean, at most: moments that no truth exceeds.

    Args:
        variance: of the sum.
        third: the size of its third central moment.
        fourth: its fourth cumulant; 0 where it is negative.
        gap: the widest gap between neighboring numbers that one report may stand for.
    """

    variance: float = 0.0
    third: float = 0.0
    fourth: float = 0.0
    gap: float = 0.0

    def __post_init__(self) -> None:
        make_fields_exact(self)
        for field in dataclasses.fields(self):
            if not 0 <= (value := getattr(self, field.name)) < math.inf:
                raise ConfigurationError(field=field.name, value=value, allowed="at least 0, and finite")

    @classmethod
    def of_reports(cls, contributions: Sequence[Fraction | float], channel: Sequence[Sequence[float]]) -> Self:
        """Return that of one report.

        Args:
            contributions: what each report stands for.
            channel: rows of the reports' probabilities, one for each value.
        """
        numbers = [float(number) for number in contributions]
        moments = [_central_moments(numbers, row) for row in channel]
        steps = itertools.pairwise(sorted(set(numbers)))
        return cls(
            variance=max(second for second, _, _ in moments),
            third=max(abs(third) for _, third, _ in moments),
            fourth=max(0.0, *(fourth - 3 * square(second) for second, _, fourth in moments)),
            gap=max((above - below for below, above in steps), default=0.0),
        )

    @exact_arguments
    def times(self, number: int) -> "Spread":
        """Return that of a sum of so many reports."""
        refuse(number < 0, "number", number, "at least 0")
        gap = self.gap if number else 0.0
        return Spread(number * self.variance, number * self.third, number * self.fourth, gap)

    @exact_arguments
    def scaled(self, factor: float) -> "Spread":
        """Return that of the sum times a factor ≥ 0."""
        require(0 <= factor < math.inf, "factor", factor, "at least 0, and finite")
        squared = square(factor)
        return Spread(
            squared * self.variance, squared * factor * self.third, square(squared) * self.fourth, factor * self.gap
        )

    def __add__(self, other: "Spread") -> "Spread":
        return Spread(
            self.variance + other.variance,
            self.third + other.third,
            self.fourth + other.fourth,
            max(self.gap, other.gap),
        )

    @exact_arguments
    def decisive(self, level: float) -> float:
        """Return how far above its mean the sum must be to decide at a level.

        s·(z + abs(z² − 1)/6·γ + max(0, z³ − 3z)/24·κ) + gap/2, with s² the variance, γ the skewness, κ the excess and z
        the normal quantile. The excess counts at levels below 4.2 %, where it makes the tail heavier. Nothing decides
        where nothing was reported.
        """
        check_level(level)
        if not self.variance:
            return math.inf
        z, deviation = normal_quantile(level), math.sqrt(self.variance)
        skewness = self.third / (self.variance * deviation)
        excess = self.fourth / square(self.variance)
        quantile = z + abs(square(z) - 1) / 6 * skewness + max(0.0, z * (square(z) - 3)) / 24 * excess
        return deviation * quantile + self.gap / 2


class Alike(NamedTuple):
    """Independent reports by one and the same law.

    Args:
        contributions: what each report stands for.
        channel: rows of the reports' probabilities, one for each value.
        number: of reports.
    """

    contributions: Sequence[Fraction | float]
    channel: Sequence[Sequence[float]]
    number: int


def chernoff_threshold(parts: Sequence[Alike], level: float) -> float:
    """Return how far above its mean a sum of independent reports must be to decide at a level: proven for every truth.

    With ψ the greatest ln E[e^(s·(d − E d))] over the values of a report, P[sum − mean ≥ t] ≤ e^(n·ψ(s) − s·t) for
    every s > 0: t = (n·ψ(s) + ln(1/level))/s is enough, the least over some s.

    Args:
        parts: of the sum; with another sign of what reports stand for, the other side's threshold is found.
        level: in (0, 1/2).

    Returns:
        ∞ where nothing was reported.
    """
    check_level(level)
    laws: list[tuple[int, FloatArray, FloatArray]] = []
    variance, reach = 0.0, 0.0
    for part in parts:
        if not part.number:
            continue
        channel = np.array(part.channel, dtype=np.float64)
        stands_for = np.array([float(number) for number in part.contributions])
        off = stands_for - np.sum(channel * stands_for, axis=1, keepdims=True)
        variance += part.number * float(np.sum(channel * off * off, axis=1).max())
        reach = max(reach, float(np.abs(off).max()))
        laws.append((part.number, log_of(channel), off))
    if not variance:
        return math.inf
    rarity = -ln(level)
    best = math.sqrt(2 * rarity / variance)
    thresholds: list[float] = []
    for factor in _FACTORS:
        slope = min(factor * best, _GREATEST_EXPONENT / reach)
        exponent = math.fsum(number * float(log_sums(law + slope * off, axis=1).max()) for number, law, off in laws)
        thresholds.append((exponent + rarity) / slope)
    raised = min(thresholds) * (1 + _RAISED)
    grid = _GRID * power_of_two_below(raised)
    return math.ceil(raised / grid) * grid


def _central_moments(numbers: Sequence[float], chances: Sequence[float]) -> tuple[float, float, float]:
    mean = math.fsum(chance * number for chance, number in zip(chances, numbers, strict=True))
    off = [number - mean for number in numbers]
    second = [chance * square(number) for chance, number in zip(chances, off, strict=True)]
    third = [part * number for part, number in zip(second, off, strict=True)]
    fourth = [part * square(number) for part, number in zip(second, off, strict=True)]
    return math.fsum(second), math.fsum(third), math.fsum(fourth)


@exact_arguments
def binomial_bounds(number: int, probability: float, level: float) -> tuple[int, int]:
    """Return numbers of successes that decide: the greatest that is too few, and the least that is too many.

    Of independent trials with a mean probability of at least `probability`, as few as the first, or fewer, succeed
    with probability `level` at most; with at most `probability`, as many as the second, or more. The binomial law is
    the worst for numbers that are at least one off the mean (Hoeffding's Theorem 5), and nearer ones never decide.

    Args:
        number: of trials, at least one.
        probability: in [0, 1].
        level: of either side, below ½.

    Returns:
        −1 where no number is too few, and number + 1 where none is too many.

    Raises:
        ConfigurationError: an argument is out of range.
    """
    check_level(level)
    for field, value, allowed, is_right in (
        ("number", number, "at least 1", number >= 1),
        ("probability", probability, "in [0, 1]", 0 <= probability <= 1),
    ):
        if not is_right:
            raise ConfigurationError(field=field, value=value, allowed=allowed)
    return _binomial_bounds(number, probability, level)


@functools.lru_cache(maxsize=256)
def _binomial_bounds(number: int, probability: float, level: float) -> tuple[int, int]:
    if not 0 < probability < 1:
        return (number - 1, number + 1) if probability >= 1 else (-1, 1)
    mode = min(math.floor((number + 1) * probability), number)
    odds = probability / (1 - probability)
    above, below = [1.0], [1.0]
    for place in range(mode, number):
        above.append(above[-1] * (number - place) / (place + 1) * odds)
        if above[-1] < _NEGLIGIBLE:
            break
    for place in range(mode, 0, -1):
        below.append(below[-1] * place / ((number - place + 1) * odds))
        if below[-1] < _NEGLIGIBLE:
            break
    most = level * (math.fsum(above) + math.fsum(below) - 1.0)
    mean = number * probability
    too_many = max(mode + _within(above, most), math.ceil(mean + 1))
    too_few = min(mode - _within(below, most), math.floor(mean - 1))
    return max(too_few, -1), min(too_many, number + 1)


def _within(terms: Sequence[float], most: float) -> int:
    """Return from which term on all of them together do not exceed `most`."""
    total, place = 0.0, len(terms)
    while place and (total := total + terms[place - 1]) <= most:
        place -= 1
    return place
