"""Dawid and Skene's model: a worker has a probability for each report and each truth.

Labels of answer sets of different size need not mean the same thing, so that a worker has a matrix for each size, and
each size is inferred by itself.

Source: Dawid and Skene (1979), section 3.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from .answers import Answers
from .elementwise import exp_in_place, log, log_odds, snap_weights
from .expectation import ClassPrior, Fitting, check_class_prior, class_log_priors
from .inference import MISSING, Inference, Ties
from .vote_table import VoteTable, incidence

_LEAST_QUALITY = 1e-10


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Confusions(Inference):
    """Truths, with the workers' confusion matrices.

    Args:
        confusions: for each size s of answer sets, shape (num_workers, s, s): the probability of each answer (last
            axis) given each truth. Of a worker without answers of that size it is what the prior says, or nan.
    """

    confusions: Mapping[int, FloatArray]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ConfusionFit:
    """What an M-step finds.

    Args:
        confusions: of answers, shape (workers, truths, answers).
        reports: of reports, shape (workers, truths, reports); the same where nothing was perturbed.
        right: how many answers of each worker are expected to be right, shape (workers,).
        log_prior: the log-density of the confusions' prior; 0 where there is none.
    """

    confusions: FloatArray
    reports: FloatArray
    right: FloatArray
    log_prior: float = 0.0


FitConfusions: TypeAlias = Callable[[FloatArray, FloatArray | None], ConfusionFit]
"""From expected counts, shape (workers, truths, reports), and the previous confusions, if there are any."""


class ReportTable:
    """Sums over the answers by what a worker said, for answer sets of one size."""

    def __init__(self, answers: Answers) -> None:
        self.votes = VoteTable(answers)
        self.size = self.votes.num_labels
        reports = answers.workers * self.size + answers.labels
        shape = (answers.num_tasks, answers.num_workers * self.size)
        self._by_task = incidence(answers.tasks, reports, shape)
        self._by_report = incidence(reports, answers.tasks, (shape[1], shape[0]), ones=self._by_task.data)

    def vote(self, log_confusions: FloatArray) -> FloatArray:
        """Return the log-likelihood of each truth, shape (labels, tasks); given shape (workers, truths, reports)."""
        columns = np.ascontiguousarray(log_confusions.transpose(0, 2, 1)).reshape(-1, self.size)
        return np.ascontiguousarray(np.asarray(self._by_task @ columns, dtype=np.float64).T)

    def count(self, probabilities: FloatArray) -> FloatArray:
        """Return how often each worker is expected to have said what, shape (workers, truths, reports)."""
        counts = np.asarray(self._by_report @ np.ascontiguousarray(probabilities.T), dtype=np.float64)
        return np.ascontiguousarray(counts.reshape(-1, self.size, self.size).transpose(0, 2, 1))


def relative_frequencies(counts: FloatArray) -> FloatArray:
    """Return `counts` divided by their sums over the last axis."""
    return counts / counts.sum(axis=-1, keepdims=True)


@exact_arguments
def dawid_skene(
    answers: Answers,
    *,
    class_prior: ClassPrior = "estimated",
    smoothing: float = 0.0,
    floor: float = 1e-10,
    max_iterations: int = 100,
    tolerance: float = 1e-5,
    rounds: int | None = None,
    ties: Ties = "first",
) -> Confusions:
    """Return the most probable truths when each worker has a confusion matrix, by EM.

    It starts from the shares of votes.

    Args:
        class_prior: "estimated" takes each label's mean posterior probability, apart for each size of answer set.
        smoothing: added to the number of times that a worker said each label for each truth; at least 0.
        floor: the least such number; above 0, at most 1.

    Returns:
        Also the confusion matrices. A quality is the expected share of right answers, a weight its log-odds.
    """
    check_class_prior(class_prior)
    if not 0 < floor <= 1:
        raise ValueError(f"floor must be in (0, 1], got {floor}")
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be at least 0, got {smoothing}")

    def fit_confusions(counts: FloatArray, _previous: FloatArray | None) -> ConfusionFit:
        confusions = relative_frequencies(np.maximum(counts + smoothing, floor))
        right = np.trace(counts, axis1=1, axis2=2)
        return ConfusionFit(confusions=confusions, reports=confusions, right=right)

    fitting = Fitting(max_iterations=max_iterations, tolerance=tolerance, rounds=rounds, ties=ties)
    return maximize_confusions(answers, lambda _size: fit_confusions, class_prior, fitting)


def maximize_confusions(
    answers: Answers,
    fit_of_size: Callable[[int], FitConfusions],
    class_prior: ClassPrior | Mapping[int, FloatArray],
    fitting: Fitting,
) -> Confusions:
    """Return the truths after rounds of M-step and E-step from the shares of votes on, for each size by itself.

    The class prior may also be fixed, shape (s,) for each size s.
    """
    truths = np.full(answers.num_tasks, MISSING, dtype=np.int64)
    probabilities = np.full((answers.num_tasks, answers.num_classes), np.nan)
    num_answers = np.bincount(answers.workers, minlength=answers.num_workers).astype(np.float64)
    right = np.zeros(answers.num_workers)
    confusions: dict[int, FloatArray] = {}
    priors: dict[int, FloatArray] = {}
    runs: list[_Run] = []
    for size in np.unique(answers.sizes).tolist():
        members = np.flatnonzero(answers.sizes == size)
        run = _run(_part_of(answers, members), fit_of_size(size), class_prior, fitting)
        truths[members] = run.truths
        probabilities[members[:, None], np.arange(size)] = run.probabilities
        probabilities[members[~np.isnan(run.probabilities[:, 0])], size:] = 0.0
        right += run.fit.right
        confusions[size], priors[size] = run.fit.confusions, run.class_priors
        runs.append(run)
    qualities = np.where(num_answers > 0, right / np.maximum(num_answers, 1.0), np.nan)
    return Confusions(
        truths=truths,
        confidences=probabilities.max(axis=1),
        probabilities=probabilities,
        qualities=qualities,
        weights=log_odds(np.clip(qualities, _LEAST_QUALITY, 1 - _LEAST_QUALITY)),
        num_iterations=max((len(run.log_likelihoods) for run in runs), default=0),
        has_converged=all(run.has_converged for run in runs),
        log_likelihoods=runs[0].log_likelihoods if len(runs) == 1 else (),
        confusions=confusions,
        class_priors=priors,
    )


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class _Run:
    """The inference of the tasks of one size."""

    truths: IntArray
    probabilities: FloatArray
    fit: ConfusionFit
    class_priors: FloatArray
    log_likelihoods: tuple[float, ...]
    has_converged: bool


def _run(
    answers: Answers,
    fit_confusions: FitConfusions,
    class_prior: ClassPrior | Mapping[int, FloatArray],
    fitting: Fitting,
) -> _Run:
    table = ReportTable(answers)
    probabilities = table.votes.vote_shares
    fit = fit_confusions(table.count(probabilities), None)
    log_priors = class_log_priors(table.votes, probabilities, class_prior)
    log_likelihoods: list[float] = []
    while fitting.goes_on(log_likelihoods):
        probabilities, evidence = table.votes.normalize(table.vote(snap_weights(log(fit.reports))) + log_priors)
        log_likelihoods.append((evidence + fit.log_prior) / max(len(answers), 1))
        fit = fit_confusions(table.count(probabilities), fit.confusions)
        log_priors = class_log_priors(table.votes, probabilities, class_prior)
    return _Run(
        truths=table.votes.choose(probabilities, ties=fitting.ties),
        probabilities=table.votes.by_task(probabilities),
        fit=fit,
        class_priors=exp_in_place(log_priors[:, 0].copy()),
        log_likelihoods=tuple(log_likelihoods),
        has_converged=fitting.has_converged(log_likelihoods),
    )


def _part_of(answers: Answers, members: IntArray) -> Answers:
    """Return the answers to some tasks, which are renumbered in their order."""
    if len(members) == answers.num_tasks:
        return answers
    numbers = np.full(answers.num_tasks, MISSING, dtype=np.int64)
    numbers[members] = np.arange(len(members))
    kept = np.flatnonzero(numbers[answers.tasks] != MISSING)
    return Answers(
        tasks=numbers[answers.tasks[kept]],
        workers=answers.workers[kept],
        labels=answers.labels[kept],
        num_tasks=len(members),
        num_workers=answers.num_workers,
        sizes=answers.sizes[members],
    )
