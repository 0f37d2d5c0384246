"""Dawid and Skene's model: each worker has a confusion matrix, P[answer | truth].

Labels of answer sets of different size may have different meanings. Therefore a worker has a matrix for each size, and
the sizes are fitted independently.

Source: Dawid and Skene (1979), section 3.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from .answers import AnswerBlock, Answers
from .elementwise import log, log_odds, snap_weights
from .expectation import ClassPrior, Fitting, Model, iterate, priors_of
from .inference import MISSING, Inference, InferenceBlock, Ties, accept_one_or_many
from .vote_table import VoteTable, incidence

_LEAST_QUALITY = 1e-10


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Confusions(Inference):
    """Truths, with the workers' confusion matrices.

    Args:
        confusions: for each size s of answer sets, shape (num_workers, s, s): the probability of each answer (last
            axis) given each truth. For a worker without answers of that size it is the prior mean, or uniform without a
            prior.

    Examples:
        >>> first = Answers(*np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0]]), 1, 3, np.array([2]))
        >>> dawid_skene(first, smoothing=1.0).confusions[2].shape
        (3, 2, 2)
    """

    confusions: Mapping[int, FloatArray]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ConfusionFit:
    """The result of an M-step.

    Args:
        confusions: P[answer | truth], shape (crowds, workers, truths, answers).
        reports: P[report | truth], shape (crowds, workers, truths, reports); the same without perturbation.
        right: the expected number of right answers of each worker, shape (crowds, workers).
        log_prior: the log-density of the prior at the confusions, shape (crowds,); 0 without a prior.
    """

    confusions: FloatArray
    reports: FloatArray
    right: FloatArray
    log_prior: FloatArray


FitConfusions: TypeAlias = Callable[[FloatArray, FloatArray | None], ConfusionFit]
"""An M-step: a function of expected counts, shape (crowds, workers, truths, reports), and the previous confusions."""


class _Reports(Model[ConfusionFit]):
    """The model of workers with confusion matrices, for answers to tasks with answer sets of one size."""

    def __init__(self, votes: VoteTable, fit_confusions: FitConfusions) -> None:
        self.votes, self._fit_confusions, answers = votes, fit_confusions, votes.answers
        self._size = size = votes.num_labels
        first = answers.first
        crowds: IntArray = np.arange(len(answers), dtype=np.int64)[:, None]
        tasks = (crowds * first.num_tasks + first.tasks).reshape(-1)
        reports = ((crowds * first.num_workers + first.workers) * size + answers.labels).reshape(-1)
        shape = len(answers) * first.num_workers * size, len(answers) * first.num_tasks
        self._by_report = incidence(reports, tasks, shape)
        self._by_task = self._by_report.T

    def fit(self, probabilities: FloatArray, previous: ConfusionFit | None) -> ConfusionFit:
        """Return the M-step from the expected number of each worker's answers for each pair of truth and answer."""
        of_tasks = np.ascontiguousarray(probabilities.reshape(self._size, -1).T)
        counts = np.asarray(self._by_report @ of_tasks, dtype=np.float64)
        shape = self.votes.num_crowds, self.votes.num_workers, self._size, self._size
        counts = np.ascontiguousarray(counts.reshape(shape).swapaxes(2, 3))
        return self._fit_confusions(counts, None if previous is None else previous.confusions)

    def vote(self, fit: ConfusionFit) -> FloatArray:
        log_reports = snap_weights(log(fit.reports))
        columns = np.ascontiguousarray(log_reports.swapaxes(2, 3)).reshape(-1, self._size)
        scores = np.ascontiguousarray(np.asarray(self._by_task @ columns, dtype=np.float64).T)
        return scores.reshape(self._size, self.votes.num_crowds, -1)

    def add_evidence(self, fit: ConfusionFit) -> FloatArray:
        return fit.log_prior

    def select(self, places: IntArray) -> "_Reports":
        return _Reports(VoteTable(self.votes.answers.select(places)), self._fit_confusions)


def relative_frequencies(counts: FloatArray) -> FloatArray:
    """Return `counts` divided by their sums over the last axis."""
    return counts / counts.sum(axis=-1, keepdims=True)


