"""Pairwise contests: the winners by Copeland's rule and by Kemeny's rule.

Both follow from the m(m − 1)/2 differences D_ab, a < b: the number of voters who prefer a to b, minus the number who
prefer b to a, possibly with noise. An alternative with a positive D against every other one is the Condorcet winner,
and wins by both rules.

Source: Brandt, Conitzer, Endriss, Lang and Procaccia (2016), Handbook of computational social choice, chapters 3 and 4.
"""

import functools
import itertools
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from ..arrays import FloatArray, IntArray
from ..elementary import exp, quotient_up
from ..mechanisms import VectorLaplace
from ..privacy import NeighboringRelation

PairwiseName: TypeAlias = Literal["copeland", "kemeny"]
PAIRWISE: Final = ("copeland", "kemeny")
MAX_KEMENY: Final = 6
"""The most alternatives for Kemeny's rule. All 720 rankings are tried, since finding the best one is hard in
general."""


def make_pair_noise(
    num_alternatives: int, *, num_voters: int, epsilon: float, relation: NeighboringRelation
) -> VectorLaplace:
    """Return Laplace noise for the differences.

    A ranking adds 1 or −1 to each difference, or 0 for a tie. A strict ranking and its reverse differ by 2 in all of
    them, which is the maximum, so the ℓ₁ sensitivity under replace-one is m(m − 1). Adding or removing a ranking
    changes each by at most 1, so the sensitivity under add-or-remove-one is m(m − 1)/2.
    """
    pairs = num_alternatives * (num_alternatives - 1) // 2
    sensitivity = pairs if relation is NeighboringRelation.ADD_OR_REMOVE_ONE else 2 * pairs
    return VectorLaplace(scale=quotient_up(sensitivity, epsilon), sensitivity=sensitivity, bound=num_voters)


def preferences_of(positions: IntArray) -> IntArray:
    """Return 1 where the first of two is ahead, −1 the second, 0 in a tie: (n, m(m − 1)/2), of rankings, (n, m)."""
    first, second = np.triu_indices(positions.shape[1], 1)
    return np.sign(positions[:, second] - positions[:, first])


def table_of_pairs(differences: Sequence[int]) -> IntArray:
    """Return D of each two alternatives, int64, shape (m, m), of the differences of a < b, in lexicographic order."""
    size = (1 + round((1 + 8 * len(differences)) ** 0.5)) // 2
    table = np.zeros((size, size), dtype=np.int64)
    table[np.triu_indices(size, 1)] = differences
    return table - table.T


def copeland_scores(table: IntArray) -> FloatArray:
    """Return Copeland's points, shape (m,): one for each contest that is won, a half for each that is tied."""
    return (np.sign(table).sum(axis=1) + len(table) - 1) / 2


def kemeny_orders(table: IntArray) -> IntArray:
    """Return the rankings that agree most with voters on pairs, as orders, the best first: shape (ties, m).

    A ranking's score is Σ D_ab over all pairs with a before b. There must be 2 to `MAX_KEMENY` alternatives.
    """
    orders = _orders_of(len(table))
    first, second = np.triu_indices(len(table), 1)
    scores = table[orders[:, first], orders[:, second]].sum(axis=1)
    return orders[scores == scores.max()]


def best_by_pairs(rule: PairwiseName, table: IntArray) -> list[int]:
    """Return the winners: who has most points, or is first in a best ranking."""
    if rule == "kemeny":
        return np.unique(kemeny_orders(table)[:, 0]).tolist()
    scores = copeland_scores(table)
    return np.flatnonzero(scores == scores.max()).tolist()


def p_value_of_pairs(table: IntArray, winner: int, noise: VectorLaplace) -> float:
    """Return the least level at which a winner is confirmed, at most ½.

    An alternative that is not the best by its rule is no Condorcet winner, so it does not beat some b. To seem to beat
    all by t or more, it needs noise of at least t in that contest, which has probability a^t/(1 + a), a = e^(−1/scale).
    There are at most m − 1 such alternatives.
    """
    lead = int(np.delete(table[winner], winner).min())
    if lead <= 0:
        return 0.5
    return min((len(table) - 1) * exp(-lead / noise.scale) / (1 + exp(-1 / noise.scale)), 0.5)


@functools.cache
def _orders_of(size: int) -> IntArray:
    return np.array(list(itertools.permutations(range(size))), dtype=np.int64)
