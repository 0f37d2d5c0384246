"""Quadrature rules: finite mixtures with the moments of a distribution on [0, 1].

A rule with enough nodes has the same mean of a polynomial as the distribution. All weights are positive and are stored
as logarithms, so that sums over nodes lose no digits.

There are two rules. The Gauss-Legendre rule is for densities that are polynomials, or nearly (`hyper_normal`). The
Gauss rule is for any distribution. It is computed from the canonical moments p_1, p_2, …: p_j is the relative position
of the j-th moment in the interval that the earlier moments allow. The coefficients of Stieltjes' continued fraction are
ζ_j = (1 − p_(j−1))·p_j, and those of the recurrence of orthogonal polynomials are ζ_2j + ζ_(2j+1) and ζ_(2j−1)·ζ_2j.

Source: Dette and Studden (1997), The Theory of Canonical Moments, Sections 1.3 and 2.2 to 2.3; Golub and Welsch (1969)
for the nodes.
"""

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import scipy as sp

from ..arrays import FloatArray
from .logarithms import log_of

# Each Newton step doubles the number of correct digits. The first guess has an error of 4 %; the fifth step changes
# only the last bits.
_NEWTON_STEPS: Final = 5
# Polynomials vary by hundreds of orders of magnitude over a rule's nodes; beyond this size they are scaled down.
_LARGE: Final = 2.0**300


class Rule(NamedTuple):
    """Nodes t on [0, 1], with 1 − t, and the logarithms of their weights, which sum to 1; shape (n,) each."""

    places: FloatArray
    complements: FloatArray
    log_weights: FloatArray


