"""A fair and private vote's outcome as a picture: a row for each alternative, a mark for each group of voters."""

import functools
import math
from collections.abc import Sequence
from typing import Any, Final

from ....protocol.fair_voting import Outcome
from ....protocol.fair_voting.assurance import CONFIRMED
from ...presentation import drawing
from ...presentation.presenter import Known
from ...verdicts import at_most, round_up
from .alternatives import (
    Alternative,
    Served,
    alternatives_of,
    decimals_of_disparity,
    has_a_price,
    in_order,
    welfare_floor,
)

# By shape too, for readers who do not tell these colors apart; more groups than these are not told apart.
_MARKS: Final[tuple[dict[str, Any], ...]] = (
    {"color": drawing.COLORS["blue"], "marker": "o", "markersize": 7},
    {"color": drawing.COLORS["orange"], "marker": "s", "markersize": 6.5},
    {"color": drawing.COLORS["purple"], "marker": "^", "markersize": 7.5},
    {"color": drawing.COLORS["gold"], "marker": "v", "markersize": 7.5},
    {"color": drawing.COLORS["sky"], "marker": "P", "markersize": 8},
    {"color": drawing.RULE, "marker": "X", "markersize": 8},
)
_MARK_OF_MANY: Final[dict[str, Any]] = {"color": drawing.RULE, "marker": "|", "markersize": 9}
_MANY_MARKS: Final = 2_000  # more than these are a bitmap, also in the SVG
_FULL_MARKS: Final = 30  # fewer than these are drawn in full color
_PALEST: Final = 0.08
_HOLLOW: Final[dict[str, Any]] = {"mfc": "white", "markeredgewidth": 1.4}
_BELOW: Final = 0.28  # how far below its estimates a row has its truth
_APART: Final = 0.05  # how far below each other a row has its groups, so that their errors can be read
_ALLOWED: Final[dict[str, Any]] = {"color": drawing.ALLOWED, "marker": "s", "linestyle": "none"}
"""From the worst off group as far as the best off one may be."""
_FLOOR: Final[dict[str, Any]] = {"color": drawing.RULE, "linewidth": 1.2, "linestyle": "--", "zorder": 1}
_WINNER_BAND: Final = {"color": drawing.GOOD, "alpha": 0.09, "linewidth": 0, "zorder": 0}


def draw(outcome: Outcome, known: Known) -> drawing.Picture | None:
    """Return its picture; None where the winner alone is released, and the truth may not be shown."""
    if not outcome.alternatives and known.truth is None:
        return None
    alternatives = in_order(alternatives_of(outcome, known), outcome)
    shown = alternatives[: drawing.MOST_ROWS]
    names = [drawing.fold(alternative.name) for alternative in shown]
    with_both = bool(outcome.alternatives) and known.truth is not None
    marks = _marks(outcome, known)
    is_all = len(shown) == len(alternatives)
    return drawing.Picture(
        draw=functools.partial(_draw_rows, outcome=outcome, alternatives=shown, names=names, marks=marks),
        size=drawing.size_of_rows(names, row=0.27 + 0.18 * with_both, frame=1.25),
        setting=_source(outcome),
        title="" if is_all else f" (the first {len(shown)} of {len(alternatives)} alternatives)",
    )


def _is_told_apart(outcome: Outcome) -> bool:
    return len(outcome.groups) <= len(_MARKS)


def _allowed(outcome: Outcome) -> float | None:
    """Return the greatest disparity between the groups in a row that may win; None where nothing limits it."""
    return outcome.max_disparity if outcome.objective == "constrained" and not outcome.features else None


def _marks(outcome: Outcome, known: Known) -> dict[str, dict[str, Any]]:
    """Return what the legend explains, of what is there."""
    hollow = _HOLLOW if not outcome.alternatives else {}
    marks: dict[str, dict[str, Any]] = {}
    if _is_told_apart(outcome):
        for group, size, mark in zip(outcome.groups, outcome.group_sizes, _MARKS, strict=False):
            label = drawing.fold(f"to {group} ({size:,})")
            marks[label] = {**mark, **hollow, "linestyle": "none"}
    else:
        marks[f"to each of {len(outcome.groups):,} groups"] = {**_MARK_OF_MANY, "linestyle": "none"}
    between = "disparity of crossings" if outcome.features else "disparity between groups"
    if len(outcome.groups) > 1:
        marks[between] = {"color": drawing.MUTED, "linewidth": 3, "alpha": 0.6}
    marks["welfare: to all voters"] = {
        "color": drawing.INK,
        "marker": "|",
        "markersize": 12,
        "markeredgewidth": 2,
        "linestyle": "none",
    }
    if outcome.alternatives and _is_told_apart(outcome):
        marks[drawing.WHISKERS] = {"color": drawing.INK, "linewidth": 1.4}
    if _allowed(outcome) is not None:
        allowed = "without a price" if has_a_price(outcome) else "allowed"
        label = f"disparity up to {round_up(outcome.max_disparity, 6):g}: {allowed}"
        marks[label] = {**_ALLOWED, "markersize": 11}
    if outcome.alternatives and known.truth is not None:
        if _is_told_apart(outcome):
            hollow = {**_MARKS[0], **_HOLLOW, "color": drawing.INK, "markersize": 5.5}
            marks["hollow, below: the truth"] = {**hollow, "linestyle": "none"}
        else:
            marks["below: the truth"] = {**_MARK_OF_MANY, "markersize": 6, "linestyle": "none"}
    return marks


