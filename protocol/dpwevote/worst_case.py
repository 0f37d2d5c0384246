"""A proven bound, over every truth, on the probability that the reported "yes" reaches a weight.

Each partner reports "yes" or "no" by randomized response, and its public weight counts if the report is "yes". Let an
adversary choose the opinions one after the other, each after seeing the earlier reports, such that the total weight of
true "yes" is within a budget. Its best probability that the reports reach a weight bounds that of every truth within
the budget, since a truth is a choice that ignores the reports.

This best probability is computed by a dynamic program over the remaining budget and the weight still needed. It uses
only addition, multiplication and comparison, so that both sides get the same bits. If "yes" and "no" are reported with
the same variance, the bound is nearly tight: thresholds increase by some hundredths of a standard deviation, compared
to the worst truth found by search.
"""

import functools
import itertools
from typing import Final

import numpy as np

from ..arrays import FloatArray

MOST_PARTNERS: Final = 1_000
"""The most partners; with more, the program would take too long for any weights."""
# The most cells of all tables together, which take about five milliseconds.
_MOST_CELLS: Final = 1_500_000


@functools.lru_cache(maxsize=256)
def greatest_chance(
    weights: tuple[int, ...], budget: int, num_needed: int, *, keep: float, flip: float
) -> float | None:
    """Return a bound on the probability that the reported "yes" reaches a weight, for every truth within a budget.

    Args:
        weights: the partners' weights, increasing, in integer units.
        budget: the greatest total weight of partners whose opinion is "yes", ≥ 0.
        num_needed: the weight that the reports reach.
        keep: the probability that the opinion "yes" is reported as "yes".
        flip: the probability that the opinion "no" is reported as "yes".

    Returns:
        The bound; None if computing it would take too long.
    """
    if 0 < num_needed <= sum(weights) and _cells(weights, budget, num_needed) > _MOST_CELLS:
        return None
    return float(_chances(weights, budget, num_needed, keep, flip)[-1])


def greatest_budget(
    weights: tuple[int, ...], most: int, num_needed: int, level: float, *, keep: float, flip: float
) -> int | None:
    """Return the greatest budget, at most `most`, whose bound is at most `level`; −1 if there is none.

    The other arguments are as in `greatest_chance`. The result is None if that may return None.
    """
    if _cells(weights, most, sum(weights)) > _MOST_CELLS:
        return None
    chances = _chances(weights, most, num_needed, keep, flip)
    budget = int(np.searchsorted(chances, level, side="right"))
    return most if budget == len(chances) else budget - 1


def _cells(weights: tuple[int, ...], budget: int, num_needed: int) -> int:
    """Return how many cells all tables have together."""
    return sum((min(reach, budget) + 1) * (min(reach, num_needed) + 1) for reach in itertools.accumulate(weights))


def _chances(weights: tuple[int, ...], budget: int, num_needed: int, keep: float, flip: float) -> FloatArray:
    """Return the bound for each budget from 0 on; beyond the last one it grows no more."""
    if num_needed <= 0:
        return np.ones(1)
    if num_needed > sum(weights):
        return np.zeros(1)
    # chances[b, r] is the best probability with a remaining budget of b and a needed weight of r. Light partners choose
    # last. b and r above the total weight of the partners that have yet to choose need no cells.
    chances = np.ones((1, 1))
    reach = 0
    for weight in weights:
        reach += weight
        wider = np.zeros((min(reach, budget) + 1, min(reach, num_needed) + 1))
        rows, columns = chances.shape
        wider[:rows, :columns] = chances
        wider[rows:, :columns] = chances[-1]
        reported = np.ones_like(wider)
        reported[:, weight:] = wider[:, : max(wider.shape[1] - weight, 0)]
        chances = wider * (1 - flip) + reported * flip
        if weight < len(wider):
            num_unflipped = len(wider) - weight
            law_of_yes = wider[:num_unflipped] * (1 - keep) + reported[:num_unflipped] * keep
            chances[weight:] = np.maximum(chances[weight:], law_of_yes)
    return chances[:, -1]
