"""Voting rules without privacy, for comparison with private ones.

Each returns the winners of a profile, several if they tie, in the order of the alternatives.

Source: Brandt, Conitzer, Endriss, Lang and Procaccia (2016), Handbook of computational social choice, chapters 2 to 4;
Rawls (1971) for the egalitarian rule.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

import numpy as np

from ..arrays import IntArray
from ..mechanisms import scores_of_positions
from .rankings import Rankings


def plurality(rankings: Rankings) -> list[int]:
    """Return the alternatives that most voters rank first.

    Examples:
        >>> plurality(Rankings(np.array([[0, 1], [0, 1], [1, 0]])))
        [0]
    """
    # An alternative that shares the first position with k − 1 others gets 1/k of the vote.
    is_first = rankings.positions == 0
    numbers = is_first.sum(axis=1)
    counts = [
        is_first[numbers == num_first].sum(axis=0) * Fraction(1, num_first) for num_first in np.unique(numbers).tolist()
    ]
    return _argmax(np.sum(counts, axis=0))


def borda(rankings: Rankings) -> list[int]:
    """Return the alternatives with the greatest welfare under the paper's utility: the least sum of positions.

    Examples:
        >>> borda(Rankings(np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])))
        [1]
    """
    return _argmax(-_doubled_places(rankings).sum(axis=0, dtype=np.int64))


def copeland(rankings: Rankings) -> list[int]:
    """Return the alternatives with the most won minus lost majority contests; ties count 0.

    Examples:
        >>> copeland(Rankings(np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])))
        [1]
    """
    wins = pairwise_wins(rankings)
    return _argmax(np.sign(wins - wins.T).sum(axis=1))


def egalitarian(rankings: Rankings) -> list[int]:
    """Return the alternatives with the best worst position among all voters; ties are broken by Borda's welfare.

    With many voters, each alternative is ranked last by some voter, and the rule equals Borda's.

    Examples:
        >>> egalitarian(Rankings(np.array([[0, 1, 2], [0, 1, 2], [2, 1, 0]])))
        [1]
    """
    places = _doubled_places(rankings)
    worst, totals = places.max(axis=0), places.sum(axis=0, dtype=np.int64)
    return _argmax(-(worst * (2 * len(rankings) * rankings.num_alternatives + 1) + totals))


def pairwise_wins(rankings: Rankings) -> IntArray:
    """Return how many voters prefer each alternative to each other one: int64, shape (m, m)."""
    size = rankings.num_alternatives
    # Columns of small integers are contiguous in memory.
    columns = np.ascontiguousarray(rankings.positions.T.astype(np.int16))
    wins = np.zeros((size, size), dtype=np.int64)
    for first in range(size):
        for second in range(first + 1, size):
            wins[first, second] = np.count_nonzero(columns[first] < columns[second])
            wins[second, first] = np.count_nonzero(columns[first] > columns[second])
    return wins


RULES: Final[Mapping[str, Callable[[Rankings], list[int]]]] = {
    "plurality": plurality,
    "borda": borda,
    "copeland": copeland,
    "egalitarian": egalitarian,
}
"""The rules, by their names in tables."""


def _doubled_places(rankings: Rankings) -> IntArray:
    """Return twice the mean of the positions that each alternative shares: twice its own in strict rankings."""
    return scores_of_positions(rankings.positions, range(0, 2 * rankings.num_alternatives, 2))


def _argmax(numbers: IntArray) -> list[int]:
    return np.flatnonzero(numbers == numbers.max()).tolist()
