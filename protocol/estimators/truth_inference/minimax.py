"""Minimax conditional entropy: a model with a confusion matrix for each worker and for each task.

The law P of the answers maximizes the entropy among laws that approximately have the observed counts of answers k to
truths c of each worker and of each task. The truths minimize this greatest entropy. The dual problem maximizes a
penalized likelihood with P(k | c) ∝ exp(σ[c, k] of the worker + τ[c, k] of the task) and the penalties α·Σσ²/2 and
β·Στ²/2. `Inference.log_likelihoods` has its value after each round.
"""

from typing import Final

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from .answers import AnswerBlock, Answers
from .elementwise import exp_in_place, log, log_odds, snap_probabilities, snap_weights
from .inference import Inference, Ties, apply_one_by_one, check_rounds
from .vote_table import VoteTable

_LEAST_QUALITY: Final = 1e-10
_NEAR: Final = 2.0**-10
"""Probabilities that are at most this much below the greatest one tie with it."""
_MOST_PENALTY: Final = 1e6
"""The greatest penalty; beyond it the parameters are 0 up to the precision of probabilities."""


@apply_one_by_one
@exact_arguments
def minimax_entropy(
    answers: Answers,
    *,
    penalty: float = 0.25,
    max_iterations: int = 50,
    tolerance: float = 1e-5,
    ties: Ties = "first",
) -> Inference:
    """Return the most probable truths under minimax conditional entropy.

    The iteration starts from the shares of votes. A round updates σ, then τ, then the probabilities of the truths. It
    never lowers the penalized likelihood: each update maximizes a quadratic lower bound, whose curvature is half the
    number of answers since the curvature of a log-sum-exp is at most 1/2.

    With few answers the optimum may be uniform, with a probability of 1/s for each label, since the objective includes
    the entropy of the truths. If probabilities tie within 2⁻¹⁰, the label with more votes is chosen.

    A round makes three passes over n answers with s² exponentials per answer, and needs memory for a few times n·s
    numbers.

    Args:
        penalty: γ, in (0, 10⁶]: α = γ·s² for answer sets of s labels, and β = α·(tasks/workers), where tasks and
            workers are numbers of those with answers.
        ties: the rule for labels that tie both in probability and in votes.

    Returns:
        The inference. A quality is the expected fraction of right answers, and a weight is the log-odds of the quality.

    Source:
        Zhou, Platt, Basu and Mao, Learning from the Wisdom of Crowds by Minimax Entropy, NeurIPS 2012; Zhou, Liu, Platt
        and Meek, Aggregating Ordinal Labels from Crowds by Minimax Conditional Entropy, ICML 2014: the multiclass model
        with squared penalties; α, β and γ as in the authors' program for it. The steps of σ and τ are ours.

    Examples:
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> minimax_entropy(answers).truths.tolist()
        [1, 0]
    """
    check_rounds(max_iterations, ties, tolerance=tolerance)
    if not 0 < penalty <= _MOST_PENALTY:
        raise ValueError(f"penalty is {penalty}: use a value above 0, up to {_MOST_PENALTY:g}")
    table = VoteTable(AnswerBlock.from_answers(answers))
    confusions = _Confusions(answers, table, penalty)
    probabilities, values, has_converged = table.vote_shares, list[float](), False
    while not has_converged and len(values) < max_iterations:
        for side in confusions.sides:
            confusions.fit(side, probabilities[:, 0])
        probabilities, evidence = table.normalize(confusions.log_likelihoods())
        values.append((float(evidence[0]) - confusions.penalty) / max(len(answers), 1))
        has_converged = len(values) > 1 and values[-1] - values[-2] < tolerance
    are_alike = probabilities >= probabilities.max(axis=0) - _NEAR
    (truths,) = table.choose(np.where(are_alike, table.vote_shares, -1.0), ties=ties)
    (rows,) = table.task_probabilities(probabilities)
    truth_probabilities = np.take_along_axis(rows, np.maximum(truths, 0)[:, None], axis=1)[:, 0]
    numbers = np.maximum(table.answers_of_workers.sum(axis=1), 1.0)
    qualities = table.agree(probabilities)[0].sum(axis=1) / numbers
    return Inference(
        truths=truths,
        confidences=np.where(truths < 0, rows.max(axis=1), truth_probabilities),
        probabilities=rows,
        qualities=table.hide_silent(qualities),
        weights=table.hide_silent(log_odds(np.clip(qualities, _LEAST_QUALITY, 1 - _LEAST_QUALITY))),
        num_iterations=len(values),
        has_converged=has_converged,
        log_likelihoods=tuple(values),
    )


