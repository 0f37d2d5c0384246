"""Probit maximum likelihood of many voters at once, over an ℓ₁ ball.

In each record a voter chose one of two alternatives: V = features of the chosen − features of the rejected. In the
probit model with preferences β, the likelihood is Π_j Φ(β·V_j), whose logarithm is concave. Voters are solved in blocks
of bounded memory; a voter's result does not depend on other voters or on the block, to the last bit.

Source: equation (3) of the paper on moral preferences; reading M10.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from scipy.special import log_ndtr

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from .interior_point import DEFAULT_MAX_ITERATIONS, DEFAULT_TOLERANCE, maximize_in_lanes
from .lanes import NUM_STRANDS, sum_over_features, sum_over_records
from .maximum import EPSILON, SLIGHT, BallMaximum, check_limits, check_points, check_rows, considerable
from .objectives import ProbitByFeatures, ProbitByRecords, probit_derivatives

# The numbers in a block's records (4 MiB): enough lanes that a step's work dominates its overhead, in bounded memory.
_NUMBERS_IN_A_BLOCK: Final = 1 << 19
_MOST_LANES: Final = 4096
# The roundings of φ(z)/Φ(z), of its products, of adding the strands of a sum, and of the gap's two terms.
_OTHER_ROUNDINGS: Final = 16


@exact_arguments
def fit_probit(
    differences: FloatArray,
    offsets: IntArray,
    *,
    radius: float,
    tolerance: float = DEFAULT_TOLERANCE,
    max_iterations: int = DEFAULT_MAX_ITERATIONS,
) -> BallMaximum:
    """Maximize each voter's Σ_j ln Φ(β·V_j) over ‖β‖₁ ≤ radius. See `maximum`.

    Args:
        differences: V of all voters, float64, shape (records, d), d ≥ 1, voter by voter.
        offsets: int64, shape (voters + 1,): voter i has the records from offsets[i] up to offsets[i + 1], possibly
            none.

    Returns:
        One entry per voter. A voter without records has β = 0 and gap 0. A gap is a bound up to a thousandth of the
        tolerance; if the rounding error of its gradient may be greater, a bound on this is added.

    Source:
        Equation (3); reading M10.

    Examples:
        >>> differences = np.array([[1.0, 0.0], [1.0, 0.5], [-1.0, 0.0], [1.0, -0.5]])
        >>> fit_probit(differences, np.array([0, 4]), radius=1.0).points.round(3).tolist()
        [[0.674, 0.0]]
    """
    check_limits(radius=radius, tolerance=tolerance, max_iterations=max_iterations)
    _check_records(differences, offsets)
    num_features = differences.shape[1]
    num_voters = len(offsets) - 1
    points = np.zeros((num_voters, num_features))
    gaps = np.zeros(num_voters)
    num_iterations = np.zeros(num_voters, dtype=np.int64)
    for voters in _blocks(np.diff(offsets), num_features):
        lanes = _gather(differences, offsets, voters)
        objective = ProbitByRecords(lanes) if len(lanes) < num_features else ProbitByFeatures(lanes)
        maxima = maximize_in_lanes(
            objective,
            num_features=num_features,
            num_lanes=len(voters),
            radius=radius,
            tolerance=tolerance,
            max_iterations=max_iterations,
        )
        points[voters] = maxima.points
        gaps[voters] = maxima.gaps + _roundings(lanes, maxima.points, radius=radius, tolerance=tolerance)
        num_iterations[voters] = maxima.num_iterations
    return BallMaximum(points, gaps, num_iterations, gaps <= tolerance)


@exact_arguments
def log_likelihoods(differences: FloatArray, offsets: IntArray, points: FloatArray) -> FloatArray:
    """Return each voter's Σ_j ln Φ(β·V_j), at most 0, for records as in `fit_probit` and points of shape (voters, d).

    Source:
        Equation (3).

    Examples:
        >>> log_likelihoods(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 2]), np.zeros((1, 2))).round(3).tolist()
        [-1.386]
    """
    _check_records(differences, offsets)
    num_voters = len(offsets) - 1
    check_points(points, name="points", shape=(num_voters, differences.shape[1]))
    sums = np.zeros(num_voters)
    for voters in _blocks(np.diff(offsets), differences.shape[1]):
        lanes = _gather(differences, offsets, voters)
        lanes *= points[voters].T
        terms = np.asarray(log_ndtr(sum_over_features(lanes)), dtype=np.float64)
        # Missing records contribute 0.
        terms[np.arange(len(terms))[:, None] >= np.diff(offsets)[voters]] = 0.0
        sums[voters] = sum_over_records(terms)
    return sums


def _blocks(counts: IntArray, num_features: int) -> Iterator[IntArray]:
    """Yield the voters who have records, those with about as many of them together."""
    is_small = counts < num_features
    for members in (np.flatnonzero(is_small & (counts > 0)), np.flatnonzero(~is_small)):
        order = members[np.argsort(-counts[members], kind="stable")]
        begin = 0
        while begin < len(order):
            size = int(counts[order[begin]]) * num_features
            end = begin + max(1, min(_MOST_LANES, _NUMBERS_IN_A_BLOCK // size))
            yield order[begin:end]
            begin = end


def _gather(differences: FloatArray, offsets: IntArray, voters: IntArray) -> FloatArray:
    """Return the voters' records, shape (most records, d, voters), with rows of zeros where one has fewer."""
    first, last = offsets[voters], offsets[voters + 1]
    most = int((last - first).max())
    rows = first[:, None] + np.arange(most)
    is_missing = rows >= last[:, None]
    rows[is_missing] = 0
    records = differences[rows]
    records[is_missing] = 0.0
    return np.ascontiguousarray(records.transpose(1, 2, 0))


