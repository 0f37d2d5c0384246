"""A finite local randomizer defined by its law: a table of integers.

P[report r | value x] = masses[x][r] / 2**53. A simulated uniform has 53 bits, and a deployment draws 53 bits from the
operating system. So exactly this law is sampled, and whether it is ε-LDP is decided by comparing integers.
"""

import dataclasses
import functools
import itertools
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp
from ..errors import ConfigurationError, require
from ..estimate import Estimate
from ..privacy.events import LocalRandomizer
from .logarithms import log_of
from .mechanism import FiniteMechanism, check_batch
from .randomized_response import check_epsilon

TOTAL_MASS_BITS: Final = 53
TOTAL_MASS: Final = 1 << TOTAL_MASS_BITS
"""The sum of the masses of each row."""

# Up to this number of reports, comparing with each report's mass is faster than a search.
_FEW_REPORTS: Final = 16
# A row's number and a uniform of 53 bits then fit into 63 bits together.
_MOST_VALUES: Final = 1 << 9


@exact_arguments
def least_ratio_of(epsilon: float) -> Fraction:
    """Return a number that is at least e^(−ε), and exceeds it by at most a few units in the last place.

    A law is certainly ε-LDP if in every column each mass is at least this times every other mass.
    """
    return Fraction(exp(-epsilon)) * (1 + Fraction(1, 1 << 50))


@dataclasses.dataclass(frozen=True)
class FiniteChannel(FiniteMechanism):
    """Draw a report from the table's row of the value.

    Args:
        epsilon: the stated ε of the table, in nats; `MIN_EPSILON` ≤ ε ≤ `MAX_EPSILON`.
        masses: a row for each value, a column for each report; integers ≥ 0, with sum 2**53 in each row.

    Raises:
        ConfigurationError: ε is out of range, the table is no law, or the law is not ε-LDP.

    Privacy:
        ε-LDP, replace-one, unit: the value. Exact: all columns are checked, in integers, when the channel is made.

    Examples:
        >>> half = TOTAL_MASS // 2
        >>> FiniteChannel(1.0, ((half, half), (half, half))).channel_matrix()
        ((0.5, 0.5), (0.5, 0.5))
    """

    is_drawn_ahead: ClassVar[bool] = True
    epsilon: float
    masses: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        make_fields_exact(self)
        check_epsilon(self.epsilon)
        width = len(self.masses[0]) if self.masses else 0
        is_table = 1 < len(self.masses) <= _MOST_VALUES and width and all(len(row) == width for row in self.masses)
        is_whole = all(type(mass) is int for row in self.masses for mass in row)  # floats would round the law
        if not is_table or not is_whole or any(sum(row) != TOTAL_MASS or min(row) < 0 for row in self.masses):
            allowed = f"2 to {_MOST_VALUES} rows of one length, of integers >= 0 that sum to 2**53"
            raise ConfigurationError(field="masses", value=f"{len(self.masses)} rows", allowed=allowed)
        ratio = least_ratio_of(self.epsilon)
        for report, column in enumerate(zip(*self.masses, strict=True)):
            is_private = min(column) * ratio.denominator >= max(column) * ratio.numerator
            allowed = f"within a factor of e^epsilon of each other in column {report}"
            require(is_private, "masses", (min(column), max(column)), allowed)

    def __repr__(self) -> str:
        return f"FiniteChannel(epsilon={self.epsilon!r}, masses=<{len(self.masses)} rows of {len(self.masses[0])}>)"

    @property
    def value_range(self) -> tuple[int, int]:
        """[0, number of rows − 1]."""
        return 0, len(self.masses) - 1

    @property
    def report_range(self) -> tuple[int, int]:
        """[0, number of columns − 1]."""
        return 0, len(self.masses[0]) - 1

    @property
    def event(self) -> LocalRandomizer:
        """A local randomizer at this ε."""
        return LocalRandomizer(epsilon=self.epsilon)

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        """Estimate the number of persons with each value, in order. See `RowMechanism.estimate_rows`."""
        return self.on_arrays.counts(self, reports)

    def channel_matrix(self) -> tuple[tuple[float, ...], ...]:
        """Return P[report | value]; each is exact, a multiple of 2**−53."""
        return tuple(tuple(mass / TOTAL_MASS for mass in row) for row in self.masses)

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Return the report at which the cumulative masses of the row pass the uniform. See `Mechanism.randomize`."""
        check_batch(self, values, uniforms)
        uniforms = uniforms[:, 0]
        if len(self.masses[0]) <= _FEW_REPORTS:  # twice as fast as a search
            reports = np.zeros(len(values), dtype=np.int8)
            for ends in self._ends[:-1]:
                reports += uniforms >= np.take(ends, values)
            return reports.astype(np.int64)
        # This is exact, since a uniform is a multiple of 2**-53.
        places = (uniforms * TOTAL_MASS).astype(np.int64)
        return np.searchsorted(self._all_bounds, (values << TOTAL_MASS_BITS) + places, side="right") - values * len(
            self.masses[0]
        )

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        return self.report_at(value, int(uniforms[0] * TOTAL_MASS))

    def report_at(self, value: int, place: int) -> int:
        """Return the report for one of the 2**53 equally likely places, or a ValueError for a value out of range."""
        low, high = self.value_range
        if not low <= value <= high:
            raise ValueError(f"value is {value}: use a value from {low} to {high}")
        return bisect_right(self._bounds[value], place)

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        return self._log_channel[values][:, reports].T

    @functools.cached_property
    def _log_channel(self) -> FloatArray:
        """Logarithms of `channel_matrix`, made once."""
        return log_of(np.array(self.channel_matrix(), dtype=np.float64))

    @functools.cached_property
    def _bounds(self) -> tuple[tuple[int, ...], ...]:
        """The end of each report's part, for each value."""
        return tuple(tuple(itertools.accumulate(row)) for row in self.masses)

    @functools.cached_property
    def _ends(self) -> FloatArray:
        """The ends of the reports' parts as exact parts of 1: a row for each report."""
        return np.ascontiguousarray(np.array(self._bounds).T) / TOTAL_MASS

    @functools.cached_property
    def _all_bounds(self) -> IntArray:
        rows = [(value << TOTAL_MASS_BITS) + np.array(ends, dtype=np.int64) for value, ends in enumerate(self._bounds)]
        return np.concatenate(rows)
