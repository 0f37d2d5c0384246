"""What several sessions tell of each answer of a worker: exactly, as far as that can be added up.

The answers stay the same, and each session k draws its own flip probability P_k. Given all of these, answers and
sessions are independent. So with what is believed of the other answers before,

    P[all that was seen | x_i] = E over P_1, …, P_K of Π_k f_k(x_i) · Π_{q ≠ i} Σ_x prior_q(x) · Π_k f_k(x),

which two sums have exactly, in whichever order the sessions come:

- over all vectors of answers, with each session's mean over its own P_k by itself: for few answers, any number of
  sessions;
- over all combinations of the mixtures' nodes, one of each session: for more answers, few sessions.

Beyond both, a session may take what the earlier ones left of each answer as that answer's prior by itself
(assumed-density filtering), which is an approximation: it forgets how answers hang together, and so which sessions came
first matters.

Source: reading T3, for one session; Minka (2001) for assumed-density filtering.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import special

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.mechanisms.logarithms import log_of
from .answer_inference import MOST_VECTORS, FlipLaw

MOST_TERMS: Final = 1 << 19
"""Terms that are added up for one worker: combinations of nodes, times its answers' labels."""

Summation: TypeAlias = Literal["vectors", "nodes"]
"""Over what the sum is."""

# Numbers that are held at one time.
_MOST_ENTRIES: Final = 1 << 22


def summation_of(*, num_answers: int, num_labels: int, num_nodes: int, num_sessions: int) -> Summation | None:
    """Return by which sum K sessions of m answers are exact; None where neither can be had."""
    # In logarithms, which do not overflow for m in the thousands.
    if num_answers * math.log(num_labels) <= math.log(MOST_VECTORS) + 1e-9:
        return "vectors"
    terms = num_sessions * math.log(num_nodes) + math.log(num_answers * num_labels)
    return "nodes" if terms <= math.log(MOST_TERMS) else None


def joint_log_likelihoods(
    weights: Sequence[FloatArray], sets: IntArray, priors: FloatArray, law: FlipLaw, *, summation: Summation
) -> FloatArray:
    """Return ln P[what was seen in all sessions | one answer], the worker's other answers having their priors.

    Args:
        weights: of each session; they, sets and law are as `answer_log_likelihoods` has them.
        priors: what is believed of each answer before: probabilities, shape (workers, m, labels).
        summation: as `summation_of` has it.

    Returns:
        shape (workers, m, labels): the same for all labels of an answer of which nothing was seen.
    """
    add = _add_vectors if summation == "vectors" else _add_nodes
    _, num_answers, num_labels = priors.shape
    num_nodes = len(law.log_shares)
    terms = num_labels**num_answers if summation == "vectors" else num_nodes ** len(weights) * num_labels
    step = max(1, _MOST_ENTRIES // (terms * max(num_answers, num_nodes if summation == "vectors" else 1)))
    logs = np.empty(priors.shape)
    for start in range(0, len(priors), step):
        rows = slice(start, start + step)
        factors = [_log_factors(weight[rows], sets[rows], law) for weight in weights]
        logs[rows] = add(factors, priors[rows], law.log_shares)
    return logs


def _log_factors(weights: FloatArray, sets: IntArray, law: FlipLaw) -> FloatArray:
    """Return ln f(x), how likely an answer makes what was seen of its report, shape (workers, m, labels, nodes)."""
    totals = weights.sum(axis=2, keepdims=True)
    own_weights, other_weights = weights[..., None], np.maximum(totals - weights, 0.0)[..., None]
    chances = own_weights * law.keeps[sets][:, :, None, :] + other_weights * law.lies[sets][:, :, None, :]
    return log_of(np.where(totals[..., None] > 0, chances, 1.0))


def _add_vectors(factors: Sequence[FloatArray], priors: FloatArray, log_shares: FloatArray) -> FloatArray:
    """Sum over all vectors of answers."""
    num_workers, num_answers, num_labels = priors.shape
    vectors = np.array(list(itertools.product(range(num_labels), repeat=num_answers)), dtype=np.int64)
    total = np.zeros((num_workers, len(vectors)))
    for factor in factors:
        # Shape (workers, vectors, nodes): answer by answer, as all of them at a time would take m times the room.
        terms = np.zeros((num_workers, len(vectors), factor.shape[3])) + log_shares
        for place in range(num_answers):
            terms += factor[:, place, vectors[:, place]]
        total += special.logsumexp(terms, axis=2)
    log_priors = log_of(priors)
    of_vectors = np.stack([log_priors[:, place, vectors[:, place]] for place in range(num_answers)], axis=1)
    logs = np.empty(priors.shape)
    for place in range(num_answers):
        sums_of_others = total + np.delete(of_vectors, place, axis=1).sum(axis=1)
        for label in range(num_labels):
            logs[:, place, label] = special.logsumexp(sums_of_others[:, vectors[:, place] == label], axis=1)
    return logs


def _add_nodes(factors: Sequence[FloatArray], priors: FloatArray, log_shares: FloatArray) -> FloatArray:
    """Sum over all combinations of nodes, one of each session."""
    joint, of_nodes = factors[0], log_shares
    for factor in factors[1:]:
        joint = (joint[..., :, None] + factor[..., None, :]).reshape(*joint.shape[:3], -1)
        of_nodes = (of_nodes[:, None] + log_shares).reshape(-1)
    # What a node makes of each answer, over what it may be: shape (workers, m, combinations).
    means = special.logsumexp(joint + log_of(priors)[..., None], axis=2)
    logs = np.empty(priors.shape)
    for place in range(priors.shape[1]):
        sums_of_others = np.delete(means, place, axis=1).sum(axis=1) + of_nodes
        logs[:, place] = special.logsumexp(joint[:, place] + sums_of_others[:, None, :], axis=2)
    return logs