def _draw_rows(
    panels: Any, *, outcome: Outcome, alternatives: Sequence[Alternative], names: Sequence[str], marks: drawing.Marks
) -> drawing.Marks:
    axes = panels[0, 0]
    is_bitmap = len(outcome.groups) * len(alternatives) > _MANY_MARKS
    is_estimated = bool(outcome.alternatives)
    served = [own for alternative in alternatives if (own := alternative.known) is not None]
    decimals = decimals_of_disparity(served)
    floor = welfare_floor(alternatives, outcome)
    if math.isfinite(floor) and outcome.objective == "welfare_constrained":
        axes.axvline(floor, **_FLOOR)
        drawing.annotate_line(axes, floor, f"least welfare {floor:,.{decimals}f}")
    for row, (alternative, own) in enumerate(zip(alternatives, served, strict=True)):
        beside = alternative.true if is_estimated else None
        level = row if beside is None else row - _BELOW / 2
        reach = 0.2 if beside is None else 0.13
        if (most := _allowed(outcome)) is not None:
            low = own.utilities[own.worst].value
            axes.barh(level, most, left=low, height=1.6 * reach, color=_ALLOWED["color"], linewidth=0, zorder=0.5)
        _draw_served(axes, level, own, is_hollow=not is_estimated, is_bitmap=is_bitmap, reach=reach)
        if beside is not None:
            _draw_served(axes, level + _BELOW, beside, is_hollow=True, is_bitmap=is_bitmap, reach=0.1)
        said = f"disparity {own.disparity:,.{decimals}f}" if len(outcome.groups) > 1 else ""
        if own.features:
            widest, _ = max(enumerate(own.features), key=lambda placed: placed[1].disparity)
            said += f" ({drawing.fold(outcome.features[widest].name)})"
        if outcome.objective == "constrained" and own.disparity > outcome.max_disparity:
            limit = f"{outcome.max_disparity:g}"
            said += f"\nmore than {limit}, at a price" if has_a_price(outcome) else f"\nmore than the {limit} allowed"
        elif outcome.objective == "welfare_constrained" and own.welfare.value < floor:
            less = "less than the least welfare, at a price" if has_a_price(outcome) else "less than the least welfare"
            said += f"\n{less}"
        color = drawing.GOOD if alternative.is_winner else drawing.MUTED
        if alternative.is_winner:
            sure = "confirmed" if outcome.assurance.verdict == CONFIRMED else "how sure is not known"
            said = f"wins, {sure}\n{said}"
        drawing.annotate_row(axes, row, said, color=color)
        if alternative.is_winner:
            axes.axhspan(row - 0.5, row + 0.5, **_WINNER_BAND)
    what = "mean utility" if is_estimated else "true mean utility; only the winner was released"
    drawing.name_rows(axes, names, x=what)
    for label, alternative in zip(axes.get_yticklabels(), alternatives, strict=True):
        if alternative.is_winner:
            label.set(color=drawing.GOOD, fontweight="bold")
    return marks


def _draw_served(axes: Any, level: float, own: Served, *, is_hollow: bool, is_bitmap: bool, reach: float) -> None:
    """Draw a mark for each group, a line from the worst off to the best off, and a tick for all voters.

    It is hollow if it is the truth, and a bitmap if there are too many marks to describe each.
    """
    values = [utility.value for utility in own.utilities]
    size = 0.75 if is_hollow else 1.0
    ends = [min(values), max(values)]
    axes.plot(ends, [level] * 2, color=drawing.MUTED, linewidth=3 * size, alpha=0.6, solid_capstyle="butt", zorder=1)
    axes.plot([own.welfare.value] * 2, [level - reach, level + reach], color=drawing.INK, linewidth=2 * size, zorder=2)
    if len(values) > len(_MARKS):
        # The more there are, the paler each, so that their density can be seen.
        alpha = min(max(_FULL_MARKS / len(values), _PALEST), 1.0)
        mark = {**_MARK_OF_MANY, "markersize": 9 * size, "alpha": alpha, "linestyle": "none"}
        axes.plot(values, [level] * len(values), zorder=3, rasterized=is_bitmap, **mark)
        return
    for place, (utility, mark) in enumerate(zip(own.utilities, _MARKS, strict=False)):
        drawn = {**mark, "markersize": mark["markersize"] * size, **(_HOLLOW if is_hollow else {})}
        error = drawing.ERRORS_SHOWN * utility.standard_error
        # Bars of errors would hide each other.
        at = level + _APART * (place - (len(values) - 1) / 2) if error else level
        axes.errorbar(utility.value, at, xerr=error or None, capsize=3, linewidth=1.4, zorder=4, **drawn)


def _source(outcome: Outcome) -> str:
    """Return by what the election is held, and what is claimed for it where that is not what is proven."""
    claimed = f"ε = {outcome.epsilon_claimed:.4g}"
    proven = "none" if outcome.epsilon_proven is None else f"ε = {at_most(outcome.epsilon_proven, 4)}"
    differs = f", {claimed} claimed, {proven} proven" if claimed != proven else ""
    return f"{outcome.mechanism}, {outcome.objective}{differs}"
