"""A run's picture as SVG: panels with areas, lines, marks and words in data coordinates.

It does not use matplotlib, whose import takes longer than most runs; styles have the names of matplotlib's options, as
in papers' pictures. Text widths are estimated from those of DejaVu Sans.
"""

import collections
import dataclasses
import functools
import html
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...transports.own_files import replace_private
from .drawing import (
    ERRORS_SHOWN,
    GRID,
    INK,
    INKS,
    MUTED,
    NARROW,
    NARROW_INCHES,
    WHITE,
    WIDTH,
    ChartFrame,
    Marks,
    NumberWithError,
    embeddable,
    frame_of,
    join_panel_words,
    spread_heights,
    wrap_short,
)
from .seals import seal

Ends: TypeAlias = tuple[float, float]

EDGES: Final = (-math.inf, math.inf)
"""Coordinates that span a panel from side to side."""
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_MARGIN: Final = 0.05
_ROUND: Final = 1e-9
_INCH: Final = 72.0  # an inch in points, the unit of all lengths here
_SIZE, _TITLE, _HEAD, _SMALL = 9.0, 10.0, 11.5, 8.5  # font sizes
_LINE, _BASE = 1.2, 0.95  # line spacing and baseline position, in font sizes
_LINE_INCHES: Final = 0.15
_BOLD: Final = 1.1  # relative width of bold text
_WIDE: Final = "%@MWmw±…"
_GAP: Final = 6.0
_HANDLE: Final = 18.0  # width of a mark in the legend
_MOST_TICKS: Final = {WIDTH: 9, NARROW_INCHES: 5}
_UPRIGHT: Final = 18.0  # height of a tick label beside a panel
_GRID: Final = {"color": GRID, "linewidth": 0.8}
_DASHES: Final = {"--": "; stroke-dasharray: 5 2.4", ":": "; stroke-dasharray: 1.5 2.5"}
_CORNERS: Final = {
    "s": "-1 -1 1 -1 1 1 -1 1",
    "D": "0 -1.41 1.41 0 0 1.41 -1.41 0",
    "^": "0 -1 1 1 -1 1",
    "v": "0 1 1 -1 -1 -1",
    "P": ".33 .33 1 .33 1 -.33 .33 -.33 .33 -1 -.33 -1 -.33 -.33 -1 -.33 -1 .33 -.33 .33 -.33 1 .33 1",
    "X": ".5 0 1 .5 .5 1 0 .5 -.5 1 -1 .5 -.5 0 -1 -.5 -.5 -1 0 -.5 .5 -1 1 -.5",
    "|": "0 -1 0 1",
    "_": "-1 0 1 0",
}
"""Corners of each mark except the circle, in half sizes."""
_NEAR: Final = 0.5  # pale marks within this distance are merged into one, with their joint opacity
_HATCH: Final = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">'
    f'<path d="M-1 1L1 -1M0 6L6 0M5 7L7 5" style="stroke: {WHITE}; stroke-width: 1"/></pattern>'
)


@dataclasses.dataclass(frozen=True)
class Shape:
    """An area between points, or a line with marks at them.

    Examples:
        >>> Shape([(0.0, 0.0), (1.0, 2.0)], {"color": INK}).is_area
        False
    """

    points: Sequence[tuple[float, float]]
    style: Mapping[str, Any]
    level: float = 2.0  # drawing order: higher levels cover lower ones
    is_area: bool = False


@dataclasses.dataclass
class Axis:
    """An axis of a panel.

    Examples:
        >>> list(Axis(ends=(0.0, 1.0), is_share=True).words(5).values())
        ['0 %', '20 %', '40 %', '60 %', '80 %', '100 %']
    """

    label: str = ""
    names: Sequence[str] = ()  # names of rows at 0, 1, …, the first at the top
    ends: Ends | None = None  # by default, all that is drawn, with a margin
    ticks: Mapping[float, str] | None = None  # by default, as many round numbers as fit
    is_share: bool = False  # whether labels are in percent
    least_step: float = 0.0  # least step between ticks
    seen: list[float] = dataclasses.field(default_factory=list[float])
    base: float = math.nan  # base of bars, where there is no margin

    @property
    def reach(self) -> Ends:
        """The visible range."""
        if self.names:
            return len(self.names) - 0.5, -0.5
        if self.ends is not None:
            return self.ends
        low, high = (end(self.seen, default=1.0) for end in (min, max))
        room = _MARGIN * (high - low) or abs(low) or 1.0
        return low - room * (low != self.base), high + room * (low == high or high != self.base)

    def words(self, max_ticks: int) -> Mapping[float, str]:
        """Return the labels of the axis by position: at most `most` round numbers."""
        if self.names:
            return dict(enumerate(self.names))
        if self.ticks is not None:
            return self.ticks
        low, high = self.reach
        min_step = max((high - low) / max_ticks, self.least_step)
        power = 10.0 ** math.floor(math.log10(min_step))
        step = next(step * power for step in _STEPS if step * power >= min_step * (1 - _ROUND))
        places = (step * place for place in range(math.ceil(low / step - _ROUND), math.floor(high / step + _ROUND) + 1))
        unit, sign = (100, " %") if self.is_share else (1, "")
        decimals = len(f"{unit * step:.12f}".rstrip("0").partition(".")[2])
        return {place: f"{unit * place:,.{decimals}f}{sign}".replace("-", "−") for place in places}


