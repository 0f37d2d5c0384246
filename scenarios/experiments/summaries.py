"""Trials as a few numbers: mean, standard error and quantiles, each with its own uncertainty.

Trials are independent. The interval of a mean has 95 % by Student's law, which is near enough where trials are many,
and ends where the measure does. Where every trial gave 0 or 1 it is Clopper and Pearson's, which is exact for events.
Where all trials agree, it says how far the mean may be nevertheless, if the measure has limits: who has seen n trials
alike knows that others come with a probability of 1 − 0.025^(1/n) at most. The interval of a quantile lies between two
of the trials in their order, by the binomial law of how many are below it: whatever the distribution is, it holds with
95 % or more. Where there are too few trials for it, the quantile is left out.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from scipy.special import bdtr, bdtrc, stdtrit

from ...protocol.arrays import FloatArray
from ..audit.bounds import lower_limits, upper_limits
from .measurements import Measurement, mean_of

__all__ = ["LEAST_TRIALS", "QUANTILES", "Quantile", "Summary", "summary_of"]

LEAST_TRIALS: Final = 2
"""Of one trial there is no standard error."""
QUANTILES: Final = (0.05, 0.5, 0.95)
_RISK: Final = 0.05  # of each interval: the probability that what it is of lies outside


class Quantile(msgspec.Struct, frozen=True, kw_only=True):
    """A number that so many trials do not exceed.

    Args:
        level: the share of trials.
        value: the number.
        low: the least that it may be.
        high: the most.
    """

    level: float
    value: float
    low: float
    high: float


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One measure over the trials of a cell.

    Args:
        measure: its name.
        trials: in which it has a value.
        mean: over these.
        standard_error: of the mean.
        low: the least that the mean may be.
        high: the most.
        quantiles: those for which there are trials enough; none where every trial gave 0 or 1.
    """

    measure: str
    trials: int
    mean: float
    standard_error: float
    low: float
    high: float
    quantiles: tuple[Quantile, ...] = ()


def summary_of(measure: str, numbers: FloatArray, *, limits: tuple[float, float] = (-math.inf, math.inf)) -> Summary:
    """Return a measure's summary: of one number of each trial, at least `LEAST_TRIALS`, which has these limits."""
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
        ordered: list[float] = np.sort(numbers).tolist()
        quantiles = [found for level in QUANTILES if (found := _quantile_of(ordered, level)) is not None]
    return Summary(
        measure=measure,
        trials=count,
        mean=mean.value,
        standard_error=mean.standard_error,
        low=low,
        high=high,
        quantiles=tuple(quantiles),
    )


def _around(value: float, count: int, limits: tuple[float, float]) -> tuple[float, float]:
    """Return how far the mean may be from what all of so many trials gave; without limits nothing is known."""
    others = float(upper_limits(np.array([0]), count, _RISK / 2)[0])
    low, high = (value + others * (end - value) if math.isfinite(end) else value for end in limits)
    return low, high


def _quantile_of(ordered: Sequence[float], level: float) -> Quantile | None:
    """Return a quantile of numbers in their order; None where no two of them enclose it surely enough."""
    count = len(ordered)
    ranks = np.arange(1, count + 1)
    # The number of rank r is above the quantile only where fewer than r are not, and below it only where r or more are.
    is_below = bdtr(ranks - 1, count, level) <= _RISK / 2
    is_above = bdtrc(ranks - 1, count, level) <= _RISK / 2
    if not is_below.any() or not is_above.any():
        return None
    low = ordered[int(np.flatnonzero(is_below)[-1])]
    high = ordered[int(np.flatnonzero(is_above)[0])]
    return Quantile(level=level, value=ordered[math.ceil(count * level) - 1], low=low, high=high)
