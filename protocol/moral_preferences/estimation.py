"""The society's mean from sums of reports: plain, or weighted by inverse variance if voters have different ε.

Reports of one level of ε share a mean m and a variance of each number: τ² between voters, plus σ² of the noise. The
best linear mean weights each report by 1/(τ² + σ²) (reading M9), since a plain mean would mostly contain the noise of
the voters with the smallest ε. τ² is estimated from the reports at no privacy cost. The levels must not depend on
voters' preferences; otherwise voters with a greater ε count more in the mean.

All sums have an explicit order, so that anybody with the tally computes the same bits.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from ..arrays import FloatArray
from .outcome import LevelOutcome


@dataclasses.dataclass(frozen=True, eq=False)
class LevelSums:
    """The reports of one level of ε.

    Args:
        num_voters: the number of reports, at least 1.
        mean: the mean of the reports, in units, shape (w,).
        mean_square: the mean square of all numbers in the reports.
        noise_variance: σ² of each number; None if the noise is not additive.
    """

    epsilon: float
    num_voters: int
    mean: FloatArray
    mean_square: float
    noise_variance: float | None


@dataclasses.dataclass(frozen=True, eq=False)
class Mean:
    """The mean of some voters' reports.

    Args:
        values: the mean in units, shape (w,).
        error: the standard error of each number, over the draws of noise only. If the noise is not additive, it is the
            spread of reports of one level, which is rather too large. None if there is no closed form.
        num_voters: the number of voters.
        levels: the contribution of the voters of each level of ε; their weights sum to the number of voters.
    """

    values: FloatArray
    error: float | None
    num_voters: int
    levels: tuple[LevelOutcome, ...]


def average(levels: Sequence[LevelSums], *, is_weighted: bool) -> Mean:
    """Return the mean over the reports of all levels.

    Args:
        levels: the sums of at least one level.
        is_weighted: whether to weight by inverse variance; otherwise all reports have equal weight.

    Source:
        Wang et al. (2019), Section 4.3 for the plain mean; reading M9 for the other.
    """
    plain_mean = _mean_of(levels, [1.0] * len(levels))
    if not is_weighted or len(levels) == 1:
        return plain_mean
    noises = _noises(levels)
    if noises is None:
        # For small ε, the expectation of a noisy maximum is nearly proportional to ε, while its variance is always
        # about that of the ball. So the best weight grows with ε.
        return _mean_of(levels, [level.epsilon for level in levels])
    first = _mean_of(levels, [1 / noise for noise in noises])
    between = _variance_between(levels, noises, first.values)
    return _mean_of(levels, [1 / (between + noise) for noise in noises])


def _mean_of(levels: Sequence[LevelSums], weights: Sequence[float]) -> Mean:
    counts = [level.num_voters for level in levels]
    total = math.fsum(weight * count for weight, count in zip(weights, counts, strict=True))
    number = sum(counts)
    scaled = [weight * number / total for weight in weights]
    values = np.zeros_like(levels[0].mean)
    for level, weight in zip(levels, scaled, strict=True):
        values = values + (weight * level.num_voters / number) * level.mean
    variance = math.fsum(
        weight * weight * level.num_voters * noise
        for level, weight, noise in zip(levels, scaled, _noises(levels) or map(_spread_of, levels), strict=True)
    )
    outcomes = tuple(
        LevelOutcome(epsilon=level.epsilon, num_voters=level.num_voters, weight=weight)
        for level, weight in zip(levels, scaled, strict=True)
    )
    return Mean(values, math.sqrt(variance) / number, number, outcomes)


def _spread_of(level: LevelSums) -> float:
    """Return the variance of reports about their mean, per number.

    One report at distance from 0 is added, so that the error is positive even if few reports happen to be equal.
    """
    square = math.fsum(number * number for number in level.mean.tolist()) / len(level.mean)
    return max(0.0, level.mean_square - square) + level.mean_square / level.num_voters


def _variance_between(levels: Sequence[LevelSums], noises: Sequence[float], mean: FloatArray) -> float:
    """Return τ², at least 0: the variance of the reports about their mean, minus that of the noise.

    Levels are weighted by precision: by their number of voters over the squared variance of their noise.
    """
    says: list[tuple[float, float]] = []
    for level, noise in zip(levels, noises, strict=True):
        about = zip(mean.tolist(), level.mean.tolist(), strict=True)
        cross = math.fsum(overall * (overall - 2 * mean_here) for overall, mean_here in about) / len(mean)
        says.append((level.num_voters / (noise * noise), level.mean_square + cross - noise))
    total = math.fsum(share for share, _ in says)
    return max(0.0, math.fsum(share * excess for share, excess in says) / total)


def _noises(levels: Sequence[LevelSums]) -> list[float] | None:
    """Return each level's noise variance; None where noise is not additive."""
    noises = [level.noise_variance for level in levels if level.noise_variance is not None]
    return noises if len(noises) == len(levels) else None
