"""Mallows's model: rankings around a center, the likelier the fewer pairs they order against it.

A ranking r has probability φ^d(r, c)/Z, where c is the center, d is Kendall's tau distance (how many pairs of
alternatives the two order differently), φ in [0, 1] the dispersion, and Z = Π_i (1 + φ + … + φ^(i−1)), i = 1…m. At
φ = 0 every ranking is the center; at φ = 1 all m! are equally likely, which is called impartial culture.

Rankings are drawn by repeated insertion: the center's i-th alternative is put among the i − 1 before it, in front of
the last k of them with probability φ^k/(1 + φ + … + φ^(i−1)). It then is in k pairs that the center orders otherwise,
and k₁, …, k_m determine the ranking and are determined by it, so that the product of their probabilities is the law.

Nothing here draws: uniforms come in. The steps are multiplications, divisions and comparisons alone, so that their
bits do not depend on the processor.

Source: Mallows (1957) for the law; Doignon, Pekeč and Regenwetter (2004) for repeated insertion.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray

_BATCH_ROWS: Final = 1 << 11  # rows at a time: their uniforms and positions stay in the processor's cache
_MOST_ALTERNATIVES: Final = 127  # positions of a batch are kept in eight bits


def draw_mallows(uniforms: FloatArray, *, center: Sequence[int], dispersion: float) -> IntArray:
    """Return one ranking for each row of uniforms.

    Args:
        uniforms: float64 in [0, 1), shape (n, m − 1): column i − 2 places the center's i-th alternative, i = 2…m.
        center: the m ≥ 1 alternatives by number, the best first, each once.
        dispersion: φ, in [0, 1].

    Returns:
        int64, shape (n, m): the position of each alternative, from 0, the best.

    Raises:
        ValueError: a parameter or a shape is out of range.

    Source:
        Doignon, Pekeč and Regenwetter (2004): the repeated insertion model.

    Examples:
        >>> draw_mallows(np.array([[0.0, 0.0], [0.9, 0.9]]), center=[0, 1, 2], dispersion=0.5).tolist()
        [[0, 1, 2], [2, 1, 0]]
    """
    ranks = _ranks_of(center)
    num_alternatives = len(ranks)
    _check_dispersion(dispersion)
    if num_alternatives > _MOST_ALTERNATIVES:
        raise ValueError(f"there are {num_alternatives} alternatives: use at most {_MOST_ALTERNATIVES}")
    if uniforms.ndim != 2 or uniforms.shape[1] != num_alternatives - 1:  # noqa: PLR2004  a table
        raise ValueError(f"uniforms have shape {uniforms.shape}: give shape (n, {num_alternatives - 1})")
    thresholds = [_thresholds(number, dispersion) for number in range(2, num_alternatives + 1)]
    positions = np.empty((len(uniforms), num_alternatives), dtype=np.int64)
    for start in range(0, len(uniforms), _BATCH_ROWS):
        # By column, so that every step runs along the voters.
        columns = np.ascontiguousarray(uniforms[start : start + _BATCH_ROWS].T)
        positions[start : start + _BATCH_ROWS] = _insert(columns, thresholds)[ranks].T
    return positions


def mallows_probabilities(positions: IntArray, *, center: Sequence[int], dispersion: float) -> FloatArray:
    """Return the probability φ^d/Z of each of some rankings.

    Args:
        positions: int64, shape (n, m), a ranking in each row.
        center: the alternatives by number, the best first, each once.
        dispersion: φ, in [0, 1].

    Returns:
        float64, shape (n,).

    Raises:
        ValueError: a parameter or a shape is out of range.

    Source:
        Mallows (1957).

    Examples:
        >>> mallows_probabilities(np.array([[0, 1], [1, 0]]), center=[0, 1], dispersion=0.25).tolist()
        [0.8, 0.2]
    """
    _check_dispersion(dispersion)
    distances = kendall_tau_distances(positions, center=center)
    num_alternatives = positions.shape[1]
    powers = _powers(dispersion, num_alternatives * (num_alternatives - 1) // 2 + 1)
    normalizer = math.prod(math.fsum(powers[:number]) for number in range(1, num_alternatives + 1))
    return np.array(powers)[distances] / normalizer


def kendall_tau_distances(positions: IntArray, *, center: Sequence[int]) -> IntArray:
    """Return how many pairs of alternatives each of some rankings orders otherwise than the center.

    Args:
        positions: int64, shape (n, m), a ranking in each row.
        center: the alternatives by number, the best first, each once.

    Returns:
        int64, shape (n,), in [0, m(m − 1)/2].

    Raises:
        ValueError: a parameter or a shape is out of range.

    Examples:
        >>> kendall_tau_distances(np.array([[0, 1, 2], [2, 1, 0]]), center=[0, 1, 2]).tolist()
        [0, 3]
    """
    num_alternatives = len(_ranks_of(center))
    if positions.ndim != 2 or positions.shape[1] != num_alternatives:  # noqa: PLR2004  a table
        raise ValueError(f"positions have shape {positions.shape}: give shape (n, {num_alternatives})")
    ordered_positions = positions[:, list(center)]
    distances = np.zeros(len(positions), dtype=np.int64)
    for better_alternative, worse in itertools.combinations(range(num_alternatives), 2):
        distances += ordered_positions[:, better_alternative] > ordered_positions[:, worse]
    return distances


def _insert(columns: FloatArray, thresholds: Sequence[Sequence[float]]) -> NDArray[Any]:
    """Return the position of each of the center's alternatives: int8, shape (m, n).

    Columns are float64 in [0, 1), shape (m − 1, n); thresholds say of each where one place further to the front begins.
    """
    positions = np.zeros((len(columns) + 1, columns.shape[1]), dtype=np.int8)
    is_reached = np.empty(columns.shape[1], dtype=np.bool_)
    for number, (column, steps) in enumerate(zip(columns, thresholds, strict=True), start=1):
        place = positions[number]
        place[:] = number
        for step in steps:
            np.greater_equal(column, step, out=is_reached)
            np.subtract(place, is_reached.view(np.int8), out=place)
        # Whoever stands there, or behind, makes room.
        earlier_positions = positions[:number]
        earlier_positions += (earlier_positions >= place).view(np.int8)
    return positions


def _thresholds(number: int, dispersion: float) -> list[float]:
    """Return the distribution function of the place of the center's alternative of this number, without its last 1.

    It is (1 + φ + … + φ^k)/(1 + φ + … + φ^(number − 1)) for k = 0…number − 2.
    """
    *sums, total = itertools.accumulate(_powers(dispersion, number))
    return [each / total for each in sums]


def _powers(dispersion: float, number: int) -> list[float]:
    """Return 1, φ, φ², …: so many of them."""
    # By multiplication: the C library's power may differ in the last bit between processors.
    return list(itertools.accumulate(itertools.repeat(float(dispersion), number - 1), lambda a, b: a * b, initial=1.0))


def _ranks_of(center: Sequence[int]) -> list[int]:
    """Return the place of each alternative in the center, which has each once."""
    ranks = {alternative: rank for rank, alternative in enumerate(center)}
    if not center or len(ranks) != len(center) or set(ranks) != set(range(len(center))):
        raise ValueError(f"center is {list(center)}: write each alternative's number, from 0, once")
    return [ranks[alternative] for alternative in range(len(center))]


def _check_dispersion(dispersion: float) -> None:
    if not 0 <= dispersion <= 1:
        raise ValueError(f"dispersion is {dispersion}: use a value from 0 to 1")
