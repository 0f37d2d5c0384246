"""Weight, error and importance of each worker in a synthetic or public crowd.

They are computed from clean answers, so only a simulation whose truth may be shown writes them.

Source: Li et al. (2018), Section 4.1 and equation (7); reading T8.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...protocol.arrays import IntArray
from ...protocol.elementary import exp, ln
from ...protocol.estimators.truth_inference import Answers, truth_discovery
from ...protocol.truth_discovery import TruthDiscovery
from ..running.resolution import Local

_UNKNOWN = -1


def printed_factor(quality: float) -> float:
    """Return G(p) = (p·e⁻¹ + (1 − p)·e)^g(p), a worker's factor in (7) as printed, g(p) = ln(p/(1 − p)).

    Examples:
        >>> round(printed_factor(0.25), 3), round(printed_factor(0.75), 3)
        (0.436, 0.951)
    """
    base = quality * exp(-1.0) + (1 - quality) * exp(1.0)
    return exp((ln(quality) - ln(1 - quality)) * ln(base))


def importance(error: float | None) -> float | None:
    """Return the importance Im(u) = 1/G of a worker's error; None if it is unknown, 0 or 1.

    Examples:
        >>> round(importance(0.25), 3), importance(0.0)
        (2.296, None)
    """
    return 1 / printed_factor(error) if error is not None and 0 < error < 1 else None


def shares_wrong(answers: Answers, truth: IntArray, is_known: NDArray[np.bool_]) -> list[float | None]:
    """Return each worker's fraction of wrong answers to tasks with known truths; None if it has no such task.

    Examples:
        >>> answers = Answers(np.array([0, 1]), np.array([0, 1]), np.array([1, 0]), 2, 2, np.array([2, 2]))
        >>> shares_wrong(answers, truth=np.array([0, 0]), is_known=np.array([True, False]))
        [1.0, None]
    """
    judged_tasks = is_known[answers.tasks]
    wrong = judged_tasks & (truth[answers.tasks] != answers.labels)
    numbers, mistakes = (
        np.bincount(answers.workers, each, answers.num_workers).tolist() for each in (judged_tasks, wrong)
    )
    return [mistake / number if number else None for mistake, number in zip(mistakes, numbers, strict=True)]


def workers_of(setup: Local) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the rows of `workers.csv` for a crowd whose truth may be shown; empty if the server only has counts."""
    protocol, inputs = cast("TruthDiscovery", setup.protocol), setup.inputs
    own_answers = inputs.private[:, protocol.phase.columns]
    answers = protocol.answers_in(protocol.phase.tally(own_answers, earlier=(), public=inputs.public))
    if not len(answers.tasks):
        return {}
    parameters = protocol.parameters
    sets: list[int] = protocol.codes.set_of_task.tolist()
    labels = [
        parameters.answer_sets[each].index(setup.gold[task]) if task in setup.gold else _UNKNOWN
        for task, each in zip(parameters.tasks, sets, strict=True)
    ]
    truth = np.array(labels, dtype=np.int64)
    counts = np.bincount(answers.workers, minlength=answers.num_workers).tolist()
    weights = truth_discovery(answers).weights.tolist()
    errors = shares_wrong(answers, truth, truth != _UNKNOWN)
    rows = [
        {
            "worker": setup.names[worker],
            "answers": count,
            "weight": weights[worker],
            "error": errors[worker],
            "importance": importance(errors[worker]),
        }
        for worker, count in enumerate(counts)
        if count
    ]
    return {"workers.csv": rows}
