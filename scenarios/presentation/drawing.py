"""The frame of every picture, a run's or a paper's: style, palette, title, setting, panels, legend, files.

From top to bottom a picture has its title, a subdued line that says of what and under which promise (how many parties,
the proven ε, whom they trust), the panels, the legend, and a note where something has to be said of how it is read.

Colors are never alone: what differs in color differs in shape, in place or in a word beside it, too.

matplotlib is optional, and imported late: it takes longer than most runs.
"""

import dataclasses
import importlib
import io
import itertools
import math
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from ...transports.own_files import replace_private
from .embedding import embeddable
from .seals import seal

INK: Final = "#1f2933"
MUTED: Final = "#616e7c"
RULE: Final = "#52606d"
GOOD: Final = "#0b5d3b"
POOR: Final = "#b8481a"
GRID: Final = "#e4e7eb"
COLORS: Final = {
    "blue": "#2158c5",
    "orange": "#c05c0c",
    "green": "#185232",
    "purple": "#590f53",
    "sky": "#5b99cb",
    "gold": "#c4ab6f",
}
"""Told apart by readers who do not see red, green or blue, and in gray: found by a search for the greatest distances,
which `tests/scenarios/presentation/test_palette.py` measures."""
INKS: Final = {COLORS["orange"]: "#b3540a", COLORS["sky"]: "#3a6f9c", COLORS["gold"]: "#7d6420"}
"""Darker ones of the same hue, for words in a color that is too pale for them."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P")  # of lines, in the order of their colors
WITHIN: Final = "#eef1f4"
"""Behind what is possible, or allowed."""
ALLOWED: Final = "#d5dbe2"
"""How far something may reach, behind how far it does."""
BEYOND: Final = "#e9e4d8"
"""Behind what a proof rules out, or a limit."""

ERRORS_SHOWN: Final = 2
"""Standard errors that a whisker reaches: some 95 % of all runs on the same inputs give an estimate so near the truth.

± is one standard error wherever it is written, as in the files. Whiskers are compared by eye, with each other and with
lines, and that is fair where they cover the truth as a rule; a picture says what they are in words, without ±.
"""
WHISKERS: Final = "whiskers: 2 standard errors"  # what a picture says of them
ESTIMATE: Final = "estimate, whiskers: 2 standard errors"

MOST_ROWS: Final = 40  # a picture of more of them says nothing; the table has them all

Marks: TypeAlias = Mapping[str, Mapping[str, Any]]  # what a legend explains, by its label: options of a plotted line

TRUTH: Final[dict[str, Any]] = {
    "marker": "D",
    "markersize": 6,
    "mfc": "white",
    "mec": INK,
    "zorder": 4,
    "linestyle": "none",
}
"""How what is true is marked, beside estimates."""

WIDTH: Final = 8.0  # of a run's picture, in inches
NARROW: Final = "-narrow"
"""Stands behind the name of a run's picture as a phone shows it: as wide as that, with panels and words in columns."""
_NARROW_INCHES: Final = 4.2
_NARROW_LINE: Final = 44  # characters
_LESS_WHEN_NARROW: Final = 4  # characters, since in a short line wide ones may come together
_NARROW_TICKS: Final = 5
_NARROW_NAME: Final = 16
_LINE_INCHES: Final = 0.15  # of a row's name
_CHARACTERS_OF_NAME: Final = 28
_CHARACTERS_OF_TITLE: Final = 10  # in an inch of the picture's width; a longer title goes on in the next line
_CHARACTERS_OF_SMALL: Final = 16  # in an inch of what is said in small type, above the panels or below them
_BETWEEN: Final = " · "  # parts of a setting
_CHARACTER_INCHES: Final = 0.071
_MARK_INCHES: Final = 0.62  # what a legend's label takes for each character, and beside them
_LEFT_INCHES: Final = 0.08
_TITLE_INCHES: Final = 0.22
_SMALL_INCHES: Final = 0.165
_LEGEND_INCHES: Final = 0.2  # heights of lines
_GAP_INCHES: Final = 0.06
_PAD_INCHES: Final = 0.07
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
    "figure.facecolor": "white",
    "text.parse_math": False,  # a name may hold any number of dollars
}
_DOTS_PER_INCH: Final = 160
_BESIDE_ROW: Final = ("axes fraction", "data")  # coordinates of what is said of a row
_WRITTEN_OUT: Final = 3
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Picture:
    """What is drawn inside the frame."""

    # Called with the panels, an array of matplotlib's axes; returns what the legend explains.
    draw: Callable[[Any], Marks | None]
    size: tuple[float, float]  # in inches, with a title and a legend of one line; what else is written makes it higher
    panels: tuple[int, int] = (1, 1)  # rows and columns of them
    narrow_height: float = 0.0  # with all of them one below the other; by default the height for each column
    title: str = ""  # one line; of a run's outcome, how the run's own title goes on
    # Of what it is, in small type below the title; of a run's outcome, what the run's own leaves open.
    setting: str = ""
    note: str = ""  # how it is read, in small type below the panels


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


