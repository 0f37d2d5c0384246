"""The law of the winner if each alternative draws a value independently, and the best value wins.

Lots break ties: if a's lot is t ∈ [0, 1), another alternative that ties with a has a worse lot with probability t. So a
wins with probability Σ_v f_a(v) ∫ Π_b (F_b(v) + t·f_b(v)) dt, where f_a is the law of a's value, and F_b(v) the
probability that b's value is worse than v. The integrand is a polynomial in t, which a Gauss rule integrates exactly.

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
        chances: f, shape (m, v), the probability of each value for each alternative. With the remaining probability an
            alternative does not take part.
        behind: F, shape (m, v), the probability that an alternative is worse than each value, or does not take part.

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
    """Return the law of the winner with the least disparity among alternatives whose welfare is at least a floor.

    The floor depends on the greatest welfare. Let A(w, f) be the probability that a wins and the greatest welfare has
    at most rank w, if alternatives below the floor f do not take part. The probability that a wins and the greatest
    welfare has exactly rank w is A(w, f) − A(w − 1, f), where f is the floor of w. The result is the sum over w.

    Args:
        chances: the probability of each outcome for each alternative, shape (m, o).
        welfare: the rank of each outcome's welfare, from 0, shape (o,).
        disparity: the rank of each outcome's disparity, from 0, shape (o,).
        floors: for each rank of the greatest welfare, the least rank of a welfare that is at least the floor.

    Returns:
        float64, shape (m,), with sum 1.
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
