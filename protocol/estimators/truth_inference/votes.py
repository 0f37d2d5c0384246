"""Majority voting, and the paper's truth discovery by votes weighted by workers' fractions of right answers.

Source: Li et al. (2018), section 4, equations (1) to (3), with reading T2. See `weight_functions` for the weights.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from .answers import AnswerBlock, Answers
from .inference import (
    Inference,
    InferenceBlock,
    Ties,
    accept_one_or_many,
    check_choice,
    check_clamp,
    check_rounds,
)
from .rounds import Rounds
from .vote_table import VoteTable
from .weight_functions import WeightFunction, weigh

Normalization: TypeAlias = Literal["answered", "all"]
"""The divisor of a worker's number of right answers: its number of answers, or of all tasks as in equation (3)."""


@accept_one_or_many
def majority_vote(answers: AnswerBlock, *, ties: Ties = "first") -> InferenceBlock[Inference]:
    """Return the label that most workers chose, for each task.

    The quality of a worker is its fraction of right answers. Every weight is 1.

    Source:
        Equation (1).

    Examples:
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> majority_vote(answers).confidences.round(2).tolist()
        [0.67, 1.0]
    """
    check_choice("ties", ties, Ties)
    table = VoteTable(answers)
    return _choose_largest(table, table.counts, ties=ties)


@exact_arguments
def infer_by_scores(
    answers: Answers,
    scores: FloatArray,
    *,
    ties: Ties = "first",
    weights: FloatArray | None = None,
    num_iterations: int = 0,
    has_converged: bool = True,
) -> Inference:
    """Return the label with the largest score for each task: the last step of a custom estimator.

    The probability of a label is its fraction of the scores of its task, with negative scores as 0; it is uniform if
    all are 0. The quality of a worker is its fraction of right answers.

    Args:
        scores: finite, shape (tasks, largest answer set); scores beyond a task's answer set are ignored.
        weights: the weights of the workers, shape (workers,); 1 by default.

    Raises:
        ValueError: scores or weights have the wrong shape or are not finite.

    Examples:
        >>> answers = Answers(*np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0]]), 1, 3, np.array([2]))
        >>> infer_by_scores(answers, np.array([[1.0, 8.0]])).truths
        array([1])
    """
    check_choice("ties", ties, Ties)
    table = VoteTable(AnswerBlock.from_answers(answers))
    of_workers: FloatArray = np.ones(table.num_workers) if weights is None else np.asarray(weights, dtype=np.float64)
    for name, values, shape in (
        ("scores", scores, (table.num_tasks, table.num_labels)),
        ("weights", of_workers, (table.num_workers,)),
    ):
        if values.shape != shape or not np.isfinite(values).all():
            raise ValueError(f"{name} have shape {values.shape}: give finite numbers of shape {shape}")
    inference = _choose_largest(table, np.ascontiguousarray(scores.T[:, None], dtype=np.float64), ties=ties).inference(
        0
    )
    return dataclasses.replace(
        inference, weights=table.hide_silent(of_workers), num_iterations=num_iterations, has_converged=has_converged
    )


def _choose_largest(table: VoteTable, scores: FloatArray, *, ties: Ties) -> InferenceBlock[Inference]:
    """Return the labels with the largest scores, which have shape (labels, crowds, tasks)."""
    truths = table.choose(scores, ties=ties)
    rows = table.task_probabilities(table.shares_of(scores))
    num_answers = table.answers_of_workers.sum(axis=1)
    return InferenceBlock(
        kind=Inference,
        truths=truths,
        confidences=rows.max(axis=2),
        probabilities=rows,
        qualities=table.hide_silent(table.agree_with(truths).sum(axis=2) / np.maximum(num_answers, 1.0)),
        weights=table.hide_silent(np.ones((len(truths), table.num_workers))),
        num_iterations=np.zeros(len(truths), dtype=np.int64),
        has_converged=np.ones(len(truths), dtype=np.bool_),
        log_likelihoods=np.empty((len(truths), 0)),
    )


@accept_one_or_many
@exact_arguments
def truth_discovery(
    answers: AnswerBlock,
    *,
    max_iterations: int = 10,
    clamp: float = 0.05,
    normalization: Normalization = "answered",
    weight_function: WeightFunction = "log_odds",
    ties: Ties = "first",
) -> InferenceBlock[Inference]:
    """Return the label with the largest weighted vote, for each task.

    The iteration starts from the majority vote and alternates two steps. First, p is the fraction of a worker's answers
    that equal the current truths, and the worker's weight is g(p), by default log(p/(1 − p)). Second, the truths are
    the labels with the largest sums of weights. It ends when the truths repeat, or after `max_iterations`.

    For an answer set of s labels the default weight is log(p(s − 1)/(1 − p)), the log-odds of a worker whose wrong
    answers are uniform. It equals the paper's weight for s = 2, and is 0 for a worker who guesses. A worker has one p
    and a weight for each size of answer set; `weights` has the weight for the smallest size.

    Args:
        clamp: p is clipped to [clamp, 1 − clamp]; in (0, 1/2).
        normalization: "answered" divides by the number of the worker's answers. "all" divides by the number of tasks,
            as printed in the paper, which gives workers with few answers negative weights (reading T2).
        weight_function: g of equation (3), which must be increasing.

    Returns:
        The inference. Qualities and weights are those of the last vote, with p clipped. Probabilities are posterior
        probabilities under a uniform class prior if weights are log-odds. For another g they use the log-odds of the
        same p, so that the chosen label need not be the most probable one.

    Raises:
        ValueError: an argument is out of range, or g does not increase from one worker's p to another's.

    Source:
        Section 4, equations (2) and (3).

    Examples:
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> found = truth_discovery(answers)
        >>> (found.truths.tolist(), found.weights.round(2).tolist())
        ([1, 0], [2.94, 2.94, 0.0])
    """
    return discover(
        VoteTable(answers),
        max_iterations=max_iterations,
        clamp=clamp,
        normalization=normalization,
        weight_function=weight_function,
        ties=ties,
    )


