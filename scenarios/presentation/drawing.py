"""The frame of a run's picture: style, title, legend, rows with names, files.

matplotlib is imported late: it takes longer than most runs.
"""

import dataclasses
import importlib
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

__all__ = [
    "ERRORS_SHOWN",
    "GOOD",
    "INK",
    "MOST_ROWS",
    "MUTED",
    "POOR",
    "RULE",
    "Picture",
    "annotate_row",
    "clean",
    "fold",
    "height_of_rows",
    "name_rows",
    "save_picture",
]

INK: Final = "#1f2933"
MUTED: Final = "#7b8794"
RULE: Final = "#52606d"
GOOD: Final = "#2a7f62"
POOR: Final = "#b3423a"
_GRID: Final = "#e4e7eb"

ERRORS_SHOWN: Final = 2
"""Standard errors: some 95 % of all runs on the same inputs give an estimate so near the truth."""

MOST_ROWS: Final = 40
"""A picture of more of them says nothing; the table has them all."""

# In a line; longer ones go on in the next.
_CHARACTERS_OF_NAME, _CHARACTERS_OF_TITLE = 28, 84
_WIDTH_INCHES = 8
_STYLE = {
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "svg.hashsalt": "psephos",
    "text.parse_math": False,  # a name may hold any number of dollars
}


@dataclasses.dataclass(frozen=True)
class Picture:
    """What is drawn inside the frame.

    Args:
        height: in inches.
        draw: called with the axes of each panel.
        marks: what the legend explains, by its label: options of a plotted line.
        panels: how many, one above the other.
        title_note: goes on in the title's line.
    """

    height: float
    draw: Callable[..., None]
    marks: Mapping[str, Mapping[str, Any]]
    panels: int = 1
    title_note: str = ""


def save_picture(picture: Picture, *, title: str, folder: Path, name: str = "estimates") -> list[Path]:
    """Draw a picture as `estimates.svg` and `estimates.png`.

    Args:
        picture: what is drawn.
        title: one line.
        folder: where to.
        name: the files', without what they end with.

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
        figure = figures.Figure(figsize=(_WIDTH_INCHES, picture.height), layout="constrained")
        panels: list[Any] = list(figure.subplots(picture.panels, squeeze=False)[:, 0])
        picture.draw(*panels)
        for label, mark in picture.marks.items():
            panels[0].plot([], [], label=label, **mark)
        if picture.marks:
            figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=9)
        folded = textwrap.fill(title + picture.title_note, _CHARACTERS_OF_TITLE)
        figure.suptitle(folded, x=0.02, ha="left", fontsize=11, fontweight="bold", color=INK)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=160)
    return paths


def fold(name: str) -> str:
    """Return a name in as many lines as it needs beside its row."""
    return textwrap.fill(name, _CHARACTERS_OF_NAME)


def height_of_rows(names: Sequence[str]) -> float:
    """Return the height in inches of a picture with a row for each of these folded names."""
    row = 0.4 + 0.15 * max(1 + name.count("\n") for name in names)
    return 1.7 + row * len(names)


def name_rows(axes: Any, names: Sequence[str]) -> None:
    """Name rows, the first at the top, and take from their panel what is no data."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    clean(axes, grid="x")


def clean(axes: Any, *, grid: str) -> None:
    """Take from a panel what is no data; of the frame, the side below remains."""
    axes.grid(axis=grid, color=_GRID)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def annotate_row(axes: Any, row: int, text: str, *, color: str) -> None:
    """Write beside a row what is said of it."""
    axes.annotate(text, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=color)
