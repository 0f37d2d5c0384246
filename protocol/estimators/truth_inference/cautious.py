"""The truths of the paper, except where noise-aware estimators consider another label sufficiently more probable.

Noise-aware estimators find more truths than the paper's weights on most crowds and fewer on some, since each model is
misspecified for some crowds. Therefore the posterior distributions of three models with different errors are averaged:

- the one-coin model with a uniform class prior: robust, but worse than others if one label is far more frequent;
- the paper's weighted votes with noise-aware weights: close to the paper under weak noise, and to the majority under
  strong noise;
- confusion matrices with a fixed class prior, the mean posterior of the first model: better if labels are unequally
  frequent. With a uniform prior it fails there, and an estimated prior collapses to one label on some crowds.

The paper's label is kept unless another label is more probable by a given factor.

Under strong noise with one dominant label, always answering that label is more accurate than all of these models. The
noisy counts give an unbiased estimate of its share of all answers. If this share less two standard errors exceeds both
a half and the expected accuracy of the first model, the result is that of the first model alone with this share as its
class prior.

Confidences are those of the first model alone. Their calibration error does not depend on the noise but varies between
crowds (`truth_discovery.confidence`). The average of the three models finds more truths, but is overconfident on some
crowds and underconfident on others.
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
"""The accuracy of the first model above chance, as a fraction of its confidence above chance: mean over published
crowds."""
_MOST_COMPETENCE: Final = 0.9
"""The greatest competence in the weighted votes; at 1 they would follow single workers on answers without noise."""
_ERRORS: Final = 2.0
"""The number of standard errors that are subtracted from a share."""
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
    """Return the truths of `truth_discovery`, except where noise-aware estimators prefer another label clearly.

    Args:
        least_odds: the ratio of probabilities, in the average of the three posterior distributions, above which another
            label replaces the paper's; at least 1. See `docs/truth-discovery-auto.md` for the choice of the default.
        clamp: `clamp` of `truth_discovery`.

    Returns:
        The inference. Probabilities are the average of the three models, or those with the dominant label's share as
        class prior. Confidences are the probabilities of the chosen labels by `noise_aware_one_coin`, which may give
        another label more. Weights and qualities are those of `noise_aware_one_coin` too.

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import Answers
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> cautious_truth_discovery(answers, KnownNoise.from_flip_probabilities({2: 0.25})).truths.tolist()
        [1, 0]
    """
    if not 1 <= least_odds < np.inf:
        raise ValueError(f"least_odds is {least_odds}: use at least 1")
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
    """Return class priors for crowds on which always answering one label is more accurate than the model, and which.

    Args:
        inferences: of a model with a uniform class prior. Its accuracy above chance is taken as `CREDIT` times its mean
            confidence above chance.

    Returns:
        For each size s, the class prior, shape (crowds, s): the most frequent label has its share of the answers less
        two standard errors, and the others share the rest equally. It is uniform where the model is more accurate. And
        whether always answering one label is more accurate, shape (crowds, sizes).
    """
    first, number_of_crowds = answers.first, len(answers)
    priors: dict[int, FloatArray] = {}
    takes: list[NDArray[np.bool_]] = []
    is_answered = np.bincount(first.tasks, minlength=first.num_tasks) > 0
    means = np.atleast_2d(noise.means_of(sizes := np.unique(first.sizes)))  # shape (1 or workers, sizes)
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
        # Two reports are added to either side, so that few unanimous reports have a standard error above 0 (Agresti and
        # Coull 1998).
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
    """Return the truths, each replaced by the most probable label if that is more than `least_odds` times as probable.

    Missing truths stay missing.

    Args:
        truths: shape (..., tasks).
        probabilities: shape (..., tasks, labels).
    """
    new_truths = truths.copy()
    places = truths >= 0
    favored, labels = probabilities[places], truths[places]
    favored[np.arange(len(labels)), labels] *= least_odds
    loses = favored.max(axis=1, initial=0.0) > favored[np.arange(len(labels)), labels]
    labels[loses] = choose_labels(favored[loses].T, ties=ties)
    new_truths[places] = labels
    return new_truths
