"""Trials as a few numbers: mean, standard error and quantiles, each with its own uncertainty.

Trials are independent. The interval of a mean has 95 % by Student's law, which is near enough where trials are many,
and ends where the measure does. Where every trial gave 0 or 1 it is Clopper and Pearson's, which is exact for events.
Where all trials agree, it says how far the mean may be nevertheless, if the measure has limits: who has seen n trials
alike knows that others come with a probability of 1 − 0.025^(1/n) at most. Trials of parties that are drawn anew are
independent draw by draw, and so are summed up (`summary_of_draws`). The interval of a quantile lies between two
of the trials in their order, by the binomial law of how many are below it: whatever the distribution is, it holds with
95 % or more. Where there are too few trials for it, the quantile is left out.

A mean may be known better than by its trials alone. Where an exact law tells a measure's mean m over all noise, given
what the parties hold, m takes its place: the mean is the same, E[y] = E[m], and is m itself where the parties stay the
same. Where a control c has a mean of exactly 0, the mean is ȳ − b·c̄, with the slope b of y on c over the n trials or
draws. Its squared standard error is s²(1/n + c̄²/Σ(c − c̄)²), s² the residuals' variance with n − 2 degrees of freedom,
and its interval Student's with as many: exact where y is normal given c, and near enough where trials are many.

Sources: Lavenberg and Welch (1981) for controls whose slope is estimated; Rao and Blackwell for the law.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from scipy.special import bdtr, bdtrc, betaincinv, stdtrit

from ...protocol.arrays import FloatArray
from ...protocol.elementary import square
from ..audit.bounds import lower_limits, upper_limits
from .measurements import Measurement, mean_of
from .redrawing import spread_of

LEAST_TRIALS: Final = 2
"""Of one trial there is no standard error."""
QUANTILES: Final = (0.05, 0.5, 0.95)
_LEAST_CONTROLLED: Final = 100  # trials, or draws
_LEAST_GAIN: Final = 0.95  # of the standard error: a tenth more trials
_RISK: Final = 0.05  # of each interval: the probability that what it is of lies outside


class Quantile(msgspec.Struct, frozen=True, kw_only=True):
    """A number that a share of trials, the level, do not exceed, with the least and the most that it may be.

    Examples:
        >>> Quantile(level=0.5, value=2.0, low=1.0, high=3.0).value
        2.0
    """

    level: float
    value: float
    low: float
    high: float


class MeasureSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One measure over the trials of a cell.

    Args:
        trials: in which it has a value.
        low: the least that the mean may be.
        high: the most.
        quantiles: those for which there are trials enough; none where every trial gave 0 or 1.
        draws: of the parties, where these are drawn anew: it is they that are independent, and not their trials.
        between: the variance from one draw to another, where each has several trials (`redrawing`).
        within: the variance of the trials of one draw.

    Examples:
        >>> summary_of("accuracy", np.array([1.0, 0.0, 1.0, 1.0])).num_independent
        4
    """

    measure: str
    trials: int
    mean: float
    standard_error: float
    low: float
    high: float
    quantiles: tuple[Quantile, ...] = ()
    draws: int | msgspec.UnsetType = msgspec.UNSET
    between: Measurement | msgspec.UnsetType = msgspec.UNSET
    within: Measurement | msgspec.UnsetType = msgspec.UNSET

    @property
    def num_independent(self) -> int:
        """How many numbers the mean is of that are independent of each other."""
        return self.trials if isinstance(self.draws, msgspec.UnsetType) else self.draws


class Refined(MeasureSummary, frozen=True, kw_only=True):
    """A measure's mean as it is known better than by trials alone.

    Args:
        by: "law" or "control".
        worth: how many trials alone would have its error; None where it has none, or they tell no error.
    """

    by: str
    worth: float | None

    @property
    def is_exact(self) -> bool:
        """Whether the mean is known, and not estimated."""
        return self.low == self.high


