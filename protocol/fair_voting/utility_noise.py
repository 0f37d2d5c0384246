"""The law of the noise in estimated mean utilities of each group, for statements about a winner."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np
from scipy.special import expm1, log1p, ndtr, ndtri

from ..arrays import FloatArray
from ..mechanisms import NoiseShare, VectorLaplace
from ..mechanisms.polya import share_masses
from .report_laws import LaplaceSums, ReportLaw, UtilityReportSums, group_law

if TYPE_CHECKING:
    from .joint_reports import JointReport
    from .reports import RankingReport

_ROOT_TWO = math.sqrt(2)
# Beyond this many standard errors in the far tail, a normal law is approximated as exponential.
_FAR = 30.0
_SCALE_OF_TABLE: Final = 64.0


class _QuantileTable(NamedTuple):
    """A law of mean 0 and variance 1: points, ascending, and the probabilities of what is below each."""

    points: FloatArray
    below: FloatArray


@dataclasses.dataclass(frozen=True)
class UtilityNoise:
    """Noise of mean 0 in each group's estimated utilities.

    Args:
        errors: for each group the standard error of one alternative's utility, averaged over alternatives.
        sums: the law of the noise; None if that of a report is too long.
        is_balanced: whether the noises of all alternatives add up to 0 in each group.
        shares: (planned, added) for noise that is a sum of more shares than one Laplace draw has.
        is_mixed: whether reports have several ε; few reports of a small ε may then dominate the noise, which may be far
            from normal.
    """

    errors: tuple[float, ...]
    sums: UtilityReportSums | LaplaceSums | None
    is_balanced: bool
    shares: tuple[int, int] | None = None
    is_mixed: bool = False

    @classmethod
    def from_shares(cls, share: NoiseShare, number: int, step: float, sizes: Sequence[int]) -> Self:
        """Return the noise of masked sums with a share from each of `number` voters. See `from_sums`."""
        error = math.sqrt(number * share.noise_variance) * step
        is_one = number == share.planned
        draws = 1 if is_one else number / share.planned
        sums = _laplace_sums(share.scale, step, (draws,) * len(sizes), sizes)
        shares = None if is_one else (share.planned, number)
        return cls(tuple(error / size for size in sizes), sums, is_balanced=False, shares=shares)

    @classmethod
    def from_sums(cls, laplace: VectorLaplace, step: float, sizes: Sequence[int]) -> Self:
        """Return the noise of Algorithm 1: one draw for each group and alternative, independent of all others.

        Args:
            laplace: the noise of the groups' sums.
            step: the grid step of the sums, in units of the scores.
            sizes: the sizes of the groups.
        """
        error = math.sqrt(laplace.noise_variance) * step
        sums = _laplace_sums(laplace.scale, step, (1,) * len(sizes), sizes)
        return cls(tuple(error / size for size in sizes), sums, is_balanced=False)

    @classmethod
    def from_reports(cls, reports: "Sequence[RankingReport]", counts: Sequence[Sequence[int]]) -> Self:
        """Return the noise of randomized reports.

        Args:
            reports: the local report of each level of ε.
            counts: the number of reports of each level, group by group; at least one for each group.
        """
        cells = [
            (group, level, count)
            for group, level_counts in enumerate(counts)
            for level, count in enumerate(level_counts)
            if count
        ]
        sizes, numbers = tuple(map(sum, counts)), tuple(count for *_, count in cells)
        sums: UtilityReportSums | LaplaceSums | None = None
        noises = [report.laplace for report in reports if report.laplace is not None]
        laws = [law for report in reports if (law := report.law(0)) is not None]
        if noises:
            groups, scales = tuple(group for group, *_ in cells), tuple(noises[level].scale for _, level, _ in cells)
            step = float(reports[0].step)
            factors = tuple(scale * step / sizes[group] for group, scale in zip(groups, scales, strict=True))
            sums = LaplaceSums(groups, factors, numbers, scales)
        elif len(laws) == len(reports):
            sums = UtilityReportSums(
                tuple(group_law(laws[level], group, len(counts)) for group, level, _ in cells), numbers, sizes
            )
        errors = tuple(error_of_levels(reports, level_counts) for level_counts in counts)
        is_mixed = len({level for _, level, _ in cells}) > 1
        return cls(errors, sums, is_balanced=reports[0].is_balanced, is_mixed=is_mixed)

    @classmethod
    def from_joint_reports(cls, report: "JointReport", count: int) -> Self:
        """Return the noise of so many reports of group and ranking together, at least one: all are in every group."""
        sizes = report.group_sizes
        laws = [law for group in range(report.num_groups) if (law := report.law(group)) is not None]
        sums: UtilityReportSums | LaplaceSums | None = None
        if report.laplace is not None:
            sums = _laplace_sums(report.laplace.scale, float(report.step), (count,) * len(sizes), sizes)
        elif laws and count == sum(sizes):
            sums = UtilityReportSums(tuple(laws), sizes, sizes)
        elif laws:
            # It is unknown whose reports are missing, so each may come from any group.
            any_voter = ReportLaw(laws[0].values, np.concatenate([law.channel for law in laws]))
            sums = UtilityReportSums((any_voter,), (count,), sizes)
        errors = tuple(report.error_of(group, count) for group in range(report.num_groups))
        return cls(errors, sums, is_balanced=report.is_balanced)

    @property
    def is_heavy(self) -> bool:
        """Whether each group's noise is a single draw of Laplace noise, and not nearly normal."""
        return isinstance(self.sums, LaplaceSums) and max(self.sums.draws) == 1 and not self.is_mixed

    @property
    def is_known(self) -> bool:
        """Whether its law is that of a draw or of shares, or nearly normal: of so many reports."""
        is_normal = self.sums is not None and self.sums.is_nearly_normal and not self.is_mixed
        return self.is_heavy or self.shares is not None or is_normal


