"""The interior point method for probit likelihoods, compiled by numba: the same bits in less time.

`fit_block` does what `maximize_in_lanes` does with `ProbitByRecords` or `ProbitByFeatures`: each sum is added in the
same order and each product is rounded on its own (no fused multiply-add, no reordering), and the special function is
scipy's own code. So whether numba is there changes no result. Voters are taken `_WIDTH` at a time, which fits a
processor's vectors; all that one group needs stays in its nearest cache.

A change of the method has to be made in `interior_point`, `objectives` and here; the tests compare the bits.
"""

import ctypes
import math
from typing import Final

import numba
import numpy as np
from numba.extending import get_cython_function_address

from ...arrays import FloatArray, IntArray

__all__ = ["fit_block"]

_WIDTH: Final = 8
_STRANDS: Final = 8
_SQRT_HALF: Final = math.sqrt(0.5)
_SQRT_TWO_OVER_PI: Final = math.sqrt(2 / math.pi)
_FLAT_BELOW: Final = -1e3
_SHARE: Final = 0.995
_MISFIT_SHARE: Final = 0.01
_MOST_BENDING: Final = 3.0
_SHARE_OF_GAP: Final = 0.1
_SHORTENING: Final = 0.25
_MOST_SHORTENINGS: Final = 20


# scipy.special's erfcx of a float, as a function that compiled code can be given.
_ERFCX: Final = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(
    get_cython_function_address("scipy.special.cython_special", "__pyx_fuse_1erfcx")
)

_jit = numba.njit(cache=True, nogil=True, error_model="numpy")


@_jit
def _greater(a, b):
    return a if (a > b or a != a) else b


@_jit
def _less(a, b):
    return a if (a < b or a != a) else b


@_jit
def _add_features(terms, out):
    """`sum_over_features`: terms (d, width) are used up."""
    size = terms.shape[0]
    while size > 1:
        half = size // 2
        for k in range(half):
            for l in range(_WIDTH):
                terms[k, l] += terms[size - half + k, l]
        size -= half
    for l in range(_WIDTH):
        out[l] = terms[0, l]


@_jit
def _add_scaled_records(records, factors, strands, out):
    """`sum_over_records` of records (n, d, width) times factors (n, width)."""
    n, d = records.shape[0], records.shape[1]
    for j in range(n):
        r = j % _STRANDS
        if j < _STRANDS:
            for k in range(d):
                for l in range(_WIDTH):
                    strands[r, k, l] = records[j, k, l] * factors[j, l]
        else:
            for k in range(d):
                for l in range(_WIDTH):
                    strands[r, k, l] += records[j, k, l] * factors[j, l]
    s = _STRANDS
    while s > 1:
        s //= 2
        for r in range(min(s, n - s)):
            for k in range(d):
                for l in range(_WIDTH):
                    strands[r, k, l] += strands[s + r, k, l]
    for k in range(d):
        for l in range(_WIDTH):
            out[k, l] = strands[0, k, l]


@_jit
def _descend(records, points, erfcx, terms, slopes, curvatures, strands, gradients):
    n, d = records.shape[0], records.shape[1]
    for j in range(n):
        for k in range(d):
            for l in range(_WIDTH):
                terms[k, l] = records[j, k, l] * points[k, l]
        _add_features(terms, slopes[j])
    for j in range(n):
        for l in range(_WIDTH):
            z = slopes[j, l]
            h = _SQRT_TWO_OVER_PI / erfcx(z * -_SQRT_HALF)
            w = _less(_greater(h * (h + z), 0.0), 1.0)
            curvatures[j, l] = 1.0 if z < _FLAT_BELOW else w
            slopes[j, l] = h
    _add_scaled_records(records, slopes, strands, gradients)
    for k in range(d):
        for l in range(_WIDTH):
            gradients[k, l] = -gradients[k, l]


