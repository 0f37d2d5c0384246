"""Judge claims by the confidence intervals of numbers from trials.

With a probability of at least 1 − `RISK`, over all claims of all papers jointly, no false claim is reported to hold,
and no true one to fail: each claim has a part of that risk, and each comparison within a claim a part of the claim's. A
statement on all of several numbers holds if each number's interval supports it: if it were false, that number's
interval would have to err (Berger 1982). A statement that something occurs "at none" cannot be shown so; it only means
that no interval contradicts it (`ahead_somewhere`). Means of trials have Student's law. What the intervals leave open
"cannot be told"; more trials may decide it. Cells with the same draws are compared trial by trial.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from scipy.special import chdtri, stdtrit

from ...protocol.arrays import FloatArray
from ...protocol.elementary import square
from ..verdicts import Judgement
from .measurements import Measurement, Sample, Share, count_apart, mean_square, sample_of

RISK: Final = 0.01
"""The probability that any claim is judged wrongly, in either direction."""
MOST_CLAIMS: Final = 200
"""The number of parts of the risk. A one-sided verdict takes half a part, `between` one, and `agree` two. A claim that
is judged again, with more trials, takes the same again."""

_LIMIT: Final = 100  # trials from which squared deviations nearly have the law for normal numbers


def errors_of(number: int, trials: int) -> float:
    """Return the half width, in standard errors, of intervals for `number` means that hold jointly for one claim.

    Examples:
        >>> round(errors_of(1, 100), 2)
        4.24
    """
    return float(stdtrit(trials - 1, 1 - RISK / MOST_CLAIMS / (2 * number)))


def judge_exact(*, is_true: bool) -> Judgement:
    """Return the verdict on numbers without error: by a law, or by complete data.

    Examples:
        >>> judge_exact(is_true=True).value
        'holds'
    """
    return Judgement.HOLDS if is_true else Judgement.REFUTED


def judge_with_law(judgement: Judgement, *, is_true: bool) -> Judgement:
    """Return the verdict of a law, unless trials contradict the claim.

    Examples:
        >>> judge_with_law(Judgement.OPEN, is_true=True).value
        'holds'
    """
    return judge_exact(is_true=is_true) if judgement in {Judgement.HOLDS, Judgement.OPEN} else judgement


def average(numbers: Iterable[Measurement]) -> Measurement:
    """Return the mean of independent numbers, or the trial-by-trial mean of samples with the same draws.

    Examples:
        >>> average([Measurement(1.0, 0.3), Measurement(3.0, 0.4)])
        Measurement(value=2.0, standard_error=0.25)
    """
    measurements = list(numbers)
    if samples := _common_trials(*measurements):
        return _alike(measurements, np.mean(samples, axis=0))
    error = math.sqrt(math.fsum(square(each.standard_error) for each in measurements))
    return Measurement(math.fsum(each.value for each in measurements) / len(measurements), error / len(measurements))


def difference(one: Measurement, other: Measurement) -> Measurement:
    """Return the difference of two means: independent ones, or samples with the same draws, trial by trial.

    Examples:
        >>> difference(Measurement(1.0, 0.3), Measurement(0.5, 0.4))
        Measurement(value=0.5, standard_error=0.5)
    """
    if samples := _common_trials(one, other):
        return _alike([one, other], np.subtract(samples[0], samples[1]))
    error = math.sqrt(square(one.standard_error) + square(other.standard_error))
    return Measurement(one.value - other.value, error)


def _common_trials(*measurement: Measurement) -> list[Sequence[float]]:
    """Return the trials that all samples have; none if a number is not a sample."""
    samples = [each.numbers for each in measurement if isinstance(each, Sample)]
    num_common = min(map(len, samples), default=0)
    return [each[:num_common] for each in samples] if len(samples) == len(measurement) else []


def _alike(measurements: Sequence[Measurement], numbers: FloatArray) -> Measurement:
    return sample_of(numbers, is_share=all(isinstance(each, Sample) and each.is_share for each in measurements))


def difference_of_shares(one: Measurement, other: Measurement, trials: int) -> Measurement:
    """Return the difference of two shares, each of `trials` trials unless it has its number.

    Errors are those of Wilson's intervals, so a share of 0 or 1 also has an error. Source: Wilson (1927), and Newcombe
    (1998), method 10.

    Examples:
        >>> f"{difference_of_shares(Share(0.9, 0.03, 100), Share(0.5, 0.05, 100), 100):.2f}"
        '0.40 ± 0.06'
    """
    return difference(*(_share(each, each.number if isinstance(each, Share) else trials) for each in (one, other)))


def _share(share: Measurement, trials: int) -> Measurement:
    errors = errors_of(1, trials)
    whole = trials + square(errors)
    middle = (share.value * trials + square(errors) / 2) / whole
    half = errors * math.sqrt(trials * share.value * (1 - share.value) + square(errors) / 4) / whole
    # The farther end of the interval.
    return Measurement(share.value, (abs(middle - share.value) + half) / errors)


def judge_all_above(differences: Iterable[Measurement], *, trials: int) -> Judgement:
    """Judge that every difference is above 0.

    It holds if all intervals are above 0. If one interval is below 0, it fails, or holds in part if another one is
    above.

    Examples:
        >>> judge_all_above([Measurement(1.0, 0.1), Measurement(2.0, 0.1)], trials=100).value
        'holds'
    """
    measurements = list(differences)
    num_above, num_below = count_apart(measurements, errors_of(len(measurements), trials))
    if num_below:
        return Judgement.IN_PART if num_above else Judgement.REFUTED
    return (
        Judgement.HOLDS if count_apart(measurements, errors_of(1, trials))[0] == len(measurements) else Judgement.OPEN
    )


def ahead_somewhere(differences: Iterable[Measurement], *, trials: int) -> Judgement:
    """Judge that some differences are above 0, and none below.

    It holds if some interval is above 0 and none is below. A difference within an interval that contains 0 may still be
    below 0.

    Examples:
        >>> ahead_somewhere([Measurement(1.0, 0.1), Measurement(0.0, 0.1)], trials=100).value
        'holds'
    """
    measurements = list(differences)
    judgement = judge_all_above(measurements, trials=trials)
    num_above, _ = count_apart(measurements, errors_of(len(measurements), trials))
    return Judgement.HOLDS if num_above and judgement is Judgement.OPEN else judgement


def on_average(means: Iterable[Measurement], minimum: float, number: int, *, trials: int) -> Judgement:
    """Judge that means of differences are above 0, and that no difference contradicts this.

    It holds in part if the means are above 0 and one of the differences is below.

    Args:
        means: the mean of each kind of differences.
        minimum: the least of all differences, each divided by its standard error.
        number: number of differences.
        trials: number of trials of each.

    Examples:
        >>> on_average([Measurement(1.0, 0.1)], -1.0, 4, trials=100).value
        'holds'
    """
    judgement = judge_all_above(means, trials=trials)
    is_contradicted = judgement is Judgement.HOLDS and minimum < -errors_of(number, trials)
    return Judgement.IN_PART if is_contradicted else judgement


def between(numbers: Iterable[Measurement], low: float, high: float, *, trials: int) -> Judgement:
    """Judge that all numbers are between two limits.

    It holds if all intervals are between the limits, and fails if one interval is outside.

    Examples:
        >>> between([Measurement(0.5, 0.01)], 0.0, 1.0, trials=100).value
        'holds'
    """
    measurements = list(numbers)

    def ends(errors: float) -> list[tuple[float, float]]:
        return [
            (each.value - errors * each.standard_error, each.value + errors * each.standard_error)
            for each in measurements
        ]

    if any(last < low or first > high for first, last in ends(errors_of(len(measurements), trials))):
        return Judgement.REFUTED
    is_inside = all(low <= first and last <= high for first, last in ends(errors_of(1, trials)))
    return Judgement.HOLDS if is_inside else Judgement.OPEN


def agree(deviations: Sequence[float], mean: Measurement, margin: float, *, trials: int) -> Judgement:
    """Judge that numbers agree with others, such as a paper's.

    They do not if one deviates too far, or all deviate more than by chance. They do if, in addition, the mean
    difference is within a margin.

    Args:
        deviations: computed minus other numbers, in joint standard errors.
        margin: the largest mean difference that counts as agreement, in the numbers' unit.
        trials: number of trials of each computed number.

    Examples:
        >>> agree([0.5, -1.0], Measurement(0.0, 0.01), 0.1, trials=100).value
        'holds'
    """
    count = len(deviations)
    is_far = max(map(abs, deviations)) > errors_of(count, trials)
    if trials >= _LIMIT:
        is_far |= mean_square(deviations) > float(chdtri(count, RISK / MOST_CLAIMS / 2)) / count
    if is_far:
        return Judgement.REFUTED
    return between([mean], -margin, margin, trials=trials)
