"""Section 6.2.1's bounds on the error rate as printed, the bounds that hold, and the error itself (reading T8).

A worker's quality p is the probability of a right answer. An answer is ±1, the aggregated one is the sign of the
weighted sum, and log-odds weights ln(p/(1 − p)) are negative below ½. The paper folds all qualities into [0, ½], where
0 is the best worker and ½ the worst.

What is wrong with (6) and (7): with x = ±1 for a right or a wrong answer, Markov's inequality needs E[e^(−xw)], for
which they have (E[e^(−x)])^w. By Jensen's inequality that is too small wherever w < 0 or w > 1, hence for all folded
qualities, and only for weights in [0, 1] it is a bound. The right expectation, p·e^(−w) + (1 − p)·e^w, is 1 at
log-odds weights: so the method of (7), done right, bounds nothing. Half the weights give the same vote and the bound
Π 2√(p(1 − p)), which is Chernoff's, the best of this kind. Nor do (6) and (7) treat qualities p and 1 − p alike, as
the paper's folding supposes: the printed factor is .44 at p = ¼ and .95 at p = ¾.

(9) inherits all this, and so do (10) and (11): see `error_expansion`.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ....protocol.arrays import FloatArray
from ....protocol.elementary import exp

__all__ = [
    "MarkovBound",
    "checked_probabilities",
    "chernoff_bound",
    "exact_error",
    "fold",
    "least_markov_bound",
    "log_odds",
    "markov_bound",
    "mean_chernoff_bound",
    "perturbed_qualities",
    "printed_bound",
    "printed_factors",
]

# Weights are rounded to 2^-40 of the greatest, so that equal sums are found equal.
_GRID_BITS = 40
# Sums that are kept at once: some hundred megabytes.
_MAX_SUMS = 2**22


def log_odds(qualities: ArrayLike) -> FloatArray:
    """Return g(p) = ln(p/(1 − p)), the weights of (7); infinite at 0 and 1.

    Args:
        qualities: p, in [0, 1], any shape.

    Raises:
        ValueError: a quality is not in [0, 1].
    """
    return np.asarray(special.logit(checked_probabilities("qualities", qualities)), dtype=np.float64)


def fold(qualities: ArrayLike) -> FloatArray:
    """Return min(p, 1 − p): the quality in [0, ½] of a worker whose signed vote counts the same (Section 6.2.1).

    Args:
        qualities: p, in [0, 1], any shape.

    Raises:
        ValueError: a quality is not in [0, 1].
    """
    known = checked_probabilities("qualities", qualities)
    return np.minimum(known, 1 - known)


def printed_factors(qualities: ArrayLike, *, weight_of: Callable[[FloatArray], FloatArray] = log_odds) -> FloatArray:
    """Return G(p) = (p·e⁻¹ + (1 − p)·e)^g(p), a worker's factor in (6), and in (7) with log-odds.

    Args:
        qualities: p, in [0, 1], any shape.
        weight_of: g, the weight at a quality.

    Raises:
        ValueError: a quality is not in [0, 1].

    Source:
        Section 6.2.1, equations (6) and (7), as printed. Its product over workers is no bound: see the module.
    """
    known = checked_probabilities("qualities", qualities)
    base = known * exp(-1.0) + (1 - known) * exp(1.0)
    return _exp(weight_of(known) * special.xlogy(1.0, base))


def printed_bound(qualities: ArrayLike, *, weight_of: Callable[[FloatArray], FloatArray] = log_odds) -> float:
    """Return the right-hand side of (6), and of (7) with log-odds: Π G(p).

    For (9) the qualities are those after perturbation: see `perturbed_qualities`.

    Args:
        qualities: p, in [0, 1], shape (workers,).
        weight_of: g, the weight at a quality.

    Raises:
        ValueError: a quality is not in [0, 1].
    """
    return math.prod(printed_factors(qualities, weight_of=weight_of).tolist())


def markov_bound(qualities: ArrayLike, weights: ArrayLike, *, scale: float = 1.0) -> float:
    """Return Π (p·e^(−tw) + (1 − p)·e^(tw)) = E[e^(−tS)], which the error cannot exceed, ties counted as errors.

    S is the weighted sum of right answers less wrong ones. This is what (6) should say, for t = 1.

    Args:
        qualities: p, in [0, 1], shape (workers,).
        weights: w, finite, shape (workers,).
        scale: t > 0; all tw give the same vote, whatever t is.

    Raises:
        ValueError: a parameter or a shape is out of range.
    """
    known, held = _qualities_and_weights(qualities, weights)
    if not 0 < scale < math.inf:
        raise ValueError(f"scale must be finite and > 0, got {scale}")
    return exp(_log_markov_bound(known, held, scale))


@dataclasses.dataclass(frozen=True)
class MarkovBound:
    """The least of Markov's bounds over all scales of the weights.

    Args:
        value: the bound, at most 1.
        scale: where it is least; 0 if the workers are wrong more often than right by weight, with the bound 1.
    """

    value: float
    scale: float


def least_markov_bound(qualities: ArrayLike, weights: ArrayLike) -> MarkovBound:
    """Return the least `markov_bound` over t > 0 for given weights.

    At log-odds weights each factor is least at t = ½, and the bound is `chernoff_bound`.

    Args:
        qualities: p, in (0, 1), shape (workers,).
        weights: w, finite, not 0 everywhere, shape (workers,).

    Raises:
        ValueError: a parameter or a shape is out of range.
    """
    known, held = _qualities_and_weights(qualities, weights)
    if known.min() <= 0 or known.max() >= 1:
        raise ValueError(f"qualities must be in (0, 1), got {known.min()} to {known.max()}")
    if not np.any(held):
        raise ValueError("weights must not all be 0")
    # The bound's logarithm is convex in t, with the derivative Σ w·tanh(tw − ½ ln(p/(1 − p))).
    half = log_odds(known) / 2

    def slope(scale: float) -> float:
        return math.fsum((held * np.tanh(scale * held - half)).tolist())

    if slope(0.0) >= 0:
        return MarkovBound(1.0, 0.0)
    low, high = 0.0, 1.0
    while slope(high) < 0:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return MarkovBound(min(exp(_log_markov_bound(known, held, high)), 1.0), high)


def chernoff_bound(qualities: ArrayLike) -> float:
    """Return Π 2√(p(1 − p)), the bound that (7) should be: for votes with log-odds weights, ties counted as errors.

    Args:
        qualities: p, in [0, 1], shape (workers,).

    Raises:
        ValueError: a quality is not in [0, 1].

    Source:
        Chernoff (1952); reading T8.
    """
    known = checked_probabilities("qualities", qualities)
    return math.prod((2 * np.sqrt(known * (1 - known))).tolist())


def mean_chernoff_bound(qualities: ArrayLike, *, low: float, high: float) -> float:
    """Return the expectation of `chernoff_bound` after two-layer perturbation, for a server that knows all qualities.

    That is Π E[2√(p̂(1 − p̂))], with p̂ as in (8) and flip probabilities from U(low, high). The root is concave, so it is
    at most the one-layer bound at (low + high)/2: the paper's claim, in a form that holds. A real server must estimate
    the qualities after perturbation, and what that costs is not in here.

    Args:
        qualities: p before perturbation, in [0, 1], shape (workers,).
        low: a, in [0, b].
        high: b, in [a, 1].

    Raises:
        ValueError: a parameter is out of range.
    """
    if not 0 <= low <= high <= 1:
        raise ValueError(f"low and high must be 0 <= low <= high <= 1, got {low} and {high}")
    ends = [perturbed_qualities(qualities, np.float64(end)).tolist() for end in (low, high)]
    return math.prod(_mean_root(first, second) for first, second in zip(*ends, strict=True))


def perturbed_qualities(qualities: ArrayLike, flip_probabilities: ArrayLike) -> FloatArray:
    """Return p̂ = p + p^f·(1 − 2p), the qualities of flipped binary answers.

    Args:
        qualities: p, in [0, 1], any shape.
        flip_probabilities: p^f, in [0, 1], one for all or the same shape.

    Raises:
        ValueError: a probability is not in [0, 1].

    Source:
        Section 6.2.2, equation (8).
    """
    known = checked_probabilities("qualities", qualities)
    return known + checked_probabilities("flip_probabilities", flip_probabilities) * (1 - 2 * known)


def exact_error(qualities: ArrayLike, weights: ArrayLike, *, tie_error: float = 0.5) -> float:
    """Return the probability that independent workers' weighted vote on a binary question is wrong.

    The law of the weighted sum is convolved worker by worker. Equal weights keep that small (n + 1 sums for n workers);
    n workers of all different weights have up to 2^n sums, which about twenty may have. Weights are rounded to 2⁻⁴⁰ of
    the greatest; a sum which that rounding could have moved across 0 is a tie.

    Args:
        qualities: p, in [0, 1], shape (workers,).
        weights: w, finite, shape (workers,).
        tie_error: which part of the ties counts as wrong, in [0, 1]: ½ if a coin decides.

    Raises:
        ValueError: a parameter or a shape is out of range, or there are too many different sums.
    """
    known, held = _qualities_and_weights(qualities, weights)
    if not 0 <= tie_error <= 1:
        raise ValueError(f"tie_error must be in [0, 1], got {tie_error}")
    # The greatest lies in [2^(bits - 1), 2^bits).
    shift = _GRID_BITS - math.frexp(float(np.abs(held).max()))[1]
    on_grid = np.rint(np.ldexp(held, shift)).astype(np.int64)
    sums, law = np.zeros(1, dtype=np.int64), np.ones(1)
    # Equal weights together: sums that agree are merged before they multiply.
    for place in np.argsort(np.abs(on_grid), kind="stable").tolist():
        step, quality = on_grid[place], known[place]
        sums, merged = np.unique(np.concatenate((sums + step, sums - step)), return_inverse=True)
        law = np.bincount(merged, weights=np.concatenate((law * quality, law * (1 - quality))))
        if len(sums) > _MAX_SUMS:
            raise ValueError(f"{len(known)} workers' weights have more than {_MAX_SUMS} different sums")
    slack = len(known) / 2
    return math.fsum(law[sums < -slack].tolist()) + tie_error * math.fsum(law[np.abs(sums) <= slack].tolist())


def checked_probabilities(field: str, values: ArrayLike) -> FloatArray:
    """Return numbers as float64, any shape.

    Args:
        field: what an error calls them.
        values: in [0, 1].

    Raises:
        ValueError: one is not in [0, 1].
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.all((array >= 0) & (array <= 1)):
        raise ValueError(f"{field} must be in [0, 1], got {array.min()} to {array.max()}")
    return array


