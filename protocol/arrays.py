"""Array types, exact sums, and a solver of linear systems whose bits do not depend on the processor."""

import functools
import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

_MAX_INT64 = 2**63 - 1
_MOST_EXACT = 2**53  # floats represent all integers up to this one
_FIRST_BITS, _MOST_COUNTS = 32, 2**20  # bits of numbers, and greatest count: floats represent their products exactly
_MANY = 16
_MOST_BITS = 900  # the greatest exponent, up or down, at which both parts of a number and all sums are normal floats
_MOST_COUNTED = 2**16  # the most codes of rows that are counted in an array
_ROWS_COUNTED = 1 << 17
ROWS_AT_A_TIME = 1 << 13
"""The number of rows that fit into the processor's cache."""


def sums_fit(values: IntArray) -> bool:
    """Return whether the sum of these integers fits into 64 bits for any choice of their signs.

    Examples:
        >>> sums_fit(np.array([1, 2])), sums_fit(np.array([2**62, 2**62, 2**62]))
        (True, False)
    """
    return not values.size or max(int(values.max()), -int(values.min())) * len(values) <= _MAX_INT64


def exact_column_sums(values: IntArray) -> IntArray:
    """Return the sum of each column, exactly.

    Args:
        values: int64, shape (n, columns), at least one column.

    Returns:
        int64, shape (columns,).

    Raises:
        OverflowError: a sum does not fit into 64 bits.

    Examples:
        >>> exact_column_sums(np.array([[1, 2], [3, 4]])).tolist()
        [4, 6]
    """
    if not sums_fit(values):
        # A sum might overflow, so Python's integers of unlimited size add them up.
        column_sums = [sum(column) for column in values.T.tolist()]
        if any(not -_MAX_INT64 - 1 <= total <= _MAX_INT64 for total in column_sums):
            raise OverflowError(f"a sum of {len(values)} integers does not fit into 64 bits")
        return np.array(column_sums, dtype=np.int64)
    return np.einsum("ij->j", values, dtype=np.int64)  # three times as fast as the sum over an axis


