"""The frame of every picture, a run's or a paper's: style, palette, title, legend, panels, files.

matplotlib is optional, and imported late: it takes longer than most runs.
"""

import dataclasses
import importlib
import math
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

__all__ = [
    "COLORS",
    "ERRORS_SHOWN",
    "GOOD",
    "INK",
    "MOST_ROWS",
    "MUTED",
    "POOR",
    "RULE",
    "TRUTH",
    "WHISKERS",
    "WIDTH",
    "Marks",
    "Measured",
    "Picture",
    "annotate_row",
    "clean",
    "draw_measured",
    "fold",
    "label_line_ends",
    "label_lines",
    "log_scale",
    "name_rows",
    "name_ticks",
    "percent_scale",
    "save_picture",
    "save_pictures",
    "size_of_rows",
]

INK: Final = "#1f2933"
MUTED: Final = "#7b8794"
RULE: Final = "#52606d"
GOOD: Final = "#2a7f62"
POOR: Final = "#b3423a"
_GRID: Final = "#e4e7eb"
COLORS: Final = {
    "blue": "#0072b2",
    "orange": "#d55e00",
    "green": "#009e73",
    "purple": "#aa4499",
    "sky": "#56b4e9",
    "gold": "#b8860b",
}
"""Told apart by color-blind readers too (after Okabe and Ito, 2008)."""

ERRORS_SHOWN: Final = 2
"""Standard errors that a whisker reaches: some 95 % of all runs on the same inputs give an estimate so near the truth.

± is one standard error wherever it is written, as in the files. Whiskers are compared by eye, with each other and with
lines, and that is fair where they cover the truth as a rule; a picture says what they are in words, without ±.
"""
WHISKERS: Final = f"whiskers: {ERRORS_SHOWN} standard errors"
"""What a picture says of them."""

MOST_ROWS: Final = 40
"""A picture of more of them says nothing; the table has them all."""

Marks: TypeAlias = Mapping[str, Mapping[str, Any]]
"""What a legend explains, by its label: options of a plotted line."""

TRUTH: Final[dict[str, Any]] = {
    "marker": "D",
    "markersize": 6,
    "mfc": "white",
    "mec": INK,
    "zorder": 4,
    "linestyle": "none",
}
"""How what is true is marked, beside estimates."""

WIDTH: Final = 8.0
"""Of a run's picture, in inches."""
_CHARACTERS_OF_NAME: Final = 28
_CHARACTERS_OF_TITLE: Final = 10
"""In an inch of the picture's width; a longer title goes on in the next line."""
_MARKS_IN_LINE: Final = 3
"""Of a legend as wide as a run's picture; a wider one has twice as many."""
_STYLE: Final = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "psephos",
    "text.parse_math": False,  # a name may hold any number of dollars
}
_DOTS_PER_INCH: Final = 160
_WRITTEN_OUT: Final = 3
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Picture:
    """What is drawn inside the frame.

    Args:
        draw: called with the panels, an array of matplotlib's axes; returns what the legend explains.
        size: in inches.
        panels: rows and columns of them.
        title: one line; of a run's outcome, how the run's own title goes on.
    """

    draw: Callable[[Any], Marks | None]
    size: tuple[float, float]
    panels: tuple[int, int] = (1, 1)
    title: str = ""


class Measured(Protocol):
    """A number with its standard error."""

    @property
    def value(self) -> float:
        """The number."""
        ...

    @property
    def standard_error(self) -> float:
        """Its error."""
        ...


def save_picture(picture: Picture, *, folder: Path, name: str, title: str = "") -> list[Path]:
    """Draw a picture as `<name>.svg` and `<name>.png`.

    Args:
        picture: what is drawn.
        folder: where to.
        name: the files', without what they end with.
        title: stands before the picture's own.

    Returns:
        The files; none where matplotlib is not installed.
    """
    try:
        mpl: Any = importlib.import_module("matplotlib")  # by name: its types are partly unknown to checkers
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        return []
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes in the PNG; a reader's own font draws it in the SVG.
        warnings.filterwarnings("ignore", r"Glyph \d+ |Matplotlib currently does not support", UserWarning)
        figure = figures.Figure(figsize=picture.size, layout="constrained")
        folded = textwrap.fill(title + picture.title, int(_CHARACTERS_OF_TITLE * picture.size[0]))
        figure.suptitle(folded, x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
        panels = figure.subplots(*picture.panels, squeeze=False)
        if marks := picture.draw(panels):
            for label, mark in marks.items():
                style = {key: value for key, value in mark.items() if key != "elinewidth"}  # no plotted line has it
                panels[0, 0].plot([], [], label=label, **style)
            columns = _MARKS_IN_LINE * (2 if picture.size[0] > WIDTH else 1)
            figure.legend(loc="outside lower left", ncols=columns, frameon=False, fontsize=9)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=_DOTS_PER_INCH, metadata={"Software": None})
    return paths


