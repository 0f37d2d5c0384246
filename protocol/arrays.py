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
        values: int64, shape (n, columns).

    Returns:
        int64, shape (columns,).

    Raises:
        OverflowError: a sum might not fit into 64 bits; never a wrong sum.
    """
    num_rows = values.shape[0]
    if num_rows:
        largest = max(int(values.max()), -int(values.min()))
        if largest * num_rows > _MAX_INT64:
            raise OverflowError(f"the sum of {num_rows} integers of up to {largest} may not fit into 64 bits")
    return values.sum(axis=0, dtype=np.int64)