@_jit
def _factorize(matrix, column):
    size = matrix.shape[0]
    for pivot in range(size - 1):
        for i in range(pivot + 1, size):
            for l in range(_WIDTH):
                column[i, l] = matrix[i, pivot, l] / matrix[pivot, pivot, l]
        for i in range(pivot + 1, size):
            for j in range(pivot + 1, i + 1):
                for l in range(_WIDTH):
                    matrix[i, j, l] -= column[i, l] * matrix[j, pivot, l]
        for i in range(pivot + 1, size):
            for l in range(_WIDTH):
                matrix[i, pivot, l] = column[i, l]


@_jit
def _solve_factorized(factors, right):
    size = factors.shape[0]
    for pivot in range(size - 1):
        for i in range(pivot + 1, size):
            for l in range(_WIDTH):
                right[i, l] -= factors[i, pivot, l] * right[pivot, l]
    for i in range(size):
        for l in range(_WIDTH):
            right[i, l] /= factors[i, i, l]
    for pivot in range(size - 1, 0, -1):
        for i in range(pivot):
            for l in range(_WIDTH):
                right[i, l] -= factors[pivot, i, l] * right[pivot, l]


@_jit
def _prepare(by_records, records, curvatures, inverse_diagonal, scaled, factors, roots, terms, column, vector):
    n, d = records.shape[0], records.shape[1]
    if by_records:
        for j in range(n):
            for l in range(_WIDTH):
                column[j, l] = math.sqrt(curvatures[j, l])
            for k in range(d):
                for l in range(_WIDTH):
                    scaled[j, k, l] = records[j, k, l] * column[j, l]
        for i in range(n):
            for k in range(d):
                for l in range(_WIDTH):
                    vector[k, l] = scaled[i, k, l] * inverse_diagonal[k, l]
            for j in range(i + 1):
                for k in range(d):
                    for l in range(_WIDTH):
                        terms[k, l] = scaled[j, k, l] * vector[k, l]
                _add_features(terms, factors[i, j])
            for l in range(_WIDTH):
                factors[i, i, l] += 1.0
    else:
        for j in range(n):
            for k in range(d):
                for l in range(_WIDTH):
                    scaled[j, k, l] = records[j, k, l] * curvatures[j, l]
        for k in range(d):
            for l in range(_WIDTH):
                roots[k, l] = math.sqrt(inverse_diagonal[k, l])
        for f in range(d):
            for g in range(f + 1):
                for j in range(min(n, _STRANDS)):
                    for l in range(_WIDTH):
                        terms[j, l] = records[j, g, l] * scaled[j, f, l]
                for j in range(_STRANDS, n):
                    for l in range(_WIDTH):
                        terms[j % _STRANDS, l] += records[j, g, l] * scaled[j, f, l]
                s = _STRANDS
                while s > 1:
                    s //= 2
                    for r in range(min(s, n - s)):
                        for l in range(_WIDTH):
                            terms[r, l] += terms[s + r, l]
                for l in range(_WIDTH):
                    factors[f, g, l] = (terms[0, l] * roots[g, l]) * roots[f, l]
            for l in range(_WIDTH):
                factors[f, f, l] += 1.0
    _factorize(factors, column)


@_jit
def _solve(by_records, scaled, factors, roots, inverse_diagonal, right, terms, vector, inner, strands, out):
    n, d = scaled.shape[0], scaled.shape[1]
    if by_records:
        for k in range(d):
            for l in range(_WIDTH):
                vector[k, l] = right[k, l] * inverse_diagonal[k, l]
        for j in range(n):
            for k in range(d):
                for l in range(_WIDTH):
                    terms[k, l] = scaled[j, k, l] * vector[k, l]
            _add_features(terms, inner[j])
        _solve_factorized(factors, inner)
        _add_scaled_records(scaled, inner, strands, out)
        for k in range(d):
            for l in range(_WIDTH):
                out[k, l] = (right[k, l] - out[k, l]) * inverse_diagonal[k, l]
    else:
        for k in range(d):
            for l in range(_WIDTH):
                out[k, l] = right[k, l] * roots[k, l]
        _solve_factorized(factors, out)
        for k in range(d):
            for l in range(_WIDTH):
                out[k, l] *= roots[k, l]


