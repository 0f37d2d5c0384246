"""Draw a paper's figures, which `page.toml` declares: panels with series of rows.

A series draws one number of its rows (`y`) over another (`x`), with one line for each value of `by`, in a named style
(`STYLES`). A value has the same color and mark in all figures.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ..presentation.drawing import (
    COLORS,
    ERRORS_SHOWN,
    INK,
    MARKERS,
    MUTED,
    Marks,
    Picture,
    clean,
    draw_measured,
    label_lines,
    log_scale,
    name_ticks,
    percent_scale,
)
from .comparing import Row, Tables, select, written
from .measurements import Measurement

_POINT: Final[dict[str, Any]] = {"markersize": 4, "elinewidth": 0.9}
STYLES: Final[Mapping[str, dict[str, Any]]] = {
    "points": {**_POINT, "linestyle": "none"},
    "curve": {**_POINT, "linewidth": 1.4},
    "line": {"linewidth": 1.4, "marker": ""},
    "dashed": {"linewidth": 1.4, "marker": "", "linestyle": "--"},
    "dotted": {"linewidth": 1.4, "marker": "", "linestyle": ":"},
    "published": {"marker": "D", "markersize": 6.5, "linestyle": "none", "mfc": "none", "mew": 0.9, "zorder": 4},
}
"""Styles of series; in `points` and `curve`, numbers with errors have error bars."""
_APART: Final = 0.15  # vertical offset of lines, as a fraction of the distance of two names
_RULE: Final[dict[str, Any]] = {"color": INK, "linewidth": 0.8, "linestyle": ":"}


class PlotSeries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows that a panel draws in one style.

    Args:
        rows: table and conditions, as in `comparing.select`; rows without the number are skipped. x, y: fields. If `y`
        has names, they label the vertical axis from top to bottom, and lines are slightly offset.
        by: a field with a line for each of its values; empty for a single line.
        style: a key of `STYLES`.
        legend: the meaning of the style, if the legend needs it.
        ends: whether lines are labeled at their ends, instead of in the legend.
    """

    rows: str
    x: str
    y: str
    by: str = ""
    style: str = "points"
    legend: str = ""
    ends: bool = False


class FigurePanel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure's panel.

    Args:
        title, x, y: the title and the axes' labels.
        series: the series that it draws.
        log: which axes are logarithmic: "x", "y" or "xy".
        percent: whether the number is a fraction, shown in percent.
        limits: limits of the vertical axis.
        ticks: ticks of the horizontal axis.
        marked: heights of horizontal dotted lines.
        zero: whether there is a vertical dotted line at x = 0.
    """

    title: str
    x: str
    y: str
    series: Sequence[PlotSeries]
    log: str = ""
    percent: bool = False
    limits: tuple[float, float] | None = None
    ticks: Sequence[float] = ()
    marked: Sequence[float] = ()
    zero: bool = False


class Figure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure with its panels.

    Args:
        name: the stem of its files' names. title, setting: texts above the panels; `{run}` stands for the run's facts.
        caption: the caption on the page.
        size: width and height, in inches.
        shape: numbers of rows and columns of panels.
        panels: the panels, row by row.
    """

    name: str
    title: str
    caption: str
    size: tuple[float, float]
    panels: Sequence[FigurePanel]
    setting: str = ""
    shape: tuple[int, int] = (1, 1)


def figure_of(
    figure: Figure,
    tables: Tables,
    colors: Mapping[str, Mapping[str, str]],
    name_value: Callable[[str, str], str],
    run: Any,
) -> Picture:
    """Return a function that draws a figure.

    Args:
        figure: the figure's declaration.
        tables: all tables of rows.
        colors: names of colors (`drawing.COLORS`) by field and value.
        name_value: maps a field and a value to the value's name.
        run: the text for `{run}`.
    """
    return Picture(
        draw=functools.partial(_draw, figure, tables, colors, name_value),
        size=figure.size,
        panels=figure.shape,
        title=figure.title.format(run=run),
        setting=figure.setting.format(run=run),
    )