@dataclasses.dataclass(kw_only=True)
class Panel:
    """A panel of a chart.

    Args:
        height: in inches; with rows, of each row in addition to the lines of its name.
        beside: texts next to rows, and their colors.
        above: names of vertical lines.
        ends: lines' names with their last values and colors.
        strong: colors of highlighted names of rows.

    Examples:
        >>> panel = Panel(title="Support", y=Axis(names=["roof"]))
        >>> panel.bar(0, 2.0, height=0.5)
        >>> panel.x.reach
        (0.0, 2.1)
    """

    title: str = ""
    x: Axis = dataclasses.field(default_factory=Axis)
    y: Axis = dataclasses.field(default_factory=Axis)
    height: float = 0.25
    shapes: list[Shape] = dataclasses.field(default_factory=list[Shape])
    beside: dict[int, tuple[str, str]] = dataclasses.field(default_factory=dict[int, tuple[str, str]])
    above: dict[float, str] = dataclasses.field(default_factory=dict[float, str])
    ends: Mapping[str, tuple[float, str]] = dataclasses.field(default_factory=dict[str, tuple[float, str]])
    strong: dict[int, str] = dataclasses.field(default_factory=dict[int, str])

    def area(self, x: Sequence[float], y: Sequence[float], *, level: float = 1.0, **style: Any) -> None:
        """Draw an area: a rectangle between two points, or a polygon of more points."""
        if len(x) == len(EDGES):
            x, y = (x[0], x[1], x[1], x[0]), (y[0], y[0], y[1], y[1])
        self._draw(x, y, style, level, is_area=True)

    def bar(self, row: float, length: float, *, height: float, start: float = 0.0, **style: Any) -> None:
        """Draw a horizontal bar."""
        self.x.base = start
        self.area((start, start + length), (row - height / 2, row + height / 2), **style)

    def line(self, x: Sequence[float], y: Sequence[float], *, level: float = 2.0, **style: Any) -> None:
        """Draw a line, with or without marks, or only marks."""
        self._draw(x, y, style, level)

    def mark(self, x: float, y: float, **style: Any) -> None:
        """Draw a mark."""
        self.line((x,), (y,), **{"level": 4.0, **style})

    def measured(self, measurement: NumberWithError, row: float, **style: Any) -> None:
        """Draw a number with its error bar in a row."""
        self.whisker((measurement.value, row), measurement.standard_error, **style)
        self.mark(measurement.value, row, **style)

    def whisker(self, ends: Ends, error: float, *, is_upright: bool = False, cap: float = 6, **style: Any) -> None:
        """Draw an error bar: two standard errors to either side."""
        (x, y), reach = ends, ERRORS_SHOWN * error
        across, up, marker = (0.0, reach, "_") if is_upright else (reach, 0.0, "|")
        line_style = {"color": style.get("color", INK), "linewidth": style.get("linewidth", 1.4)}
        if reach:
            self.line(
                (x - across, x + across), (y - up, y + up), level=3.0, marker=marker, markersize=cap, **line_style
            )

    def _draw(
        self, x: Sequence[float], y: Sequence[float], style: Mapping[str, Any], level: float, *, is_area: bool = False
    ) -> None:
        self.x.seen += filter(math.isfinite, x)
        self.y.seen += filter(math.isfinite, y)
        points = [
            point for point in zip(x, y, strict=True) if not any(map(math.isnan, point))
        ]  # other points are not finite
        if points:
            self.shapes.append(Shape(points, style, level, is_area))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
    """A run's picture.

    Args:
        panels: the panels from top to bottom.
        marks: the legend's entries.
        title: the text that continues the run's title.
        setting: an addition to the run's setting, in small type below the title.
        note: an explanation in small type below the panels.

    Examples:
        >>> chart = Chart(panels=[Panel(title="Support")], title="A vote")
        >>> [panel.title for panel in chart.panels]
        ['Support']
    """

    panels: Sequence[Panel]
    marks: Marks = dataclasses.field(default_factory=dict[str, Mapping[str, Any]])
    title: str = ""
    setting: str = ""
    note: str = ""


