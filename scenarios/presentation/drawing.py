"""Shared parts of all pictures (palette, title, setting, legend, note), and pictures by matplotlib.

From top to bottom, a picture has its title; a muted line with its setting (number of parties, proven ε, trust model);
the panels; the legend; and a note if reading it needs an explanation. Colors are never the only distinction: shape,
position or a word differs too.

matplotlib draws the pictures of papers and experiments. It is optional and imported late, since its import takes longer
than most runs; runs use `charts`.
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
"""A palette that is distinguishable with each type of color blindness, and in gray; found by a search for the greatest
distances, which `tests/scenarios/presentation/test_palette.py` measures."""
INKS: Final = {COLORS["orange"]: "#b3540a", COLORS["sky"]: "#3a6f9c", COLORS["gold"]: "#7d6420"}
"""Darker shades of pale colors, for text."""
MARKERS: Final = ("o", "s", "^", "D", "v", "P")  # markers of lines, in the order of colors
WITHIN: Final = "#eef1f4"
"""Background of the possible or allowed range."""
ALLOWED: Final = "#d5dbe2"
"""Color of an allowed length, behind the actual one."""
BEYOND: Final = "#e9e4d8"
"""Background of what a proof or a limit excludes."""

ERRORS_SHOWN: Final = 2
"""Length of error bars in standard errors: about 95 % of runs on the same inputs give an estimate this near the truth.

In text, ± is always one standard error, as in files. Error bars are compared by eye with each other and with lines,
which is fair only if they usually cover the truth; pictures explain them in words, without ±.
"""
WHISKERS: Final = "whiskers: 2 standard errors"  # the explanation in pictures
ESTIMATE: Final = "estimate, whiskers: 2 standard errors"

MOST_ROWS: Final = 40  # a picture of more rows is unreadable; the table has all

Marks: TypeAlias = Mapping[str, Mapping[str, Any]]  # the legend's entries: maps labels to options of a plotted line

TRUTH: Final[dict[str, Any]] = {
    "marker": "D",
    "markersize": 6,
    "mfc": "white",
    "mec": INK,
    "linestyle": "none",
}
"""Style of true values next to estimates."""

WIDTH: Final = 8.0  # width of a run's picture, in inches
NARROW: Final = "-narrow"
"""Suffix of the file name of a run's picture for phones: narrow, with panels and texts in one column."""
NARROW_INCHES: Final = 4.2
_NARROW_LINE: Final = 44  # characters in a narrow line
_LESS_WHEN_NARROW: Final = 4  # fewer characters, since a short line may have many wide ones
_NARROW_TICKS: Final = 5
_NARROW_NAME: Final = 16
_LINE_INCHES: Final = 0.15  # height of a line of a row's name
_CHARACTERS_OF_NAME: Final = 28
_CHARACTERS_OF_TITLE: Final = 10  # characters of a title in an inch of width; longer titles are wrapped
_CHARACTERS_OF_SMALL: Final = 16  # characters of small type in an inch
_BETWEEN: Final = " · "  # separator of a setting's parts
_CHARACTER_INCHES: Final = 0.071
_MARK_INCHES: Final = 0.62  # width of a legend's mark and margin; characters as above
_LEFT_INCHES: Final = 0.08
_TITLE_INCHES: Final = 0.22
_SMALL_INCHES: Final = 0.165
_LEGEND_INCHES: Final = 0.2  # height of a legend's line
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
    "text.parse_math": False,  # names may contain dollar signs
}
_DOTS_PER_INCH: Final = 160
_WRITTEN_OUT: Final = 3
_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MEASURED_FONT: Final = "'DejaVu Sans'"
_FONTS: Final = f"{_MEASURED_FONT}, 'Bitstream Vera Sans', Verdana, Geneva, sans-serif"
"""Fonts of equal width, so that text fits in all; a browser takes the first available one."""
_LEFT_OUT: Final = re.compile(r"\s*<metadata>.*?</metadata>|\s*<defs>\s*<style[^>]*>[^<]*</style>\s*</defs>", re.DOTALL)
"""Parts that a page does not need again, and a style that would apply to the whole page."""
_NO_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML does not allow, which a title may contain."""
_DIGEST_BYTES: Final = 6


@dataclasses.dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture's content inside the frame."""

    # Called with the panels, an array of matplotlib's axes; returns the legend's entries.
    draw: Callable[[Any], Marks | None]
    size: tuple[float, float]  # in inches, with one line of title and legend; further lines increase the height
    panels: tuple[int, int] = (1, 1)  # rows and columns of panels
    title: str = ""  # one line
    setting: str = ""  # the setting in small type below the title
    note: str = ""  # an explanation in small type below the panels


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
    """The texts around a picture's panels: lines above and below, and the legend's labels by column."""

    head: str
    small: str
    foot: str
    columns: Sequence[Sequence[str]]


