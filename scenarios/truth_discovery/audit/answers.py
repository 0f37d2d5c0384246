"""Answer perturbation: whole rows of a worker's answers, and one answer of a row whose others are known.

The paper states ε for an answer, so that m answers are claimed to cost m·ε, and one answer ε whatever else the worker
has answered. Rows that share a flip probability cost J and R instead (`joint_law`): more than claimed, or less.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.mechanisms import (
    FreshTwoLayer,
    HyperDistribution,
    OneLayer,
    RowMechanism,
    TwoLayer,
    Uniform,
    epsilon_of,
    loss_of_all_answers,
    loss_of_one_answer,
)
from ...audit.case import Case, Pair
from ...audit.mechanisms.sampling import EPSILONS, all_rows, finite_pairs, local_case

__all__ = ["answer_cases"]

_NUM_ANSWERS: Final = 3
_SIZES: Final = (2, 3)
_HYPERS: Final[Mapping[str, HyperDistribution]] = {
    "[.1, .3]": Uniform(0.1, 0.3),
    "[0, .6]": Uniform(0.0, 0.6),
    "[0, .9]": Uniform(0.0, 0.9),
}
"""Narrow, wide, and so wide that the loss of a row is no more than a few answers'."""
_SECURE: Final = frozenset({"ε = 1", "p in [0, .6]"})
"""What is drawn with the noise of deployments too, which is sampled in integers of hundreds of bits."""
_ALL, _ONE = "all answers", "one answer"


def answer_cases() -> Iterator[Case]:
    """Yield one layer, two layers with a draw for each worker, and two layers with one for each answer."""
    for size in _SIZES:
        rows = all_rows(_NUM_ANSWERS, size)
        for epsilon in EPSILONS:
            one_layer = OneLayer.of_epsilon((size,), epsilon)
            yield _case(
                f"one layer, s = {size}, ε = {epsilon:g}",
                _ALL,
                claimed=_NUM_ANSWERS * epsilon,
                proven=_NUM_ANSWERS * one_layer.epsilon,
                pairs=_pairs(one_layer, rows, is_secure=f"ε = {epsilon:g}" in _SECURE),
            )
        for name, hyper in _HYPERS.items():
            yield from _of_hyper(name, hyper, size, rows)


def _of_hyper(name: str, hyper: HyperDistribution, size: int, rows: IntArray) -> Iterator[Case]:
    epsilon = epsilon_of(hyper.mean, size)
    shared, fresh = TwoLayer((size,), hyper), FreshTwoLayer((size,), hyper)
    label = f"s = {size}, p in {name}"
    is_secure = f"p in {name}" in _SECURE
    sizes = (size,) * _NUM_ANSWERS
    yield _case(
        f"two layers, {label}",
        _ALL,
        claimed=_NUM_ANSWERS * epsilon,
        proven=loss_of_all_answers(sizes, hyper),
        pairs=_pairs(shared, rows, is_secure=is_secure),
    )
    yield _case(
        f"two layers, {label}",
        _ONE,
        claimed=epsilon,
        proven=loss_of_one_answer(sizes, hyper),
        pairs=_pairs(shared, rows, is_secure=is_secure, are_neighbors=_differ_in_one),
    )
    yield _case(
        f"two fresh layers, {label}",
        _ALL,
        claimed=_NUM_ANSWERS * epsilon,
        proven=_NUM_ANSWERS * fresh.epsilon,
        pairs=_pairs(fresh, rows, is_secure=is_secure),
    )


def _differ_in_one(one: IntArray, other: IntArray) -> bool:
    return int(np.count_nonzero(one != other)) == 1


def _pairs(
    mechanism: RowMechanism,
    rows: IntArray,
    *,
    is_secure: bool,
    are_neighbors: Callable[[IntArray, IntArray], bool] | None = None,
) -> Callable[[], Sequence[Pair]]:
    # Every row of labels is a report too.
    return lambda: finite_pairs(mechanism, rows, is_secure=is_secure, are_neighbors=are_neighbors, reports=rows)


def _case(name: str, unit: str, *, claimed: float, proven: float, pairs: Callable[[], Sequence[Pair]]) -> Case:
    note = f"{_NUM_ANSWERS} answers a worker"
    return local_case(f"{name}: {unit}", "answers", unit, pairs, proven=proven, claimed=claimed, note=note)
