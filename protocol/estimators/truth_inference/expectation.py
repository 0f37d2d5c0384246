"""Expectation-maximization with one number for each worker: the probability of a right report.

The model: a task's truth is drawn from a class prior, and a worker reports it with the worker's quality r and each of
the other s − 1 labels with (1 − r)/(s − 1). The E-step weighs votes by log(r(s − 1)/(1 − r)); how r is found from the
expected number of right reports is the M-step, which differs (`one_coin`, `noise_aware`).
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from ...arrays import FloatArray
from .answers import Answers
from .elementwise import exp_in_place, log, snap_weights
from .inference import Inference, Ties, check_rounds
from .vote_table import VoteTable

ClassPrior: TypeAlias = Literal["estimated", "uniform"]
"""How probable each label is before any answer: its mean posterior, apart for each size of answer set, or alike."""

_LEAST_PRIOR = 1e-10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fitting:
    """How long EM goes on, and which label is taken in the end where several are as probable; see the package."""

    max_iterations: int
    tolerance: float
    rounds: int | None = None
    ties: Ties

    def __post_init__(self) -> None:
        check_rounds(self.max_iterations, self.ties, tolerance=self.tolerance, rounds=self.rounds)

    def has_converged(self, log_likelihoods: Sequence[float]) -> bool:
        """Return whether the last round raised the log-likelihood by less than the tolerance."""
        return len(log_likelihoods) > 1 and log_likelihoods[-1] - log_likelihoods[-2] < self.tolerance

    def goes_on(self, log_likelihoods: Sequence[float]) -> bool:
        """Return whether there is a further round after these."""
        if self.rounds is not None:
            return len(log_likelihoods) < self.rounds
        return len(log_likelihoods) < self.max_iterations and not self.has_converged(log_likelihoods)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WorkerFit:
    """What an M-step finds.

    Args:
        weights: log(r(s − 1)/(1 − r)), or its expectation, shape (workers, kinds).
        log_misses: log((1 − r)/(s − 1)), or its expectation, shape (workers, kinds).
        qualities: what to tell of each worker, shape (workers,).
        divergence: the information that the workers' posteriors have beyond their priors, in nats; 0 for point
            estimates, minus the log-density of a prior for a maximum of the posterior.
    """

    weights: FloatArray
    log_misses: FloatArray
    qualities: FloatArray
    divergence: float = 0.0


def check_class_prior(class_prior: str) -> None:
    """Raise ValueError unless `class_prior` is known."""
    if class_prior not in get_args(ClassPrior):
        raise ValueError(f"class_prior must be one of {', '.join(get_args(ClassPrior))}, got {class_prior!r}")


def mean_posteriors(answers: Answers, found: Inference) -> Mapping[int, FloatArray]:
    """Return each label's mean probability over the answered tasks, for each size s of answer sets, shape (s,).

    A size of which no task is answered has all labels alike.
    """
    priors: dict[int, FloatArray] = {}
    is_answered = ~np.isnan(found.probabilities[:, 0])
    for size in np.unique(answers.sizes).tolist():
        rows = found.probabilities[is_answered & (answers.sizes == size), :size]
        # Multiples of 2⁻³⁰, so that their sum is exact in any order.
        priors[size] = rows.sum(axis=0) / len(rows) if len(rows) else np.full(size, 1 / size)
    return priors


def class_log_priors(
    table: VoteTable, probabilities: FloatArray, class_prior: ClassPrior | Mapping[int, FloatArray]
) -> FloatArray:
    """Return the logarithm of each label's prior probability, shape (labels, kinds).

    By the class prior these are the mean probabilities, with a floor, or all alike, or what each size has.
    """
    if isinstance(class_prior, Mapping):
        fixed = np.zeros((table.num_labels, table.num_kinds))
        for kind, size in enumerate(table.sizes.tolist()):
            fixed[:size, kind] = class_prior[size]
        return snap_weights(log(np.maximum(fixed, _LEAST_PRIOR)))
    if class_prior == "uniform":
        return snap_weights(np.broadcast_to(-log(table.sizes), (table.num_labels, table.num_kinds)))
    priors = np.empty((table.num_labels, table.num_kinds))
    for kind in range(table.num_kinds):
        members = table.is_answered & (table.kinds_of_tasks == kind)
        priors[:, kind] = probabilities[:, members].sum(axis=1) / max(int(members.sum()), 1)
    return snap_weights(log(np.maximum(priors, _LEAST_PRIOR)))


def maximize(
    table: VoteTable,
    fit_workers: Callable[[FloatArray], WorkerFit],
    class_prior: ClassPrior | Mapping[int, FloatArray],
    fitting: Fitting,
) -> Inference:
    """Return the truths after rounds of M-step and E-step from the shares of votes on.

    Args:
        fit_workers: from the expected number of right reports, shape (workers, kinds).
        class_prior: see `ClassPrior`; or what it is for each size s, shape (s,).
    """
    probabilities = table.vote_shares
    fit = fit_workers(table.agree(probabilities))
    log_priors = class_log_priors(table, probabilities, class_prior)
    log_likelihoods: list[float] = []
    while fitting.goes_on(log_likelihoods):
        scores = table.vote(snap_weights(fit.weights))
        scores += log_priors if table.num_kinds == 1 else log_priors[:, table.kinds_of_tasks]
        probabilities, evidence = table.normalize(scores)
        evidence += float((table.answers_of_workers * fit.log_misses).sum()) - fit.divergence
        fit = fit_workers(table.agree(probabilities))
        log_priors = class_log_priors(table, probabilities, class_prior)
        log_likelihoods.append(evidence / max(table.num_answers, 1))
    rows = table.by_task(probabilities)
    return Inference(
        truths=table.choose(probabilities, ties=fitting.ties),
        confidences=rows.max(axis=1),
        probabilities=rows,
        qualities=table.hide_silent(fit.qualities),
        weights=table.hide_silent(fit.weights[:, 0]),
        num_iterations=len(log_likelihoods),
        has_converged=fitting.has_converged(log_likelihoods),
        log_likelihoods=tuple(log_likelihoods),
        class_priors={
            size: exp_in_place(log_priors[:size, kind].copy()) for kind, size in enumerate(table.sizes.tolist())
        },
    )
