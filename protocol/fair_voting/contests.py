"""The law of the winner where each alternative draws what it is compared by, independently of all others.

A lot decides ties: with t ∈ [0, 1) for a's lot, another alternative that ties with a has a worse one with probability
t. So a wins with probability Σ_v f_a(v) ∫ Π_b (F_b(v) + t·f_b(v)) dt, f being the law of what is compared and F_b(v)
the chance that b is behind v. The integrand is a polynomial in t, which Gauss's rule integrates exactly.

Source: ours; reading F3 for ties.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import expm1

from ..arrays import FloatArray, IntArray
from ..mechanisms import Uniform


def law_of_contest(chances: FloatArray, behind: FloatArray) -> FloatArray:
    """Return each alternative's probability to beat all others.

    Args:
        chances: f, shape (m, v): a number for each alternative and each value that it may draw. With the rest of its
            chance it has no part in the contest.
        behind: F, shape (m, v): how likely the alternative is behind that value, or has no part.

    Returns:
        float64, shape (m,).
    """
    size = len(chances)
    law = np.zeros(size)
    lots, _, log_shares = Uniform(0.0, 1.0).mixture(size - 1)
    for lot, share in zip(lots.tolist(), (expm1(log_shares) + 1.0).tolist(), strict=True):
        yields = behind + lot * chances
        products_before, products_after = np.ones_like(yields), np.ones_like(yields)
        np.cumprod(yields[:-1], axis=0, out=products_before[1:])
        np.cumprod(yields[:0:-1], axis=0, out=products_after[-2::-1])
        law += share * np.sum(chances * products_before * products_after, axis=1)
    return law


def law_above_floor(
    chances: FloatArray, welfare: IntArray, disparity: IntArray, *, floors: Sequence[int]
) -> FloatArray:
    """Return the law of the winner of least disparity among those whose welfare is at least a floor.

    The floor follows from the greatest welfare. Let it be at most that of rank w, for a floor f: then a wins with a
    probability A(w, f), where alternatives below f have no part. That the greatest welfare is of rank w itself has
    A(w, f) − A(w − 1, f), f being the floor of w; these are added up.

    Args:
        chances: shape (m, o): for each alternative the chance of each outcome.
        welfare: shape (o,): the rank of each outcome's welfare, from 0.
        disparity: shape (o,): likewise.
        floors: for each rank of the greatest welfare, the least rank that is at or above the floor; at most itself.

    Returns:
        float64, shape (m,), which sums to 1.
    """
    law = np.zeros(len(chances))
    ranks = int(disparity.max()) + 1
    for greatest, floor in enumerate(floors):
        below = chances[:, welfare < floor].sum(axis=1, keepdims=True)
        for most, sign in ((greatest, 1.0), (greatest - 1, -1.0)):
            is_within = (welfare >= floor) & (welfare <= most)
            places = disparity[is_within]
            rows = [np.bincount(places, weights=weights, minlength=ranks) for weights in chances[:, is_within]]
            within = np.array(rows, dtype=np.float64)
            worse = within[:, ::-1].cumsum(axis=1)[:, ::-1] - within
            law += sign * law_of_contest(within, below + worse)
    law = np.maximum(law, 0.0)
    return law / law.sum()
