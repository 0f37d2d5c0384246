"""A poisoner's lesson where nothing is known of a protocol but its own tally and outcome: extreme reports, tried."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.estimators import Estimate
from ..attacks.extreme_reports import NOT_COMPUTED, ExtremeReports
from .role import Figure, Happened, Row, Scene, Series, bars_figure

__all__ = ["extreme_figures", "extreme_rows", "say_extremes"]

_SHARES: Final = 7
"""Shares of poisoners that are tried, none and the greatest included."""
_MOST_BARS: Final = 16


def extreme_rows(extremes: ExtremeReports, places: IntArray) -> list[Row]:
    """Return a line for each estimate that is released, without the poisoners and with them; none if no outcome is."""
    before = extremes.estimates()
    try:
        after = extremes.estimates(extremes.reports(places))
    except NOT_COMPUTED:  # of each kind of public row they are, and of all together not
        return []
    return [
        {
            "estimate": name,
            "without them": own.value,
            "standard error": own.standard_error,
            "with them": after[name].value,
            "shift": after[name].value - own.value,
            "in standard errors": _in_errors(after[name].value - own.value, own),
        }
        for name, own in before.items()
        if name in after
    ]


def say_extremes(
    extremes: ExtremeReports, places: IntArray, rows: Sequence[Row], happened: Happened, *, direction: str
) -> Iterator[str]:
    """Say by how much the estimate moved that they push "up" or "down", and what that is worth."""
    if not rows:
        yield "Of their reports together the protocol computes no outcome: they end the session."
        return
    (own,) = [row for row in rows if row["estimate"] == extremes.aimed]
    in_errors = abs(float(own["in standard errors"]))
    yield (
        f"They push the estimate {extremes.aimed!r} {direction}. Without them it is {own['without them']:.4g} "
        f"(standard error {own['standard error']:.3g}), with their reports {own['with them']:.4g}."
    )
    if happened.failure is not None:
        yield f"The session itself came to no end: {happened.failure}"
    yield (
        f"That is a shift of {own['shift']:.4g}, {in_errors:.1f} standard errors, from what they had drawn; between "
        f"pushed down and up their reports move it by {extremes.spread(places):.4g}."
    )
    yield (
        "These are the reports in range that push most by the protocol's own tally and outcome. They were searched, "
        "number by number, and nothing is proven: others may push further."
    )


def extreme_figures(
    scene: Scene, extremes: ExtremeReports, rows: Sequence[Row], order: IntArray, *, most_share: float
) -> tuple[Figure, ...]:
    """Draw the shift against the share of poisoners, by `order` and up to `most_share`, and of each estimate."""
    most = max(1, round(most_share * len(order)))
    numbers = sorted({round(most * step / (_SHARES - 1)) for step in range(_SHARES)})
    before = extremes.estimates()[extremes.aimed]
    pushed = {number: extremes.value_with(order[:number]) for number in numbers}
    known = {number: value for number, value in pushed.items() if math.isfinite(value)}
    scale = before.standard_error or 1.0
    series = Series(
        name="chosen reports",
        x=tuple(number / len(order) * 100 for number in known),
        y=tuple(extremes.sign * (value - before.value) / scale for value in known.values()),
    )
    sweep = Figure(
        title=f"How far the estimate {extremes.aimed!r} moves",
        x_label=f"poisoners, in percent of all {scene.protocol.client_role}s",
        y_label="standard errors",
        series=(series,),
    )
    if not 1 < len(rows) <= _MOST_BARS:
        return (sweep,)
    names, shifts = [str(row["estimate"]) for row in rows], [float(row["in standard errors"]) for row in rows]
    if not np.all(np.isfinite(shifts)):
        return (sweep,)
    return (sweep, bars_figure("How far each estimate moved", "standard errors", names, {"shift": shifts}))


def _in_errors(shift: float, before: Estimate) -> float:
    if before.standard_error:
        return shift / before.standard_error
    return math.copysign(math.inf, shift) if shift else 0.0
