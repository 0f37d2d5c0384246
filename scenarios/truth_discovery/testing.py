"""A conformance suite for estimators of truth, for any test runner.

    from psephos.scenarios.truth_discovery.testing import check_estimator

    def test_the_estimator_keeps_its_promises():
        check_estimator(cubed)

An estimator that passes may still find wrong truths. An estimator that fails is wrong, and the message names the
promise in `ESTIMATOR_PROMISES` that it broke.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.estimators.truth_inference import Answers, Inference, KnownNoise, OwnNoise
from ...protocol.truth_discovery import Parameters, TruthDiscovery, infer_by
from ...protocol.truth_discovery.estimators import EstimatorFunction
from ...transports.promises import check_promise, require, sentence_of
from ..testing import check_protocol

_NAME: Final = "own-estimator"
_LABELS: Final = ("first", "second", "third")
_TIES: Final = ("first", "last")
_FIELDS: Final = ("truths", "confidences", "qualities", "weights", "num_iterations", "has_converged")


def check_estimator(estimator: EstimatorFunction, *, seed: int = 1) -> None:
    """Check that a function fulfills the contract of `psephos.estimators`, by itself and in sessions.

    Args:
        estimator: the function; a new process that repeats sessions imports it by its name.
        seed: the seed of crowds and noise, so that results are repeatable.

    Raises:
        AssertionError: a promise was broken; the message begins with the promise.

    Example:
        >>> from psephos.protocol.estimators.truth_inference import majority_vote
        >>> check_estimator(lambda answers, noise, ties, **_: majority_vote(answers, ties=ties))
    """
    for check in _CHECKS.values():
        with check_promise(sentence_of(check)):
            check(estimator, seed)
    generator = np.random.default_rng(seed)
    tasks = tuple(f"task-{number}" for number in range(6))
    for size in (2, 3):
        labels = _LABELS[:size]
        answers: list[list[int]] = generator.integers(0, size, (9, len(tasks))).tolist()
        rows = {f"worker-{number}": (tasks, [labels[code] for code in codes]) for number, codes in enumerate(answers)}
        parameters = Parameters(tasks=tasks, answer_sets=(labels,), max_answers=len(tasks), estimator=_NAME)
        check_protocol(TruthDiscovery(parameters, estimator=estimator), rows, seed=seed)


def _infer(estimator: EstimatorFunction, answers: Answers, noise: KnownNoise | OwnNoise, **settings: Any) -> Inference:
    limits: dict[str, Any] = {"ties": "first", "max_iterations": 50, **settings}
    return infer_by(estimator, answers, noise, name=_NAME, **limits)


def _crowds(seed: int) -> Iterator[tuple[Answers, KnownNoise | OwnNoise]]:
    """Yield answers of all shapes that sessions have, with their perturbations."""
    generator = np.random.default_rng(seed)
    for tasks, workers, number in ((1, 1, 0), (1, 1, 1), (3, 2, 4), (5, 4, 6), (7, 9, 40), (40, 30, 400)):
        for sizes in ((2,), (3,), (2, 5)):
            own_sizes: IntArray = np.resize(np.array(sizes, dtype=np.int64), tasks)
            pairs = np.sort(generator.permutation(tasks * workers)[:number])
            places, asked_task = pairs // tasks, pairs % tasks
            labels = generator.integers(0, own_sizes[asked_task])
            answers = Answers(asked_task, places, labels, tasks, workers, own_sizes)
            law = KnownNoise(dict.fromkeys(sizes, (0.1, 0.3, 0.4)))
            yield answers, KnownNoise.from_flip_probabilities(dict.fromkeys(sizes, 0.3))
            levels: IntArray = generator.integers(0, 2, workers)
            yield answers, OwnNoise((law, KnownNoise(dict.fromkeys(sizes, (0.0, 0.0, 0.0)))), levels)


def _check_all_crowds(estimator: EstimatorFunction, seed: int) -> None:
    """Every crowd has an inference, where nobody answers a task or a worker answers nothing, and whatever the noise."""
    for answers, noise in _crowds(seed):
        for ties in _TIES:
            for rounds in (1, 50):
                _infer(estimator, answers, noise, ties=ties, max_iterations=rounds)


def _check_pure(estimator: EstimatorFunction, seed: int) -> None:
    """Equal answers have equal truths, confidences, qualities and weights, to the bit."""
    for answers, noise in _crowds(seed):
        first, second_inference = (_infer(estimator, dataclasses.replace(answers), noise) for _ in range(2))
        for field in _FIELDS:
            one, other = (np.asarray(getattr(inference, field)) for inference in (first, second_inference))
            require(one.tobytes() == other.tobytes(), f"asked twice, {field} are {one} and {other}")


def _check_unchanged(estimator: EstimatorFunction, seed: int) -> None:
    """Answers are left as they are."""
    for answers, noise in _crowds(seed):
        arrays_before = {name: getattr(answers, name).copy() for name in ("tasks", "workers", "labels", "sizes")}
        _infer(estimator, answers, noise)
        for name, array_before in arrays_before.items():
            require(np.array_equal(array_before, getattr(answers, name)), f"it changed {name}")


def _check_unanimous(estimator: EstimatorFunction, seed: int) -> None:
    """What all of nine workers answer is the truth, where nothing was perturbed."""
    generator = np.random.default_rng(seed)
    sizes: IntArray = generator.integers(2, 5, 12)
    truths = generator.integers(0, sizes)
    workers, tasks = np.divmod(np.arange(9 * len(sizes)), len(sizes))
    answers = Answers(tasks, workers, truths[tasks], len(sizes), 9, sizes)
    inference = _infer(estimator, answers, KnownNoise.from_flip_probabilities(dict.fromkeys(set(sizes.tolist()), 0.0)))
    require(np.array_equal(inference.truths, truths), f"the truths are {inference.truths}, and all answered {truths}")


_CHECKS: Final[Mapping[str, Callable[[EstimatorFunction, int], None]]] = {
    sentence_of(check): check for check in (_check_all_crowds, _check_unchanged, _check_pure, _check_unanimous)
}

ESTIMATOR_PROMISES: Final = tuple(_CHECKS)
"""The promises of an estimator, in addition to those of every protocol (`PROTOCOL_PROMISES`)."""
