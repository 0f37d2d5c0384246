"""Tests on sums of independent reports, at a level that is proven for every truth.

A test of a number of reports of one of two kinds uses the binomial law exactly. Otherwise the test of a sum S of
independent reports d from finite sets uses the bound

    P[S − E S ≥ t] ≤ e^(Σψ(s) − s·t)·min{1, 1/(s·√(2πV)) + 2C·R/V^(3/2)}   for every s > 0,

where ψ(s) is the greatest ln E[e^(s·(d − E d))] over the values of a report, V is the variance of S under the law
tilted by e^(s·d), R is the sum of the absolute third central moments under that law, and C = .56.

The first factor is Chernoff's bound. For the second factor, tilt the law of each report by e^(s·d). Then P(S ≥ c) =
e^(Σψ − sc)·E[e^(−s(S − c)); S ≥ c] under the tilted law, and the expectation is ∫ s·e^(−sx)·P(c ≤ S ≤ c + x) dx. There
S differs from a normal law with variance V by at most C·R/V^(3/2) (Berry and Esseen, C = .56 by Shevtsova 2010), and
the normal law puts at most x/√(2πV) into [c, c + x]. With R at its greatest, the exponent plus the logarithm of the
second factor is convex in the numbers of voters of a group with each ranking. It is therefore greatest where all voters
of the group have the same ranking. For the other groups V is taken at its least.

At a level of 5 % and a hundred reports the margin that decides is larger than under the normal law by a tenth to a
fifth. For sums of at most a few hundred reports, `adaptive_sums` computes a second bound, against an adversary that
chooses the values, and the smaller of the two bounds is used. The margin is then larger by a twentieth, the effect of
the adversary's choice.

Source: Hoeffding (1956), On the distribution of the number of successes in independent trials, Theorem 5; Chernoff
(1952), Bahadur and Rao (1960) for the tilted law, Shevtsova (2010) for C.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import scipy as sp

from ..arguments import exact_arguments
from ..arrays import FloatArray, IntArray
from ..elementary import ln, power_of_two_below
from ..errors import require
from .adaptive_sums import Stratum, TailCurve, tail_curve
from .noise_tails import GRID
from .verdict import check_level

# Terms below this fraction of the greatest one do not change a sum of floats.
_NEGLIGIBLE = 1e-25
# The bound holds for every slope s. The slopes that are tried are between these multiples of the best slope for a
# normal sum, at a coarse and a fine ratio of adjacent slopes.
_FLATTEST: Final = 2.0**-8
_STEEPEST: Final = 4.0
_COARSE: Final = 2.0
_FINE: Final = 2.0**0.25
_GREATEST_EXPONENT: Final = 300.0
_LEAST_VARIANCE: Final = 1e-200
_MOST_LOOKED_AT: Final = 100_000
"""Sums times values: beyond, `log_bounds` takes the least variance for every part."""
# Thresholds are raised by this relative amount, which exceeds all rounding errors, and rounded up to a grid, so that
# they do not depend on the last bits of numpy's exp and log.
_RAISED: Final = 2.0**-20
_GRID: Final = 2.0**-24
_SHIFTS: Final = tuple(number / 4 for number in range(9))
_NORMAL_ERROR: Final = 0.56
"""The constant of Berry and Esseen's bound for sums whose parts have different laws: Shevtsova (2010)."""
_MOST_CURVES: Final = 4
"""The most sums for which the bound of `adaptive_sums` is computed, which takes a tenth of a second each."""
_FARTHEST: Final = 4.5
"""The greatest excess over the mean that curves of tails cover, in standard deviations."""
_MOST_NORMAL: Final = 0.1
"""The greatest squared skewness and excess kurtosis of a sum that is approximated by a normal law."""


class Alike(NamedTuple):
    """Independent reports through one channel, each of an unknown value.

    Args:
        contributions: d(r) for each report r, shape (reports,); for several parts of a sum, shape (parts, reports).
        channel: P[report r | value x], shape (values, reports).
        number: the number of reports; for several parts, the number of each, shape (parts,).
        places: for several sums of one part each, the row of `contributions` of each sum, shape (sums,).
    """

    contributions: Sequence[float] | FloatArray
    channel: Sequence[Sequence[float]] | FloatArray
    number: int | IntArray
    places: IntArray | None = None