def num_nodes_for(degree: int) -> int:
    """Return the number of nodes for a polynomial; n nodes are exact up to degree 2n − 1.

    It is rounded up to one of a few numbers, so that rules can be cached and shared.
    """
    least = degree // 2 + 1
    step = 1 << max(0, least.bit_length() - 3)
    return -(-least // step) * step


def legendre_rule(num_nodes: int) -> Rule:
    """Return the Gauss-Legendre rule on [0, 1], each complement precise by itself."""
    half, half_weights = _legendre(num_nodes)
    mirrored = slice(None, num_nodes // 2)  # for an odd number, the middle node is its own mirror image
    places = np.concatenate([half, 1.0 - half[mirrored]])
    complements = np.concatenate([1.0 - half, half[mirrored]])
    return Rule(places, complements, log_of(np.concatenate([half_weights, half_weights[mirrored]])))


def gauss_rule(canonical: Sequence[float]) -> Rule:
    """Return the rule of n nodes for the first 2n − 1 canonical moments, which are in (0, 1).

    Each weight is 1/Σ q_j(t)² over the orthonormal polynomials q_j, a sum of positive terms. Nodes above one half are
    computed from the mirrored law, whose odd canonical moments are 1 − p_j. So 1 − t is as accurate near 1 as t is near
    0.
    """
    moments = np.array(canonical, dtype=np.float64)
    mirrored = moments.copy()
    mirrored[0::2] = 1.0 - mirrored[0::2]
    places, log_weights = _gauss_half(moments)
    complements, log_weights_of_complements = (numbers[::-1] for numbers in _gauss_half(mirrored))
    is_low = places <= 0.5  # noqa: PLR2004  the middle
    log_weights = np.where(is_low, log_weights, log_weights_of_complements)
    total = float(np.sum(sp.special.expm1(log_weights) + 1.0))
    return Rule(
        np.where(is_low, places, 1.0 - complements),
        np.where(is_low, 1.0 - places, complements),
        log_weights - log_of(np.array(total)),
    )


def _gauss_half(canonical: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a rule's nodes, ascending, and the logarithms of its weights, both accurate below one half.

    The matrix of the recurrence is B·Bᵀ, where B has the two diagonals √ζ_(2j+1) and √ζ_2j. So the nodes are squares of
    the singular values of B, which are accurate even if they are small.
    """
    coefficients = np.concatenate([[0.0], canonical[:1], (1.0 - canonical[:-1]) * canonical[1:]])  # ζ_0 = 0, ζ_1, …
    roots = np.sqrt(coefficients[1:])
    values: FloatArray = np.linalg.svd(np.diag(roots[0::2]) + np.diag(roots[1::2], 1), compute_uv=False)
    places = np.minimum(values[::-1] ** 2, 1.0)
    diagonal, off_diagonal = coefficients[0::2] + coefficients[1::2], roots[:-1:2] * roots[1::2]
    previous, current = np.zeros_like(places), np.ones_like(places)
    squares, log_scale = np.ones_like(places), np.zeros_like(places)
    for number, slope in enumerate(off_diagonal.tolist()):
        following = (
            (places - diagonal[number]) * current - (off_diagonal[number - 1] if number else 0.0) * previous
        ) / slope
        previous, current = current, following
        squares = squares + current * current
        factors = np.where(squares > _LARGE, 1.0 / _LARGE, 1.0)
        previous, current, squares = previous * np.sqrt(factors), current * np.sqrt(factors), squares * factors
        log_scale = log_scale - log_of(factors)
    return places, -log_of(squares) - log_scale


def canonical_moments(moments: Sequence[Fraction]) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return the canonical moments p_j of raw moments c_1, c_2, … of a law on [0, 1].

    Each p_j comes with the least and the greatest c_j that the earlier moments allow. The list ends at the first p_j
    that is not in (0, 1). The series Σ c_j z^j is 1/(1 − ζ_1 z/(1 − ζ_2 z/(…))); each reciprocal yields a coefficient.
    """
    intervals: list[tuple[Fraction, Fraction, Fraction]] = []
    series = [Fraction(1), *moments]
    width, previous = Fraction(1), Fraction(0)
    for moment in moments:
        inverse = _reciprocal(series)
        coefficient = -inverse[1]
        canonical = coefficient / (1 - previous)
        least = moment - canonical * width
        intervals.append((canonical, least, least + width))
        if not 0 < canonical < 1:
            break
        series = [-coefficient_below / coefficient for coefficient_below in inverse[1:]]
        width *= canonical * (1 - canonical)
        previous = canonical
    return intervals


def _reciprocal(series: Sequence[Fraction]) -> list[Fraction]:
    """Return the coefficients of 1/f for a series that begins with 1."""
    inverse = [Fraction(1)]
    for degree in range(1, len(series)):
        inverse.append(-sum((series[j] * inverse[degree - j] for j in range(1, degree + 1)), Fraction()))
    return inverse


@functools.lru_cache(maxsize=64)
def _legendre(num_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Return the nodes t ≤ 1/2 of the Gauss-Legendre rule on [0, 1], ascending, and their weights.

    The other nodes are 1 − t, with the same weights. This is Newton's method for P_n(1 − 2t), for all nodes at once.
    The recurrence is for differences of consecutive polynomials, so that small t are accurate. It uses only basic
    arithmetic, so that its bits are the same on every processor.

    Source: Press et al. (2007), Numerical Recipes, Section 4.6.1, for the method and the first guess.
    """
    places = np.arange(1, (num_nodes + 1) // 2 + 1, dtype=np.float64)
    angles = (180.0 / (2 * num_nodes + 1)) * (2.0 * places - 0.5)  # in degrees
    sines = sp.special.sindg(angles / 2)
    nodes = sines * sines
    weights = np.ones_like(nodes)
    for _ in range(_NEWTON_STEPS):
        values = np.ones_like(nodes)  # P_0
        steps = np.zeros_like(nodes)  # P_j − P_(j−1)
        for degree in range(num_nodes):
            # (j + 1)(P_(j+1) − P_j) = j (P_j − P_(j−1)) − (2j + 1)(1 − x) P_j, with 1 − x = 2t
            steps = (degree * steps - (4 * degree + 2) * (nodes * values)) / (degree + 1)
            values = values + steps
        # (1 − x²) P_n' = n (P_(n−1) − x P_n), with 1 − x² = 4t(1 − t)
        curve = 4.0 * nodes * (1.0 - nodes)
        slopes = num_nodes * (2.0 * nodes * values - steps) / curve
        # The weight at a root is 2/((1 − x²) P_n'²) on [−1, 1], and half of this on [0, 1].
        weights = 1.0 / (curve * slopes * slopes)
        changes = values / (2.0 * slopes)
        if num_nodes % 2:
            changes[-1] = 0.5 - nodes[-1]  # by symmetry
        nodes = nodes + changes
    return nodes, weights / (2.0 * float(np.sum(weights)) - (float(weights[-1]) if num_nodes % 2 else 0.0))