class ExactSums:
    """Sums Σ count·number + constant, exactly.

    Args:
        numbers: the number of each kind of report.
        constant: the summand that does not depend on counts.

    Examples:
        >>> sums = ExactSums([0.1, 0.2], constant=0.5)
        >>> sums.to_floats(np.array([[3, 0], [1, 1]])).tolist()
        [0.8, 0.8]
    """

    def __init__(self, numbers: Sequence[Fraction | float], constant: Fraction | float = 0) -> None:
        fractions = [Fraction(number) for number in (*numbers, constant)]
        self._denominator = math.lcm(*(number.denominator for number in fractions))
        *self._numerators, self._constant = (
            number.numerator * (self._denominator // number.denominator) for number in fractions
        )

    def numerators(self, counts: IntArray) -> NDArray[Any]:
        """Return the sums for many rows of counts, int64 of shape (rows, numbers), times the common denominator.

        So they have the signs of the sums. They are int64 if floats represent all of them, and else Python integers.
        """
        used: list[int] = np.flatnonzero(counts.any(axis=0)).tolist()  # skips kinds of report that do not occur
        constant, numerators = self._constant, [self._numerators[place] for place in used]
        greatest = max(int(counts.max(initial=0)), -int(counts.min(initial=0)))
        if max(greatest * sum(map(abs, numerators)) + abs(constant), self._denominator) <= _MOST_EXACT:
            return counts[:, used] @ np.array(numerators, dtype=np.int64) + constant
        sums = [sum(map(operator.mul, row, numerators), constant) for row in counts[:, used].tolist()]
        return np.array(sums, dtype=object)

    def to_floats(self, counts: IntArray) -> FloatArray:
        """Return the sums as floats, shape (rows,), each correctly rounded; OverflowError for one that is too large.

        For many rows, each number is split into two floats. Sums of the first are exact. Sums of the second have so
        small an error that the nearest float is certain, unless a sum is close to the middle between two floats; such
        sums are computed one by one.
        """
        greatest = max(map(abs, (*self._numerators, self._constant)))
        is_moderate = abs(greatest.bit_length() - self._denominator.bit_length()) < _MOST_BITS
        if len(counts) < _MANY or int(np.abs(counts).sum(axis=1).max()) >= _MOST_COUNTS or not is_moderate:
            return self._round_each(counts)
        firsts, seconds, error = self._float_parts
        numbers = counts.astype(np.float64)
        high, low = numbers @ firsts[:-1] + firsts[-1], numbers @ seconds[:-1] + seconds[-1]
        sums = high + low
        part = sums - high
        off = np.abs((high - (sums - part)) + (low - part))  # the exact rounding error, by Knuth's two-sum
        unsure = off + error >= np.spacing(np.nextafter(np.abs(sums), 0)) / 2
        if unsure.any():
            sums[unsure] = self._round_each(counts[unsure])
        return sums

    def _round_each(self, counts: IntArray) -> FloatArray:
        return (self.numerators(counts) / self._denominator).astype(np.float64)

    @functools.cached_property
    def _float_parts(self) -> tuple[FloatArray, FloatArray, float]:
        """Multiples of one power of two near each number and the constant, the rests, and by how much sums may err."""
        fractions = [Fraction(number, self._denominator) for number in (*self._numerators, self._constant)]
        unit = Fraction(2) ** (math.frexp(float(max(map(abs, fractions))))[1] - _FIRST_BITS)
        firsts = [round(number / unit) * unit for number in fractions]
        rests = [float(number - first) for number, first in zip(fractions, firsts, strict=True)]
        error = float(unit) * _MOST_COUNTS * (len(fractions) + 2) / _MOST_EXACT
        return np.array(list(map(float, firsts))), np.array(rests), error


def counts_of_rows(rows: IntArray, size: int) -> IntArray:
    """Return how often each row of codes, shape (rows, n), contains each code from 0 to size − 1: shape (rows, size).

    Examples:
        >>> counts_of_rows(np.array([[0, 1, 1], [2, 2, 2]]), 3).tolist()
        [[1, 2, 0], [0, 0, 3]]
    """
    cells = rows + size * np.arange(len(rows))[:, None]
    return np.bincount(cells.reshape(-1), minlength=size * len(rows)).reshape(len(rows), size).astype(np.int64)


def distinct_rows(rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct rows of a table, shape (n, columns), in ascending order, and the number of each.

    Examples:
        >>> rows, counts = distinct_rows(np.array([[1, 0], [0, 1], [1, 0]]))
        >>> rows.tolist(), counts.tolist()
        ([[0, 1], [1, 0]], [1, 2])
    """
    if not rows.size:  # all rows without columns are the same
        return rows[:1], np.full(len(rows[:1]), len(rows), dtype=np.int64)
    # A maximum along columns is many times as fast as along narrow rows. For millions of rows, copying a batch at a
    # time saves memory.
    is_small = len(rows) <= _ROWS_COUNTED
    parts = [
        np.asfortranarray(rows) if is_small else rows[start : start + _ROWS_COUNTED]
        for start in range(0, len(rows), _ROWS_COUNTED)
    ]
    ends = [(columns.min(axis=1), columns.max(axis=1)) for columns in (np.ascontiguousarray(part.T) for part in parts)]
    least = functools.reduce(np.minimum, [low for low, _ in ends])
    sizes = functools.reduce(np.maximum, [high for _, high in ends]) + 1
    if np.array_equal(least, sizes - 1):
        return rows[:1], np.array([len(rows)])
    if least.min() < 0 or np.prod(sizes.astype(np.float64)) > _MOST_COUNTED:
        return np.unique(rows, axis=0, return_counts=True)
    shape: tuple[int, ...] = tuple(sizes.tolist())
    counts = np.zeros(math.prod(shape), dtype=np.int64)
    for part in parts:
        counts += np.bincount(np.ravel_multi_index(tuple(np.ascontiguousarray(part.T)), shape), minlength=len(counts))
    codes = np.flatnonzero(counts)
    return np.stack(np.unravel_index(codes, shape), axis=1), counts[codes]


def select_distinct(rows: IntArray, *, most: int, sized_by: slice) -> IntArray:
    """Return the distinct rows of a table, shape (n, columns), or a selection of at most `most` of them.

    The selection is spread evenly by size, which is the sum of absolute values in the columns `sized_by`. It includes a
    smallest and a largest row.
    """
    distinct = rows[:0]
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        distinct, _ = distinct_rows(np.concatenate([distinct, rows[start : start + ROWS_AT_A_TIME]]))
        if len(distinct) > most:
            sizes = np.abs(rows[:, sized_by].astype(np.float64)).sum(axis=1)  # float, which does not overflow
            places = np.argsort(sizes, kind="stable")[np.arange(most) * (len(rows) - 1) // (most - 1)]
            return np.unique(rows[places], axis=0)
    return distinct


def solve_positive_definite(matrix: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Solve a symmetric positive definite system for some right-hand sides.

    This is Gaussian elimination with elementwise steps. Unlike a library's solver, it gives the same bits on every
    processor, and accepts decimal numbers as well as floats.

    Args:
        matrix: shape (n, n).
        right: shape (n, number of right-hand sides).

    Examples:
        >>> solve_positive_definite(np.array([[4.0, 0.0], [0.0, 2.0]]), np.array([[8.0], [6.0]])).tolist()
        [[2.0], [3.0]]
    """
    factor, solution = matrix.copy(), right.copy()
    size = len(factor)
    for pivot in range(size - 1):
        factors = factor[pivot + 1 :, pivot] / factor[pivot, pivot]
        factor[pivot + 1 :, pivot + 1 :] -= factors[:, None] * factor[pivot, pivot + 1 :][None, :]
        solution[pivot + 1 :] -= factors[:, None] * solution[pivot][None, :]
    for pivot in range(size - 1, -1, -1):
        solution[pivot] /= factor[pivot, pivot]
        solution[:pivot] -= factor[:pivot, pivot][:, None] * solution[pivot][None, :]
    return solution
