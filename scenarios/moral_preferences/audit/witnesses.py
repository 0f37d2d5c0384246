"""Neighbors that change a report as far as the proofs allow, or as far as a search can find.

A search finds a change that one record can make, so every valid bound is at least that; it does not prove a bound.
Bounds are in `psephos.protocol.moral_preferences.sensitivity`, proofs in the documentation (moral-preferences-proofs).

Source: sections 4.2 to 4.4 of the paper; reading M6.
"""

import math

import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.moral_preferences.coefficients import coefficients_of_records

_LINEAR = math.sqrt(2 / math.pi)
_QUADRATIC = 1 / math.pi
_ASCENTS = 300
_WEIGHT_OF_OTHERS = 0.1  # total weight of the other records, relative to the replaced one


def sensitivity_witness(num_records: int, *, num_features: int, radius: float) -> tuple[FloatArray, FloatArray]:
    """Return differences of a voter's records before and after one is replaced, with estimates β at ℓ₁ distance 2B.

    All records are along the first feature: the first record is t = 1/max(B, 1) or −t, and the others sum to t/10. The
    likelihood depends only on β₁, and is strictly concave in it. At β₁ = −B, where the first record is −t, its slope is
    at most −t·h(tB) + (t/10)·h(−tB/10), h = φ/Φ, and h(1) = .288 > .088 > h(−.1)/10: the slope is negative, so the
    maximum over the ball is the vertex −B. For +t it is the vertex +B, since all records point there.

    Args:
        num_records: n ≥ 1.
        num_features: d ≥ 1.
        radius: B > 0.

    Returns:
        Two tables, float64, shape (n, d), which differ in their first row.

    Raises:
        ValueError: a parameter is out of range.

    Source:
        Theorems 1 and 3, whose sensitivities it attains: 2B for a voter, 2B/N for the mean of N.

    Examples:
        >>> before, after = sensitivity_witness(2, num_features=2, radius=2.0)
        >>> before.tolist(), after.tolist()
        ([[0.5, 0.0], [0.05, 0.0]], [[-0.5, 0.0], [0.05, 0.0]])
    """
    _check_positive(num_features=num_features, num_records=num_records, radius=radius)
    records_before = np.zeros((num_records, num_features))
    records_before[0, 0] = 1 / max(radius, 1.0)
    records_before[1:, 0] = records_before[0, 0] * _WEIGHT_OF_OTHERS / max(num_records - 1, 1)
    records_after = records_before.copy()
    records_after[0, 0] = -records_before[0, 0]
    return records_before, records_after


def search_sensitivity(num_features: int, *, seed: int, num_starts: int = 64) -> tuple[float, FloatArray]:
    """Search two records whose coefficients in the functional mechanism are as far apart as possible.

    The better half of random pairs is improved iteratively: with the signs of all changes fixed, the change is a
    quadratic function of each vector; its gradient, after adding d/π·‖V‖² to make it convex, gives the next vector of
    norm 1.

    Args:
        num_features: d ≥ 1.
        seed: the seed of the pairs.
        num_starts: number of pairs that are improved, ≥ 1; twice as many are drawn.

    Returns:
        The greatest ℓ₁ change found, and its two differences, float64, shape (2, d), of norm ≤ 1.

    Raises:
        ValueError: a parameter is out of range.

    Examples:
        >>> change, pair = search_sensitivity(2, seed=1, num_starts=4)
        >>> round(change, 3), pair.shape
        (2.648, (2, 2))
    """
    _check_positive(num_features=num_features, num_starts=num_starts)
    generator = np.random.default_rng(seed)
    pairs = generator.standard_normal((2 * num_starts, 2, num_features))
    # Norms inside the ball, half of them on its surface.
    norms = np.minimum(2 * generator.random((2 * num_starts, 2, 1)), 1.0)
    pairs *= norms / np.linalg.norm(pairs, axis=2, keepdims=True)
    pairs = pairs[np.argsort(-_changes(pairs), kind="stable")[:num_starts]]
    best = pairs
    for _ in range(_ASCENTS):
        pairs = _climb(pairs)
        is_better = _changes(pairs) > _changes(best)
        best = np.where(is_better[:, None, None], pairs, best)
    pair = best[int(np.argmax(_changes(best)))]
    pair /= np.maximum(np.linalg.norm(pair, axis=1, keepdims=True), 1.0)
    first, second = coefficients_of_records(pair)
    return float(np.abs(first - second).sum()), pair


def _changes(pairs: FloatArray) -> FloatArray:
    """Return √(2/π)·‖V − V'‖₁ + (1/π)·‖VVᵀ − V'V'ᵀ‖₁₁ of each pair."""
    first, second = pairs[:, 0], pairs[:, 1]
    products = first[:, :, None] * first[:, None, :] - second[:, :, None] * second[:, None, :]
    return _LINEAR * np.abs(first - second).sum(axis=1) + _QUADRATIC * np.abs(products).sum(axis=(1, 2))


def _climb(pairs: FloatArray) -> FloatArray:
    first, second = pairs[:, 0], pairs[:, 1]
    linear = np.where(first >= second, _LINEAR, -_LINEAR)
    products = first[:, :, None] * first[:, None, :] - second[:, :, None] * second[:, None, :]
    signs = np.where(products >= 0, 2 * _QUADRATIC, -2 * _QUADRATIC)
    convex = 2 * _QUADRATIC * first.shape[1]
    upwards = np.stack(
        [
            linear + np.einsum("mkl,ml->mk", signs, first) + convex * first,
            -linear - np.einsum("mkl,ml->mk", signs, second) + convex * second,
        ],
        axis=1,
    )
    return upwards / np.maximum(np.linalg.norm(upwards, axis=2, keepdims=True), np.finfo(np.float64).tiny)


def _check_positive(**parameters: float) -> None:
    for name, value in parameters.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is {value}: use a positive, finite value")
