"""Logarithms of arrays of probabilities, of sums of probabilities that are given by their logarithms, and back.

All take scipy's functions: numpy's have code for each processor's vector instructions, and another last bit with each.
"""

import numpy as np
import scipy as sp

from ..arrays import FloatArray

__all__ = ["exp_of", "log_of", "log_sums"]


def log_of(numbers: FloatArray) -> FloatArray:
    """Return ln of each number ≥ 0; −∞ for 0, without a warning."""
    return sp.special.xlogy(np.float64(1.0), numbers).astype(np.float64, copy=False)


def exp_of(numbers: FloatArray) -> FloatArray:
    """Return e to the power of each number ≤ 0."""
    return np.asarray(sp.special.expm1(numbers), dtype=np.float64) + 1.0


def log_sums(terms: FloatArray, *, axis: int) -> FloatArray:
    """Return ln Σ e^term along an axis; −∞ where all terms are."""
    greatest = terms.max(axis=axis, keepdims=True)
    shift = np.where(greatest == -np.inf, 0.0, greatest)
    sums = np.sum(exp_of(terms - shift), axis=axis)
    return log_of(sums) + np.squeeze(shift, axis=axis)
