"""Expectation-maximization for models with one parameter for each worker, the probability of a right report.

Model: the truth of a task is drawn from a class prior. A worker of quality r reports it with probability r, and each of
the other s − 1 labels with probability (1 − r)/(s − 1). The E-step weights votes by log(r(s − 1)/(1 − r)). The M-step
computes r from the expected number of right reports and depends on the estimator (`one_coin`, `noise_aware`).

Many crowds are fitted in parallel, with a separate stopping rule for each.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Generic, Literal, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import FloatArray, IntArray
from .answers import Answers
from .elementwise import exp_in_place, log, snap_weights
from .inference import Inference, InferenceBlock, Ties, check_choice, check_rounds
from .rounds import Rounds, rows_of
from .vote_table import VoteTable, sum_of_each

ClassPrior: TypeAlias = Literal["estimated", "uniform"]
"""The prior of labels: the mean posterior probability, for each size of answer set, or uniform."""

FixedPrior: TypeAlias = Mapping[int, FloatArray]
"""A class prior that is known: for each size s of answer sets, shape (crowds, s)."""

_LEAST_PRIOR = 1e-10


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fitting:
    """The stopping rule, the rule for ties and the class prior of EM; see the package for the other arguments.

    Args:
        class_prior: a rule (see `ClassPrior`) or a fixed prior.
    """

    max_iterations: int
    tolerance: float
    rounds: int | None = None
    ties: Ties
    class_prior: ClassPrior | FixedPrior = "uniform"

    def __post_init__(self) -> None:
        check_rounds(self.max_iterations, self.ties, tolerance=self.tolerance, rounds=self.rounds)
        if isinstance(self.class_prior, str):
            check_choice("class_prior", self.class_prior, ClassPrior)


FitT = TypeVar("FitT")


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted(Generic[FitT]):
    """The result of EM: a row for each crowd.

    Args:
        probabilities: shape (crowds, labels, tasks).
        log_priors: logarithms of the class priors, shape (crowds, labels, kinds).
        fit: the result of the last M-step.
    """

    probabilities: FloatArray
    log_priors: FloatArray
    fit: FitT
    num_iterations: IntArray
    has_converged: NDArray[np.bool_]


class FittingRounds(Rounds[Fitted[FitT]]):
    """Rounds of many crowds with a stopping rule on the log-likelihood of each."""

    def __init__(self, num_crowds: int, fitting: Fitting) -> None:
        super().__init__(num_crowds)
        self._fitting, self._num_crowds = fitting, num_crowds
        self._by_round: list[tuple[IntArray, FloatArray]] = []
        self._last_likelihoods: FloatArray = np.full(num_crowds, -np.inf)

    def add(self, log_likelihoods: FloatArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Record the log-likelihoods of a round, and return which crowds have converged and which are done."""
        fitting = self._fitting
        have_converged = log_likelihoods - self._last_likelihoods < fitting.tolerance
        self.number += 1
        self._last_likelihoods = log_likelihoods
        self._by_round.append((self.crowds, log_likelihoods))
        if fitting.rounds is not None:
            return have_converged, np.full(len(self.crowds), self.number == fitting.rounds)
        return have_converged, have_converged | (self.number == fitting.max_iterations)

    def leave_behind(self) -> IntArray | None:
        if (places := super().leave_behind()) is not None:
            self._last_likelihoods = self._last_likelihoods[places]
        return places

    @property
    def log_likelihoods(self) -> FloatArray:
        """The log-likelihoods of all rounds, shape (crowds, rounds); undefined after a crowd's last round."""
        table = np.full((self._num_crowds, self.number), np.nan)
        for column, (crowds, log_likelihoods) in enumerate(self._by_round):
            table[crowds, column] = log_likelihoods
        return table


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WorkerFit:
    """The result of an M-step.

    Args:
        weights: log(r(s − 1)/(1 − r)), or its expectation, shape (crowds, workers, kinds).
        log_misses: log((1 − r)/(s − 1)), or its expectation, shape (crowds, workers, kinds).
        qualities: the quality of each worker, shape (crowds, workers).
        divergence: the Kullback-Leibler divergence of the workers' posteriors from their priors, in nats, shape
            (crowds,); 0 for point estimates.
    """

    weights: FloatArray
    log_misses: FloatArray
    qualities: FloatArray
    divergence: FloatArray


def mean_posteriors(answers: Answers, inferences: InferenceBlock[Inference]) -> FixedPrior:
    """Return each label's mean probability over the answered tasks, for each size s: shape (crowds, s).

    It is uniform for a size without answered tasks.
    """
    priors: dict[int, FloatArray] = {}
    is_answered = np.bincount(answers.tasks, minlength=answers.num_tasks) > 0
    for size in np.unique(answers.sizes).tolist():
        rows = inferences.probabilities[:, is_answered & (answers.sizes == size), :size]
        # Multiples of 2⁻³⁰, so that their sum is exact in any order.
        number = rows.shape[1]
        priors[size] = rows.sum(axis=1) / number if number else np.full((len(inferences), size), 1 / size)
    return priors


