"""Linear estimates from the reports of a finite local randomizer.

The estimate is Σ d(r) over all reports r. Its properties follow from the channel C[x][r] = P[report r | value x]. The
expectation of d(r) for each value gives the bias, and its variance for each value gives the standard error. There the
unknown numbers of values are replaced by their unbiased estimates. Sums are exact or exactly rounded, so that results
do not depend on the order of the terms or on vector instructions.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray
from ..estimate import Estimate
from .sum_tests import Alike

GREATEST_ROW: Final = 1e5
"""The greatest sum of absolute values in a row of an inverse that is used; beyond it, rounding errors would show."""


@dataclasses.dataclass(frozen=True)
class LinearEstimator:
    """The sum over reports of a contribution that depends on the report alone.

    Args:
        contributions: d(r) for each report r, shape (reports,); fractions where the sum must be exact.
        channel: C[x][r], shape (values, reports).
        inverse: debiases counts of reports: shape (values, reports), with Σ_r inverse[x][r]·C[y][r] = 1 if x = y and 0
            otherwise. None if the channel has no such inverse; standard errors are then upper bounds.

    Raises:
        ValueError: the shapes do not fit.

    Examples:
        >>> channel = ((0.75, 0.25), (0.25, 0.75))
        >>> estimator = LinearEstimator((-0.5, 1.5), channel, ((1.5, -0.5), (-0.5, 1.5)))
        >>> [estimator.expectation(value) for value in (0, 1)]
        [0.0, 1.0]
        >>> estimator.estimate([30, 70])
        Estimate(value=90.0, standard_error=8.660254037844387)
    """

    contributions: Sequence[Fraction | float]
    channel: Sequence[Sequence[float]] | FloatArray
    inverse: Sequence[Sequence[float]] | FloatArray | None

    def __post_init__(self) -> None:
        make_fields_exact(self)
        num_reports = len(self.contributions)
        inverse = self.channel if self.inverse is None else self.inverse
        if len(inverse) != len(self.channel) or any(len(row) != num_reports for row in (*self.channel, *inverse)):
            raise ValueError(f"channel and inverse need rows of {num_reports} reports, and equally many")

    @exact_arguments
    def expectation(self, value: int) -> float:
        """Return E[d(r) | value]."""
        return float(self._expectations[value])

    @exact_arguments
    def variance(self, value: int) -> float:
        """Return Var[d(r) | value]."""
        return self._variances[value]

    @exact_arguments
    def total(self, counts: Sequence[int]) -> Fraction:
        """Return the exact value of the estimate, so that ties are exact, from the number of reports of each kind."""
        numerators, denominator = self._exact
        return Fraction(
            sum(count * numerator for count, numerator in zip(counts, numerators, strict=True)), denominator
        )

    @exact_arguments
    def total_variance(self, counts: Sequence[int]) -> float:
        """Return Σ_x n_x·Var[d(r) | x], the variance of `total`, with the n_x estimated from the same counts.

        The estimate is unbiased before it is raised to n·min_x Var[d(r) | x], the least possible variance. It is not
        lowered to the greatest possible variance, which would make it too small on average in the worst case. If the
        n_x cannot be estimated, the result is n·max_x Var[d(r) | x].
        """
        num_reports = sum(counts)
        if (of_report := self._variance_of_report) is None:
            return num_reports * max(self._variances)
        plug_in = math.fsum(count * weight for count, weight in zip(counts, of_report, strict=True))
        return max(plug_in, num_reports * min(self._variances))

    @exact_arguments
    def estimate(self, counts: Sequence[int]) -> Estimate:
        """Return the estimate with its standard error."""
        return Estimate(float(self.total(counts)), math.sqrt(self.total_variance(counts)))

    def reports(self, number: int) -> Alike:
        """Return this number of reports as a part of a sum for the tests of `sum_tests`."""
        return Alike(self._numbers, self._channel, number)

    @functools.cached_property
    def _numbers(self) -> FloatArray:
        return np.array([float(contribution) for contribution in self.contributions])

    @functools.cached_property
    def _channel(self) -> FloatArray:
        return np.array(self.channel, dtype=np.float64)

    @functools.cached_property
    def _exact(self) -> tuple[list[int], int]:
        """The contributions' numerators over one denominator."""
        fractions = [Fraction(d) for d in self.contributions]
        denominator = math.lcm(*(number.denominator for number in fractions))
        return [number.numerator * (denominator // number.denominator) for number in fractions], denominator

    @functools.cached_property
    def _expectations(self) -> FloatArray:
        return _exact_sums(self._channel * self._numbers)

    @functools.cached_property
    def _variances(self) -> tuple[float, ...]:
        off = self._numbers - self._expectations[:, None]
        return tuple(_exact_sums(self._channel * (off * off)).tolist())

    @functools.cached_property
    def _variance_of_report(self) -> tuple[float, ...] | None:
        """Each report's part of the estimated variance: Σ_x inverse[x][r]·Var[d | x].

        None without an inverse, or with a nearly singular channel, where rounding errors would show.
        """
        if self.inverse is None or is_nearly_singular(inverse := np.array(self.inverse)):
            return None
        return tuple(_exact_sums(inverse.T * np.array(self._variances)).tolist())


def is_nearly_singular(inverse: FloatArray) -> bool:
    """Return whether a row of an inverse sums up to more than `GREATEST_ROW`."""
    return bool(np.abs(inverse).sum(axis=1).max() > GREATEST_ROW)


def _exact_sums(terms: FloatArray) -> FloatArray:
    """Return the exactly rounded sum of each row, which does not depend on the order of the terms."""
    return np.array([math.fsum(row) for row in terms.tolist()])
