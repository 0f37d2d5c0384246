"""How verdicts read the rows: selections of points, and whether curves rise or lie above each other."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..measurements import FAR, Measurement, deviation
from .rows import CurvePoint, Reproduction, VariantRow

__all__ = [
    "TOLERANCE",
    "Comparison",
    "ascent",
    "compare",
    "curve",
    "curves_of",
    "listed",
    "points",
    "share",
    "variant",
]

TOLERANCE = 2.0
"""In standard errors: less of a difference is not called one."""


class Comparison(msgspec.Struct, frozen=True):
    """Pairs of measurements of which the first should be greater.

    Args:
        number: of pairs.
        above: in so many the first is greater by more than `TOLERANCE` joint standard errors.
        below: in so many it is smaller by as much.
        far_below: in so many by more than `FAR`, which chance does not do.
        mean: the mean difference.
    """

    number: int
    above: int
    below: int
    far_below: int
    mean: float

    @property
    def holds(self) -> bool:
        """Whether the first is greater in some, on average, and clearly smaller in none."""
        return self.above > 0 and self.mean > 0 and not self.far_below and self.below <= max(1, self.number // 10)

    @property
    def words(self) -> str:
        """The counts as a sentence's part."""
        return (
            f"by {100 * self.mean:+.1f} points on average; by more than {TOLERANCE:g} standard errors it is more in "
            f"{self.above} of {self.number} pairs and less in {self.below}"
        )


def compare(pairs: Iterable[tuple[Measurement, Measurement]]) -> Comparison:
    """Return how often the first of two is greater."""
    found = list(pairs)
    apart = [deviation(one, other) for one, other in found]
    return Comparison(
        number=len(found),
        above=sum(each > TOLERANCE for each in apart),
        below=sum(each < -TOLERANCE for each in apart),
        far_below=sum(each < -FAR for each in apart),
        mean=math.fsum(one.value - other.value for one, other in found) / len(found),
    )


def points(reproduction: Reproduction, figure: int, panel: str = "", **given: Any) -> list[CurvePoint]:
    """Return the points of a figure, and of one panel where it is named, whose fields are what is given."""
    return [
        point
        for point in reproduction.of_figure(figure)
        if (not panel or point.panel == panel) and all(getattr(point, name) == value for name, value in given.items())
    ]


def curve(found: Sequence[CurvePoint]) -> dict[float, Measurement]:
    """Return the accuracies along the axis, ascending."""
    return {point.at: point.accuracy for point in sorted(found, key=lambda point: point.at)}


def curves_of(found: Iterable[CurvePoint]) -> list[dict[float, Measurement]]:
    """Return all curves among some points: one for each panel, method, N, n, d."""
    members: dict[tuple[object, ...], list[CurvePoint]] = {}
    for point in found:
        key = point.panel, point.method, point.voters, point.records, point.features
        members.setdefault(key, []).append(point)
    return [curve(each) for each in members.values()]


def ascent(curves: Iterable[dict[float, Measurement]]) -> Comparison:
    """Return each point against the one before it on its curve, as what should be greater."""
    return compare(
        (later, earlier)
        for each in curves
        for earlier, later in zip(list(each.values()), list(each.values())[1:], strict=False)
    )


def variant(reproduction: Reproduction, setting: str, method: str, epsilon: float | None) -> VariantRow:
    """Return one row of the comparisons."""
    return next(
        row for row in reproduction.variants if (row.setting, row.method, row.epsilon) == (setting, method, epsilon)
    )


def share(measurement: Measurement) -> str:
    """Return a share as people write it, .912 ± .003."""
    value, error = f"{measurement.value:.3f}", f"{measurement.standard_error:.3f}"
    return f"{value.removeprefix('0')} ± {error.removeprefix('0')}"


def listed(words: Sequence[str]) -> str:
    """Return words as people list them."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
