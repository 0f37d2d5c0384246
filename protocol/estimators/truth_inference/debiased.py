"""How many workers gave each answer before the perturbation, for each task: unbiased, with standard errors.

Source: Li et al. (2018), Definition 5.1, for the channel; its inverse is Warner's (1965).
"""

import dataclasses

import numpy as np
from scipy.special import erfc

from ...arguments import exact_arguments
from ...arrays import FloatArray
from .answers import AnswerBlock, Answers
from .inference import Inference, Ties, check_choice
from .noise import KnownNoise
from .vote_table import VoteTable

_LEAST_SIGNAL = 1e-9


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class DebiasedCounts(Inference):
    """Truths, with estimates of the clean counts.

    Args:
        counts: shape (num_tasks, largest answer set): how many answers (or how much weight) each label had before the
            perturbation, estimated without bias; it may be negative. nan beyond a task's answer set.
        standard_errors: of `counts`, the same shape: over the perturbation's draws, the answers held fixed.

    Examples:
        >>> answers = Answers(*np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0]]), 1, 3, np.array([2]))
        >>> found = debiased_majority(answers, KnownNoise.from_flip_probabilities({2: 0.25}))
        >>> (found.counts.tolist(), found.standard_errors.round(2).tolist())
        ([[0.5, 2.5]], [[1.5, 1.5]])
    """

    counts: FloatArray
    standard_errors: FloatArray


@exact_arguments
def debiased_majority(answers: Answers, noise: KnownNoise, *, ties: Ties = "first") -> DebiasedCounts:
    """Return the label with the largest estimate of its clean count, for each task.

    A task's answers have gone through one channel, P[report = l | answer = x] = λ[l = x] + μ with μ = p/(s − 1) and
    λ = 1 − p − μ, so that (reports of l − μ·answers)/λ is unbiased for the answers of l. The largest estimate is the
    label with the most reports: the estimate adds how sure that is.

    Each report's variance is that of a coin: λ + μ = 1 − p for an answer l, μ for another, so that the variance of the
    estimate is (n_l·(1 − p)p + (n − n_l)·μ(1 − μ))/λ² for n_l of n answers, which are estimated in turn.

    Args:
        noise: the perturbation; of a flip probability that each worker draws, the mean is used. Then the estimate stays
            unbiased, and so does the standard error's square as long as no worker answers a task twice.

    Returns:
        Confidences are the probability that the label with the largest estimate truly has more than the runner-up, both
        taken as normal; qualities are nan: nothing is inferred of workers.

    Raises:
        ValueError: `ties` is not a rule, a size has no flip probability, or one is (s − 1)/s, where a report says
            nothing.

    Examples:
        >>> rows = np.array([[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [1, 1, 0, 0, 0, 0]])  # tasks, workers, labels
        >>> answers = Answers(*rows, 2, 3, np.array([2, 2]))
        >>> debiased_majority(answers, KnownNoise.from_flip_probabilities({2: 0.25})).truths.tolist()
        [1, 0]
    """
    check_choice("ties", ties, Ties)
    table = VoteTable(AnswerBlock.from_answers(answers))
    flips = noise.means_of(table.sizes)
    lies = flips / (table.sizes - 1)
    keeps = 1 - flips - lies
    if not np.all(np.abs(keeps) >= _LEAST_SIGNAL):
        raise ValueError(f"a flip probability of (s - 1)/s leaves nothing to estimate, got {flips.tolist()}")
    lie, keep = lies[table.kinds_of_tasks], keeps[table.kinds_of_tasks]
    # The sign turns round where a report speaks against its label. Scores stay exact, so that ties do.
    (truths,) = table.choose(table.counts * np.sign(keep), ties=ties)
    totals = table.counts.sum(axis=0)
    counts = (table.counts - lie * totals) / keep
    truly = np.clip(counts, 0.0, totals)
    flip = flips[table.kinds_of_tasks]
    hit_variances, lie_variances = flip * (1 - flip), lie * (1 - lie)
    # Raised to what is possible, and not lowered: on average it is not too small then.
    least = totals * np.minimum(hit_variances, lie_variances)
    variances = np.maximum(counts * hit_variances + (totals - counts) * lie_variances, least) / keep**2
    possible = table.fill_absent(counts.copy(), -np.inf)[:, 0], table.fill_absent(truly, 0.0)[:, 0]
    confidences = 1 - _reversal_probabilities(*possible, totals[0], lie=lie, keep=keep)
    confidences[~table.is_answered] = np.nan
    nothing = np.full(answers.num_workers, np.nan)
    return DebiasedCounts(
        truths=truths,
        confidences=confidences,
        probabilities=table.task_probabilities(table.shares_of(counts))[0],
        qualities=nothing,
        weights=table.hide_silent(np.ones(answers.num_workers)),
        num_iterations=0,
        has_converged=True,
        counts=np.ascontiguousarray(table.fill_absent(counts, np.nan)[:, 0].T),
        standard_errors=np.ascontiguousarray(table.fill_absent(np.sqrt(variances), np.nan)[:, 0].T),
    )


def _reversal_probabilities(
    counts: FloatArray, truly: FloatArray, totals: FloatArray, *, lie: FloatArray, keep: FloatArray
) -> FloatArray:
    """Return each task's probability that the runner-up truly has more votes, in the normal approximation.

    A report adds 1 to one of the two, −1 to the other, or nothing. Its variance is λ + 2μ − λ² if the answer was one of
    the two, and 2μ otherwise.

    Args:
        counts: estimates, shape (labels, tasks); -inf for a label that a task does not have.
        truly: the estimated answers of each label, within what is possible.
        totals: the answers to each task.
        lie: μ of each task.
        keep: λ of each task.
    """
    order = np.argsort(-counts, axis=0, kind="stable")[:2]
    leader, second = np.take_along_axis(counts, order, axis=0)
    num_both = np.minimum(np.take_along_axis(truly, order, axis=0).sum(axis=0), totals)
    variances = (num_both * (keep + 2 * lie - keep**2) + (totals - num_both) * 2 * lie) / keep**2
    deviations = np.sqrt(2 * np.maximum(variances, 0.0))
    margins = leader - second
    is_noisy = deviations > 0
    reversals = 0.5 * np.asarray(erfc(margins / np.where(is_noisy, deviations, 1.0)), dtype=np.float64)
    # Without noise nothing is reversed, unless there is no margin.
    return np.where(is_noisy, reversals, np.where(margins > 0, 0.0, 0.5))