def error_of_levels(reports: "Sequence[RankingReport]", counts: Sequence[float]) -> float:
    """Return the standard error of the mean utility from reports of each level of ε, averaged over alternatives.

    Args:
        reports: the local report of each level.
        counts: the number of reports of each level, at least one in all.
    """
    number = sum(counts)
    shares = ((report.mean_variance, count / number) for report, count in zip(reports, counts, strict=True))
    return math.sqrt(math.fsum(variance * share for variance, share in shares) / number)


def _laplace_sums(scale: float, step: float, counts: Sequence[float], sizes: Sequence[int]) -> LaplaceSums:
    groups, scales = tuple(range(len(sizes))), tuple(scale * step / size for size in sizes)
    return LaplaceSums(groups, scales, tuple(counts), (scale,) * len(sizes))


@functools.lru_cache(maxsize=16)
def _table_of(shares: tuple[int, int]) -> _QuantileTable:
    """Return the law of a sum of shares as good as on the continuum."""
    planned, number = shares
    side = share_masses(scale=_SCALE_OF_TABLE, planned=planned, num_shares=number)
    masses = np.concatenate([side[:0:-1], side])
    places = np.arange(len(masses), dtype=np.float64) - (len(side) - 1)
    deviation = math.sqrt(math.fsum((masses * places**2).tolist()))
    return _QuantileTable((places + 0.5) / deviation, np.cumsum(masses))


def share_quantiles(uniforms: FloatArray, *, planned: int, number: int) -> FloatArray:
    """Return noise of mean 0 and variance 1 by the law of so many shares; those planned make Laplace noise."""
    table = _table_of((planned, number))
    return np.interp(uniforms, table.below, table.points)


def quantiles_of(uniforms: FloatArray, *, is_heavy: bool) -> FloatArray:
    """Return noise of mean 0 and variance 1: normal, or Laplace noise where it is heavy."""
    probabilities = np.clip(uniforms, 2.0**-54, 1 - 2.0**-53)
    if not is_heavy:
        return np.asarray(ndtri(probabilities))
    side = np.where(probabilities < 0.5, 1.0, -1.0)  # noqa: PLR2004  the median
    return side * log1p(-np.abs(1 - 2 * probabilities)) / _ROOT_TWO


def draw_within(
    uniforms: FloatArray,
    centers: FloatArray,
    errors: FloatArray,
    *,
    least: float,
    greatest: float,
    is_heavy: bool,
    shares: tuple[int, int] | None = None,
) -> FloatArray:
    """Return numbers with the law of noise about their centers, conditioned on an interval.

    Args:
        uniforms: a uniform in [0, 1) for each number.
        centers: the centers, broadcast with `uniforms`.
        errors: the standard errors, > 0, broadcast with `uniforms`.
        least: the lower end of the interval.
        greatest: the upper end, > `least`.
        is_heavy: whether the noise is Laplace noise; otherwise normal.
        shares: instead, (planned, added) for a sum of shares; see `UtilityNoise`.
    """
    low, high = (least - centers) / errors, (greatest - centers) / errors
    # Computed from the side of the interval's thinner tail, so that differences of probabilities are accurate.
    is_turned = low + high > 0
    start, stop = np.where(is_turned, -high, low), np.where(is_turned, -low, high)
    if shares is not None:
        table = _table_of(shares)
        low_mass, high_mass = (np.interp(end, table.points, table.below) for end in (start, stop))
        quantiles = np.interp(low_mass + uniforms * (high_mass - low_mass), table.below, table.points)
    elif is_heavy:
        quantiles = _laplace_between(uniforms, start, stop)
    else:
        low_mass, high_mass = ndtr(start), ndtr(stop)
        far = np.minimum(stop, -1.0)
        tail = stop + log1p(uniforms * expm1(np.maximum(far * (stop - start), -700.0))) / -far
        quantiles = np.where(
            stop < -_FAR, tail, ndtri(np.maximum(low_mass + uniforms * (high_mass - low_mass), 1e-300))
        )
    quantiles = np.clip(quantiles, start, stop)
    return centers + errors * np.where(is_turned, -quantiles, quantiles)


def _laplace_between(uniforms: FloatArray, start: FloatArray, stop: FloatArray) -> FloatArray:
    """Return numbers with the Laplace law of variance 1 between two ends, of which −start ≥ |stop|."""
    # Below 0 the law is exponential; this is all for an interval that ends there.
    only_below = stop + log1p(uniforms * expm1(np.maximum(_ROOT_TWO * (start - stop), -700.0))) / _ROOT_TWO
    below = (expm1(_ROOT_TWO * np.minimum(start, 0.0)) + 1.0) / 2
    above = 0.5 - expm1(-_ROOT_TWO * np.maximum(stop, 0.0)) / 2
    places = below + uniforms * (above - below)
    return np.where(stop <= 0, only_below, quantiles_of(places, is_heavy=True))
