"""The paper's truths, but where models that know the perturbation think another label likely enough.

Whoever knows the perturbation finds more truths than the paper's weights do on most crowds, and fewer on some: each
model is wrong about some crowd. So the posterior distributions of three, which err on different crowds, are averaged:

- one coin a worker, all labels alike beforehand: sound everywhere, and behind where one label is far more frequent;
- the paper's rounds of votes, with weights that know the perturbation: follows the paper where noise is weak, and the
  majority where it is strong;
- confusion matrices at a class prior that is *fixed*, at what the first one finds on average: ahead where labels are
  unequally frequent. At a uniform prior it fails there, and a prior that it estimates itself collapses on some crowds.

And the paper's label is given a head start: it is kept unless another one is at least so many times likelier.

Where noise is strong and one label is that of most answers, whoever always says that label is right more often than all
of these. The noisy counts tell its share of all answers without bias. If that exceeds a half, and what the first
model's confidences are worth, by two standard errors each, the first model alone counts, with this share as its class
prior: the more a task's answers say otherwise, the more they change.

How sure a label is, the first model alone says. It errs alike whatever the noise is, and crowd by crowd differently
(`truth_discovery.confidence`); the average of the three finds more truths, and is too sure here and too doubtful there.
"""

import dataclasses
import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray, counts_of_rows
from .answers import AnswerBlock
from .elementwise import snap_probabilities
from .expectation import Fitting, FixedPrior, mean_posteriors
from .inference import Inference, InferenceBlock, Ties, accept_one_or_many, choose_labels
from .noise import KnownNoise, OwnNoise
from .noise_aware import fit_coins, fit_confusions, noise_aware_votes
from .vote_table import VoteTable
from .votes import discover

CREDIT: Final = 0.74
"""The average worth of the first model's confidences beyond chance, over published crowds."""
_MOST_COMPETENCE: Final = 0.9
"""In the rounds of votes: believing in perfect workers, they would follow single ones on clean answers."""
_ERRORS: Final = 2.0
"""Standard errors of a share."""
_ADDED: Final = 2
_HALF: Final = 0.5
_MOST_SHARE: Final = 0.98


@accept_one_or_many
@exact_arguments
def cautious_truth_discovery(
    answers: AnswerBlock,
    noise: KnownNoise | OwnNoise,
    *,
    least_odds: float = 1.4,
    clamp: float = 0.05,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    ties: Ties = "first",
) -> InferenceBlock[Inference]:
    """Return the truths of `truth_discovery`, but where noise-aware estimators think another label likely enough.

    Args:
        least_odds: how many times likelier another label has to be than the paper's, in the average of the three
            posterior distributions, to take its place; at least 1. `docs/truth-discovery-auto.md` says how the default
            was chosen.
        clamp: of the paper's truth discovery.

    Returns:
        Probabilities are the average of the three, or those at a frequent label's share. Confidences are what
        `noise_aware_one_coin` gives the labels that were chosen, so that another one may have more; weights and
        qualities are its, too.

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import Answers
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> cautious_truth_discovery(answers, KnownNoise.from_flip_probabilities({2: 0.25})).truths.tolist()
        [1, 0]
    """
    if not 1 <= least_odds < np.inf:
        raise ValueError(f"least_odds must be at least 1, got {least_odds}")
    fitting = Fitting(max_iterations=max_iterations, tolerance=tolerance, ties=ties)
    table, sizes = VoteTable(answers), answers.first.sizes
    paper = discover(table, max_iterations=max_iterations, clamp=clamp, ties=ties)
    coin = fit_coins(table, noise, fitting)
    votes = noise_aware_votes(table, noise, most_competence=_MOST_COMPETENCE, max_iterations=max_iterations, ties=ties)
    at_prior = dataclasses.replace(fitting, class_prior=mean_posteriors(answers.first, coin))
    full = fit_confusions(table, noise, at_prior)
    models = coin, votes, full
    probabilities = snap_probabilities((coin.probabilities + votes.probabilities + full.probabilities) / len(models))
    truths = keep_unless_likelier(paper.truths, probabilities, least_odds=least_odds, ties=ties)
    truth_probabilities = np.take_along_axis(coin.probabilities, np.maximum(truths, 0)[..., None], axis=2)[..., 0]
    confidences = np.where(truths >= 0, truth_probabilities, coin.confidences)
    num_iterations = np.max([model.num_iterations for model in models], axis=0)
    has_converged = np.all([model.has_converged for model in models], axis=0)
    priors, takes = frequent_labels(answers, noise, coin)
    if len(crowds := np.flatnonzero(takes.any(axis=1))):
        own_priors = {size: prior[crowds] for size, prior in priors.items()}
        at_prior = dataclasses.replace(fitting, class_prior=own_priors)
        skewed = fit_coins(VoteTable(answers.select(crowds)), noise, at_prior)
        of_tasks = takes[crowds][:, np.searchsorted(list(priors), sizes)]
        truths[crowds] = np.where(of_tasks, skewed.truths, truths[crowds])
        confidences[crowds] = np.where(of_tasks, skewed.confidences, confidences[crowds])
        probabilities[crowds] = np.where(of_tasks[..., None], skewed.probabilities, probabilities[crowds])
        num_iterations[crowds] = np.maximum(num_iterations[crowds], skewed.num_iterations)
        has_converged[crowds] &= skewed.has_converged
    return InferenceBlock(
        kind=Inference,
        truths=truths,
        confidences=confidences,
        probabilities=probabilities,
        qualities=coin.qualities,
        weights=coin.weights,
        num_iterations=num_iterations,
        has_converged=has_converged,
        log_likelihoods=np.empty((len(answers), 0)),
    )


