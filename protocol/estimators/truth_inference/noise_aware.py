"""Noise-aware truth inference: estimators that use the known law of the perturbation (reading T6).

Few perturbed answers contain little information about a worker. Maximum likelihood overfits them and is often worse
than a majority vote. Two remedies are used here. First, the law of a report is known up to the worker's quality: it is
right with probability r = α(1 − p) + (1 − α)·p/(s − 1), where α is the probability of a right answer, p the flip
probability and s the size of the answer set. This bounds the weight of any vote. Second, a prior on the quality keeps
weights close to each other until there are enough answers to distinguish workers.

Source: Li et al. (2018), Definition 5.1, for the channel; the estimators are ours.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import xlog1py, xlogy

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from .answers import AnswerBlock
from .confusions import ConfusionFit, Confusions, FitConfusions, maximize_confusions, relative_frequencies
from .elementwise import exp_in_place, log, snap_weights
from .expectation import ClassPrior, Fitting, WorkerFit, maximize
from .inference import Inference, InferenceBlock, Ties, accept_one_or_many
from .noise import KnownNoise, OwnNoise
from .vote_table import VoteTable, sum_of_each
from .votes import vote_in_turns

_NUM_COMPETENCES = 40
_MAX_CELLS = 2**19
"""The greatest number of grid nodes times workers in memory at once."""
_MOST_BESIDE = 2**16
"""The same, if several crowds are processed together."""
_MOST_CODES = 2**62
_LONGEST_ROW = 1 << 10
"""The greatest length of rows that are summed by one numpy reduction."""
_INNER_ROUNDS = 5
"""The rounds of inferring the unperturbed answers in each M-step; they converge slowly under strong noise."""
_LEAST_PROBABILITY = 1e-9


@accept_one_or_many
@exact_arguments
def noise_aware_one_coin(
    answers: AnswerBlock,
    noise: KnownNoise | OwnNoise,
    *,
    competence_prior: tuple[float, float] = (2.0, 1.0),
    least_competence: float = 0.0,
    class_prior: ClassPrior = "uniform",
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    rounds: int | None = None,
    ties: Ties = "first",
) -> InferenceBlock[Inference]:
    """Return the most probable truths under the one-coin model with known perturbation, by variational EM.

    A worker of competence c knows the truth with probability c and guesses uniformly otherwise. For an answer set of
    size s, its answer is right with probability α = c + (1 − c)/s. The M-step computes the posterior of each worker's c
    on a grid, jointly with its flip probability if each worker draws one. The weight of a vote is the posterior mean of
    log(r(s − 1)/(1 − r)), where r is the probability of a right report. A point estimate of c would be overconfident
    for workers with few answers.

    Args:
        competence_prior: the two parameters of a Beta distribution on [least_competence, 1], each at least 1.
        least_competence: in (−1, 1). With 0 nobody is worse than guessing, which keeps the estimator from inverting
            very noisy answers. Below 0 it also detects workers who are wrong on purpose.
        class_prior: "estimated" uses the mean posterior probability of each label, which under strong noise collapses
            to one label; therefore the default is "uniform".

    Returns:
        The inference. A quality refers to the answers before the perturbation: the posterior mean of α over the answers
        of the worker.

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import Answers
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> found = noise_aware_one_coin(answers, KnownNoise.from_flip_probabilities({2: 0.25}))
        >>> (found.truths.tolist(), found.confidences.round(2).tolist())
        ([1, 0], [0.68, 0.89])
    """
    fitting = Fitting(
        max_iterations=max_iterations, tolerance=tolerance, rounds=rounds, ties=ties, class_prior=class_prior
    )
    if not 1 <= min(competence_prior) <= max(competence_prior) < np.inf:
        raise ValueError(f"competence_prior is {competence_prior}: use two numbers of at least 1")
    if not -1 < least_competence < 1:
        raise ValueError(f"least_competence is {least_competence}: use a value above -1 and below 1")
    return fit_coins(VoteTable(answers), noise, fitting, competence_prior, least_competence)


def fit_coins(
    table: VoteTable,
    noise: KnownNoise | OwnNoise,
    fitting: Fitting,
    competence_prior: tuple[float, float] = (2.0, 1.0),
    least_competence: float = 0.0,
) -> InferenceBlock[Inference]:
    """Run `noise_aware_one_coin`; the class prior may also be fixed."""
    return maximize(table, _fit_by_level(table, noise, prior=competence_prior, least=least_competence), fitting)


def noise_aware_votes(
    table: VoteTable, noise: KnownNoise | OwnNoise, *, most_competence: float, max_iterations: int, ties: Ties
) -> InferenceBlock[Inference]:
    """Return the truths of the paper's truth discovery with noise-aware weights.

    The weight of a vote is the posterior mean of log(r(s − 1)/(1 − r)) given how many of the worker's reports equal the
    current truths. Under strong noise all weights are nearly equal, and the result is the majority vote.

    Args:
        most_competence: the prior of a worker's competence (see `noise_aware_one_coin`) is uniform on [0,
            most_competence]. Below 1 no single worker outweighs many others.
    """
    fit_workers = _fit_by_level(table, noise, are_counts=True, prior=(1.0, 1.0), least=0.0, most=most_competence)

    def weigh_workers(agreements: FloatArray) -> tuple[FloatArray, FloatArray]:
        fit = fit_workers(agreements)
        return snap_weights(fit.weights), fit.qualities

    return vote_in_turns(table, weigh_workers, max_iterations=max_iterations, ties=ties)


def _fit_by_level(
    table: VoteTable, noise: KnownNoise | OwnNoise, *, are_counts: bool = False, **prior: Any
) -> Callable[[FloatArray], WorkerFit]:
    """Return an M-step that fits each worker on the `_CompetenceGrid` of its noise level.

    Args:
        are_counts: whether numbers of right reports are integers; the divergence is not computed then.
        prior: the other arguments of `_CompetenceGrid`.
    """
    grids = [(_CompetenceGrid(table.sizes, law, **prior), places) for law, places in noise.level_noises]

    def fit_workers(agreements: FloatArray) -> WorkerFit:
        if len(grids) == 1:
            grid = grids[0][0]
            return (grid.fit_counts if are_counts else grid.fit)(agreements, table.answers_of_workers)
        whole_fit = WorkerFit(
            weights=np.empty_like(agreements),
            log_misses=np.empty_like(agreements),
            qualities=np.empty(agreements.shape[:2]),
            divergence=np.zeros(len(agreements)),
        )
        for grid, places in grids:
            fit_own = grid.fit_counts if are_counts else grid.fit
            fit = fit_own(np.ascontiguousarray(agreements[:, places]), table.answers_of_workers[places])
            whole_fit.weights[:, places], whole_fit.log_misses[:, places] = fit.weights, fit.log_misses
            whole_fit.qualities[:, places] = fit.qualities
            whole_fit.divergence[:] += fit.divergence
        return whole_fit

    return fit_workers


class _CompetenceGrid:
    """The grid of a worker's possible states: all pairs of a competence and a flip probability.

    Args:
        sizes: the size of the answer set of each kind of task, shape (kinds,).
        prior: the parameters of a Beta distribution of competences on [least, most].
    """

    def __init__(
        self, sizes: IntArray, noise: KnownNoise, *, prior: tuple[float, float], least: float, most: float = 1.0
    ) -> None:
        places = (np.arange(_NUM_COMPETENCES) + 0.5) / _NUM_COMPETENCES
        competences = least + (most - least) * places
        flips, choices = noise.values_of(sizes), sizes[:, None]
        # Competences below −1/(s − 1) would give a right answer a negative probability.
        rights = np.clip(competences + (1 - competences) / choices, 0.0, 1.0)
        density = np.asarray(xlogy(prior[0] - 1, places) + xlog1py(prior[1] - 1, -places), dtype=np.float64)
        # From here on shape (kinds, nodes).
        rights, flips = np.repeat(rights, flips.shape[1], axis=1), np.tile(flips, _NUM_COMPETENCES)
        hits = np.clip(
            rights * (1 - flips) + (1 - rights) * flips / (choices - 1), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY
        )
        self._rights, self._log_hits, self._log_misses = rights, log(hits), log(1 - hits) - log(choices - 1)
        self._log_prior = np.repeat(density - density.max(), noise.num_values)
        self._log_prior -= log(exp_in_place(self._log_prior.copy()).sum())

    def fit(self, agreements: FloatArray, num_answers: FloatArray) -> WorkerFit:
        """Return the posterior means of weights and qualities.

        Args:
            agreements: the expected number of right reports, shape (crowds, workers, kinds).
            num_answers: the number of reports, the same in all crowds, shape (workers, kinds).
        """
        shape, kinds = agreements.shape, range(agreements.shape[2])
        disagreements = num_answers - agreements
        rights, wrongs = (table.reshape(-1, len(kinds)) for table in (agreements, disagreements))
        hits, misses, num_known = np.empty_like(rights), np.empty_like(rights), np.empty_like(rights)
        evidence = np.zeros(shape[0])
        for crowds, workers in self._pieces(*shape[:2]):
            at = slice(crowds.start * shape[1] + workers.start, (crowds.stop - 1) * shape[1] + workers.stop)
            posterior, evidence_of_each = self._posterior(rights[at], wrongs[at], are_alone=len(workers) == 1)
            evidence[crowds.start : crowds.stop] += evidence_of_each.reshape(len(crowds), -1).sum(axis=1)
            for kind in kinds:
                hits[at, kind] = _expectation(posterior, self._log_hits[kind])
                misses[at, kind] = _expectation(posterior, self._log_misses[kind])
                num_known[at, kind] = _expectation(posterior, self._rights[kind])
        hits, misses, num_known = (table.reshape(shape) for table in (hits, misses, num_known))
        return WorkerFit(
            weights=hits - misses,
            log_misses=misses,
            qualities=(num_known * num_answers).sum(axis=2) / np.maximum(num_answers.sum(axis=1), 1.0),
            divergence=sum_of_each(agreements * hits + disagreements * misses) - evidence,
        )

    def fit_counts(self, agreements: FloatArray, num_answers: FloatArray) -> WorkerFit:
        """Return `fit` of integer counts, without divergence; workers with equal counts are fitted once."""
        shape, kinds = agreements.shape, agreements.shape[2]
        pairs = np.concatenate([agreements, np.broadcast_to(num_answers, shape)], axis=2).reshape(-1, 2 * kinds)
        limits = [int(most) + 1 for most in np.tile(num_answers.max(axis=0, initial=0), 2)]
        if not pairs.size or math.prod(limits) >= _MOST_CODES:
            return self.fit(agreements, num_answers)
        codes = np.ravel_multi_index(tuple(pairs.astype(np.int64).T), limits)
        _, firsts, places = np.unique(codes, return_index=True, return_inverse=True)
        firsts = np.resize(firsts, max(len(firsts), 2))  # a single column would be summed in another order
        if max(len(firsts), shape[1]) > self._batch_size:
            return self.fit(agreements, num_answers)
        rights, answers = pairs[firsts, :kinds], pairs[firsts, kinds:]
        fitted = self.fit(rights[:, None], answers[:1]) if shape[1] == 1 else self.fit(rights[None], answers)
        return WorkerFit(
            weights=fitted.weights.reshape(-1, kinds)[places].reshape(shape),
            log_misses=fitted.log_misses.reshape(-1, kinds)[places].reshape(shape),
            qualities=fitted.qualities.reshape(-1)[places].reshape(shape[:2]),
            divergence=np.zeros(len(agreements)),
        )

    @property
    def _batch_size(self) -> int:
        """The greatest number of workers that are processed together."""
        return max(_MAX_CELLS // len(self._log_prior), 1)

    def _pieces(self, num_crowds: int, num_workers: int) -> Iterator[tuple[range, range]]:
        """Yield crowds and workers to be processed together: several whole crowds, or a part of one."""
        most = self._batch_size
        if num_workers > most:
            for crowd in range(num_crowds):
                for start in range(0, num_workers, most):
                    yield range(crowd, crowd + 1), range(start, min(start + most, num_workers))
        elif num_workers:
            batch = max(min(_MOST_BESIDE // len(self._log_prior), _LONGEST_ROW) // num_workers, 1)
            for start in range(0, num_crowds, batch):
                yield range(start, min(start + batch, num_crowds)), range(num_workers)

    def _posterior(
        self, agreements: FloatArray, disagreements: FloatArray, *, are_alone: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the posterior of the nodes, shape (nodes, workers), and the logarithms of the normalizers.

        Args:
            are_alone: whether each crowd has only one worker here. Then sums use the order of a single column, so that
                results do not depend on the number of crowds.
        """
        logs = self._log_hits[0][:, None] * agreements[:, 0]
        logs += self._log_prior[:, None]
        logs += self._log_misses[0][:, None] * disagreements[:, 0]
        for kind in range(1, agreements.shape[1]):
            logs += self._log_hits[kind][:, None] * agreements[:, kind]
            logs += self._log_misses[kind][:, None] * disagreements[:, kind]
        best = logs.max(axis=0)
        logs -= best
        posterior = exp_in_place(logs)
        totals = np.ascontiguousarray(posterior.T).sum(axis=1) if are_alone else posterior.sum(axis=0)
        posterior /= totals
        return posterior, best + log(totals)


