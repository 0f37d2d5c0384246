"""How figures look, and how they become files. matplotlib is optional, and imported late."""

import contextlib
import functools
import importlib
import math
from collections.abc import Callable, Generator, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

__all__ = [
    "COLORS",
    "INK",
    "MUTED",
    "Picture",
    "can_draw",
    "clean",
    "draw_figure",
    "draw_figures",
    "label_line_ends",
    "label_lines",
    "legend_below",
    "log_scale",
    "percent_scale",
]

Picture: TypeAlias = tuple[str, tuple[float, float], tuple[int, int], Callable[..., None]]
"""Title, size in inches, rows and columns of panels, and what draws them from a reproduction."""

INK: Final = "#1f2933"
MUTED: Final = "#7b8794"
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
    "text.parse_math": False,
}
_DOTS_PER_INCH = 160
_WRITTEN_OUT = 3
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_figure(
    folder: Path,
    name: str,
    *,
    title: str,
    size: tuple[float, float],
    panels: tuple[int, int],
    draw: Callable[..., None],
) -> list[Path]:
    """Draw one figure as `<name>.svg` and `<name>.png`; nothing where matplotlib is not installed.

    Args:
        folder: where to.
        name: the files' name.
        title: one line above all panels.
        size: in inches.
        panels: rows and columns.
        draw: called with the figure and its panels, an array of matplotlib's axes.

    Returns:
        The files.
    """
    with _matplotlib() as figures:
        if figures is None:
            return []
        figure: Any = figures.Figure(figsize=size, layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold", color=INK)
        draw(figure, figure.subplots(*panels, squeeze=False))
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=_DOTS_PER_INCH, metadata={"Software": None})
    return paths


def draw_figures(pictures: Mapping[str, Picture], reproduction: object, folder: Path) -> list[Path]:
    """Draw all figures of a reproduction, as `draw_figure` does.

    Args:
        pictures: by the files' name.
        reproduction: what was measured, which each is drawn from.
        folder: where to.

    Returns:
        The files.
    """
    paths: list[Path] = []
    for name, (title, size, panels, draw) in pictures.items():
        drawn = functools.partial(draw, reproduction)
        paths += draw_figure(folder, name, title=title, size=size, panels=panels, draw=drawn)
    return paths


def clean(axes: Any, *, title: str = "", x: str = "", y: str = "") -> None:
    """Take from a panel what is no data, and give it its words."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=3, width=0.8, which="major")
    axes.tick_params(length=0, which="minor")
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def log_scale(axes: Any) -> None:
    """Make the vertical axis logarithmic, with powers of ten as people write them."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(_power_of_ten)


def _power_of_ten(value: float, _place: int) -> str:
    exponent = round(math.log10(value))
    if abs(exponent) <= _WRITTEN_OUT:
        return f"{value:g}"
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def percent_scale(axes: Any) -> None:
    """Label the vertical axis in percent."""
    axes.yaxis.set_major_formatter(_percent)


def _percent(value: float, _place: int) -> str:
    return f"{100 * value:.0f} %"


def label_line_ends(axes: Any, labels: dict[str, tuple[float, str]], *, gap: float) -> None:
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


def label_lines(axes: Any, ends: dict[str, tuple[float, str]]) -> None:
    """Write the lines' names at the heights of their last values."""
    low, high = axes.get_ylim()
    scale = axes.yaxis.get_transform().transform
    bottom, top = scale([low])[0], scale([high])[0]
    parts = {name: ((scale([value])[0] - bottom) / (top - bottom), color) for name, (value, color) in ends.items()}
    label_line_ends(axes, parts, gap=0.065)


def legend_below(figure: Any, axes: Any, marks: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Explain marks below all panels, where no data are."""
    for label, mark in marks:
        style = {key: value for key, value in mark.items() if key != "elinewidth"}
        axes.plot([], [], label=label, **style)
    figure.legend(loc="outside lower left", ncols=6, frameon=False, fontsize=9)


@contextlib.contextmanager
def _matplotlib() -> Generator[Any]:
    """Yield the module of figures under our style; None where there is none."""
    if not can_draw():
        yield None
        return
    mpl: Any = importlib.import_module("matplotlib")  # by name: its types are partly unknown to checkers
    with mpl.rc_context(_STYLE):
        yield importlib.import_module("matplotlib.figure")
