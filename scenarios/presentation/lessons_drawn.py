"""What adversaries learnt, as a picture: panels one below the other, and small multiples side by side.

Bars lie in rows, so that their names can be read. What a proof rules out is a shaded region. Lines have their names
beside their ends; only panels that share a scale share a legend.
"""

import dataclasses
import functools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from ..adversaries.role import Figure, Lesson, Series
from . import drawing
from .numbers import capitalized

_COLORS: Final = tuple(drawing.COLORS.values())
_COLORS_OF_BARS: Final = (drawing.COLORS["sky"], drawing.COLORS["blue"], drawing.COLORS["orange"])
"""Where several stand in one row: what was, in a paler one, and what is."""
_HEIGHT_INCHES: Final = 2.7  # of a panel with lines
_SMALL_INCHES: Final = 1.45  # of one that stands beside others
_ROW_INCHES: Final = 0.3
_FRAME_INCHES: Final = 0.75  # of a panel with rows, beside them
_BELOW_INCHES: Final = 0.35
_LINE_INCHES: Final = 0.17  # what a label beside a line's end takes
_HEIGHT_OF_BARS: Final = 0.6
_MOST_TICKS: Final = 8  # places on a logarithmic axis that are each named
_SHARES: Final = (-0.04, 1.04)
_SHARE_TICKS: Final = (0, 0.25, 0.5, 0.75, 1)
_FEW_TICKS: Final = (0, 0.5, 1)
_CHARACTERS_OF_ROW: Final = 19
_GUESSING, _BOUND = "guessing", "bound"  # names of bars that a measured success stands between
_RULED_OUT: Final = "ruled out by proof"
_REGION: Final[dict[str, Any]] = {"color": drawing.BEYOND, "linewidth": 0, "zorder": 0}
_REGION_MARK: Final[dict[str, Any]] = {"color": drawing.BEYOND, "marker": "s", "markersize": 11, "linestyle": "none"}
_EDGE: Final[dict[str, Any]] = {"color": drawing.RULE, "linewidth": 1.0}


@dataclasses.dataclass(frozen=True)
class _Row:
    """Panels that stand side by side."""

    title: str
    figures: Sequence[Figure]

    @property
    def is_shared(self) -> bool:
        """Whether their scales and legend are those of other rows as well."""
        return bool(self.title)

    @property
    def height(self) -> float:
        """In inches."""
        if self.is_shared:
            return _SMALL_INCHES
        return _FRAME_INCHES + _height_of_rows(self.figures[0]) if _bars_of(self.figures[0]) else _HEIGHT_INCHES


def draw_lesson(lesson: Lesson, *, folder: Path, name: str, setting: str = "") -> list[Path]:
    """Draw a lesson's figures as panels of one picture, `name` with .svg and .png; nothing without matplotlib."""
    rows = _rows_of([_said(figure) for figure in lesson.figures])
    picture = drawing.Picture(
        draw=functools.partial(_draw, rows=rows),
        size=(drawing.WIDTH, sum(row.height for row in rows) + _BELOW_INCHES),
        panels=(len(rows), max(len(row.figures) for row in rows)),
        narrow_height=sum(row.height * len(row.figures) for row in rows) + _BELOW_INCHES,
    )
    title = f"{capitalized(lesson.role.replace('-', ' '))}: {lesson.who}"
    setting = lesson.setting or setting
    return drawing.save_picture(picture, folder=folder, name=name, title=title, setting=setting)


def _said(figure: Figure) -> Figure:
    """Return a panel in the language that is spoken; names of its bars are said where they are written."""
    said = {key: getattr(figure, key) for key in ("title", "x_label", "y_label", "row")}
    series = tuple(msgspec.structs.replace(each, name=each.name) for each in figure.series)
    return msgspec.structs.replace(figure, **said, series=series)


def _rows_of(figures: Sequence[Figure]) -> list[_Row]:
    """Return the panels as they stand; a figure without a row has one of its own."""
    named = {figure.row: [each for each in figures if each.row == figure.row] for figure in figures if figure.row}
    rows = [_Row(title, own) for title, own in named.items()]
    return [*rows, *(_Row("", [figure]) for figure in figures if not figure.row)]


def _bars_of(figure: Figure) -> list[Series]:
    return [series for series in figure.series if series.style == "bars"]