def save_chart(chart: Chart, *, folder: Path, name: str, title: str = "", setting: str = "") -> list[Path]:
    """Draw a chart as `<name>.svg`, and in a narrow version for phones; `title` and `setting` precede its own.

    Returns:
        The file of the wide version.
    """
    words = {"title": title + chart.title, "setting": " · ".join(filter(None, (setting, chart.setting)))}
    sentences = [words["setting"], *map(_describe_panel, chart.panels), chart.note]
    metadata = {
        "title": words["title"],
        "description": " ".join(f"{each.removesuffix('.')}." for each in sentences if each),
    }
    paths = [folder / f"{name}.svg", folder / f"{name}{NARROW}.svg"]
    for path, drawn_chart, width in zip(paths, (chart, _narrow(chart)), _MOST_TICKS, strict=True):
        frame = frame_of(list(drawn_chart.marks), width, note=chart.note, **words)
        replace_private(path, embeddable(_SvgSheet(width).draw(drawn_chart, frame), **metadata).encode())
    seal(folder, paths)
    return paths[:1]


def _describe_panel(panel: Panel) -> str:
    """Return a panel's texts in words, as a description for screen readers."""
    rows = (f"{panel.y.names[row]}: {words}" for row, (words, _) in panel.beside.items())
    return join_panel_words([panel.title, panel.x.label, panel.y.label, *rows, *panel.above.values(), *panel.ends])


def _narrow(chart: Chart) -> Chart:
    """Return a chart with short lines; texts next to rows move below the rows' names."""
    panels: list[Panel] = []
    for panel in chart.panels:
        names_with_notes = [f"{name}\n{panel.beside.get(row, ('',))[0]}" for row, name in enumerate(panel.y.names)]
        panels.append(
            dataclasses.replace(
                panel,
                title=wrap_short(panel.title),
                x=dataclasses.replace(panel.x, label=wrap_short(panel.x.label)),
                y=dataclasses.replace(panel.y, names=[wrap_short(name, is_name=True) for name in names_with_notes]),
                ends={wrap_short(name, is_name=True): end for name, end in panel.ends.items()},
                beside={},
            )
        )
    return dataclasses.replace(chart, panels=panels, marks={wrap_short(key): mark for key, mark in chart.marks.items()})


def _width(text: str) -> float:
    return _SIZE * max(sum(map(_width_of, line)) for line in text.split("\n"))


def _width_of(character: str) -> float:
    """Return a character's approximate width, in font sizes."""
    if character in _WIDE or unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.76 if character.isupper() else 0.58


def _height(text: str, size: float = _SIZE) -> float:
    return _LINE * size * (1 + text.count("\n")) if text else 0.0


def _height_of(panel: Panel) -> float:
    """Return the height of a panel's drawing."""
    names, num_lines = (
        max((1 + each.count("\n") for each in texts), default=0) for texts in (panel.y.names, _said(panel))
    )
    row = max(panel.height + _LINE_INCHES * names, _LINE_INCHES * (num_lines + 0.3))
    return _INCH * row * (len(panel.y.names) or 1)


def _said(panel: Panel) -> list[str]:
    """Return the texts at the right of a panel."""
    return [*panel.ends, *(words for words, _ in panel.beside.values())]


def _notes_of_rows(panel: Panel) -> Mapping[float, str]:
    """Return the texts at the left of a panel."""
    return panel.y.words(max(int(_height_of(panel) / _UPRIGHT), 1))


def _height_below(panel: Panel) -> float:
    """Return the height of tick labels below a panel."""
    return max(map(_height, panel.x.words(1).values()), default=0.0)


def _width_left(panel: Panel) -> float:
    """Return the width of labels and names at the left of a panel."""
    label = _height(panel.y.label) + _GAP * bool(panel.y.label)
    names = max(map(_width, _notes_of_rows(panel).values())) * (_BOLD if panel.strong else 1.0)
    return label + names + 2 * _GAP


def _right_of(panel: Panel) -> float:
    return max(map(_width, ["", *_said(panel)])) + 3 * _GAP


