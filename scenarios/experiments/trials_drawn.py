"""Draw trials: distributions of one cell's measures, or means with intervals over the cells of a grid."""

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ..presentation import drawing
from ..presentation.terminal import title_of
from .measured import MeasuredCell
from .measures import Measure
from .summaries import MeasureSummary

_MOST_PANELS: Final = 6
_COLUMNS: Final = 2
_BINS: Final = 30
_FOR_LOG: Final = 8.0  # ratio of values from which a grid's axis is logarithmic
_HEIGHT: Final = 2.4  # of a panel, in inches; a panel with rows has `_ROW` for each
_ROW: Final = 0.26
_FRAME: Final = 0.9
_DECADES: Final = 20.0  # ratio of means from which their axis is logarithmic
# on a logarithmic axis, an interval of a positive measure reaches down by at most this part of the mean
_NEARLY: Final = 0.95
_INTERVAL: Final[Mapping[str, Any]] = {"color": drawing.COLORS["blue"], "marker": "o", "markersize": 5}
_POINTS: Final[Mapping[str, Any]] = {"markersize": 4.5, "linewidth": 1.4, "capsize": 3}


def picture_of(cells: Sequence[MeasuredCell], measures: Sequence[Measure]) -> drawing.Picture | None:
    """Return the picture of trials with the most important measures that fit; None if nothing was measured."""
    shown_measures = [measure for measure in measures if any(measure.name in cell.best_summaries for cell in cells)]
    shown_measures.sort(key=lambda measure: measure.is_detail)
    if len(cells) == 1:
        return _picture_of_cell(cells[0], shown_measures)
    varying_measures = [measure for measure in shown_measures if len({*_means(cells, measure)}) > 1]
    panel_measures = (varying_measures or shown_measures)[:_MOST_PANELS]
    if not panel_measures:
        return None
    columns = min(_COLUMNS, len(panel_measures))
    lines = math.ceil(len(panel_measures) / columns)
    if (axis := _numeric_axis(cells)) is not None:
        draw, height = functools.partial(_draw_lines, cells=cells, measures=panel_measures, axis=axis), _HEIGHT
    else:
        rows = cells[: drawing.MOST_ROWS]
        draw, height = functools.partial(_draw_rows, cells=rows, measures=panel_measures), _FRAME + _ROW * len(rows)
    return drawing.Picture(draw=draw, size=(drawing.WIDTH, _FRAME + height * lines), panels=(lines, columns))


def _picture_of_cell(cell: MeasuredCell, measures: Sequence[Measure]) -> drawing.Picture | None:
    """Return the picture of one cell: fractions of 0/1 measures in one panel, and distributions of others."""
    events = [measure for measure in measures if {*_numbers(cell, measure)} <= {0.0, 1.0}]
    # A measure that is equal in all trials has no distribution.
    other_measures = [measure for measure in measures if measure not in events and len({*_numbers(cell, measure)}) > 1]
    other_measures = other_measures[: _MOST_PANELS - bool(events)]
    number = len(other_measures) + bool(events)
    if not number:
        return None
    columns = min(_COLUMNS, number)
    lines = math.ceil(number / columns)
    draw = functools.partial(_draw_cell, cell=cell, events=events, other_measures=other_measures)
    return drawing.Picture(draw=draw, size=(drawing.WIDTH, _FRAME + _HEIGHT * lines), panels=(lines, columns))


def _means(cells: Sequence[MeasuredCell], measure: Measure) -> list[float]:
    return [cell.best_summaries[measure.name].mean for cell in cells if measure.name in cell.best_summaries]


def _numbers(cell: MeasuredCell, measure: Measure) -> list[float]:
    return [trial.measures[measure.name] for trial in cell.trials if measure.name in trial.measures]


def _draw_cell(
    panels: Any, *, cell: MeasuredCell, events: Sequence[Measure], other_measures: Sequence[Measure]
) -> drawing.Marks:
    flat = list(panels.flat)
    marks: dict[str, Mapping[str, Any]] = {}
    if events:
        axes = flat.pop(0)
        summaries = [cell.best_summaries[measure.name] for measure in events]
        _draw_intervals(axes, range(len(events)), summaries)
        drawing.name_rows(axes, [title_of(measure.name) for measure in events], x="share of trials")
        drawing.percent_scale(axes, "x")
        marks["share, and where it lies with 95 %"] = _INTERVAL
    for axes, measure in _panels(flat, other_measures):
        _draw_distribution(axes, _numbers(cell, measure), cell.best_summaries[measure.name])
        drawing.clean(axes, title=title_of(measure.name), grid="y")
        drawing.percent_scale(axes)
        if measure.is_share:
            drawing.percent_scale(axes, "x")
    if other_measures:
        marks["distribution over the trials"] = {
            "marker": "s",
            "markersize": 9,
            "linestyle": "none",
            "color": drawing.COLORS["sky"],
        }
        marks["mean, and where it lies with 95 %"] = {"color": drawing.INK, "linewidth": 1.4}
    return marks


def _draw_distribution(axes: Any, numbers: Sequence[float], summary: MeasureSummary) -> None:
    values = sorted(set(numbers))
    if len(values) <= _BINS:  # a bar for each value
        gap = min((next_value - lower_value for lower_value, next_value in itertools.pairwise(values)), default=0.1)
        axes.bar(
            values, [numbers.count(value) / len(numbers) for value in values], 0.7 * gap, color=drawing.COLORS["sky"]
        )
    else:
        each = [1 / len(numbers)] * len(numbers)
        axes.hist(numbers, bins=_BINS, weights=each, color=drawing.COLORS["sky"], edgecolor="white", linewidth=0.4)
    axes.axvspan(summary.low, summary.high, color=drawing.INK, alpha=0.15, linewidth=0)
    axes.axvline(summary.mean, color=drawing.INK, linewidth=1.4)