def save_picture(picture: Picture, *, folder: Path, name: str, title: str = "", setting: str = "") -> list[Path]:
    """Draw a picture as `<name>.svg` and `<name>.png`, a run's also for phones; title and setting stand before its own.

    Returns:
        The files; none where matplotlib is not installed.
    """
    try:
        mpl: Any = importlib.import_module("matplotlib")  # by name: its types are partly unknown to checkers
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        return []
    words = {"title": title + picture.title, "setting": _BETWEEN.join(filter(None, (setting, picture.setting)))}
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes in the PNG; a reader's own font draws it in the SVG.
        warnings.filterwarnings("ignore", r"Glyph \d+ |Matplotlib currently does not support", UserWarning)
        figure = figures.Figure(figsize=picture.size, layout="constrained")
        marks = picture.draw(figure.subplots(*picture.panels, squeeze=False))
        _frame(figure, picture, marks or {}, **words)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        _write_svg(figure, picture, paths[0], **words)
        png = io.BytesIO()
        figure.savefig(png, format="png", dpi=_DOTS_PER_INCH, metadata={"Software": None})
        replace_private(paths[1], png.getvalue())
        drawn = [paths[0]]
        if picture.size[0] == WIDTH:
            rows, columns = picture.panels
            height = picture.narrow_height or picture.size[1] * columns
            figure = figures.Figure(figsize=(_NARROW_INCHES, height), layout="constrained")
            panels = figure.subplots(rows * columns, 1, squeeze=False).reshape(rows, columns)
            marks = {textwrap.fill(label, _NARROW_LINE): mark for label, mark in (picture.draw(panels) or {}).items()}
            height += sum(_narrow(axes, line[0]) for line in panels for axes in line if axes in figure.axes)
            narrow = dataclasses.replace(picture, size=(_NARROW_INCHES, height))
            _frame(figure, narrow, marks, **words)
            drawn.append(folder / f"{name}{NARROW}.svg")
            _write_svg(figure, narrow, drawn[1], **words)
    seal(folder, drawn)
    return paths


def _write_svg(figure: Any, picture: Picture, path: Path, *, title: str, setting: str) -> None:
    svg = io.StringIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    described = _described(figure, setting=setting, note=picture.note)
    replace_private(path, embeddable(svg.getvalue(), title=title, description=described).encode())


