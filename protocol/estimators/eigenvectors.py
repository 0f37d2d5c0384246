"""Eigenvectors of many symmetric matrices by elementwise steps, with the same bits on every processor.

A library's eigenvectors depend on the processor. Here every step is a sum, product, quotient or square root in a fixed
order, whose bits IEEE 754 determines.

Source: Hestenes (1958), one-sided Jacobi rotations, for matrices that are shifted to be positive definite.
"""

from typing import Final

import numpy as np

from ..arrays import FloatArray
from .l1_ball.lanes import sum_over_features

_LANES: Final = 256
"""The number of matrices that are rotated together, which fit into a processor's cache."""
_MOST_SWEEPS: Final = 40
"""The most sweeps. Eight are enough; the limit ends endless rotations by rounding."""
_ORTHOGONAL: Final = 2.0**-46
"""The inner product of two columns of length about 1 from which on they are rotated."""


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
        # A power of two, at least twice the greatest absolute eigenvalue; shifted eigenvalues are then in [1/2, 3/2].
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
        for _ in ring:  # a round-robin tournament of all pairs
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