def _expectation(posterior: FloatArray, values: FloatArray) -> FloatArray:
    """Return the posterior mean of `values` for each worker.

    Rows are added one by one, in the same order on every processor, which a matrix product does not guarantee. A
    reduction over the first axis has the same order except for a single column; it is not used for long rows, whose
    products exceed the processor's cache.
    """
    if 1 < posterior.shape[1] <= _LONGEST_ROW:
        return np.add.reduce(posterior * values[:, None], axis=0)
    total = np.zeros(posterior.shape[1])
    for probabilities, value in zip(posterior, values.tolist(), strict=True):
        total += probabilities * value
    return total


@accept_one_or_many
@exact_arguments
def noise_aware_dawid_skene(
    answers: AnswerBlock,
    noise: KnownNoise | OwnNoise,
    *,
    prior_answers: float = 10.0,
    prior_quality: float = 0.7,
    class_prior: ClassPrior = "uniform",
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    rounds: int | None = None,
    ties: Ties = "first",
) -> InferenceBlock[Confusions]:
    """Return the most probable truths if the perturbation is known and each worker has a confusion matrix, by EM.

    The law of a report given the truth is λ·C + μ, where C is the row of the worker's confusion matrix, μ = p/(s − 1),
    λ = 1 − p − μ, p the flip probability and s the size of the answer set. The answer before the perturbation is a
    latent variable.

    Args:
        noise: the perturbation, the same for all workers or not. If a worker draws a flip probability, the mean is
            used.
        prior_answers: the number of pseudo-answers of each worker to each truth (Dirichlet prior); above 0.
        prior_quality: the fraction of right pseudo-answers for two labels, in (1/2, 1); the other label has the rest.
            For s labels the prior has the same competence (see `noise_aware_one_coin`).

    Returns:
        The inference. Confusions and qualities refer to the answers before the perturbation.

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import Answers
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> found = noise_aware_dawid_skene(answers, KnownNoise.from_flip_probabilities({2: 0.25}))
        >>> (found.truths.tolist(), found.confidences.round(2).tolist())
        ([1, 0], [0.61, 0.77])
    """
    if not 0 < prior_answers < np.inf:
        raise ValueError(f"prior_answers is {prior_answers}: use a value above 0")
    if not 0.5 < prior_quality < 1:  # noqa: PLR2004  guessing between two labels
        raise ValueError(f"prior_quality is {prior_quality}: use a value above 1/2 and below 1")
    fitting = Fitting(
        max_iterations=max_iterations, tolerance=tolerance, rounds=rounds, ties=ties, class_prior=class_prior
    )
    return fit_confusions(VoteTable(answers), noise, fitting, prior_answers, prior_quality)


