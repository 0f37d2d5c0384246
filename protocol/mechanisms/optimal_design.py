"""The best unbiased local randomizer of a number from a finite set: a convex program, solved with a certificate.

A report is a subset S of the k values, with P[S | v] = θ_S if v ∈ S, and θ_S·e^(−ε) otherwise. Its estimate is t_S. It
suffices to consider such extremal mechanisms (Kairouz, Oh and Viswanath, 2014): a column of an ε-LDP law with least
entry m lies in the cube [m, m·e^ε]^k, and is a mixture of the cube's corners. For reports with the same S, one
estimate, their mean, is best. With z_S = θ_S·t_S, and c_S(v) = 1 for v ∈ S and e^(−ε) otherwise, the program

    minimize    max_v, or the mean over a prior of,  Σ_S c_S(v)·z_S²/θ_S − v² subject to  Σ_S c_S(v)·θ_S = 1  and  Σ_S
    c_S(v)·z_S = v  for every v

is jointly convex. Its dual has numbers λ_v, μ_v and a distribution π_v (the prior, if one is given):

    maximize    Σ_v (λ_v·v − μ_v − π_v·v²) subject to  Λ_S² ≤ 4·A_S·M_S  for every S

where Λ_S = Σ_v c_S(v)·λ_v, A_S = Σ_v c_S(v)·π_v and M_S = Σ_v c_S(v)·μ_v. Every feasible point of the dual is a lower
bound on the variance of every unbiased ε-LDP mechanism: this is the certificate.

The constraints are cones. So the worst violation over all 2^k subsets is at a vertex of the zonotope of the points
(λ_v, π_v, μ_v), which has O(k²) vertices. So column generation is exact and takes polynomial time.

All arithmetic is elementwise or exactly rounded, without a library's dot product, so that both sides of a session and
every processor compute the same bits. Lengths are in units of half the range of the values, relative to its middle.
"""

import dataclasses
import decimal
import itertools
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, solve_positive_definite
from ..elementary import exp

_Subsets: TypeAlias = NDArray[np.bool_]
"""Subsets of the values: one row for each subset, one column for each value."""
_Numbers: TypeAlias = NDArray[Any]
"""Decimal numbers, since near the optimum, the barrier's second derivatives differ by more than a float's precision."""

_DIGITS: Final = 40
# The target for the duality gap: relative to the variance of a simple mechanism, and absolute in units of the range.
_RELATIVE_GAP: Final = 1e-9
_LEAST_GAP: Final = 1e-15
_GAP_OF_A_STEP: Final = 50
_MOST_NEWTON_STEPS: Final = 200
# The most rounds in which subsets are added; most programs need fewer than five. After the last round, the best
# solution so far is returned, and the certificate shows how far it may be from the optimum.
_MOST_ADDITIONS: Final = 24
# In the barrier's norm: a Newton step below the first number has converged; one above the second is damped.
_CONVERGED: Final = 1e-6
_FULL_STEP: Final = 0.25
# Inner products this small, relative to their factors, count as zero when subsets are distinguished.
_COLLINEAR: Final = 1e-9
_FEW: Final = 2


@dataclasses.dataclass(frozen=True)
class Design:
    """A solution of the program.

    Args:
        subsets: the subset of each report, Boolean, shape (reports, values).
        probabilities: θ, shape (reports,): P[report | value] for a value in the subset.
        estimates: t, shape (reports,): the estimate of each report.
        slopes: λ of the certificate, shape (values,), decimal numbers.
        prior: π of the certificate, shape (values,): the given prior, or that of the worst case.
        masses: μ of the certificate, shape (values,), raised so that every constraint holds.
    """

    subsets: _Subsets
    probabilities: FloatArray
    estimates: FloatArray
    slopes: _Numbers
    prior: _Numbers
    masses: _Numbers


