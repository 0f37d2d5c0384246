"""Rankings of one voter, and of many voters.

A ranking is a complete order of all alternatives, with or without ties. It is stored as positions, since every utility
here is a function of the positions. The position of an alternative is the number of alternatives ranked ahead of it. In
a strict ranking the positions are 0, the best, to m − 1. Tied alternatives share the first of the positions that they
take up, and the mean of the scores of these.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ..arrays import IntArray

# With more alternatives, some representative rankings stand for all.
_FEW_ALTERNATIVES = 4
_NO_RANKING = "a position is not the number of alternatives ahead"
# Rows per batch, whose temporary arrays fit into the processor's cache.
_BATCH_ROWS = 1 << 12


@dataclasses.dataclass(frozen=True, eq=False)
class Rankings(Sequence[IntArray]):
    """The rankings of some voters.

    Args:
        positions: the position of each alternative in each voter's ranking, int64, shape (n, m).

    Raises:
        TypeError: positions have another type.
        ValueError: positions are not two-dimensional, or a row is no ranking; the message names the first such row,
            from 1.

    Examples:
        >>> rankings = Rankings(np.array([[0, 1, 2], [2, 0, 1]]))
        >>> len(rankings), rankings.num_alternatives
        (2, 3)
    """

    positions: IntArray

    def __post_init__(self) -> None:
        if self.positions.dtype != np.int64:
            raise TypeError(f"positions are {self.positions.dtype}: convert them to int64")
        if self.positions.ndim != 2:  # noqa: PLR2004  a table
            raise ValueError(f"positions have shape {self.positions.shape}: give shape (voters, alternatives)")
        are_fine = are_rankings(self.positions)
        if not are_fine.all():
            row = int(are_fine.argmin())
            raise ValueError(f"row {row + 1} is no ranking: {_NO_RANKING}")

    @property
    def num_alternatives(self) -> int:
        """How many alternatives are ranked: m."""
        return self.positions.shape[1]

    @overload
    def __getitem__(self, index: int) -> IntArray: ...

    @overload
    def __getitem__(self, index: slice) -> "Rankings": ...

    def __getitem__(self, index: int | slice) -> "IntArray | Rankings":
        """Return one voter's positions, shape (m,), or the rankings of some voters."""
        if isinstance(index, slice):
            return Rankings(self.positions[index])
        return self.positions[index]

    def __len__(self) -> int:
        return len(self.positions)


def are_rankings(positions: IntArray) -> NDArray[np.bool_]:
    """Return which rows of arbitrary int64, shape (n, m), are rankings, with or without ties: Boolean, shape (n,).

    In a ranking each position is the number of smaller ones: [0, 0, 2] and [0, 1, 1] are rankings, [0, 0, 1] is not.

    Examples:
        >>> import numpy as np
        >>> are_rankings(np.array([[2, 0, 1], [0, 0, 2], [0, 0, 1]])).tolist()
        [True, True, False]
    """
    fine = are_strict(positions)
    unchecked = np.flatnonzero(~fine)
    if unchecked.size:
        rows = positions[unchecked]
        fine[unchecked] = (rows == positions_of_classes(rows)).all(axis=1)
    return fine


def are_strict(positions: IntArray) -> NDArray[np.bool_]:
    """Return which rows, of any content, have each position once: bool, shape (n,), of int64, shape (n, m)."""
    num_alternatives = positions.shape[1]
    fine: NDArray[np.bool_] = np.empty(len(positions), dtype=np.bool_)
    every = (1 << num_alternatives) - 1 if num_alternatives < 63 else 0  # noqa: PLR2004  bits of a number
    for start in range(0, len(positions), _BATCH_ROWS):
        batch = positions[start : start + _BATCH_ROWS]
        if every:
            # With bits, which is several times as fast as sorting: m powers of two have a sum of m ones in binary only
            # if each occurs once. Numbers out of range, including negative ones as unsigned, become 2^m.
            bits = np.left_shift(np.uint64(1), np.minimum(batch.view(np.uint64), np.uint64(num_alternatives)))
            fine[start : start + len(batch)] = np.einsum("ij->i", bits) == every
        else:
            in_order = np.arange(num_alternatives, dtype=np.int64)
            fine[start : start + len(batch)] = (np.sort(batch, axis=1) == in_order).all(axis=1)
    return fine


def check_ranking(positions: Sequence[int]) -> None:
    """Raise ValueError unless one voter's positions are a ranking, perhaps with ties."""
    in_order = sorted(positions)
    if [in_order.index(position) for position in in_order] != in_order:
        raise ValueError(f"it is no ranking: {_NO_RANKING}")


def cells_of_members(groups: IntArray, positions: IntArray) -> IntArray:
    """Return rankings within groups as rows with the cell of each alternative, group·m + position, shape (n, m).

    Args:
        groups: the indices of the voters' groups, shape (n,).
        positions: rankings, shape (n, m).
    """
    return groups[:, None] * positions.shape[1] + positions


def members_of_cells(cells: IntArray) -> tuple[IntArray, IntArray]:
    """Return groups and rankings of rows of cells: the inverse of `cells_of_members`."""
    size = cells.shape[1]
    return cells[:, 0] // size, cells % size


def positions_of_orders(orders: IntArray) -> IntArray:
    """Convert rankings from orders to positions.

    Args:
        orders: each voter's alternatives by index, the best first, int64, shape (n, m); each row is a permutation.

    Returns:
        The position of each alternative, int64, shape (n, m).

    Examples:
        >>> import numpy as np
        >>> positions_of_orders(np.array([[2, 0, 1]])).tolist()  # the third alternative is the best
        [[1, 2, 0]]
    """
    positions = np.empty_like(orders)
    rows = np.arange(len(orders))[:, None]
    positions[rows, orders] = np.arange(orders.shape[1])
    return positions


def positions_of_classes(classes: IntArray) -> IntArray:
    """Convert numbers that order alternatives to positions: the least is the best, and equal ones are tied.

    Examples:
        >>> import numpy as np
        >>> positions_of_classes(np.array([[7, 3, 7]])).tolist()
        [[1, 0, 1]]
    """
    orders = np.argsort(classes, axis=1, kind="stable")
    in_order = np.take_along_axis(classes, orders, axis=1)
    is_first = np.ones(classes.shape, dtype=np.bool_)
    is_first[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    firsts = np.maximum.accumulate(np.where(is_first, np.arange(int(classes.shape[1])), 0), axis=1)
    positions = np.empty(classes.shape, dtype=np.int64)
    np.put_along_axis(positions, orders, firsts, axis=1)
    return positions


def representative_rankings(num_alternatives: int) -> IntArray:
    """Return all rankings of few alternatives; for more, one ranking, its reverse, its shifts, and with swapped ends.

    Returns:
        Positions, int64, shape (n, m).
    """
    order = tuple(range(num_alternatives))
    if num_alternatives <= _FEW_ALTERNATIVES:
        return np.array(list(itertools.permutations(order)), dtype=np.int64)
    first_swapped, last_swapped = (1, 0, *order[2:]), (*order[:-2], order[-1], order[-2])
    ends_swapped = (order[-1], *order[1:-1], order[0])
    shifts = [(*order[by:], *order[:by]) for by in (1, num_alternatives // 2, num_alternatives - 1)]
    return np.array([order, order[::-1], first_swapped, last_swapped, ends_swapped, *shifts], dtype=np.int64)
