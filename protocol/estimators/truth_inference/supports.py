"""The support of a label, the number of workers who gave it before the perturbation: estimates and confidence limits.

An estimate is unbiased for a label that is fixed in advance. The inferred truth was selected by the same reports, and
its estimate is too high on average. Therefore there are also simultaneous confidence limits for all labels of a task,
which hold for a selected label too.

Source: Li et al. (2018), Definition 5.1, for the channel; Warner (1965) for its inverse; Clopper and Pearson (1934) for
limits from tests.
"""

import bisect
import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from ...arguments import exact_arguments
from ...arrays import FloatArray
from ...errors import require
from ...estimate import Estimate
from ..verdict import DEFAULT_LEVEL, check_level

_LEAST_SIGNAL = 1e-8
"""The least |λ| of a channel whose counts can be estimated; below it, reports are nearly independent of answers."""
_MOST_REMEMBERED = 1 << 14


class SupportLimits(NamedTuple):
    """Confidence limits of a support.

    Examples:
        >>> SupportLimits(low=3, high=8)
        SupportLimits(low=3, high=8)
    """

    low: int
    """The lower limit, in workers."""
    high: int
    """The upper limit, in workers."""


class LevelCounts(NamedTuple):
    """The counts of a label's reports through one of several channels, for one privacy level.

    Examples:
        >>> LevelCounts(reports=6, num_answers=10, flip_probability=0.25).reports
        6
    """

    reports: int
    """The number of the label's reports."""
    num_answers: int
    """The number of reports of the task."""
    flip_probability: float
    """The flip probability of the channel; see `estimate_support`."""


@exact_arguments
def estimate_support_by_level(parts: Sequence[LevelCounts], *, num_labels: int) -> Estimate | None:
    """Estimate the support of a label over several channels, by the sum of `estimate_support` over the channels.

    The estimate is unbiased for any assignment of workers to channels. The result is None if nobody answered, or if the
    reports of a channel are independent of the answers.

    Examples:
        >>> parts = [LevelCounts(6, 10, 0.25), LevelCounts(9, 10, 0.0)]
        >>> estimate_support_by_level(parts, num_labels=2).value
        16.0
    """
    supports = [
        estimate_support(part.reports, part.num_answers, flip_probability=part.flip_probability, num_labels=num_labels)
        for part in parts
        if part.num_answers
    ]
    estimates = [estimate for estimate in supports if estimate is not None]
    if not estimates or len(estimates) < len(supports):
        return None
    errors = [estimate.standard_error for estimate in estimates]
    error = errors[0] if len(errors) == 1 else math.sqrt(math.fsum(error * error for error in errors))
    return Estimate(math.fsum(estimate.value for estimate in estimates), error)


@exact_arguments
def support_limits_by_level(
    parts: Sequence[LevelCounts], *, num_labels: int, level: float = DEFAULT_LEVEL
) -> SupportLimits:
    """Return `support_limits` over several channels: the sums of the limits of each channel.

    The level is divided equally between the channels with answers, so that all limits hold simultaneously, for any
    assignment of workers to channels.

    Examples:
        >>> support_limits_by_level([LevelCounts(6, 10, 0.25), LevelCounts(9, 10, 0.0)], num_labels=2)
        SupportLimits(low=9, high=19)
    """
    check_level(level)
    reported = [part for part in parts if part.num_answers]
    limits = [
        support_limits(
            part.reports,
            part.num_answers,
            flip_probability=part.flip_probability,
            num_labels=num_labels,
            level=level / len(reported),
        )
        for part in reported
    ]
    return SupportLimits(
        sum(level_limits.low for level_limits in limits), sum(level_limits.high for level_limits in limits)
    )


@exact_arguments
def estimate_support(reports: int, num_answers: int, *, flip_probability: float, num_labels: int) -> Estimate | None:
    """Return an unbiased estimate of the support of a label, with its standard error.

    All answers to a task go through one channel, P[report = l | answer = x] = λ[l = x] + μ with μ = p/(s − 1) and λ = 1
    − p − μ. Hence (reports of l − μ·answers)/λ is unbiased for the number of answers l. It may be negative or exceed
    the number of answers. The result has the same bits on every machine.

    Args:
        reports: the number of reports of the label.
        num_answers: the number of reports of the task.
        flip_probability: p; the mean, if each worker draws a flip probability.
        num_labels: s.

    Returns:
        The estimate, or None if nobody answered or reports are independent of answers.

    Raises:
        ConfigurationError: the channel's parameters are out of range.

    Examples:
        >>> estimate_support(6, 10, flip_probability=0.25, num_labels=2).value
        7.0
    """
    _check(flip_probability, num_labels)
    lie = flip_probability / (num_labels - 1)
    excess = 1 - flip_probability - lie
    if not num_answers or abs(excess) < _LEAST_SIGNAL:
        return None
    value = (reports - lie * num_answers) / excess
    hit_variance, lie_variance = flip_probability * (1 - flip_probability), lie * (1 - lie)
    variance = max(
        value * hit_variance + (num_answers - value) * lie_variance, num_answers * min(hit_variance, lie_variance)
    )
    return Estimate(value, math.sqrt(variance) / abs(excess))


