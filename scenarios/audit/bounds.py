"""Lower bounds on how far two neighbors can be distinguished, from counts of events or from finite laws.

Counts of an event in independent outputs of each neighbor give Clopper-Pearson intervals for its probabilities P and Q.
They imply bounds that hold with a stated confidence:

- ε ≥ ln(P/Q), since no ε-DP mechanism has P > e^ε·Q;
- δ ≥ P − e^ε·Q at a given ε;
- μ ≥ Φ⁻¹(P) − Φ⁻¹(Q) for Gaussian DP;
- the trade-off curve at type I error Q is at most 1 − P.

The intervals are exact for every number of outputs. The risk is the probability that a bound is false. All bounds from
the same outputs share it (Bonferroni). Choosing the event by other outputs costs no part of it.

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
    """Return lower confidence limits for an event's probability from its number of hits (Clopper-Pearson).

    An event of smaller probability has this many hits with probability `risk` at most. `number` ≥ 1 counts the outputs.
    The risk, in (0, 1), applies to each limit separately.

    Examples:
        >>> lower_limits(np.array([90]), 100, 0.05).round(3).tolist()
        [0.836]
    """
    limits = np.asarray(betaincinv(np.maximum(hits, 1), number - hits + 1, risk), dtype=np.float64)
    return np.where(hits > 0, limits * (1 - _ROUNDING), 0.0)


def upper_limits(hits: IntArray, number: int, risk: float) -> FloatArray:
    """Return upper confidence limits for an event's probability from its number of hits (Clopper-Pearson).

    See `lower_limits`.

    Examples:
        >>> upper_limits(np.array([0]), 100, 0.05).round(3).tolist()
        [0.03]
    """
    # The complement's inverse, since 1 − risk would drop the digits of a small risk.
    limits = np.asarray(betainccinv(hits + 1, np.maximum(number - hits, 1), risk), dtype=np.float64)
    return np.where(hits < number, np.minimum(limits * (1 + _ROUNDING), 1.0), 1.0)


def epsilon_bounds(likely: IntArray, unlikely: IntArray, number: int, risk: float) -> FloatArray:
    """Return lower bounds on ε from events' hits: ln(P/Q) at the unfavorable ends of the two intervals.

    Args:
        likely: int64, hits of each event in outputs of the neighbor under which it should be more likely.
        unlikely: int64, the same for the other neighbor.
        number: number of outputs of each neighbor.
        risk: the risk of each bound, in (0, 1), shared by its two intervals.

    Returns:
        Bounds in nats; at most 0 if the event does not distinguish the neighbors, −∞ without hits.

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
    # The two terms are never infinite with the same sign: hits would be all and none at once.
    distance = np.asarray(ndtri(low) - ndtri(high), dtype=np.float64)
    return np.where((low > 0) & (high < 1), distance, -np.inf)


def samples_needed(epsilon: float, risk: float) -> int | None:
    """Return the number of outputs of each neighbor below which no bound is above 0 for this ε; None for too many.

    Binary randomized response is the ε-DP mechanism that is easiest to distinguish; its expected hits are used, and any
    other mechanism needs more. At ε = ∞ it is the least number that allows any bound.

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

    `laws`, shape (2, outputs), are those of the alternative and of the null hypothesis. The corners, shape (corners,
    2), go from (0, ·) to (1, 0). The curve is linear between corners.

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
    """Return the least μ for which two laws satisfy μ-Gaussian DP; ∞ if there is none.

    Only the trade-off curve's corners are compared, which suffices since the Gaussian curve is convex. Corners within
    1e-9 of either end are dropped, because rounding dominates there; the result is then a lower bound.

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
