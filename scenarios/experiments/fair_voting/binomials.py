"""Binomial numbers of many laws at once: `draw_binomial` on arrays, bit for bit."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms.binomial import draw_binomial

__all__ = ["draw_binomials"]

# As in the protocol's own sampler.
_NEGLIGIBLE: Final = 2.0**-80


def draw_binomials(number: int, probabilities: Sequence[Fraction], uniforms: FloatArray) -> IntArray:
    """Return the counts that uniforms name, by the inverses of the cumulative laws.

    Args:
        number: n ≥ 1, of all laws.
        probabilities: of each law, in [0, 1].
        uniforms: float64 in [0, 1), shape (trials, laws).

    Returns:
        int64, shape (trials, laws).
    """
    counts = np.empty(uniforms.shape, dtype=np.int64)
    is_inner = [0 < probability < 1 for probability in probabilities]
    for law in [law for law, inner in enumerate(is_inner) if not inner]:
        counts[:, law] = number if probabilities[law] == 1 else 0
    inner = [law for law, inside in enumerate(is_inner) if inside]
    if not inner:
        return counts
    least, masses = _laws(number, [probabilities[law] for law in inner])
    left = uniforms[:, inner]
    places = np.full(left.shape, -1, dtype=np.int64)
    for place, mass in enumerate(masses):
        left = left - mass
        places[(left < 0) & (places < 0)] = place
    counts[:, inner] = least + places
    for trial, law in np.argwhere(places < 0).tolist():  # rounding
        counts[trial, inner[law]] = draw_binomial(number, probabilities[inner[law]], float(uniforms[trial, inner[law]]))
    return counts


def _laws(number: int, probabilities: Sequence[Fraction]) -> tuple[IntArray, FloatArray]:
    """Return each law's count in the first row, and the masses: shape (rows, laws), 0 where they are negligible."""
    odds = np.array([float(probability / (1 - probability)) for probability in probabilities])
    modes = np.array([min(int((number + 1) * probability), number) for probability in probabilities], dtype=np.int64)
    above = _walk(modes, lambda counts: (number - counts) / (counts + 1) * odds, 1, number)
    below = _walk(modes, lambda counts: counts / ((number - counts + 1) * odds), -1, 0)
    masses = np.stack([*reversed(below), np.ones(len(odds)), *above])
    totals = np.array([math.fsum(column) for column in masses.T.tolist()])
    return modes - len(below), masses / totals


def _walk(modes: IntArray, ratio: Callable[[IntArray], FloatArray], step: int, end: int) -> list[FloatArray]:
    """Return masses from the mode on, one row for each step."""
    rows: list[FloatArray] = []
    mass, counts = np.ones(len(modes)), modes.copy()
    while True:
        goes_on = (counts != end) & (mass > _NEGLIGIBLE)
        if not goes_on.any():
            return rows
        mass = np.where(goes_on, mass * ratio(counts), 0.0)
        rows.append(mass)
        counts = np.where(counts == end, counts, counts + step)
