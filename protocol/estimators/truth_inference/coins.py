"""The one-coin model of Dawid and Skene: each worker has one probability of a right answer; wrong answers are uniform.

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
    """Return the most probable truths under the one-coin model, by EM from the shares of votes.

    The quality of a worker is its expected fraction of right answers, over all sizes of answer sets.

    Args:
        class_prior: "estimated" uses the mean posterior probability of each label, for each size of answer set.
        smoothing: added to both the number of right and of wrong answers of each worker; at least 0.
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
        raise ValueError(f"smoothing is {smoothing}: use at least 0")
    table = VoteTable(answers)
    # The quality of a worker without answers is not used.
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
