"""How probably public weights report so much "yes" although too few said it: a bound over every truth, proven.

Each partner says "yes" or "no" by randomized response, and its public weight counts where the report is "yes". Let an
adversary choose the opinions one after the other, each in sight of the reports before, with no more true "yes" in all
than a budget of weight: its best chance that the reports reach a number is at least that of every truth within the
budget, since a truth is a choice that looks at nothing. The best chance is a dynamic program over what is left of the
budget and what is still needed: adds, multiplies and comparisons alone, so that both sides find the same bits. Where
"yes" and "no" are reported with one and the same variance, sight is worth little: thresholds rise by some hundredths
of a standard deviation against the worst truth that is found by search.
"""

import functools
import itertools
from typing import Final

import numpy as np

from ..arrays import FloatArray

MOST_PARTNERS: Final = 1_000
"""More partners than this take too long, whatever they weigh."""
# Cells of all tables together: some five milliseconds.
_MOST_CELLS: Final = 1_500_000


@functools.lru_cache(maxsize=256)
def greatest_chance(weights: tuple[int, ...], budget: int, num_needed: int, *, keep: float, lie: float) -> float | None:
    """Return a bound on the chance that the reported "yes" reaches a weight, for every truth within a budget.

    Args:
        weights: of the partners, increasing.
        budget: the most that those who truly say "yes" weigh together, ≥ 0.
        num_needed: the weight that the reports reach.
        keep: the probability that a true "yes" is reported as one.
        lie: that a true "no" is.

    Returns:
        The bound; None where it would take too long to find.
    """
    if 0 < num_needed <= sum(weights) and _cells(weights, budget, num_needed) > _MOST_CELLS:
        return None
    return float(_chances(weights, budget, num_needed, keep, lie)[-1])


def greatest_budget(
    weights: tuple[int, ...], most: int, num_needed: int, level: float, *, keep: float, lie: float
) -> int | None:
    """Return the greatest budget, `most` at most, of which the bound is a level at most; −1 where none is.

    The other arguments are as in `greatest_chance`; None where that may be None for any number that is needed.
    """
    if _cells(weights, most, sum(weights)) > _MOST_CELLS:
        return None
    chances = _chances(weights, most, num_needed, keep, lie)
    budget = int(np.searchsorted(chances, level, side="right"))
    return most if budget == len(chances) else budget - 1


def _cells(weights: tuple[int, ...], budget: int, num_needed: int) -> int:
    """Return how many cells all tables have together."""
    return sum((min(reach, budget) + 1) * (min(reach, num_needed) + 1) for reach in itertools.accumulate(weights))


def _chances(weights: tuple[int, ...], budget: int, num_needed: int, keep: float, lie: float) -> FloatArray:
    """Return the bound for each budget from 0 on; beyond the last one it grows no more."""
    if num_needed <= 0:
        return np.ones(1)
    if num_needed > sum(weights):
        return np.zeros(1)
    # chances[b, r]: with a budget of b left, and r needed. The light ones choose last; beyond what those who have not
    # chosen weigh, a budget is as good as that weight, and what is needed is out of reach.
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
        chances = wider * (1 - lie) + reported * lie
        if weight < len(wider):
            num_unflipped = len(wider) - weight
            law_of_yes = wider[:num_unflipped] * (1 - keep) + reported[:num_unflipped] * keep
            chances[weight:] = np.maximum(chances[weight:], law_of_yes)
    return chances[:, -1]
