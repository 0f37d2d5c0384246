"""Whitening of records by the public covariance of their differences, which makes the differences isotropic.

If differences V have covariance C = L·Lᵀ, the whitened ones are L⁻¹V. Since β·V = (Lᵀβ)·(L⁻¹V), the direction found
from whitened records is that of Lᵀβ. Substitutions are implemented here, so that bits do not depend on a library.

Source: reading M8.
"""

import math
from typing import Final

import numpy as np

from ..arrays import FloatArray

GREATEST_FACTOR: Final = 1e6
"""The greatest factor by which whitening may change a number."""


class Whitening:
    """The linear maps of one covariance.

    Args:
        covariance: shape (d, d), symmetric and positive definite; it must not be computed from private data.

    Raises:
        ValueError: it is not positive definite, or whitening would change a number by a factor of more than
            `GREATEST_FACTOR` up or down, so that an overflow could depend on private records.
    """

    def __init__(self, covariance: FloatArray) -> None:
        identity = np.eye(len(covariance))
        self.is_identity = bool(np.array_equal(covariance, identity))
        self._lower = identity if self.is_identity else _cholesky(covariance)
        inverse = self.whiten(identity)
        if not max(float(np.abs(self._lower).max()), float(np.abs(inverse).max())) <= GREATEST_FACTOR:
            raise ValueError(
                f"whitening changes a number over {GREATEST_FACTOR:g} times: give a less singular covariance"
            )

    def whiten(self, differences: FloatArray) -> FloatArray:
        """Return L⁻¹V for each row V of differences, shape (records, d)."""
        if self.is_identity:
            return differences
        whitened = differences.copy()
        for place, row in enumerate(self._lower):
            for earlier in range(place):
                whitened[:, place] -= row[earlier] * whitened[:, earlier]
            whitened[:, place] /= row[place]
        return whitened

    def unwhiten(self, direction: FloatArray) -> FloatArray:
        """Return L⁻ᵀb: the β whose Lᵀβ is b, shape (d,)."""
        if self.is_identity:
            return direction
        beta = direction.copy()
        for place in range(len(beta) - 1, -1, -1):
            for later in range(place + 1, len(beta)):
                beta[place] -= self._lower[later, place] * beta[later]
            beta[place] /= self._lower[place, place]
        return beta

    def error_factors(self) -> FloatArray:
        """Return the factors by which equal, independent errors of b grow in each coordinate of L⁻ᵀb: shape (d,)."""
        size = len(self._lower)
        columns = np.array([self.unwhiten(unit) for unit in np.eye(size)])
        return np.array([math.sqrt(math.fsum((columns[:, place] ** 2).tolist())) for place in range(size)])


def _cholesky(matrix: FloatArray) -> FloatArray:
    """Return L, lower triangular, with L·Lᵀ = matrix."""
    size = len(matrix)
    remainder = matrix.astype(np.float64)
    lower = np.zeros((size, size))
    for place in range(size):
        pivot = remainder[place, place]
        if not pivot > 0:
            raise ValueError("the covariance is not positive definite: give one whose eigenvalues are above 0")
        lower[place:, place] = remainder[place:, place] / math.sqrt(pivot)
        remainder[place:, place:] -= lower[place:, place][:, None] * lower[place:, place][None, :]
    return lower
