"""Logarithms and exponentials of arrays, and the grids on which sums are exact.

The functions use `scipy.special`, whose results, unlike those of numpy, do not depend on vector instructions.
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
    """Replace each x ≤ 0, which may be -inf, by e^x in place, with an absolute error of at most 2⁻⁵³."""
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