def _numeric_axis(cells: Sequence[MeasuredCell]) -> int | None:
    """Return the grid's first key with numeric values, if the others give few enough lines; else None."""
    for place in range(len(cells[0].settings)):
        values = [cell.settings[place][1] for cell in cells]
        if all(map(_is_number, values)) and len({*values}) > 1:
            tied_axes = _axes_tied_to(cells, place)
            return place if len({_series_of(cell, tied_axes) for cell in cells}) <= len(drawing.COLORS) else None
    return None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _axes_tied_to(cells: Sequence[MeasuredCell], axis: int) -> list[int]:
    """Return the keys of an axis that are set together with a key, including itself."""
    rows = [[value for _, value in cell.settings] for cell in cells]
    number = len({row[axis] for row in rows})
    places = range(len(rows[0]))
    return [
        axis_number
        for axis_number in places
        if len({row[axis_number] for row in rows}) == number == len({(row[axis], row[axis_number]) for row in rows})
    ]


def _series_of(cell: MeasuredCell, tied_axes: Sequence[int]) -> str:
    return ", ".join(value for place, (_, value) in enumerate(cell.settings) if place not in tied_axes)


def _draw_lines(panels: Any, *, cells: Sequence[MeasuredCell], measures: Sequence[Measure], axis: int) -> drawing.Marks:
    tied_axes = _axes_tied_to(cells, axis)
    key = ", ".join(cells[0].settings[place][0] for place in (axis, *(each for each in tied_axes if each != axis)))
    names = list(dict.fromkeys(_series_of(cell, tied_axes) for cell in cells))
    looks = {
        name: {"color": color, "marker": marker, **_POINTS}
        for name, color, marker in zip(names, drawing.COLORS.values(), drawing.MARKERS, strict=False)
    }
    for axes, measure in _panels(panels.flat, measures):
        for name in names:
            series_cells = [
                cell for cell in cells if _series_of(cell, tied_axes) == name and measure.name in cell.best_summaries
            ]
            series_cells.sort(key=lambda cell: float(cell.settings[axis][1]))
            if series_cells:
                places = [float(cell.settings[axis][1]) for cell in series_cells]
                summaries = [cell.best_summaries[measure.name] for cell in series_cells]
                axes.errorbar(places, _means(series_cells, measure), yerr=_reach(summaries), **looks[name])
        places = sorted({float(cell.settings[axis][1]) for cell in cells})
        if places[0] > 0 and places[-1] >= _FOR_LOG * places[0]:
            axes.set_xscale("log")
        drawing.name_ticks(axes, places)
        drawing.clean(axes, title=title_of(measure.name), x=key)
        means = _means(cells, measure)
        if measure.is_share:
            drawing.percent_scale(axes)
        elif min(means) > 0 and max(means) >= _DECADES * min(means):
            drawing.log_scale(axes)
    lines = {name or "mean": look for name, look in looks.items()}
    marks = {name: {key: value for key, value in mark.items() if key != "capsize"} for name, mark in lines.items()}
    return {**marks, "bars: where the mean lies with 95 %": {"color": drawing.INK, "linewidth": 1.4}}


def _draw_rows(panels: Any, *, cells: Sequence[MeasuredCell], measures: Sequence[Measure]) -> drawing.Marks:
    names = [drawing.fold(", ".join(value for _, value in cell.settings)) for cell in cells]
    for number, (axes, measure) in enumerate(_panels(panels.flat, measures)):
        rows_with_summary = [
            (row, cell.best_summaries[measure.name])
            for row, cell in enumerate(cells)
            if measure.name in cell.best_summaries
        ]
        _draw_intervals(axes, [row for row, _ in rows_with_summary], [summary for _, summary in rows_with_summary])
        drawing.name_rows(axes, names if not number % panels.shape[1] else [""] * len(names), x="")
        axes.set_title(title_of(measure.name))
        if measure.is_share:
            drawing.percent_scale(axes, "x")
    return {"mean, and where it lies with 95 %": _INTERVAL}


def _panels(panels: Iterable[Any], measures: Sequence[Measure]) -> list[tuple[Any, Measure]]:
    """Return each measure with its panel, and hide unused panels."""
    free = list(panels)
    for axes in free[len(measures) :]:
        axes.set_visible(False)
    return list(zip(free, measures, strict=False))


def _draw_intervals(axes: Any, rows: Sequence[int], summaries: Sequence[MeasureSummary]) -> None:
    means = [summary.mean for summary in summaries]
    axes.errorbar(means, rows, xerr=_reach(summaries), linestyle="none", capsize=3, **_INTERVAL)


def _reach(summaries: Sequence[MeasureSummary]) -> list[list[float]]:
    """Return the distances of intervals' ends below and above their means; for positive measures, not below 0."""
    lengths_below = [max(summary.mean - summary.low, 0.0) for summary in summaries]
    if all(summary.mean > 0 for summary in summaries):
        lengths_below = [
            min(reach, _NEARLY * summary.mean) for reach, summary in zip(lengths_below, summaries, strict=True)
        ]
    return [lengths_below, [max(summary.high - summary.mean, 0.0) for summary in summaries]]
