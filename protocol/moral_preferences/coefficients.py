"""The encoding of a voter's records before noise: coefficients of the functional mechanism, or unit directions.

Without its constant, the log-likelihood Σ ln Φ(β·V) has the second-order expansion at 0

    Σ √(2/π)·(β·V) − (1/π)·(β·V)².

This polynomial has one coefficient for each feature and one for each unordered pair of features; pairs of different
features count V_k·V_l twice. The order of coefficients is: d linear ones, then the pairs (k, l) with k ≤ l, row by row.
Written as β·linear + βᵀ·quadratic·β, each of the two matrix entries has half of the pair's coefficient.

Each record is rounded towards zero to a public grid *before* records are added, and sums are sums of integers. So one
record changes a sum by at most the stated sensitivity, without any floating-point error.

Records are finite float64, shape (records, d). Their coefficients have shape (records, D), D = d + d(d + 1)/2.
`offsets` are int64, shape (voters + 1,): voter i has the records from offsets[i] up to offsets[i + 1]. ValueError is
raised for other input, and for sums that might not fit into 62 bits.

Source: section 4.4 of the paper, equation (14); readings M3, M4 and M8.
"""

import math

import numpy as np

from ..arrays import FloatArray, IntArray
from ..elementary import power_of_two_below
from ..errors import require
from .records import check_offsets
from .sensitivity import num_coefficients

_LINEAR = math.sqrt(2 / math.pi)
_QUADRATIC = -1 / math.pi
# The most by which rounding may make the norm of a difference of clipped items exceed 1; `sensitivity` allows for it.
_EXCESS = 2.0**-36
# Records per batch, so that their coefficients fit into a processor's cache.
_BLOCK = 1024
# The least grid step. A record's coefficients are at most 1, so the sum of a block's integers is exact in float64.
_LEAST_STEP = 2.0**-40
# The least grid step of directions: the squares of integers up to 1/step, times the features, fit into 64 bits.
_LEAST_DIRECTION_STEP = 2.0**-30
_MOST = 2**62
_TABLE = 2


