"""What adversaries learnt, as a picture: panels one below the other, and small multiples side by side.

Bars lie in rows, so that their names can be read. What a proof rules out is a shaded region. Lines have their names
beside their ends; only panels that share a scale share a legend.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..adversaries.role import Figure, Lesson, Series
from . import drawing
from .charts import EDGES, Axis, Chart, Ends, Panel, save_chart
from .numbers import capitalized

_COLORS: Final = tuple(drawing.COLORS.values())
_COLORS_OF_BARS: Final = (drawing.COLORS["sky"], drawing.COLORS["blue"], drawing.COLORS["orange"])
"""Where several stand in one row: what was, in a paler one, and what is."""
_HEIGHT_INCHES: Final = 2.0  # of a panel with lines
_SMALL_INCHES: Final = 0.9  # of one that stands beside others
_ROW_INCHES: Final = 0.15
_BAR_INCHES: Final = 0.13  # for each bar of a row but the first
_HEIGHT_OF_BARS: Final = 0.6
_MOST_TICKS: Final = 8  # places on a logarithmic axis that are each named
_SHARES: Final = (-0.04, 1.04)
_SHARE_TICKS: Final = (0, 0.25, 0.5, 0.75, 1)
_FEW_TICKS: Final = (0, 0.5, 1)
_CHARACTERS_OF_ROW: Final = 19
_GUESSING, _BOUND = "guessing", "bound"  # names of bars that a measured success stands between
_RULED_OUT: Final = "ruled out by proof"
_REGION: Final[dict[str, Any]] = {"color": drawing.BEYOND, "level": 0.0}
_REGION_MARK: Final[dict[str, Any]] = {"color": drawing.BEYOND, "marker": "s", "markersize": 11, "linestyle": "none"}
_EDGE: Final[dict[str, Any]] = {"color": drawing.RULE, "linewidth": 1.0}


def draw_lesson(lesson: Lesson, *, folder: Path, name: str, setting: str = "") -> list[Path]:
    """Draw a lesson's figures as panels of one picture, `name` with .svg."""
    shared = [figure for figure in lesson.figures if figure.row]
    rows = dict.fromkeys(figure.row for figure in shared)
    ordered = [figure for row in rows for figure in shared if figure.row == row]
    marks: dict[str, Mapping[str, Any]] = {}
    panels = [
        _bars(figure, marks) if _bars_of(figure) else _lines(figure, shared if figure.row else [figure], marks)
        for figure in [*ordered, *(figure for figure in lesson.figures if not figure.row)]
    ]
    if any(any(series.errors) for figure in lesson.figures for series in figure.series):
        marks[drawing.WHISKERS] = {"color": drawing.INK, "linewidth": 1.4}
    title = f"{capitalized(lesson.role.replace('-', ' '))}: {lesson.who}"
    chart = Chart(panels=panels, marks=marks)
    return save_chart(chart, folder=folder, name=name, title=title, setting=lesson.setting or setting)


def _bars_of(figure: Figure) -> list[Series]:
    return [series for series in figure.series if series.style == "bars"]


def _style_of(series: Series, number: int) -> dict[str, Any]:
    """Return how a series is drawn that is neither a bound nor bars."""
    place = number if series.color is None else series.color
    style: dict[str, Any] = {
        "color": _color_of(series, number),
        "marker": drawing.MARKERS[place % len(drawing.MARKERS)],
    }
    style |= {"markersize": 4.5, "linewidth": 1.8}
    if series.style == "points":
        return {**style, "linestyle": "none"}
    return {**style, "linestyle": ":", "marker": "none"} if series.style == "reference" else style


def _color_of(series: Series, number: int = 0) -> str:
    return _COLORS[(number if series.color is None else series.color) % len(_COLORS)]


def _styles(figure: Figure) -> dict[str, dict[str, Any]]:
    """Return how each series is drawn, by its name; bounds have no color, and take none from the others."""
    drawn = [series for series in figure.series if series.style not in {"bound", "bars"}]
    return {series.name: _style_of(series, number) for number, series in enumerate(drawn)}


