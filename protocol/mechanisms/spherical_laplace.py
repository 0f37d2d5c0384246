"""Noise for rows that neighbors change by an l2 distance: the Laplace law of the Euclidean norm on a public grid.

Noise has a density in proportion to e^(−‖x‖₂/scale) on R^d: a direction that is uniform on the sphere, and a radius
with the Gamma law of shape d. Values are integers, so that rounding a value with its noise to the grid is adding the
rounded noise; rounding and clamping come after the noise and cost nothing.

Source: Hardt and Talwar (2010), the K-norm mechanism for K the unit ball; Chaudhuri, Monteleoni and Sarwate (2011),
who draw it by direction and radius.
"""

import dataclasses
import math

import numpy as np
import scipy as sp
from numpy.typing import NDArray

from ..arguments import make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import quotient_up, square
from ..errors import require
from ..privacy.events import PureMechanism
from .mechanism import RowMechanism, check_candidates, check_numbers

MAX_DIMENSION = 4096
"""The greatest width of a row."""

_TOO_LARGE = 2**62
# The least uniform above 0 that a simulation can draw is 2**-53; 0 itself stands for the interval below it.
_LEAST_UNIFORM = 2.0**-54
# Reports are clamped 64 + 3d scales beyond the values. No coordinate is larger than the radius, and for the Gamma law
# of shape d Chernoff's bound is ln P[radius >= y*d scales] <= d*(ln y + 1 - y). At y = 3 + 64/d that is
# d*(ln(3 + 64/d) - 2) - 64; since ln y <= ln c - 1 + y/c for every c, it is at most
# d*(ln c - 3 + 3/c) + 64/c - 64, which at c = 16.8 is below 64/16.8 - 64 < -60 for every d.
_CLAMP_IN_SCALES = 64
_CLAMP_IN_SCALES_PER_VALUE = 3