def refine_by_law(
    plain: MeasureSummary, means: Sequence[float], *, limits: tuple[float, float], are_same: bool
) -> Refined:
    """Return a summary refined by the means over all noise, of each draw of the parties; they may be the same.

    Examples:
        >>> plain = summary_of("error", np.array([1.0, 2.0, 3.0]))
        >>> refine_by_law(plain, [1.9], limits=(0.0, math.inf), are_same=True).is_exact
        True
    """
    if are_same:
        return _make_refined(plain, "law", Measurement(means[0], 0.0), (means[0], means[0]))
    mean_summary = summary_of(plain.measure, np.array(means), limits=limits)
    return _make_refined(
        plain, "law", Measurement(mean_summary.mean, mean_summary.standard_error), (mean_summary.low, mean_summary.high)
    )


def refine_by_control(
    plain: MeasureSummary, numbers: Sequence[float], controls: Sequence[float], *, limits: tuple[float, float]
) -> Refined | None:
    """Return a summary refined by a control, one of each independent number; None where it explains too little.

    Examples:
        >>> plain = summary_of("error", np.array([1.0, 2.0, 3.0]))
        >>> refine_by_control(plain, [1.0, 2.0, 3.0], [0.1, 0.0, -0.1], limits=(0.0, 9.0)) is None  # too few trials
        True
    """
    count, deviations, control = len(numbers), np.array(numbers), np.array(controls)
    mean, middle = mean_of(deviations).value, mean_of(control).value
    deviations, control_deviations = deviations - mean, control - middle
    squares = float(control_deviations @ control_deviations)
    if count < _LEAST_CONTROLLED or not squares:
        return None
    slope = float(deviations @ control_deviations) / squares
    residuals = deviations - slope * control_deviations
    error = math.sqrt(float(residuals @ residuals) / (count - 2) * (1 / count + square(middle) / squares))
    if error > _LEAST_GAIN * plain.standard_error:
        return None
    mean -= slope * middle
    reach = float(stdtrit(count - 2, 1 - _RISK / 2)) * error
    return _make_refined(
        plain, "control", Measurement(mean, error), (max(mean - reach, limits[0]), min(mean + reach, limits[1]))
    )


def _make_refined(plain: MeasureSummary, method: str, mean: Measurement, ends: tuple[float, float]) -> Refined:
    is_known = mean.standard_error > 0 and plain.standard_error > 0
    return Refined(
        measure=plain.measure,
        trials=plain.trials,
        mean=mean.value,
        standard_error=mean.standard_error,
        low=ends[0],
        high=ends[1],
        draws=plain.draws,
        by=method,
        worth=plain.trials * square(plain.standard_error / mean.standard_error) if is_known else None,
    )


def summary_of(
    measure: str, numbers: FloatArray, *, limits: tuple[float, float] = (-math.inf, math.inf)
) -> MeasureSummary:
    """Return a measure's summary: of one number of each trial, at least `LEAST_TRIALS`, which has these limits.

    Examples:
        >>> found = summary_of("accuracy", np.array([1.0, 0.0, 1.0, 1.0]), limits=(0, 1))
        >>> found.mean, round(found.low, 3), round(found.high, 3)
        (0.75, 0.194, 0.994)
    """
    count = len(numbers)
    is_event = bool(np.all((numbers == 0) | (numbers == 1)))
    mean = mean_of(numbers)
    if np.all(numbers == numbers[0]):  # the mean of equal numbers is not always theirs in floating point
        mean = Measurement(float(numbers[0]), 0.0)
        low, high = _around(mean.value, count, limits)
    elif is_event:
        hits = np.array([np.count_nonzero(numbers)])
        (low,) = lower_limits(hits, count, _RISK / 2).tolist()
        (high,) = upper_limits(hits, count, _RISK / 2).tolist()
    else:
        reach = float(stdtrit(count - 1, 1 - _RISK / 2)) * mean.standard_error
        low, high = max(mean.value - reach, limits[0]), min(mean.value + reach, limits[1])
    quantiles: list[Quantile] = []
    if not is_event:
        sorted_numbers: list[float] = np.sort(numbers).tolist()
        quantiles = [quantile for level in QUANTILES if (quantile := _quantile_of(sorted_numbers, level)) is not None]
    return MeasureSummary(
        measure=measure,
        trials=count,
        mean=mean.value,
        standard_error=mean.standard_error,
        low=low,
        high=high,
        quantiles=tuple(quantiles),
    )


