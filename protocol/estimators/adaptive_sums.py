"""How probably a sum of reports exceeds its mean, where values are chosen in sight of earlier reports: a proven bound.

Each report d has one of several laws, which depends on an unknown value. Let an adversary choose the values one after
the other, each in sight of the reports before: its best chance that Σ(d − E d) reaches t is at least that of every
truth, since a truth is a choice that looks at nothing. With n reports left and t still needed,

    V₀(t) = 1 where t ≤ 0, else 0;   Vₙ(t) = max over values of E[Vₙ₋₁(t − (d − E d))]

A truth has no order, so that the adversary takes reports of less variance first, and once it has left a value it does
not come back: what it sees is then worth little. Reports of one value are moved together, so that most come in blocks
that have one value each: of n reports with r laws at least (n − r(b − 1))/b blocks of b are found, whatever the values
are, and what is left has smaller blocks. A block's law is a convolution, by Fourier's transform.

What a report adds lies between two points of a grid of step h, and goes to either so that its mean is kept. These parts
have mean 0 and a range of h, whatever was before, so that n of them are below −h·√(n·ln(1/δ)/2) with probability δ at
most (Azuma 1967, Hoeffding 1963): so much less is held against V, and δ is added.

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
"""The grid of what is needed; half as many on either side are what reports may add."""
_MANY: Final = 256
"""Reports from which on there are twice as many cells: the more reports, the more is lost by rounding them."""
_BELOW: Final = 2.5
"""The least that is needed, below the mean, in standard deviations: what needs less is taken as sure."""
_ABOVE: Final = 1.0
"""Beyond the farthest excess that is looked at, likewise: what needs more is taken as likely as there."""
_SIZES: Final = (256, 128, 64, 32, 16, 8, 4, 2, 1)
"""Reports of a block."""
_OUTSIDE: Final = 1e-12
"""The probability that a block of several adds more than the grid has room for."""
_ROUNDING: Final = 1e-12
"""More than all rounding errors of a step."""
_MOST_TRANSFORMS: Final = 1_500
"""Of all steps: two tenths of a second."""
_MOST_POINTS: Final = 36
"""Laws times reports that are moved one by one, and not by a transform."""
_LEAST_DEVIATION: Final = 1e-100


class Stratum(NamedTuple):
    """Independent reports that have the same laws.

    Args:
        contributions: what each report stands for, shape (reports,).
        channel: of each value a row of the reports' probabilities.
        number: of reports.
    """

    contributions: FloatArray
    channel: FloatArray
    number: int

    def centered_laws(self) -> tuple[FloatArray, FloatArray]:
        """Return each law's contributions less their mean, and their probabilities, shape (laws, reports) each.

        Laws of less variance come first.
        """
        laws = np.unique(self.channel, axis=0)
        values = self.contributions - (laws @ self.contributions)[:, None]
        order = np.argsort((laws * values**2).sum(axis=1), kind="stable")
        return values[order], laws[order]


class TailCurve(NamedTuple):
    """A bound on the chance that a sum exceeds its mean by so much or more.

    Args:
        start: the least excess.
        step: between excesses.
        chances: at each of them, falling.
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
        strata: of the sum.
        farthest: the greatest excess over the mean that is looked at, > 0; beyond, the bound there is taken.

    Returns:
        The bound; None where it would take too long, or the sum does not vary.

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
    step = math.ceil(least / grain) * grain  # public, so that a processor's last bit does not show
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
    # On a grid, so that a processor's last bits do not show; and the chance of more rounding.
    return TailCurve(start * step + rounding, step, (np.ceil(chances / GRID) + 1) * GRID)


def _greatest_block(values: FloatArray, chances: FloatArray, room: int) -> float:
    """Return how many reports of any law add more than there is room for, on either side, with `_OUTSIDE` at most.

    By Chernoff's bound, for every slope: it is a block of one at least, whatever that adds.
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
    """Return the best chances from so many blocks of reports on, given those behind them.

    Args:
        needed: the chances by what is needed, on the grid.
        blocks: the contributions of a single report of each law in steps of the grid, its probabilities, the reports
            of a block, and the number of blocks.
    """
    values, chances, size, number = blocks
    half = len(needed) // 2
    below = np.floor(np.clip(values, -half, half - 1))
    above_shares = np.clip(values - below, 0.0, 1.0) * (values > -half)
    is_outside = values >= half  # alone: whatever is needed is taken as reached
    inside = chances * ~is_outside
    added = size * (chances * is_outside).sum(axis=1, keepdims=True) + _ROUNDING + (_OUTSIDE if size > 1 else 0.0)
    points = below.astype(np.int64)
    is_short = size == 1 and values.size <= _MOST_POINTS
    transforms = np.zeros(0)
    if not is_short:
        laws = np.zeros((len(values), 4 * half))
        rows = np.arange(len(values))[:, None]
        np.add.at(laws, (rows, points % (4 * half)), inside * (1 - above_shares))
        np.add.at(laws, (rows, (points + 1) % (4 * half)), inside * above_shares)
        transforms = sp.fft.rfft(laws) ** size
    best = np.tile(needed, (len(values), 1))
    for _ in range(number):
        # What needs less than the grid has is sure, and what needs more is as likely as at its end.
        wide = np.hstack([np.ones((len(best), half)), best, np.repeat(best[:, -1:], half, axis=1)])
        if is_short:
            moved = np.zeros_like(best)
            for row, column in np.ndindex(*values.shape):
                start, share = half - int(points[row, column]), above_shares[row, column]
                moved[row] += inside[row, column] * (1 - share) * wide[row, start : start + 2 * half]
                moved[row] += inside[row, column] * share * wide[row, start - 1 : start - 1 + 2 * half]
        else:
            moved = sp.fft.irfft(transforms * sp.fft.rfft(wide), n=4 * half)[:, half:-half]
        # A row has the best chances where its law or a later one is taken.
        best = np.maximum.accumulate((moved + added)[::-1])[::-1]
        best = np.minimum(np.maximum.accumulate(best[:, ::-1], axis=1)[:, ::-1], 1.0)
    return best[0]
