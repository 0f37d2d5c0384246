"""Unbiased estimates of the number of workers with each answer before the perturbation, for each task.

Source: Li et al. (2018), Definition 5.1, for the channel; Warner (1965) for its inverse.
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
    """Truths, with estimates of the counts of answers before the perturbation.

    Args:
        counts: shape (num_tasks, largest answer set): unbiased estimates of the number of answers of each label before
            the perturbation, which may be negative; nan beyond a task's answer set.
        standard_errors: of `counts`, same shape, over the perturbation with fixed answers.

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
    """Return the label with the largest estimated count before the perturbation, for each task.

    The channel of a task with s labels and flip probability p is P[report = l | answer = x] = λ[l = x] + μ with μ =
    p/(s − 1) and λ = 1 − p − μ. Hence (reports of l − μ·answers)/λ is unbiased for the number of answers l. If λ > 0,
    the largest estimate is that of the label with the most reports; the estimates add its confidence.

    A report is l with probability λ + μ = 1 − p for an answer l, and μ for another answer. For n_l answers l of n the
    variance of the estimate is therefore (n_l·(1 − p)p + (n − n_l)·μ(1 − μ))/λ², with n_l replaced by its estimate.

    Args:
        noise: the perturbation. If each worker draws a flip probability, the mean is used. The estimate remains
            unbiased then, and so does the squared standard error if no worker answers a task twice.

    Returns:
        The inference with estimated counts. A confidence is the probability that the label with the largest estimate
        has a larger true count than the runner-up, in the normal approximation. Qualities are nan, since workers are
        not modelled.

    Raises:
        ValueError: `ties` is unknown, a size has no flip probability, or a flip probability is (s − 1)/s, which makes
            reports independent of answers.

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
        raise ValueError(
            f"flip probabilities are {flips.tolist()}: use others than (s - 1)/s, which leaves nothing to estimate"
        )
    lie, keep = lies[table.kinds_of_tasks], keeps[table.kinds_of_tasks]
    # If λ < 0, a report of a label is evidence against it. Scores are integers, so that ties are exact.
    (truths,) = table.choose(table.counts * np.sign(keep), ties=ties)
    totals = table.counts.sum(axis=0)
    counts = (table.counts - lie * totals) / keep
    truly = np.clip(counts, 0.0, totals)
    flip = flips[table.kinds_of_tasks]
    hit_variances, lie_variances = flip * (1 - flip), lie * (1 - lie)
    # The variance is raised to the least possible one but not lowered, so that it is not too small on average.
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
    """Return each task's probability that the runner-up has the larger true count, in the normal approximation.

    A report changes the difference between the two by 1, −1 or 0. The variance of this change is λ + 2μ − λ² if the
    answer is one of the two, and 2μ otherwise.

    Args:
        counts: estimated counts, shape (labels, tasks); -inf for a label that a task does not have.
        truly: the estimated counts, clipped to [0, total], shape (labels, tasks).
        totals: the number of answers to each task, shape (tasks,).
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
    # Without noise only ties can be reversed.
    return np.where(is_noisy, reversals, np.where(margins > 0, 0.0, 0.5))