def frame_of(labels: Sequence[str], width: float, *, title: str, setting: str, note: str) -> ChartFrame:
    """Return the texts around a picture's panels, wrapped to its width in inches.

    Examples:
        >>> frame = frame_of(["estimate", "truth"], 8.0, title="A vote", setting="30 partners · ε = 1", note="")
        >>> frame.head, frame.small, [list(column) for column in frame.columns]
        ('A vote', '30 partners · ε = 1', [['estimate'], ['truth']])
    """
    max_characters = int(_CHARACTERS_OF_SMALL * width) - (_LESS_WHEN_NARROW if width == NARROW_INCHES else 0)
    small: list[str] = []  # lines end at a part of the setting, if possible
    for part in filter(None, setting.split(_BETWEEN)):
        if small and len(joined_line := small[-1] + _BETWEEN + part) <= max_characters:
            small[-1] = joined_line
        else:
            small += textwrap.wrap(part, max_characters)
    head, foot = textwrap.fill(title, int(_CHARACTERS_OF_TITLE * width)), textwrap.fill(note, max_characters)
    return ChartFrame(head, "\n".join(small), foot, _columns_of_legend(labels, width))


def _columns_of_legend(labels: Sequence[str], width: float) -> Sequence[Sequence[str]]:
    """Return labels in the greatest number of columns that fit into a width in inches."""
    columns: list[Sequence[str]] = []
    for number in range(len(labels), 0, -1):
        least_rows, longer = divmod(len(labels), number)  # the first columns have one label more
        ends = [0, *itertools.accumulate(least_rows + (place < longer) for place in range(number))]
        columns = [labels[start:end] for start, end in itertools.pairwise(ends)]
        widest = [max(len(line) for label in column for line in label.split("\n")) for column in columns]
        if sum(_MARK_INCHES + _CHARACTER_INCHES * max_width for max_width in widest) <= width:
            break
    return columns


def wrap_short(text: str, *, is_name: bool = False) -> str:
    """Wrap text for a phone, a row's name more narrowly; existing line breaks stay.

    Examples:
        >>> print(wrap_short("joint data space of all members", is_name=True))
        joint data space
        of all members
    """
    max_characters = _NARROW_NAME if is_name else _NARROW_LINE
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, max_characters))


def save_picture(picture: Picture, *, folder: Path, name: str, title: str = "", setting: str = "") -> list[Path]:
    """Draw a picture as `<name>.svg` and `<name>.png`; `title` and `setting` precede its own.

    A picture of a run's width is also drawn for phones.

    Returns:
        The files; empty if matplotlib is not installed.
    """
    try:
        # imported by name, since type checkers know its types only partly
        mpl: Any = importlib.import_module("matplotlib")
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        return []
    words = {"title": title + picture.title, "setting": _BETWEEN.join(filter(None, (setting, picture.setting)))}
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # Characters missing in the font are boxes in the PNG; in the SVG, the reader's fonts show them.
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
    """Wrap all texts to short lines; return the additional inches for rows' names.

    Texts at the ends of lines stay. Names that panels of a row share are shown at each.
    """
    ticker: Any = importlib.import_module("matplotlib.ticker")
    if isinstance(locator := axes.xaxis.get_major_locator(), ticker.MaxNLocator):
        locator.set_params(nbins=_NARROW_TICKS)
    axes.set_title(wrap_short(axes.get_title("left")))
    axes.set_xlabel(wrap_short(axes.get_xlabel()))
    for text in axes.texts:
        if getattr(text, "xycoords", "") == "axes fraction":
            text.set_text(wrap_short(text.get_text(), is_name=True))
    if not isinstance(axes.yaxis.get_major_locator(), ticker.FixedLocator):  # no named rows
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
    """Write the texts above and below the panels, with room for them."""
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
        # The option for error bars is not one of plotted lines.
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
    """Return the texts in a figure's panels, as a description for screen readers."""
    sentences: list[str] = []
    for axes in figure.axes:
        if axes.get_visible():
            texts = [text.get_text() for text in axes.texts]
            sentences.append(join_panel_words([axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel(), *texts]))
    return " ".join(f"{each}." for each in (setting, *sentences, note) if each)


