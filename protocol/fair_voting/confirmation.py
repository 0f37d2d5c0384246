"""Tests that the winner is the best, whatever the utilities are: how likely noise alone makes its lead, at most.

Two groups, and disparity decides: let |Dₐ| ≥ |D_b| in truth. The winner a leads b by c where the noises' difference U
and sum V are beyond c and c − 2D, or below −c both. Normal noises have independent U and V, so that this has a
probability of P[U > c] at most; of Laplace noise that was searched. The threshold at a level is thus the quantile of U:
at 5 %, in normal noise of error s in each D, 1.645·√2·s.

Any objective and number of groups: a merit is the least of linear functions of the utilities, W − λ(W_k − W_j) over
pairs of groups. The winner's estimate exceeds its merit by no more than the noise of the function that is least in
truth, and another's falls below by no more than the greatest noise of them all. The law of the sum of these needs no
truth; it is drawn.

All is proven for the winner against one other alternative. Of more, a wrong winner has to lead every one, and up to a
level of a tenth no case was found in which that is likelier than with two (searched, not proven; Gutmann and Maymin
(1987) prove it for plain means). At larger levels there are such cases, and no winner of three or more is confirmed.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..arrays import FloatArray
from ..randomness import philox_rows
from .objective import Objective
from .posteriors import merits_of, num_draws, ranges_of, shares_of
from .utility_noise import UtilityNoise, quantiles_of

__all__ = ["p_value_of"]

_KEY: Final = 1
"""Of the draws, which are the same in all sessions: they tell of the noise's law alone."""
_GREATEST_LEVEL: Final = 0.1
"""Of three alternatives or more."""
_HALVES: Final = 2
"""Ways to be worse than the winner where there is a limit: less good, or out of it; each has half of the level."""


def p_value_of(
    utilities: FloatArray, winner: int, noise: UtilityNoise, *, objective: Objective, sizes: FloatArray
) -> float:
    """Return the least level at which the winner is confirmed, at most ½.

    Args:
        utilities: the estimates, shape (G, m).
        winner: whose.
        noise: of the utilities.
        objective: what is elected.
        sizes: the groups', shape (G,).
    """
    match objective.name:
        case "constrained":
            of_objective = _p_value_within_limit
        case "welfare_constrained":
            of_objective = _p_value_above_floor
        case "parity" | "penalized":
            of_objective = _p_value_of_lead
    p_value = of_objective(utilities, winner, noise, objective=objective, sizes=sizes)
    is_untested = utilities.shape[1] > 2 and p_value > _GREATEST_LEVEL  # noqa: PLR2004  more than a pair
    return 0.5 if is_untested else min(p_value, 0.5)


def _p_value_of_lead(
    utilities: FloatArray, winner: int, noise: UtilityNoise, *, objective: Objective, sizes: FloatArray
) -> float:
    """Return that of `parity` and `penalized`: how likely noise makes the lead before the next alternative."""
    merits = merits_of(utilities[None], objective, sizes)[0]
    lead = float(merits[winner] - np.delete(merits, winner).max())
    if lead <= 0:
        return 0.5
    if objective.name == "parity":
        return _tail_of_disparities(noise, lead, utilities.shape[1], objective=objective, sizes=sizes)
    weight, of_welfare = float(objective.fairness_weight), sizes / sizes.sum()
    ours, theirs = _noises(noise, utilities.shape[1])
    up = ours @ _widest(noise, of_welfare, weight, objective=objective, sizes=sizes)
    down = -(theirs @ of_welfare) + weight * ranges_of(theirs[:, :, None], objective, sizes)[:, 0]
    return _share_beyond(up + down, lead)


def _p_value_within_limit(
    utilities: FloatArray, winner: int, noise: UtilityNoise, *, objective: Objective, sizes: FloatArray
) -> float:
    """Return that of `constrained`: the winner is within the limit, and others are not, or have less welfare."""
    disparities = ranges_of(utilities[None], objective, sizes)[0]
    room = float(objective.max_disparity) - float(disparities[winner])
    if room <= 0:
        return 0.5
    widest = np.abs(_widest(noise, np.zeros(len(sizes)), 1.0, objective=objective, sizes=sizes))
    greatest = noise.tail(widest.tolist(), room, of_pairs=False)
    shares = sizes / sizes.sum()
    welfare = shares @ utilities
    ours, _ = _noises(noise, utilities.shape[1])
    ranges = ranges_of(ours[:, :, None], objective, sizes)[:, 0]
    for place in range(utilities.shape[1]):
        if place == winner:
            continue
        ways = [0.5]
        if (lead := float(welfare[winner] - welfare[place])) > 0:
            ways.append(noise.tail(shares.tolist(), lead, of_pairs=True))
        if (excess := float(disparities[place]) - float(objective.max_disparity)) > 0:
            ways.append(_share_beyond(ranges, excess))
        greatest = max(greatest, _HALVES * min(ways))
    return greatest