def _lines(figure: Figure, shared: Sequence[Figure], marks: dict[str, Mapping[str, Any]]) -> Panel:
    """Return a panel with lines, and explain what is not named beside them.

    Of many panels with the same scales the legend names all lines. In a panel of its own they have their names beside
    them; points, of which there are many, are in the legend.
    """
    styles = _styles(figure)
    points = [series.name for series in figure.series if series.style == "points"]
    if figure.row:
        marks |= styles
    else:
        marks |= {name: styles[name] for name in points}
    panel = Panel(
        title=figure.title,
        x=Axis(figure.x_label, is_log=figure.is_log, ticks=_ticks_of(figure)),
        y=Axis(figure.y_label, ends=_ends_of(shared) if figure.row or figure.is_share else None),
        height=_SMALL_INCHES if figure.row else _HEIGHT_INCHES,
        group=drawing.fold(figure.row, most=_CHARACTERS_OF_ROW),
    )
    if figure.is_share:
        panel.y.ticks = {tick: f"{tick:g}" for tick in (_FEW_TICKS if figure.row else _SHARE_TICKS)}
    for series in figure.series:
        x = [float(place) for place in series.x]
        if series.name in styles:
            panel.line(x, series.y, **styles[series.name])
            for at, error in zip(zip(x, series.y, strict=True), series.errors, strict=False):
                panel.whisker(at, error, is_upright=True, cap=4, color=styles[series.name]["color"], linewidth=1.2)
        elif series.style == "bound":
            is_level = len({*series.y}) == 1  # at every place, also beside the first and the last
            x, y = (EDGES, series.y[:1] * 2) if is_level else (x, series.y)
            panel.line(x, y, **_EDGE)
            panel.area((*x, *reversed(x)), (*y, *[math.inf] * len(y)), **_REGION)
            marks[_RULED_OUT] = _REGION_MARK
    if not figure.row and len(figure.series) > 1:
        panel.ends = {
            drawing.fold(series.name): (series.y[-1], styles.get(series.name, _EDGE)["color"])
            for series in figure.series
            if series.y and series.name not in points
        }
    return panel


def _ticks_of(figure: Figure) -> Mapping[float, str] | None:
    """Return what was measured on a logarithmic axis, rather than powers of ten of which few are in sight."""
    places = sorted({float(x) for series in figure.series for x in series.x})
    return {x: f"{x:g}" for x in places} if figure.is_log and len(places) <= _MOST_TICKS else None


def _ends_of(figures: Sequence[Figure]) -> Ends:
    """Return how far anything reaches that is drawn of these panels, with its whisker; shares at least from 0 to 1."""
    points = [
        (y, drawing.ERRORS_SHOWN * error)
        for figure in figures
        for series in figure.series
        for y, error in zip(series.y, series.errors or [0.0] * len(series.y), strict=True)
    ]
    low = min((y - reach for y, reach in points), default=0.0)
    if figures[0].is_share:
        return min(_SHARES[0], low), _SHARES[1]
    return min(0.0, low), 1.05 * max((y for y, _ in points), default=1.0)


def _bars(figure: Figure, marks: dict[str, Mapping[str, Any]]) -> Panel:
    """Return a panel whose bars lie in rows; a bar that is called a bound is a region, which no other reaches into."""
    bars = _bars_of(figure)
    labels = [drawing.fold(str(label)) for label in bars[0].x]
    panel = Panel(
        title=figure.title,
        x=Axis(figure.y_label),
        y=Axis(names=labels),
        height=_ROW_INCHES + _BAR_INCHES * (len(bars) - 1),
    )
    if figure.is_share:
        panel.x.ends, panel.x.ticks = (0.0, _SHARES[1]), {tick: f"{tick:g}" for tick in _SHARE_TICKS}
    width = _HEIGHT_OF_BARS / len(bars)
    said: list[list[str]] = [[] for _ in labels]
    for number, series in enumerate(bars):
        of_series = _COLORS_OF_BARS[number % len(_COLORS_OF_BARS)] if len(bars) > 1 else _color_of(series)
        if len(bars) > 1:
            marks[series.name] = {"color": of_series, "marker": "s", "markersize": 9, "linestyle": "none"}
        errors = series.errors or (0.0,) * len(series.y)
        for row, (label, length, error) in enumerate(zip(series.x, series.y, errors, strict=True)):
            height = row + (number + 0.5) * width - _HEIGHT_OF_BARS / 2
            if label == _BOUND:
                panel.line((length, length), EDGES, **_EDGE)
                panel.area((length, math.inf), EDGES, **_REGION)
                marks[_RULED_OUT] = _REGION_MARK
            else:
                color = drawing.MUTED if label == _GUESSING else of_series
                panel.bar(height, length, height=width * 0.9, color=color)
            panel.whisker((length, height), error)
            said[row].append(f"{length:.3f}")
    panel.beside = {row: ("\n".join(told), drawing.INK) for row, told in enumerate(said)}
    panel.line((0, 0), EDGES, color=drawing.INK, linewidth=0.8)
    return panel
