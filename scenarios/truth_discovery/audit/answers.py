"""Answer perturbation: whole rows of a worker's answers, and one answer of a row whose others are known.

The paper states ε for an answer, so that m answers are claimed to cost m·ε, and one answer ε whatever else the worker
has answered. Rows that share a flip probability cost J and R instead (`joint_law`): more than claimed, or less.

Which tasks are answered, and from which answer sets, is public: rows of two answer sets are audited for several such
public rows. Every row is drawn and held against the law of its whole report, or where they are many some of them.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.mechanisms import (
    NO_ANSWER,
    Beta,
    Discrete,
    FreshTwoLayer,
    HyperDistribution,
    Moments,
    OneLayer,
    Piecewise,
    PointMass,
    RowMechanism,
    TruncatedNormal,
    TwoLayer,
    Uniform,
    block_offsets,
    epsilon_of,
    loss_of_all_answers,
    loss_of_one_answer,
)
from ...audit.case import Case, Pair
from ...audit.mechanisms.checking import checks_of
from ...audit.mechanisms.sampling import EPSILONS, all_rows, finite_pairs, local_case

__all__ = ["answer_cases"]

_NUM_ANSWERS: Final = 3
_SIZES: Final = (2, 3)
_HYPERS: Final[Mapping[str, HyperDistribution]] = {
    "[.1, .3]": Uniform(0.1, 0.3),
    "[0, .6]": Uniform(0.0, 0.6),
    "[0, .9]": Uniform(0.0, 0.9),
    "Beta(2, 3) on [0, .9]": Beta(2, 3, 0.0, 0.9),
    "Beta(1.5, .5) on [0, .6]": Beta(1.5, 0.5, 0.0, 0.6),
    "N(.1, .2) on [0, .6]": TruncatedNormal(0.1, 0.2, 0.0, 0.6),
    "{.05, .6}": Discrete((0.05, 0.6), (0.7, 0.3)),
    "[0, .1] or [.3, .6]": Piecewise((0.0, 0.1, 0.3, 0.6), (0.6, 0.0, 0.4)),
    "moments .3, .14, .08": Moments((0.3, 0.14, 0.08)),
    "{.3}": PointMass(0.3),
}
"""Narrow, wide, so wide that the loss of a row is no more than a few answers', and of each other kind one."""
_SECURE: Final = frozenset({"ε = 1", "p in [0, .6]", "p in Beta(1.5, .5) on [0, .6]"})
"""What is drawn with the noise of deployments too, which is sampled in integers of hundreds of bits, or by an urn."""
_ALL, _ONE = "all answers", "one answer"
_MIXED_SIZES: Final = (2, 3)
"""Of two answer sets at once."""
_ANSWERED: Final[Mapping[str, tuple[int, ...]]] = {
    "2, 2 and 3 labels": (0, 0, 1),
    "2 labels, none, and 3": (0, NO_ANSWER, 1),
    "none, none, and 3": (NO_ANSWER, NO_ANSWER, 1),
}
"""Public rows: for each place its answer set, or that it has no answer."""
_MIXED_HYPERS: Final = ("[0, .6]", "Beta(2, 3) on [0, .9]")


def answer_cases() -> Iterator[Case]:
    """Yield one layer, two layers with a draw for each worker, and two layers with one for each answer."""
    yield from _of_one_set()
    yield from _of_two_sets()


def _of_one_set() -> Iterator[Case]:
    for size in _SIZES:
        rows = all_rows(_NUM_ANSWERS, size)
        for epsilon in EPSILONS:
            one_layer = OneLayer.of_epsilon((size,), epsilon)
            yield _case(
                f"one layer, s = {size}, ε = {epsilon:g}",
                _ALL,
                claimed=_NUM_ANSWERS * epsilon,
                proven=_NUM_ANSWERS * one_layer.epsilon,
                mechanism=one_layer,
                rows=rows,
                is_secure=f"ε = {epsilon:g}" in _SECURE,
            )
        for name, hyper in _HYPERS.items():
            yield from _of_hyper(name, hyper, size, rows)