def _place(value: float, reach: Ends, start: float, end: float) -> float:
    """Return a value's position; values outside the range are at an edge."""
    low, high = reach
    part = float(value > 0) if math.isinf(value) else (value - low) / (high - low)
    return start + (end - start) * min(max(part, 0.0), 1.0)


class _SvgSheet:
    """An SVG of the width of a page or a phone, written from top to bottom."""

    def __init__(self, width: float) -> None:
        self._parts: list[str] = []
        self._width, self._most_ticks = width * _INCH, _MOST_TICKS[width]

    def draw(self, chart: Chart, frame: ChartFrame) -> str:
        """Return the SVG of a chart with its texts above and below the panels."""
        top = _GAP
        for text, size, color in ((frame.head, _HEAD, INK), (frame.small, _SMALL, MUTED)):
            self._write(text, _GAP, top, size=size, color=color, is_bold=color == INK)
            top += _height(text, size)
        left_margin, right = (max(map(side, chart.panels)) for side in (_width_left, _right_of))
        span = self._width - left_margin - right + _GAP
        for panel in chart.panels:
            top += _height(panel.title, _TITLE) + _height("x") * bool(panel.above) + 2 * _GAP
            bottom = top + _height_of(panel)
            self._draw_panel(panel, (left_margin, top, left_margin + span - _GAP, bottom))
            top = bottom + _GAP + (_height_below(panel) + _height(panel.x.label))
        top = self._draw_legend(chart.marks, frame.columns, top + _GAP)
        self._write(frame.foot, _GAP, top, size=_SMALL, color=MUTED)
        size = f"{self._width:.1f}", f"{top + _height(frame.foot, _SMALL) + _GAP:.1f}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}pt" height="{size[1]}pt" '
            f'viewBox="0 0 {size[0]} {size[1]}">\n<path d="M0 0H{size[0]}V{size[1]}H0Z" style="fill: {WHITE}"/>\n'
            + "\n".join([*self._parts, "</svg>\n"])
        )

    def _draw_panel(self, panel: Panel, box: tuple[float, float, float, float]) -> None:
        left, top, right, bottom = box
        across = functools.partial(_place, reach=panel.x.reach, start=left, end=right)
        up = functools.partial(_place, reach=panel.y.reach, start=bottom, end=top)
        max_ticks = self._most_ticks
        while sum(_width(words) + _GAP for words in panel.x.words(max_ticks).values()) > right - left and max_ticks > 1:
            max_ticks -= 1
        ticks = panel.x.words(max_ticks)
        notes = _notes_of_rows(panel)
        lines = [[(tick, end) for end in EDGES] for tick in ticks if panel.y.names]
        lines += [[(end, tick) for end in EDGES] for tick in notes if not panel.y.names]
        grid = [Shape(line, _GRID, 0.5) for line in lines]
        for shape in sorted([*grid, *panel.shapes], key=lambda shape: shape.level):
            self._draw(shape.style, [(across(x), up(y)) for x, y in shape.points], is_area=shape.is_area)
        self._draw({"color": MUTED, "linewidth": 0.8}, [(left, bottom), (right, bottom)])
        y = top - _GAP - _height("x") * bool(panel.above)
        self._write(panel.title, left, y, rise=1, size=_TITLE, is_bold=True)
        for place, words in panel.above.items():
            self._write(words, across(place), top - 2, rise=1, anchor="middle")
        for place, words in ticks.items():
            self._draw({"linewidth": 0.8}, [(across(place), bottom), (across(place), bottom + _GAP / 2)])
            self._write(words, across(place), bottom + _GAP, anchor="middle")
        self._write(panel.x.label, (left + right) / 2, bottom + _GAP + _height_below(panel), anchor="middle")
        for place, words in notes.items():
            color = panel.strong.get(int(place), INK)
            self._write(words, left - _GAP, up(place), rise=0.5, color=color, anchor="end", is_bold=color != INK)
        if panel.y.label:
            x, y = left - _GAP - max(map(_width, notes.values())) - _GAP, (top + bottom) / 2
            turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"'
            self._write(panel.y.label, x, y, rise=1, anchor="middle", attributes=turn)
        for row, (words, color) in panel.beside.items():
            self._write(words, right + _GAP, up(row), rise=0.5, color=color)
        ends = {name: bottom - up(value) for name, (value, _) in panel.ends.items()}
        gap = max((_height(name, _SMALL) for name in ends), default=0.0)
        for name, height in spread_heights(ends, gap, bottom - top).items():
            color = INKS.get(panel.ends[name][1], panel.ends[name][1])
            self._write(name, right + _GAP, bottom - height, rise=0.5, color=color, size=_SMALL, is_bold=True)

    def _write(
        self,
        text: str,
        x: float,
        y: float,
        *,
        rise: float = 0.0,  # the part of the text above that height
        size: float = _SIZE,
        color: str = INK,
        anchor: str = "start",
        is_bold: bool = False,
        attributes: str = "",
    ) -> None:
        if not attributes:  # keep the text within the picture
            width = _width(text) * size / _SIZE * (_BOLD if is_bold else 1.0)
            width_before = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * width
            x = max(_GAP + width_before, min(x, self._width - width + width_before))
        style = f"font-size: {size}px; font-family: 'DejaVu Sans'; fill: {color}; text-anchor: {anchor}"
        style += "; font-weight: bold" * is_bold
        for number, line in enumerate(text.split("\n") if text else ()):
            baseline = y - rise * _height(text, size) + size * (_BASE + _LINE * number)
            words = html.escape(line, quote=False)
            self._parts.append(f'<text x="{x:.1f}" y="{baseline:.1f}"{attributes} style="{style}">{words}</text>')

    def _draw(self, style: Mapping[str, Any], places: Sequence[tuple[float, float]], *, is_area: bool = False) -> None:
        """Draw an area, or a line with marks."""
        color, alpha, width = style.get("color", INK), style.get("alpha", 1.0), style.get("linewidth", 1.5)
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        line, kind = style.get("linestyle", "-"), style.get("marker", "none")
        elements: list[tuple[str, str, float]] = []
        if is_area:
            elements.append((f"{path}Z", f"fill: {color}; stroke: {style.get('edge', 'none')}", alpha))
        elif line != "none" and len(places) > 1:
            elements.append((path, f"fill: none; stroke: {color}; stroke-width: {width}{_DASHES.get(line, '')}", alpha))
        if kind != "none":
            fill, edge = (style.get(key, color).replace("white", WHITE) for key in ("mfc", "mec"))
            look = f"fill: {fill}; stroke: {edge}; stroke-width: {style.get('mew', 1.0)}"
            elements += (
                (marks, look, alpha_of_mark)
                for marks, alpha_of_mark in _marks(kind, style.get("markersize", 6) / 2, places, alpha)
            )
        if style.get("hatch"):
            self._parts.append(_HATCH)
            elements.append((f"{path}Z", "fill: url(#hatch)", 1.0))
        for shape, look, opacity in elements:
            self._parts.append(f'<path d="{shape}" style="{look}{f"; opacity: {opacity}" * (opacity < 1)}"/>')

    def _draw_legend(self, marks: Marks, columns: Sequence[Sequence[str]], top: float) -> float:
        """Draw the legend, column by column; return its end."""
        row_left, ends = _GAP, [top]
        for column in columns:
            y = top
            for label in column:
                middle, style = y + _height("x") / 2, marks[label]
                self._draw({**style, "marker": "none"}, [(row_left, middle), (row_left + _HANDLE, middle)])
                self._draw({**style, "linestyle": "none"}, [(row_left + _HANDLE / 2, middle)])
                self._write(label, row_left + _HANDLE + _GAP, y)
                y += _height(label) + _GAP / 2
            row_left += _HANDLE + 3 * _GAP + max(map(_width, column))
            ends.append(y + _GAP / 2)
        return max(ends)


def _marks(kind: str, half: float, places: Sequence[tuple[float, float]], alpha: float) -> Iterator[tuple[str, float]]:
    """Yield marks with their opacity; pale marks at one position are merged into a darker one."""
    min_distance = _NEAR if alpha < 1 else 0.1
    numbers = collections.Counter(
        (min_distance * round(x / min_distance), min_distance * round(y / min_distance)) for x, y in places
    )
    for number in sorted(set(numbers.values())):
        paths = (_mark(kind, x, y, half) for (x, y), own in numbers.items() if own == number)
        yield "".join(paths), round(1 - (1 - alpha) ** number, 3)


def _mark(kind: str, x: float, y: float, half: float) -> str:
    if kind == "o":
        return f"M{x - half:.1f} {y:.1f}a{half} {half} 0 1 0 {2 * half} 0a{half} {half} 0 1 0 {-2 * half} 0Z"
    numbers = [half * float(number) for number in _CORNERS[kind].split()]
    corners = [f"{round(x + a, 1):g} {round(y + b, 1):g}" for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
    return "M" + "L".join(corners) + "Z" * (len(corners) > 2)  # noqa: PLR2004  a line has no inside
