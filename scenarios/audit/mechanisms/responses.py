"""Randomized response, frequency oracles and other channels on finitely many values, and values that are disclosed.

Laws are exact, and each pair of values is tried. Each value is drawn, and rows of two, which are to share nothing.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from ....protocol.arrays import IntArray
from ....protocol.mechanisms import (
    Disclosure,
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
from ..case import Case, LawCheck, Pair
from .checking import checks_of
from .sampling import EPSILONS, all_rows, finite_pairs, local_case

__all__ = ["response_cases"]

_CHOICES: Final = (2, 3, 10)
_ORACLES: Final[tuple[tuple[str, type[FrequencyOracle]], ...]] = (
    ("subset-selection", SubsetSelection),
    ("hadamard-response", HadamardResponse),
    ("local-hashing", LocalHashing),
)
_SECURE: Final = frozenset({(1.0, 2), (1.0, 10), (8.0, 3)})
"""ε and k that are also drawn with the noise of deployments: a draw takes a thousand times a simulated one's time."""
_WEIGHTS: Final = tuple(map(Fraction, (1, 2, 4, 7)))  # numbers to report without bias
_MATRIX: Final = (("1/2", "1/3", "1/6"), (0.1, 0.8, 0.1), (0.25, 0.05, 0.7))
"""By which a value is reported: a loss of ln 16."""
_BOUND: Final = 2  # the greatest value that is disclosed
_MOST_ROWS_OF_TWO: Final = 9


def response_cases() -> Iterator[Case]:
    """Yield k-RR, frequency oracles, channels that report numbers without bias, and disclosure."""
    for size in _CHOICES:
        for epsilon in EPSILONS:
            mechanism = GeneralizedRandomizedResponse(epsilon, size)
            pairs = _pairs(mechanism, is_secure=(epsilon, size) in _SECURE)
            checks = functools.partial(_checks, mechanism)
            yield local_case(f"{size}-RR, ε = {epsilon:g}", "k-rr", "value", pairs, proven=epsilon, law_checks=checks)
    for (group, kind), epsilon in itertools.product(_ORACLES, EPSILONS):
        oracle = kind(epsilon, 6)
        pairs = _pairs(oracle, is_secure=any(epsilon == at for at, _ in _SECURE))
        checks = functools.partial(_checks, oracle)
        yield local_case(f"6 values, ε = {epsilon:g}", group, "value", pairs, proven=epsilon, law_checks=checks)
    for epsilon in EPSILONS:
        for name, make in (("two-point", two_point), ("optimal", optimal)):
            channel = functools.partial(_channel, make, epsilon)
            yield local_case(
                f"{name} report, ε = {epsilon:g}",
                "channels",
                "value",
                lambda channel=channel: _pairs(channel(), is_secure=True)(),
                proven=epsilon,
                law_checks=lambda channel=channel: _checks(channel()),
            )
    own = channel_of(_MATRIX, num_values=len(_MATRIX), field="matrix")
    yield local_case(
        "a matrix of one's own",
        "channels",
        "value",
        _pairs(own, is_secure=True),
        proven=own.epsilon,
        law_checks=lambda: _checks(own),
    )
    disclosure = Disclosure(_BOUND)
    yield local_case(
        "disclosure",
        "disclosure",
        "value",
        _pairs(disclosure, is_secure=True),
        proven=math.inf,
        note="Values leave as they are, to a server that is trusted with them.",
        law_checks=lambda: _checks(disclosure),
    )


def _pairs(mechanism: RowMechanism, *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    low, high = mechanism.report_range
    reports = all_rows(mechanism.num_reports_of(1), high - low + 1) + low
    return lambda: finite_pairs(mechanism, _rows(mechanism, 1), is_secure=is_secure, reports=reports)


def _checks(mechanism: RowMechanism) -> list[LawCheck]:
    return [
        *checks_of(mechanism, _rows(mechanism, 1)),
        *checks_of(mechanism, _rows(mechanism, 2), most=_MOST_ROWS_OF_TWO),
    ]


def _rows(mechanism: RowMechanism, width: int) -> IntArray:
    low, high = mechanism.value_range
    return all_rows(width, high - low + 1) + low


@functools.cache  # the optimal one takes some tenths of a second
def _channel(make: Callable[..., UnbiasedReport], epsilon: float) -> RowMechanism:
    return make(_WEIGHTS, epsilon=epsilon).mechanism