def _narrow(axes: Any, first: Any) -> float:
    """Write what stands beside a panel's rows below their names, and all words in short lines; return the inches more.

    Words at the end of a line stay there. Names that a panel shares with the first of its line stand at both.
    """
    ticker: Any = importlib.import_module("matplotlib.ticker")
    if isinstance(locator := axes.xaxis.get_major_locator(), ticker.MaxNLocator):
        locator.set_params(nbins=_NARROW_TICKS)
    axes.set_title(textwrap.fill(axes.get_title("left"), _NARROW_LINE))
    axes.set_xlabel(textwrap.fill(axes.get_xlabel(), _NARROW_LINE))
    beside: dict[float, str] = {}
    for text in list(axes.texts):
        if getattr(text, "xycoords", "") == _BESIDE_ROW:
            beside[text.xy[1]] = text.get_text()
            text.remove()
        elif getattr(text, "xycoords", "") == "axes fraction":
            text.set_text(textwrap.fill(text.get_text(), _NARROW_NAME))
    if not isinstance(axes.yaxis.get_major_locator(), ticker.FixedLocator):  # no rows with names
        return 0.0
    names = {tick.get_loc(): tick.label1.get_text() for tick in axes.yaxis.get_major_ticks()}
    if not any(names.values()):
        names = {tick.get_loc(): tick.label1.get_text() for tick in first.yaxis.get_major_ticks()}
        axes.set_yticks(list(names), list(names.values()))
    if not beside and all(len(name) <= _NARROW_NAME for name in names.values()):
        return 0.0
    lines = {
        place: [
            part
            for line in f"{name}\n{beside.get(place, '')}".split("\n")
            for part in textwrap.wrap(line, _NARROW_NAME)
        ]
        for place, name in names.items()
    }
    axes.set_yticks(list(lines), ["\n".join(own) for own in lines.values()], fontsize=8.5)
    return sum(_LINE_INCHES * max(len(own) - 1 - names[place].count("\n"), 0) for place, own in lines.items())


def _frame(figure: Any, picture: Picture, marks: Marks, *, title: str, setting: str) -> None:
    """Write what stands above the panels and below them, and make room for it."""
    marks = dict(marks.items())
    width, height = picture.size
    head = textwrap.wrap(title, int(_CHARACTERS_OF_TITLE * width))
    most = int(_CHARACTERS_OF_SMALL * width) - (_LESS_WHEN_NARROW if width == _NARROW_INCHES else 0)
    small = _lines_of_setting(setting, most)
    foot = textwrap.wrap(picture.note, most)
    columns = _columns_of_legend(list(marks), width)
    lines = math.ceil(len(marks) / columns) + max((label.count("\n") for label in marks), default=0)
    above = _TITLE_INCHES * len(head) + _SMALL_INCHES * len(small) + _GAP_INCHES
    noted = _SMALL_INCHES * len(foot) + _GAP_INCHES * bool(foot)
    below = noted + (_LEGEND_INCHES * lines + _GAP_INCHES if marks else 0.0)
    height += above - _TITLE_INCHES + noted + _LEGEND_INCHES * max(lines - 1, 0)
    figure.set_size_inches(width, height)
    figure.get_layout_engine().set(rect=(0, below / height, 1, 1 - (above + below) / height))
    place: dict[str, Any] = {"x": _LEFT_INCHES / width, "ha": "left", "va": "top"}
    figure.text(y=1 - _PAD_INCHES / height, s="\n".join(head), fontsize=11.5, fontweight="bold", color=INK, **place)
    under = _PAD_INCHES + _TITLE_INCHES * len(head)
    figure.text(y=1 - under / height, s="\n".join(small), fontsize=8.5, color=MUTED, **place)
    figure.text(y=noted / height, s="\n".join(foot), fontsize=8.5, color=MUTED, **place)
    if marks:
        lines_of: Any = importlib.import_module("matplotlib.lines")
        # No plotted line has a width of its error bars.
        drawn = {label: {key: mark[key] for key in mark if key != "elinewidth"} for label, mark in marks.items()}
        figure.legend(
            handles=[lines_of.Line2D([], [], label=label, **mark) for label, mark in drawn.items()],
            loc="lower left",
            bbox_to_anchor=(0, noted / height),
            borderaxespad=0,
            ncols=columns,
            frameon=False,
            fontsize=9,
        )


def _lines_of_setting(setting: str, most: int) -> list[str]:
    """Return a setting in lines of at most so many characters, which end with a whole part where they can."""
    lines: list[str] = []
    for part in filter(None, setting.split(_BETWEEN)):
        if lines and len(joined := lines[-1] + _BETWEEN + part) <= most:
            lines[-1] = joined
        else:
            lines += textwrap.wrap(part, most)
    return lines


