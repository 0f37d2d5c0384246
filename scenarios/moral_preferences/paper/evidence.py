"""How verdicts read the rows: selections of points and effects, and their words."""

from collections.abc import Sequence
from typing import Any

from ...experiments.measurements import FAR, TOLERANCE, Measurement
from .rows import CurvePoint, EffectRow, Reproduction, VariantRow

__all__ = [
    "curve",
    "effect",
    "effect_in_words",
    "is_ahead",
    "points",
    "share",
    "variant",
]


def effect(reproduction: Reproduction, figure: int, what: str, panel: str = "") -> EffectRow:
    """Return what one thing changes in a figure."""
    return next(row for row in reproduction.effects if (row.figure, row.panel, row.what) == (figure, panel, what))


def is_ahead(row: EffectRow) -> bool:
    """Whether the difference is no chance, and no single pair says the contrary."""
    return row.difference.value > TOLERANCE * row.difference.standard_error and row.least > -FAR


def effect_in_words(row: EffectRow, *, steps: bool = False) -> str:
    """Return what a difference is, as a sentence's part."""
    points_of = f"{100 * row.difference.value:+.1f} ± {100 * row.difference.standard_error:.1f} points"
    average = "from one end of the axis to the other" if steps else f"on average over {row.number} pairs"
    each = "single steps" if steps else "single pairs"
    return f"{points_of} {average} ({each} by {row.least:+.1f} to {row.most:+.1f} standard errors)"


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


def variant(reproduction: Reproduction, setting: str, method: str, epsilon: float | None) -> VariantRow:
    """Return one row of the comparisons."""
    return next(
        row for row in reproduction.variants if (row.setting, row.method, row.epsilon) == (setting, method, epsilon)
    )


def share(measurement: Measurement) -> str:
    """Return a share as people write it, .912 ± .003."""
    value, error = f"{measurement.value:.3f}", f"{measurement.standard_error:.3f}"
    return f"{value.removeprefix('0')} ± {error.removeprefix('0')}"
