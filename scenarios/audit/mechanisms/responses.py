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
from ..case import Case, LawCheck
from .checking import checks_of
from .sampling import EPSILONS, all_rows, finite_pairs, local_case

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
    for size, epsilon in itertools.product(_CHOICES, EPSILONS):
        make = functools.partial(GeneralizedRandomizedResponse, epsilon, size)
        yield _case(f"{size}-RR, ε = {epsilon:g}", "k-rr", make, epsilon, is_secure=(epsilon, size) in _SECURE)
    for (group, kind), epsilon in itertools.product(_ORACLES, EPSILONS):
        is_secure = any(epsilon == at for at, _ in _SECURE)
        yield _case(
            f"6 values, ε = {epsilon:g}", group, functools.partial(kind, epsilon, 6), epsilon, is_secure=is_secure
        )
    for epsilon in EPSILONS:
        for name, design in (("two-point", two_point), ("optimal", optimal)):
            yield _case(
                f"{name} report, ε = {epsilon:g}", "channels", functools.partial(_channel, design, epsilon), epsilon
            )
    own = channel_of(_MATRIX, num_values=len(_MATRIX), field="matrix")
    yield _case("a matrix of one's own", "channels", lambda: own, own.epsilon)
    note = "Values leave as they are, to a server that is trusted with them."
    yield _case("disclosure", "disclosure", lambda: Disclosure(_BOUND), math.inf, note=note)


def _case(
    name: str, group: str, make: Callable[[], RowMechanism], epsilon: float, *, is_secure: bool = True, note: str = ""
) -> Case:
    """Return the case of a mechanism, which is made when it is asked for."""

    def checks() -> Sequence[LawCheck]:
        mechanism = make()
        of_two = checks_of(mechanism, _rows(mechanism, 2), most=_MOST_ROWS_OF_TWO)
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


def _rows(mechanism: RowMechanism, width: int) -> IntArray:
    low, high = mechanism.value_range
    return all_rows(width, high - low + 1) + low


@functools.cache  # the optimal one takes some tenths of a second
def _channel(make: Callable[..., UnbiasedReport], epsilon: float) -> RowMechanism:
    return make(_WEIGHTS, epsilon=epsilon).mechanism
