"""Laplace noise for vectors on a public grid: each coordinate gets discrete Laplace noise of its own.

The privacy of a row is stated for the row as a whole, from the l1 distance of neighboring rows, and not as the sum of
its coordinates' losses. Noise and sampler are those of `DiscreteLaplace`, bit for bit.

Source: Dwork, McSherry, Nissim and Smith (2006) for calibration to l1 sensitivity; Ghosh, Roughgarden and
Sundararajan (2009) for the law on integers.
"""

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arguments import make_fields_exact
from ..arrays import FloatArray, IntArray
from ..errors import ConfigurationError
from ..estimate import Estimate
from ..privacy.events import PureMechanism
from .discrete_laplace import DiscreteLaplace
from .mechanism import Mechanism, sums_of

__all__ = ["VectorLaplace"]

_TOO_LARGE = 2**62


@dataclasses.dataclass(frozen=True)
class VectorLaplace(Mechanism):
    """Add to each coordinate an independent integer x with P[x] = (1 − a)/(1 + a)·a^|x|, a = e^(−1/scale).

    Args:
        scale: in (0, 2**40) grid steps.
        sensitivity: 1 ≤ sensitivity < 2**62, in grid steps: the l1 distance of neighboring rows at most. The ranges
            of single values do not bound it; the caller makes sure that no row is randomized which might have a
            neighbor farther away (the protocol's check of a row).
        bound: ≥ 1: the greatest value of a coordinate, in grid steps, and the least with its sign changed.

    Attributes:
        coordinate: the law of one coordinate.

    Raises:
        ConfigurationError: a parameter is out of range.

    Privacy:
        ε-DP with ε = sensitivity/scale, unit: the row, for the relation in which rows differ by `sensitivity` at most:
        ln(P[r | v]/P[r | v']) = (‖r − v'‖₁ − ‖r − v‖₁)/scale ≤ ‖v − v'‖₁/scale. Claimed and proven are the same, and
        exact where two rows are that far apart. Clamping is post-processing. With simulated noise there is none, since
        the seed is known.
    """

    is_drawn_ahead: ClassVar[bool] = True
    scale: float
    sensitivity: int
    bound: int
    coordinate: DiscreteLaplace = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_fields_exact(self)
        if not 1 <= self.sensitivity < _TOO_LARGE:
            raise ConfigurationError(field="sensitivity", value=self.sensitivity, allowed="in [1, 2**62) grid steps")
        if self.bound < 1:
            raise ConfigurationError(field="bound", value=self.bound, allowed="at least 1 grid step")
        object.__setattr__(self, "coordinate", DiscreteLaplace(self.scale, -self.bound, self.bound))

    @property
    def value_range(self) -> tuple[int, int]:
        """[−bound, bound]."""
        return self.coordinate.value_range

    @property
    def report_range(self) -> tuple[int, int]:
        """The values' range, widened by `CLAMP_IN_SCALES` scales on either side."""
        return self.coordinate.report_range

    @property
    def event(self) -> PureMechanism:
        """ε = sensitivity/scale, for one coordinate as for all."""
        return PureMechanism(epsilon=self.sensitivity / self.scale)

    def event_of(self, num_values: int) -> PureMechanism:
        """ε = sensitivity/scale, however many values the row has."""
        return self.event

    def are_neighbors(self, values: IntArray, others: IntArray) -> NDArray[np.bool_]:
        """Rows whose l1 distance is no more than `sensitivity`. See `RowMechanism.are_neighbors`."""
        distances = np.zeros((len(values), len(others)), dtype=np.int64)
        for column, of_others in zip(values.T, others.T, strict=True):
            # Beyond the sensitivity it does not matter by how much, and sums stay within 64 bits.
            distances += np.minimum(np.abs(column[:, None] - of_others), self.sensitivity + 1)
            np.minimum(distances, self.sensitivity + 1, out=distances)
        return distances <= self.sensitivity

    @property
    def noise_variance(self) -> float:
        """Var[x] = 2a/(1 − a)² of a coordinate, in squared grid steps."""
        return self.coordinate.noise_variance

    def estimate_rows(self, reports: IntArray) -> tuple[Estimate, ...]:
        """Return the sum of each column's values. See `RowMechanism.estimate_rows`."""
        return sums_of(reports, self.noise_variance)

    def noise_probability(self, noise: int) -> float:
        """Return P[x = noise] of a coordinate, before clamping."""
        return self.coordinate.noise_probability(noise)

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        """Add noise as `DiscreteLaplace.randomize` does. See `Mechanism.randomize`."""
        return self.coordinate.randomize(values, uniforms)

    def randomize_one(self, value: int, uniforms: Sequence[float]) -> int:
        """Return `randomize` of one value, bit for bit."""
        return self.coordinate.randomize_one(value, uniforms)

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        """Those of one coordinate: the exact law, clamping included. See `DiscreteLaplace.log_probabilities`."""
        return self.coordinate.log_probabilities(reports, values)
