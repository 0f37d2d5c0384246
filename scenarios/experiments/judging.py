"""Judge claims by the confidence intervals of numbers from trials.

With a probability of at least 1 − `RISK`, over all claims of all papers together, none is said to hold that does not,
and none not to hold that does: each claim has its part of that risk, and each comparison within a claim its part of
the claim's. That all of some numbers are so is said where each is by an interval of its own: were it wrong, one of
them would have to err (Berger 1982). That something is so "at none" is not shown so: no interval says the contrary
(`ahead_somewhere`). Means of trials have Student's law. What the intervals leave open "cannot be
told"; more trials tell it. What two cells made of the same draws is compared trial by trial.
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
"""That any claim at all is judged wrongly, in either direction."""
MOST_CLAIMS: Final = 200
"""So many parts share the risk. A verdict that something is above takes half a part, since it errs on one side alone;
`between` one, `agree` two; a claim that is judged again, of more trials, takes as much again."""

_LIMIT: Final = 100  # trials from which on squares of deviations have nearly the law of a normal number's


def errors_of(number: int, trials: int) -> float:
    """Return by how many standard errors one of so many means may be off, so that all of a claim's hold at once.

    Examples:
        >>> round(errors_of(1, 100), 2)
        4.24
    """
    return float(stdtrit(trials - 1, 1 - RISK / MOST_CLAIMS / (2 * number)))


def judge_exact(*, is_true: bool) -> Judgement:
    """Return the verdict where numbers have no error: by a law, or by data that are there whole.

    Examples:
        >>> judge_exact(is_true=True).value
        'holds'
    """
    return Judgement.HOLDS if is_true else Judgement.REFUTED


def judge_with_law(judgement: Judgement, *, is_true: bool) -> Judgement:
    """Return the verdict of a law, which trials beside it can only contradict.

    Examples:
        >>> judge_with_law(Judgement.OPEN, is_true=True).value
        'holds'
    """
    return judge_exact(is_true=is_true) if judgement in {Judgement.HOLDS, Judgement.OPEN} else judgement


def average(numbers: Iterable[Measurement]) -> Measurement:
    """Return the mean of independent numbers, or trial by trial of samples, whose draws are the same.

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
    """Return by how much the first of two means is larger: independent ones, or samples, trial by trial.

    Examples:
        >>> difference(Measurement(1.0, 0.3), Measurement(0.5, 0.4))
        Measurement(value=0.5, standard_error=0.5)
    """
    if samples := _common_trials(one, other):
        return _alike([one, other], np.subtract(samples[0], samples[1]))
    error = math.sqrt(square(one.standard_error) + square(other.standard_error))
    return Measurement(one.value - other.value, error)


def _common_trials(*measurement: Measurement) -> list[Sequence[float]]:
    """Return the trials that all of some samples have; nothing where one of them is none."""
    samples = [each.numbers for each in measurement if isinstance(each, Sample)]
    num_common = min(map(len, samples), default=0)
    return [each[:num_common] for each in samples] if len(samples) == len(measurement) else []


def _alike(measurements: Sequence[Measurement], numbers: FloatArray) -> Measurement:
    return sample_of(numbers, is_share=all(isinstance(each, Sample) and each.is_share for each in measurements))


def difference_of_shares(one: Measurement, other: Measurement, trials: int) -> Measurement:
    """Return the same of two shares, of so many trials each where they do not say it themselves.

    Their errors are those of Wilson's intervals: a share of which all trials agree has an error, too. Source: Wilson
    (1927), and Newcombe (1998), method 10.

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
    # The end that is farther away.
    return Measurement(share.value, (abs(middle - share.value) + half) / errors)


def judge_all_above(differences: Iterable[Measurement], *, trials: int) -> Judgement:
    """Judge that each of some differences is above 0.

    It holds where each interval is above 0. Where one is below, it does not, or in part: where another is above.

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

    It holds where an interval is above 0 and none below: a difference may be below 0 by what the intervals leave open.

    Examples:
        >>> ahead_somewhere([Measurement(1.0, 0.1), Measurement(0.0, 0.1)], trials=100).value
        'holds'
    """
    measurements = list(differences)
    judgement = judge_all_above(measurements, trials=trials)
    num_above, _ = count_apart(measurements, errors_of(len(measurements), trials))
    return Judgement.HOLDS if num_above and judgement is Judgement.OPEN else judgement


def on_average(means: Iterable[Measurement], minimum: float, number: int, *, trials: int) -> Judgement:
    """Judge that means of some differences are above 0, where none of the differences says the contrary.

    It holds in part where the means are above 0 and one of the differences is below.

    Args:
        means: of differences that are of one kind.
        minimum: the least of all differences, each in its own standard errors.
        number: of them.
        trials: of each.

    Examples:
        >>> on_average([Measurement(1.0, 0.1)], -1.0, 4, trials=100).value
        'holds'
    """
    judgement = judge_all_above(means, trials=trials)
    is_contradicted = judgement is Judgement.HOLDS and minimum < -errors_of(number, trials)
    return Judgement.IN_PART if is_contradicted else judgement


def between(numbers: Iterable[Measurement], low: float, high: float, *, trials: int) -> Judgement:
    """Judge that each of some numbers is between two limits.

    It holds where each interval is; it does not where one interval is outside.

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
    """Judge that numbers are as others are, a paper's say.

    They are not where one of them is far off, or all are farther off than chance has it; they are where, besides, the
    mean of the differences is within a margin.

    Args:
        deviations: ours less the others, in joint standard errors.
        margin: what is no difference, in the numbers' unit.
        trials: of each of ours.

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
