"""What truth inference returns, and the rule for ties."""

import dataclasses
from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

import numpy as np

from ...arrays import FloatArray, IntArray

MISSING = -1
"""The truth of a task that has no answer, or of a tie that is left open."""

Ties: TypeAlias = Literal["first", "last", "missing"]
"""Which of the labels with the largest score is the truth: the smallest code, the largest code, or none of them."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Inference:
    """The inferred truths of all tasks and qualities of all workers.

    Args:
        truths: int64, shape (num_tasks,): label codes; -1 for a task without answers (a truth is never invented), and
            for a tie where ties are left open.
        confidences: float64, shape (num_tasks,): the probability, or the share of votes, of the label that was chosen
            (of the most probable one where a tie is left open); nan for a task without answers.
        probabilities: float64, shape (num_tasks, largest answer set): of each label; 0 beyond a task's answer set, a
            row of nan for a task without answers.
        qualities: float64, shape (num_workers,): the probability of a right report; nan for a worker without answers.
        weights: float64, shape (num_workers,): how much a worker's vote counts, in nats where it is a log-odds; nan for
            a worker without answers.
        num_iterations: rounds of weights and truths; 0 where there are none.
        has_converged: whether the last round changed nothing, or less than the tolerance.
        log_likelihoods: one for each round, in nats per answer; empty where the estimator has no likelihood.
        class_priors: for each size s of answer sets, shape (s,): how probable each label is before any answer; empty
            where the estimator has no such thing.
    """

    truths: IntArray
    confidences: FloatArray
    probabilities: FloatArray
    qualities: FloatArray
    weights: FloatArray
    num_iterations: int
    has_converged: bool
    log_likelihoods: tuple[float, ...] = ()
    class_priors: Mapping[int, FloatArray] = dataclasses.field(default_factory=dict[int, FloatArray])


def check_ties(ties: str) -> None:
    """Raise ValueError unless `ties` names a rule."""
    if ties not in get_args(Ties):
        raise ValueError(f"ties must be one of {', '.join(get_args(Ties))}, got {ties!r}")


def check_rounds(max_iterations: int, ties: str, *, tolerance: float = 0.0, rounds: int | None = None) -> None:
    """Raise ValueError unless `ties` names a rule, there is a round, and the tolerance is a number ≥ 0."""
    check_ties(ties)
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, got {max_iterations}")
    if rounds is not None and rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be at least 0, got {tolerance}")


def choose_labels(scores: FloatArray, *, ties: Ties) -> IntArray:
    """Return the label with the largest score for each task, shape (tasks,); -1 for a tie where ties are left open.

    Scores have shape (labels, tasks), and are -inf for a label that a task does not have. They tie if they are equal.
    """
    best = scores[0].copy()
    chosen = np.zeros(len(best), dtype=np.int64)
    for label in range(1, len(scores)):
        row = scores[label]
        if ties == "missing":
            chosen[row == best] = MISSING
        chosen[row >= best if ties == "last" else row > best] = label
        np.maximum(best, row, out=best)
    return chosen
