"""Audits of randomized response, frequency oracles and other finite channels, and of disclosed values.

Laws are exact, and every pair of values is tried. Each value is drawn, and rows of two values, which must be
independent. With many values (up to thousands), one pair suffices by symmetry. Three values are drawn, and tested for
whether a report supports its value, and for the rest of the report, whose law is the same for all values.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.mechanisms import (
    Disclosure,
    FiniteChannel,
    FrequencyOracle,
    GeneralizedRandomizedResponse,
    HadamardResponse,
    LocalHashing,
    RowMechanism,
    SubsetSelection,
    UnbiasedReport,
    optimal,
    two_point,
)
from ....protocol.mechanisms.own_matrix import channel_of
from ..case import NO_PLACE, Case, LawCheck, OutputView, Pair
from .checking import checks_of
from .sampling import EPSILONS, encode_outputs, finite_pairs, list_rows, local_case, secure_draw, simulate_draw

_CHOICES: Final = (2, 3, 10)
_ORACLES: Final[tuple[tuple[str, type[FrequencyOracle]], ...]] = (
    ("subset-selection", SubsetSelection),
    ("hadamard-response", HadamardResponse),
    ("local-hashing", LocalHashing),
)
_SECURE: Final = frozenset({(1.0, 2), (1.0, 10), (8.0, 3)})
"""Pairs (ε, k) that are also drawn with the noise of deployments, which is a thousand times slower."""
_WEIGHTS: Final = tuple(map(Fraction, (1, 2, 4, 7)))  # the values that unbiased channels report
_MATRIX: Final = (("1/2", "1/3", "1/6"), (0.1, 0.8, 0.1), (0.25, 0.05, 0.7))
"""A channel's probabilities of reports, by value; its loss is ln 16."""
_MANY: Final = (17, 64, 300, 2000)
"""Large numbers of values, for which all pairs have the same loss."""
_SHARE_OF_MANY, _SECURE_SHARE_OF_MANY = 0.04, 0.05
_BOUND: Final = 2  # the greatest disclosed value
_MOST_ROWS_OF_TWO: Final = 9


def response_cases() -> Iterator[Case]:
    """Yield the cases of k-RR, frequency oracles, unbiased channels and disclosure."""
    for size, epsilon in itertools.product(_CHOICES, EPSILONS):
        make = functools.partial(GeneralizedRandomizedResponse, epsilon, size)
        yield _case(f"{size}-RR, ε = {epsilon:g}", "k-rr", make, epsilon, is_secure=(epsilon, size) in _SECURE)
    for (group, kind), epsilon in itertools.product(_ORACLES, EPSILONS):
        is_secure = any(epsilon == shared_epsilon for shared_epsilon, _ in _SECURE)
        yield _case(
            f"6 values, ε = {epsilon:g}", group, functools.partial(kind, epsilon, 6), epsilon, is_secure=is_secure
        )
    for size, (group, kind) in itertools.product(_MANY, (("k-rr", GeneralizedRandomizedResponse), *_ORACLES)):
        yield _case_of_many(group, kind(1.0, size), size)
    for epsilon in EPSILONS:
        for name, design in (("two-point", two_point), ("optimal", optimal)):
            yield _case(
                f"{name} report, ε = {epsilon:g}", "channels", functools.partial(_channel, design, epsilon), epsilon
            )
    for size in _MANY[1:-1]:
        table = two_point([Fraction(number) for number in range(size)], epsilon=1.0).mechanism
        yield _case_of_many("channels", table, size)
    mechanism = channel_of(_MATRIX, num_values=len(_MATRIX), field="matrix")
    yield _case("a matrix of one's own", "channels", lambda: mechanism, mechanism.epsilon)
    note = "Values leave as they are, to a server that is trusted with them."
    yield _case("disclosure", "disclosure", lambda: Disclosure(_BOUND), math.inf, note=note)


def _case(
    name: str, group: str, make: Callable[[], RowMechanism], epsilon: float, *, is_secure: bool = True, note: str = ""
) -> Case:
    """Return the case of a mechanism, which is built on demand."""

    def checks() -> Sequence[LawCheck]:
        mechanism = make()
        of_two = checks_of(mechanism, _rows(mechanism, 2), limit=_MOST_ROWS_OF_TWO)
        return [*checks_of(mechanism, _rows(mechanism, 1)), *of_two]

    return local_case(
        name,
        group,
        "value",
        lambda: finite_pairs(make(), _rows(make(), 1), is_secure=is_secure),
        proven=epsilon,
        note=note,
        law_checks=checks,
    )


