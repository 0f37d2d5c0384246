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

(9) inherits all this, and so do (10) and (11), which add two faults. The line 2p, which replaces the printed factor
G(p), is less than .08 away from it, but twice as high near p = 0 and with n workers 2^n times: just for the important
users that it is meant for. And the expansion (11) has the right terms, each without its 2^n. The two do not cancel:
what (11) expands is Π 2p̂, not Π G(p̂).
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ....protocol.arrays import FloatArray
from ....protocol.elementary import exp

__all__ = [
    "chernoff_bound",
    "exact_error",
    "fold",
    "log_odds",
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
    return np.asarray(special.logit(_probabilities("qualities", qualities)), dtype=np.float64)


def fold(qualities: ArrayLike) -> FloatArray:
    """Return min(p, 1 − p): the quality in [0, ½] of a worker whose signed vote counts the same (Section 6.2.1).

    Args:
        qualities: p, in [0, 1], any shape.

    Raises:
        ValueError: a quality is not in [0, 1].
    """
    known = _probabilities("qualities", qualities)
    return np.minimum(known, 1 - known)


def printed_factors(qualities: ArrayLike) -> FloatArray:
    """Return G(p) = (p·e⁻¹ + (1 − p)·e)^g(p), a worker's factor in (7), g being the log-odds.

    Args:
        qualities: p, in [0, 1], any shape.

    Raises:
        ValueError: a quality is not in [0, 1].

    Source:
        Section 6.2.1, equations (6) and (7), as printed. Its product over workers is no bound: see the module.
    """
    known = _probabilities("qualities", qualities)
    base = known * exp(-1.0) + (1 - known) * exp(1.0)
    return _exp(log_odds(known) * special.xlogy(1.0, base))


def printed_bound(qualities: ArrayLike) -> float:
    """Return the right-hand side of (7): Π G(p).

    Args:
        qualities: p, in [0, 1], shape (workers,).

    Raises:
        ValueError: a quality is not in [0, 1].
    """
    return math.prod(printed_factors(qualities).tolist())


def chernoff_bound(qualities: ArrayLike) -> float:
    """Return Π 2√(p(1 − p)), the bound that (7) should be: for votes with log-odds weights, ties counted as errors.

    Args:
        qualities: p, in [0, 1], shape (workers,).

    Raises:
        ValueError: a quality is not in [0, 1].

    Source:
        Chernoff (1952); reading T8.
    """
    known = _probabilities("qualities", qualities)
    return math.prod((2 * np.sqrt(known * (1 - known))).tolist())


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


def _probabilities(field: str, values: ArrayLike) -> FloatArray:
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


def _exp(values: FloatArray) -> FloatArray:
    return np.array([exp(value) for value in values.ravel().tolist()]).reshape(values.shape)


def _qualities_and_weights(qualities: ArrayLike, weights: ArrayLike) -> tuple[FloatArray, FloatArray]:
    known, held = _probabilities("qualities", qualities), np.asarray(weights, dtype=np.float64)
    if known.ndim != 1 or len(known) == 0 or held.shape != known.shape:
        raise ValueError(f"qualities and weights must be one for each worker, got {known.shape} and {held.shape}")
    if not np.all(np.isfinite(held)):
        raise ValueError("weights must be finite")
    return known, held