def _roundings(lanes: FloatArray, points: FloatArray, *, radius: float, tolerance: float) -> FloatArray:
    """Return bounds on the rounding errors of the computed gaps of points; 0 if negligible.

    The gap is B·‖g‖_∞ − g·β with ‖β‖₁ ≤ B, so its error is at most 2B times that of an entry of g. For the latter, z =
    β·V has an error of some roundings of Σ|β·V|. φ/Φ and its slope decrease in z, so they are bounded by their values
    at the lower end. Lanes are records of shape (n, d, voters).
    """
    num_records, num_features, _ = lanes.shape
    in_sums = (num_features.bit_length() + 1) * EPSILON  # sums are pairwise
    in_gradients = (num_records / NUM_STRANDS + in_sums / EPSILON + _OTHER_ROUNDINGS) * EPSILON
    largest = float(np.abs(lanes).max(initial=0.0))
    with np.errstate(all="ignore"):
        reach = np.float64(largest) * radius
        if 2 * num_records * reach * (in_sums * reach + in_gradients * (reach + 1)) <= SLIGHT * tolerance:
            return np.zeros(len(points))
        sizes = np.abs(lanes)
        shifts = in_sums * sum_over_features(sizes * np.abs(points.T))
        slopes, curvatures = probit_derivatives(sum_over_features(lanes * points.T) - shifts)
        errors = shifts * curvatures + in_gradients * slopes
        # Records of size 0 are missing ones, and have no rounding errors.
        bounds = 2 * radius * sum_over_records(sizes * errors[:, None]).max(axis=0)
    return considerable(bounds, tolerance)


def _check_records(differences: FloatArray, offsets: IntArray) -> None:
    check_rows(differences, name="differences", length="records")
    if offsets.ndim != 1 or len(offsets) < 1:
        raise ValueError(f"offsets have shape {offsets.shape}: give shape (voters + 1,)")
    if offsets[0] != 0 or offsets[-1] != len(differences) or (np.diff(offsets) < 0).any():
        raise ValueError(
            f"offsets do not fit: give numbers that rise from 0 to {len(differences)}, the number of records"
        )
