"""The paper's truths, but where two models that know the perturbation agree on another one.

Whoever knows the perturbation finds more truths than the paper's weights do on most crowds, and fewer on some: each
model is wrong about some crowd. Where two of them, which err on different crowds, find the same other label and think
it at least so many times likelier, the paper's label is given up; everywhere else it stays.
"""

import numpy as np

from .answers import Answers
from .inference import Inference, Ties
from .noise import KnownNoise
from .noise_aware import noise_aware_dawid_skene, noise_aware_one_coin
from .votes import truth_discovery

__all__ = ["cautious_truth_discovery"]


def cautious_truth_discovery(
    answers: Answers,
    noise: KnownNoise,
    *,
    least_odds: float = 2.0,
    clamp: float = 0.05,
    max_rounds: int = 10,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    ties: Ties = "first",
) -> Inference:
    """Return the truths of `truth_discovery`, but for the tasks on which both noise-aware estimators differ from it.

    Args:
        answers: perturbed; any number, none included: then every truth is missing.
        noise: the perturbation, for each size of answer set.
        least_odds: how many times likelier another label has to be than the paper's, on average over the two posterior
            distributions, to take its place; at least 1. It was chosen on published crowds at ε from .5 to 2, so that
            on none of them the result is worse than the paper's beyond chance.
        clamp: of the paper's truth discovery.
        max_rounds: of the paper's truth discovery.
        max_iterations: of each noise-aware estimator.
        tolerance: of each noise-aware estimator.
        ties: see `majority_vote`.

    Returns:
        Probabilities are the mean of the two noise-aware estimators', and confidences those of the labels that were
        chosen; weights and qualities are those of `noise_aware_one_coin`.

    Raises:
        ValueError: an argument is out of range, or a size of answer set has no flip probability.
    """
    if not 1 <= least_odds < np.inf:
        raise ValueError(f"least_odds must be at least 1, got {least_odds}")
    paper = truth_discovery(answers, max_iterations=max_rounds, clamp=clamp, ties=ties)
    coin = noise_aware_one_coin(answers, noise, max_iterations=max_iterations, tolerance=tolerance, ties=ties)
    full = noise_aware_dawid_skene(answers, noise, max_iterations=max_iterations, tolerance=tolerance, ties=ties)
    probabilities = (coin.probabilities + full.probabilities) / 2
    rows = np.flatnonzero((paper.truths >= 0) & (coin.truths == full.truths) & (coin.truths != paper.truths))
    theirs, ours = paper.truths[rows], coin.truths[rows]
    given_up = rows[probabilities[rows, ours] >= least_odds * probabilities[rows, theirs]]
    truths = paper.truths.copy()
    truths[given_up] = coin.truths[given_up]
    confidences = probabilities[np.arange(len(truths)), np.maximum(truths, 0)]
    return Inference(
        truths=truths,
        confidences=np.where(truths >= 0, confidences, probabilities.max(axis=1, initial=-np.inf)),
        probabilities=probabilities,
        qualities=coin.qualities,
        weights=coin.weights,
        num_iterations=max(paper.num_iterations, coin.num_iterations, full.num_iterations),
        has_converged=paper.has_converged and coin.has_converged and full.has_converged,
    )
