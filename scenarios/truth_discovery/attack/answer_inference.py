"""What perturbed answers tell of each answer, given the whole reported vector.

Answers that share a flip probability P are independent once P is known. So with a finite mixture over P that has the
moments of the hyper-distribution up to the number of answers, each answer's posterior given the *whole* reported
vector is a sum over the mixture's nodes: exact, and no sum over the s^m vectors that there are. Where answers share
nothing there is one node.

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
"""Whole vectors of answers that are listed; their channel then has 2**24 entries."""

# Entries of a table (workers, answers, nodes) that is held at one time.
_MOST_ENTRIES: Final = 1 << 21
_LEAST_LOG: Final = np.finfo(np.float64).min  # in place of −∞, which cannot be subtracted from itself


@dataclasses.dataclass(frozen=True, eq=False)
class FlipLaw:
    """By which flip probabilities answers may have been perturbed: a finite mixture."""

    keeps: FloatArray  # 1 − p of each answer set and node, precise by itself, shape (sets, nodes)
    lies: FloatArray  # p/(s − 1), of one given other label, of the same shape
    log_shares: FloatArray  # the logarithm of each node's share, shape (nodes,)


def flip_law(mechanism: RowMechanism, *, degree: int) -> FlipLaw:
    """Return the mixture by which a mechanism perturbs, exact for the means of polynomials of p up to a degree.

    ConfigurationError where the mechanism is none of the three that perturb answers.
    """
    sizes: tuple[int, ...]
    match mechanism:
        case OneLayer(sizes, flip_probabilities):
            flips, log_shares = np.array(flip_probabilities)[:, None], np.zeros(1)
            keep_chances = 1 - flips
        case FreshTwoLayer(sizes):  # a draw for each answer: nothing but the mean is left of it
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
    """Return ln P[what was seen of a worker's reports | one answer], the worker's other answers having their priors.

    What was seen of the report at a place is a weight for each label: how likely it is if that label was reported; 1
    and 0 where the report itself was seen. With W their sum, an answer x has the likelihood
    (W − w_x)·p/(s − 1) + w_x·(1 − p).

    Args:
        weights: shape (workers, m, labels), each ≥ 0; all 0 where nothing was seen.
        sets: each answer's set, int64, shape (workers, m).
        beliefs: what is believed of each answer as one of the *others*: probabilities, shape (workers, m, labels).
            Answers are independent of each other, as far as is believed.
        law: exact for polynomials of degree m.

    Returns:
        shape (workers, m, labels): 0 where nothing was seen.
    """
    logs = np.zeros(weights.shape)
    step = max(1, _MOST_ENTRIES // max(1, weights.shape[1] * len(law.log_shares)))
    for start in range(0, len(weights), step):
        rows = slice(start, start + step)
        keep_chances, lies = law.keeps[sets[rows]], law.lies[sets[rows]]
        terms = _log_terms(keep_chances, lies, weights[rows], beliefs[rows])
        # Without the answer itself. A node that another answer rules out stays so, and −∞ must not be subtracted.
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
    """Return every vector of answers as codes, int64, shape (Π s, m), for places whose answer sets have these sizes.

    Places of one size share an answer set, and sets stand in order of their sizes. ConfigurationError where there are
    more vectors than `MOST_VECTORS`.
    """
    number = math.prod(sizes)
    allowed = f"at most {MOST_VECTORS}; answers are inferred one by one"
    require(number <= MOST_VECTORS, "secret", f"{number} vectors of answers", allowed)
    blocks = sorted(set(sizes))
    offsets = dict(zip(blocks, block_offsets(blocks), strict=False))
    ranges = [range(offsets[size], offsets[size] + size) for size in sizes]
    return np.array(list(itertools.product(*ranges)), dtype=np.int64).reshape(number, len(sizes))


def _log_terms(keep_chances: FloatArray, lies: FloatArray, weights: FloatArray, beliefs: FloatArray) -> FloatArray:
    """Return ln P[what was seen at each place | node], shape (workers, m, nodes), over what the answer may be."""
    totals = weights.sum(axis=2, keepdims=True)
    own_sums = (weights * beliefs).sum(axis=2, keepdims=True)
    return np.where(totals > 0, log_of(own_sums * keep_chances + np.maximum(totals - own_sums, 0.0) * lies), 0.0)
