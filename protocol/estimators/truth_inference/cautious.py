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

import math
from typing import Final

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray, IntArray
from .answers import Answers
from .elementwise import snap_probabilities
from .expectation import Fitting, mean_posteriors
from .inference import Inference, Ties, choose_labels
from .noise import KnownNoise, OwnNoise
from .noise_aware import coin_at_prior, confusions_at_prior, noise_aware_one_coin, noise_aware_votes
from .votes import truth_discovery

CREDIT: Final = 0.74
"""What the first model's confidences beyond chance are worth on average over published crowds."""
_MOST_COMPETENCE: Final = 0.9
"""In the rounds of votes: believing in perfect workers, they would follow single ones on clean answers."""
_ERRORS: Final = 2.0
"""Standard errors of a share."""
_ADDED: Final = 2
_HALF: Final = 0.5
_MOST_SHARE: Final = 0.98


@exact_arguments
def cautious_truth_discovery(
    answers: Answers,
    noise: KnownNoise | OwnNoise,
    *,
    least_odds: float = 1.4,
    clamp: float = 0.05,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    ties: Ties = "first",
) -> Inference:
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
    """
    if not 1 <= least_odds < np.inf:
        raise ValueError(f"least_odds must be at least 1, got {least_odds}")
    paper = truth_discovery(answers, max_iterations=max_iterations, clamp=clamp, ties=ties)
    coin = noise_aware_one_coin(answers, noise, max_iterations=max_iterations, tolerance=tolerance, ties=ties)
    votes = noise_aware_votes(
        answers, noise, most_competence=_MOST_COMPETENCE, max_iterations=max_iterations, ties=ties
    )
    fitting = Fitting(max_iterations=max_iterations, tolerance=tolerance, ties=ties)
    full = confusions_at_prior(answers, noise, mean_posteriors(answers, coin), fitting)
    models = coin, votes, full
    probabilities = snap_probabilities((coin.probabilities + votes.probabilities + full.probabilities) / len(models))
    truths = keep_unless_likelier(paper.truths, probabilities, least_odds=least_odds, ties=ties)
    chosen = coin.probabilities[np.arange(len(truths)), np.maximum(truths, 0)]
    confidences = np.where(truths >= 0, chosen, coin.confidences)
    if priors := frequent_labels(answers, noise, coin):
        uniform = {size: np.full(size, 1 / size) for size in np.unique(answers.sizes).tolist()}
        skewed = coin_at_prior(answers, noise, {**uniform, **priors}, fitting)
        models = (*models, skewed)
        takes = np.isin(answers.sizes, list(priors))
        truths = np.where(takes, skewed.truths, truths)
        confidences = np.where(takes, skewed.confidences, confidences)
        probabilities = np.where(takes[:, None], skewed.probabilities, probabilities)
    return Inference(
        truths=truths,
        confidences=confidences,
        probabilities=probabilities,
        qualities=coin.qualities,
        weights=coin.weights,
        num_iterations=max(model.num_iterations for model in models),
        has_converged=all(model.has_converged for model in models),
    )


def frequent_labels(answers: Answers, noise: KnownNoise | OwnNoise, found: Inference) -> dict[int, FloatArray]:
    """Return class priors where always saying one label is worth more than what was found, for each size of answer set.

    They have the most frequent label's share of the answers, less two standard errors, and others' alike, shape (s,).
    What was found is of a model with a uniform class prior, whose confidences beyond chance are worth `CREDIT` of them.
    """
    priors: dict[int, FloatArray] = {}
    means = np.atleast_2d(noise.means_of(sizes := np.unique(answers.sizes)))  # of all workers, or each its own
    for size, flips in zip(sizes, means.T.tolist(), strict=True):
        own = answers.sizes[answers.tasks] == size
        counts = np.bincount(answers.labels[own], minlength=size)
        confidences = found.confidences[(answers.sizes == size) & ~np.isnan(found.confidences)]
        if not (number := int(counts.sum())):
            continue
        flip = (
            flips[0]
            if len(flips) == 1
            else math.fsum(flips[worker] for worker in answers.workers[own].tolist()) / number
        )
        lie = flip / (size - 1)
        if not 1 - flip - lie > 0:
            continue
        # With two reports more on either side, so that a few which agree are not sure (Agresti and Coull 1998).
        label, reported = int(counts.argmax()), (float(counts.max()) + _ADDED) / (number + 2 * _ADDED)
        error = math.sqrt(reported * (1 - reported) / (number + 2 * _ADDED))
        share = min((reported - _ERRORS * error - lie) / (1 - flip - lie), _MOST_SHARE)
        # Multiples of 2⁻³⁰, so that their sum is exact in any order.
        worth = 1 / size + CREDIT * (float(confidences.sum()) / len(confidences) - 1 / size)
        if share > max(worth, _HALF):
            priors[int(size)] = np.full(size, (1 - share) / (size - 1))
            priors[int(size)][label] = share
    return priors


def keep_unless_likelier(truths: IntArray, probabilities: FloatArray, *, least_odds: float, ties: Ties) -> IntArray:
    """Return the truths, each replaced by the likeliest label where that is more than `least_odds` times as likely.

    A truth that is missing stays so. Probabilities have shape (tasks, labels).
    """
    tasks = np.flatnonzero(truths >= 0)
    favored = probabilities[tasks]
    favored[np.arange(len(tasks)), truths[tasks]] *= least_odds
    loses = favored.max(axis=1, initial=0.0) > favored[np.arange(len(tasks)), truths[tasks]]
    kept = truths.copy()
    kept[tasks[loses]] = choose_labels(favored[loses].T, ties=ties)
    return kept
