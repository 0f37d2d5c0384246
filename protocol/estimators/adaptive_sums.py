"""A proven tail bound for a sum of reports, by an adversary that chooses values after seeing earlier reports.

Each report d has one of several laws, which depends on an unknown value. Let an adversary choose the values one after
the other, each after seeing the earlier reports. Its best probability that Σ(d − E d) reaches t is at least that of
every truth, since a truth is a choice that ignores the reports. With n reports remaining and t still needed,

    V₀(t) = 1 for t ≤ 0, else 0;   Vₙ(t) = max over values of E[Vₙ₋₁(t − (d − E d))]

The order of reports does not matter for a truth. So the adversary must take reports of less variance first, and may not
return to a value that it has left; then seeing earlier reports helps it little. Reports of one value are processed
together, in blocks: of n reports with r laws there are at least (n − r(b − 1))/b blocks of b reports with one value
each, whatever the values are, and the rest has smaller blocks. The law of a block is a convolution, by a Fourier
transform.

A report's contribution lies between two points of a grid of step h, and is randomly rounded to one of them so that its
mean is preserved. The rounding errors have mean 0 and a range of h, given all earlier ones. So n of them sum to less
than −h·√(n·ln(1/δ)/2) with probability at most δ (Azuma 1967, Hoeffding 1963): V is evaluated at a t that is smaller by
this, and δ is added.

Source: ours, after `dpwevote.worst_case`.
"""

import functools
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import scipy as sp

from ..arrays import FloatArray
from ..elementary import ln, power_of_two_below
from .noise_tails import GRID

_CELLS: Final = 1 << 13
"""The cells of the grid of needed sums; a block's contribution may be up to half as many cells on either side."""
_MANY: Final = 256
"""The number of reports from which on there are twice as many cells, since rounding loses more with more reports."""
_BELOW: Final = 2.5
"""The lower end of needed sums, in standard deviations below the mean; sums below it count as reached."""
_ABOVE: Final = 1.0
"""The upper end, in standard deviations beyond the farthest excess; sums above it have the probability of the end."""
_SIZES: Final = (256, 128, 64, 32, 16, 8, 4, 2, 1)
"""The numbers of reports in a block."""
_OUTSIDE: Final = 1e-12
"""The probability that the contribution of a block of several reports exceeds the grid."""
_ROUNDING: Final = 1e-12
"""A bound on all rounding errors of a step."""
_MOST_TRANSFORMS: Final = 1_500
"""The most transforms in all steps, which take two tenths of a second."""
_MOST_POINTS: Final = 36
"""The most laws times reports that are processed one by one, without a transform."""
_LEAST_DEVIATION: Final = 1e-100


class Stratum(NamedTuple):
    """Independent reports that have the same laws.

    Args:
        contributions: the contribution of each report, shape (reports,).
        channel: for each value a row with the probabilities of the reports.
        number: the number of reports.
    """

    contributions: FloatArray
    channel: FloatArray
    number: int

    def centered_laws(self) -> tuple[FloatArray, FloatArray]:
        """Return each law's contributions minus their mean, and their probabilities, shape (laws, reports) each.

        Laws of less variance come first.
        """
        laws = np.unique(self.channel, axis=0)
        values = self.contributions - (laws @ self.contributions)[:, None]
        order = np.argsort((laws * values**2).sum(axis=1), kind="stable")
        return values[order], laws[order]


class TailCurve(NamedTuple):
    """A bound on the probability that a sum exceeds its mean by given amounts.

    Args:
        start: the least excess.
        step: the difference between consecutive excesses.
        chances: the bound at each excess, decreasing.
    """

    start: float
    step: float
    chances: FloatArray

    def tail(self, excess: float) -> float:
        """Return the bound at an excess; 1 where it is less than the least."""
        place = math.floor((excess - self.start) / self.step)
        return float(self.chances[min(place, len(self.chances) - 1)]) if place >= 0 else 1.0

    def reach(self, level: float) -> float:
        """Return the least excess of which the bound is a level at most; ∞ where it is of none."""
        place = len(self.chances) - int(np.searchsorted(self.chances[::-1], level, side="right"))
        return self.start + place * self.step if place < len(self.chances) else math.inf