@dataclasses.dataclass(frozen=True)
class _Dual:
    """A point of the dual: λ, μ and π, shape (values,) each; of a symmetric program those of the values above 0."""

    slopes: _Numbers
    masses: _Numbers
    prior: _Numbers

    def lift(self, height: Decimal) -> "_Dual":
        """Return the point with μ + height·π, which lowers the objective by `height`."""
        return _Dual(self.slopes, self.masses + height * self.prior, self.prior)

    def move(self, step: _Numbers, length: Decimal) -> "_Dual":
        """Return the point after a part of a step in λ, μ and, where it is free, π."""
        slopes, masses, *prior = (part * length for part in np.split(step, len(step) // len(self.slopes)))
        return _Dual(self.slopes + slopes, self.masses + masses, self.prior + prior[0] if prior else self.prior)


@dataclasses.dataclass(frozen=True)
class _Program:
    """One program. A symmetric one has a symmetric solution, with odd λ and even μ and π, so half of it is solved for.

    Args:
        x: all values.
        other: e^(−ε).
        is_free: whether π is a variable.
        is_symmetric: whether the program is invariant under changing the sign of every value.
    """

    x: _Numbers
    other: Decimal
    is_free: bool
    is_symmetric: bool

    @property
    def own_values(self) -> _Numbers:
        """The values that have variables of their own."""
        return self.x[len(self.x) // 2 :] if self.is_symmetric else self.x

    def coefficients(self, subsets: _Subsets) -> tuple[_Numbers, _Numbers]:
        """Return the coefficients of λ in Λ_S, and those of π and μ in A_S and M_S, a row for each subset."""
        columns = _columns(subsets, self.other)
        if not self.is_symmetric:
            return columns, columns
        half = len(self.x) // 2
        upper_columns, lower_columns = columns[:, half:], columns[:, :half][:, ::-1]
        return upper_columns - lower_columns, upper_columns + lower_columns

    def all_values(self, dual: _Dual) -> _Numbers:
        """Return λ, π and μ of all values, shape (values, 3)."""
        half = np.stack([dual.slopes, dual.prior, dual.masses], axis=1)
        if not self.is_symmetric:
            return half
        return np.concatenate([(half * np.array([Decimal(-1), Decimal(1), Decimal(1)]))[::-1], half])

    def objective(self, dual: _Dual) -> Decimal:
        """Return Σ_v (λ_v·v − μ_v − π_v·v²) over all values."""
        total = np.add.reduce(
            dual.slopes * self.own_values - dual.masses - dual.prior * self.own_values * self.own_values
        )
        return 2 * total if self.is_symmetric else total


def design(values: Sequence[float], *, epsilon: float, prior: Sequence[float] | None, typical: float) -> Design:
    """Solve the program.

    Args:
        values: at least two, increasing, the first −1 and the last 1.
        epsilon: > 0.
        prior: a probability for each value, summing to 1; None for the worst case.
        typical: the objective of a simple mechanism, which sets the scale of the gap.
    """
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        x = _numbers(values)
        prior_numbers = np.array([1 / Decimal(len(x))] * len(x)) if prior is None else _numbers(prior)
        is_symmetric = len(x) % 2 == 0 and bool(np.all(x == -x[::-1]) and np.all(prior_numbers == prior_numbers[::-1]))
        # With prior 0 the variance of a value would be unconstrained; a tiny prior keeps the program well posed.
        shares = np.array([max(share, Decimal("1e-18")) for share in prior_numbers.tolist()])
        program = _Program(x, Decimal(exp(-epsilon)), is_free=prior is None, is_symmetric=is_symmetric)
        number = len(program.own_values)
        start = np.array([Decimal(max(typical, _LEAST_GAP))] * number)
        dual = _Dual(0 * start, start, (shares / np.add.reduce(shares))[-number:])
        dual, subsets, sharpness, proof = _follow(program, dual, typical)
        if not program.is_free:  # the original prior, with its zeros
            proof = dataclasses.replace(proof, prior=prior_numbers[-number:])
            proof = proof.lift(_violations(program, proof)[0])
        odd, even = program.coefficients(subsets)
        slopes, priors, _, room = _subset_sums(dual, odd, even)
        probabilities, estimates = 4 * priors / (sharpness * room), slopes / (2 * priors)
        if is_symmetric:  # adds the mirror image of each subset
            subsets = np.concatenate([subsets, subsets[:, ::-1]])
            probabilities, estimates = np.tile(probabilities, 2), np.concatenate([estimates, -estimates])
        subsets, probabilities, estimates = _merge_subsets(subsets, probabilities, estimates)
        numbers = program.all_values(proof).T
    return Design(subsets, probabilities.astype(np.float64), estimates.astype(np.float64), *numbers)


def _merge_subsets(
    subsets: _Subsets, probabilities: _Numbers, estimates: _Numbers
) -> tuple[_Subsets, _Numbers, _Numbers]:
    """Return each subset once, with all of its probability and the mean of its estimates: a report for each."""
    merged, place = np.unique(subsets, axis=0, return_inverse=True)
    totals, sums = (np.array([Decimal(0)] * len(merged), dtype=np.object_) for _ in range(2))
    numbers = place.reshape(-1).tolist()
    for number, probability, estimate in zip(numbers, probabilities, estimates, strict=True):
        totals[number] += probability
        sums[number] += probability * estimate
    return merged, totals, sums / totals


def _follow(program: _Program, dual: _Dual, typical: float) -> tuple[_Dual, _Subsets, Decimal, _Dual]:
    """Return the point whose gap is the one aimed at, its subsets, the barrier's last sharpness, and the best proof."""
    bound, proof = Decimal("-Infinity"), dual
    subsets = _first_subsets(len(program.x))
    target = max(_RELATIVE_GAP * typical, _LEAST_GAP)
    gap = max(typical, 1.0)  # at the start, λ = 0, the gap is about the squares of the values
    additions = 0
    while True:
        odd, even = program.coefficients(subsets)
        sharpness = (2 * len(subsets) + len(program.own_values)) / Decimal(gap)
        dual = _center(program, dual, odd, even, sharpness)
        height, violations = _violations(program, dual)
        if program.objective(dual) - height > bound:
            bound, proof = program.objective(dual) - height, dual.lift(height)
        new = _new_subsets(violations, subsets)
        # Far from the optimum, many irrelevant subsets would seem to be missing, so none is added there.
        is_near = gap <= typical / _GAP_OF_A_STEP
        is_worth_it = len(new) and height > gap / 4  # the violation costs more than the barrier
        if is_near and is_worth_it and additions < _MOST_ADDITIONS:
            additions += 1
            subsets = np.concatenate([subsets, new])
            dual = dual.lift(2 * height)
            gap = max(gap, float(height))  # continue the path where the lifted point is close to it
        elif gap == target:
            return dual, subsets, sharpness, proof
        else:
            gap = max(gap / _GAP_OF_A_STEP, target)


def _numbers(values: Sequence[float]) -> _Numbers:
    return np.array([+Decimal(value) for value in values], dtype=np.object_)  # + rounds to the context's precision


def _columns(subsets: _Subsets, other: Decimal) -> _Numbers:
    """Return c_S(v), shape (subsets, values)."""
    return np.array([other, Decimal(1)], dtype=np.object_)[subsets.astype(np.int64)]


def _first_subsets(number: int) -> _Subsets:
    """Return all half-lines, every single value, and everything."""
    places = np.arange(number)
    lower_sets = [places < bound for bound in range(1, number)]
    upper_sets = [places >= bound for bound in range(1, number)]
    single = [places == place for place in range(1, number - 1)]
    return np.array([*lower_sets, *upper_sets, *single, places >= 0])


def _subset_sums(dual: _Dual, odd: _Numbers, even: _Numbers) -> tuple[_Numbers, _Numbers, _Numbers, _Numbers]:
    """Return Λ, A and M of each subset, and the room 4·A·M − Λ² in its constraint."""
    rows = ((odd, dual.slopes), (even, dual.prior), (even, dual.masses))
    slopes, priors, masses = (np.add.reduce(of.T * numbers[:, None], axis=0) for of, numbers in rows)
    return slopes, priors, masses, 4 * priors * masses - slopes * slopes


def _center(program: _Program, dual: _Dual, odd: _Numbers, even: _Numbers, sharpness: Decimal) -> _Dual:
    """Return the point that minimizes sharpness·(−objective) minus the logarithms of the slacks of all constraints.

    This is Newton's method from an interior point. The barrier is self-concordant, so damped steps stay in the interior
    and converge. `odd` has the coefficients of λ, `even` those of π and μ, both of shape (subsets, values).
    """
    x, number = program.own_values, len(program.own_values)
    coefficients = (odd, even, even)
    for _ in range(_MOST_NEWTON_STEPS):
        slopes, priors, masses, room = _subset_sums(dual, odd, even)
        of_subset = (-2 * slopes / room, 4 * priors / room, 4 * masses / room)
        pulls = (-sharpness * x, sharpness + 0 * x, sharpness * x * x - 1 / dual.prior)
        terms = zip(pulls, coefficients, of_subset, strict=True)
        gradient = np.concatenate([pull - np.add.reduce(c * of[:, None], axis=0) for pull, c, of in terms])
        hessian = _hessian(coefficients, of_subset, room)
        diagonal = np.arange(2 * number, 3 * number)
        hessian[diagonal, diagonal] += 1 / (dual.prior * dual.prior)
        if program.is_free:  # so that π stays a distribution, the last part of the step sums to 0
            ones = _numbers([0.0] * (2 * number) + [1.0] * number)
            solutions = solve_positive_definite(hessian, np.stack([gradient, ones], axis=1))
            shift = np.add.reduce(solutions[2 * number :, 0]) / np.add.reduce(solutions[2 * number :, 1])
            step = shift * solutions[:, 1] - solutions[:, 0]
        else:
            gradient = gradient[: 2 * number]
            step = -solve_positive_definite(hessian[: 2 * number, : 2 * number], gradient[:, None])[:, 0]
        decrement = max(-np.add.reduce(gradient * step), Decimal(0)).sqrt()
        dual = dual.move(step, Decimal(1) if decrement < _FULL_STEP else 1 / (1 + decrement))
        if decrement < _CONVERGED:
            break
    return dual


def _hessian(coefficients: Sequence[_Numbers], of_subset: Sequence[_Numbers], room: _Numbers) -> _Numbers:
    """Return the second derivatives of −Σ_S ln(4·A·M − Λ²), in blocks λ, μ, π.

    `coefficients` are those of λ, μ and π, each of shape (subsets, values). `of_subset` are the derivatives of the
    logarithm's argument with respect to Λ, M and A, each of shape (subsets,). `room` is 4·A·M − Λ², shape (subsets,).
    """
    number = coefficients[0].shape[1]
    bends = {(0, 0): 2 / room, (1, 2): -4 / room}
    hessian = np.empty((3 * number, 3 * number), dtype=np.object_)
    for row, column in itertools.combinations_with_replacement(range(3), 2):
        factor = of_subset[row] * of_subset[column] + bends.get((row, column), 0)
        weighted = coefficients[row] * factor[:, None]
        block = np.empty((number, number), dtype=np.object_)
        for place in range(number):
            block[place] = np.add.reduce(weighted[:, place, None] * coefficients[column], axis=0)
        hessian[row * number : (row + 1) * number, column * number : (column + 1) * number] = block
        hessian[column * number : (column + 1) * number, row * number : (row + 1) * number] = block.T
    return hessian


def _violations(program: _Program, dual: _Dual) -> tuple[Decimal, _Subsets]:
    """Return the height by which a point must be lifted to satisfy every constraint, and the subsets that require it.

    The height is the greatest (Λ² − 4·A·M)/(4·A²) over all subsets, if positive. For each height h, the constraint Λ² ≤
    4·A·(M + h·A) defines a convex cone, so the greatest violation is at a vertex of the zonotope.
    """
    numbers = program.all_values(dual).astype(np.float64)
    candidates = _zonotope_vertices(numbers)
    # With one row for each value, sums have the same order of terms on every processor.
    across = np.ascontiguousarray(np.where(candidates, 1.0, float(program.other)).T)
    slopes, priors, masses = (np.add.reduce(across * row[:, None], axis=0) for row in numbers.T)
    heights = (slopes * slopes - 4 * priors * masses) / (4 * priors * priors)
    # Floats select a few subsets; then forty digits compute their violations.
    nearest = candidates[np.argsort(-heights, kind="stable")[: 2 * candidates.shape[1]]]
    _, priors_of, _, room = _subset_sums(dual, *program.coefficients(nearest))
    exact_excess = -room / (4 * priors_of * priors_of)
    return max(Decimal(0), *exact_excess.tolist()), nearest[exact_excess > 0]


def _zonotope_vertices(generators: FloatArray) -> _Subsets:
    """Return subsets that include all vertices of the zonotope Σ_v [0, 1]·generators[v] in three dimensions.

    A vertex is {v : ⟨u, g_v⟩ > 0} for some direction u. As u varies, this set changes only where u is orthogonal to
    some generator g. The border of each set of directions with the same vertex contains a u that is orthogonal to two
    generators.
    """
    number = len(generators)
    vertices: list[_Subsets] = [np.ones((1, number), dtype=np.bool_), np.zeros((1, number), dtype=np.bool_)]
    first, second = (np.array(side) for side in zip(*itertools.combinations(range(number), 2), strict=True))
    directions = _cross(generators[first], generators[second])
    products = _inner(directions[:, None, :], generators[None, :, :])
    size = np.sqrt(_inner(directions, directions))[:, None] * np.sqrt(_inner(generators, generators))[None, :]
    is_zero = np.abs(products) <= _COLLINEAR * size
    pairs = np.arange(len(first))
    for sign in (1.0, -1.0):
        base = (sign * products > 0) & ~is_zero
        for with_first, with_second in itertools.product((False, True), repeat=2):
            subsets = base.copy()
            subsets[pairs, first] = with_first
            subsets[pairs, second] = with_second
            vertices.append(subsets)
        crowded = np.flatnonzero(is_zero.sum(axis=1) > _FEW).tolist()
        vertices += [
            _neighboring_subsets(base[p], directions[p], generators, np.flatnonzero(is_zero[p])) for p in crowded
        ]
    return np.unique(np.concatenate(vertices), axis=0)


def _neighboring_subsets(
    base: _Subsets, direction: FloatArray, generators: FloatArray, zeros: NDArray[np.intp]
) -> _Subsets:
    """Return the subsets of the directions next to one that is orthogonal to more than two generators."""
    vertices: list[_Subsets] = []
    for turn in _cross(np.broadcast_to(direction, (len(zeros), 3)), generators[zeros]):
        products = _inner(turn[None, :], generators[zeros])
        is_zero = np.abs(products) <= _COLLINEAR * np.abs(products).max(initial=0.0)
        for sign, is_inside in itertools.product((1.0, -1.0), (False, True)):
            subset = base.copy()
            subset[zeros] = np.where(is_zero, is_inside, sign * products > 0)
            vertices.append(subset[None, :])
    return np.concatenate(vertices)


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the cross products of rows, elementwise."""
    parts = [a[:, i] * b[:, j] - a[:, j] * b[:, i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.stack(parts, axis=1)


def _inner(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the inner products over the last axis of three, added in order."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def _new_subsets(candidates: _Subsets, subsets: _Subsets) -> _Subsets:
    keys = {row.tobytes() for row in subsets}
    return np.array([row for row in candidates if row.tobytes() not in keys], dtype=np.bool_).reshape(
        -1, subsets.shape[1]
    )
