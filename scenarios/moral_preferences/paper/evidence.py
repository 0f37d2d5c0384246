"""How verdicts read the rows: selections of points, and a share's words."""

from typing import Any

from ...experiments.measurements import Measurement
from .rows import CurvePoint, Reproduction

__all__ = ["points", "share"]


def points(reproduction: Reproduction, figure: int, panel: str = "", **given: Any) -> list[CurvePoint]:
    """Return the points of a figure, and of one panel where it is named, whose fields are what is given."""
    return [
        point
        for point in reproduction.of_figure(figure)
        if (not panel or point.panel == panel) and all(getattr(point, name) == value for name, value in given.items())
    ]


def share(measurement: Measurement) -> str:
    """Return a share as people write it, .912 ± .003."""
    value, error = f"{measurement.value:.3f}", f"{measurement.standard_error:.3f}"
    return f"{value.removeprefix('0')} ± {error.removeprefix('0')}"
