"""CRH: truths and weights that minimize the weighted loss, for categorical answers with the 0-1 loss.

CRH (conflict resolution on heterogeneous data) minimizes Σ_u w_u Σ_q [x_q^u ≠ x_q] subject to Σ_u e^(−w_u) = 1, where
x_q^u is the answer of worker u to task q and x_q the truth. It alternates between truths and weights. A truth is the
label with the largest sum of weights, and the weight of a worker is −log of its fraction of the total loss. Workers
answer different numbers of tasks; hence the loss of a worker is the fraction of its answers that differ from the truth.

If the perturbation is known, the loss refers to the answers before it. With a fraction a of right answers, reports are
right with probability r = λ·a + μ, where μ = p/(s − 1), λ = 1 − p − μ, p is the flip probability and s the size of the
answer set. Hence a is estimated by (r − μ)/λ; the loss is clipped.

Source: Li, Li, Gao, Zhao, Fan and Han, Resolving Conflicts in Heterogeneous Data by Truth Discovery and Source
Reliability Estimation, SIGMOD 2014, Sections 2.2 to 2.4; its variant with the greatest loss in place of the sum is the
`PM` of Zheng et al., Truth Inference in Crowdsourcing, PVLDB 2017. The debiased loss is ours.
"""

from typing import Final, Literal, TypeAlias

import numpy as np

from ...arguments import exact_arguments
from ...arrays import FloatArray
from .answers import AnswerBlock
from .elementwise import log, snap_probabilities, snap_weights
from .inference import Inference, InferenceBlock, Ties, accept_one_or_many, check_choice, check_clamp, check_rounds
from .noise import KnownNoise
from .vote_table import VoteTable
from .votes import vote_in_turns

LossScale: TypeAlias = Literal["sum", "greatest"]
"""The divisor of a worker's loss: the sum of the losses of all workers, or the greatest loss."""

_LEAST_SIGNAL: Final = 1e-9


@accept_one_or_many
@exact_arguments
def crh(
    answers: AnswerBlock,
    noise: KnownNoise | None = None,
    *,
    scale: LossScale = "sum",
    clamp: float = 0.05,
    max_iterations: int = 10,
    ties: Ties = "first",
) -> InferenceBlock[Inference]:
    """Return the label with the largest sum of CRH weights for each task.

    The iteration starts from the majority vote. It ends when the truths repeat, or after `max_iterations`.

    Args:
        noise: the perturbation, if it is known; losses then refer to the answers before it. If each worker draws a flip
            probability, the mean is used. If reports are independent of answers, all losses are equal.
        scale: "sum" as in the paper's theorem, or "greatest", which gives the worst worker a weight of 0.
        clamp: the least loss, which keeps weights finite; in (0, 1/2).

    Returns:
        The inference. Qualities are 1 − loss. Probabilities are fractions of the weights, not posterior probabilities.
        If all weights are 0 (one worker, or equal losses with scale "greatest"), the result is the majority vote.

    Examples:
        >>> from psephos.protocol.estimators.truth_inference import Answers
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> found = crh(answers)
        >>> (found.truths.tolist(), found.weights.round(2).tolist())
        ([1, 0], [2.48, 2.48, 0.18])
    """
    check_rounds(max_iterations, ties)
    check_choice("scale", scale, LossScale)
    check_clamp(clamp)
    table = VoteTable(answers)
    flips = np.zeros(table.num_kinds) if noise is None else noise.means_of(table.sizes)
    lies = flips / (table.sizes - 1)
    kepts = 1 - flips - lies
    tells = np.abs(kepts) >= _LEAST_SIGNAL
    # Only answers whose reports depend on them contribute to the loss.
    telling = np.where(tells, table.answers_of_workers, 0.0)
    totals = telling.sum(axis=1)
    is_active = ~table.is_silent

    def weigh_workers(agreements: FloatArray) -> tuple[FloatArray, FloatArray]:
        rights = np.where(tells, (agreements - lies * telling) / np.where(tells, kepts, 1.0), 0.0).sum(axis=2)
        shares = np.where(totals > 0, rights / np.maximum(totals, 1.0), 0.5)
        losses = snap_probabilities(np.clip(1.0 - shares, clamp, 1.0))
        active_losses = losses[:, is_active] if is_active.any() else np.ones((len(losses), 1))
        total_losses = active_losses.sum(axis=1) if scale == "sum" else active_losses.max(axis=1)
        weights = np.where(is_active, snap_weights(log(total_losses)[:, None] - log(losses)), 0.0)
        weights[~weights.any(axis=1)] = 1.0
        return np.repeat(weights[..., None], table.num_kinds, axis=2), 1.0 - losses

    return vote_in_turns(
        table, weigh_workers, max_iterations=max_iterations, ties=ties, rate=lambda scores, _: table.shares_of(scores)
    )
