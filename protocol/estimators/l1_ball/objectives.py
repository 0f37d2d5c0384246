"""The functions that the interior point method minimizes, with their gradients and Newton systems.

All are convex. The last axis of an array has the functions ("lanes"), which are independent. A Newton system is (H +
D)·x = r with the Hessian H and a positive diagonal D. It is transformed so that all eigenvalues are at least 1. So its
factorization cannot fail, even if H is singular.

Source: the probit likelihood is equation (3) of the paper on moral preferences; reading M10.
"""

import math
from typing import Final, Protocol, TypeAlias

import numpy as np
from scipy.special import erfcx

from ...arrays import FloatArray
from .lanes import factorize, solve_factorized, sum_over_features, sum_over_records

MaskArray: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

_SQRT_HALF: Final = math.sqrt(0.5)
_SQRT_TWO_OVER_PI: Final = math.sqrt(2 / math.pi)
# Below this z, the curvature of −ln Φ, z·h + h², differs from 1 by less than 1e-6, and soon is lost in rounding.
_FLAT_BELOW: Final = -1e3


class ConvexFunctions(Protocol):
    """Some convex functions of d variables, one for each lane."""

    def descend(self, points: FloatArray) -> FloatArray:
        """Return the gradients at some points, shape (d, lanes), and remember the curvature there."""
        ...

    def factorize(self, inverse_diagonal: FloatArray) -> None:
        """Prepare the systems H + D at the points given last, from 1/D above 0, shape (d, lanes)."""
        ...

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the solutions of the systems prepared last, for right-hand sides of shape (number, d, lanes)."""
        ...

    def keep(self, lanes: MaskArray) -> None:
        """Forget all lanes but these, and keep what is remembered of the curvature there."""
        ...


def inverse_mills_ratios(arguments: FloatArray) -> FloatArray:
    """Return φ(z)/Φ(z), the derivative of ln Φ(z), without a quotient of two numbers that underflow."""
    return _SQRT_TWO_OVER_PI / np.asarray(erfcx(arguments * -_SQRT_HALF), dtype=np.float64)


def probit_derivatives(arguments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return h(z), by which ln Φ rises, and h(z)·(h(z) + z) in [0, 1], by which its rise falls off."""
    slopes = inverse_mills_ratios(arguments)
    curvatures = slopes * (slopes + arguments)
    np.clip(curvatures, 0.0, 1.0, out=curvatures)
    curvatures[arguments < _FLAT_BELOW] = 1.0
    return slopes, curvatures


class _Probit(ConvexFunctions):
    """−Σ_j ln Φ(β·V_j), V of shape (n, d, lanes). Rows of zeros are missing records, or records without information."""

    def __init__(self, differences: FloatArray) -> None:
        self._hold(differences, np.empty((len(differences), differences.shape[-1])))

    def _hold(self, differences: FloatArray, curvatures: FloatArray) -> None:
        """Take these differences, and make room for their systems."""
        self._differences, self._curvatures = differences, curvatures
        self._terms, self._scaled = np.empty_like(differences), np.empty_like(differences)

    def descend(self, points: FloatArray) -> FloatArray:
        """Return −Σ_j h(β·V_j)·V_j with h = φ/Φ, and remember the curvature of each record's term."""
        np.multiply(self._differences, points, out=self._terms)
        slopes, self._curvatures = probit_derivatives(sum_over_features(self._terms))
        np.multiply(self._differences, slopes[:, None], out=self._terms)
        return -sum_over_records(self._terms)

    def keep(self, lanes: MaskArray) -> None:
        self._hold(np.compress(lanes, self._differences, axis=-1), np.compress(lanes, self._curvatures, axis=-1))


