"""Standard errors of frequency estimates, by each mechanism at one ε, from exact laws."""

import contextlib
import math
from typing import Final

import msgspec

from ...protocol.elementary import square
from ...protocol.errors import ConfigurationError
from ...protocol.mechanisms import (
    FrequencyOracle,
    GeneralizedRandomizedResponse,
    HadamardResponse,
    LocalHashing,
    SubsetSelection,
)

COUNTING: Final = {
    "k-RR": GeneralizedRandomizedResponse,
    "subset selection": SubsetSelection,
    "Hadamard response": HadamardResponse,
    "local hashing": LocalHashing,
}


class CountedValues(msgspec.Struct, frozen=True, kw_only=True):
    """Values whose holders a phase counts: their name, the ε of one report, their number, and a note.

    Examples:
        >>> CountedValues(what="each weight", epsilon=1.0, num_choices=3).num_choices
        3
    """

    what: str
    epsilon: float
    num_choices: int
    note: str = ""


def counting_errors(counted_values: CountedValues, *, people: int) -> dict[str, float]:
    """Return each mechanism's standard error of the count of a value that few people hold.

    Mechanisms that do not support these values are missing.

    Examples:
        >>> found = counting_errors(CountedValues(what="each weight", epsilon=1.0, num_choices=3), people=100)
        >>> {name: round(error, 1) for name, error in found.items()}
        {'k-RR': 11.2, 'subset selection': 11.2, 'Hadamard response': 21.6, 'local hashing': 11.2}
    """
    errors: dict[str, float] = {}
    for name, kind in COUNTING.items():
        with contextlib.suppress(ConfigurationError):
            errors[name] = math.sqrt(
                people * _variance_of_others(kind(counted_values.epsilon, counted_values.num_choices))
            )
    return errors


def _variance_of_others(mechanism: GeneralizedRandomizedResponse | FrequencyOracle) -> float:
    if isinstance(mechanism, FrequencyOracle):
        return float(mechanism.variance_of_others)
    keep, lie = mechanism.keep_probability, mechanism.flip_probability
    return lie * (1 - lie) / square(keep - lie)