def clip_items(chosen_items: FloatArray, rejected_items: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale each alternative separately to a norm of at most ½, so that no difference is longer than 1.

    The result depends only on the item, and so on no other record (reading M4). If two items are scaled differently,
    their difference changes its direction; `clip_differences` preserves it.
    """
    if chosen_items.shape != rejected_items.shape:
        raise ValueError(
            f"chosen and rejected have shapes {chosen_items.shape} and {rejected_items.shape}: give both the same"
        )
    return _clip(chosen_items, 0.5), _clip(rejected_items, 0.5)


def clip_differences(differences: FloatArray) -> FloatArray:
    """Scale each difference of two items, chosen minus rejected, to a norm of at most 1, in its own direction."""
    return _clip(differences, 1.0)


def coefficients_of_records(differences: FloatArray) -> FloatArray:
    """Return the coefficients of each record's expansion; ValueError for a difference longer than 1."""
    _check_norms(differences)
    return np.ascontiguousarray(_scaled_coefficients(differences, 1.0).T)


def sum_coefficients(differences: FloatArray, offsets: IntArray, *, step: float) -> IntArray:
    """Return each voter's coefficients in grid steps: the sum over its records, each rounded towards zero.

    Args:
        differences: differences of norm ≤ 1: see `clip_items` and `clip_differences`.
        offsets: the offsets of voters.
        step: the grid step, a power of two in [2⁻⁴⁰, 1].

    Returns:
        int64, shape (voters, D). A voter without records has zeros.

    Raises:
        ConfigurationError: the step is not allowed.
        ValueError: a difference is longer than 1.

    Privacy:
        One replaced record changes a row, and a sum of rows, by at most `grid_sensitivity` in the ℓ₁ norm.
    """
    _check_step(step, _LEAST_STEP)
    _check_norms(differences)
    check_offsets(offsets, len(differences))
    if np.max(np.diff(offsets), initial=0) / step >= _MOST:
        raise ValueError(
            f"a voter's records sum up to 2**62 steps of {step} or more: use a larger step, or fewer records"
        )
    totals = np.zeros((num_coefficients(differences.shape[1]), len(offsets) - 1), dtype=np.int64)
    for start in range(0, len(differences), _BLOCK):
        stop = min(start + _BLOCK, len(differences))
        steps = _scaled_coefficients(differences[start:stop], 1 / step)
        np.trunc(steps, out=steps)
        # The voters with records in this block; the first may begin before it, and the last end after it.
        first = int(np.searchsorted(offsets, start, side="right")) - 1
        last = int(np.searchsorted(offsets, stop, side="left"))
        within = np.clip(offsets[first : last + 1], start, stop) - start
        has_records = within[1:] > within[:-1]
        sums = np.add.reduceat(steps, within[:-1][has_records], axis=1)
        totals[:, first:last][:, has_records] += sums.astype(np.int64)
    return np.ascontiguousarray(totals.T)


def split(coefficients: FloatArray, *, num_features: int) -> tuple[FloatArray, FloatArray]:
    """Return polynomials β·linear + βᵀ·quadratic·β as vectors and symmetric matrices.

    Args:
        coefficients: float64, shape (m, D), in this module's order; with or without noise.
        num_features: d; ConfigurationError if it is out of range.

    Returns:
        linear: float64, shape (m, d). quadratic: float64, shape (m, d, d), symmetric.
    """
    width = num_coefficients(num_features)
    if coefficients.ndim != _TABLE or coefficients.shape[1] != width:
        raise ValueError(f"coefficients have shape {coefficients.shape}: give a table (polynomials, {width})")
    rows, places = np.triu_indices(num_features)
    halves = np.where(rows == places, 1.0, 0.5) * coefficients[:, num_features:]
    quadratic = np.empty((len(coefficients), num_features, num_features))
    quadratic[:, rows, places] = halves
    quadratic[:, places, rows] = halves
    return coefficients[:, :num_features].copy(), quadratic


def unit_directions(differences: FloatArray, *, step: float) -> IntArray:
    """Return V/‖V‖₂ of each record in grid steps, rounded towards zero; 0 for V = 0.

    The length of a row of integers is at most 1/step: rounding towards zero shortens a vector, and if the last bits of
    a division made a row too long, its greatest component is reduced by a step.

    Args:
        differences: V, float64, shape (records, d).
        step: the grid step, a power of two in [2⁻³⁰, 1]; ConfigurationError for any other.

    Returns:
        int64, shape (records, d).

    Privacy:
        Two rows differ by at most 2/step in the ℓ₂ norm, and so do two sums of rows if one row is replaced.
    """
    _check_step(step, _LEAST_DIRECTION_STEP)
    _, norms, scaled = _norms(differences)
    directions = scaled / np.where(norms > 0, norms, 1.0)[:, None]
    return _shorten(np.trunc(directions / step).astype(np.int64), round(1 / step))


def sum_rows(rows: IntArray, offsets: IntArray) -> IntArray:
    """Return each voter's exact sum of its rows, shape (records, width): int64, shape (voters, width).

    A voter without a row has zeros.
    """
    if rows.ndim != _TABLE:
        raise ValueError(f"rows have shape {rows.shape}: give a table (records, width)")
    check_offsets(offsets, len(rows))
    counts = np.diff(offsets)
    if rows.size and max(int(rows.max()), -int(rows.min())) * int(counts.max()) >= _MOST:
        raise ValueError("a voter's rows sum up to 2**62 or more: give fewer, or smaller numbers")
    sums = np.zeros((len(counts), rows.shape[1]), dtype=np.int64)
    # For a voter without rows, `reduceat` would return the next voter's first row.
    has_rows = counts > 0
    if np.any(has_rows):
        sums[has_rows] = np.add.reduceat(rows, offsets[:-1][has_rows], axis=0)
    return sums


def _scaled_coefficients(differences: FloatArray, factor: float) -> FloatArray:
    """Return factor × the coefficients, shape (D, records); exactly so for a power of two."""
    features = np.ascontiguousarray(differences.T)
    num_features, num_records = features.shape
    scaled = np.empty((num_coefficients(num_features), num_records))
    np.multiply(features, _LINEAR * factor, out=scaled[:num_features])
    once = features * (_QUADRATIC * factor)
    twice = 2 * once
    place = num_features
    for k in range(num_features):
        np.multiply(once[k], features[k], out=scaled[place])
        place_after = place + num_features - k
        np.multiply(twice[k], features[k + 1 :], out=scaled[place + 1 : place_after])
        place = place_after
    return scaled


def _norms(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each row's greatest component, and the row and its norm in units of it (0 for a row of zeros).

    Squares of the components themselves could overflow or underflow. They are added feature by feature, so that the
    norm of a row does not depend on other rows.
    """
    if rows.ndim != _TABLE or not rows.shape[1]:
        raise ValueError(f"rows have shape {rows.shape}: give a table (records, features)")
    if not np.all(np.isfinite(rows)):
        raise ValueError("a feature is infinite or no number: give finite numbers")
    greatest = np.max(np.abs(rows), axis=1)
    scaled = rows / np.where(greatest > 0, greatest, 1.0)[:, None]
    squares = np.zeros(len(rows))
    for column in scaled.T:
        squares += column * column
    return greatest, np.sqrt(squares), scaled


def _clip(rows: FloatArray, longest: float) -> FloatArray:
    greatest, norms, scaled = _norms(rows)
    with np.errstate(over="ignore"):  # an infinite norm is clipped, too
        is_long = greatest * norms > longest
    factors = longest / np.where(norms > 0, norms, 1.0)
    return np.where(is_long[:, None], scaled * factors[:, None], rows)


def _shorten(rows: IntArray, longest: int) -> IntArray:
    """Take a step from the greatest component of each row that is longer than `longest`, until none is."""
    while True:
        squares = np.zeros(len(rows), dtype=np.int64)
        for column in rows.T:
            squares += column * column
        too_long = np.flatnonzero(squares > longest * longest)
        if not len(too_long):
            return rows
        greatest = np.argmax(np.abs(rows[too_long]), axis=1)
        rows[too_long, greatest] -= np.sign(rows[too_long, greatest])


def _check_norms(differences: FloatArray) -> None:
    greatest, norms, _ = _norms(differences)
    with np.errstate(over="ignore"):
        longest = float(np.max(greatest * norms, initial=0.0))
    if not longest <= 1 + _EXCESS:
        raise ValueError("a difference has a norm above 1: clip differences first")


def _check_step(step: float, least: float) -> None:
    is_step = least <= step <= 1 and power_of_two_below(step) == step
    require(is_step, "step", step, f"a power of two in [{least!r}, 1]")
