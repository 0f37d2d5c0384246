"""The paper's truths, but where models that know the perturbation think another label likely enough.

Whoever knows the perturbation finds more truths than the paper's weights do on most crowds, and fewer on some: each
model is wrong about some crowd. So the posterior distributions of two of them, which err on different crowds, are
averaged, and the paper's label is given a head start: it is kept unless another one is at least so many times likelier.
"""

import numpy as np

from ...arguments import exact_arguments
from .answers import Answers
from .elementwise import snap_probabilities
from .inference import Inference, Ties, choose_labels
from .noise import KnownNoise
from .noise_aware import noise_aware_dawid_skene, noise_aware_one_coin
from .votes import truth_discovery

__all__ = ["cautious_truth_discovery"]


@exact_arguments
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
    """Return the truths of `truth_discovery`, but where the noise-aware estimators think another label likely enough.

    Args:
        answers: perturbed; any number, none included: then every truth is missing.
        noise: the perturbation, for each size of answer set.
        least_odds: how many times likelier another label has to be than the paper's, in the average of the two
            posterior distributions, to take its place; at least 1. The default was chosen on published crowds at ε from
            .5 to 2.
        clamp: of the paper's truth discovery.
        max_rounds: of the paper's truth discovery.
        max_iterations: of each noise-aware estimator.
        tolerance: of each noise-aware estimator.
        ties: see `majority_vote`.

    Returns:
        Probabilities are the average of the two noise-aware estimators', and confidences those of the labels that were
        chosen: less than another label's where the paper's stands nevertheless. Weights and qualities are those of
        `noise_aware_one_coin`.

    Raises:
        ValueError: an argument is out of range, or a size of answer set has no flip probability.
    """
    if not 1 <= least_odds < np.inf:
        raise ValueError(f"least_odds must be at least 1, got {least_odds}")
    paper = truth_discovery(answers, max_iterations=max_rounds, clamp=clamp, ties=ties)
    coin = noise_aware_one_coin(answers, noise, max_iterations=max_iterations, tolerance=tolerance, ties=ties)
    full = noise_aware_dawid_skene(answers, noise, max_iterations=max_iterations, tolerance=tolerance, ties=ties)
    probabilities = snap_probabilities((coin.probabilities + full.probabilities) / 2)
    tasks = np.flatnonzero(paper.truths >= 0)
    favored = probabilities[tasks]
    favored[np.arange(len(tasks)), paper.truths[tasks]] *= least_odds
    loses = favored.max(axis=1, initial=0.0) > favored[np.arange(len(tasks)), paper.truths[tasks]]
    truths = paper.truths.copy()
    truths[tasks[loses]] = choose_labels(favored[loses].T, ties=ties)
    confidences = probabilities[np.arange(len(truths)), np.maximum(truths, 0)]
    return Inference(
        truths=truths,
        confidences=np.where(truths >= 0, confidences, probabilities.max(axis=1, initial=-np.inf)),
        probabilities=probabilities,
        qualities=coin.qualities,
        weights=coin.weights,
        num_iterations=max(coin.num_iterations, full.num_iterations),
        has_converged=coin.has_converged and full.has_converged,
    )
