"""Numbers from many trials, each with its standard error."""

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...protocol.arrays import FloatArray
from ...protocol.elementary import erfc, square

__all__ = ["Measurement", "deviation", "mean_of", "normal_probability", "share_of"]


class Measurement(msgspec.Struct, frozen=True):
    """A number that trials gave.

    Args:
        value: the number.
        standard_error: its standard deviation over the trials' draws, estimated from their spread.
    """

    value: float
    standard_error: float


def share_of(successes: NDArray[np.bool_]) -> Measurement:
    """Return the share of successes, with its binomial standard error.

    Args:
        successes: one for each independent trial.
    """
    number = len(successes)
    share = int(np.count_nonzero(successes)) / number
    return Measurement(share, math.sqrt(share * (1 - share) / number))


def mean_of(numbers: FloatArray) -> Measurement:
    """Return the mean of at least two independent trials, with its standard error."""
    count = len(numbers)
    mean = math.fsum(numbers.tolist()) / count
    squares = math.fsum(np.square(numbers - mean).tolist())
    return Measurement(mean, math.sqrt(squares / (count - 1) / count))


def deviation(ours: Measurement, other: Measurement) -> float:
    """Return by how many joint standard errors ours exceeds the other, the two being independent.

    Where neither has an error, it is 0 or infinite.
    """
    error = math.sqrt(square(ours.standard_error) + square(other.standard_error))
    difference = ours.value - other.value
    if error == 0:
        return 0.0 if difference == 0 else math.copysign(math.inf, difference)
    return difference / error


def normal_probability(x: float) -> float:
    """Return Φ(x), the chance that a standard normal number is at most `x`."""
    return 0.5 * erfc(-x / math.sqrt(2))