def _height_of_rows(figure: Figure) -> float:
    bars = _bars_of(figure)
    lines = max(drawing.fold(str(label)).count("\n") for label in bars[0].x)
    return len(bars[0].x) * (_ROW_INCHES + 0.13 * max(lines, len(bars) - 1))


def _draw(panels: Any, *, rows: Sequence[_Row]) -> drawing.Marks:
    grid = panels[0, 0].get_gridspec()
    is_narrow = grid.ncols < panels.shape[1]  # a phone's: all panels stand one below the other
    heights = [row.height for row in rows for _ in row.figures]
    if is_narrow:
        grid = panels[0, 0].figure.add_gridspec(len(heights), 1, height_ratios=heights)
    else:
        grid.set_height_ratios([row.height for row in rows])
    places = iter(range(len(heights)))
    shared = [figure for row in rows if row.is_shared for figure in row.figures]
    marks: dict[str, Mapping[str, Any]] = {}
    for place, (own, row) in enumerate(zip(panels, rows, strict=True)):
        if row.is_shared:
            is_last = place + 1 == len(rows) or not rows[place + 1].is_shared
            for number, (axes, figure) in enumerate(zip(own, row.figures, strict=False)):
                _draw_small(axes, figure, shared, is_first=is_narrow or not number, is_last=is_narrow or is_last)
                if is_narrow:
                    axes.set_subplotspec(grid[next(places), :])
                    axes.set_title(f"{row.title}: {figure.title}", fontsize=9, fontweight="normal", pad=3)
            for axes in own[len(row.figures) :]:
                axes.remove() if is_narrow else axes.set_visible(False)
            if not is_narrow:
                title = textwrap.fill(row.title, _CHARACTERS_OF_ROW)
                own[0].annotate(
                    title, (-0.2, 0.5), xycoords="axes fraction", ha="right", va="center", fontweight="bold"
                )
            for figure in shared:
                marks |= _styles(figure)
            marks |= _region_marks(shared)
        else:
            axes = own[0]
            for other in own[1:]:
                other.remove()
            axes.set_subplotspec(grid[next(places) if is_narrow else place, :])
            marks |= _draw_bars(axes, row.figures[0]) if _bars_of(row.figures[0]) else _draw_lines(axes, row.figures[0])
    if any(any(series.errors) for row in rows for figure in row.figures for series in figure.series):
        marks |= {drawing.WHISKERS: {"color": drawing.INK, "linewidth": 1.4}}
    return marks


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


def _plot(axes: Any, figure: Figure) -> None:
    """Draw all series of a panel with lines, and set its scales; regions reach to where these end."""
    styles = _styles(figure)
    for series in figure.series:
        if series.name in styles:
            bars = [drawing.ERRORS_SHOWN * error for error in series.errors]
            axes.errorbar(series.x, series.y, yerr=bars or None, capsize=2, elinewidth=1.2, **styles[series.name])
        elif series.style == "bound" and len({*series.y}) != 1:
            axes.plot(series.x, series.y, **_EDGE)
    if figure.is_share:
        axes.set_ylim(min(_SHARES[0], _lowest([figure])), _SHARES[1])
        drawing.name_ticks(axes, _SHARE_TICKS, "y")
    else:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high)
    top = axes.get_ylim()[1]
    for series in figure.series:
        if series.style == "bound" and len({*series.y}) == 1:
            axes.axhline(series.y[0], **_EDGE)
            axes.axhspan(series.y[0], top, **_REGION)
        elif series.style == "bound":
            axes.fill_between(series.x, series.y, top, **_REGION)
    if figure.is_log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")  # no powers of ten in a formula's type
        axes.set_xticks([], minor=True)
        places = sorted({x for series in figure.series for x in series.x if not isinstance(x, str)})
        if len(places) <= _MOST_TICKS:
            drawing.name_ticks(axes, places)  # what was measured, rather than powers of ten of which few are in sight


def _lowest(figures: Sequence[Figure]) -> float:
    """Return how far down anything reaches that is drawn of these panels, with its whisker."""
    places = [
        y - drawing.ERRORS_SHOWN * error
        for figure in figures
        for series in figure.series
        for y, error in zip(series.y, series.errors or [0.0] * len(series.y), strict=True)
    ]
    return min(places, default=0.0)


