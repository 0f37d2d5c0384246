"""The likelihood of each answer, given a worker's whole reported vector of perturbed answers.

Answers that share a flip probability P are independent given P. Take a finite mixture over P with the moments of the
hyper-distribution up to the number of answers m. Then each answer's posterior given the *whole* reported vector is a
sum over the mixture's nodes: exact, without a sum over all s^m vectors. If answers share nothing, there is one node.

Source: reading T3 (L(k) = E[P^k (1 − P)^(m−k)]); the two-layer mechanism is that of the truth discovery paper, 5.2.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError, require
from ....protocol.mechanisms import FreshTwoLayer, OneLayer, RowMechanism, TwoLayer, block_offsets
from ....protocol.mechanisms.logarithms import log_of

MOST_VECTORS: Final = 4096
"""Most whole vectors of answers that are listed; their channel then has 2**24 entries."""

# Most entries of a table (workers, answers, nodes) in memory at a time.
_MOST_ENTRIES: Final = 1 << 21
_LEAST_LOG: Final = np.finfo(np.float64).min  # in place of −∞, whose difference with itself is undefined


@dataclasses.dataclass(frozen=True, eq=False)
class FlipLaw:
    """A finite mixture of flip probabilities."""

    keeps: FloatArray  # 1 − p for each answer set and node, stored separately for precision, shape (sets, nodes)
    lies: FloatArray  # p/(s − 1), the probability of one given other label, of the same shape
    log_shares: FloatArray  # the logarithms of the nodes' weights, shape (nodes,)


def flip_law(mechanism: RowMechanism, *, degree: int) -> FlipLaw:
    """Return a mechanism's mixture, exact for expectations of polynomials in p up to a degree.

    ConfigurationError: the mechanism is none of the three that perturb answers.
    """
    sizes: tuple[int, ...]
    match mechanism:
        case OneLayer(sizes, flip_probabilities):
            flips, log_shares = np.array(flip_probabilities)[:, None], np.zeros(1)
            keep_chances = 1 - flips
        case FreshTwoLayer(sizes):  # a separate draw for each answer, so that only the mean matters
            flips, log_shares = np.full((len(sizes), 1), mechanism.hyper.mean), np.zeros(1)
            keep_chances = 1 - flips
        case TwoLayer(sizes, hyper):
            mixture = hyper.mixture(degree)
            shape = len(sizes), len(mixture.flips)
            flips, keep_chances = np.broadcast_to(mixture.flips, shape), np.broadcast_to(mixture.keeps, shape)
            log_shares = mixture.log_shares
        case _:
            value = type(mechanism).__name__
            raise ConfigurationError(field="mechanism", value=value, allowed="one that perturbs answers")
    return FlipLaw(keep_chances, flips / (np.array(sizes) - 1)[:, None], log_shares)


def answer_log_likelihoods(weights: FloatArray, sets: IntArray, beliefs: FloatArray, law: FlipLaw) -> FloatArray:
    """Return ln P[evidence on a worker's reports | one answer], with priors for the worker's other answers.

    The evidence on a report is a weight for each label: its likelihood if that label was reported; 1 or 0 if the report
    itself was seen. With W the sum of the weights, an answer x has the likelihood (W − w_x)·p/(s − 1) + w_x·(1 − p).

    Args:
        weights: shape (workers, m, labels), ≥ 0; all 0 without evidence.
        sets: the index of each answer's set, int64, shape (workers, m).
        beliefs: prior probabilities of each answer when it is one of the *others*, shape (workers, m, labels). Answers
            are independent under the prior.
        law: a mixture that is exact for polynomials of degree m.

    Returns:
        Log-likelihoods, shape (workers, m, labels); 0 without evidence.
    """
    logs = np.zeros(weights.shape)
    step = max(1, _MOST_ENTRIES // max(1, weights.shape[1] * len(law.log_shares)))
    for start in range(0, len(weights), step):
        rows = slice(start, start + step)
        keep_chances, lies = law.keeps[sets[rows]], law.lies[sets[rows]]
        terms = _log_terms(keep_chances, lies, weights[rows], beliefs[rows])
        # Remove the answer's own term. A node that another answer rules out stays impossible, without subtracting −∞.
        is_out = np.isneginf(terms)
        finite = np.where(is_out, 0.0, terms)
        log_rest = finite.sum(axis=1, keepdims=True) - finite + law.log_shares
        log_rest[is_out.sum(axis=1, keepdims=True) - is_out > 0] = -np.inf
        greatest = np.maximum(log_rest.max(axis=2, keepdims=True), _LEAST_LOG)
        chances = np.exp(log_rest - greatest)
        kept_sums, lied_sums = ((chances * each).sum(axis=2, keepdims=True) for each in (keep_chances, lies))
        totals = weights[rows].sum(axis=2, keepdims=True)
        log_likelihoods = log_of(lied_sums * (totals - weights[rows]) + kept_sums * weights[rows]) + greatest
        logs[rows] = np.where(totals > 0, log_likelihoods, 0.0)
    return logs


def vectors(sizes: Sequence[int]) -> IntArray:
    """Return all vectors of answers as codes, int64, shape (Π s, m), for answer sets of these sizes.

    Positions of equal size share an answer set, and sets are ordered by size. ConfigurationError: there are more than
    `MOST_VECTORS`.
    """
    number = math.prod(sizes)
    allowed = f"at most {MOST_VECTORS}; answers are inferred one by one"
    require(number <= MOST_VECTORS, "secret", f"{number} vectors of answers", allowed)
    blocks = sorted(set(sizes))
    offsets = dict(zip(blocks, block_offsets(blocks), strict=False))
    ranges = [range(offsets[size], offsets[size] + size) for size in sizes]
    return np.array(list(itertools.product(*ranges)), dtype=np.int64).reshape(number, len(sizes))


def _log_terms(keep_chances: FloatArray, lies: FloatArray, weights: FloatArray, beliefs: FloatArray) -> FloatArray:
    """Return ln P[evidence on each report | node], shape (workers, m, nodes), averaged over the answer's prior."""
    totals = weights.sum(axis=2, keepdims=True)
    own_sums = (weights * beliefs).sum(axis=2, keepdims=True)
    return np.where(totals > 0, log_of(own_sums * keep_chances + np.maximum(totals - own_sums, 0.0) * lies), 0.0)
