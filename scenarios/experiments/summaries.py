"""Summarize trials: mean, standard error and quantiles, with confidence intervals.

Trials are independent. A mean has a 95 % interval by Student's law, a good approximation for many trials, cut at the
measure's limits. If every trial gave 0 or 1, it is the exact Clopper-Pearson interval. If all trials are equal and the
measure has limits, the interval covers the possible rest: after n equal trials, others have a probability of at most 1
− 0.025^(1/n). With redrawn parties, draws are independent, and are summarized instead of trials (`summary_of_draws`).
The interval of a quantile is between two order statistics of the trials, by the binomial law of the number below it: it
has a coverage of at least 95 % for every distribution. If there are too few trials, the quantile is omitted.

A mean can be refined beyond its trials. If an exact law gives a measure's mean m over all noise, given the parties'
rows, m replaces the measure y: the mean is the same, E[y] = E[m], and is m itself if the parties stay the same. If a
control variate c has mean exactly 0, the mean is ȳ − b·c̄, with the slope b of y on c over the n trials or draws. Its
squared standard error is s²(1/n + c̄²/Σ(c − c̄)²), where s² is the residual variance with n − 2 degrees of freedom. Its
interval is Student's with n − 2 degrees of freedom: exact if y is normal given c, and a good approximation for many
trials.

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
"""One trial gives no standard error."""
QUANTILES: Final = (0.05, 0.5, 0.95)
_LEAST_CONTROLLED: Final = 100  # least trials or draws for a control variate
_LEAST_GAIN: Final = 0.95  # greatest ratio of standard errors for which a refinement is used; worth a tenth more trials
_RISK: Final = 0.05  # the probability that an interval does not cover its parameter


class Quantile(msgspec.Struct, frozen=True, kw_only=True):
    """A quantile of trials at a level, with its confidence interval.

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
        trials: number of trials with a value.
        low: lower end of the mean's confidence interval.
        high: upper end of the mean's confidence interval.
        quantiles: quantiles with enough trials; empty if every trial gave 0 or 1.
        draws: number of draws of the parties, if they are redrawn; then draws are independent, not trials.
        between: the variance between draws, if each has several trials (`redrawing`).
        within: the variance of trials within a draw.

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
        """The number of independent numbers behind the mean: draws, or trials."""
        return self.trials if isinstance(self.draws, msgspec.UnsetType) else self.draws


class Refined(MeasureSummary, frozen=True, kw_only=True):
    """A measure's mean, refined by an exact law or a control variate.

    Args:
        by: "law" or "control".
        worth: number of plain trials with the same error; None if either has no error.
    """

    by: str
    worth: float | None

    @property
    def is_exact(self) -> bool:
        """Whether the mean is exact, not estimated."""
        return self.low == self.high


def refine_by_law(
    plain: MeasureSummary, means: Sequence[float], *, limits: tuple[float, float], are_same: bool
) -> Refined:
    """Return a summary refined by the exact means over all noise, one for each draw of the parties.

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
    """Return a summary refined by a control variate for each independent number; None if it explains too little.

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
    """Return a measure's summary from one number for each of at least `LEAST_TRIALS` trials, within limits.

    Examples:
        >>> found = summary_of("accuracy", np.array([1.0, 0.0, 1.0, 1.0]), limits=(0, 1))
        >>> found.mean, round(found.low, 3), round(found.high, 3)
        (0.75, 0.194, 0.994)
    """
    count = len(numbers)
    is_event = bool(np.all((numbers == 0) | (numbers == 1)))
    mean = mean_of(numbers)
    if np.all(numbers == numbers[0]):  # in floating point, the mean of equal numbers may differ from them
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
    """Return a measure's summary over at least `LEAST_DRAWS` draws of the parties with equal numbers of trials.

    The mean's interval is that of the draws' means, or one for proportions if each trial gave 0 or 1. Quantiles are
    those of the first trial of each draw: these are independent, and have the law of any trial.

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
    """Return the interval of a proportion over clustered trials: Clopper-Pearson with the effective sample size.

    Source: Korn and Graubard (1998).
    """
    number = min(share * (1 - share) / square(error), trials) if error else trials
    number *= square(float(stdtrit(trials - 1, 1 - _RISK / 2)) / float(stdtrit(draws - 1, 1 - _RISK / 2)))
    hits, misses = share * number, (1 - share) * number
    low = betaincinv(hits, misses + 1, _RISK / 2)
    return float(low), float(betaincinv(hits + 1, misses, 1 - _RISK / 2))


def _around(value: float, count: int, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the mean's interval if all trials are equal; a side without a limit ends at the mean."""
    max_rate = float(upper_limits(np.array([0]), count, _RISK / 2)[0])
    low, high = (value + max_rate * (end - value) if math.isfinite(end) else value for end in limits)
    return low, high


def _quantile_of(sorted_numbers: Sequence[float], level: float) -> Quantile | None:
    """Return a quantile of sorted numbers; None if no two of them enclose it with enough confidence."""
    count = len(sorted_numbers)
    ranks = np.arange(1, count + 1)
    # The number of rank r is above the quantile only if fewer than r are not above it, and below it only if at least r
    # are below.
    is_below = bdtr(ranks - 1, count, level) <= _RISK / 2
    is_above = bdtrc(ranks - 1, count, level) <= _RISK / 2
    if not is_below.any() or not is_above.any():
        return None
    low = sorted_numbers[int(np.flatnonzero(is_below)[-1])]
    high = sorted_numbers[int(np.flatnonzero(is_above)[0])]
    return Quantile(level=level, value=sorted_numbers[math.ceil(count * level) - 1], low=low, high=high)