def discover(
    table: VoteTable,
    *,
    max_iterations: int,
    clamp: float,
    normalization: Normalization = "answered",
    weight_function: WeightFunction = "log_odds",
    ties: Ties,
) -> InferenceBlock[Inference]:
    """Run `truth_discovery`."""
    check_rounds(max_iterations, ties)
    check_clamp(clamp)
    check_choice("normalization", normalization, Normalization)
    num_answers = np.maximum(table.answers_of_workers.sum(axis=1), 1.0)
    divisors = num_answers if normalization == "answered" else float(max(table.num_tasks, 1))

    def weigh_workers(agreements: FloatArray) -> tuple[FloatArray, FloatArray]:
        shares = np.clip(agreements.sum(axis=2) / divisors, clamp, 1 - clamp)
        return weigh(shares, table.sizes, weight_function), shares

    def rate(scores: FloatArray, shares: FloatArray) -> FloatArray:
        if weight_function != "log_odds":
            scores = table.vote(weigh(shares, table.sizes, "log_odds"))
        return table.normalize(scores)[0]

    return vote_in_turns(table, weigh_workers, max_iterations=max_iterations, ties=ties, rate=rate)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class _Turn:
    """The state of a vote in rounds: a row for each crowd."""

    truths: IntArray
    scores: FloatArray  # (crowds, labels, tasks)
    weights: FloatArray
    qualities: FloatArray
    num_iterations: IntArray
    has_converged: NDArray[np.bool_]


def vote_in_turns(
    table: VoteTable,
    weigh_workers: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    *,
    max_iterations: int,
    ties: Ties,
    rate: Callable[[FloatArray, FloatArray], FloatArray] | None = None,
) -> InferenceBlock[Inference]:
    """Alternate between weights of workers and weighted votes, from the majority vote.

    Args:
        weigh_workers: a function of the number of each worker's answers that equal the current truths, shape (crowds,
            workers, kinds). It returns weights of the same shape, multiples of 2⁻³², and qualities, shape (crowds,
            workers). It is called with fewer crowds as crowds stop.
        rate: a function of the last sums of weights, shape (labels, crowds, tasks), which it may overwrite, and of the
            qualities in them. It returns the probabilities of labels. By default weights are taken as log-odds.
    """
    inner: Ties = "first" if ties == "missing" else ties
    rounds, open_table = Rounds[_Turn](table.num_crowds), table
    truths = table.choose(table.counts, ties=inner)
    while rounds.go_on:
        weights, qualities = weigh_workers(open_table.agree_with(truths))
        scores = open_table.vote(weights)
        previous, truths = truths, open_table.choose(scores, ties=inner)
        rounds.number += 1
        has_converged = (previous == truths).all(axis=1)
        turn = functools.partial(
            _Turn,
            truths=truths,
            scores=scores.swapaxes(0, 1),
            weights=weights,
            qualities=qualities,
            num_iterations=np.full(len(truths), rounds.number),
            has_converged=has_converged,
        )
        rounds.stop(has_converged | (rounds.number == max_iterations), turn)
        if (places := rounds.leave_behind()) is not None:
            open_table, truths = VoteTable(open_table.answers.select(places)), truths[places]
    last = rounds.final_states()
    scores, truths = np.ascontiguousarray(last.scores.swapaxes(0, 1)), last.truths
    if ties == "missing":
        truths = table.choose(scores, ties=ties)
    rows = table.task_probabilities(table.normalize(scores)[0] if rate is None else rate(scores, last.qualities))
    truth_probabilities = np.take_along_axis(rows, np.maximum(truths, 0)[..., None], axis=2)[..., 0]
    return InferenceBlock(
        kind=Inference,
        truths=truths,
        confidences=np.where(truths < 0, rows.max(axis=2), truth_probabilities),
        probabilities=rows,
        qualities=table.hide_silent(last.qualities),
        weights=table.hide_silent(last.weights[..., 0]),
        num_iterations=last.num_iterations,
        has_converged=last.has_converged,
        log_likelihoods=np.empty((len(truths), 0)),
    )
