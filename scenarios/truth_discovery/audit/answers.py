"""Audits of answer perturbation: whole rows of a worker's answers, and one answer with the others known.

The paper states ε for an answer. So the claimed loss of m answers is m·ε, and that of one answer is ε, whatever the
worker's other answers are. For rows that share a flip probability, the losses are J and R instead (`joint_law`), which
may be more or less than claimed.

The answered tasks and their answer sets are public: rows of two answer sets are audited for several such public rows.
Every row, or some if they are many, is drawn and tested against the law of its whole report.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

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
from ...audit.mechanisms.sampling import EPSILONS, finite_pairs, list_rows, local_case

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
"""Hyper-distributions: narrow, wide, so wide that a row's loss is at most that of a few answers, and one of each other
kind."""
_SECURE: Final = frozenset({"ε = 1", "p in [0, .6]", "p in Beta(1.5, .5) on [0, .6]"})
"""Those that are also drawn with secure noise, by integers of hundreds of bits or by an urn."""
_ALL, _ONE = "all answers", "one answer"
_MIXED_SIZES: Final = (2, 3)
"""Sizes of two answer sets in one row."""
_ANSWERED: Final[Mapping[str, tuple[int, ...]]] = {
    "2, 2 and 3 labels": (0, 0, 1),
    "2 labels, none, and 3": (0, NO_ANSWER, 1),
    "none, none, and 3": (NO_ANSWER, NO_ANSWER, 1),
}
"""Public rows: for each position its answer set, or no answer."""
_MIXED_HYPERS: Final = ("[0, .6]", "Beta(2, 3) on [0, .9]")


class _Asked(NamedTuple):
    """A worker's public row with its possible answers and reports."""

    label: str  # the public row in words
    blocks: tuple[int, ...]  # the sizes of the answer sets
    sizes: tuple[int, ...]  # the size of each answer's set
    rows: IntArray  # all possible rows of answers
    reports: IntArray  # all possible reports, in lexicographic order

    @property
    def is_mixed(self) -> bool:
        """Whether answer sets differ; then fewer mechanisms are tried, and fewer with secure noise."""
        return len(self.blocks) > 1


def answer_cases() -> Iterator[Case]:
    """Yield audits of one layer, two layers with one draw for each worker, and two layers with one for each answer."""
    for asked_rows in (*_rows_of_one_set(), *_rows_of_two_sets()):
        for epsilon in (1.0,) if asked_rows.is_mixed else EPSILONS:
            one_layer = OneLayer.from_epsilon(asked_rows.blocks, epsilon)
            each = one_layer.epsilon if asked_rows.is_mixed else epsilon
            losses = len(asked_rows.sizes) * each, len(asked_rows.sizes) * one_layer.epsilon
            name = f"ε = {epsilon:g}"
            yield _case(asked_rows, "one layer", name, _ALL, losses, one_layer, is_secure=not asked_rows.is_mixed)
        for name in _MIXED_HYPERS if asked_rows.is_mixed else _HYPERS:
            yield from _hyper_cases(asked_rows, f"p in {name}", _HYPERS[name])


def _rows_of_one_set() -> Iterator[_Asked]:
    for size in _SIZES:
        rows = list_rows(_NUM_ANSWERS, size)
        yield _Asked(f"s = {size}", (size,), (size,) * _NUM_ANSWERS, rows, rows)


def _rows_of_two_sets() -> Iterator[_Asked]:
    """Yield public rows of two answer sets."""
    reports = list_rows(_NUM_ANSWERS, sum(_MIXED_SIZES) + 1) + NO_ANSWER
    offsets = block_offsets(_MIXED_SIZES)
    for public, blocks in _ANSWERED.items():
        codes = [[NO_ANSWER] if block == NO_ANSWER else range(offsets[block], offsets[block + 1]) for block in blocks]
        rows = np.array(list(itertools.product(*codes)), dtype=np.int64)
        sizes = tuple(_MIXED_SIZES[block] for block in blocks if block != NO_ANSWER)
        yield _Asked(public, _MIXED_SIZES, sizes, rows, reports)


def _hyper_cases(asked_rows: _Asked, name: str, hyper: HyperDistribution) -> Iterator[Case]:
    shared_mechanism, fresh_mechanism = TwoLayer(asked_rows.blocks, hyper), FreshTwoLayer(asked_rows.blocks, hyper)
    claimed = [epsilon_of(hyper.mean, size) for size in asked_rows.sizes]
    for unit, losses in (
        (_ALL, (math.fsum(claimed), loss_of_all_answers(asked_rows.sizes, hyper))),
        (_ONE, (max(claimed), loss_of_one_answer(asked_rows.sizes, hyper))),
    ):
        is_secure = not asked_rows.is_mixed or unit == _ALL
        yield _case(asked_rows, "two layers", name, unit, losses, shared_mechanism, is_secure=is_secure)
    anew = math.fsum(FreshTwoLayer((size,), hyper).epsilon for size in asked_rows.sizes)
    losses = math.fsum(claimed), anew
    yield _case(asked_rows, "two fresh layers", name, _ALL, losses, fresh_mechanism, is_secure=not asked_rows.is_mixed)


def _case(
    asked_rows: _Asked,
    layers: str,
    name: str,
    unit: str,
    losses: tuple[float, float],
    mechanism: RowMechanism,
    *,
    is_secure: bool,
) -> Case:
    """Return the case of a mechanism with a number of layers, named by its parameter or hyper-distribution.

    `losses` are the claimed and the proven loss. Neighbors are also drawn with secure noise if `is_secure`, and if
    `name` is in `_SECURE`.
    """

    def pairs() -> Sequence[Pair]:
        return finite_pairs(
            mechanism,
            asked_rows.rows,
            is_secure=is_secure and name in _SECURE,
            are_neighbors=(lambda one, other: np.count_nonzero(one != other) == 1) if unit == _ONE else None,
            reports=asked_rows.reports,
        )

    claimed, proven = losses
    return local_case(
        f"{layers}, {asked_rows.label}, {name}: {unit}",
        "answers",
        unit,
        pairs,
        proven=proven,
        claimed=claimed,
        note="" if asked_rows.is_mixed else f"{_NUM_ANSWERS} answers a worker",
        law_checks=lambda: checks_of(mechanism, asked_rows.rows),
    )
