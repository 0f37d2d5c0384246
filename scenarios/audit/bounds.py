"""Lower bounds on what tells two neighbors apart: from counts of events, or from finite laws.

An event E that happened so often in independent outputs of either neighbor gives, by Clopper and Pearson's intervals,
a statement about its two probabilities P and Q that holds with a stated confidence:

- ε ≥ ln(P/Q), since no ε-DP mechanism has P > e^ε·Q;
- δ ≥ P − e^ε·Q at a given ε;
- μ ≥ Φ⁻¹(P) − Φ⁻¹(Q) for Gaussian DP;
- the trade-off curve at type I error Q is at most 1 − P.

The intervals are exact: they hold for every number of outputs. A risk, the probability that a statement is false, is
shared by all statements that are made of the same outputs (Bonferroni); an event that was chosen by looking at other
outputs costs nothing.

Source: Clopper and Pearson (1934); Jagielski, Ullman and Oprea (2020), Section 3.2, and Nasr et al. (2023), Section 3,
for audits by them; Dong, Roth and Su (2022), Theorem 2.13, for μ; Kairouz, Oh and Viswanath (2015) for δ(ε).
"""

import math
from typing import Final

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtri, xlogy

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.elementary import exp

_ROUNDING: Final = 1e-12  # relative: far more than the error of scipy's inverse of the incomplete beta function
_LEAST_ERROR: Final = 1e-9
_GREATEST_EXPONENT: Final = 700.0
_MOST_NEEDED: Final = 1 << 50


def lower_limits(hits: IntArray, number: int, risk: float) -> FloatArray:
    """Return p so that an event of a smaller probability has had so many hits with probability `risk` at most.

    Hits are of so many outputs, ≥ 1; the risk, in (0, 1), is of each limit.

    Examples:
        >>> lower_limits(np.array([90]), 100, 0.05).round(3).tolist()
        [0.836]
    """
    limits = np.asarray(betaincinv(np.maximum(hits, 1), number - hits + 1, risk), dtype=np.float64)
    return np.where(hits > 0, limits * (1 - _ROUNDING), 0.0)


def upper_limits(hits: IntArray, number: int, risk: float) -> FloatArray:
    """Return p so that an event of a greater probability has had so few hits with probability `risk` at most.

    See `lower_limits`.

    Examples:
        >>> upper_limits(np.array([0]), 100, 0.05).round(3).tolist()
        [0.03]
    """
    # The complement's inverse, since 1 − risk would drop the digits of a small risk.
    limits = np.asarray(betainccinv(hits + 1, np.maximum(number - hits, 1), risk), dtype=np.float64)
    return np.where(hits < number, np.minimum(limits * (1 + _ROUNDING), 1.0), 1.0)


def epsilon_bounds(likely: IntArray, unlikely: IntArray, number: int, risk: float) -> FloatArray:
    """Return lower bounds on ε from events' hits, each with risk `risk`: ln(P/Q) at either interval's worse end.

    Args:
        likely: hits of events among outputs of the neighbor under which they should be more likely.
        unlikely: among outputs of the other.
        number: outputs of each neighbor.
        risk: in (0, 1), shared by the two intervals.

    Returns:
        In nats; at most 0 where nothing was told apart, −∞ where nothing was hit.

    Examples:
        >>> epsilon_bounds(np.array([900]), np.array([100]), 1_000, 0.01).round(3).tolist()
        [1.929]
    """
    low, high = lower_limits(likely, number, risk / 2), upper_limits(unlikely, number, risk / 2)
    return _log_of(low) - _log_of(high)


def delta_bounds(likely: IntArray, unlikely: IntArray, number: int, risk: float, epsilon: float) -> FloatArray:
    """Return lower bounds on δ at ε from events' hits: P − e^ε·Q, at least 0. See `epsilon_bounds`."""
    low, high = lower_limits(likely, number, risk / 2), upper_limits(unlikely, number, risk / 2)
    return np.maximum(low - _growth(epsilon) * high, 0.0)


def mu_bounds(likely: IntArray, unlikely: IntArray, number: int, risk: float) -> FloatArray:
    """Return lower bounds on Gaussian DP's μ from events' hits: Φ⁻¹(P) − Φ⁻¹(Q). See `epsilon_bounds`."""
    low, high = lower_limits(likely, number, risk / 2), upper_limits(unlikely, number, risk / 2)
    # Not both are infinite of one sign: hits of all and of none would have to be the same.
    distance = np.asarray(ndtri(low) - ndtri(high), dtype=np.float64)
    return np.where((low > 0) & (high < 1), distance, -np.inf)


