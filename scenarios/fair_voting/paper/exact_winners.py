"""Who wins many elections at once, in integers: `Objective.best` on arrays.

A group's utilities are integers over a denominator of its own, all in one unit. Multiplied by what makes denominators
equal they are compared as integers, so that a tie is a tie (reading F3). Where 64 bits would not do, Python's integers
are taken.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ....protocol.fair_voting import Objective

__all__ = ["best_of"]

_MOST: Final = 2**62


def best_of(
    values: NDArray[Any],
    *,
    unit: Fraction,
    denominators: Sequence[int],
    sizes: Sequence[int],
    objective: Objective,
) -> NDArray[np.bool_]:
    """Return which alternatives are best in each election, more than one where they tie.

    W_k(a) is `unit`·values/denominator, up to a number that is the same for all groups and alternatives.

    Args:
        values: integers, shape (trials, G, m).
        unit: > 0, in units of the scores.
        denominators: for each group, ≥ 1.
        sizes: n_k, which groups have in welfare.
        objective: what is elected.

    Returns:
        bool, shape (trials, m).
    """
    common = math.lcm(*denominators)
    weight = objective.fairness_weight
    # The largest numbers below: welfare over all voters, times λ's denominator, less ΔW's part.
    largest = int(np.abs(values).max()) * common * sum(sizes)
    if largest * 2 * max(weight.numerator, weight.denominator) >= _MOST:
        values = values.astype(object)
    scaled = values * np.array([common // each for each in denominators], dtype=values.dtype)[:, None]
    disparity = scaled.max(axis=1) - scaled.min(axis=1)
    if objective.name == "parity":
        return _most(-disparity)
    welfare = (scaled * np.array(sizes, dtype=values.dtype)[:, None]).sum(axis=1)
    if objective.name == "penalized":
        return _most(welfare * weight.denominator - disparity * (weight.numerator * sum(sizes)))
    is_within = disparity <= math.floor(objective.max_disparity * common / unit)
    has_any = is_within.any(axis=1)
    # Among those within, the most welfare; where nobody is, the least disparity.
    lowest = welfare.min(axis=1, keepdims=True)
    welfare = np.asarray(welfare - (welfare - lowest + 1) * ~is_within)
    within = _most(welfare)
    return np.where(has_any[:, None], within, _most(-disparity)).astype(np.bool_)


def _most(merits: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(merits == merits.max(axis=1, keepdims=True), dtype=np.bool_)