class _Side:
    """The parameters σ of all workers, or τ of all tasks, shape (truths, answers, workers or tasks).

    Args:
        places: the worker, or the task, of each answer, shape (n,).
        penalties: α for each worker and size of answer set, or β for each task.
    """

    def __init__(self, places: IntArray, penalties: FloatArray, size: int) -> None:
        self.places, self.penalties = places, penalties
        self.parameters: FloatArray = np.zeros((size, size, len(penalties)))

    def sum(self, numbers: FloatArray) -> FloatArray:
        """Return the sum over the answers of each worker or task; exact in any order for multiples of 2⁻³⁰ or 2⁻³²."""
        return np.asarray(np.bincount(self.places, numbers, minlength=len(self.penalties)), dtype=np.float64)

    @property
    def penalty(self) -> float:
        return float(snap_probabilities(self.penalties * (self.parameters**2).sum(axis=(0, 1)) / 2).sum())


class _Confusions:
    """The law of answers given the parameters of workers and tasks."""

    def __init__(self, answers: Answers, table: VoteTable, penalty: float) -> None:
        self._table, self._labels = table, answers.labels
        alphas = penalty * table.sizes.astype(np.float64) ** 2
        betas = alphas * max(int(table.is_answered.sum()), 1) / max(int((~table.is_silent).sum()), 1)
        kinds = table.kinds_of_tasks[answers.tasks]
        workers, size = answers.workers * table.num_kinds + kinds, table.num_labels
        self._is_absent = np.arange(size)[:, None] >= table.sizes[kinds]
        self._tasks = _Side(answers.tasks, betas[table.kinds_of_tasks], size)
        self.sides = (_Side(workers, np.tile(alphas, table.num_workers), size), self._tasks)

    @property
    def penalty(self) -> float:
        return self.sides[0].penalty + self.sides[1].penalty

    def fit(self, side: _Side, probabilities: FloatArray) -> None:
        """Update the parameters of workers or of tasks, given the probabilities of the truths."""
        for truth, values in enumerate(side.parameters):
            expectations = snap_probabilities(probabilities[truth][self._tasks.places])
            _, likelihoods, totals = self._law(truth)
            curvatures = side.sum(expectations) / 2 + side.penalties
            for label, likelihood in enumerate(likelihoods):
                surprise = expectations * ((self._labels == label) - likelihood / totals)
                values[label] += (side.sum(snap_probabilities(surprise)) - side.penalties * values[label]) / curvatures

    def log_likelihoods(self) -> FloatArray:
        """Return the log-likelihood of each truth, shape (labels, 1, tasks); -inf for labels a task does not have."""
        scores = np.empty((self._table.num_labels, 1, self._table.num_tasks))
        for truth, (row,) in enumerate(scores):
            logits, _, totals = self._law(truth)
            row[:] = self._tasks.sum(snap_weights(np.take_along_axis(logits, self._labels[None], 0)[0] - log(totals)))
        return self._table.fill_absent(scores, -np.inf)

    def _law(self, truth: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return log P of each label for each answer given a truth, unnormalized, shape (labels, n), P, and its sum."""
        workers, tasks = (side.parameters[truth][:, side.places] for side in self.sides)
        logits = np.where(self._is_absent, -np.inf, workers + tasks)
        logits -= logits.max(axis=0)
        likelihoods = exp_in_place(logits.copy())
        totals = likelihoods[0].copy()
        for row in likelihoods[1:]:
            totals += row
        return logits, likelihoods, totals
