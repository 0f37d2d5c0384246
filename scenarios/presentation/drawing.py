"""What every picture has, a run's or a paper's: palette, title, setting, legend, note; and those that matplotlib draws.

From top to bottom a picture has its title, a subdued line that says of what and under which promise (how many parties,
the proven ε, whom they trust), the panels, the legend, and a note where something has to be said of how it is read.

Colors are never alone: what differs in color differs in shape, in place or in a word beside it, too.

matplotlib draws those of papers and experiments. It is optional, and imported late: it takes longer than most runs,
whose own are `charts`.
"""

import dataclasses
import hashlib
import html
import importlib
import io
import itertools
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from ...transports.own_files import replace_private
from .seals import seal

INK: Final = "#1f2933"
WHITE: Final = "#ffffff"
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
    "linestyle": "none",
}
"""How what is true is marked, beside estimates."""

WIDTH: Final = 8.0  # of a run's picture, in inches
NARROW: Final = "-narrow"
"""Stands behind the name of a run's picture as a phone shows it: as wide as that, with panels and words in columns."""
NARROW_INCHES: Final = 4.2
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
_WRITTEN_OUT: Final = 3
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MEASURED_FONT: Final = "'DejaVu Sans'"
_FONTS: Final = f"{_MEASURED_FONT}, 'Bitstream Vera Sans', Verdana, Geneva, sans-serif"
"""Alike wide, so that what fits in one fits in the others; a browser takes the first that it has."""
_LEFT_OUT: Final = re.compile(r"\s*<metadata>.*?</metadata>|\s*<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", re.DOTALL)
"""What a page needs no second time, and a style that would be that of the whole page."""
_NO_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML cannot hold, in a title that somebody wrote."""
_DIGEST_BYTES: Final = 6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Picture:
    """What is drawn inside the frame."""

    # Called with the panels, an array of matplotlib's axes; returns what the legend explains.
    draw: Callable[[Any], Marks | None]
    size: tuple[float, float]  # in inches, with a title and a legend of one line; what else is written makes it higher
    panels: tuple[int, int] = (1, 1)  # rows and columns of them
    title: str = ""  # one line
    setting: str = ""  # of what it is, in small type below the title
    note: str = ""  # how it is read, in small type below the panels


class NumberWithError(Protocol):
    """A number with its standard error."""

    @property
    def value(self) -> float:
        """The number."""
        ...

    @property
    def standard_error(self) -> float:
        """Its error."""
        ...


@dataclasses.dataclass(frozen=True)
class ChartFrame:
    """What stands around a picture's panels: lines above them and below them, and the legend's labels, by column."""

    head: str
    small: str
    foot: str
    columns: Sequence[Sequence[str]]


def frame_of(labels: Sequence[str], width: float, *, title: str, setting: str, note: str) -> ChartFrame:
    """Return what stands around a picture's panels, in lines for which there is room; the width is in inches.

    Examples:
        >>> frame = frame_of(["estimate", "truth"], 8.0, title="A vote", setting="30 partners · ε = 1", note="")
        >>> frame.head, frame.small, [list(column) for column in frame.columns]
        ('A vote', '30 partners · ε = 1', [['estimate'], ['truth']])
    """
    max_characters = int(_CHARACTERS_OF_SMALL * width) - (_LESS_WHEN_NARROW if width == NARROW_INCHES else 0)
    small: list[str] = []  # lines end with a whole part of the setting, where they can
    for part in filter(None, setting.split(_BETWEEN)):
        if small and len(joined_line := small[-1] + _BETWEEN + part) <= max_characters:
            small[-1] = joined_line
        else:
            small += textwrap.wrap(part, max_characters)
    head, foot = textwrap.fill(title, int(_CHARACTERS_OF_TITLE * width)), textwrap.fill(note, max_characters)
    return ChartFrame(head, "\n".join(small), foot, _columns_of_legend(labels, width))


def _columns_of_legend(labels: Sequence[str], width: float) -> Sequence[Sequence[str]]:
    """Return labels in the greatest number of columns for which there is room, in inches."""
    columns: list[Sequence[str]] = []
    for number in range(len(labels), 0, -1):
        least_rows, longer = divmod(len(labels), number)  # the first columns have a label more
        ends = [0, *itertools.accumulate(least_rows + (place < longer) for place in range(number))]
        columns = [labels[start:end] for start, end in itertools.pairwise(ends)]
        widest = [max(len(line) for label in column for line in label.split("\n")) for column in columns]
        if sum(_MARK_INCHES + _CHARACTER_INCHES * max_width for max_width in widest) <= width:
            break
    return columns


def wrap_short(text: str, *, is_name: bool = False) -> str:
    """Return words in lines for which a phone has room, a row's name in shorter ones; lines that end stay apart.

    Examples:
        >>> print(wrap_short("joint data space of all members", is_name=True))
        joint data space
        of all members
    """
    max_characters = _NARROW_NAME if is_name else _NARROW_LINE
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, max_characters))


def save_picture(picture: Picture, *, folder: Path, name: str, title: str = "", setting: str = "") -> list[Path]:
    """Draw a picture as `<name>.svg` and `<name>.png`; title and setting stand before its own.

    One that is as wide as a run's is drawn for phones, too.

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
        saved_paths = [paths[0]]
        if picture.size[0] == WIDTH:
            rows, columns = picture.panels
            height = picture.size[1] * columns
            figure = figures.Figure(figsize=(NARROW_INCHES, height), layout="constrained")
            panels = figure.subplots(rows * columns, 1, squeeze=False).reshape(rows, columns)
            marks = {wrap_short(label): mark for label, mark in (picture.draw(panels) or {}).items()}
            height += sum(_narrow(axes, line[0]) for line in panels for axes in line if axes in figure.axes)
            narrow = dataclasses.replace(picture, size=(NARROW_INCHES, height))
            _frame(figure, narrow, marks, **words)
            saved_paths.append(folder / f"{name}{NARROW}.svg")
            _write_svg(figure, narrow, saved_paths[1], **words)
    seal(folder, saved_paths)
    return paths