def frequent_labels(
    answers: AnswerBlock, noise: KnownNoise | OwnNoise, inferences: InferenceBlock[Inference]
) -> tuple[FixedPrior, NDArray[np.bool_]]:
    """Return class priors where always saying one label is worth more than what was found, and for which sizes it is.

    They have the most frequent label's share of the answers, less two standard errors, and others' alike: for each size
    s shape (crowds, s), and where nothing is worth more all labels alike. For which it is has shape (crowds, sizes).
    What was found is of a model with a uniform class prior, whose confidences beyond chance are worth `CREDIT` of them.
    """
    first, number_of_crowds = answers.first, len(answers)
    priors: dict[int, FloatArray] = {}
    takes: list[NDArray[np.bool_]] = []
    is_answered = np.bincount(first.tasks, minlength=first.num_tasks) > 0
    means = np.atleast_2d(noise.means_of(sizes := np.unique(first.sizes)))  # of all workers, or each its own
    for size, flips in zip(sizes.tolist(), means.T.tolist(), strict=True):
        priors[size] = np.full((number_of_crowds, size), 1 / size)
        takes.append(np.zeros(number_of_crowds, dtype=np.bool_))
        is_of_size = first.sizes[first.tasks] == size
        if not (number := int(is_of_size.sum())):
            continue
        flip = (
            flips[0]
            if len(flips) == 1
            else math.fsum(flips[worker] for worker in first.workers[is_of_size].tolist()) / number
        )
        lie = flip / (size - 1)
        if not 1 - flip - lie > 0:
            continue
        counts = counts_of_rows(answers.labels[:, is_of_size], size)
        # With two reports more on either side, so that a few which agree are not sure (Agresti and Coull 1998).
        labels, reported = counts.argmax(axis=1), (counts.max(axis=1) + float(_ADDED)) / (number + 2 * _ADDED)
        errors = np.sqrt(reported * (1 - reported) / (number + 2 * _ADDED))
        shares = np.minimum((reported - _ERRORS * errors - lie) / (1 - flip - lie), _MOST_SHARE)
        # Multiples of 2⁻³⁰, so that their sum is exact in any order.
        confidences = inferences.confidences[:, is_answered & (first.sizes == size)]
        worth = 1 / size + CREDIT * (confidences.sum(axis=1) / confidences.shape[1] - 1 / size)
        takes[-1] = own_takes = shares > np.maximum(worth, _HALF)
        priors[size][own_takes] = ((1 - shares) / (size - 1))[own_takes, None]
        priors[size][own_takes, labels[own_takes]] = shares[own_takes]
    return priors, np.stack(takes, axis=1) if takes else np.zeros((number_of_crowds, 0), dtype=np.bool_)


def keep_unless_likelier(truths: IntArray, probabilities: FloatArray, *, least_odds: float, ties: Ties) -> IntArray:
    """Return the truths, each replaced by the likeliest label where that is more than `least_odds` times as likely.

    A truth that is missing stays so. Truths have shape (..., tasks), and probabilities (..., tasks, labels).
    """
    new_truths = truths.copy()
    places = truths >= 0
    favored, labels = probabilities[places], truths[places]
    favored[np.arange(len(labels)), labels] *= least_odds
    loses = favored.max(axis=1, initial=0.0) > favored[np.arange(len(labels)), labels]
    labels[loses] = choose_labels(favored[loses].T, ties=ties)
    new_truths[places] = labels
    return new_truths