@_jit
def _reach(p, y, slack, price, dp, dy, dslack, dprice, out):
    d = p.shape[1]
    for l in range(_WIDTH):
        out[l] = _greater(-dslack[l] / slack[l], -dprice[l] / price[l])
    for side in range(2):
        for k in range(d):
            for l in range(_WIDTH):
                out[l] = _greater(_greater(-dp[side, k, l] / p[side, k, l], -dy[side, k, l] / y[side, k, l]), out[l])
    for l in range(_WIDTH):
        out[l] = 1.0 / abs(_greater(out[l], 0.0))


@_jit
def _gap(points, gradients, radius, terms, out):
    d = points.shape[0]
    for k in range(d):
        for l in range(_WIDTH):
            terms[k, l] = gradients[k, l] * points[k, l]
    _add_features(terms, out)
    for l in range(_WIDTH):
        steepest = abs(gradients[0, l])
        for k in range(1, d):
            steepest = _greater(abs(gradients[k, l]), steepest)
        out[l] = radius * steepest + out[l]


@_jit
def _fit(
    differences, firsts, lasts, by_records, radius, tolerance, max_iterations, start, has_start, erfcx,
    points_out, gaps_out, iterations_out,
):
    num_voters = firsts.shape[0]
    d = differences.shape[1]
    most = 0
    for voter in range(num_voters):
        most = max(most, lasts[voter] - firsts[voter])
    size = most if by_records else d
    rows = max(max(most, d), _STRANDS)
    all_records = np.empty((most, d, _WIDTH))
    all_scaled = np.empty((most, d, _WIDTH))
    all_factors = np.empty((size, size, _WIDTH))
    slopes = np.empty((rows, _WIDTH))
    curvatures = np.empty((rows, _WIDTH))
    column = np.empty((rows, _WIDTH))
    all_inner = np.empty((rows, _WIDTH))
    terms_long = np.empty((rows, _WIDTH))
    terms = terms_long[:d]
    strands = np.empty((_STRANDS, d, _WIDTH))
    vector = np.empty((d, _WIDTH))
    roots = np.empty((d, _WIDTH))
    p = np.empty((2, d, _WIDTH))
    y = np.empty((2, d, _WIDTH))
    dp = np.empty((2, d, _WIDTH))
    dy = np.empty((2, d, _WIDTH))
    p2 = np.empty((2, d, _WIDTH))
    y2 = np.empty((2, d, _WIDTH))
    inverse = np.empty((2, d, _WIDTH))
    pushes = np.empty((2, d, _WIDTH))
    flows = np.empty((2, d, _WIDTH))
    goals = np.empty((2, d, _WIDTH))
    inverse_diagonal = np.empty((d, _WIDTH))
    difference = np.empty((d, _WIDTH))
    tilt = np.empty((d, _WIDTH))
    tilted = np.empty((d, _WIDTH))
    right = np.empty((d, _WIDTH))
    solved = np.empty((d, _WIDTH))
    at = np.empty((d, _WIDTH))
    along = np.empty((d, _WIDTH))
    gradients = np.empty((d, _WIDTH))
    best = np.empty((d, _WIDTH))
    slack = np.empty(_WIDTH)
    price = np.empty(_WIDTH)
    dslack = np.empty(_WIDTH)
    dprice = np.empty(_WIDTH)
    slack2 = np.empty(_WIDTH)
    price2 = np.empty(_WIDTH)
    gaps = np.empty(_WIDTH)
    best_gaps = np.empty(_WIDTH)
    shares = np.empty(_WIDTH)
    lengths = np.empty(_WIDTH)
    now = np.empty(_WIDTH)
    total = np.empty(_WIDTH)
    yields = np.empty(_WIDTH)
    ratio = np.empty(_WIDTH)
    bending = np.empty(_WIDTH)
    before = np.empty(_WIDTH)
    target = np.empty(_WIDTH)
    last_goals = np.empty(_WIDTH)
    is_going = np.empty(_WIDTH, dtype=np.bool_)
    is_short = np.empty(_WIDTH, dtype=np.bool_)
    counts = np.empty(_WIDTH, dtype=np.int64)
    apart = radius / (2 * d + 1)
    for group in range(0, num_voters, _WIDTH):
        lanes = min(_WIDTH, num_voters - group)
        n = 0
        for l in range(lanes):
            n = max(n, lasts[group + l] - firsts[group + l])
        records = all_records[:n]
        scaled = all_scaled[:n]
        factors = all_factors[:n, :n] if by_records else all_factors
        inner = all_inner[:n]
        records[...] = 0.0
        at[...] = 0.0
        for l in range(lanes):
            first = firsts[group + l]
            for j in range(lasts[group + l] - first):
                for k in range(d):
                    records[j, k, l] = differences[first + j, k]
            if has_start:
                for k in range(d):
                    at[k, l] = start[group + l, k]
        for l in range(_WIDTH):
            is_going[l] = l < lanes
            best_gaps[l] = np.inf
            counts[l] = 0
            shares[l] = 1.0
        best[...] = 0.0
        if has_start:
            _descend(records, at, erfcx, terms, slopes, curvatures, strands, gradients)
            _gap(at, gradients, radius, terms, gaps)
            for l in range(_WIDTH):
                if is_going[l]:
                    if gaps[l] < best_gaps[l]:
                        best_gaps[l] = gaps[l]
                        for k in range(d):
                            best[k, l] = at[k, l]
                    is_going[l] = gaps[l] > tolerance and gaps[l] < np.inf
                steepest = abs(gradients[0, l])
                for k in range(1, d):
                    steepest = _greater(abs(gradients[k, l]), steepest)
                share = math.sqrt(gaps[l] / (2 * radius * steepest))
                shares[l] = share if share < 1 else 1.0
        for k in range(d):
            for l in range(_WIDTH):
                terms[k, l] = abs(at[k, l])
        _add_features(terms, slack)
        for l in range(_WIDTH):
            left = _greater(radius - slack[l], 0.0)
            slack[l] = left + shares[l] * (apart - left)
        for k in range(d):
            for l in range(_WIDTH):
                center = at[k, l]
                above, below = _greater(center, 0.0), _greater(-center, 0.0)
                p[0, k, l] = above + shares[l] * (apart - above)
                p[1, k, l] = below + shares[l] * (apart - below)
                at[k, l] = p[0, k, l] - p[1, k, l]
        _descend(records, at, erfcx, terms, slopes, curvatures, strands, gradients)
        for l in range(_WIDTH):
            steepest = abs(gradients[0, l])
            for k in range(1, d):
                steepest = _greater(abs(gradients[k, l]), steepest)
            price[l] = (1 + shares[l]) * steepest
            for k in range(d):
                y[0, k, l] = price[l] + gradients[k, l]
                y[1, k, l] = price[l] - gradients[k, l]
        for iteration in range(max_iterations + 1):
            _gap(at, gradients, radius, terms, gaps)
            num_going = 0
            for l in range(_WIDTH):
                if is_going[l]:
                    if gaps[l] < best_gaps[l]:
                        best_gaps[l] = gaps[l]
                        for k in range(d):
                            best[k, l] = at[k, l]
                    counts[l] = iteration
                    is_going[l] = gaps[l] > tolerance and gaps[l] < np.inf
                    if is_going[l]:
                        num_going += 1
            if num_going == 0 or iteration == max_iterations:
                break
            # The system.
            for k in range(d):
                for l in range(_WIDTH):
                    inverse[0, k, l] = p[0, k, l] / y[0, k, l]
                    inverse[1, k, l] = p[1, k, l] / y[1, k, l]
                    inverse_diagonal[k, l] = inverse[0, k, l] + inverse[1, k, l]
                    difference[k, l] = inverse[0, k, l] - inverse[1, k, l]
                    tilt[k, l] = difference[k, l] / inverse_diagonal[k, l]
            _prepare(
                by_records, records, curvatures, inverse_diagonal, scaled, factors, roots,
                terms_long if not by_records else terms, column, vector,
            )
            for l in range(_WIDTH):
                ratio[l] = price[l] / slack[l]
                last_goals[l] = 0.0
            goals[...] = 0.0
            for phase in range(2):
                for k in range(d):
                    for l in range(_WIDTH):
                        pushes[0, k, l] = goals[0, k, l] / p[0, k, l]
                        pushes[1, k, l] = goals[1, k, l] / p[1, k, l]
                        flows[0, k, l] = ((-gradients[k, l] - price[l]) + pushes[0, k, l]) * inverse[0, k, l]
                        flows[1, k, l] = ((gradients[k, l] - price[l]) + pushes[1, k, l]) * inverse[1, k, l]
                        right[k, l] = (flows[0, k, l] - flows[1, k, l]) / inverse_diagonal[k, l]
                _solve(
                    by_records, scaled, factors, roots, inverse_diagonal, right, terms, vector, inner, strands, solved
                )
                if phase == 0:
                    _solve(
                        by_records, scaled, factors, roots, inverse_diagonal, tilt, terms, vector, inner, strands,
                        tilted,
                    )
                    for k in range(d):
                        for l in range(_WIDTH):
                            terms[k, l] = inverse_diagonal[k, l] - difference[k, l] * (
                                tilt[k, l] - tilted[k, l] / inverse_diagonal[k, l]
                            )
                    _add_features(terms, yields)
                for k in range(d):
                    for l in range(_WIDTH):
                        terms[k, l] = (flows[0, k, l] + flows[1, k, l]) - difference[k, l] * (
                            right[k, l] - solved[k, l] / inverse_diagonal[k, l]
                        )
                _add_features(terms, total)
                for l in range(_WIDTH):
                    dprice[l] = (last_goals[l] / slack[l] - price[l] + ratio[l] * total[l]) / (
                        1 + ratio[l] * yields[l]
                    )
                for k in range(d):
                    for l in range(_WIDTH):
                        move = solved[k, l] - dprice[l] * tilted[k, l]
                        bend = right[k, l] - dprice[l] * tilt[k, l] - move / inverse_diagonal[k, l]
                        up = (flows[0, k, l] - dprice[l] * inverse[0, k, l]) - bend * inverse[0, k, l]
                        down = (flows[1, k, l] - dprice[l] * inverse[1, k, l]) + bend * inverse[1, k, l]
                        is_first = inverse[0, k, l] > inverse[1, k, l]
                        up2 = move + down if is_first else up
                        down2 = down if is_first else up - move
                        dp[0, k, l] = up2
                        dp[1, k, l] = down2
                        dy[0, k, l] = pushes[0, k, l] - y[0, k, l] - up2 / inverse[0, k, l]
                        dy[1, k, l] = pushes[1, k, l] - y[1, k, l] - down2 / inverse[1, k, l]
                        at[k, l] = bend * move
                        terms[k, l] = up2 + down2
                _add_features(terms, dslack)
                _add_features(at, bending)
                for l in range(_WIDTH):
                    dslack[l] = -dslack[l]
                    bending[l] = _greater(bending[l], 0.0)
                _reach(p, y, slack, price, dp, dy, dslack, dprice, lengths)
                if phase == 0:
                    for l in range(_WIDTH):
                        lengths[l] = _less(lengths[l], 1.0)
                        target[l] = 0.0
                    for k in range(d):
                        for l in range(_WIDTH):
                            terms[k, l] = p[0, k, l] * y[0, k, l] + p[1, k, l] * y[1, k, l]
                            at[k, l] = (p[0, k, l] + lengths[l] * dp[0, k, l]) * (
                                y[0, k, l] + lengths[l] * dy[0, k, l]
                            ) + (p[1, k, l] + lengths[l] * dp[1, k, l]) * (y[1, k, l] + lengths[l] * dy[1, k, l])
                            target[l] = _greater(
                                _greater(
                                    abs((gradients[k, l] + price[l]) - y[0, k, l]),
                                    abs((-gradients[k, l] + price[l]) - y[1, k, l]),
                                ),
                                target[l],
                            )
                    _add_features(terms, now)
                    _add_features(at, total)
                    for l in range(_WIDTH):
                        now[l] = (now[l] + slack[l] * price[l]) / (2 * d + 1)
                        then = (
                            total[l] + (slack[l] + lengths[l] * dslack[l]) * (price[l] + lengths[l] * dprice[l])
                        ) / (2 * d + 1)
                        falls = then / now[l]
                        target[l] = _greater(falls * falls * then, _MISFIT_SHARE * radius * target[l] / (2 * d + 1))
                        now[l] = _greater(now[l], target[l])
                        last_goals[l] = target[l] - _less(_greater(dslack[l] * dprice[l], -now[l]), now[l])
                    for side in range(2):
                        for k in range(d):
                            for l in range(_WIDTH):
                                goals[side, k, l] = target[l] - _less(
                                    _greater(dp[side, k, l] * dy[side, k, l], -now[l]), now[l]
                                )
            # The walk.
            for k in range(d):
                for l in range(_WIDTH):
                    along[k, l] = dp[0, k, l] - dp[1, k, l]
                    terms[k, l] = gradients[k, l] * along[k, l]
            _add_features(terms, before)
            for l in range(_WIDTH):
                lengths[l] = _less(_SHARE * lengths[l], 1.0)
            for shortening in range(_MOST_SHORTENINGS + 1):
                for side in range(2):
                    for k in range(d):
                        for l in range(_WIDTH):
                            p2[side, k, l] = p[side, k, l] + lengths[l] * dp[side, k, l]
                            y2[side, k, l] = y[side, k, l] + lengths[l] * dy[side, k, l]
                for k in range(d):
                    for l in range(_WIDTH):
                        at[k, l] = p2[0, k, l] - p2[1, k, l]
                _descend(records, at, erfcx, terms, slopes, curvatures, strands, gradients)
                if shortening == _MOST_SHORTENINGS:
                    break
                for k in range(d):
                    for l in range(_WIDTH):
                        terms[k, l] = gradients[k, l] * along[k, l]
                _add_features(terms, total)
                any_short = False
                for l in range(_WIDTH):
                    rise = lengths[l] * (total[l] - before[l])
                    is_short[l] = is_going[l] and rise > (
                        _MOST_BENDING * lengths[l] * lengths[l] * bending[l] + _SHARE_OF_GAP * gaps[l]
                    )
                    any_short = any_short or is_short[l]
                if not any_short:
                    break
                for l in range(_WIDTH):
                    if is_short[l]:
                        lengths[l] *= _SHORTENING
            for l in range(_WIDTH):
                slack[l] = slack[l] + lengths[l] * dslack[l]
                price[l] = price[l] + lengths[l] * dprice[l]
            p, p2 = p2, p
            y, y2 = y2, y
        for l in range(lanes):
            for k in range(d):
                points_out[group + l, k] = best[k, l]
            gaps_out[group + l] = best_gaps[l]
            iterations_out[group + l] = counts[l]


def fit_block(
    differences: FloatArray,
    offsets: IntArray,
    voters: IntArray,
    *,
    by_records: bool,
    radius: float,
    tolerance: float,
    max_iterations: int,
    start: FloatArray | None,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return points, gaps and numbers of steps of some voters."""
    num_features = differences.shape[1]
    points = np.empty((len(voters), num_features))
    gaps = np.empty(len(voters))
    num_iterations = np.empty(len(voters), dtype=np.int64)
    _fit(
        np.ascontiguousarray(differences), offsets[voters], offsets[voters + 1], by_records, float(radius),
        float(tolerance), int(max_iterations),
        np.empty((0, num_features)) if start is None else np.ascontiguousarray(start[voters]),
        start is not None, _ERFCX, points, gaps, num_iterations,
    )
    return points, gaps, num_iterations
