"""The law of the other voters' sums of utilities in an election, under a coalition's prior.

The coalition knows some voters' rankings, and a law of the others'. The law of the sums is a convolution, computed
exactly while there are few distinct sums. Otherwise profiles are drawn with a fixed seed, the same for every candidate
of the target's ranking, so that common sampling errors cancel in comparisons.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray

_MOST_BEFORE_MERGING: Final = 1 << 17  # sums before equal ones are merged; sorting them takes a tenth of a second


@dataclasses.dataclass(frozen=True, eq=False)
class Others:
    """The other voters of one group."""

    # Int64, shape (n, m): utilities, in steps, of voters with known rankings; zeros for those who do not vote.
    known: IntArray
    num_unknown: int  # number of further voters, with unknown rankings
    chances: FloatArray  # shape (c,): the law of each unknown ranking
    num_sampled: int | None = None  # number of voters sampled without replacement; None for all

    @property
    def key(self) -> tuple[object, ...]:
        """A hashable key that identifies them."""
        return self.known.tobytes(), self.num_unknown, self.chances.tobytes(), self.num_sampled


@dataclasses.dataclass(frozen=True, eq=False)
class LawOfSums:
    """The groups' sums, int64, shape (s, G·m), with their probabilities: all possible sums, or draws."""

    weights: FloatArray
    rows: IntArray


def law_of_sums(groups: Sequence[Others], utilities: IntArray, *, max_terms: int, draws: int, seed: int) -> LawOfSums:
    """Return the joint law of the sums of independent groups.

    `utilities`, int64, shape (c, m), are those of each ranking that an unknown voter may have. At most `max_terms` sums
    are computed exactly; if there are more, `draws` profiles are drawn.

    Examples:
        >>> utilities = np.array([[1, 0], [0, 1]])
        >>> others = Others(np.array([[1, 0]]), 1, np.array([0.25, 0.75]))
        >>> law = law_of_sums([others], utilities, max_terms=10, draws=10, seed=1)
        >>> law.rows.tolist(), law.weights.tolist()
        ([[1, 1], [2, 0]], [0.75, 0.25])
    """
    parts: list[tuple[FloatArray, IntArray]] = []
    number = 1
    for group in groups:
        part = _exactly(group, utilities, max_terms)
        number *= len(part[0]) if part else max_terms + 1
        if part is None or number > max_terms:
            return _draw_profiles(groups, utilities, draws, seed)
        parts.append(part)
    weights, rows = parts[0]
    for more_weights, more_rows in parts[1:]:
        weights = np.outer(weights, more_weights).reshape(-1)
        rows = np.concatenate([np.repeat(rows, len(more_rows), axis=0), np.tile(more_rows, (len(rows), 1))], axis=1)
    return LawOfSums(weights, rows)


def _exactly(group: Others, utilities: IntArray, max_terms: int) -> tuple[FloatArray, IntArray] | None:
    """Return the exact law of one group's sums; None if there are too many."""
    total = len(group.known) + group.num_unknown
    number = total if group.num_sampled is None else group.num_sampled
    voters: list[tuple[FloatArray, IntArray]] = [(np.ones(1), row[None]) for row in group.known]
    start = np.zeros((1, utilities.shape[1]), dtype=np.int64)
    if number == total:
        voters = []
        start += group.known.sum(axis=0)
    voters += [(group.chances, utilities)] * group.num_unknown
    first = total - len(voters)
    # Joint probabilities of the number sampled so far and of their sums.
    laws: dict[int, tuple[FloatArray, IntArray]] = {first: (np.ones(1), start)}
    for place, (chances, rows_of_voter) in enumerate(voters, start=first):
        if sum(len(weights) for weights, _ in laws.values()) * len(rows_of_voter) > _MOST_BEFORE_MERGING:
            return None
        parts: dict[int, list[tuple[FloatArray, IntArray]]] = {}
        for num_taken, (weights, rows) in laws.items():
            share = (number - num_taken) / (total - place)
            if share < 1:
                parts.setdefault(num_taken, []).append((weights * (1 - share), rows))
            if share > 0:
                chances_with_voter = np.outer(weights * share, chances).reshape(-1)
                parts.setdefault(num_taken + 1, []).append(
                    (chances_with_voter, (rows[:, None] + rows_of_voter).reshape(-1, rows.shape[1]))
                )
        laws = {num_taken: _merged(of_taken) for num_taken, of_taken in parts.items()}
        if sum(len(weights) for weights, _ in laws.values()) > max_terms:
            return None
    return laws[number]


def _merged(parts: Sequence[tuple[FloatArray, IntArray]]) -> tuple[FloatArray, IntArray]:
    """Merge equal sums."""
    rows, places = np.unique(np.concatenate([rows for _, rows in parts]), axis=0, return_inverse=True)
    weights = np.zeros(len(rows))
    np.add.at(weights, places.reshape(-1), np.concatenate([weights for weights, _ in parts]))
    is_possible = weights > 0
    return weights[is_possible], rows[is_possible]


def _draw_profiles(groups: Sequence[Others], utilities: IntArray, draws: int, seed: int) -> LawOfSums:
    """Draw profiles, with equal weights."""
    generator = np.random.default_rng(seed)
    columns: list[IntArray] = []
    for group in groups:
        total = len(group.known) + group.num_unknown
        number = total if group.num_sampled is None else group.num_sampled
        if number == total:
            sums = np.tile(group.known.sum(axis=0), (draws, 1))
            num_unknown = np.full(draws, group.num_unknown)
        else:
            num_known = generator.hypergeometric(len(group.known), group.num_unknown, number, size=draws)
            num_unknown = number - num_known
            sums = np.array(
                [generator.permutation(group.known)[:size].sum(axis=0) for size in num_known.tolist()], dtype=np.int64
            )
        columns.append(sums + generator.multinomial(num_unknown, group.chances) @ utilities)
    return LawOfSums(np.full(draws, 1 / draws), np.concatenate(columns, axis=1).astype(np.int64))
