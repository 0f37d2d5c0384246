"""Linear estimates from the reports of a finite local randomizer.

Each report r contributes a number d(r); the estimate is their sum. Everything about it follows from the channel
C[x][r] = P[report r | value x]: its expectation for a value, hence its bias; its variance for a value, hence the
standard error, with the unknown numbers of values replaced by their unbiased estimates. All sums are exactly
rounded (`math.fsum`), so that the bits do not depend on the order or on vector instructions.
"""

import dataclasses
import math
from collections.abc import Sequence

from .estimate import Estimate

__all__ = ["LinearEstimator"]


@dataclasses.dataclass(frozen=True)
class LinearEstimator:
    """The sum over reports of a contribution that depends on the report alone.

    Args:
        contributions: d(r), one for each report.
        channel: rows C[x][·], one for each value; columns are reports.
        inverse: rows with Σ_r inverse[x][r]·C[y][r] = 1 if x = y else 0; debiases counts.

    Raises:
        ValueError: the shapes do not fit.
    """

    contributions: Sequence[float]
    channel: Sequence[Sequence[float]]
    inverse: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        num_reports = len(self.contributions)
        if len(self.inverse) != len(self.channel) or any(
            len(row) != num_reports for row in (*self.channel, *self.inverse)
        ):
            raise ValueError(f"channel and inverse need rows of {num_reports} reports, and equally many")

    def expectation(self, value: int) -> float:
        """Return E[d(r) | value]."""
        row = self.channel[value]
        return math.fsum(chance * d for chance, d in zip(row, self.contributions, strict=True))

    def variance(self, value: int) -> float:
        """Return Var[d(r) | value]."""
        mean = self.expectation(value)
        row = self.channel[value]
        return math.fsum(chance * (d - mean) ** 2 for chance, d in zip(row, self.contributions, strict=True))

    def estimate(self, counts: Sequence[int]) -> Estimate:
        """Return the estimate with its standard error.

        Args:
            counts: how often each report came in.

        The variance is Σ_x n_x·Var[d(r) | x], with n_x estimated without bias from the same counts; as the true
        n_x are not negative and sum to n, it is kept between n times the least and the greatest term.
        """
        num_reports = sum(counts)
        value = math.fsum(count * d for count, d in zip(counts, self.contributions, strict=True))
        variances = [self.variance(x) for x in range(len(self.channel))]
        plug_in = math.fsum(
            count * weight * variance
            for row, variance in zip(self.inverse, variances, strict=True)
            for count, weight in zip(counts, row, strict=True)
        )
        bounded = min(max(plug_in, num_reports * min(variances)), num_reports * max(variances))
        return Estimate(value, math.sqrt(bounded))
