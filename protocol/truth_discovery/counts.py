"""Noisy counts: in `central` a trusted server counts the answers, and draws noise once, as it closes the survey.

It is public who answers which task, and so is the number of answers. Replacing one answer changes the counts of two
labels of a task by 1 each. For a task of two labels, one count determines the other, so only one is released. So the ℓ₁
sensitivity Δ₁ of an answer is 2, or 1 for a task of two labels; that of all answers of a worker is the sum. All counts
have discrete Laplace noise of one scale, and an answer costs Δ₁/scale: half as much if it is one of two labels.

In `masked` each worker adds its answers and a share of noise to masked sums. It is not visible who skips a task. So for
a task of two labels two sums are released, their difference and their total. Another answer changes the first by 2;
skipping changes both by 1. So the total costs nothing more, Δ₁ is 2 for every answer, and each count is half of a
number with the noise of two sums.

Truths are the labels with the greatest noisy counts. A confidence is the expected share of the answers for the label,
by the law of the noise (`mechanisms.discrete_laplace`, `mechanisms.polya`), with an independent flat prior over 0, …, n
for each count.
"""

import dataclasses
import functools
import math

import numpy as np
from scipy import special

from ..arrays import FloatArray, IntArray
from ..elementary import exp, expm1
from ..estimators.truth_inference import MISSING, Inference, SupportLimits, Ties
from ..mechanisms import NoiseShare, VectorLaplace
from ..mechanisms.polya import share_masses, share_reach


@dataclasses.dataclass(frozen=True)
class CountNoise:
    """The total noise on counts.

    Args:
        scale: the scale of the discrete Laplace noise.
        planned: the number of shares that add up to a draw of it, in masked sums; None if a trusted server draws it.
        num_workers: the number of workers, each of whom added a share.
    """

    scale: float
    planned: int | None = None
    num_workers: int = 1

    def parts_of(self, size: int) -> int:
        """Return one answer's contribution to the sums of a task of so many labels, and the number of those sums."""
        return 2 if self.planned is not None and size == 2 else 1  # noqa: PLR2004  two labels

    def error_of(self, size: int) -> float:
        """Return the standard error of a count."""
        if self.planned is None:
            return math.sqrt(VectorLaplace(self.scale, 1, 1).noise_variance)
        variance = NoiseShare(self.scale, 1, 1, self.planned).noise_variance
        return math.sqrt(self.num_workers * variance / self.parts_of(size))

    @functools.lru_cache(maxsize=64)  # noqa: B019  of a few kinds, which are values
    def reach_of(self, tail: float, size: int) -> int:
        """Return the least noise t ≥ 1 of what is told that is reached with this probability at most."""
        if self.planned is None:
            return VectorLaplace(self.scale, 1, 1).reach_of(tail)
        number = self.num_workers * self.parts_of(size)
        return share_reach(scale=self.scale, planned=self.planned, num_shares=number, level=tail)

    def expected_counts(self, counts: IntArray, most: IntArray, sizes: IntArray) -> FloatArray:
        """Return E[c | noisy count] of counts that may be 0, …, n alike; see `majority_of_counts`."""
        if self.planned is None:
            return _expected_counts(counts, most[:, None], self.scale)
        expected = np.zeros(counts.shape)
        masses_of = functools.partial(share_masses, scale=self.scale, planned=self.planned)
        laws = [masses_of(num_shares=self.num_workers * parts) for parts in (1, 2)]
        for task, size in enumerate(sizes.tolist()):
            parts, places = self.parts_of(size), np.arange(int(most[task]) + 1)
            noise = np.abs(counts[task, :size, None] - parts * places)
            law = laws[parts - 1][np.minimum(noise, len(laws[parts - 1]) - 1)]
            expected[task, :size] = (law * places).sum(axis=1) / law.sum(axis=1)
        return expected


def majority_of_counts(
    counts: IntArray, num_answers: IntArray, sizes: IntArray, noise: CountNoise | None, *, ties: Ties
) -> Inference:
    """Return the label of the greatest count, for each task with an answer, and its expected share of the answers.

    Args:
        counts: noisy counts, shape (tasks, labels), or twice the counts (`CountNoise.parts_of`).
        num_answers: the greatest number of answers of each task, shape (tasks,).
        sizes: the number of labels of each task, shape (tasks,).
        noise: the noise on the counts; None without noise.
        ties: the choice among equal counts.
    """
    is_label = np.arange(counts.shape[1], dtype=np.int64) < sizes[:, None]
    truths = most_counted(counts, num_answers, sizes, ties=ties)
    expected = counts if noise is None else noise.expected_counts(counts, num_answers, sizes)
    shares = np.where(is_label, expected, 0.0)
    total = shares.sum(axis=1, keepdims=True)
    shares = np.where(num_answers[:, None] > 0, shares / np.where(total > 0, total, 1.0), np.nan)
    return Inference(
        truths=truths,
        confidences=shares[np.arange(len(truths)), truths],
        probabilities=shares,
        qualities=np.empty(0),
        weights=np.empty(0),
        num_iterations=0,
        has_converged=True,
    )


def most_counted(counts: IntArray, num_answers: IntArray, sizes: IntArray, *, ties: Ties) -> IntArray:
    """Return the label of the greatest of counts, shape (..., tasks, labels); -1 for a task without answers."""
    last = counts.shape[-1] - 1
    masked_counts = np.where(np.arange(last + 1, dtype=np.int64) < sizes[:, None], counts, np.iinfo(np.int64).min)
    best_labels = masked_counts.argmax(axis=-1) if ties == "first" else last - masked_counts[..., ::-1].argmax(axis=-1)
    return np.where(num_answers > 0, best_labels, MISSING)


def counted_limits(count: int, num_answers: int, noise: CountNoise, *, num_labels: int, level: float) -> SupportLimits:
    """Return limits for the number of workers that gave a label, from its noisy count.

    With probability at least 1 − `level` they hold for all labels of the task together, by the exact law of the noise.
    For two labels, a trusted server releases one count, and the other count has the same noise.
    """
    is_told_once = num_labels == 2 and noise.planned is None  # noqa: PLR2004  two labels
    reach, parts = (
        noise.reach_of(level / 2 / (1 if is_told_once else num_labels), num_labels) - 1,
        noise.parts_of(num_labels),
    )
    low, high = (min(max(end, 0), num_answers) for end in (-((reach - count) // parts), (count + reach) // parts))
    return SupportLimits(low, high)


def _expected_counts(counts: IntArray, most: IntArray, scale: float) -> FloatArray:
    """Return E[c | noisy count] of counts that may be 0, …, n alike: P[c] is in proportion to a^|c − count|."""
    decay, gap = exp(-1 / scale), -expm1(-1 / scale)
    nearest = np.clip(counts, 0, most)  # beyond this range, all likelihood ratios are the same

    def sums(steps: IntArray) -> tuple[FloatArray, FloatArray]:  # Σ a^j and Σ j·a^j for j from 1 to `steps`
        lost = -special.expm1(steps / -scale)  # 1 − a^steps
        first: FloatArray = decay * lost / gap
        return first, (first - steps * decay * (1 - lost)) / gap

    (below, down), (above, up) = sums(nearest), sums(most - nearest)
    expected: FloatArray = nearest + (up - down) / (1 + below + above)
    return expected
