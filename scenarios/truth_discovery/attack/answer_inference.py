"""What perturbed answers tell: of each answer, of the flip probability behind them, and at most, for whole vectors.

Answers that share a flip probability P are independent once P is known. So with a finite mixture over P that has the
moments of the hyper-distribution up to the number of answers, each answer's posterior given the *whole* reported
vector is a sum over the mixture's nodes: exact, and no sum over the s^m vectors that there are. Where answers share
nothing there is one node.

Source: reading T3 (L(k) = E[P^k (1 − P)^(m−k)]); the two-layer mechanism is that of the truth discovery paper, 5.2.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from scipy import special

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.errors import ConfigurationError
from ....protocol.mechanisms import FreshTwoLayer, HyperDistribution, OneLayer, RowMechanism, TwoLayer, block_offsets
from ...attacks.posteriors import Evaluation, evaluate_channel

__all__ = [
    "MOST_VECTORS",
    "ExactLosses",
    "FlipLaw",
    "FlipPosteriors",
    "answer_log_likelihoods",
    "evaluate_one_answer",
    "evaluate_vectors",
    "exact_losses",
    "flip_law",
    "greatest_posterior",
    "infer_flips",
    "vectors",
]

MOST_VECTORS: Final = 4096
"""Whole vectors of answers that are listed; their channel then has 2**24 entries."""

# Entries of a table (workers, answers, nodes) that is held at one time.
_MOST_ENTRIES: Final = 1 << 21
# A rule of 128 nodes tells an interval's ends to about a 128th of the distribution's range.
_INTERVAL_DEGREE: Final = 255
_TAIL: Final = 0.025
_LEAST_LOG: Final = np.finfo(np.float64).min  # in place of −∞, which cannot be subtracted from itself


@dataclasses.dataclass(frozen=True, eq=False)
class FlipLaw:
    """By which flip probabilities answers may have been perturbed: a finite mixture.

    Args:
        flips: p of each answer set and node, shape (sets, nodes).
        keeps: 1 − p, precise by itself, of the same shape.
        lies: p/(s − 1), of one given other label, of the same shape.
        log_shares: the logarithm of each node's share, shape (nodes,).
    """

    flips: FloatArray
    keeps: FloatArray
    lies: FloatArray
    log_shares: FloatArray


@dataclasses.dataclass(frozen=True, eq=False)
class FlipPosteriors:
    """What is believed of the flip probabilities that workers drew; each shape (workers,).

    Args:
        means: E[P | reports], exact for the prior.
        deviations: its standard deviation, exact too.
        lows: where the central 95 % begin, to a node of a fine rule.
        highs: where they end.
    """

    means: FloatArray
    deviations: FloatArray
    lows: FloatArray
    highs: FloatArray


@dataclasses.dataclass(frozen=True)
class ExactLosses:
    """The greatest log-odds by which a report moves neighbors, over all of them: found by enumeration.

    Args:
        all_answers: J: of whole vectors.
        one_answer: R: of one answer, all others known.
    """

    all_answers: float
    one_answer: float


def flip_law(mechanism: RowMechanism, *, degree: int) -> FlipLaw:
    """Return the mixture by which a mechanism perturbs.

    Args:
        mechanism: one of the three that perturb answers.
        degree: polynomials of p up to it have their exact means.

    Raises:
        ConfigurationError: the mechanism is another.
    """
    sizes: tuple[int, ...]
    match mechanism:
        case OneLayer(sizes, flip_probabilities):
            flips, log_shares = np.array(flip_probabilities)[:, None], np.zeros(1)
            keeps = 1 - flips
        case FreshTwoLayer(sizes):  # a draw for each answer: nothing but the mean is left of it
            flips, log_shares = np.full((len(sizes), 1), mechanism.hyper.mean), np.zeros(1)
            keeps = 1 - flips
        case TwoLayer(sizes, hyper):
            mixture = hyper.mixture(degree)
            shape = len(sizes), len(mixture.flips)
            flips, keeps = np.broadcast_to(mixture.flips, shape), np.broadcast_to(mixture.keeps, shape)
            log_shares = mixture.log_shares
        case _:
            value = type(mechanism).__name__
            raise ConfigurationError(field="mechanism", value=value, allowed="one that perturbs answers")
    return FlipLaw(flips, keeps, flips / (np.array(sizes) - 1)[:, None], log_shares)


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
    for rows in _batches(weights, law):
        keeps, lies = law.keeps[sets[rows]], law.lies[sets[rows]]
        terms = _log_terms(keeps, lies, weights[rows], beliefs[rows])
        # Without the answer itself. A node that another answer rules out stays so, and −∞ must not be subtracted.
        is_out = np.isneginf(terms)
        finite = np.where(is_out, 0.0, terms)
        rest = finite.sum(axis=1, keepdims=True) - finite + law.log_shares
        rest[is_out.sum(axis=1, keepdims=True) - is_out > 0] = -np.inf
        greatest = np.maximum(rest.max(axis=2, keepdims=True), _LEAST_LOG)
        chances = np.exp(rest - greatest)
        kept, lied = ((chances * each).sum(axis=2, keepdims=True) for each in (keeps, lies))
        totals = weights[rows].sum(axis=2, keepdims=True)
        found = _log(lied * (totals - weights[rows]) + kept * weights[rows]) + greatest
        logs[rows] = np.where(totals > 0, found, 0.0)
    return logs


def infer_flips(weights: FloatArray, sets: IntArray, beliefs: FloatArray, mechanism: RowMechanism) -> FlipPosteriors:
    """Return what workers' whole reported vectors tell of the flip probabilities behind them.

    Without anything known of the answers (uniform beliefs) they tell nothing: see reading T5 for two labels.

    Args:
        weights: as `answer_log_likelihoods`.
        sets: the same.
        beliefs: the same.
        mechanism: by which answers were perturbed.

    Raises:
        ConfigurationError: workers draw no flip probability of their own.
    """
    if not isinstance(mechanism, TwoLayer):
        allowed = "two_layer, in which each worker draws one for all its answers"
        raise ConfigurationError(field="secret", value="flip_probability", allowed=allowed)
    exact, fine = (flip_law(mechanism, degree=degree) for degree in (weights.shape[1] + 2, _INTERVAL_DEGREE))
    flips, shares = exact.flips[0], _node_shares(weights, sets, beliefs, exact)
    means = shares @ flips
    variances = np.maximum(shares @ (flips * flips) - means * means, 0.0)
    order = np.argsort(fine.flips[0])
    places = fine.flips[0][order]
    cumulated = np.cumsum(_node_shares(weights, sets, beliefs, fine)[:, order], axis=1)
    last = len(places) - 1
    lows = places[np.minimum((cumulated < _TAIL).sum(axis=1), last)]
    highs = places[np.minimum((cumulated < 1 - _TAIL).sum(axis=1), last)]
    return FlipPosteriors(means, np.sqrt(variances), lows, highs)


def greatest_posterior(num_answers: int, hyper: HyperDistribution) -> float:
    """Return the most that one answer's reported label is believed, the worker's other answers known, before all alike.

    L(0)/(L(0) + L(1)), where nothing else was flipped, for any number of labels. At the paper's "ε = 0" with two
    labels, P ~ U(0, 1), it is m/(m + 1), where e^0 promises 1/2.

    Args:
        num_answers: m ≥ 1.
        hyper: what P is drawn from.
    """
    return float(special.expit(-hyper.log_moment_step(num_answers, 0)))


def vectors(sizes: Sequence[int]) -> IntArray:
    """Return every vector of answers as codes, for places whose answer sets have these sizes.

    Args:
        sizes: s of each place; places of one size share an answer set, sets stand in order of their sizes.

    Returns:
        int64, shape (Π s, m).

    Raises:
        ConfigurationError: there are more than `MOST_VECTORS`.
    """
    if (number := math.prod(sizes)) > MOST_VECTORS:
        allowed = f"at most {MOST_VECTORS}; answers are inferred one by one"
        raise ConfigurationError(field="secret", value=f"{number} vectors of answers", allowed=allowed)
    blocks = sorted(set(sizes))
    offsets = dict(zip(blocks, block_offsets(blocks), strict=False))
    ranges = [range(offsets[size], offsets[size] + size) for size in sizes]
    return np.array(list(itertools.product(*ranges)), dtype=np.int64).reshape(number, len(sizes))


def exact_losses(mechanism: RowMechanism, rows: IntArray) -> ExactLosses:
    """Return J and R of a mechanism over all vectors that it may perturb, by enumeration.

    Args:
        mechanism: whose reports of these rows are these rows, as those of `vectors` are.
        rows: int64, shape (c, m).
    """
    logs = mechanism.log_likelihoods(rows, rows)  # shape (reports, rows)
    whole = float((logs.max(axis=1) - logs.min(axis=1)).max())
    single = 0.0
    for place in range(rows.shape[1]):
        for group in _groups_without(rows, place):
            of_group = logs[:, group]
            single = max(single, float((of_group.max(axis=1) - of_group.min(axis=1)).max()))
    return ExactLosses(whole, single)


def evaluate_vectors(mechanism: RowMechanism, rows: IntArray) -> Evaluation:
    """Return how well the best attack names a whole vector, all being equally likely: exactly.

    Args:
        mechanism: as `exact_losses`.
        rows: the same.
    """
    channel = np.exp(mechanism.log_likelihoods(rows, rows)).T
    return evaluate_channel(channel, places=np.arange(len(rows)), prior=np.full(len(rows), 1 / len(rows)))


def evaluate_one_answer(mechanism: RowMechanism, rows: IntArray, *, place: int) -> Evaluation:
    """Return how well the best attack names one answer, the others being known and all equally likely: exactly.

    Args:
        mechanism: as `exact_losses`.
        rows: the same.
        place: of the answer.
    """
    groups = _groups_without(rows, place)
    logs = mechanism.log_likelihoods(rows, rows)
    # What is seen are the others and the report: all others together make the channel's outputs.
    channel = np.concatenate([np.exp(logs[:, group]).T for group in groups], axis=1) / len(groups)
    number = len(channel)
    return evaluate_channel(channel, places=np.arange(number), prior=np.full(number, 1 / number))


def _groups_without(rows: IntArray, place: int) -> list[IntArray]:
    """Return the places of rows that agree but for one answer, each in the order of that answer."""
    _, group_of_row = np.unique(np.delete(rows, place, axis=1), axis=0, return_inverse=True)
    order = np.lexsort([rows[:, place], group_of_row.reshape(-1)])
    return list(order.reshape(-1, len(np.unique(rows[:, place]))))


def _node_shares(weights: FloatArray, sets: IntArray, beliefs: FloatArray, law: FlipLaw) -> FloatArray:
    """Return the posterior of the mixture's nodes, shape (workers, nodes)."""
    joint = np.empty((len(weights), len(law.log_shares)))
    for rows in _batches(weights, law):
        terms = _log_terms(law.keeps[sets[rows]], law.lies[sets[rows]], weights[rows], beliefs[rows])
        joint[rows] = terms.sum(axis=1) + law.log_shares
    return special.softmax(joint, axis=1)


def _batches(weights: FloatArray, law: FlipLaw) -> Iterator[slice]:
    step = max(1, _MOST_ENTRIES // max(1, weights.shape[1] * len(law.log_shares)))
    for start in range(0, len(weights), step):
        yield slice(start, start + step)


def _log_terms(keeps: FloatArray, lies: FloatArray, weights: FloatArray, beliefs: FloatArray) -> FloatArray:
    """Return ln P[what was seen at each place | node], shape (workers, m, nodes), over what the answer may be."""
    totals = weights.sum(axis=2, keepdims=True)
    own = (weights * beliefs).sum(axis=2, keepdims=True)
    return np.where(totals > 0, _log(own * keeps + np.maximum(totals - own, 0.0) * lies), 0.0)


def _log(numbers: FloatArray) -> FloatArray:
    """Return ln of each, −∞ for 0."""
    return special.xlogy(1.0, numbers).astype(np.float64, copy=False)