def _columns_of_legend(labels: Sequence[str], width: float) -> int:
    """Return the greatest number of columns in which these labels fit into a picture of this width, in inches."""
    for columns in range(len(labels), 1, -1):
        least, longer = divmod(len(labels), columns)  # the first columns have a label more
        ends = [0, *itertools.accumulate(least + (place < longer) for place in range(columns))]
        widest = [
            max(len(line) for label in labels[start:end] for line in label.split("\n"))
            for start, end in itertools.pairwise(ends)
        ]
        if sum(_MARK_INCHES + _CHARACTER_INCHES * most for most in widest) <= width:
            return columns
    return 1


def _described(figure: Any, *, setting: str, note: str) -> str:
    """Return in words what is written in a figure's panels, for those who cannot see where it stands."""
    said = [f"{setting}."] if setting else []
    for axes in figure.axes:
        if not axes.get_visible():
            continue
        told = [axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel()]
        ticks = axes.yaxis.get_major_ticks()
        names = {tick.get_loc(): " ".join(tick.label1.get_text().split()) for tick in ticks}
        for text in axes.texts:
            # What stands beside a row belongs to the row's name.
            name = names.get(text.xy[1], "") if getattr(text, "xycoords", "") == _BESIDE_ROW else ""
            told.append(f"{name}: {text.get_text()}" if name else text.get_text())
        said.append("; ".join(" ".join(part.split()) for part in told if part.strip()) + ".")
    return " ".join([*said, *([f"{note}."] if note else [])])


def save_pictures(pictures: Mapping[str, Picture], folder: Path) -> list[Path]:
    """Draw several pictures, as `save_picture` does, by the files' names."""
    return [path for name, picture in pictures.items() for path in save_picture(picture, folder=folder, name=name)]


def fold(name: str, *, most_lines: int | None = None) -> str:
    """Return a name in as many lines as it needs beside its row, or in so many of them."""
    return textwrap.fill(name, _CHARACTERS_OF_NAME, max_lines=most_lines, placeholder=" …")


def size_of_rows(names: Sequence[str], *, row: float = 0.4, frame: float = 1.7) -> tuple[float, float]:
    """Return the size in inches of a run's picture with a row for each of these folded names.

    A row is so high beside its name's lines, and the frame is all that is no row.
    """
    lines = max(1 + name.count("\n") for name in names)
    return WIDTH, frame + (row + _LINE_INCHES * lines) * len(names)


def clean(axes: Any, *, title: str = "", x: str = "", y: str = "", grid: Literal["both", "x", "y"] = "both") -> None:
    """Take from a panel what is no data, and give it its words: above it, below it, and beside it.

    With a grid of lines along `x` or `y` alone it has no side at the left.
    """
    for side in ("top", "right") if grid == "both" else ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis=grid, color=GRID)
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
    axes.annotate(text, (1.01, row), xycoords=_BESIDE_ROW, va="center", color=color)


def annotate_line(axes: Any, place: float, text: str) -> None:
    """Write above a vertical line what it is."""
    at = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "bottom"}
    axes.annotate(text, (place, 1.0), color=RULE, **at)


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
    return f"{value:g}" if abs(exponent) <= _WRITTEN_OUT else "10" + str(exponent).translate(_SUPERSCRIPTS)


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
    """Write lines' names beside their last values, which are given with the lines' colors.

    Where they would overlap they are moved apart, by a part of the panel's height.
    """
    low, high = axes.get_ylim()
    scale = axes.yaxis.get_transform().transform
    bottom, top = scale([low])[0], scale([high])[0]
    parts = {name: ((scale([value])[0] - bottom) / (top - bottom), color) for name, (value, color) in ends.items()}
    heights: list[float] = []
    ordered = sorted(parts.items(), key=lambda item: item[1][0])
    for _, (height, _) in ordered:
        heights.append(max(height, heights[-1] + gap) if heights else height)
    # What was pushed up too far moves down again as a whole.
    for place in range(len(heights) - 1, -1, -1):
        limit = 1.0 if place == len(heights) - 1 else heights[place + 1] - gap
        heights[place] = min(heights[place], limit)
    for (text, (_, color)), height in zip(ordered, heights, strict=True):
        axes.annotate(
            text,
            (1.015, height),
            xycoords="axes fraction",
            color=INKS.get(color, color),
            fontsize=8.5,
            va="center",
            fontweight="bold",
        )
