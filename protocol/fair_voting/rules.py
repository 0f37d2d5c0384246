"""Voting rules without privacy, to hold private ones against.

Each returns the winners of a profile, more than one where they tie, in the order of the alternatives.

Source: Brandt, Conitzer, Endriss, Lang and Procaccia (2016), Handbook of computational social choice, chapters 2 to 4;
Rawls (1971) for the egalitarian rule.
"""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from ..arrays import IntArray
from .rankings import Rankings

__all__ = ["RULES", "borda", "copeland", "egalitarian", "pairwise_wins", "plurality"]


def plurality(rankings: Rankings) -> list[int]:
    """Return whom most voters rank first."""
    return _most(np.count_nonzero(rankings.positions == 0, axis=0))


def borda(rankings: Rankings) -> list[int]:
    """Return who has the most welfare under the paper's utility: the least sum of positions."""
    return _most(-rankings.positions.sum(axis=0, dtype=np.int64))


def copeland(rankings: Rankings) -> list[int]:
    """Return who wins most majority contests less those lost; a tied contest counts for nobody."""
    wins = pairwise_wins(rankings)
    return _most(np.sign(wins - wins.T).sum(axis=1))


def egalitarian(rankings: Rankings) -> list[int]:
    """Return whose least satisfied voter is best off: the least of the worst positions; ties by Borda's welfare.

    Of many voters somebody ranks each alternative last, and the rule is Borda's.
    """
    worst = rankings.positions.max(axis=0)
    totals = rankings.positions.sum(axis=0, dtype=np.int64)
    return _most(-(worst * (len(rankings) * rankings.num_alternatives + 1) + totals))


def pairwise_wins(rankings: Rankings) -> IntArray:
    """Return how many voters prefer each alternative to each other one: int64, shape (m, m)."""
    size = rankings.num_alternatives
    # By columns of small numbers, which are next to each other in memory.
    columns = np.ascontiguousarray(rankings.positions.T.astype(np.int16))
    wins = np.zeros((size, size), dtype=np.int64)
    for first in range(size):
        for second in range(first + 1, size):
            preferring = int(np.count_nonzero(columns[first] < columns[second]))
            wins[first, second], wins[second, first] = preferring, len(rankings) - preferring
    return wins


RULES: Final[Mapping[str, Callable[[Rankings], list[int]]]] = {
    "plurality": plurality,
    "borda": borda,
    "copeland": copeland,
    "egalitarian": egalitarian,
}
"""By the names that tables give them."""


def _most(numbers: IntArray) -> list[int]:
    return np.flatnonzero(numbers == numbers.max()).tolist()
