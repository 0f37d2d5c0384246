"""Numbers from many trials, each with its standard error."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from ...protocol.elementary import erfc, square

_RISK: Final = 0.05  # probability that equal numbers are reported to differ


class Measurement(msgspec.Struct, frozen=True):
    """A number from trials, with its standard error, estimated from the trials' spread.

    Examples:
        >>> f"{Measurement(0.73, 0.02)}", f"{Measurement(0.73, 0.02):%}"
        ('0.73 ± 0.02', '73.0 ± 2.0')
    """

    value: float
    standard_error: float

    def __format__(self, spec: str) -> str:
        """Format the number ± its error, by a format such as `.3f`; `%` is percent with one decimal, without the sign.

        By default, the decimals are those of the error's first digit.
        """
        if not spec:
            spec = f".{max(-math.floor(math.log10(self.standard_error)), 0)}f" if self.standard_error > 0 else ".4g"
        times, form = (100, spec.replace("%", ".1f")) if spec.endswith("%") else (1, spec)
        return f"{times * self.value:{form}} ± {times * self.standard_error:{form.removeprefix('+')}}"


class Share(Measurement, frozen=True):
    """A fraction of independent trials, with its binomial standard error.

    Examples:
        >>> Share(0.5, 0.05, 100).number
        100
    """

    number: int  # number of trials


class Sample(Measurement, frozen=True):
    """The mean of trials that are stored one by one, so that samples of the same draws can be compared trial by trial.

    Args:
        numbers: one number for each trial.
        is_share: whether they are fractions, whose differences are shown in percentage points.

    Examples:
        >>> sample_of([1.0, 2.0, 3.0]).numbers
        (1.0, 2.0, 3.0)
    """

    numbers: tuple[float, ...]
    is_share: bool = False


def share_of(successes: NDArray[np.bool_]) -> Share:
    """Return the share of successes, one for each independent trial, with its binomial standard error.

    Examples:
        >>> share_of(np.array([True, False, True, True])).value
        0.75
    """
    return share_in(int(np.count_nonzero(successes)) / len(successes), len(successes))


def share_in(share: float, number: int) -> Share:
    """Return a fraction of `number` independent trials, with its binomial standard error.

    Examples:
        >>> share_in(0.5, 100).standard_error
        0.05
    """
    return Share(share, math.sqrt(share * (1 - share) / number), number)


def to_published(value: float, own_mean: Measurement, *, trials: int, runs: int) -> Measurement:
    """Return a published mean over `runs`, with the standard error that the trials of Psephos imply.

    Examples:
        >>> to_published(0.7, Measurement(0.72, 0.01), trials=400, runs=100).standard_error
        0.02
    """
    return Measurement(value, own_mean.standard_error * math.sqrt(trials / runs))


def mean_of(numbers: ArrayLike) -> Measurement:
    """Return the mean of at least two independent trials, with its standard error.

    Examples:
        >>> f"{mean_of([1.0, 2.0, 3.0]):.2f}"
        '2.00 ± 0.58'
    """
    values = np.asarray(numbers, dtype=np.float64)
    count = len(values)
    mean = math.fsum(values.tolist()) / count
    squares = math.fsum(np.square(values - mean).tolist())
    return Measurement(mean, math.sqrt(squares / (count - 1) / count))


def sample_of(numbers: ArrayLike, *, is_share: bool = False) -> Sample:
    """Return the mean of at least two independent trials, with its standard error and the trials themselves.

    Examples:
        >>> sample_of([1.0, 2.0, 3.0]).value
        2.0
    """
    mean, values = mean_of(numbers), np.asarray(numbers, dtype=np.float64).tolist()
    return Sample(mean.value, mean.standard_error, tuple(values), is_share)


def run_in_blocks(
    run: Callable[[int, int], Mapping[str, NDArray[Any]]], *, trials: int, at_a_time: int
) -> Mapping[str, NDArray[Any]]:
    """Run trials in blocks, and return arrays by name, with a number for each trial; `run` takes a range of trials.

    Examples:
        >>> run_in_blocks(lambda start, stop: {"n": np.arange(start, stop)}, trials=5, at_a_time=2)["n"].tolist()
        [0, 1, 2, 3, 4]
    """
    parts = [run(start, min(start + at_a_time, trials)) for start in range(0, trials, at_a_time)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def deviation(own_mean: Measurement, other: Measurement) -> float:
    """Return the difference of two independent numbers, in joint standard errors.

    If neither has an error, it is 0 or infinite.

    Examples:
        >>> deviation(Measurement(1.0, 0.3), Measurement(0.0, 0.4))
        2.0
    """
    error = math.sqrt(square(own_mean.standard_error) + square(other.standard_error))
    difference = own_mean.value - other.value
    if error == 0:
        return 0.0 if difference == 0 else math.copysign(math.inf, difference)
    return difference / error


def count_apart(differences: Iterable[Measurement], errors: float) -> tuple[int, int]:
    """Count the differences that are above 0, and below 0, by more than `errors` of their standard errors.

    Examples:
        >>> count_apart([Measurement(1.0, 0.1), Measurement(-0.1, 0.1)], 2.0)
        (1, 0)
    """
    value_margins = [(each.value, errors * each.standard_error) for each in differences]
    return sum(value > margin for value, margin in value_margins), sum(
        value < -margin for value, margin in value_margins
    )


def separating_errors(number: int) -> float:
    """Return the joint standard errors that some two of `number` equal numbers exceed with probability 5 % at most.

    Examples:
        >>> round(separating_errors(2), 3)
        1.96
    """
    pairs = number * (number - 1) / 2
    return float(ndtri(1 - _RISK / (2 * pairs))) if pairs else math.inf


def error_of_unseen(trials: int) -> float:
    """Return the standard error of a fraction of 0 or 1: half of the fraction of exceptions that is still possible.

    Examples:
        >>> round(error_of_unseen(100), 4)
        0.0181
    """
    return (1 - (_RISK / 2) ** (1 / trials)) / 2


def normal_probability(x: float) -> float:
    """Return Φ(x), the probability that a standard normal number is at most `x`.

    Examples:
        >>> normal_probability(0.0)
        0.5
    """
    return 0.5 * erfc(-x / math.sqrt(2))


def mean_square(numbers: Iterable[float]) -> float:
    """Return the mean of the squares.

    Examples:
        >>> mean_square([3.0, 4.0])
        12.5
    """
    squares = [number * number for number in numbers]
    return math.fsum(squares) / len(squares)
