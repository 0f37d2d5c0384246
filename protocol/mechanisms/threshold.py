"""Private threshold decisions: release only on which side of a threshold a number is.

Let m be the number minus the threshold (m ≥ 0 is "yes"), Δ the greatest change of m by one person, and q = 1/(1 + e^ε).
The rule counts blocks of size Δ from the threshold, b = ⌊m/Δ⌋, so that one person changes b by at most 1. It adds noise
x with P[x] ∝ e^(−ε·abs(x)), and releases "yes" if b + x ≥ 0. For a number in the j-th block on either side, j = 0, 1,
…, the decision is wrong with probability q·e^(−jε). Anything else that is computed from b + x alone costs nothing more.

**No ε-DP rule is uniformly better.** Let e(m) be the probability that a rule is wrong. m in [0, Δ) and m − Δ are
neighbors, so 1 − e(m) ≤ e^ε·e(m − Δ) and 1 − e(m − Δ) ≤ e^ε·e(m). Hence e(m) + e(m − Δ) ≥ 2q, which this rule attains,
and every rule is wrong with probability q or more somewhere. Further out, e(m + Δ) ≥ e^(−ε)·e(m) for every rule, which
this rule attains, too.

The sign of a sum with Laplace noise is wrong with probability 1/2 next to the threshold. At the outer end of a block it
is wrong less often than this rule: with e^(−ε)/2 instead of q in the first block. But on average over two margins at a
distance of Δ around the threshold, it is wrong at least as often. If Δ is one step, both rules are the same.

Source: Ghosh, Roughgarden and Sundararajan (2009) for the geometric law; Geng and Viswanath (2014) for steps of Δ.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ..arguments import exact_arguments, make_fields_exact
from ..arrays import FloatArray, IntArray
from ..elementary import exp, expm1, ln, log1p, quotient_up
from ..errors import require
from ..privacy import events
from .discrete_laplace import DiscreteLaplace
from .exact import ExactMechanism, RandBelow
from .mechanism import Mechanism, check_batch

FAILS, LEANS_NO, LEANS_YES, PASSES = range(4)
_MOST: Final = 2**61


@dataclasses.dataclass(frozen=True)
class ThresholdDecision(Mechanism, ExactMechanism):
    """Release on which side of 0 a number is, and whether this is certain enough.

    With b and x of the module's docstring, the report is 0 ("no", certain) for b + x ≤ `failing`; 1 ("no") below 0; 2
    ("yes") below `passing`; and otherwise 3 ("yes", certain).

    Args:
        scale: 1/ε, the scale of the noise in blocks.
        sensitivity: Δ, in grid steps: 1 ≤ Δ ≤ 2 · bound.
        bound: numbers are in [−bound, bound], in grid steps; ≥ 1.
        passing: the least b + x at which "yes" is certain; at least 0.
        failing: the greatest b + x at which "no" is certain; at most −1.
        width: the number of numbers in a row, each of which one person may change by `sensitivity`.

    Raises:
        ConfigurationError: an argument is out of range, or no noise can be drawn at this scale.

    Privacy:
        ε-DP with ε = width/scale, unit: the row. Neighbors are rows whose numbers differ by at most `sensitivity` each.
        Claimed and proven loss are the same, and exact.

    Source:
        Ghosh, Roughgarden and Sundararajan (2009); Geng and Viswanath (2014).

    Examples:
        >>> mechanism = ThresholdDecision(scale=0.5, sensitivity=3, bound=100)
        >>> mechanism.event.epsilon
        2.0
        >>> [round(mechanism.chance_of_error(margin), 4) for margin in (-4, -3, -1, 0, 2, 3)]
        [0.0161, 0.1192, 0.1192, 0.1192, 0.1192, 0.0161]
        >>> mechanism.randomize_row([-50, 7], [0.3, 0.6])
        [0, 3]
    """

    is_drawn_ahead: ClassVar[bool] = True
    scale: float
    sensitivity: int
    bound: int
    passing: int = 0
    failing: int = -1
    width: int = 1

    def __post_init__(self) -> None:
        make_fields_exact(self)
        require(1 <= self.bound < _MOST, "bound", self.bound, "in [1, 2**61) steps")
        most = 2 * self.bound
        require(1 <= self.sensitivity <= most, "sensitivity", self.sensitivity, f"in [1, {most}] steps")
        require(0 <= self.passing < _MOST, "passing", self.passing, "in [0, 2**61) blocks")
        require(-_MOST < self.failing < 0, "failing", self.failing, "in (-2**61, 0) blocks")
        require(self.width >= 1, "width", self.width, "at least 1")
        self._noise  # noqa: B018  which checks the scale

    @functools.cached_property
    def _noise(self) -> DiscreteLaplace:
        most = self.bound // self.sensitivity + 1
        return DiscreteLaplace(scale=self.scale, least=-most, greatest=most)

    @property
    def value_range(self) -> tuple[int, int]:
        """[−bound, bound]."""
        return -self.bound, self.bound

    @property
    def report_range(self) -> tuple[int, int]:
        """From "no, surely" to "yes, surely"."""
        return FAILS, PASSES

    @property
    def event(self) -> events.PureMechanism:
        """ε = width/scale, for one number as for all."""
        return events.PureMechanism(epsilon=quotient_up(self.width, self.scale))

    def event_of(self, num_values: int) -> events.PureMechanism:
        """ε = width/scale."""
        return self.event

    def event_of_one_among(self, values: Sequence[Sequence[int]]) -> events.PureMechanism:
        """ε = 1/scale."""
        return events.PureMechanism(epsilon=quotient_up(1, self.scale))

    def are_neighbors(self, values: IntArray, other_values: IntArray) -> NDArray[np.bool_]:
        """Rows are neighbors if no number differs by more than `sensitivity`. See `RowMechanism.are_neighbors`."""
        near = np.ones((len(values), len(other_values)), dtype=np.bool_)
        for column, of_others in zip(values.T, other_values.T, strict=True):
            near &= np.abs(column[:, None] - of_others) <= self.sensitivity
        return near

    @exact_arguments
    def chance_of_error(self, margin: int) -> float:
        """Return the probability that the report is wrong about the side of a number.

        Args:
            margin: the number, in grid steps; below 0, "no" is right.
        """
        blocks = margin // self.sensitivity
        return exp(self._noise.log_tail(blocks + 1 if margin >= 0 else -blocks))

    def randomize(self, values: IntArray, uniforms: FloatArray) -> IntArray:
        check_batch(self, values, uniforms)
        noisy = self._noise.randomize(values // self.sensitivity, uniforms)
        return np.searchsorted(self._edges, noisy, side="right").astype(np.int64)

    def randomize_exactly(self, values: Sequence[int], randbelow: RandBelow) -> list[int]:
        if not all(abs(value) <= self.bound for value in values):
            raise ValueError(f"values are out of range: use values from {-self.bound} to {self.bound}")
        noisy = self._noise.randomize_exactly([value // self.sensitivity for value in values], randbelow)
        return [sum(block >= edge for edge in self._edges) for block in noisy]

    def log_probabilities(self, reports: IntArray, values: IntArray) -> FloatArray:
        blocks, places = np.unique(values // self.sensitivity, return_inverse=True)
        laws = np.array([self._log_law(block) for block in blocks.tolist()]).reshape(len(blocks), 4)
        return laws[places.reshape(-1)].T[reports]

    @property
    def _edges(self) -> tuple[int, int, int]:
        """From where on b + x is no longer sure to fail, is "yes", and is sure to pass."""
        return self.failing + 1, 0, self.passing

    def _log_law(self, block: int) -> list[float]:
        """Return ln P[report] of the four reports of a number in a block."""
        least, middle, most = (edge - block for edge in self._edges)
        return [
            self._noise.log_tail(1 - least),
            self._log_between(least, middle),
            self._log_between(middle, most),
            self._noise.log_tail(most),
        ]

    def _log_between(self, least: int, end: int) -> float:
        """Return ln P[least ≤ x < end]; −∞ where there is no such number."""
        if end <= least:
            return -math.inf
        decay = exp(-1 / self.scale)
        if least > 0 or end <= 0:
            near = least if least > 0 else 1 - end  # the smallest size of the noise in this interval, on either side
            return -near / self.scale + ln(-expm1((least - end) / self.scale)) - log1p(decay)
        return ln(-expm1(-end / self.scale) - decay * expm1(least / self.scale)) - log1p(decay)
