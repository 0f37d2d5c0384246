"""Logarithms and exponentials of arrays, and the grids that make sums exact.

The functions are `scipy.special`'s: unlike numpy's, their bits do not change with the processor's vector instructions.
"""

from typing import Any

import numpy as np
from scipy.special import expm1, logit, xlogy

from ...arrays import FloatArray

_WEIGHT_GRID = 2.0**32
_PROBABILITY_GRID = 2.0**30


def log(values: Any) -> FloatArray:
    """Return the natural logarithm of numbers above 0."""
    return np.asarray(xlogy(1.0, values), dtype=np.float64)


def log_odds(probabilities: FloatArray) -> FloatArray:
    """Return log(p/(1 − p)) for p in (0, 1)."""
    return np.asarray(logit(probabilities), dtype=np.float64)


def exp_in_place(values: FloatArray) -> FloatArray:
    """Return e^x for x ≤ 0, or -inf, in the same array; within 2⁻⁵³ of it, absolutely."""
    expm1(values, out=values)
    values += 1.0
    return values


def snap_weights(weights: FloatArray) -> FloatArray:
    """Return the nearest multiples of 2⁻³²."""
    return np.rint(weights * _WEIGHT_GRID) / _WEIGHT_GRID


def snap_probabilities(probabilities: FloatArray) -> FloatArray:
    """Return the nearest multiples of 2⁻³⁰."""
    snapped = probabilities * _PROBABILITY_GRID
    np.rint(snapped, out=snapped)
    snapped /= _PROBABILITY_GRID
    return snapped