def _write_svg(figure: Any, picture: Picture, path: Path, *, title: str, setting: str) -> None:
    svg = io.StringIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    described = _describe_figure(figure, setting=setting, note=picture.note)
    replace_private(path, embeddable(svg.getvalue(), title=title, description=described).encode())


def _narrow(axes: Any, first: Any) -> float:
    """Write all words in short lines; return the inches that rows' names take more.

    Words at the end of a line stay there. Names that a panel shares with the first of its line stand at both.
    """
    ticker: Any = importlib.import_module("matplotlib.ticker")
    if isinstance(locator := axes.xaxis.get_major_locator(), ticker.MaxNLocator):
        locator.set_params(nbins=_NARROW_TICKS)
    axes.set_title(wrap_short(axes.get_title("left")))
    axes.set_xlabel(wrap_short(axes.get_xlabel()))
    for text in axes.texts:
        if getattr(text, "xycoords", "") == "axes fraction":
            text.set_text(wrap_short(text.get_text(), is_name=True))
    if not isinstance(axes.yaxis.get_major_locator(), ticker.FixedLocator):  # no rows with names
        return 0.0
    names = [tick.label1.get_text() for tick in axes.yaxis.get_major_ticks()]
    if not any(names):
        names = [tick.label1.get_text() for tick in first.yaxis.get_major_ticks()]
    lines = [wrap_short(name, is_name=True) for name in names]
    axes.set_yticks(axes.get_yticks(), lines)
    return sum(
        _LINE_INCHES * (own_line.count("\n") - name.count("\n")) for own_line, name in zip(lines, names, strict=True)
    )


def _frame(figure: Any, picture: Picture, marks: Marks, *, title: str, setting: str) -> None:
    """Write what stands above the panels and below them, and make room for it."""
    width, height = picture.size
    frame = frame_of(list(marks), width, title=title, setting=setting, note=picture.note)
    head, small, foot = (len(text.splitlines()) for text in (frame.head, frame.small, frame.foot))
    lines = max(map(len, frame.columns), default=0) + max((label.count("\n") for label in marks), default=0)
    height_above = _TITLE_INCHES * head + _SMALL_INCHES * small + _GAP_INCHES
    noted = _SMALL_INCHES * foot + _GAP_INCHES * bool(foot)
    height_below = noted + (_LEGEND_INCHES * lines + _GAP_INCHES if marks else 0.0)
    height += height_above - _TITLE_INCHES + noted + _LEGEND_INCHES * max(lines - 1, 0)
    figure.set_size_inches(width, height)
    figure.get_layout_engine().set(rect=(0, height_below / height, 1, 1 - (height_above + height_below) / height))
    place: dict[str, Any] = {"x": _LEFT_INCHES / width, "ha": "left", "va": "top"}
    figure.text(y=1 - _PAD_INCHES / height, s=frame.head, fontsize=11.5, fontweight="bold", color=INK, **place)
    title_height = _PAD_INCHES + _TITLE_INCHES * head
    figure.text(y=1 - title_height / height, s=frame.small, fontsize=8.5, color=MUTED, **place)
    figure.text(y=noted / height, s=frame.foot, fontsize=8.5, color=MUTED, **place)
    if marks:
        lines_of: Any = importlib.import_module("matplotlib.lines")
        # No plotted line has a width of its error bars.
        legend_marks = {label: {key: mark[key] for key in mark if key != "elinewidth"} for label, mark in marks.items()}
        figure.legend(
            handles=[lines_of.Line2D([], [], label=label, **mark) for label, mark in legend_marks.items()],
            loc="lower left",
            bbox_to_anchor=(0, noted / height),
            borderaxespad=0,
            ncols=len(frame.columns),
            frameon=False,
            fontsize=9,
        )