@exact_arguments
def support_limits(
    reports: int, num_answers: int, *, flip_probability: float, num_labels: int, level: float = DEFAULT_LEVEL
) -> SupportLimits:
    """Return simultaneous confidence limits for the supports of all labels of a task, which hold for all answers.

    If x workers gave the label, the number of its reports is the sum of a Binomial(x, 1 − p) and an independent
    Binomial(n − x, μ) variable for n answers. The limits are the least and the greatest x that an exact two-sided test
    does not reject. The level is divided equally between the two tails, and between the labels if there are more than
    two. (For two labels, the reports of one determine those of the other.) Since the limits hold for all labels
    simultaneously, they also hold for a label that was selected by the same reports.

    Args:
        reports: the number of reports of the label.
        num_answers: n, the number of reports of the task, each of a different worker.
        flip_probability: p; see `estimate_support`.
        num_labels: s; see `estimate_support`.
        level: a bound on the probability that the limits of any label of the task are wrong; in (0, ½).

    Raises:
        ConfigurationError: the level, or a parameter of the channel, is out of range.

    Examples:
        >>> support_limits(6, 10, flip_probability=0.25, num_labels=2)
        SupportLimits(low=1, high=10)
    """
    check_level(level)
    _check(flip_probability, num_labels)
    lie = flip_probability / (num_labels - 1)
    tail = level / 2 / (1 if num_labels == 2 else num_labels)  # noqa: PLR2004  of two labels one tells the other
    if abs(1 - flip_probability - lie) < _LEAST_SIGNAL:
        return SupportLimits(0, num_answers)
    if lie > 1 - flip_probability:  # reports decrease with the support: bound the answers of the other labels instead
        low, high = _limits(reports, num_answers, lie, 1 - flip_probability, tail)
        return SupportLimits(num_answers - high, num_answers - low)
    return SupportLimits(*_limits(reports, num_answers, 1 - flip_probability, lie, tail))


def _check(flip_probability: float, num_labels: int) -> None:
    require(0 <= flip_probability <= 1, "flip_probability", flip_probability, "in [0, 1]")
    require(num_labels >= 2, "num_labels", num_labels, "at least 2")  # noqa: PLR2004  one label has nothing to hide


@functools.lru_cache(maxsize=_MOST_REMEMBERED)
def _limits(reports: int, total: int, hit: float, lie: float, tail: float) -> tuple[int, int]:
    """Return the least and the greatest number of answers of the label for which both tails exceed `tail`.

    Args:
        hit: the probability that an answer of the label is reported as the label.
        lie: the probability that another answer is reported as the label, less than `hit`.
    """
    # Both tails are monotone in the number of answers, so that bisection finds the limits.
    numbers = range(total + 1)
    low = bisect.bisect_right(numbers, tail, key=lambda x: _tail_probability(reports, x, total, hit, lie))
    high = bisect.bisect_left(numbers, -tail, key=lambda x: _tail_probability(reports + 1, x, total, hit, lie) - 1) - 1
    # With little noise, rounding errors may reject every number; then the nearest number is returned.
    low = min(low, total)
    return low, max(low, high)


def _tail_probability(reports: int, answers: int, total: int, hit: float, lie: float) -> float:
    """Return P[number of reports ≥ `reports`] if `answers` of `total` answers are of the label."""
    lie_law = _binomial(total - answers, lie)
    # P[at least k reports from the other answers], for k = 0, …, (number of other answers) + 1.
    tails: FloatArray = np.append(np.cumsum(lie_law[::-1])[::-1], 0.0)
    needed = np.clip(reports - np.arange(answers + 1), 0, len(lie_law))
    return float((_binomial(answers, hit) * tails[needed]).sum())


def _binomial(number: int, probability: float) -> FloatArray:
    """Return the binomial probabilities of 0, …, `number` successes."""
    counts = np.arange(number + 1)
    logs = gammaln(number + 1) - gammaln(counts + 1) - gammaln(number - counts + 1)
    logs = logs + xlogy(counts, probability) + xlog1py(number - counts, -probability)
    return np.exp(np.asarray(logs, dtype=np.float64))
