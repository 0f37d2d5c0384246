"""Logarithms of arrays of probabilities, and of sums of probabilities that are given by their logarithms.

Both use scipy's functions. The last bit of numpy's depends on the processor's vector instructions.
"""

import numpy as np
import scipy as sp

from ..arrays import FloatArray


def log_of(numbers: FloatArray) -> FloatArray:
    """Return ln of each number ≥ 0; −∞ for 0, without a warning."""
    return sp.special.xlogy(np.float64(1.0), numbers).astype(np.float64, copy=False)


def log_sums(terms: FloatArray, *, axis: int) -> FloatArray:
    """Return ln Σ e^term along an axis; −∞ where all terms are."""
    greatest = terms.max(axis=axis, keepdims=True)
    shift = np.where(greatest == -np.inf, 0.0, greatest)
    sums = np.sum(sp.special.expm1(terms - shift) + 1.0, axis=axis)
    return log_of(sums) + np.squeeze(shift, axis=axis)