class ProbitByRecords(_Probit):
    """−Σ_j ln Φ(β·V_j) for functions with fewer records than features: its systems have the size of the records.

    By Woodbury's identity (VᵀWV + D)⁻¹ = D⁻¹ − D⁻¹UᵀK⁻¹UD⁻¹ with U = W^½·V and K = 1 + U·D⁻¹·Uᵀ.
    """

    def _hold(self, differences: FloatArray, curvatures: FloatArray) -> None:
        super()._hold(differences, curvatures)
        num_records, _, lanes = differences.shape
        self._factors = np.zeros((num_records, num_records, lanes))

    def factorize(self, inverse_diagonal: FloatArray) -> None:
        """Prepare K = 1 + U·D⁻¹·Uᵀ, whose size is the number of records."""
        self._inverse_diagonal = inverse_diagonal
        np.multiply(self._differences, np.sqrt(self._curvatures)[:, None], out=self._scaled)
        for record in range(len(self._scaled)):
            terms = self._terms[: record + 1]
            np.multiply(self._scaled[: record + 1], self._scaled[record] * inverse_diagonal, out=terms)
            self._factors[record, : record + 1] = sum_over_features(terms)
            self._factors[record, record] += 1.0
        factorize(self._factors)

    def solve(self, right: FloatArray) -> FloatArray:
        inner = np.empty((len(right), len(self._scaled), right.shape[-1]))
        for side, column in enumerate(right):
            np.multiply(self._scaled, column * self._inverse_diagonal, out=self._terms)
            inner[side] = sum_over_features(self._terms)
        solve_factorized(self._factors, inner)
        solutions = np.empty_like(right)
        for side, column in enumerate(right):
            np.multiply(self._scaled, inner[side][:, None], out=self._terms)
            np.subtract(column, sum_over_records(self._terms), out=solutions[side])
        solutions *= self._inverse_diagonal
        return solutions


class _FeatureSystem:
    """(H + D)·x = r by D^(−½)·H·D^(−½) + 1, of the size of the features."""

    def __init__(self, num_features: int, lanes: int) -> None:
        self._factors = np.zeros((num_features, num_features, lanes))
        self._roots = np.empty((num_features, lanes))

    def factorize(self, hessians: FloatArray, inverse_diagonal: FloatArray) -> None:
        """Prepare the systems of Hessians, shape (d, d, lanes), whose lower triangle is read."""
        self._roots = np.sqrt(inverse_diagonal)
        for feature, root in enumerate(self._roots):
            row = self._factors[feature, : feature + 1]
            np.multiply(hessians[feature, : feature + 1], self._roots[: feature + 1], out=row)
            row *= root
            row[feature] += 1.0
        factorize(self._factors)

    def solve(self, right: FloatArray) -> FloatArray:
        """Solve the systems that were prepared last. See `ConvexFunctions.solve`."""
        solutions = right * self._roots
        solve_factorized(self._factors, solutions)
        solutions *= self._roots
        return solutions


class ProbitByFeatures(_Probit):
    """−Σ_j ln Φ(β·V_j) for functions of at least as many records as features: systems of the size of the features."""

    def _hold(self, differences: FloatArray, curvatures: FloatArray) -> None:
        super()._hold(differences, curvatures)
        _, num_features, lanes = differences.shape
        self._hessians = np.empty((num_features, num_features, lanes))
        self._system = _FeatureSystem(num_features, lanes)

    def factorize(self, inverse_diagonal: FloatArray) -> None:
        """Prepare H + D with H = VᵀWV, W being the curvatures that were remembered."""
        np.multiply(self._differences, self._curvatures[:, None], out=self._scaled)
        for feature in range(len(inverse_diagonal)):
            terms = self._terms[:, : feature + 1]
            np.multiply(self._differences[:, : feature + 1], self._scaled[:, None, feature], out=terms)
            self._hessians[feature, : feature + 1] = sum_over_records(terms)
        self._system.factorize(self._hessians, inverse_diagonal)

    def solve(self, right: FloatArray) -> FloatArray:
        return self._system.solve(right)


class Quadratics(ConvexFunctions):
    """½·βᵀHβ − c·β, c of shape (d, lanes), and H symmetric and positive semidefinite, of shape (d, d, lanes)."""

    def __init__(self, linear: FloatArray, hessians: FloatArray) -> None:
        self._linear = linear
        self._hessians = hessians
        self._system = _FeatureSystem(*linear.shape)

    def descend(self, points: FloatArray) -> FloatArray:
        """Return the gradients Hβ − c; the curvature H is the same everywhere."""
        return sum_over_features(self._hessians * points) - self._linear

    def factorize(self, inverse_diagonal: FloatArray) -> None:
        self._system.factorize(self._hessians, inverse_diagonal)

    def solve(self, right: FloatArray) -> FloatArray:
        return self._system.solve(right)

    def keep(self, lanes: MaskArray) -> None:
        self._linear = np.compress(lanes, self._linear, axis=-1)
        self._hessians = np.compress(lanes, self._hessians, axis=-1)
        self._system = _FeatureSystem(*self._linear.shape)
