"""The posterior probability that the winner is truly the best, under a named prior, given the release.

`uniform differences`, for two groups and an objective that depends only on disparity: the difference D of the groups'
mean utilities is uniform in its possible range, independently for each alternative. With the posterior law of D and the
winner a, P = ∫ f_|Dₐ|(t) · Π_{b≠a} P[|D_b| ≥ t] dt.

`uniform utilities`, for all other cases: each mean utility is uniform between the least and the greatest score. The
objective is evaluated for utilities that are drawn from their posterior law.

Both are calibrated on average over profiles drawn from the prior; real profiles may differ. All draws follow from
public numbers, and probabilities are shares of draws or rounded to a public grid, so that everybody computes the same.

Source: Bayes's rule, with the noise's own law.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy.special import expm1, ndtr

from ..arrays import FloatArray, IntArray
from ..randomness import philox_rows
from .objective import Objective, disparities_of, floors_of, merits_of, welfares_of
from .utility_noise import UtilityNoise, draw_within

DIFFERENCES: Final = "uniform differences"
UTILITIES: Final = "uniform utilities"

_GRID: Final = 2.0**-20
_STEPS: Final = 2048
# The range of the integral, in standard errors on either side of the winner's difference; less than 1e-7 is beyond.
_REACH: Final = 12.0
# In standard errors: estimates farther outside of the possible range are moved to this distance, since nearly all of
# the posterior is at the range's end anyway.
_OUTSIDE: Final = 8.0
_MOST_DRAWS: Final = 4096
_LEAST_DRAWS: Final = 64
_NUMBERS_OF_ALTERNATIVE: Final = 100_000
_NUMBERS_IN_ALL: Final = 1 << 21
_TOLERANCE: Final = 1e-9
"""The relative tolerance for ties of merits, in units of the greatest absolute utility."""
_NEAR: Final = 1e-9
"""The relative tolerance for estimates' merits, in units of the greatest estimate: many times their rounding errors."""


def num_draws(num_groups: int, num_alternatives: int) -> int:
    """Return the number of draws for a simulated chance: fewer if each draw has many numbers."""
    of_alternative = _NUMBERS_OF_ALTERNATIVE // num_groups
    in_all = _NUMBERS_IN_ALL // (num_groups * num_alternatives)
    return max(min(_MOST_DRAWS, of_alternative, in_all), _LEAST_DRAWS)


def chance_by_differences(differences: FloatArray, winner: int, noise: UtilityNoise, *, greatest: float) -> float:
    """Return the probability that the winner's difference truly has the least absolute value, for two groups.

    Args:
        differences: the estimates of D, shape (m,).
        winner: the index of the winner.
        noise: the noise of the estimates.
        greatest: the greatest possible absolute difference.

    Returns:
        A probability in [0, 1], on a grid of 2^−20.
    """
    first, second = noise.errors
    error = math.sqrt(first * first + second * second)
    below = _heavy_tail(first, second) if noise.is_heavy else _normal_tail(error)
    outside = greatest + _OUTSIDE * error
    sizes = np.minimum(np.abs(differences), outside)
    winner_size = float(sizes[winner])
    start = max(min(winner_size, greatest) - _REACH * error, 0.0)
    ends = np.linspace(start, min(winner_size + _REACH * error, greatest), _STEPS + 1)
    middles = (ends[1:] + ends[:-1]) / 2
    chances = np.diff(_share_within(ends, winner_size, greatest, below))
    for place, size in enumerate(sizes.tolist()):
        if place != winner:
            chances = chances * (1.0 - _share_within(middles, size, greatest, below))
    return min(max(round(float(np.sum(chances)) / _GRID) * _GRID, 0.0), 1.0)


