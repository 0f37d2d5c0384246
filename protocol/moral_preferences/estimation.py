"""From sums of reports to the society's mean: plain, or weighted by inverse variance where voters' ε differ.

Reports of one level of ε share a mean m and a variance in each number, τ² between voters plus the noise's σ². The best
linear mean weighs each report by 1/(τ² + σ²) (reading M9): with very private voters in it, a plain mean is mostly their
noise. τ² is estimated from the reports, which costs nothing. The levels must not depend on what voters prefer, or the
weighted mean is that of a society in which the less private count for more.

All sums are taken in a written-out order, so that everybody who holds the tally finds the same bits.
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
        num_voters: how many, at least 1.
        mean: of their reports, in units; shape (w,).
        mean_square: of their reports' numbers, over all of them together.
        noise_variance: of each number, σ²; None where the noise is not additive.
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
        values: shape (w,), in units.
        error: the standard error of each, over the noise's draws alone; where the noise is not additive by how far
            reports of one level spread, which is rather too much; None where it has no closed form.
        num_voters: whose it is.
        levels: what the voters of each ε contribute; their weights add up to their number.
    """

    values: FloatArray
    error: float | None
    num_voters: int
    levels: tuple[LevelOutcome, ...]


def average(levels: Sequence[LevelSums], *, is_weighted: bool) -> Mean:
    """Return the mean over the reports of all levels.

    Args:
        levels: at least one.
        is_weighted: by inverse variance, or all alike.

    Source:
        Wang et al. (2019), Section 4.3 for the plain mean; reading M9 for the other.
    """
    plain_mean = _mean_of(levels, [1.0] * len(levels))
    if not is_weighted or len(levels) == 1:
        return plain_mean
    noises = _noises(levels)
    if noises is None:
        # A place in the ball answers the noise nearly in proportion to ε while that is small, and its variance is the
        # ball's whatever ε is, so that the best weight grows with ε.
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
    """Return how far reports spread about their mean, as a variance in each number.

    A report about 0 is added to those about their mean, so that few of them that happen to be alike have an error yet.
    """
    square = math.fsum(number * number for number in level.mean.tolist()) / len(level.mean)
    return max(0.0, level.mean_square - square) + level.mean_square / level.num_voters


def _variance_between(levels: Sequence[LevelSums], noises: Sequence[float], mean: FloatArray) -> float:
    """Return τ², at least 0: what the reports spread about their mean, less what the noise does.

    Each level has its say by how precisely it shows that: by its number over the square of its noise's variance.
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
