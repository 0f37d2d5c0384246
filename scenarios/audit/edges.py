"""Events at the edges of what is drawn: extremes of an ordered feature, and single values.

A likelihood ratio looks where the law says that neighbors differ, and a learned score where most outputs lie. A sampler
that is wrong in a tail alone, such as noise that is clipped, shows there and nowhere else: by outputs beyond a point
that one neighbor has and the other has not, or by a value that is too frequent.

As everywhere, the outputs that choose an event do not decide.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from .bounds import epsilon_bounds
from .case import Pair
from .features import Feature, ordered_features_of

__all__ = ["Edge", "choose_edge"]

_RISK_OF_CHOICE: Final = 1e-3
"""Of the intervals by which edges are compared: loose, since there are few outputs to choose by."""
_NUM_RANKS: Final = 64
"""At either end, at distances from it that grow geometrically."""
_DEVIATIONS: Final = 3
_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1


class Edge(NamedTuple):
    """That a feature is in a range: beyond a point, or a single value.

    Args:
        pair: the neighbors.
        feature: the feature.
        least: of the range.
        greatest: of the range.
        is_first: whether it should be more likely under the first neighbor.
        bound: on ε by the outputs that chose it, which proves nothing.
    """

    pair: Pair
    feature: Feature
    least: int
    greatest: int
    is_first: bool
    bound: float

    @property
    def name(self) -> str:
        """The range, as a phrase."""
        if self.least == self.greatest:
            return f"{self.feature.name}: {self.least}"
        at_least = f"at least {self.least}" if self.least > _LEAST else ""
        return f"{self.feature.name}: {at_least or f'at most {self.greatest}'}"

    def hits(self, outputs: IntArray) -> int:
        """Return how many outputs are in the range."""
        values = self.feature.of(outputs)
        return int(np.count_nonzero((values >= self.least) & (values <= self.greatest)))


def choose_edge(drawn: Sequence[tuple[Pair, IntArray, IntArray]], features: Sequence[Feature] = ()) -> Edge | None:
    """Return the edge that told most; None where all outputs are one and the same.

    Outputs of the first and of the second neighbor are those that do not decide. Looked at is by default each number,
    and what is made of several.
    """
    edges = (
        edge
        for pair, first, second in drawn
        for feature in features or ordered_features_of(first.shape[1])
        for edge in _edges_of(pair, feature, first, second)
    )
    return max(edges, key=lambda edge: edge.bound, default=None)


def _edges_of(pair: Pair, feature: Feature, first: IntArray, second: IntArray) -> Iterator[Edge]:
    """Yield the best extreme of a feature at either end, and the best one of its values."""
    sides = np.sort(feature.of(first)), np.sort(feature.of(second))
    both = np.sort(np.concatenate(sides))
    if both[0] == both[-1]:
        return
    ranks = np.geomspace(1, len(both), _NUM_RANKS).astype(np.int64) - 1
    low, high = np.unique(both[ranks]), np.unique(both[len(both) - 1 - ranks])
    values = both[np.concatenate([[True], both[1:] != both[:-1]])]
    least, greatest = np.full(1, _LEAST), np.full(1, _GREATEST)
    for starts, ends in (
        (np.repeat(least, len(low)), low),
        (high, np.repeat(greatest, len(high))),
        (values, values),
    ):
        one, other = (
            np.searchsorted(side, ends, side="right") - np.searchsorted(side, starts, side="left") for side in sides
        )
        for is_first, likely, unlikely in ((True, one, other), (False, other, one)):
            place = int(np.argmax(_roughly(likely, unlikely)))
            hits = likely[place : place + 1], unlikely[place : place + 1]
            bound = float(epsilon_bounds(*hits, min(map(len, sides)), _RISK_OF_CHOICE)[0])
            yield Edge(pair, feature, int(starts[place]), int(ends[place]), is_first, bound)


def _roughly(likely: IntArray, unlikely: IntArray) -> FloatArray:
    """Return roughly by how much events are the likelier: as the intervals of so many hits have it, without them."""
    low = np.maximum(likely - _DEVIATIONS * np.sqrt(likely), 0.0)
    return low / (unlikely + _DEVIATIONS * np.sqrt(unlikely) + 2 * _DEVIATIONS)
