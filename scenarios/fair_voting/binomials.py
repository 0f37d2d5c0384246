"""Draw from many binomial laws at once: `draw_binomial` on arrays, bit for bit."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.mechanisms.binomial import draw_binomial

_NEGLIGIBLE: Final = 2.0**-80  # as in the protocol's sampler
_MOST: Final = 2**53


def draw_binomials(number: int, hits: IntArray, chances: IntArray, uniforms: FloatArray) -> IntArray:
    """Return binomial counts from uniforms, by the inverse cumulative laws.

    Args:
        number: n ≥ 1, the same for all laws.
        hits: int64, shape (laws,): numerators of the probabilities, from 0 to the denominators.
        chances: int64, shape (laws,): their denominators, at most 2^53/(n + 1) for exact arithmetic.
        uniforms: float64 in [0, 1), shape (trials, laws).

    Returns:
        Counts, int64, shape (trials, laws).

    Examples:
        >>> hits, chances = np.array([1, 3]), np.array([2, 4])
        >>> draw_binomials(4, hits, chances, np.array([[0.1, 0.1], [0.9, 0.9]])).tolist()
        [[1, 2], [3, 4]]
    """
    if int(chances.max()) > _MOST // (number + 1):
        raise ValueError(f"the largest denominator is {int(chances.max())}: use at most {_MOST // (number + 1)}")
    counts = np.where(hits == 0, 0, number) * np.ones(uniforms.shape, dtype=np.int64)
    inner = np.flatnonzero((hits > 0) & (hits < chances))
    if not len(inner):
        return counts
    least_counts, masses = _laws(number, hits[inner], chances[inner])
    remaining = uniforms[:, inner]
    places = np.full(remaining.shape, -1, dtype=np.int64)
    for place, mass in enumerate(masses):
        remaining = remaining - mass
        places[(remaining < 0) & (places < 0)] = place
    counts[:, inner] = least_counts + places
    for trial, law in np.argwhere(places < 0).tolist():  # rounding
        draw = int(inner[law])
        probability = Fraction(int(hits[draw]), int(chances[draw]))
        counts[trial, draw] = draw_binomial(number, probability, float(uniforms[trial, draw]))
    return counts


def _laws(number: int, hits: IntArray, chances: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the first row's count for each law, and the masses, shape (rows, laws), 0 if negligible."""
    odds = hits / (chances - hits)
    modes = np.minimum((number + 1) * hits // chances, number)
    counts_above = _walk(modes, lambda counts: (number - counts) / (counts + 1) * odds, 1, number)
    counts_below = _walk(modes, lambda counts: counts / ((number - counts + 1) * odds), -1, 0)
    masses = np.stack([*reversed(counts_below), np.ones(len(odds)), *counts_above])
    totals = np.array([math.fsum(column) for column in masses.T.tolist()])
    return modes - len(counts_below), masses / totals


def _walk(modes: IntArray, ratio: Callable[[IntArray], FloatArray], step: int, end: int) -> list[FloatArray]:
    """Return masses away from the mode, one row for each step."""
    rows: list[FloatArray] = []
    mass, counts = np.ones(len(modes)), modes.copy()
    while True:
        goes_on = (counts != end) & (mass > _NEGLIGIBLE)
        if not goes_on.any():
            return rows
        mass = np.where(goes_on, mass * ratio(counts), 0.0)
        rows.append(mass)
        counts = np.where(counts == end, counts, counts + step)
