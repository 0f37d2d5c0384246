"""The array types of this room, and exact integer sums."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["FloatArray", "IntArray", "exact_column_sums"]

IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]

_MAX_INT64 = 2**63 - 1


def exact_column_sums(values: IntArray) -> IntArray:
    """Return the sum of each column, exactly.

    Args:
        values: int64, shape (n, columns), at least one column.

    Returns:
        int64, shape (columns,).

    Raises:
        OverflowError: a sum does not fit into 64 bits; never a wrong sum.
    """
    num_rows = len(values)
    if num_rows and max(int(values.max()), -int(values.min())) * num_rows > _MAX_INT64:
        # They might not fit: add them as Python's integers, which have no limit, and see.
        exact = [sum(column) for column in values.T.tolist()]
        if any(not -_MAX_INT64 - 1 <= total <= _MAX_INT64 for total in exact):
            raise OverflowError(f"a sum of {num_rows} integers does not fit into 64 bits")
        return np.array(exact, dtype=np.int64)
    return values.sum(axis=0, dtype=np.int64)