def summary_of_draws(
    measure: str, draws: Sequence[Sequence[float]], *, limits: tuple[float, float] = (-math.inf, math.inf)
) -> MeasureSummary:
    """Return a measure's summary over draws of the parties, each with as many trials; at least `LEAST_DRAWS`.

    The interval of the mean is that of the draws' means, and of events one of shares. Quantiles are of the first trial
    of each draw: these are independent, and have any trial's law.

    Examples:
        >>> found = summary_of_draws("error", [[1.0, 2.0], [3.0, 4.0], [2.0, 6.0]])
        >>> found.mean, found.draws, found.trials
        (3.0, 3, 6)
    """
    size = len(draws[0])
    means = np.array([math.fsum(draw) / size for draw in draws])
    firsts = summary_of(measure, np.array([draw[0] for draw in draws]))
    summary = summary_of(measure, means, limits=limits)
    summary = msgspec.structs.replace(summary, trials=len(draws) * size, draws=len(draws), quantiles=firsts.quantiles)
    if size == 1:
        return summary
    if 0 < summary.mean < 1 and {number for draw in draws for number in draw} <= {0.0, 1.0}:
        low, high = _around_share(summary.mean, summary.standard_error, len(draws), summary.trials)
        summary = msgspec.structs.replace(summary, low=low, high=high)
    return msgspec.structs.replace(summary, **spread_of(draws)._asdict())


def _around_share(share: float, error: float, draws: int, trials: int) -> tuple[float, float]:
    """Return the interval of a share of events that come in draws: Clopper and Pearson's of as many as tell as much.

    Source: Korn and Graubard (1998).
    """
    number = min(share * (1 - share) / square(error), trials) if error else trials
    number *= square(float(stdtrit(trials - 1, 1 - _RISK / 2)) / float(stdtrit(draws - 1, 1 - _RISK / 2)))
    hits, misses = share * number, (1 - share) * number
    low = betaincinv(hits, misses + 1, _RISK / 2)
    return float(low), float(betaincinv(hits + 1, misses, 1 - _RISK / 2))


def _around(value: float, count: int, limits: tuple[float, float]) -> tuple[float, float]:
    """Return how far the mean may be from what all of so many trials gave; without limits nothing is known."""
    max_rate = float(upper_limits(np.array([0]), count, _RISK / 2)[0])
    low, high = (value + max_rate * (end - value) if math.isfinite(end) else value for end in limits)
    return low, high


def _quantile_of(sorted_numbers: Sequence[float], level: float) -> Quantile | None:
    """Return a quantile of numbers in their order; None where no two of them enclose it surely enough."""
    count = len(sorted_numbers)
    ranks = np.arange(1, count + 1)
    # The number of rank r is above the quantile only where fewer than r are not, and below it only where r or more are.
    is_below = bdtr(ranks - 1, count, level) <= _RISK / 2
    is_above = bdtrc(ranks - 1, count, level) <= _RISK / 2
    if not is_below.any() or not is_above.any():
        return None
    low = sorted_numbers[int(np.flatnonzero(is_below)[-1])]
    high = sorted_numbers[int(np.flatnonzero(is_above)[0])]
    return Quantile(level=level, value=sorted_numbers[math.ceil(count * level) - 1], low=low, high=high)
