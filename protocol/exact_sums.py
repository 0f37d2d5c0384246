"""Exact sums of fractions, of many sessions at once, rounded once: so a tie is a tie, and bits depend on no order."""

import itertools
import math
import operator
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .arrays import FloatArray, IntArray


class ExactSums:
    """Sums of numbers, each so many times, and a constant.

    Args:
        numbers: one for each kind of report.
        constant: what is added to each sum.
    """

    def __init__(self, numbers: Sequence[Fraction | float], constant: Fraction | float = 0) -> None:
        exact = [Fraction(number) for number in (*numbers, constant)]
        self._denominator = math.lcm(*(number.denominator for number in exact))
        *self._numerators, self._constant = (
            number.numerator * (self._denominator // number.denominator) for number in exact
        )

    def numerators(self, counts: IntArray) -> list[int]:
        """Return the sums of many rows of counts, int64 of shape (rows, numbers), as multiples of one small number.

        Their signs are those of the sums.
        """
        constant, used = self._constant, counts.any(axis=0)  # who is absent from a vote is nobody in trials
        numerators = list(itertools.compress(self._numerators, used.tolist()))
        return [sum(map(operator.mul, row, numerators), constant) for row in counts[:, used].tolist()]

    def rounded(self, counts: IntArray) -> FloatArray:
        """Return these sums as floats, shape (rows,), each rounded once; OverflowError for one that is too large."""
        return np.array([own / self._denominator for own in self.numerators(counts)], dtype=np.float64)