def _of_two_sets() -> Iterator[Case]:
    """Yield public rows of two answer sets."""
    reports = all_rows(_NUM_ANSWERS, sum(_MIXED_SIZES) + 1) + NO_ANSWER
    offsets = block_offsets(_MIXED_SIZES)
    for public, blocks in _ANSWERED.items():
        codes = [[NO_ANSWER] if block == NO_ANSWER else range(offsets[block], offsets[block + 1]) for block in blocks]
        rows = np.array(list(itertools.product(*codes)), dtype=np.int64)
        sizes = [_MIXED_SIZES[block] for block in blocks if block != NO_ANSWER]
        one_layer = OneLayer.of_epsilon(_MIXED_SIZES, 1.0)
        loss = len(sizes) * one_layer.epsilon
        yield _case(
            f"one layer, {public}, ε = 1",
            _ALL,
            claimed=loss,
            proven=loss,
            mechanism=one_layer,
            rows=rows,
            is_secure=False,
            reports=reports,
        )
        for name in _MIXED_HYPERS:
            hyper = _HYPERS[name]
            shared, fresh = TwoLayer(_MIXED_SIZES, hyper), FreshTwoLayer(_MIXED_SIZES, hyper)
            losses = [epsilon_of(hyper.mean, size) for size in sizes]
            for unit, claimed, proven in (
                (_ALL, sum(losses), loss_of_all_answers(sizes, hyper)),
                (_ONE, max(losses), loss_of_one_answer(sizes, hyper)),
            ):
                yield _case(
                    f"two layers, {public}, p in {name}",
                    unit,
                    claimed=claimed,
                    proven=proven,
                    mechanism=shared,
                    rows=rows,
                    is_secure=f"p in {name}" in _SECURE and unit == _ALL,
                    reports=reports,
                )
            yield _case(
                f"two fresh layers, {public}, p in {name}",
                _ALL,
                claimed=sum(losses),
                proven=sum(FreshTwoLayer((size,), hyper).epsilon for size in sizes),
                mechanism=fresh,
                rows=rows,
                is_secure=False,
                reports=reports,
            )


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
        mechanism=shared,
        rows=rows,
        is_secure=is_secure,
    )
    yield _case(
        f"two layers, {label}",
        _ONE,
        claimed=epsilon,
        proven=loss_of_one_answer(sizes, hyper),
        mechanism=shared,
        rows=rows,
        is_secure=is_secure,
    )
    yield _case(
        f"two fresh layers, {label}",
        _ALL,
        claimed=_NUM_ANSWERS * epsilon,
        proven=_NUM_ANSWERS * fresh.epsilon,
        mechanism=fresh,
        rows=rows,
        is_secure=is_secure,
    )


def _differ_in_one(one: IntArray, other: IntArray) -> bool:
    return int(np.count_nonzero(one != other)) == 1


def _case(
    name: str,
    unit: str,
    *,
    claimed: float,
    proven: float,
    mechanism: RowMechanism,
    rows: IntArray,
    is_secure: bool,
    reports: IntArray | None = None,
) -> Case:
    """Return the case of a mechanism.

    Args:
        name: without the unit.
        unit: one answer, or all of them.
        claimed: see `Case`.
        proven: see `Case`.
        mechanism: the mechanism.
        rows: all rows of one public row.
        is_secure: whether neighbors are drawn with the noise of deployments too, as each row is by itself.
        reports: all that a report may be, as numbers go; by default every row is a report too.
    """

    def pairs() -> Sequence[Pair]:
        return finite_pairs(
            mechanism,
            rows,
            is_secure=is_secure,
            are_neighbors=_differ_in_one if unit == _ONE else None,
            reports=rows if reports is None else reports,
        )

    return local_case(
        f"{name}: {unit}",
        "answers",
        unit,
        pairs,
        proven=proven,
        claimed=claimed,
        note=f"{_NUM_ANSWERS} answers a worker" if reports is None else "",
        law_checks=lambda: checks_of(mechanism, rows),
    )