def _p_value_above_floor(
    utilities: FloatArray, winner: int, noise: UtilityNoise, *, objective: Objective, sizes: FloatArray
) -> float:
    """Return that of `welfare_constrained`: the winner is above the floor, and others are not, or differ more.

    How far an alternative is above β of another one's welfare has the noise of e − β·e', which spreads no more than
    e − e'. It is below the floor where it is below β of any other one's welfare: each of these has a part of the level.
    """
    size = utilities.shape[1]
    shares = sizes / sizes.sum()
    welfare = shares @ utilities - float(objective.least_utility)
    disparities = ranges_of(utilities[None], objective, sizes)[0]
    share = float(objective.welfare_share)
    greatest = 0.0
    for place in range(size):
        if place == winner:
            continue
        above = float(welfare[winner] - share * welfare[place])
        if above <= 0:
            return 0.5
        ways = [0.5]
        lacking = max(float(share * welfare[other] - welfare[place]) for other in range(size) if other != place)
        if lacking > 0:
            ways.append((size - 1) * noise.tail(shares.tolist(), lacking, of_pairs=True))
        if (lead := float(disparities[place] - disparities[winner])) > 0:
            ways.append(_tail_of_disparities(noise, lead, size, objective=objective, sizes=sizes))
        of_floor = noise.tail(shares.tolist(), above, of_pairs=True)
        greatest = max(greatest, of_floor, _HALVES * min(ways))
    return greatest


def _tail_of_disparities(
    noise: UtilityNoise, lead: float, size: int, *, objective: Objective, sizes: FloatArray
) -> float:
    """Return how likely noise makes one alternative's ΔW more by `lead` than another's, which is no less in truth."""
    groups = len(noise.errors)
    if groups == 2 and not objective.partitions:  # noqa: PLR2004  two groups have one difference
        return noise.tail((1.0, 1.0), lead, of_pairs=True)
    ours, theirs = _noises(noise, size)
    up = ours @ _widest(noise, np.zeros(groups), 1.0, objective=objective, sizes=sizes)
    return _share_beyond(up + ranges_of(theirs[:, :, None], objective, sizes)[:, 0], lead)


def _widest(
    noise: UtilityNoise, of_welfare: FloatArray, weight: float, *, objective: Objective, sizes: FloatArray
) -> FloatArray:
    """Return the weights of the linear function whose noise is greatest: W's, less λ for one group, more for another.

    Args:
        noise: of the utilities.
        of_welfare: the groups' weights in W.
        weight: λ.
        objective: between which groups there is a disparity.
        sizes: the groups'.
    """
    if objective.partitions:
        return _widest_of_features(noise, of_welfare, weight, [shares_of(own, sizes) for own in objective.partitions])
    variances = np.square(noise.greatest_errors)
    less = variances * (weight * weight - 2 * weight * of_welfare)
    more = variances * (weight * weight + 2 * weight * of_welfare)
    pairs = [
        (float(less[one] + more[other]), one, other)
        for one in np.argsort(-less, kind="stable")[:2].tolist()
        for other in np.argsort(-more, kind="stable")[:2].tolist()
        if one != other
    ]
    _, one, other = max(pairs)
    weights = of_welfare.copy()
    weights[one] -= weight
    weights[other] += weight
    return weights


def _widest_of_features(
    noise: UtilityNoise, of_welfare: FloatArray, weight: float, features: Sequence[FloatArray]
) -> FloatArray:
    """Do it where features overlap: less λ for one group of a feature, more for another group of the same.

    Args:
        noise: of the utilities.
        of_welfare: the crossings' weights in W.
        weight: λ.
        features: for each feature the crossings' shares of its groups, shape (groups, G).
    """
    variances = np.square(noise.greatest_errors)
    found: list[tuple[float, int, int, int]] = []
    for number, shares in enumerate(features):
        # Two groups of a feature have no crossing in common, so that what each adds does not depend on the other.
        alone = np.square(weight * shares) @ variances
        across = 2 * weight * (shares @ (variances * of_welfare))
        less, more = alone - across, alone + across
        found += [
            (float(less[one] + more[other]), number, one, other)
            for one in np.argsort(-less, kind="stable")[:2].tolist()
            for other in np.argsort(-more, kind="stable")[:2].tolist()
            if one != other
        ]
    _, number, one, other = max(found)
    return of_welfare + weight * (features[number][other] - features[number][one])


def _noises(noise: UtilityNoise, size: int) -> tuple[FloatArray, FloatArray]:
    """Return draws of the groups' noises for two alternatives, shape (K, G) each."""
    groups = len(noise.errors)
    draws = num_draws(groups, 2)
    uniforms = philox_rows(_KEY, start=0, stop=draws, slots=2 * groups)
    standard = quantiles_of(uniforms, is_heavy=noise.is_heavy).reshape(draws, 2, groups)
    errors = np.array(noise.greatest_errors)
    ours, theirs = standard[:, 0], standard[:, 1]
    if noise.is_balanced:
        shared = -1.0 / (size - 1)
        theirs = shared * ours + math.sqrt(1 - shared * shared) * theirs
    return ours * errors, theirs * errors


def _share_beyond(draws: FloatArray, reach: float) -> float:
    """Return a test's p-value by draws: the share that is as far or farther, the released one counted in."""
    return (1 + int(np.count_nonzero(draws >= reach))) / (1 + len(draws))