def chance_by_utilities(
    utilities: FloatArray,
    winner: int,
    noise: UtilityNoise,
    *,
    objective: Objective,
    sizes: FloatArray,
    least: float,
    greatest: float,
    key: int,
) -> float:
    """Return the probability that the winner is truly the objective's best, as a share of draws.

    Args:
        utilities: the estimates, shape (G, m).
        winner: the index of the winner.
        noise: the noise of the estimates.
        objective: the objective.
        sizes: the sizes of the groups, shape (G,).
        least: the least score.
        greatest: the greatest score.
        key: the public key of the draws, < 2**128.
    """
    num_groups, size = utilities.shape
    draws = num_draws(num_groups, size)
    uniforms = philox_rows(key, start=0, stop=draws, slots=num_groups * size).reshape(draws, num_groups, size)
    errors = np.array(noise.errors)[:, None]
    if noise.is_balanced:
        # Independent noise of this size, minus its mean, has the law of noise with sum 0.
        errors = errors * np.sqrt(size / (size - 1))
    truths = draw_within(
        uniforms, utilities, errors, least=least, greatest=greatest, is_heavy=noise.is_heavy, shares=noise.shares
    )
    if noise.is_balanced:
        truths = truths - truths.mean(axis=2, keepdims=True) + utilities.mean(axis=1, keepdims=True)
    merits = merits_of(truths, objective, sizes)
    is_best = merits[:, winner] >= merits.max(axis=1) - _TOLERANCE * (greatest - least)
    return float(is_best.mean())


def clear_winners(utilities: FloatArray, objective: Objective, sizes: FloatArray) -> IntArray:
    """Return the winners by rounded estimates, shape (K,), for utilities of shape (K, G, m); −1 if rounding may decide.

    Then the caller compares exact fractions.
    """
    merits = merits_of(utilities, objective, sizes)
    near = _NEAR * np.abs(utilities).max(axis=(1, 2)) * (2 + float(objective.fairness_weight))
    second, first = np.partition(merits, -2, axis=1)[:, -2:].T
    is_clear = first - second > near
    if objective.name == "constrained":
        excesses = disparities_of(utilities, objective, sizes) - float(objective.max_disparity)
        is_clear &= np.abs(excesses).min(axis=1) > near
    elif objective.name == "welfare_constrained":
        welfare = welfares_of(utilities, sizes)
        floors = floors_of(welfare.max(axis=1, keepdims=True), objective)
        is_clear &= np.abs(welfare - floors).min(axis=1) > near
    return np.where(is_clear, merits.argmax(axis=1), -1)


def _share_within(
    reaches: FloatArray, size: float, greatest: float, below: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return P[|D| ≤ t] for a difference within its possible range, with estimate ± `size`.

    Args:
        reaches: t.
        size: the absolute value of the estimate.
        greatest: the end of the range.
        below: the probability that noise exceeds a reach ≥ 0 on one side.
    """

    def share(points: FloatArray) -> FloatArray:
        tails = below(np.abs(points))
        return np.where(points < 0, tails, 1.0 - tails)

    ends = share(np.array([greatest - size, -greatest - size]))
    shares = (share(reaches - size) - share(-reaches - size)) / (ends[0] - ends[1])
    return np.clip(shares, 0.0, 1.0)


def _normal_tail(error: float) -> Callable[[FloatArray], FloatArray]:
    """Return x ↦ P[N > x] of normal noise."""
    return lambda reach: np.asarray(ndtr(-reach / error))


def _heavy_tail(first: float, second: float) -> Callable[[FloatArray], FloatArray]:
    """Return x ↦ P[L₁ + L₂ > x], x ≥ 0, for two draws of Laplace noise with these standard deviations.

    With scales a ≥ b it is ½·e^(−x/a)·(1 + bx/(a(a + b))·(1 − e^(−y))/y), y = x(a − b)/(ab).
    """
    large, small = max(first, second) / math.sqrt(2), min(first, second) / math.sqrt(2)

    def tail(reach: FloatArray) -> FloatArray:
        gap = np.maximum(reach * (large - small) / (large * small), 1e-12)
        correction = small * reach / (large * (large + small)) * -expm1(-gap) / gap
        return (expm1(-reach / large) + 1.0) / 2 * (1.0 + correction)

    return tail