def tails_of_sums(parts: Sequence[Alike], reach: float) -> FloatArray:
    """Return bounds on P[sum − mean ≥ `reach`] for sums of independent reports, which hold for every truth.

    The bounds have shape (sums,). They are in [2^−20, ½], rounded up to a multiple of `GRID`, and ½ if nothing was
    reported.
    """
    sums = _Sums(parts)
    if not reach > 0 or not sums.laws:
        return np.full(sums.number, 0.5)
    reaches_so_far = sums.spans >= reach
    # A rounding error between equal contributions may give a span without a variance; such sums keep the trivial bound.
    varies = reaches_so_far & (sums.variances > _LEAST_VARIANCE)
    tails = np.where(reaches_so_far, 0.5, 0.0)
    if varies.any():
        best = reach / np.where(varies, sums.variances, np.inf)
        exponents = sums.least_bounds(best, lambda bounds, slope: bounds - slope * reach)
        tails = np.where(varies, np.exp(np.minimum(exponents, 0.0)), tails)
        if np.count_nonzero(varies) <= _MOST_CURVES:
            for place in np.flatnonzero(varies).tolist():
                tails[place] = min(tails[place], _tail_by_curve(sums.strata(place), reach))
    return np.clip(np.ceil(tails * (1 + _RAISED) / GRID), 1, 0.5 / GRID) * GRID


def decisive_reach(parts: Sequence[Alike], level: float, *, is_quick: bool = False) -> float:
    """Return the distance above its mean at which a sum of independent reports decides at a level, for every truth.

    It is ∞ if nothing was reported. For the distance below the mean, negate the contributions.

    Args:
        parts: the parts of the sum.
        level: in (0, ½).
        is_quick: whether to skip the slower bound of `adaptive_sums`. The result is then larger by some hundredths to a
            quarter; this is for forecasts of many hypothetical votes.
    """
    check_level(level)
    # Repeated sessions, such as trials, have the same strata up to order, and so do both sides of many tests.
    return _decisive_reach(tuple(map(_freeze, _Sums(parts).strata(0))), level, is_quick)


_Frozen: TypeAlias = tuple[bytes, bytes, int]


def _freeze(stratum: Stratum) -> _Frozen:
    """Return a stratum as a cache key, with reports and values in a canonical order."""
    order = np.argsort(stratum.contributions, kind="stable")
    channel = stratum.channel[:, order]
    return stratum.contributions[order].tobytes(), channel[np.lexsort(channel.T)].tobytes(), stratum.number


def _thaw(frozen: _Frozen) -> Stratum:
    contributions, channel, number = frozen
    numbers = np.frombuffer(contributions)
    return Stratum(numbers, np.frombuffer(channel).reshape(-1, len(numbers)), number)


@functools.lru_cache(maxsize=1024)
def _decisive_reach(frozen: tuple[_Frozen, ...], level: float, is_quick: bool) -> float:  # noqa: FBT001  of a key
    strata = list(map(_thaw, frozen))
    sums = _Sums([Alike(*stratum) for stratum in strata])
    if not sums.variances.any():
        return math.inf
    rarity = -ln(level)
    best = np.sqrt(2 * rarity / sums.variances)
    bound = float(sums.least_bounds(best, lambda bounds, slope: (bounds + rarity) / slope).item())
    if not is_quick and (curve := tail_curve(strata, bound)) is not None:
        bound = min(bound, curve.reach(level))
    raised = bound * (1 + _RAISED)
    grid = _GRID * power_of_two_below(raised)
    return math.ceil(raised / grid) * grid


def _tail_by_curve(strata: Sequence[Stratum], reach: float) -> float:
    """Return the bound on the tail by a cached curve, or 1 if there is no curve."""
    curve = _curve_of(tuple(map(_freeze, strata)))
    return 1.0 if curve is None else curve.tail(reach)


@functools.lru_cache(maxsize=64)
def _curve_of(frozen: tuple[_Frozen, ...]) -> TailCurve | None:
    strata = list(map(_thaw, frozen))
    (variance,) = _Sums([Alike(*stratum) for stratum in strata]).variances.tolist()
    return tail_curve(strata, _FARTHEST * math.sqrt(variance))


def is_nearly_normal(variance: float, third: float, excess: float) -> bool:
    """Return whether a law with these second and third central moments and fourth cumulant is nearly normal.

    That is, its squared skewness and its excess kurtosis are at most .1. A negative excess kurtosis is accepted, since
    the tails are then lighter than normal ones.
    """
    if not variance:
        return True
    skewness = third / variance / math.sqrt(variance)
    return max(skewness * skewness, excess / variance / variance) <= _MOST_NORMAL