@dataclasses.dataclass(frozen=True)
class SphericalLaplace(RowMechanism):
    """Add noise with density ∝ e^(−‖x‖₂/scale) to a row of d integers, and round it to integers.

    Args:
        scale: in (0, 2**40) grid steps.
        sensitivity: > 0 and finite, in grid steps: the l2 distance of neighboring rows at most. The ranges of single
            values do not bound it; the caller makes sure that no row is randomized which might have a neighbor farther
            away (the protocol's check of a row).
        bound: ≥ 1: the greatest value of a coordinate, in grid steps, and the least with its sign changed.
        dimension: 1 ≤ d ≤ `MAX_DIMENSION`, the width of every row.

    Privacy:
        ε-DP with ε = sensitivity/scale, unit: the row, for the relation in which rows differ by `sensitivity` at most:
        the logarithm of the ratio of two densities is (‖x − v'‖₂ − ‖x − v‖₂)/scale ≤ ‖v − v'‖₂/scale. Claimed and
        proven are the same; rounded to the grid, the loss is smaller.

    Examples:
        >>> mechanism = SphericalLaplace(scale=4.0, sensitivity=6.0, bound=10, dimension=3)
        >>> mechanism.event_of(3).epsilon
        1.5
        >>> mechanism.randomize_row([1, 0, -1], [0.75, 0.25, 0.75, 0.5])
        [7, -6, 5]
    """

    scale: float
    sensitivity: float
    bound: int
    dimension: int

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(0 < self.scale < 2**40, "scale", self.scale, "in (0, 2**40) grid steps")
        require(0 < self.sensitivity < math.inf, "sensitivity", self.sensitivity, "positive and finite")
        require(1 <= self.dimension <= MAX_DIMENSION, "dimension", self.dimension, f"in [1, {MAX_DIMENSION}]")
        require(self.bound >= 1, "bound", self.bound, "at least 1 grid step")
        fits = self.report_range[1] < _TOO_LARGE  # beyond, arrays would wrap around
        require(fits, "bound", self.bound, "below 2**62 with noise")

    @property
    def value_range(self) -> tuple[int, int]:
        """[−bound, bound]."""
        return -self.bound, self.bound

    @property
    def report_range(self) -> tuple[int, int]:
        """The values' range, widened by 64 + 3d scales on either side; noise beyond has probability below e^−60."""
        reach = math.ceil((_CLAMP_IN_SCALES + _CLAMP_IN_SCALES_PER_VALUE * self.dimension) * self.scale)
        return -self.bound - reach, self.bound + reach

    @property
    def noise_variance(self) -> float:
        """E[x²] = scale²·(d + 1) of a coordinate before rounding, in squared grid steps; coordinates are uncorrelated.

        E[radius²] = scale²·d·(d + 1) is shared by d coordinates alike. Rounding adds 1/12, nearly, to each.
        """
        return square(self.scale) * (self.dimension + 1)

    def slots_of(self, num_values: int) -> int:
        """One for each value, which make the direction, then the radius's."""
        return num_values + 1

    def event_of(self, num_values: int) -> PureMechanism:
        """ε = sensitivity/scale of the whole row."""
        return PureMechanism(epsilon=quotient_up(self.sensitivity, self.scale))

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Rows whose l2 distance is no more than `sensitivity`. See `RowMechanism.are_neighbors`."""
        squares = np.zeros((len(values), len(other_values)))
        for column, of_others in zip(values.T, other_values.T, strict=True):
            squares += (column[:, None] - of_others).astype(np.float64) ** 2
        return squares <= square(self.sensitivity)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Add to each row, of `dimension` values, a normal vector of the length that its last uniform names; round."""
        width = self.dimension
        if values.shape[1:] != (width,) or uniforms.shape != (len(values), width + 1):
            expected = f"values of shape (n, {width}) and uniforms of shape (n, {width + 1})"
            raise ValueError(f"expected {expected}, got {values.shape} and {uniforms.shape}")
        check_numbers("values", values, self.value_range)
        # scipy's functions give the same bits for a number as for an array. Between processors the last bit may differ
        # where the C library's logarithm does; rounding to steps of a 128th of a scale or so hides that all but surely.
        draws = np.maximum(uniforms, _LEAST_UNIFORM)
        normals: FloatArray = sp.special.ndtri(draws[:, :-1])
        # Column by column: a sum over the axis might be taken in another order for another number of rows.
        squares = normals[:, 0] * normals[:, 0]
        for place in range(1, self.dimension):
            squares += normals[:, place] * normals[:, place]
        centers = squares == 0  # all uniforms 1/2, which names no direction: take the first axis
        normals[centers, 0] = squares[centers] = 1.0
        radii: FloatArray = sp.special.gammaincinv(self.dimension, draws[:, -1]) * self.scale
        normals *= (radii / np.sqrt(squares))[:, None]
        normals += 0.5
        noise = np.floor(normals, out=normals).astype(np.int64)
        low, high = self.report_range
        return np.clip(values + noise, low, high)

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return the density's logarithm at the center of each report's cell. See `RowMechanism.log_likelihoods`.

        −‖r − v‖₂/scale − d·ln(scale) − ln(2·π^(d/2)·Γ(d)/Γ(d/2)), of which candidates share all but the first term.

        A report's exact probability is the density's integral over the unit cube around it, of which no point is
        farther than half a diagonal, √d/2, from the center. So what is returned is within √d/(2·scale) of the exact
        logarithm, and a difference between two candidates within √d/scale of the exact one; scales of 128 steps and
        more make that small beside the loss. It is never larger than ‖v − v'‖₂/scale, no more than the exact one is. A
        clamped report, which has probability below e^(−60), stands for a larger region: there that last bound alone
        holds.

        Raises:
            ValueError: rows are not of `dimension` numbers, or one is out of range.
        """
        check_candidates(self, reports, values)
        if values.shape[1] != self.dimension:
            raise ValueError(f"expected candidates of shape (c, {self.dimension}), got {values.shape}")
        squares = np.zeros((len(values), len(reports)))  # reports are many: they lie one beside another
        for of_reports, of_values in zip(np.ascontiguousarray(reports.T), values.T, strict=True):
            differences = (of_values[:, None] - of_reports).astype(np.float64)
            squares += differences * differences
        half = self.dimension / 2
        # The sphere's surface, for radius 1.
        log_sphere = math.log(2) + half * math.log(math.pi) - float(sp.special.gammaln(half))
        constant = log_sphere + float(sp.special.gammaln(self.dimension)) + self.dimension * math.log(self.scale)
        return np.sqrt(squares.T) / -self.scale - constant
