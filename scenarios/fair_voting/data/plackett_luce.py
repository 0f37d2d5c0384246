"""Plackett and Luce's model: a ranking is chosen from the top, each time by the weights of what is left.

A ranking that orders a₁ first, then a₂, … has probability Π_k w(a_k)/(w(a_k) + w(a_(k+1)) + … + w(a_m)).

Rankings are drawn by a race: alternative a arrives after an exponential time of rate w(a), and the order of arrival is
the ranking. The first to arrive is a with probability w(a)/Σ w, and exponential times have no memory, so that the
others go on as if they had just begun.

Nothing here draws: uniforms come in, and become times by scipy's logarithm, whose bits do not depend on the
processor's vector instructions.

Source: Luce (1959) and Plackett (1975).
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import log1p

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.fair_voting.rankings import positions_of_orders

LEAST_WEIGHT: Final = 1e-100
MOST_WEIGHT: Final = 1e100  # between these no time is so long that two alternatives never arrive

_BATCH_ROWS: Final = 1 << 11  # rows at a time: their times stay in the processor's cache
_MOST_ALTERNATIVES: Final = 127  # positions of a batch are kept in eight bits


def draw_plackett_luce(uniforms: FloatArray, *, weights: Sequence[float]) -> IntArray:
    """Return one ranking for each row of uniforms.

    Args:
        uniforms: float64 in [0, 1), shape (n, m): one for each alternative's time.
        weights: of the m ≥ 1 alternatives, in [`LEAST_WEIGHT`, `MOST_WEIGHT`]; only their ratios count.

    Returns:
        int64, shape (n, m): the position of each alternative, from 0, the best.

    Raises:
        ValueError: a parameter or a shape is out of range.

    Source:
        Luce (1959): the choice axiom; the race is folklore.

    Examples:
        >>> draw_plackett_luce(np.array([[0.5, 0.5], [0.9, 0.1]]), weights=[2.0, 1.0]).tolist()
        [[0, 1], [1, 0]]
    """
    _check_weights(weights)
    num_alternatives = len(weights)
    if num_alternatives > _MOST_ALTERNATIVES:
        raise ValueError(f"there are {num_alternatives} alternatives: use at most {_MOST_ALTERNATIVES}")
    if uniforms.ndim != 2 or uniforms.shape[1] != num_alternatives:  # noqa: PLR2004  a table
        raise ValueError(f"uniforms have shape {uniforms.shape}: give shape (n, {num_alternatives})")
    rates = np.array(weights, dtype=np.float64)[:, None]
    positions = np.empty((len(uniforms), num_alternatives), dtype=np.int64)
    for start in range(0, len(uniforms), _BATCH_ROWS):
        # By column, so that every step runs along the voters.
        columns = np.ascontiguousarray(uniforms[start : start + _BATCH_ROWS].T)
        times: FloatArray = -log1p(-columns) / rates
        positions[start : start + _BATCH_ROWS] = _arrivals(times).T
    return positions


def plackett_luce_probabilities(positions: IntArray, *, weights: Sequence[float]) -> FloatArray:
    """Return the probability of each of some rankings: Π_k w(a_k)/(w(a_k) + … + w(a_m)).

    Args:
        positions: int64, shape (n, m), a ranking in each row.
        weights: of the alternatives, in [`LEAST_WEIGHT`, `MOST_WEIGHT`].

    Returns:
        float64, shape (n,).

    Raises:
        ValueError: a parameter or a shape is out of range.

    Source:
        Plackett (1975).

    Examples:
        >>> plackett_luce_probabilities(np.array([[0, 1], [1, 0]]), weights=[3.0, 1.0]).tolist()
        [0.75, 0.25]
    """
    _check_weights(weights)
    if positions.ndim != 2 or positions.shape[1] != len(weights):  # noqa: PLR2004  a table
        raise ValueError(f"positions have shape {positions.shape}: give shape (n, {len(weights)})")
    # The inverse of a permutation is found in the same way in both directions.
    from_worst = np.array(weights, dtype=np.float64)[positions_of_orders(positions)][:, ::-1]
    return np.prod(from_worst / np.cumsum(from_worst, axis=1), axis=1)


def _arrivals(times: FloatArray) -> NDArray[Any]:
    """Return how many arrive before each: float64 (m, n) to int8 (m, n); of two at once, the one of lower number."""
    positions = np.zeros(times.shape, dtype=np.int8)
    # By counting rather than by sorting: no order of equal times depends on the processor, and it is faster.
    for number in range(len(times) - 1):
        is_before = (times[number + 1 :] < times[number]).view(np.int8)
        positions[number] += is_before.sum(axis=0, dtype=np.int8)
        positions[number + 1 :] += 1 - is_before
    return positions


def _check_weights(weights: Sequence[float]) -> None:
    if not weights or not all(LEAST_WEIGHT <= weight <= MOST_WEIGHT for weight in weights):
        raise ValueError(f"weights are {list(weights)}: use values from {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}")
