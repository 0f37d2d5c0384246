"""The mechanism `central`: a trusted server counts the answers, and draws noise once, as it closes the survey.

Who answers which task is public, and so is how many do. Replacing one answer moves the counts of two labels of one task
by 1 each; of two labels one count tells the other, and is told alone. So Δ₁ is 2 for an answer, or 1 to a task of two
labels, and for all answers of a worker the sum of these. All counts have discrete Laplace noise of one scale, and an
answer costs its Δ₁/scale: where answer sets differ, one of two labels costs half.

Truths are the labels with the most noisy counts. A confidence is the share of the answers that the label is expected to
have, by the noise's law (`mechanisms.discrete_laplace`) and a flat prior over 0, …, n for each count.
"""

import numpy as np
from scipy import special

from ..arrays import FloatArray, IntArray
from ..elementary import exp, expm1
from ..estimators.truth_inference import MISSING, Inference, SupportLimits, Ties
from ..mechanisms import VectorLaplace

__all__ = ["counted_limits", "majority_of_counts"]


def majority_of_counts(
    counts: IntArray, num_answers: IntArray, sizes: IntArray, noise: VectorLaplace | None, *, ties: Ties
) -> Inference:
    """Return the label of the greatest count, for each task with an answer, and its expected share of the answers.

    Args:
        counts: noisy ones, shape (tasks, labels); of each task, how many `num_answers` it has, and `sizes` labels.
        noise: what was added to the counts; None where nothing was.
    """
    labels = np.arange(counts.shape[1], dtype=np.int64)
    is_label = labels < sizes[:, None]
    shown = np.where(is_label, counts, np.iinfo(np.int64).min)
    last = counts.shape[1] - 1
    found = shown.argmax(axis=1) if ties == "first" else last - shown[:, ::-1].argmax(axis=1)
    expected = counts if noise is None else _expected_counts(counts, num_answers[:, None], noise.scale)
    shares = np.where(is_label, expected, 0.0)
    total = shares.sum(axis=1, keepdims=True)
    shares = np.where(num_answers[:, None] > 0, shares / np.where(total > 0, total, 1.0), np.nan)
    return Inference(
        truths=np.where(num_answers > 0, found, MISSING),
        confidences=shares[np.arange(len(found)), found],
        probabilities=shares,
        qualities=np.empty(0),
        weights=np.empty(0),
        num_iterations=0,
        has_converged=True,
    )


def counted_limits(
    count: int, num_answers: int, noise: VectorLaplace, *, num_labels: int, level: float
) -> SupportLimits:
    """Return limits of how many gave a label, by its noisy count; of all labels of a task some miss at most at `level`.

    They hold by the noise's exact law; of two labels, one has the other's noise.
    """
    tail = level / 2 / (1 if num_labels == 2 else num_labels)  # noqa: PLR2004  two labels
    reach = noise.reach_of(tail) - 1
    low, high = (min(max(count + end, 0), num_answers) for end in (-reach, reach))
    return SupportLimits(low, high)


def _expected_counts(counts: IntArray, most: IntArray, scale: float) -> FloatArray:
    """Return E[c | noisy count] of counts that may be 0, …, n alike: P[c] is in proportion to a^|c − count|."""
    decay, gap = exp(-1 / scale), -expm1(-1 / scale)
    nearest = np.clip(counts, 0, most)  # beyond, all are as likely in proportion

    def sums(steps: IntArray) -> tuple[FloatArray, FloatArray]:  # Σ a^j and Σ j·a^j for j from 1 to so many steps
        lost = -special.expm1(steps / -scale)  # 1 − a^steps
        first: FloatArray = decay * lost / gap
        return first, (first - steps * decay * (1 - lost)) / gap

    (below, down), (above, up) = sums(nearest), sums(most - nearest)
    expected: FloatArray = nearest + (up - down) / (1 + below + above)
    return expected
