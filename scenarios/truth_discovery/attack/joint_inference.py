"""The likelihood of each answer of a worker over several sessions: exact, if the sum is feasible.

The answers stay the same, and each session k draws a flip probability P_k. Given all P_k and answers, reports are
independent. So with priors of the other answers,

    P[all that was seen | x_i] = E over P_1, …, P_K of Π_k f_k(x_i) · Π_{q ≠ i} Σ_x prior_q(x) · Π_k f_k(x),

which can be computed exactly by one of two sums, in any order of sessions:

- over all vectors of answers, with a separate mean over P_k for each session: for few answers, and any number of
  sessions;
- over all combinations of the mixtures' nodes, one for each session: for more answers, and few sessions.

Otherwise a session may use the marginal posteriors of the earlier ones as independent priors (assumed-density
filtering). This is an approximation: it ignores dependence between answers, so the order of sessions matters.

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
"""Most terms in the sum for one worker: combinations of nodes, times its answers' labels."""

Summation: TypeAlias = Literal["vectors", "nodes"]
"""The index set of the sum."""

# Most numbers in memory at a time.
_MOST_ENTRIES: Final = 1 << 22


def summation_of(*, num_answers: int, num_labels: int, num_nodes: int, num_sessions: int) -> Summation | None:
    """Return the feasible sum for K sessions of m answers; None if neither is feasible."""
    # In logarithms, to avoid overflow for m in the thousands.
    if num_answers * math.log(num_labels) <= math.log(MOST_VECTORS) + 1e-9:
        return "vectors"
    terms = num_sessions * math.log(num_nodes) + math.log(num_answers * num_labels)
    return "nodes" if terms <= math.log(MOST_TERMS) else None


def joint_log_likelihoods(
    weights: Sequence[FloatArray], sets: IntArray, priors: FloatArray, law: FlipLaw, *, summation: Summation
) -> FloatArray:
    """Return ln P[evidence of all sessions | one answer], with priors for the worker's other answers.

    Args:
        weights: weights for each session; `weights`, `sets` and `law` are as in `answer_log_likelihoods`.
        priors: prior probabilities of each answer, shape (workers, m, labels).
        summation: the sum, from `summation_of`.

    Returns:
        Log-likelihoods, shape (workers, m, labels); equal for all labels of an answer without evidence.
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
    """Return ln f(x), the log-likelihoods of evidence on each report by answer, shape (workers, m, labels, nodes)."""
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
        # Shape (workers, vectors, nodes); answer by answer, since all at once would take m times the memory.
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
    """Sum over all combinations of nodes, one for each session."""
    joint, of_nodes = factors[0], log_shares
    for factor in factors[1:]:
        joint = (joint[..., :, None] + factor[..., None, :]).reshape(*joint.shape[:3], -1)
        of_nodes = (of_nodes[:, None] + log_shares).reshape(-1)
    # Likelihood of each answer's evidence given nodes, averaged over its prior, shape (workers, m, combinations).
    means = special.logsumexp(joint + log_of(priors)[..., None], axis=2)
    logs = np.empty(priors.shape)
    for place in range(priors.shape[1]):
        sums_of_others = np.delete(means, place, axis=1).sum(axis=1) + of_nodes
        logs[:, place] = special.logsumexp(joint[:, place] + sums_of_others[:, None, :], axis=2)
    return logs
