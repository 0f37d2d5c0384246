"""A coalition's belief about the other voters' sums of utilities in an election.

Of some voters it knows the ranking, of the others a law. Their sums are a convolution, which is exact while few sums
are possible: rankings that differ may add up to the same. Beyond that, profiles are drawn from a fixed seed, the same
ones for every candidate of the target's ranking, so that what the draws have in common cancels out of comparisons.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray

_MOST_BEFORE_MERGING: Final = 1 << 17  # sums before equal ones are put together: sorting them takes a tenth of a second


@dataclasses.dataclass(frozen=True, eq=False)
class Others:
    """The other voters of one group."""

    # Int64, shape (n, m): the utilities, in steps, of those whose rankings are known. Who is on the roster and does not
    # vote has zeros.
    known: IntArray
    num_unknown: int  # how many there are beside them
    chances: FloatArray  # shape (c,): the law of the ranking of each of these
    num_sampled: int | None = None  # how many of all are drawn, without replacement; all of them where None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells them from others."""
        return self.known.tobytes(), self.num_unknown, self.chances.tobytes(), self.num_sampled


@dataclasses.dataclass(frozen=True, eq=False)
class LawOfSums:
    """The groups' sums, int64, shape (s, G·m), and their probabilities: all that is possible, or draws."""

    weights: FloatArray
    rows: IntArray


def law_of_sums(groups: Sequence[Others], utilities: IntArray, *, max_terms: int, draws: int, seed: int) -> LawOfSums:
    """Return the law of the sums of some groups, independent of each other.

    Utilities, int64, shape (c, m), are of each ranking that an unknown voter may have. At most so many sums are worked
    out exactly; where there are more, so many profiles are drawn.

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
    """Return the law of one group's sums, or None where there are too many."""
    total = len(group.known) + group.num_unknown
    number = total if group.num_sampled is None else group.num_sampled
    voters: list[tuple[FloatArray, IntArray]] = [(np.ones(1), row[None]) for row in group.known]
    start = np.zeros((1, utilities.shape[1]), dtype=np.int64)
    if number == total:
        voters = []
        start += group.known.sum(axis=0)
    voters += [(group.chances, utilities)] * group.num_unknown
    first = total - len(voters)
    # By how many are drawn so far: the probability of that and of their sums.
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
    """Put equal sums together."""
    rows, places = np.unique(np.concatenate([rows for _, rows in parts]), axis=0, return_inverse=True)
    weights = np.zeros(len(rows))
    np.add.at(weights, places.reshape(-1), np.concatenate([weights for weights, _ in parts]))
    is_possible = weights > 0
    return weights[is_possible], rows[is_possible]


def _draw_profiles(groups: Sequence[Others], utilities: IntArray, draws: int, seed: int) -> LawOfSums:
    """Draw profiles, with weights that are all alike."""
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