def are_nearly_normal(parts: Sequence[Alike]) -> bool:
    """Return whether the sum is nearly normal, whatever the values are: not for few reports that are rarely flipped."""
    moments = np.zeros(3)
    unit = max((float(np.abs(part.contributions).max()) for part in parts), default=0.0) or 1.0
    for part in parts:
        channel, numbers = np.array(part.channel, dtype=np.float64).T, np.atleast_1d(part.number)
        rows = np.array(part.contributions, dtype=np.float64).reshape(-1, len(channel)) / unit
        first, second, third, fourth = (rows**power @ channel for power in range(1, 5))
        variance = second - first**2
        excess = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4 - 3 * variance**2
        skewed = np.abs(third - 3 * first * second + 2 * first**3).max(axis=1)
        # The mean over values stands for the variance at each value.
        moments += np.stack([variance.mean(axis=1), skewed, np.maximum(excess.max(axis=1), 0.0)]) @ numbers
    return is_nearly_normal(*moments.tolist())


class _Sums:
    """Sums of reports, with their laws tilted by e^(s·d)."""

    def __init__(self, parts: Sequence[Alike]) -> None:
        self.number = 1
        groups: dict[bytes, tuple[FloatArray, list[FloatArray], list[IntArray], list[IntArray]]] = {}
        for part in parts:
            channel, times = np.array(part.channel, dtype=np.float64), np.atleast_1d(part.number)
            contributions = np.array(part.contributions, dtype=np.float64).reshape(-1, channel.shape[1])
            of_sums = np.arange(len(times))[None] if part.places is None else part.places[:, None]
            self.number = len(of_sums)
            if times.any():
                _, rows, places, numbers = groups.setdefault(channel.tobytes(), (channel.T, [], [], []))
                places.append(of_sums + sum(map(len, rows)))
                rows.append(contributions)
                numbers.append(times)
        # For each channel: contributions, shape (rows, reports); the channel, shape (reports, values); the row of each
        # part of each sum, shape (sums, parts); the number of reports of each part.
        self.laws: list[tuple[FloatArray, FloatArray, IntArray, IntArray]] = []
        # For each sum: a bound on its variance, and on its distance from the mean.
        self.variances, self.spans, farthest = (np.zeros(self.number) for _ in range(3))
        for channel, own_rows, own_places, own_numbers in groups.values():
            rows, times = np.concatenate(own_rows), np.concatenate(own_numbers)
            places = np.concatenate(own_places, axis=1)
            self.laws.append((rows, channel, places, times))
            variances, _ = _moments(np.ones_like(rows), rows, channel)
            self.variances += variances.max(axis=1)[places] @ times
            self.spans += np.ptp(rows, axis=1)[places] @ times
            farthest = np.maximum(farthest, np.abs(rows).max(axis=1)[places].max(axis=1))
        self._steepest = _GREATEST_EXPONENT / float(farthest[farthest > 0].min(initial=np.inf))

    def strata(self, place: int) -> list[Stratum]:
        """Return the reports of one of the sums."""
        return [
            Stratum(rows[row], np.ascontiguousarray(channel.T), number)
            for rows, channel, places, times in self.laws
            for row, number in zip(places[place].tolist(), times.tolist(), strict=True)
            if number
        ]

    def least_bounds(self, best: FloatArray, bound: Callable[[FloatArray, float], FloatArray]) -> FloatArray:
        """Return the least bound of each sum over slopes around the best ones for normal sums.

        Args:
            best: the best slope of each sum if it were normal, shape (sums,).
            bound: a function of the result of `log_bounds` for a slope, and the slope.
        """
        ends = float(best[best > 0].min()), float(best.max())
        # For reports that are rarely flipped these slopes would be too steep: flips are large but rare.
        slopes = _slopes_between(
            _FLATTEST * min(ends[0], self._steepest), min(_STEEPEST * ends[1], self._steepest), _COARSE
        )
        by_exponents = np.array([bound(self.log_bounds(slope, is_coarse=True), slope) for slope in slopes])
        least: list[int] = by_exponents[:, best > 0].argmin(axis=0).tolist()
        best_slopes = [slopes[place] for place in least]
        finer = _slopes_between(min(best_slopes) / _COARSE, min(max(best_slopes) * _COARSE, self._steepest), _FINE)
        bounds = np.array([bound(self.log_bounds(slope), slope) for slope in finer])
        return np.minimum(bounds.min(axis=0), by_exponents.min(axis=0))

    def log_bounds(self, slope: float, *, is_coarse: bool = False) -> FloatArray:
        """Return ln of a bound on P[sum − mean ≥ t]·e^(s·t), for a slope s > 0 and every t and truth.

        The exponent E = Σψ is a bound (Chernoff). So is E + ln[1/(s·√(2πV)) + 2C·R/V^(3/2)], with V and R the sums of
        the tilted variances and third moments. With R at its greatest, this is convex in the numbers of reports of a
        part with each value, so that it is greatest where all reports of the part have the same value. This maximum is
        taken for the part with the most variance. For all other parts, and for all parts if sums are many, V is taken
        at its least and E at its greatest.

        Args:
            slope: s.
            is_coarse: whether to return the exponents alone.
        """
        exponent, variance, third = (np.zeros(self.number) for _ in range(3))
        tilted: list[tuple[FloatArray, FloatArray]] = []
        for rows, channel, places, times in self.laws:
            raised = slope * rows
            shift = raised.max(axis=1, keepdims=True)
            weights = np.exp(raised - shift)
            logs = np.log(weights @ channel) + shift - slope * (rows @ channel)
            exponent += logs.max(axis=1)[places] @ times
            if is_coarse:
                continue
            variances, thirds = _moments(weights, rows, channel)
            variance += variances.min(axis=1)[places] @ times
            third += thirds.max(axis=1)[places] @ times
            if self.number * len(channel.T) > _MOST_LOOKED_AT:
                tilted.append((np.zeros((self.number, 1)), np.zeros((self.number, 1))))
                continue
            part = (variances.max(axis=1)[places] * times).argmax(axis=1)
            row, number = places[np.arange(self.number), part], times[part, None]
            tilted.append((number * (logs[row] - logs[row].max(axis=1, keepdims=True)), number * variances[row]))
        bound = exponent
        for behind, spreads in tilted:
            remaining_variance = np.maximum(
                variance[:, None] - spreads.min(axis=1, keepdims=True) + spreads, _LEAST_VARIANCE
            )
            with np.errstate(over="ignore"):  # on overflow the exponents are the smaller bound
                normal_error = (
                    1 / (slope * np.sqrt(2 * math.pi * remaining_variance))
                    + 2 * _NORMAL_ERROR * third[:, None] / remaining_variance**1.5
                )
            bound = np.minimum(bound, exponent + (behind + np.log(normal_error)).max(axis=1))
        return bound