def _case_of_many(group: str, mechanism: RowMechanism, size: int) -> Case:
    """Return the case of a mechanism at ε = 1 and many values."""
    values = 0, size // 3, size - 1

    def checks() -> Sequence[LawCheck]:
        if isinstance(mechanism, FrequencyOracle) and not isinstance(mechanism, HadamardResponse):
            return [
                LawCheck(
                    f"[{value}]",
                    list(_views_of(mechanism, value)),
                    simulate_draw(mechanism, [value]),
                    secure_draw(mechanism, [value]),
                )
                for value in values
            ]
        return checks_of(mechanism, np.array(values)[:, None])

    return local_case(
        f"{size} values, ε = 1",
        group,
        "value",
        functools.partial(_pairs_of_many, mechanism, 0, size - 1),
        proven=1.0,
        share=_SHARE_OF_MANY,
        secure_share=_SECURE_SHARE_OF_MANY,
        law_checks=checks,
    )


def _pairs_of_many(mechanism: Any, *ends: int) -> list[Pair]:
    """Return a pair of two values, whose outputs are reports, or which of the two values a report supports.

    Whole reports are used if they are few. The likelihood ratio of a report depends only on which of the two values it
    supports.
    """
    if isinstance(mechanism, FiniteChannel):
        return finite_pairs(mechanism, np.array(ends)[:, None], is_secure=True)
    if isinstance(mechanism, FrequencyOracle):
        keep, luck = mechanism.law.keep, mechanism.law.luck * mechanism.reach(*ends)
        ratio = keep * mechanism.law.num_others / ((1 - keep) * mechanism.law.num_supporting)
    else:
        keep = Fraction(mechanism.keep_probability)
        luck = (1 - keep) / (mechanism.num_choices - 1)
        ratio = keep / luck
    chance_of_both = (ratio * luck - keep) / (ratio - 1)
    own_chance, other, other_chance_sum = (
        float(chance) for chance in (keep - chance_of_both, luck - chance_of_both, 1 - keep - luck + 2 * chance_of_both)
    )

    def encode(reports: IntArray) -> IntArray:
        is_supported = (
            mechanism.supports(reports, np.array(ends)) if isinstance(mechanism, FrequencyOracle) else reports == ends
        )
        return np.where(is_supported[:, 0] == is_supported[:, 1], 2, is_supported[:, 1])[:, None].astype(np.int64)

    draws, secure = (
        [encode_outputs(draw(mechanism, [end]), encode) for end in ends] for draw in (simulate_draw, secure_draw)
    )
    laws = np.array([[own_chance, other, other_chance_sum], [other, own_chance, other_chance_sum]])
    return [Pair(f"{ends[0]} and {ends[1]}", laws=laws, draws=(draws[0], draws[1]), secure=(secure[0], secure[1]))]


def _views_of(oracle: FrequencyOracle, value: int) -> Iterator[OutputView]:
    """Yield tests of whether a report supports its value, and of its relative subset or its hash function."""
    law, size = oracle.law, oracle.num_choices
    keep = float(law.keep)

    def select_supporting(reports: IntArray) -> IntArray:
        is_report = (reports >= 0).all(axis=1) & (reports <= law.greatest).all(axis=1)
        is_report &= (np.diff(reports, axis=1) >= 0).all(axis=1)
        return np.where(is_report, oracle.supports(reports, np.array([value]))[:, 0], NO_PLACE)

    yield OutputView("its own value", np.array([1 - keep, keep]), select_supporting)
    if isinstance(oracle, SubsetSelection):
        # A report contains each value once, so counts vary less than independent ones, which the bounds assume.
        other_chances = np.full(size - 1, (1 - keep / law.num_numbers) / (size - 1))
        members = np.concatenate([[keep / law.num_numbers], other_chances])
        yield OutputView(
            "values", members, lambda outputs: ((oracle.subsets(outputs) - value) % size).reshape(-1), law.num_numbers
        )
    elif isinstance(oracle, LocalHashing):
        factors, shifts, _ = law.bounds
        for name, bound, step in (("factor", factors, oracle.prime), ("shift", shifts, 1)):
            chances = np.full(bound, 1 / bound)
            yield OutputView(
                name,
                chances,
                lambda outputs, bound=bound, step=step: outputs[:, 0] // oracle.num_hashes // step % bound,
            )


def _rows(mechanism: RowMechanism, width: int) -> IntArray:
    low, high = mechanism.value_range
    return list_rows(width, high - low + 1) + low


@functools.cache  # the optimal channel takes some tenths of a second
def _channel(make: Callable[..., UnbiasedReport], epsilon: float) -> RowMechanism:
    return make(_WEIGHTS, epsilon=epsilon).mechanism