def _draw_lines(axes: Any, figure: Figure) -> drawing.Marks:
    """Draw a panel of its own: lines with their names beside them; points, of which there are many, with a legend."""
    _plot(axes, figure)
    drawing.clean(axes, title=figure.title, x=figure.x_label, y=figure.y_label, grid="y")
    styles = _styles(figure)
    points = [series.name for series in figure.series if series.style == "points"]
    if len(figure.series) > 1:
        ends = {
            drawing.fold(series.name): (series.y[-1], styles.get(series.name, _EDGE)["color"])
            for series in figure.series
            if series.y and series.name not in points
        }
        lines = 1 + max((name.count("\n") for name in ends), default=0)
        drawing.label_lines(axes, ends, gap=lines * _LINE_INCHES / (_HEIGHT_INCHES - _FRAME_INCHES))
    marks: dict[str, Mapping[str, Any]] = {name: styles[name] for name in points}
    return {**marks, **_region_marks([figure])}


def _draw_small(axes: Any, figure: Figure, shared: Sequence[Figure], *, is_first: bool, is_last: bool) -> None:
    """Draw one of many panels with the same scales: words only at the edges of all of them."""
    _plot(axes, figure)
    drawing.clean(axes, x=figure.x_label if is_last else "", y=figure.y_label if is_first else "", grid="y")
    if figure.is_share:
        axes.set_ylim(min(_SHARES[0], _lowest(shared)), _SHARES[1])
        drawing.name_ticks(axes, _FEW_TICKS, "y")
    else:
        heights = [y for each in shared for series in each.series for y in series.y]
        axes.set_ylim(min(0.0, _lowest(shared)), 1.05 * max(heights))
    axes.set_title(figure.title, fontsize=9, fontweight="normal", pad=3)
    axes.tick_params(labelleft=is_first, labelbottom=is_last)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(True)


def _region_marks(figures: Sequence[Figure]) -> drawing.Marks:
    has_bound = any(series.style == "bound" for figure in figures for series in figure.series)
    return {_RULED_OUT: _REGION_MARK} if has_bound else {}


def _draw_bars(axes: Any, figure: Figure) -> drawing.Marks:
    """Draw a panel whose bars lie in rows; a bar that is called a bound is a region, which no other reaches into."""
    bars = _bars_of(figure)
    labels = list(map(drawing.fold, list(map(str, bars[0].x))))
    width = _HEIGHT_OF_BARS / len(bars)
    marks: dict[str, Mapping[str, Any]] = {}
    said: list[list[str]] = [[] for _ in labels]
    bound: float | None = None
    for number, series in enumerate(bars):
        of_series = _COLORS_OF_BARS[number % len(_COLORS_OF_BARS)] if len(bars) > 1 else _color_of(series)
        if len(bars) > 1:
            marks[series.name] = {"color": of_series, "marker": "s", "markersize": 9, "linestyle": "none"}
        errors = series.errors or (0.0,) * len(series.y)
        for row, (label, length, error) in enumerate(zip(series.x, series.y, errors, strict=True)):
            height = row + (number + 0.5) * width - _HEIGHT_OF_BARS / 2
            if label == _BOUND:
                bound = length
            else:
                color = drawing.MUTED if label == _GUESSING else of_series
                axes.barh(height, length, height=width * 0.9, color=color, linewidth=0)
            if error:
                axes.errorbar(
                    length, height, xerr=drawing.ERRORS_SHOWN * error, color=drawing.INK, capsize=3, linewidth=1.4
                )
            said[row].append(f"{length:.3f}")
    for row, told in enumerate(said):
        drawing.annotate_row(axes, row, "\n".join(told), color=drawing.INK)
    axes.axvline(0, color=drawing.INK, linewidth=0.8)
    if figure.is_share:
        axes.set_xlim(0, _SHARES[1])
        drawing.name_ticks(axes, _SHARE_TICKS)
    if bound is not None:
        axes.axvline(bound, **_EDGE)
        axes.axvspan(bound, max(axes.get_xlim()[1], bound), **_REGION)
        marks[_RULED_OUT] = _REGION_MARK
    drawing.name_rows(axes, labels, x=figure.y_label)
    axes.set_title(figure.title)
    return marks
