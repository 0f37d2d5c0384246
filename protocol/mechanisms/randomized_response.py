"""Randomized response: report the value with probability p, otherwise another one, chosen uniformly.

Source: Warner (1965) for two choices; Wang, Wu and Hu (2016), Theorems 1 and 2, as used by Yan, Liu and Liu
(2018), Theorems 4.1 and 4.2, for any number; the field calls it generalized randomized response or k-RR.
"""

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp, ln
from ..errors import require
from ..estimate import Estimate
from ..privacy.events import RandomizedResponse
from .mechanism import FiniteMechanism, check_batch

# A simulated uniform has 53 bits. Beyond this ε, another value would be rarer than such a uniform can represent, and
# the simulated law would differ from the stated one.
MAX_EPSILON = 30.0
# Below this ε, p − 1/k would be smaller than the rounding error of p, and rounding would determine the loss.
MIN_EPSILON = 1e-9


@exact_arguments
def check_epsilon(epsilon: float, *, field: str = "epsilon") -> None:
    """Raise ConfigurationError unless `MIN_EPSILON` ≤ ε ≤ `MAX_EPSILON`.

    Examples:
        >>> check_epsilon(1.0)
    """
    require(MIN_EPSILON <= epsilon <= MAX_EPSILON, field, epsilon, f"in [{MIN_EPSILON:g}, {MAX_EPSILON:g}]")


@dataclasses.dataclass(frozen=True)
class GeneralizedRandomizedResponse(FiniteMechanism):
    """Randomized response over `num_choices` values (k-RR).

    The report is the value with p = e^ε / (e^ε + k − 1), and each other choice with q = 1 / (e^ε + k − 1).

    Args:
        epsilon: `MIN_EPSILON` ≤ ε ≤ `MAX_EPSILON`, in nats, per value.
        num_choices: k ≥ 2.

    Attributes:
        keep_probability: p, rounded towards 1/k, so that the stated ε is an upper bound.
        flip_probability: q = (1 − p) / (k − 1).

    Privacy:
        ε-LDP, replace-one, unit: the value. Exact: ln(p/q) ≤ ε, see `channel_matrix`.

    Source:
        Yan, Liu and Liu (2018), Section 4.5, Theorem 4.2 and equations (9a), (9b).

    Examples:
        >>> import math
        >>> response = GeneralizedRandomizedResponse(math.log(3), 2)
        >>> round(response.keep_probability, 6)
        0.75
        >>> response.randomize_row([1, 0], [0.2, 0.9])
        [1, 1]
    """

    is_drawn_ahead: ClassVar[bool] = True
    epsilon: float
    num_choices: int
    keep_probability: float = dataclasses.field(init=False)
    flip_probability: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        check_epsilon(self.epsilon)
        require(self.num_choices > 1, "num_choices", self.num_choices, "at least 2")  # a single choice hides nothing
        num_others = self.num_choices - 1
        keep = 1 / (1 + num_others * exp(-self.epsilon))
        # The error of the quotient is a few units in the last place; four steps down ensure ln(p/q) <= epsilon.
        for _ in range(4):
            keep = math.nextafter(keep, 0.0)
        object.__setattr__(self, "keep_probability", keep)
        object.__setattr__(self, "flip_probability", (1 - keep) / num_others)

    @property
    def value_range(self) -> tuple[int, int]:
        """[0, k − 1]."""
        return 0, self.num_choices - 1

    @property
    def report_range(self) -> tuple[int, int]:
        """[0, k − 1]."""
        return 0, self.num_choices - 1

    @property
    def event(self) -> RandomizedResponse:
        return RandomizedResponse(epsilon=self.epsilon, num_choices=self.num_choices)

    @exact_arguments
    def debias(self, values: Sequence[Fraction | float]) -> tuple[Fraction, ...]:
        """Return numbers d(r) with E[d(r) | x] = values[x], exactly; ValueError unless there are k values.

        d(r) = (values[r] − q·Σ values)/(p − q), with the exact value of the float p, and q = (1 − p)/(k − 1).
        """
        if len(values) != self.num_choices:
            raise ValueError(f"{len(values)} values are given: give {self.num_choices}")
        fractions = tuple(Fraction(value) for value in values)
        lie = (1 - Fraction(self.keep_probability)) / (self.num_choices - 1)
        gap = Fraction(self.keep_probability) - lie
        constant = lie * sum(fractions)
        return tuple((value - constant) / gap for value in fractions)

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        """Return how many have each value, in order."""
        return self.on_arrays.counts(self, reports)

    def channel_matrix(self) -> tuple[tuple[float, ...], ...]:
        """Return P[report | value]: p on the diagonal, q elsewhere."""
        keep, lie, choices = self.keep_probability, self.flip_probability, range(self.num_choices)
        return tuple(tuple(keep if report == value else lie for report in choices) for value in choices)

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Keep a value where its uniform is below p, else tell the lie that the place in [p, 1) names."""
        check_batch(self, values, uniforms)
        if self.num_choices == 2:  # noqa: PLR2004  whose only lie is the other one
            return values ^ (uniforms[:, 0] >= self.keep_probability)
        place = uniforms[:, 0] - self.keep_probability
        keeps = place < 0
        place /= self.flip_probability
        reports = place.astype(np.int64)
        np.minimum(reports, self.num_choices - 2, out=reports)
        reports += reports >= values  # skips the value itself
        np.copyto(reports, values, where=keeps)
        return reports

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        if not 0 <= value < self.num_choices:
            raise ValueError(f"value is {value}: use a value from 0 to {self.num_choices - 1}")
        place = uniforms[0] - self.keep_probability
        if place < 0:
            return value
        lie = min(int(place / self.flip_probability), self.num_choices - 2)
        return lie + (lie >= value)

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return ln p for the value itself, ln q for others, without a matrix. See `Mechanism.log_probabilities`."""
        return np.where(values[:, None] == reports, ln(self.keep_probability), ln(self.flip_probability)).T