def tail_curve(strata: Sequence[Stratum], farthest: float) -> TailCurve | None:
    """Return a bound on the tail of a sum of independent reports, for every truth.

    Args:
        strata: the strata of the sum.
        farthest: the greatest excess over the mean, > 0; beyond it, its bound is used.

    Returns:
        The bound; None if it would take too long, or the sum does not vary.

    Examples:
        >>> fair = Stratum(np.array([-1.0, 1.0]), np.array([[0.5, 0.5]]), 100)
        >>> curve = tail_curve([fair], 40.0)
        >>> round(curve.tail(20.0), 3)  # at least 60 of 100 are heads with .028
        0.028
    """
    laws = [(stratum, *stratum.centered_laws()) for stratum in strata if stratum.number]
    deviation = math.sqrt(math.fsum(
        stratum.number * float((chances * values**2).sum(axis=1).max()) for stratum, values, chances in laws
    ))  # fmt: skip
    if not _LEAST_DEVIATION < deviation < 1 / _LEAST_DEVIATION:
        return None
    number = sum(stratum.number for stratum in strata)
    cells = _CELLS if number <= _MANY else 2 * _CELLS
    least = (farthest + (_ABOVE + _BELOW) * deviation) / cells
    grain = 2.0**-16 * power_of_two_below(least)
    step = math.ceil(least / grain) * grain  # rounded to a public grid, which hides a processor's last bit
    steps: list[tuple[FloatArray, FloatArray, int, int]] = []
    cost = 0
    for stratum, values, chances in laws:
        most = _greatest_block(values / step, chances, cells // 2) if stratum.number > 1 else 1.0
        remaining = stratum.number
        for size in _SIZES:
            blocks = max((remaining - len(values) * (size - 1)) // size, 0) if size <= most else 0
            if blocks:
                steps.append((values / step, chances, size, blocks))
                remaining -= size * blocks
                cost += 2 * blocks * len(values) * cells // _CELLS
        if cost > _MOST_TRANSFORMS:
            return None
    rounding = step * math.sqrt(number * ln(1 / GRID) / 2)
    start = -math.ceil(_BELOW * deviation / step)
    needed = np.arange(start, start + cells)
    chances = functools.reduce(_chances_with_blocks, steps, (needed <= 0).astype(np.float64))
    # Rounded up to a grid, which hides a processor's last bits, plus the probability δ of larger rounding errors.
    return TailCurve(start * step + rounding, step, (np.ceil(chances / GRID) + 1) * GRID)


def expected_chance(chances: FloatArray, moves: Sequence[int], shares: Sequence[float]) -> FloatArray:
    """Return the probabilities of reaching each point of a grid before a report, given those after it.

    Below the grid, sums count as reached; above it, they have the probability at its end.

    Args:
        chances: after the report, shape (cells,), falling from 1.
        moves: the number of cells that each outcome of the report adds to the sum.
        shares: the probability of each outcome.

    Examples:
        >>> expected_chance(np.array([1.0, 0.5, 0.0]), [1, -1], [0.5, 0.5]).tolist()
        [0.75, 0.5, 0.25]
    """
    size = len(chances)
    total = np.zeros(size)
    for cells, share in zip(moves, shares, strict=True):
        if cells >= 0:
            total[:cells] += share
            total[cells:] += share * chances[: max(size - cells, 0)]
        else:
            total[:cells] += share * chances[-cells:]
            total[cells:] += share * chances[-1]
    return total


def _greatest_block(values: FloatArray, chances: FloatArray, room: int) -> float:
    """Return the greatest number of reports of any law that exceed `room` on either side with at most `_OUTSIDE`.

    It uses Chernoff's bound for some slopes. The result is at least 1.
    """
    rarity = ln(2 / _OUTSIDE)
    most = 1.0
    either_side = np.where(chances > 0, np.stack([values, -values]), -np.inf)
    farthest = either_side.max(axis=2, keepdims=True)
    for slope in (rarity / room * 2.0 ** np.arange(0.25, 6.0, 0.25)).tolist():
        sums = (chances * np.exp(slope * (either_side - farthest))).sum(axis=2)
        exponents = slope * farthest[:, :, 0] + np.log(sums)
        most = max(most, (slope * room - rarity) / max(float(exponents.max()), 1e-300))
    return most


def _chances_with_blocks(needed: FloatArray, blocks: tuple[FloatArray, FloatArray, int, int]) -> FloatArray:
    """Return the best probabilities before some blocks of reports, given those after them.

    Args:
        needed: the probabilities by needed sum, on the grid.
        blocks: the contributions of a single report of each law in grid steps, its probabilities, the number of reports
            in a block, and the number of blocks.
    """
    values, chances, size, number = blocks
    half = len(needed) // 2
    below = np.floor(np.clip(values, -half, half - 1))
    above_shares = np.clip(values - below, 0.0, 1.0) * (values > -half)
    is_outside = values >= half  # such a single report counts as reaching any sum
    inside = chances * ~is_outside
    added = size * (chances * is_outside).sum(axis=1, keepdims=True) + _ROUNDING + (_OUTSIDE if size > 1 else 0.0)
    points = below.astype(np.int64)
    is_short = size == 1 and values.size <= _MOST_POINTS
    # Each report goes to either of two points.
    moves = np.stack([points, points + 1], axis=2).reshape(len(values), -1).tolist()
    shares = np.stack([inside * (1 - above_shares), inside * above_shares], axis=2).reshape(len(values), -1).tolist()
    transforms = np.zeros(0)
    if not is_short:
        laws = np.zeros((len(values), 4 * half))
        rows = np.arange(len(values))[:, None]
        np.add.at(laws, (rows, points % (4 * half)), inside * (1 - above_shares))
        np.add.at(laws, (rows, (points + 1) % (4 * half)), inside * above_shares)
        transforms = sp.fft.rfft(laws) ** size
    best = np.tile(needed, (len(values), 1))
    for _ in range(number):
        if is_short:
            moved = np.array([expected_chance(*row) for row in zip(best, moves, shares, strict=True)])
        else:
            # Below the grid, sums count as reached; above it, they have the probability at its end.
            wide = np.hstack([np.ones((len(best), half)), best, np.repeat(best[:, -1:], half, axis=1)])
            moved = sp.fft.irfft(transforms * sp.fft.rfft(wide), n=4 * half)[:, half:-half]
        # Each row has the best probabilities if its law or a later one is taken.
        best = np.maximum.accumulate((moved + added)[::-1])[::-1]
        best = np.minimum(np.maximum.accumulate(best[:, ::-1], axis=1)[:, ::-1], 1.0)
    return best[0]
