"""Trials as a picture: distributions of one cell's measures, or means over the cells of a grid with their intervals."""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..presentation.drawing import (
    COLORS,
    INK,
    MOST_ROWS,
    WIDTH,
    Marks,
    Picture,
    clean,
    fold,
    name_rows,
    name_ticks,
    percent_scale,
)
from ..presentation.terminal import title_of
from .measures import Measure
from .trials import MeasuredCell

__all__ = ["picture_of"]

_MOST_PANELS: Final = 6
_COLUMNS: Final = 2
_BINS: Final = 30
_FOR_LOG: Final = 8.0
"""Values of an axis that are so many times apart have a logarithmic one."""
_HEIGHT: Final = 2.4
_POINTS: Final[Mapping[str, Any]] = {"marker": "o", "markersize": 4.5, "linewidth": 1.4, "capsize": 3}


def picture_of(cells: Sequence[MeasuredCell], measures: Sequence[Measure]) -> Picture | None:
    """Return the picture of trials; None where nothing was measured.

    Args:
        cells: at least one.
        measures: what was measured, the most telling first; so many as fit are drawn.
    """
    told = [measure for measure in measures if any(measure.name in cell.summaries for cell in cells)]
    if len(cells) == 1:  # what is the same in all trials has no distribution
        told = [measure for measure in told if len({*_numbers(cells[0], measure)}) > 1] or told
    shown = told[:_MOST_PANELS]
    if not shown:
        return None
    columns = min(_COLUMNS, len(shown))
    lines = math.ceil(len(shown) / columns)
    if len(cells) == 1:
        draw, height = functools.partial(_draw_distributions, cell=cells[0], measures=shown), _HEIGHT
    elif (axis := _numeric_axis(cells)) is not None:
        draw, height = functools.partial(_draw_lines, cells=cells, measures=shown, axis=axis), _HEIGHT
    else:
        rows = cells[:MOST_ROWS]
        draw, height = functools.partial(_draw_rows, cells=rows, measures=shown), 0.9 + 0.26 * len(rows)
    return Picture(draw=draw, size=(WIDTH, 0.9 + height * lines), panels=(lines, columns))


def _numbers(cell: MeasuredCell, measure: Measure) -> list[float]:
    return [trial.measures[measure.name] for trial in cell.trials if measure.name in trial.measures]


def _draw_distributions(panels: Any, *, cell: MeasuredCell, measures: Sequence[Measure]) -> Marks:
    for axes, measure in _panels(panels, measures):
        numbers, summary = _numbers(cell, measure), cell.summaries[measure.name]
        values = sorted(set(numbers))
        if len(values) <= _BINS:  # each by itself
            gap = min((after - before for before, after in itertools.pairwise(values)), default=0.1)
            axes.bar(values, [numbers.count(value) / len(numbers) for value in values], 0.7 * gap, color=COLORS["sky"])
        else:
            each = [1 / len(numbers)] * len(numbers)
            axes.hist(numbers, bins=_BINS, weights=each, color=COLORS["sky"], edgecolor="white", linewidth=0.4)
        axes.axvspan(summary.low, summary.high, color=INK, alpha=0.15, linewidth=0)
        axes.axvline(summary.mean, color=INK, linewidth=1.4)
        clean(axes, title=title_of(measure.name), grid="y")
        percent_scale(axes)
        if measure.is_share:
            percent_scale(axes, "x")
    return {
        "share of trials": {"marker": "s", "markersize": 9, "linestyle": "none", "color": COLORS["sky"]},
        "mean, and where it lies with 95 %": {"color": INK, "linewidth": 1.4},
    }


def _numeric_axis(cells: Sequence[MeasuredCell]) -> int | None:
    """Return the first key of the grid whose values are numbers, where the others make few enough lines; else None."""
    for place in range(len(cells[0].settings)):
        values = [cell.settings[place][1] for cell in cells]
        if all(map(_is_number, values)) and len({*values}) > 1:
            return place if len({_series_of(cell, place) for cell in cells}) <= len(COLORS) else None
    return None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _series_of(cell: MeasuredCell, axis: int) -> str:
    return ", ".join(value for place, (_, value) in enumerate(cell.settings) if place != axis)


def _draw_lines(panels: Any, *, cells: Sequence[MeasuredCell], measures: Sequence[Measure], axis: int) -> Marks:
    key = cells[0].settings[axis][0]
    names = list(dict.fromkeys(_series_of(cell, axis) for cell in cells))
    colors = dict(zip(names, COLORS.values(), strict=False))
    for axes, measure in _panels(panels, measures):
        for name in names:
            own = [cell for cell in cells if _series_of(cell, axis) == name and measure.name in cell.summaries]
            own.sort(key=lambda cell: float(cell.settings[axis][1]))
            if own:
                places = [float(cell.settings[axis][1]) for cell in own]
                _errorbar(axes, own, measure, color=colors[name], places=places, **_POINTS)
        places = sorted({float(cell.settings[axis][1]) for cell in cells})
        if places[0] > 0 and places[-1] >= _FOR_LOG * places[0]:
            axes.set_xscale("log")
        name_ticks(axes, places)
        clean(axes, title=title_of(measure.name), x=key)
        if measure.is_share:
            percent_scale(axes)
    labels = {name: {"color": color, **_POINTS} for name, color in colors.items()}
    return {
        **{
            name or "mean": {key: value for key, value in mark.items() if key != "capsize"}
            for name, mark in labels.items()
        },
        "the mean lies so near with 95 %": {"color": INK, "linewidth": 1.4},
    }


def _draw_rows(panels: Any, *, cells: Sequence[MeasuredCell], measures: Sequence[Measure]) -> Marks:
    names = [fold(", ".join(value for _, value in cell.settings)) for cell in cells]
    for number, (axes, measure) in enumerate(_panels(panels, measures)):
        own = [(row, cell) for row, cell in enumerate(cells) if measure.name in cell.summaries]
        summaries = [cell.summaries[measure.name] for _, cell in own]
        means = [summary.mean for summary in summaries]
        reach = [
            [max(summary.mean - summary.low, 0.0) for summary in summaries],
            [max(summary.high - summary.mean, 0.0) for summary in summaries],
        ]
        axes.errorbar(
            means, [row for row, _ in own], xerr=reach, fmt="o", color=COLORS["blue"], markersize=5, capsize=3
        )
        name_rows(axes, names if not number % panels.shape[1] else [""] * len(names), x="")
        axes.set_title(title_of(measure.name))
        if measure.is_share:
            percent_scale(axes, "x")
    return {"mean, and where it lies with 95 %": {"color": COLORS["blue"], "marker": "o", "markersize": 5}}


def _panels(panels: Any, measures: Sequence[Measure]) -> list[tuple[Any, Measure]]:
    """Return each measure with its panel, and hide those that are left."""
    flat = list(panels.reshape(-1))
    for axes in flat[len(measures) :]:
        axes.set_visible(False)
    return list(zip(flat, measures, strict=False))


def _errorbar(
    axes: Any, cells: Sequence[MeasuredCell], measure: Measure, *, places: Sequence[float], **style: Any
) -> None:
    summaries = [cell.summaries[measure.name] for cell in cells]
    reach = [
        [max(summary.mean - summary.low, 0.0) for summary in summaries],
        [max(summary.high - summary.mean, 0.0) for summary in summaries],
    ]
    axes.errorbar(places, [summary.mean for summary in summaries], yerr=reach, **style)