def fit_confusions(
    table: VoteTable,
    noise: KnownNoise | OwnNoise,
    fitting: Fitting,
    prior_answers: float = 10.0,
    prior_quality: float = 0.7,
) -> InferenceBlock[Confusions]:
    """Run `noise_aware_dawid_skene`; the class prior may also be fixed."""
    sizes = np.unique(table.answers.first.sizes)
    # For each size, the flip probabilities of all workers, or of each.
    flips = dict(zip(sizes.tolist(), np.atleast_2d(noise.means_of(sizes)).T[:, :, None, None], strict=True))

    def fit_of_size(size: int) -> FitConfusions:
        competence = 2 * prior_quality - 1
        prior_counts = prior_answers * (competence * np.eye(size) + (1 - competence) / size)
        lie = flips[size] / (size - 1)
        excess = 1 - flips[size] - lie

        def fit(counts: FloatArray, previous: FloatArray | None) -> ConfusionFit:
            confusions = (
                np.broadcast_to(relative_frequencies(prior_counts), counts.shape) if previous is None else previous
            )
            expectations = np.zeros_like(counts)
            for _ in range(_INNER_ROUNDS):
                ratios = counts / np.maximum(excess * confusions + lie, _LEAST_PROBABILITY)
                expectations = confusions * (excess * ratios + lie * ratios.sum(axis=3, keepdims=True))
                confusions = relative_frequencies(expectations + prior_counts)
            return ConfusionFit(
                confusions=confusions,
                reports=np.maximum(excess * confusions + lie, _LEAST_PROBABILITY),
                right=np.trace(expectations, axis1=2, axis2=3),
                log_prior=sum_of_each(prior_counts * log(confusions)),
            )

        return fit

    return maximize_confusions(table, fit_of_size, fitting)
