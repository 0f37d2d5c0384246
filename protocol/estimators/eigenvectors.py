"""Eigenvectors of many symmetric matrices by elementwise steps, so that no processor has other bits.

A library's eigenvectors change with the processor, and so with them all that is computed from them. Here every step is
a sum, a product, a quotient or a square root of two numbers, in an order that is written out: IEEE 754 says its bits.

Source: Hestenes (1958), one-sided Jacobi rotations, of matrices that are shifted to be positive definite.
"""

from typing import Final

import numpy as np

from ..arrays import FloatArray
from .l1_ball.lanes import sum_over_features

_LANES: Final = 256
"""Matrices that are turned together: so many stay in a processor's cache."""
_MOST_SWEEPS: Final = 40
"""Eight are enough; rounding must not keep a matrix turning."""
_ORTHOGONAL: Final = 2.0**-46
"""The inner product of two columns of length about 1 from which on they are turned."""


def eigenvectors(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues, in no order, and eigenvectors of symmetric matrices; neither depends on the other matrices.

    >>> values, vectors = eigenvectors(np.array([[[0.0, 1.0], [1.0, 0.0]]]))
    >>> values.round(12).tolist()
    [[-1.0, 1.0]]

    Args:
        matrices: float64, finite, shape (m, d, d).

    Returns:
        float64, shape (m, d); and shape (m, d, d), whose columns are the vectors, of length 1.
    """
    values, vectors = np.empty(matrices.shape[:2]), np.empty(matrices.shape)
    for start in range(0, len(matrices), _LANES):
        block = slice(start, start + _LANES)
        columns = np.moveaxis(matrices[block], 0, -1)
        # A power of two, at least twice the greatest eigenvalue's size: all eigenvalues are then between 1/2 and 3/2.
        sizes = np.ldexp(2.0, np.frexp(sum_over_features(np.abs(columns)).max(axis=0))[1])
        columns = columns / sizes + np.eye(len(columns))[:, :, None]
        _turn(columns)
        lengths = np.sqrt(sum_over_features(columns * columns))
        values[block] = ((lengths - 1.0) * sizes).T
        vectors[block] = (columns / lengths[:, None]).T
    return values, vectors


def _turn(columns: FloatArray) -> None:
    """Rotate pairs of columns, in place, until all are orthogonal: shape (d columns, d rows, lanes)."""
    size = len(columns)
    even_size = size + size % 2
    ring = list(range(1, even_size))
    for _ in range(_MOST_SWEEPS):
        is_done = True
        for _ in ring:  # a tournament: each meets each other once
            table = [0, *ring]
            pairs = zip(table[: even_size // 2], table[: even_size // 2 - 1 : -1], strict=True)
            lefts, rights = np.array([pair for pair in pairs if size not in pair], dtype=np.intp).reshape(-1, 2).T
            ring = [ring[-1], *ring[:-1]]
            first, second = columns[lefts], columns[rights]
            inner = sum_over_features(first * second)
            turns = np.abs(inner) > _ORTHOGONAL
            if not turns.any():
                continue
            is_done = False
            slopes = sum_over_features((second - first) * (second + first)) / (2.0 * np.where(turns, inner, 1.0))
            tangents = np.copysign(1.0, slopes) / (np.abs(slopes) + np.sqrt(slopes * slopes + 1.0))
            cosines = np.where(turns, 1.0 / np.sqrt(tangents * tangents + 1.0), 1.0)[:, None]
            sines = np.where(turns, tangents, 0.0)[:, None] * cosines
            columns[lefts], columns[rights] = cosines * first - sines * second, sines * first + cosines * second
        if is_done:
            return