def _slopes_between(least: float, greatest: float, ratio: float) -> list[float]:
    number = max(math.ceil(math.log(greatest / least, ratio)), 0) if greatest > least else 0
    return [greatest / ratio**place for place in range(number + 1)]


def _moments(weights: FloatArray, numbers: FloatArray, channel: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variance and a bound on E|d − mean|³ of tilted laws, each of shape (rows, values).

    Args:
        weights: the factors of the reports' probabilities, shape (rows, reports).
        numbers: the contributions, shape (rows, reports).
        channel: shape (reports, values).
    """
    totals = weights @ channel
    off = numbers - ((weights * numbers) @ channel / totals).mean(axis=1, keepdims=True)
    powers = weights
    raw: list[FloatArray] = []
    for _ in range(4):
        powers = powers * off
        raw.append(powers @ channel / totals)
    first, second, third, fourth = raw
    variance = np.maximum(second - first * first, 0.0)
    about = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    return variance, np.sqrt(variance * np.maximum(about, variance * variance))


@exact_arguments
def reach_of_products(moments: Sequence[float], number: int, level: float) -> float:
    """Return the distance above the mean that decides, for a sum of independent reports with bounded moments.

    It uses P[S ≥ t] ≤ E[(S + u)^(2k)]/(t + u)^(2k) for u ≥ 0 and k ≥ 1 (Markov), since the tails of some reports, such
    as products of Laplace noise, are too heavy for Chernoff's bound.

    Args:
        moments: bounds on |E (d − E d)^j| of one report, j = 0, 1, …: 1, 0, the variance and so on.
        number: the number of reports, at least one.
        level: in (0, 1/2).
    """
    check_level(level)
    deviation = math.sqrt(number * moments[2])
    series = np.array([moment / math.factorial(j) / deviation**j for j, moment in enumerate(moments)])
    of_sum = _power_of_series(series, number)
    reaches: list[float] = []
    for shift in _SHIFTS:
        powers = np.array([shift**j / math.factorial(j) for j in range(len(series))])
        shifted = np.convolve(of_sum, powers)[: len(series)]
        reaches += [float(shifted[j] * math.factorial(j) / level) ** (1 / j) - shift for j in range(2, len(series), 2)]
    return deviation * min(reaches) * (1 + _RAISED)


def _power_of_series(series: FloatArray, exponent: int) -> FloatArray:
    """Return a power of a power series, truncated to the same number of terms."""
    size, power = len(series), np.eye(1, len(series))[0]
    while exponent:
        if exponent % 2:
            power = np.convolve(power, series)[:size]
        series = np.convolve(series, series)[:size]
        exponent //= 2
    return power


@exact_arguments
def binomial_bounds(number: int, probability: float, level: float) -> tuple[int, int]:
    """Return numbers of successes that decide: the greatest that is too few, and the least that is too many.

    Consider independent trials. If their mean probability is at least `probability`, the number of successes is at most
    the first result with probability at most `level`. If it is at most `probability`, the number is at least the second
    result with probability at most `level`. The binomial law is the worst case for numbers that differ from the mean by
    at least one (Hoeffding's Theorem 5); numbers nearer to the mean never decide.

    Args:
        number: the number of trials, at least one.
        probability: in [0, 1].
        level: the level of each one-sided test, below ½.

    Returns:
        The two numbers: −1 if no number is too few, and number + 1 if none is too many.

    Raises:
        ConfigurationError: an argument is out of range.

    Examples:
        >>> binomial_bounds(100, 0.5, 0.05)
        (41, 59)
    """
    check_level(level)
    require(number >= 1, "number", number, "at least 1")
    require(0 <= probability <= 1, "probability", probability, "in [0, 1]")
    return _binomial_bounds(number, probability, level)


@functools.lru_cache(maxsize=256)
def _binomial_bounds(number: int, probability: float, level: float) -> tuple[int, int]:
    if not 0 < probability < 1:
        return (number - 1, number + 1) if probability >= 1 else (-1, 1)
    mode = min(math.floor((number + 1) * probability), number)
    odds = probability / (1 - probability)
    upper_masses, lower_masses = [1.0], [1.0]
    for place in range(mode, number):
        upper_masses.append(upper_masses[-1] * (number - place) / (place + 1) * odds)
        if upper_masses[-1] < _NEGLIGIBLE:
            break
    for place in range(mode, 0, -1):
        lower_masses.append(lower_masses[-1] * place / ((number - place + 1) * odds))
        if lower_masses[-1] < _NEGLIGIBLE:
            break
    most = level * (math.fsum(upper_masses) + math.fsum(lower_masses) - 1.0)
    mean = number * probability
    too_many = max(mode + _num_leading_terms(upper_masses, most), math.ceil(mean + 1))
    too_few = min(mode - _num_leading_terms(lower_masses, most), math.floor(mean - 1))
    return max(too_few, -1), min(too_many, number + 1)


def least_probability(number: int, successes: float, level: float) -> float:
    """Return the least mean probability at which at most `successes` successes are too few, by `binomial_bounds`.

    The result is exact up to 2^−30 for whole numbers of successes, and ∞ if there is no such probability. Between whole
    numbers it is interpolated smoothly and larger than necessary.

    Args:
        number: the number of independent trials, at least one.
        level: below ½.
    """
    if successes < 0:
        return 0.0
    if successes >= number:
        return math.inf
    least = max(float(sp.special.betaincinv(successes + 1, number - successes, 1 - level)), (successes + 1) / number)
    least = math.ceil(least * 2**30) / 2**30
    while least < 1 and binomial_bounds(number, least, level)[0] < math.floor(successes):
        least += 2.0**-30
    return min(least, 1.0)


def _num_leading_terms(terms: Sequence[float], most: float) -> int:
    """Return the index of the first term from which the sum of all remaining terms is at most `most`."""
    total, place = 0.0, len(terms)
    while place and (total := total + terms[place - 1]) <= most:
        place -= 1
    return place
