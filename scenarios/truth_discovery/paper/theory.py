"""Section 6.1's privacy losses as claimed, and what no estimator can do once they are 0 (readings T3, T5 and T9).

The losses here are *claimed*: Theorem 6.3 holds for a single answer of each worker. A worker of the two-layer mechanism
uses one flip probability for all answers, which ties them together. Hence at a + b = 1 and two labels, where one answer
tells nothing, several answers do tell something, namely how alike they are, but never which is which: flipping them all
leaves the law of the reports as it was. All probabilities of reports are exact fractions.
"""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.mechanisms import OneLayer
from ...audit.bounds import exact_epsilon

__all__ = [
    "accuracy",
    "likelihood",
    "mean_accuracy_of_truth_and_complement",
    "one_layer_loss",
    "report_law",
]

Probability = float | Fraction


def one_layer_loss(flip_probability: float, *, num_labels: int) -> float:
    """Return ε of one answer of the one-layer mechanism, by the channel that runs: by symmetry of any two labels."""
    channel = OneLayer.of_flip_probability((num_labels,), flip_probability).channel_matrix()
    return exact_epsilon(np.array(channel)[1:3, 1:])


def likelihood(num_flipped: int, num_answers: int, *, low: Probability, high: Probability) -> Fraction:
    """Return L(k) = E[P^k·(1 − P)^(m − k)], P ~ U(a, b): the probability of a report vector with k given flips of m.

    Args:
        num_flipped: k, in [0, m].
        num_answers: m ≥ 0, binary ones, of one worker.
        low: a, in [0, b].
        high: b, in [a, 1]; equal to a for the one-layer mechanism.

    Raises:
        ValueError: a parameter is out of range.

    Source:
        Reading T3.
    """
    _check_interval(low, high)
    if not 0 <= num_flipped <= num_answers:
        raise ValueError(f"num_flipped must be in [0, {num_answers}], got {num_flipped}")
    a, b = Fraction(low), Fraction(high)
    kept = num_answers - num_flipped
    if a == b:
        return a**num_flipped * (1 - a) ** kept
    total = Fraction(0)
    for j in range(kept + 1):
        power = num_flipped + j + 1
        total += (-1) ** j * math.comb(kept, j) * (b**power - a**power) / power
    return total / (b - a)


def report_law(answers: tuple[int, ...], *, low: Probability, high: Probability) -> dict[tuple[int, ...], Fraction]:
    """Return the exact law of one worker's reports on binary answers.

    At a + b = 1 it is the same for the complement of the answers, as P and 1 − P have one law (reading T5).

    Args:
        answers: the worker's answers, 0 or 1, on m tasks; 2^m reports are enumerated.
        low: a, in [0, b].
        high: b, in [a, 1]; equal to a for the one-layer mechanism.

    Returns:
        For each vector of reports its probability.

    Raises:
        ValueError: a parameter is out of range.
    """
    if not set(answers) <= {0, 1}:
        raise ValueError(f"answers must be 0 or 1, got {answers}")
    of_flips = [likelihood(k, len(answers), low=low, high=high) for k in range(len(answers) + 1)]
    return {
        reports: of_flips[sum(report != answer for report, answer in zip(reports, answers, strict=True))]
        for reports in itertools.product((0, 1), repeat=len(answers))
    }


def accuracy(
    estimate: Callable[[IntArray], IntArray],
    answers: IntArray,
    truths: IntArray,
    *,
    low: Probability,
    high: Probability,
) -> Fraction:
    """Return an estimator's expected accuracy on fixed binary answers, exactly, by enumeration of all reports.

    Args:
        estimate: takes reports, int64, shape (workers, tasks), and returns one label for each task.
        answers: int64, 0 or 1, shape (workers, tasks); 2^(workers·tasks) reports are enumerated.
        truths: int64, 0 or 1, shape (tasks,).
        low: a, in [0, b]: each worker draws one flip probability from U(a, b).
        high: b, in [a, 1].

    Raises:
        ValueError: a parameter or a shape is out of range.
    """
    if answers.ndim != 2 or truths.shape != answers.shape[1:]:  # noqa: PLR2004  rows and columns
        raise ValueError(f"answers must be (workers, tasks) and truths (tasks,), got {answers.shape}, {truths.shape}")
    laws = [report_law(tuple(row), low=low, high=high).items() for row in answers.tolist()]
    total = Fraction(0)
    for combination in itertools.product(*laws):
        reports = np.array([row for row, _ in combination], dtype=np.int64).reshape(answers.shape)
        num_right = int(np.count_nonzero(estimate(reports) == truths))
        total += num_right * math.prod((chance for _, chance in combination), start=Fraction(1))
    return total / len(truths)


def mean_accuracy_of_truth_and_complement(
    estimate: Callable[[IntArray], IntArray],
    answers: IntArray,
    truths: IntArray,
    *,
    low: Probability,
    high: Probability,
) -> Fraction:
    """Return the mean accuracy for a truth and for its complement, with the same workers right on each task.

    At a + b = 1 it is ½ for every estimator: both worlds have the same reports, and what is right in one is wrong in
    the other (reading T5).

    Args:
        estimate: takes reports, int64, shape (workers, tasks), and returns one label for each task.
        answers: int64, 0 or 1, shape (workers, tasks).
        truths: int64, 0 or 1, shape (tasks,).
        low: a, in [0, b].
        high: b, in [a, 1].

    Raises:
        ValueError: a parameter or a shape is out of range.
    """
    straight = accuracy(estimate, answers, truths, low=low, high=high)
    complement = accuracy(estimate, 1 - answers, 1 - truths, low=low, high=high)
    return (straight + complement) / 2


def _check_interval(low: Probability, high: Probability) -> None:
    if not 0 <= low <= high <= 1:
        raise ValueError(f"low and high must be 0 <= low <= high <= 1, got {low} and {high}")
