"""A run's picture: each candidate's estimated support with its error, beside the quota, or its margin beside 0.

matplotlib is imported late: it takes longer than most runs.
"""

import importlib
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..protocol.dpwevote import CandidateOutcome, Outcome
from ..protocol.estimators import Estimate
from .report import percent

__all__ = ["draw_outcome"]

_INK, _PASS, _FAIL, _QUOTA = "#1f2933", "#2a7f62", "#b3423a", "#52606d"
_TRUTH: dict[str, Any] = {"marker": "D", "markersize": 6, "mfc": "white", "mec": _INK, "zorder": 3, "linestyle": "none"}
# Two standard errors: some 95 % of all runs on the same votes give an estimate so near the truth.
_ERRORS_SHOWN = 2
# A picture of more candidates says nothing; the table has them all.
_MOST_ROWS = 40
# In a line; longer ones go on in the next.
_CHARACTERS_OF_NAME, _CHARACTERS_OF_TITLE = 28, 84
_STYLE = {
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "svg.hashsalt": "psephos",
    "text.parse_math": False,  # a name may hold any number of dollars
}


def draw_outcome(outcome: msgspec.Struct, *, title: str, truth: Mapping[str, float] | None, folder: Path) -> list[Path]:
    """Draw an outcome as `estimates.svg` and `estimates.png`; nothing for outcomes without a picture of their own.

    Args:
        outcome: what was released.
        title: one line.
        truth: drawn beside the estimates where it may be shown.
        folder: where to.

    Returns:
        The files; none where matplotlib is not installed.
    """
    if not isinstance(outcome, Outcome):
        return []
    try:
        mpl: Any = importlib.import_module("matplotlib")  # by name: its types are partly unknown to checkers
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        return []
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes in the PNG; a reader's own font draws it in the SVG.
        warnings.filterwarnings("ignore", r"Glyph \d+ |Matplotlib currently does not support", UserWarning)
        shown = outcome.candidates[:_MOST_ROWS]
        names = [textwrap.fill(candidate.name, _CHARACTERS_OF_NAME) for candidate in shown]
        row_inches = 0.4 + 0.15 * max(1 + name.count("\n") for name in names)
        figure = figures.Figure(figsize=(8, 1.7 + row_inches * len(names)), layout="constrained")
        axes: Any = figure.subplots()
        _draw_votes(axes, shown, names, truth)
        for label, mark in _marks(with_truth=truth is not None).items():
            axes.plot([], [], label=label, **mark)
        figure.legend(loc="outside lower left", ncols=3, frameon=False, fontsize=9)
        if len(shown) < len(outcome.candidates):
            title += f" (the first {len(shown)} of {len(outcome.candidates):,})"
        title = textwrap.fill(title, _CHARACTERS_OF_TITLE)
        figure.suptitle(title, x=0.02, ha="left", fontsize=11, fontweight="bold", color=_INK)
        paths = [folder / "estimates.svg", folder / "estimates.png"]
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=160)
    return paths


def _marks(*, with_truth: bool) -> dict[str, dict[str, Any]]:
    """Return what the legend explains, in no candidate's color."""
    estimate: dict[str, Any] = {"color": "#7b8794", "marker": "o", "markersize": 7, "linewidth": 2}
    marks: dict[str, dict[str, Any]] = {
        "estimate ± 2 standard errors": estimate,
        "quota ± 2 standard errors": {"color": _QUOTA, "linewidth": 2},
    }
    return {**marks, "truth": _TRUTH} if with_truth else marks


def _shown(candidate: CandidateOutcome) -> tuple[Estimate, Estimate]:
    """Return what is drawn of a candidate, and what that is held against."""
    if candidate.support is None or candidate.quota is None:
        return candidate.margin, Estimate(0.0, 0.0)
    return candidate.support, candidate.quota


def _draw_votes(
    axes: Any, candidates: Sequence[CandidateOutcome], names: Sequence[str], truth: Mapping[str, float] | None
) -> None:
    for row, candidate in enumerate(candidates):
        color = _PASS if candidate.passed else _FAIL
        support, held_against = _shown(candidate)
        axes.errorbar(
            support.value,
            row,
            xerr=_ERRORS_SHOWN * support.standard_error,
            fmt="o",
            color=color,
            capsize=4,
            markersize=7,
            linewidth=2,
        )
        quota, error = held_against.value, _ERRORS_SHOWN * held_against.standard_error
        reach = [row - 0.34, row + 0.34]
        axes.plot([quota, quota], reach, color=_QUOTA, linewidth=2)
        axes.fill_betweenx(reach, quota - error, quota + error, color=_QUOTA, alpha=0.2, linewidth=0)
        if truth is not None:
            subtracted = truth["quota"] if candidate.support is None else 0.0
            axes.plot(truth[candidate.name] - subtracted, row, **_TRUTH)
        verdict = "passes" if candidate.passed else "fails"
        text = f"{verdict}, P(wrong) {percent(candidate.error_probability)}"
        axes.annotate(text, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=color)
    axes.set_yticks(range(len(candidates)), names)
    axes.set_ylim(len(candidates) - 0.5, -0.5)
    is_margin = any(candidate.support is None for candidate in candidates)
    axes.set_xlabel("margin: weight of the yes votes less the quota" if is_margin else "weight of the yes votes")
    axes.grid(axis="x", color="#e4e7eb")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