def has_rows(figure: Figure, tables: Tables) -> bool:
    """Return whether each of a figure's panels has rows to draw."""
    return all(any(select(tables, series.rows) for series in panel.series) for panel in figure.panels)


def _draw(figure: Figure, tables: Tables, colors: Any, name_value: Callable[[str, str], str], panels: Any) -> Marks:
    marks: dict[str, dict[str, Any]] = {}
    for axes, panel in zip(panels.flat, figure.panels, strict=True):
        clean(axes, title=panel.title, x=panel.x, y=panel.y)
        names = _names(panel, tables)
        ends: dict[str, tuple[float, str]] = {}
        for series in panel.series:
            style = STYLES[series.style]
            for number, (value, mark, rows) in enumerate(_lines(series, tables)):
                color = _color_of(colors, series.by, value) if series.by else INK
                marker_style = {"marker": mark, **style, "mec" if style.get("mfc") else "color": color}
                if names:
                    _plot_across(axes, rows, series, marker_style, names, number)
                else:
                    _plot(axes, rows, series, marker_style)
                name = name_value(series.by, value)
                if series.ends:
                    ends[name] = (_height(rows[-1][series.y]), color)
                elif series.by and series.style != "published":
                    marks.setdefault(name, marker_style)
            if series.legend:
                grey = {"mec" if style.get("mfc") else "color": MUTED if series.by else INK}
                marks.setdefault(series.legend, {"marker": "o", **style, **grey})
        _scale(axes, panel, names)
        label_lines(axes, ends)
    return marks


def _lines(series: PlotSeries, tables: Tables) -> Iterator[tuple[str, str, list[Row]]]:
    """Yield each line's value, mark and rows."""
    rows = [row for row in select(tables, series.rows) if row[series.y] is not None]
    values = dict.fromkeys(written(row[series.by]) for row in rows) if series.by else [""]
    for number, value in enumerate(values):
        series_rows = [row for row in rows if not series.by or written(row[series.by]) == value]
        yield value, MARKERS[number % len(MARKERS)], series_rows


def _color_of(colors: Mapping[str, Mapping[str, str]], field: str, value: str) -> str:
    colors_of_values = colors.get(field, {})
    return COLORS.get(colors_of_values.get(value, ""), MUTED)


def _height(value: Any) -> float:
    return value.value if isinstance(value, Measurement) else value


def _plot(axes: Any, rows: Sequence[Row], series: PlotSeries, style: Mapping[str, Any]) -> None:
    places, heights = [row[series.x] for row in rows], [row[series.y] for row in rows]
    if "elinewidth" in style:
        exact = [each if isinstance(each, Measurement) else Measurement(each, 0.0) for each in heights]
        draw_measured(axes, places, exact, **style)
    else:
        axes.plot(places, list(map(_height, heights)), **style)


def _names(panel: FigurePanel, tables: Tables) -> list[str]:
    """Return the names at the vertical axis; empty if it has numbers."""
    values_found = (row[series.y] for series in panel.series for row in select(tables, series.rows))
    return list(dict.fromkeys(each for each in values_found if isinstance(each, str)))


def _plot_across(
    axes: Any, rows: Sequence[Row], series: PlotSeries, style: Mapping[str, Any], names: Sequence[str], number: int
) -> None:
    """Draw numbers with their errors next to names; lines are offset downwards by their number."""
    errors = [ERRORS_SHOWN * row[series.x].standard_error for row in rows]
    heights = [names.index(row[series.y]) + _APART * number for row in rows]
    axes.errorbar([row[series.x].value for row in rows], heights, xerr=errors, **style)


def _scale(axes: Any, panel: FigurePanel, names: Sequence[str]) -> None:
    if "x" in panel.log:
        axes.set_xscale("log")
    if "y" in panel.log:
        log_scale(axes)
    if panel.limits:
        axes.set_ylim(*panel.limits)
    if panel.ticks:
        name_ticks(axes, panel.ticks)
    if names:
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
    if panel.percent:
        percent_scale(axes, "x" if names else "y")
    for height in panel.marked:
        axes.axhline(height, **_RULE)
    if panel.zero:
        axes.axvline(0, **_RULE)