def _log_markov_bound(qualities: FloatArray, weights: FloatArray, scale: float) -> float:
    right = special.xlogy(1.0, qualities) - scale * weights
    wrong = special.log1p(-qualities) + scale * weights
    return math.fsum(np.logaddexp(right, wrong).tolist())


def _mean_root(first: float, second: float) -> float:
    """Return the mean of 2√(x(1 − x)) between two qualities.

    With x = sin²θ the root is sin 2θ and dx = sin 2θ dθ; with δ the difference of the ends' θ and σ their sum, the mean
    is sin σ·cos δ + (δ/2 − ¼·sin 2δ)/(sin δ·sin σ), which close ends do not cancel.
    """
    low, high = (math.asin(math.sqrt(min(max(end, 0.0), 1.0))) for end in (first, second))
    difference, total = high - low, high + low
    if difference == 0:
        return math.sin(total)
    rest = (difference / 2 - math.sin(2 * difference) / 4) / (math.sin(difference) * math.sin(total))
    return math.sin(total) * math.cos(difference) + rest


def _exp(values: FloatArray) -> FloatArray:
    return np.array([exp(value) for value in values.ravel().tolist()]).reshape(values.shape)


def _qualities_and_weights(qualities: ArrayLike, weights: ArrayLike) -> tuple[FloatArray, FloatArray]:
    known, held = checked_probabilities("qualities", qualities), np.asarray(weights, dtype=np.float64)
    if known.ndim != 1 or len(known) == 0 or held.shape != known.shape:
        raise ValueError(f"qualities and weights must be one for each worker, got {known.shape} and {held.shape}")
    if not np.all(np.isfinite(held)):
        raise ValueError("weights must be finite")
    return known, held