def class_log_priors(table: VoteTable, probabilities: FloatArray, class_prior: ClassPrior | FixedPrior) -> FloatArray:
    """Return the logarithm of each label's prior probability, bounded below, shape (labels, crowds, kinds)."""
    shape = table.num_labels, table.num_crowds, table.num_kinds
    if isinstance(class_prior, Mapping):
        fixed = np.zeros(shape)
        for kind, size in enumerate(table.sizes.tolist()):
            fixed[:size, :, kind] = class_prior[size].T
        return snap_weights(log(np.maximum(fixed, _LEAST_PRIOR)))
    if class_prior == "uniform":
        return np.broadcast_to(snap_weights(-log(table.sizes)), shape)
    priors = np.empty(shape)
    for kind in range(table.num_kinds):
        members = table.is_answered & (table.kinds_of_tasks == kind)
        # In a fixed order of tasks, since sums of the shares of votes of the first round depend on the order.
        of_tasks = np.ascontiguousarray(probabilities.transpose(2, 0, 1)[members])
        priors[:, :, kind] = of_tasks.sum(axis=0) / max(len(of_tasks), 1)
    return snap_weights(log(np.maximum(priors, _LEAST_PRIOR)))


def priors_of(log_priors: FloatArray, sizes: IntArray) -> dict[int, FloatArray]:
    """Return class priors for each size s, shape (crowds, s), of their logarithms, shape (crowds, labels, kinds)."""
    return {size: exp_in_place(log_priors[:, :size, kind].copy()) for kind, size in enumerate(sizes.tolist())}


class Model(Protocol[FitT]):
    """A model of answers given truths, which EM fits to the answers `votes`."""

    votes: VoteTable

    def fit(self, probabilities: FloatArray, previous: FitT | None) -> FitT:
        """Return the result of the M-step, from the probabilities of the truths and the previous result."""
        ...

    def vote(self, fit: FitT) -> FloatArray:
        """Return the answers' contribution to the log-likelihood of each truth, shape (labels, crowds, tasks)."""
        ...

    def add_evidence(self, fit: FitT) -> FloatArray:
        """Return the remaining terms of the log-likelihood, shape (crowds,)."""
        ...

    def select(self, places: IntArray) -> Self:
        """Return the model of some of the crowds."""
        ...


def iterate(model: Model[FitT], fitting: Fitting) -> tuple[Fitted[FitT], FloatArray]:
    """Run rounds of M-step and E-step from the shares of votes; return the last model and all log-likelihoods."""
    votes, class_prior = model.votes, fitting.class_prior
    rounds = FittingRounds[FitT](votes.num_crowds, fitting)
    probabilities = votes.vote_shares
    fit = model.fit(probabilities, None)
    log_priors = class_log_priors(votes, probabilities, class_prior)
    while rounds.go_on:
        scores = model.vote(fit)
        scores += log_priors if votes.num_kinds == 1 else log_priors[:, :, votes.kinds_of_tasks]
        probabilities, evidence = votes.normalize(scores)
        evidence += model.add_evidence(fit)
        fit = model.fit(probabilities, fit)
        log_priors = class_log_priors(votes, probabilities, class_prior)
        have_converged, are_done = rounds.add(evidence / max(votes.num_answers, 1))
        state = functools.partial(
            Fitted,
            probabilities.swapaxes(0, 1),
            log_priors.swapaxes(0, 1),
            fit,
            np.full(len(evidence), rounds.number),
            have_converged,
        )
        rounds.stop(are_done, state)
        if (places := rounds.leave_behind()) is not None:
            model, fit, log_priors = model.select(places), rows_of(fit, places), log_priors[:, places]
            votes, class_prior = model.votes, _select_crowds(class_prior, places)
    return rounds.final_states(), rounds.log_likelihoods


def _select_crowds(class_prior: ClassPrior | FixedPrior, places: IntArray) -> ClassPrior | FixedPrior:
    if isinstance(class_prior, Mapping):
        return {size: priors[places] for size, priors in class_prior.items()}
    return class_prior


@dataclasses.dataclass(frozen=True)
class _Coins(Model[WorkerFit]):
    """Workers who are right with one probability each."""

    votes: VoteTable
    fit_workers: Callable[[FloatArray], WorkerFit]

    def fit(self, probabilities: FloatArray, previous: WorkerFit | None) -> WorkerFit:
        del previous
        return self.fit_workers(self.votes.agree(probabilities))

    def vote(self, fit: WorkerFit) -> FloatArray:
        return self.votes.vote(snap_weights(fit.weights))

    def add_evidence(self, fit: WorkerFit) -> FloatArray:
        return sum_of_each(self.votes.answers_of_workers * fit.log_misses) - fit.divergence

    def select(self, places: IntArray) -> "_Coins":
        return _Coins(VoteTable(self.votes.answers.select(places)), self.fit_workers)


def maximize(
    table: VoteTable, fit_workers: Callable[[FloatArray], WorkerFit], fitting: Fitting
) -> InferenceBlock[Inference]:
    """Run EM from the shares of votes.

    Args:
        fit_workers: the M-step, a function of the expected number of right reports, shape (crowds, workers, kinds). It
            is called with fewer crowds as crowds stop.
    """
    last, log_likelihoods = iterate(_Coins(table, fit_workers), fitting)
    probabilities = np.ascontiguousarray(last.probabilities.swapaxes(0, 1))
    rows = table.task_probabilities(probabilities)
    return InferenceBlock(
        kind=Inference,
        truths=table.choose(probabilities, ties=fitting.ties),
        confidences=rows.max(axis=2),
        probabilities=rows,
        qualities=table.hide_silent(last.fit.qualities),
        weights=table.hide_silent(last.fit.weights[..., 0]),
        num_iterations=last.num_iterations,
        has_converged=last.has_converged,
        log_likelihoods=log_likelihoods,
        extras={"class_priors": priors_of(last.log_priors, table.sizes)},
    )
