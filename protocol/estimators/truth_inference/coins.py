"""The one-coin model of Dawid and Skene: a worker is right with one probability, and wrong uniformly.

Source: Dawid and Skene (1979), with the error matrix of Zhang, Chen, Zhou and Jordan (2016), section 2.
"""

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray
from .answers import AnswerBlock
from .elementwise import log, log_odds
from .expectation import ClassPrior, Fitting, WorkerFit, maximize
from .inference import Inference, InferenceBlock, Ties, accept_one_or_many, check_clamp
from .vote_table import VoteTable


@accept_one_or_many
@exact_arguments
def one_coin(
    answers: AnswerBlock,
    *,
    class_prior: ClassPrior = "estimated",
    smoothing: float = 0.0,
    clamp: float = 1e-10,
    max_iterations: int = 100,
    tolerance: float = 1e-5,
    rounds: int | None = None,
    ties: Ties = "first",
) -> InferenceBlock[Inference]:
    """Return the most probable truths when each worker is right with a probability of its own, by EM.

    It starts from the shares of votes. A worker's quality is the expected share of its answers that are the truth, one
    for all sizes of answer sets.

    Args:
        class_prior: "estimated" takes each label's mean posterior probability, apart for each size of answer set.
        smoothing: added to the number of right and to that of wrong answers of each worker; at least 0.
        clamp: qualities are kept within [clamp, 1 − clamp]; in (0, 1/2).

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import Answers
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> found = one_coin(answers)
        >>> (found.truths.tolist(), found.qualities.round(2).tolist())
        ([1, 0], [1.0, 1.0, 0.5])
    """
    fitting = Fitting(
        max_iterations=max_iterations, tolerance=tolerance, rounds=rounds, ties=ties, class_prior=class_prior
    )
    check_clamp(clamp)
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing must be at least 0, got {smoothing}")
    table = VoteTable(answers)
    # A worker without answers has no share; its quality is not used.
    totals = np.maximum(table.answers_of_workers.sum(axis=1), 1.0) + 2 * smoothing
    log_num_others = log(table.sizes - 1.0)

    def fit_workers(agreements: FloatArray) -> WorkerFit:
        qualities = np.clip((agreements.sum(axis=2) + smoothing) / totals, clamp, 1 - clamp)
        return WorkerFit(
            weights=log_odds(qualities)[..., None] + log_num_others,
            log_misses=log(1 - qualities)[..., None] - log_num_others,
            qualities=qualities,
            divergence=np.zeros(len(qualities)),
        )

    return maximize(table, fit_workers, fitting)
