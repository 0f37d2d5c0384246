"""Noise for rows with ℓ₂ sensitivity: the Laplace law of the Euclidean norm on a public grid.

The noise has a density proportional to e^(−‖x‖₂/scale) on R^d. Its direction is uniform on the sphere, and its radius
has the Gamma law of shape d. Since values are integers, rounding a noisy value to the grid is the same as adding
rounded noise. Rounding and clamping are post-processing.

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
        sensitivity: the greatest ℓ₂ distance between neighboring rows, in grid steps; positive and finite. The ranges
            of single values do not bound it, so the caller must check that no row has a neighbor farther away.
        bound: coordinates are in [−bound, bound], in grid steps; ≥ 1.
        dimension: 1 ≤ d ≤ `MAX_DIMENSION`, the width of every row.

    Privacy:
        ε-DP with ε = sensitivity/scale, unit: the row. Neighbors are rows at an ℓ₂ distance of at most `sensitivity`:
        the logarithm of the ratio of two densities is (‖x − v'‖₂ − ‖x − v‖₂)/scale ≤ ‖v − v'‖₂/scale. Claimed and
        proven loss are the same. Rounding to the grid makes the true loss smaller.

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
        fits = self.report_range[1] < _TOO_LARGE  # larger sums would wrap around
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
        """The variance of a coordinate before rounding, in squared grid steps: E[x²] = scale²·(d + 1).

        E[radius²] = scale²·d·(d + 1) is the sum over d coordinates, which are uncorrelated and have the same variance.
        Rounding adds about 1/12 to each.
        """
        return square(self.scale) * (self.dimension + 1)

    def slots_of(self, num_values: int) -> int:
        """One for each value, which make the direction, then the radius's."""
        return num_values + 1

    def event_of(self, num_values: int) -> PureMechanism:
        """ε = sensitivity/scale of the whole row."""
        return PureMechanism(epsilon=quotient_up(self.sensitivity, self.scale))

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Rows are neighbors if their ℓ₂ distance is at most `sensitivity`. See `RowMechanism.are_neighbors`."""
        squares = np.zeros((len(values), len(other_values)))
        for column, of_others in zip(values.T, other_values.T, strict=True):
            squares += (column[:, None] - of_others).astype(np.float64) ** 2
        return squares <= square(self.sensitivity)

    def randomize_rows(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Add to each row, of `dimension` values, a normal vector of the length that its last uniform names; round."""
        width = self.dimension
        if values.shape[1:] != (width,) or uniforms.shape != (len(values), width + 1):
            expected = f"values of shape (n, {width}) and uniforms of shape (n, {width + 1})"
            raise ValueError(f"shapes are {values.shape} and {uniforms.shape}: give {expected}")
        check_numbers("values", values, self.value_range)
        # scipy's functions return the same bits for a number as for an array. Their last bit may depend on the
        # processor, as that of the C library's logarithm; rounding to grid steps almost certainly removes the
        # difference.
        draws = np.maximum(uniforms, _LEAST_UNIFORM)
        normals: FloatArray = sp.special.ndtri(draws[:, :-1])
        # Summed column by column, since the order of numpy's sum over an axis may depend on the number of rows.
        squares = normals[:, 0] * normals[:, 0]
        for place in range(1, self.dimension):
            squares += normals[:, place] * normals[:, place]
        centers = squares == 0  # all uniforms are 1/2, so the direction is undefined: take the first axis
        normals[centers, 0] = squares[centers] = 1.0
        radii: FloatArray = sp.special.gammaincinv(self.dimension, draws[:, -1]) * self.scale
        normals *= (radii / np.sqrt(squares))[:, None]
        normals += 0.5
        noise = np.floor(normals, out=normals).astype(np.int64)
        low, high = self.report_range
        return np.clip(values + noise, low, high)

    def log_likelihoods(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Return the density's logarithm at the center of each report's cell. See `RowMechanism.log_likelihoods`.

        It is −‖r − v‖₂/scale − d·ln(scale) − ln(2·π^(d/2)·Γ(d)/Γ(d/2)) for report r and value v. Only the first term
        depends on v.

        A report's exact probability is the integral of the density over the unit cube around it, all of whose points
        are within √d/2, half a diagonal, of the center. So the result is within √d/(2·scale) of the exact logarithm,
        and a difference between two candidates within √d/scale of the exact one; with scales of 128 steps and more,
        this is small compared to the loss. The difference never exceeds ‖v − v'‖₂/scale, and neither does the exact
        one. A clamped report, which has probability below e^(−60), covers a larger region; for it only the last bound
        holds.

        Raises:
            ValueError: rows are not of `dimension` numbers, or one is out of range.
        """
        check_candidates(self, reports, values)
        if values.shape[1] != self.dimension:
            raise ValueError(f"candidates have shape {values.shape}: give shape (c, {self.dimension})")
        squares = np.zeros((len(values), len(reports)))  # the many reports are contiguous in memory
        for of_reports, of_values in zip(np.ascontiguousarray(reports.T), values.T, strict=True):
            differences = (of_values[:, None] - of_reports).astype(np.float64)
            squares += differences * differences
        half = self.dimension / 2
        # The surface of the unit sphere.
        log_sphere = math.log(2) + half * math.log(math.pi) - float(sp.special.gammaln(half))
        constant = log_sphere + float(sp.special.gammaln(self.dimension)) + self.dimension * math.log(self.scale)
        return np.sqrt(squares.T) / -self.scale - constant