def _describe_figure(figure: Any, *, setting: str, note: str) -> str:
    """Return in words what is written in a figure's panels, for those who cannot see where it stands."""
    sentences: list[str] = []
    for axes in figure.axes:
        if axes.get_visible():
            texts = [text.get_text() for text in axes.texts]
            sentences.append(join_panel_words([axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel(), *texts]))
    return " ".join(f"{each}." for each in (setting, *sentences, note) if each)


def join_panel_words(parts: Iterable[str]) -> str:
    r"""Return what is written in a panel, in one line.

    Examples:
        >>> join_panel_words(["What each\nvote released", "", "estimate"])
        'What each vote released; estimate'
    """
    return "; ".join(" ".join(part.split()) for part in parts if part.strip())


def embeddable(svg: str, *, title: str, description: str) -> str:
    """Return a picture's SVG as pages want it: named for those who hear it, without what would act on a page around it.

    The background stays white, so that a picture is a light card on a dark page, too. Its text is text: it is searched,
    selected and enlarged, in the font that was measured or one of the same widths. Several pictures stand in one page:
    no name in one of them is one of another's, and no style of one reaches beyond it.
    """
    digest = hashlib.blake2s(svg.encode(), digest_size=_DIGEST_BYTES).hexdigest()
    _, opening, remainder = svg.partition("<svg ")
    attributes, _, content = remainder.partition(">")
    own_attributes = (
        f'role="img" aria-labelledby="title-{digest}" aria-describedby="desc-{digest}" '
        'style="max-width: 100%; height: auto" stroke-linejoin="round" stroke-linecap="butt"'
    )
    title_elements = (
        f'\n <title id="title-{digest}">{html.escape(title, quote=False)}</title>'
        f'\n <desc id="desc-{digest}">{html.escape(description, quote=False)}</desc>'
    )
    content = _LEFT_OUT.sub("", content)
    content = re.sub(r'<g id="[^"]*"', "<g", content)  # nothing refers to groups
    return _NO_XML.sub(
        "", f"{opening}{attributes} {own_attributes}>{title_elements}{content.replace(_MEASURED_FONT, _FONTS)}"
    )


def save_pictures(pictures: Mapping[str, Picture], folder: Path) -> list[Path]:
    """Draw several pictures, as `save_picture` does, by the files' names."""
    return [path for name, picture in pictures.items() for path in save_picture(picture, folder=folder, name=name)]


def fold(name: str, *, most_lines: int | None = None, max_characters: int = _CHARACTERS_OF_NAME) -> str:
    """Return a name in as many lines as it needs beside its row, or in so many of them.

    Examples:
        >>> print(fold("a candidate with a long name", max_characters=16))
        a candidate with
        a long name
    """
    return textwrap.fill(name, max_characters, max_lines=most_lines, placeholder=" …")


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


def draw_measured(axes: Any, places: Iterable[float], measured: Iterable[NumberWithError], **style: Any) -> None:
    """Draw numbers with their errors at these places of the horizontal axis."""
    measurements = list(measured)
    errors = [ERRORS_SHOWN * each.standard_error for each in measurements]
    axes.errorbar(list(places), [each.value for each in measurements], yerr=errors, **style)


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
    scaled_axis = getattr(axes, f"{axis}axis")
    scaled_axis.set_ticks(places, [f"{place:g}" for place in places])
    scaled_axis.set_ticks([], minor=True)


def label_lines(axes: Any, ends: Mapping[str, tuple[float, str]], *, gap: float = 0.065) -> None:
    """Write lines' names beside their last values, which are given with the lines' colors.

    Where they would overlap they are moved apart, by a part of the panel's height.
    """
    low, high = axes.get_ylim()
    scale = axes.yaxis.get_transform().transform
    bottom, top = scale([low])[0], scale([high])[0]
    parts = {name: (scale([value])[0] - bottom) / (top - bottom) for name, (value, _) in ends.items()}
    for text, height in spread_heights(parts, gap, 1.0).items():
        color = ends[text][1]
        axes.annotate(
            text,
            (1.015, height),
            xycoords="axes fraction",
            color=INKS.get(color, color),
            fontsize=8.5,
            va="center",
            fontweight="bold",
        )


def spread_heights(heights: Mapping[str, float], gap: float, max_height: float) -> dict[str, float]:
    """Return heights moved apart by at least `gap`, the lowest first, and none above `max_height`.

    Examples:
        >>> spread_heights({"ann": 1.0, "bob": 1.0}, gap=0.5, max_height=2.0)
        {'ann': 1.0, 'bob': 1.5}
    """
    names = sorted(heights, key=lambda name: heights[name])
    moved_heights: list[float] = []
    for name in names:
        moved_heights.append(max(heights[name], moved_heights[-1] + gap) if moved_heights else heights[name])
    # What was pushed up too far moves down again as a whole.
    for place in range(len(moved_heights) - 1, -1, -1):
        moved_heights[place] = min(
            moved_heights[place], max_height if place == len(moved_heights) - 1 else moved_heights[place + 1] - gap
        )
    return dict(zip(names, moved_heights, strict=True))
