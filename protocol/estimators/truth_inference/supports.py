"""How many workers gave a label before the perturbation: an estimate without bias, and limits that hold for all labels.

An estimate is without bias for a label that is named beforehand. The label that was found has been chosen for its
reports, among other things, and its estimate is too high on average. So there are limits too, which hold for all labels
of a task at once, whichever of them is then looked at.

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
"""Below, a report says nothing of its answer, and no count can be estimated."""
_MOST_REMEMBERED = 1 << 14


class SupportLimits(NamedTuple):
    """Between which numbers a support is.

    Examples:
        >>> SupportLimits(low=3, high=8)
        SupportLimits(low=3, high=8)
    """

    low: int
    """At least so many workers gave the label."""
    high: int
    """At most so many."""


class LevelCounts(NamedTuple):
    """The counts of a label's reports through one of several channels.

    Examples:
        >>> LevelCounts(reports=6, num_answers=10, flip_probability=0.25).reports
        6
    """

    reports: int
    """The number of the label's reports."""
    num_answers: int
    """Reports of the task."""
    flip_probability: float
    """See `estimate_support`."""


@exact_arguments
def estimate_support_by_level(parts: Sequence[LevelCounts], *, num_labels: int) -> Estimate | None:
    """Estimate the number of workers that gave a label through several channels: the sum of `estimate_support`.

    It is unbiased, whichever worker has which channel. None if nobody answered, or if a channel's reports say nothing.

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
    """Return `support_limits` where answers went through several channels: the sums of those of each channel.

    Each channel's limits have an equal share of the level, so that all of them hold at once, whoever has which channel.

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
    """Return how many workers gave a label before the perturbation, estimated without bias, with its standard error.

    A task's answers have gone through one channel, P[report = l | answer = x] = λ[l = x] + μ with μ = p/(s − 1) and
    λ = 1 − p − μ, so that (reports of l − μ·answers)/λ is unbiased for the answers of l. It may be below 0 or above the
    number of answers. All operations are exact to the last bit on every machine.

    Args:
        reports: of the label.
        num_answers: reports of the task.
        flip_probability: p; of a flip probability that each worker draws, the mean.
        num_labels: s.

    Returns:
        None where nobody answered, or a report says nothing.

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
    """Return limits that hold for the supports of all labels of a task at once, whatever the answers are.

    With x answers of the label, its reports are as many as x coins of 1 − p and the other answers' coins of μ show. A
    number x is possible unless a test of it with these two exact tails refuses it; the level is shared between the two
    tails, and between the labels where there are more than two. (Of two, one's reports tell the other's.) Since the
    limits miss no label with probability 1 − level, they hold for one that was chosen by the same reports too.

    Args:
        num_answers: reports of the task, each of another worker; for the rest see `estimate_support`.
        level: the probability, at most, that the limits miss the support of any label of the task; in (0, ½).

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
    if lie > 1 - flip_probability:  # the fewer reports, the more answers: those of the other labels are counted
        low, high = _limits(reports, num_answers, lie, 1 - flip_probability, tail)
        return SupportLimits(num_answers - high, num_answers - low)
    return SupportLimits(*_limits(reports, num_answers, 1 - flip_probability, lie, tail))


def _check(flip_probability: float, num_labels: int) -> None:
    require(0 <= flip_probability <= 1, "flip_probability", flip_probability, "in [0, 1]")
    require(num_labels >= 2, "num_labels", num_labels, "at least 2")  # noqa: PLR2004  one label has nothing to hide


@functools.lru_cache(maxsize=_MOST_REMEMBERED)
def _limits(reports: int, total: int, hit: float, lie: float, tail: float) -> tuple[int, int]:
    """Return the least and the greatest number of answers that is possible: both tails are more probable than `tail`.

    An answer of the label is reported as such with probability `hit`, another one with `lie`, which is less.
    """
    # Both tails change one way with the number of answers: the first that is possible, and the first that no more is.
    numbers = range(total + 1)
    low = bisect.bisect_right(numbers, tail, key=lambda x: _tail_probability(reports, x, total, hit, lie))
    high = bisect.bisect_left(numbers, -tail, key=lambda x: _tail_probability(reports + 1, x, total, hit, lie) - 1) - 1
    # At strong signals rounding may leave nothing; the nearest number is possible then.
    low = min(low, total)
    return low, max(low, high)


def _tail_probability(reports: int, answers: int, total: int, hit: float, lie: float) -> float:
    """Return the probability of at least so many reports, if so many of all answers are of the label."""
    lie_law = _binomial(total - answers, lie)
    # P[at least k from the others], for k from 0 to one more than there are.
    tails: FloatArray = np.append(np.cumsum(lie_law[::-1])[::-1], 0.0)
    needed = np.clip(reports - np.arange(answers + 1), 0, len(lie_law))
    return float((_binomial(answers, hit) * tails[needed]).sum())


def _binomial(number: int, probability: float) -> FloatArray:
    """Return the probabilities of 0 to so many successes."""
    counts = np.arange(number + 1)
    logs = gammaln(number + 1) - gammaln(counts + 1) - gammaln(number - counts + 1)
    logs = logs + xlogy(counts, probability) + xlog1py(number - counts, -probability)
    return np.exp(np.asarray(logs, dtype=np.float64))