def save_pictures(pictures: Mapping[str, Picture], folder: Path) -> list[Path]:
    """Draw several pictures, as `save_picture` does, by the files' names."""
    return [path for name, picture in pictures.items() for path in save_picture(picture, folder=folder, name=name)]


def fold(name: str, *, most_lines: int | None = None) -> str:
    """Return a name in as many lines as it needs beside its row, or in so many of them."""
    return textwrap.fill(name, _CHARACTERS_OF_NAME, max_lines=most_lines, placeholder=" …")


def size_of_rows(names: Sequence[str], *, row: float = 0.4, frame: float = 1.7) -> tuple[float, float]:
    """Return the size in inches of a run's picture with a row for each of these folded names.

    Args:
        names: of the rows.
        row: the height of each, beside its name's lines.
        frame: the height of all that is no row.
    """
    lines = max(1 + name.count("\n") for name in names)
    return WIDTH, frame + (row + 0.15 * lines) * len(names)


def clean(axes: Any, *, title: str = "", x: str = "", y: str = "", grid: Literal["both", "x", "y"] = "both") -> None:
    """Take from a panel what is no data, and give it its words.

    Args:
        axes: the panel.
        title: above it.
        x: below it.
        y: beside it.
        grid: which axis has lines; one with lines along `x` or `y` alone has no side at the left.
    """
    for side in ("top", "right") if grid == "both" else ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis=grid, color=_GRID)
    axes.set_axisbelow(True)
    axes.tick_params(length=3, which="major")
    axes.tick_params(length=0, which="minor")
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def name_rows(axes: Any, names: Sequence[str], *, x: str) -> None:
    """Name rows, the first at the top, and the axis below, and take from their panel what is no data."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    clean(axes, x=x, grid="x")
    axes.tick_params(axis="y", length=0)


def annotate_row(axes: Any, row: int, text: str, *, color: str) -> None:
    """Write beside a row what is said of it."""
    axes.annotate(text, (1.01, row), xycoords=("axes fraction", "data"), va="center", color=color)


def draw_measured(axes: Any, places: Iterable[float], measured: Iterable[Measured], **style: Any) -> None:
    """Draw numbers with their errors at these places of the horizontal axis."""
    found = list(measured)
    errors = [ERRORS_SHOWN * each.standard_error for each in found]
    axes.errorbar(list(places), [each.value for each in found], yerr=errors, **style)


def log_scale(axes: Any) -> None:
    """Make the vertical axis logarithmic, with powers of ten as people write them."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_power_of_ten)


def _power_of_ten(value: float, _place: int) -> str:
    exponent = round(math.log10(value))
    if abs(exponent) <= _WRITTEN_OUT:
        return f"{value:g}"
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def percent_scale(axes: Any, axis: Literal["x", "y"] = "y") -> None:
    """Label an axis in percent."""
    getattr(axes, f"{axis}axis").set_major_formatter(_percent)


def _percent(value: float, _place: int) -> str:
    return f"{100 * value:.0f} %"


def name_ticks(axes: Any, places: Sequence[float], axis: Literal["x", "y"] = "x") -> None:
    """Give an axis these ticks, and no other."""
    scaled = getattr(axes, f"{axis}axis")
    scaled.set_ticks(places, [f"{place:g}" for place in places])
    scaled.set_ticks([], minor=True)


def label_lines(axes: Any, ends: Mapping[str, tuple[float, str]], *, gap: float = 0.065) -> None:
    """Write lines' names beside their last values, which are given with the lines' colors; see `label_line_ends`."""
    low, high = axes.get_ylim()
    scale = axes.yaxis.get_transform().transform
    bottom, top = scale([low])[0], scale([high])[0]
    parts = {name: ((scale([value])[0] - bottom) / (top - bottom), color) for name, (value, color) in ends.items()}
    label_line_ends(axes, parts, gap=gap)


def label_line_ends(axes: Any, labels: Mapping[str, tuple[float, str]], *, gap: float) -> None:
    """Write what lines are beside their right ends, moved apart where they would overlap.

    Args:
        axes: the panel.
        labels: for each text the height of its line's end as a part of the panel's height, and its color.
        gap: the least distance of two texts, as a part of the panel's height.
    """
    heights: list[float] = []
    ordered = sorted(labels.items(), key=lambda item: item[1][0])
    for _, (height, _) in ordered:
        heights.append(max(height, heights[-1] + gap) if heights else height)
    # What was pushed up too far moves down again as a whole.
    for place in range(len(heights) - 1, -1, -1):
        limit = 1.0 if place == len(heights) - 1 else heights[place + 1] - gap
        heights[place] = min(heights[place], limit)
    for (text, (_, color)), height in zip(ordered, heights, strict=True):
        axes.annotate(
            text, (1.015, height), xycoords="axes fraction", color=color, fontsize=8.5, va="center", fontweight="bold"
        )