def samples_needed(epsilon: float, risk: float) -> int | None:
    """Return how many outputs of each neighbor it takes to tell anything of a mechanism with this ε; None for too many.

    No ε-DP mechanism is told apart sooner than binary randomized response, whose expected hits are taken; any other
    needs more. At ε = ∞ it is the least number with which there is any statement at all.

    Examples:
        >>> samples_needed(1.0, 0.01), samples_needed(0.1, 0.01)
        (39, 2763)
    """
    share = 1 / (1 + exp(-epsilon)) if math.isfinite(epsilon) else 1.0

    def tells(number: int) -> bool:
        likely = math.floor(number * share)
        hits = np.array([likely], dtype=np.int64)
        return float(epsilon_bounds(hits, number - hits, number, risk)[0]) > 0

    enough = 1
    while not tells(enough):
        enough *= 2
        if enough > _MOST_NEEDED:
            return None
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if tells(middle) else (middle, enough)
    return enough


def exact_epsilon(laws: FloatArray) -> float:
    """Return ε of two laws, shape (2, outputs): the greatest |ln P/Q|; ∞ where only one is 0.

    Examples:
        >>> round(exact_epsilon(np.array([[0.75, 0.25], [0.25, 0.75]])), 4)
        1.0986
    """
    first, second = _possible(laws)
    if not len(first) or np.any((first > 0) != (second > 0)):
        return math.inf if len(first) else 0.0
    return float(np.abs(_log_of(first) - _log_of(second)).max())


def exact_delta(laws: FloatArray, epsilon: float) -> float:
    """Return δ(ε) of two laws: the greater of Σ max(0, P − e^ε·Q) and the same with P and Q exchanged.

    Examples:
        >>> exact_delta(np.array([[0.75, 0.25], [0.25, 0.75]]), 0.0)
        0.5
    """
    growth = _growth(epsilon)
    if math.isinf(growth):
        return max(float(one[other == 0].sum()) for one, other in (laws, laws[::-1]))
    return max(float(np.maximum(one - growth * other, 0.0).sum()) for one, other in (laws, laws[::-1]))


def exact_trade_off(laws: FloatArray) -> FloatArray:
    """Return the corners of the trade-off curve between two laws: type I error, least type II error.

    The laws are of the alternative and of the null hypothesis, shape (2, outputs); the corners, shape (corners, 2), go
    from (0, ·) to (1, 0). Between corners the curve is straight.

    Examples:
        >>> exact_trade_off(np.array([[0.75, 0.25], [0.25, 0.75]])).tolist()
        [[0.0, 1.0], [0.25, 0.25], [1.0, 0.0]]
    """
    first, second = _possible(laws)
    # P/(P + Q), which is finite where P/Q is not.
    order = np.argsort(-first / (first + second), kind="stable")
    errors = np.cumsum(second[order])
    power = np.cumsum(first[order])
    corners = np.column_stack([np.minimum(errors, 1.0), np.maximum(1 - power, 0.0)])
    return np.vstack([[0.0, 1.0], corners])


def exact_mu(laws: FloatArray) -> float:
    """Return the least μ for which two laws are as hard to tell apart as Gaussian DP's; ∞ where there is none.

    It is enough to look at the curve's corners, since the Gaussian curve is convex. Corners that are within 1e-9 of
    either end are left out: rounding could say anything of them, and what is left is a lower bound.

    Examples:
        >>> round(exact_mu(np.array([[0.75, 0.25], [0.25, 0.75]])), 3)
        1.349
    """
    if math.isinf(exact_epsilon(laws)) and exact_delta(laws, math.inf) > _LEAST_ERROR:
        return math.inf
    greatest = 0.0
    for pair in (laws, laws[::-1]):
        errors, misses = exact_trade_off(pair).T
        inner = (np.minimum(errors, misses) > _LEAST_ERROR) & (np.maximum(errors, misses) < 1 - _LEAST_ERROR)
        if np.any(inner):
            distance = np.asarray(ndtri(1 - misses[inner]) - ndtri(errors[inner]), dtype=np.float64)
            greatest = max(greatest, float(distance.max()))
    return greatest


def _log_of(numbers: FloatArray) -> FloatArray:
    """Return logarithms, −∞ for 0: scipy's, without numpy's warning."""
    return np.asarray(xlogy(1.0, numbers), dtype=np.float64)


def _possible(laws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two laws without the outputs that neither allows."""
    first: FloatArray
    second: FloatArray
    first, second = laws[:, (laws[0] > 0) | (laws[1] > 0)]
    return first, second


def _growth(epsilon: float) -> float:
    """Return e^ε; ∞ where it is no float."""
    return exp(epsilon) if epsilon < _GREATEST_EXPONENT else math.inf