def join_panel_words(parts: Iterable[str]) -> str:
    r"""Join a panel's texts into one line.

    Examples:
        >>> join_panel_words(["What each\nvote released", "", "estimate"])
        'What each vote released; estimate'
    """
    return "; ".join(" ".join(part.split()) for part in parts if part.strip())


def embeddable(svg: str, *, title: str, description: str) -> str:
    """Return a picture's SVG for embedding in a page: with a title and description, and without effects on the page.

    The background stays white, also on a dark page. Text stays text, which can be searched, selected and enlarged, in
    the measured font or one of the same widths. Several pictures may be in one page: their identifiers differ, and
    their styles do not apply outside.
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
    content = re.sub(r'<g id="[^"]*"', "<g", content)  # no reference uses groups
    return _NO_XML.sub(
        "", f"{opening}{attributes} {own_attributes}>{title_elements}{content.replace(_MEASURED_FONT, _FONTS)}"
    )


def save_pictures(pictures: Mapping[str, Picture], folder: Path) -> list[Path]:
    """Draw several pictures by file name, as `save_picture`."""
    return [path for name, picture in pictures.items() for path in save_picture(picture, folder=folder, name=name)]


def fold(name: str, *, most_lines: int | None = None, max_characters: int = _CHARACTERS_OF_NAME) -> str:
    """Wrap a name next to its row, into at most `most_lines` lines.

    Examples:
        >>> print(fold("a candidate with a long name", max_characters=16))
        a candidate with
        a long name
    """
    return textwrap.fill(name, max_characters, max_lines=most_lines, placeholder=" …")


def clean(axes: Any, *, title: str = "", x: str = "", y: str = "", grid: Literal["both", "x", "y"] = "both") -> None:
    """Remove decoration from a panel, and set its title and labels.

    With a grid along only `x` or `y`, the left spine is removed.
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
    """Name a panel's rows, the first at the top, and its axis, and remove decoration."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    clean(axes, x=x, grid="x")
    axes.tick_params(axis="y", length=0)


def draw_measured(axes: Any, places: Iterable[float], measured: Iterable[NumberWithError], **style: Any) -> None:
    """Draw numbers with error bars at positions of the horizontal axis."""
    measurements = list(measured)
    errors = [ERRORS_SHOWN * each.standard_error for each in measurements]
    axes.errorbar(list(places), [each.value for each in measurements], yerr=errors, **style)


def log_scale(axes: Any) -> None:
    """Make the vertical axis logarithmic, with plain labels."""
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
    """Set an axis's ticks and labels."""
    scaled_axis = getattr(axes, f"{axis}axis")
    scaled_axis.set_ticks(places, [f"{place:g}" for place in places])
    scaled_axis.set_ticks([], minor=True)


def label_lines(axes: Any, ends: Mapping[str, tuple[float, str]], *, gap: float = 0.065) -> None:
    """Write lines' names at their last values, in the lines' colors.

    Overlapping names are moved apart by `gap`, a fraction of the panel's height.
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
    """Move heights apart by at least `gap`, lowest first, with none above `max_height`.

    Examples:
        >>> spread_heights({"ann": 1.0, "bob": 1.0}, gap=0.5, max_height=2.0)
        {'ann': 1.0, 'bob': 1.5}
    """
    names = sorted(heights, key=lambda name: heights[name])
    moved_heights: list[float] = []
    for name in names:
        moved_heights.append(max(heights[name], moved_heights[-1] + gap) if moved_heights else heights[name])
    # Heights above the maximum are moved down again together.
    for place in range(len(moved_heights) - 1, -1, -1):
        moved_heights[place] = min(
            moved_heights[place], max_height if place == len(moved_heights) - 1 else moved_heights[place + 1] - gap
        )
    return dict(zip(names, moved_heights, strict=True))