@accept_one_or_many
@exact_arguments
def dawid_skene(
    answers: AnswerBlock,
    *,
    class_prior: ClassPrior = "estimated",
    smoothing: float = 0.0,
    floor: float = 1e-10,
    max_iterations: int = 100,
    tolerance: float = 1e-5,
    rounds: int | None = None,
    ties: Ties = "first",
) -> InferenceBlock[Confusions]:
    """Return the most probable truths if each worker has a confusion matrix, by EM from the shares of votes.

    Args:
        class_prior: "estimated" uses the mean posterior probability of each label, for each size of answer set.
        smoothing: added to a worker's expected count of each pair of truth and answer; at least 0.
        floor: the least such count; in (0, 1].

    Returns:
        The inference with confusion matrices. A quality is the expected fraction of right answers, and a weight is the
        log-odds of the quality.

    Examples:
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> found = dawid_skene(answers, smoothing=0.5)
        >>> (found.truths.tolist(), found.confusions[2][2].round(2).tolist())
        ([1, 0], [[0.78, 0.22], [0.71, 0.29]])
    """
    if not 0 < floor <= 1:
        raise ValueError(f"floor is {floor}: use a value above 0, up to 1")
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing is {smoothing}: use at least 0")

    def fit_confusions(counts: FloatArray, _previous: FloatArray | None) -> ConfusionFit:
        confusions = relative_frequencies(np.maximum(counts + smoothing, floor))
        right = np.trace(counts, axis1=2, axis2=3)
        return ConfusionFit(confusions=confusions, reports=confusions, right=right, log_prior=np.zeros(len(counts)))

    fitting = Fitting(
        max_iterations=max_iterations, tolerance=tolerance, rounds=rounds, ties=ties, class_prior=class_prior
    )
    return maximize_confusions(VoteTable(answers), lambda _size: fit_confusions, fitting)


def maximize_confusions(
    table: VoteTable, fit_of_size: Callable[[int], FitConfusions], fitting: Fitting
) -> InferenceBlock[Confusions]:
    """Run EM from the shares of votes, independently for each size of answer set."""
    first, number = table.answers.first, table.num_crowds
    truths = np.full((number, first.num_tasks), MISSING, dtype=np.int64)
    probabilities = np.full((number, first.num_tasks, first.num_classes), np.nan)
    num_answers = np.bincount(first.workers, minlength=first.num_workers).astype(np.float64)
    right = np.zeros((number, first.num_workers))
    log_likelihoods = np.empty((number, 0))
    confusions: dict[int, FloatArray] = {}
    class_priors: dict[int, FloatArray] = {}
    num_iterations, has_converged = np.zeros(number, dtype=np.int64), np.ones(number, dtype=np.bool_)
    sizes: list[int] = np.unique(first.sizes).tolist()
    for size in sizes:
        members = np.flatnonzero(first.sizes == size)
        votes = _part_of(table, members)
        last, of_rounds = iterate(_Reports(votes, fit_of_size(size)), fitting)
        log_likelihoods = of_rounds if len(sizes) == 1 else log_likelihoods
        of_labels = np.ascontiguousarray(last.probabilities.swapaxes(0, 1))
        truths[:, members] = votes.choose(of_labels, ties=fitting.ties)
        probabilities[:, members[:, None], np.arange(size)] = votes.task_probabilities(of_labels)
        answered_tasks = members[np.bincount(first.tasks, minlength=first.num_tasks)[members] > 0]
        probabilities[:, answered_tasks, size:] = 0.0
        right += last.fit.right
        confusions[size] = last.fit.confusions
        class_priors |= priors_of(last.log_priors, votes.sizes)
        num_iterations = np.maximum(num_iterations, last.num_iterations)
        has_converged &= last.has_converged
    qualities = np.where(num_answers > 0, right / np.maximum(num_answers, 1.0), np.nan)
    return InferenceBlock(
        kind=Confusions,
        truths=truths,
        confidences=probabilities.max(axis=2),
        probabilities=probabilities,
        qualities=qualities,
        weights=log_odds(np.clip(qualities, _LEAST_QUALITY, 1 - _LEAST_QUALITY)),
        num_iterations=num_iterations,
        has_converged=has_converged,
        log_likelihoods=log_likelihoods,
        extras={"confusions": confusions, "class_priors": class_priors},
    )


def _part_of(table: VoteTable, members: IntArray) -> VoteTable:
    """Return the answers to some tasks, which are renumbered in their order."""
    first = table.answers.first
    if len(members) == first.num_tasks:
        return table
    numbers = np.full(first.num_tasks, MISSING, dtype=np.int64)
    numbers[members] = np.arange(len(members))
    answer_places = np.flatnonzero(numbers[first.tasks] != MISSING)
    part = Answers(
        tasks=numbers[first.tasks[answer_places]],
        workers=first.workers[answer_places],
        labels=first.labels[answer_places],
        num_tasks=len(members),
        num_workers=first.num_workers,
        sizes=first.sizes[members],
    )
    return VoteTable(AnswerBlock(part, table.answers.labels[:, answer_places]))
