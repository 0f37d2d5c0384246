"""How well it is known how many hold each of several values: by each mechanism for that, at one ε, by exact laws."""

import math
from collections.abc import Sequence
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

__all__ = ["COUNTING", "Counted", "CountingError", "counting_errors", "least_of"]

COUNTING: Final = {
    "k-RR": GeneralizedRandomizedResponse,
    "subset selection": SubsetSelection,
    "Hadamard response": HadamardResponse,
    "local hashing": LocalHashing,
}


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Values whose holders are counted in a phase of a session.

    Args:
        what: the values, as words.
        epsilon: of one report.
        num_choices: how many values there are.
        note: what else the reader has to know.
    """

    what: str
    epsilon: float
    num_choices: int
    note: str = ""


class CountingError(msgspec.Struct, frozen=True, kw_only=True):
    """The standard error of the number of those who hold a value that few hold, by one mechanism."""

    name: str
    error: float


def counting_errors(counted: Counted, *, people: int) -> list[CountingError]:
    """Return the error of each mechanism, of so many people; those that do not take so many values are missing."""
    found: list[CountingError] = []
    for name, kind in COUNTING.items():
        try:
            variance = _variance_of_others(kind(counted.epsilon, counted.num_choices))
        except ConfigurationError:
            continue
        found.append(CountingError(name=name, error=math.sqrt(people * variance)))
    return found


def least_of(errors: Sequence[CountingError]) -> CountingError:
    """Return the least error, the simpler mechanism's of two that are alike."""
    least = min(each.error for each in errors)
    return next(each for each in errors if each.error <= least * (1 + 1e-9))


def _variance_of_others(mechanism: GeneralizedRandomizedResponse | FrequencyOracle) -> float:
    if isinstance(mechanism, FrequencyOracle):
        return float(mechanism.variance_of_others)
    keep, lie = mechanism.keep_probability, mechanism.lie_probability
    return lie * (1 - lie) / square(keep - lie)
