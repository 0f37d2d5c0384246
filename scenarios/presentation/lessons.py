"""What adversaries learnt, as a terminal, a file and a picture show it."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ..adversaries.role import Figure, Lesson, Series
from .drawing import (
    COLORS,
    ERRORS_SHOWN,
    INK,
    MUTED,
    POOR,
    RULE,
    WHISKERS,
    WIDTH,
    Picture,
    clean,
    fold,
    name_ticks,
    save_picture,
)
from .terminal import show_note, show_table, title_of

__all__ = ["draw_lesson", "show_lesson", "written_lesson"]

_HEIGHT_INCHES: Final = 3.2
_TITLE_INCHES: Final = 0.5
_COLORS: Final = tuple(COLORS.values())
_COLORS_OF_BARS: Final = {"guessing": "#b8c2cc", "bound": "#d9c7a0"}
"""What a measured success stands between."""
_MOST_ANNOTATED: Final = 8
_WIDTH_OF_BARS: Final = 0.7
# A longer table is for a file.
_MOST_ROWS: Final = 24
# Labels of bars that stand side by side without being turned.
_MOST_UPRIGHT: Final = 5
# Places on a logarithmic axis that are each named.
_MOST_TICKS: Final = 8
# Of an axis's height: room above the bars for their numbers.
_HEADROOM: Final = 0.12


def show_lesson(console: Console, lesson: Lesson, *, is_drawn: bool = True) -> None:
    """Print whom an adversary corrupts, what it learnt in words, and its table.

    Args:
        console: where to.
        lesson: what it learnt, or did.
        is_drawn: whether its figures are in the run's folder.
    """
    console.print()
    console.print(Text.assemble(("Adversary: ", "bold"), (f"{lesson.role}, {lesson.who}", "bold magenta")))
    for text in (Text.assemble(("Trust: ", "bold"), (lesson.trust, "dim")), *map(Text, lesson.sentences)):
        show_note(console, text)
    if any("±" in sentence for sentence in lesson.sentences):
        show_note(console, "± is one standard error.")
    if len(lesson.rows) > _MOST_ROWS:
        show_note(console, f"The table has {len(lesson.rows):,} rows: see the run's folder, adversary-*.csv.")
    elif lesson.rows:
        console.print()
        headers = list(lesson.rows[0])
        texts = [key for key in headers if isinstance(lesson.rows[0][key], str)]
        ordered = [*texts, *(key for key in headers if key not in texts)]
        show_table(
            console,
            [title_of(key) for key in texts],
            [title_of(key) for key in ordered[len(texts) :]],
            rows=[[_cell(row[key]) for key in ordered] for row in lesson.rows],
        )
    if lesson.figures and is_drawn:
        show_note(console, "What it learnt is drawn in the run's folder, adversary-*.png.")


def written_lesson(lesson: Lesson) -> dict[str, Any]:
    """Return a lesson as plain data; JSON has no infinity, so that such a number is null."""
    plain: dict[str, Any] = msgspec.to_builtins(lesson)
    return _finite(plain)


def draw_lesson(lesson: Lesson, *, folder: Path, name: str) -> list[Path]:
    """Draw a lesson's figures as panels of one picture, `name` with .svg and .png.

    Returns:
        The files; none where matplotlib is not installed.
    """

    def draw(panels: Any) -> None:
        for axes, figure in zip(panels.flat, lesson.figures, strict=True):
            _draw(axes, figure)

    number = len(lesson.figures)
    with_errors = any(any(series.errors) for figure in lesson.figures for series in figure.series)
    picture = Picture(
        draw=draw,
        size=(WIDTH, _HEIGHT_INCHES * number + _TITLE_INCHES),
        panels=(number, 1),
        title=f" ({WHISKERS})" if with_errors else "",
    )
    return save_picture(picture, folder=folder, name=name, title=f"{lesson.role}: {lesson.who}")


def _draw(axes: Any, figure: Figure) -> None:
    bars = [series for series in figure.series if series.style == "bars"]
    for number, series in enumerate(bars):
        _draw_bars(axes, series, number=number, number_of_all=len(bars))
    if bars:
        axes.margins(y=_HEADROOM)
    for number, series in enumerate(figure.series):
        if series.style == "bars":
            continue
        color = _COLORS[(number if series.color is None else series.color) % len(_COLORS)]
        if series.style == "bound":
            color = RULE if series.color is None else color
            axes.plot(series.x, series.y, color=color, linestyle="--", linewidth=1.4, label=series.name)
        elif series.style == "reference":
            axes.plot(series.x, series.y, color=color, linestyle=":", linewidth=1.8, label=series.name)
        else:
            line: dict[str, Any] = {"linestyle": "none"} if series.style == "points" else {"linewidth": 1.8}
            reach = [ERRORS_SHOWN * error for error in series.errors]
            line |= {"marker": "o", "markersize": 4, "capsize": 2, "yerr": reach or None}
            axes.errorbar(series.x, series.y, color=color, label=series.name, **line)
    if figure.is_log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")  # no powers of ten in a formula's type
        axes.set_xticks([], minor=True)
        places = sorted({x for series in figure.series for x in series.x if not isinstance(x, str)})
        if len(places) <= _MOST_TICKS:
            name_ticks(axes, places)  # what was measured, rather than powers of ten of which few are in sight
    clean(axes, title=figure.title, x=figure.x_label, y=figure.y_label, grid="y")
    if len(figure.series) > 1:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))  # beside, not over lines


def _draw_bars(axes: Any, series: Series, *, number: int, number_of_all: int) -> None:
    width = _WIDTH_OF_BARS / number_of_all
    places = [place + (number + 0.5) * width - _WIDTH_OF_BARS / 2 for place in range(len(series.x))]
    of_series = (MUTED, _COLORS[0], POOR)[number % 3] if number_of_all > 1 else _COLORS[0]
    colors = [_COLORS_OF_BARS.get(str(label), of_series) for label in series.x]
    axes.bar(places, series.y, width=width * 0.92, color=colors)
    axes.bar([0], [0], color=of_series, label=series.name)  # the legend's own
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if len(series.x) > _MOST_UPRIGHT else {}
    axes.set_xticks(range(len(series.x)), [fold(str(label)) for label in series.x], **turned)
    errors = series.errors or (0.0,) * len(series.y)
    for place, height, error in zip(places, series.y, errors, strict=True):
        reach = ERRORS_SHOWN * error
        if reach:
            axes.errorbar(place, height, yerr=reach, color=INK, capsize=3)
        if len(series.x) * number_of_all <= _MOST_ANNOTATED:
            end, side = (height + reach, "bottom") if height >= 0 else (height - reach, "top")  # outside the bar
            axes.annotate(f"{height:.3f}", (place, end), ha="center", va=side, color=INK)


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return "∞" if math.isinf(value) else f"{value:.4g}"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]  plain data
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  plain data
    return value
