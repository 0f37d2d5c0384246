"""Draw a fair vote's outcome: a row for each alternative, a mark for each group of voters."""

import math
from collections.abc import Sequence
from typing import Any, Final

from ....protocol.fair_voting import Outcome
from ....protocol.fair_voting.assurance import CONFIRMED
from ...presentation import drawing
from ...presentation.charts import EDGES, Axis, Chart, Panel
from ...presentation.presenter import Known
from ...verdicts import at_most, round_up
from .alternatives import (
    Alternative,
    ServedUtilities,
    alternatives_of,
    decimals_of_disparity,
    has_a_price,
    in_order,
    welfare_floor,
)

# Distinguished by shape too, for color-blind readers; further groups are not distinguished.
_MARKS: Final[tuple[dict[str, Any], ...]] = (
    {"color": drawing.COLORS["blue"], "marker": "o", "markersize": 7},
    {"color": drawing.COLORS["orange"], "marker": "s", "markersize": 6.5},
    {"color": drawing.COLORS["purple"], "marker": "^", "markersize": 7.5},
    {"color": drawing.COLORS["gold"], "marker": "v", "markersize": 7.5},
    {"color": drawing.COLORS["sky"], "marker": "P", "markersize": 8},
    {"color": drawing.RULE, "marker": "X", "markersize": 8},
)
_MARK_OF_MANY: Final[dict[str, Any]] = {"color": drawing.RULE, "marker": "|", "markersize": 9}
_FULL_MARKS: Final = 30  # up to this number, marks are opaque
_PALEST: Final = 0.08
_HOLLOW: Final[dict[str, Any]] = {"mfc": "white", "mew": 1.4}
_BELOW: Final = 0.28  # vertical offset of true values below a row's estimates
_APART: Final = 0.05  # vertical offset between groups in a row, so that their errors are readable
_ALLOWED: Final[dict[str, Any]] = {"color": drawing.ALLOWED, "marker": "s", "linestyle": "none"}
"""Style of the allowed range above the worst-off group."""
_FLOOR: Final[dict[str, Any]] = {"color": drawing.RULE, "linewidth": 1.2, "linestyle": "--", "level": 1.0}
_WINNER_BAND: Final[dict[str, Any]] = {"color": drawing.GOOD, "alpha": 0.09, "level": 0.0}


def draw(outcome: Outcome, known_truth: Known) -> Chart | None:
    """Return the picture; None if only the winner is released and the truth may not be shown."""
    if not outcome.alternatives and known_truth.truth is None:
        return None
    alternatives = in_order(alternatives_of(outcome, known_truth), outcome)
    shown_alternatives = alternatives[: drawing.MOST_ROWS]
    is_all = len(shown_alternatives) == len(alternatives)
    return Chart(
        panels=[_rows(outcome, shown_alternatives)],
        marks=_marks(outcome, known_truth),
        setting=_source(outcome),
        title="" if is_all else f" (the first {len(shown_alternatives)} of {len(alternatives)} alternatives)",
    )


def _is_told_apart(outcome: Outcome) -> bool:
    return len(outcome.groups) <= len(_MARKS)


def _allowed(outcome: Outcome) -> float | None:
    """Return the greatest allowed disparity between the groups in a row; None without a limit."""
    return outcome.max_disparity if outcome.objective == "constrained" and not outcome.features else None


def _marks(outcome: Outcome, known_truth: Known) -> dict[str, dict[str, Any]]:
    """Return the legend's entries for what is drawn."""
    hollow = _HOLLOW if not outcome.alternatives else {}
    marks: dict[str, dict[str, Any]] = {}
    if _is_told_apart(outcome):
        for group, size, mark in zip(outcome.groups, outcome.group_sizes, _MARKS, strict=False):
            label = drawing.fold(f"to {group} ({size:,})")
            marks[label] = {**mark, **hollow, "linestyle": "none"}
    else:
        marks[f"to each of {len(outcome.groups):,} groups"] = {**_MARK_OF_MANY, "linestyle": "none"}
    disparity_name = "disparity of crossings" if outcome.features else "disparity between groups"
    if len(outcome.groups) > 1:
        marks[disparity_name] = {"color": drawing.MUTED, "linewidth": 3, "alpha": 0.6}
    marks["welfare: to all voters"] = {
        "color": drawing.INK,
        "marker": "|",
        "markersize": 12,
        "mew": 2,
        "linestyle": "none",
    }
    if outcome.alternatives and _is_told_apart(outcome):
        marks[drawing.WHISKERS] = {"color": drawing.INK, "linewidth": 1.4}
    if _allowed(outcome) is not None:
        allowed = "without a price" if has_a_price(outcome) else "allowed"
        label = f"disparity up to {round_up(outcome.max_disparity, 6):g}: {allowed}"
        marks[label] = {**_ALLOWED, "markersize": 11}
    if outcome.alternatives and known_truth.truth is not None:
        if _is_told_apart(outcome):
            hollow = {**_MARKS[0], **_HOLLOW, "color": drawing.INK, "markersize": 5.5}
            marks["hollow, below: the truth"] = {**hollow, "linestyle": "none"}
        else:
            marks["below: the truth"] = {**_MARK_OF_MANY, "markersize": 6, "linestyle": "none"}
    return marks


def _rows(outcome: Outcome, alternatives: Sequence[Alternative]) -> Panel:
    is_estimated = bool(outcome.alternatives)
    served_utilities = [utilities for alternative in alternatives if (utilities := alternative.known) is not None]
    decimals = decimals_of_disparity(served_utilities)
    floor = welfare_floor(alternatives, outcome)
    has_truth = is_estimated and any(alternative.true is not None for alternative in alternatives)
    panel = Panel(
        x=Axis("mean utility" if is_estimated else "true mean utility; only the winner was released"),
        y=Axis(names=[drawing.fold(alternative.name) for alternative in alternatives]),
        height=0.27 + 0.18 * has_truth,
    )
    if math.isfinite(floor) and outcome.objective == "welfare_constrained":
        panel.line([floor] * 2, EDGES, **_FLOOR)
        panel.above[floor] = f"least welfare {floor:,.{decimals}f}"
    for row, (alternative, utilities) in enumerate(zip(alternatives, served_utilities, strict=True)):
        truth = alternative.true if is_estimated else None
        level = row if truth is None else row - _BELOW / 2
        reach = 0.2 if truth is None else 0.13
        if (max_disparity := _allowed(outcome)) is not None:
            low = utilities.utilities[utilities.worst].value
            panel.area(
                (low, low + max_disparity),
                (level - 0.8 * reach, level + 0.8 * reach),
                color=_ALLOWED["color"],
                level=0.6,
            )
        _draw_served(panel, level, utilities, is_hollow=not is_estimated, reach=reach)
        if truth is not None:
            _draw_served(panel, level + _BELOW, truth, is_hollow=True, reach=0.1)
        label = f"disparity {utilities.disparity:,.{decimals}f}" if len(outcome.groups) > 1 else ""
        if utilities.features:
            widest, _ = max(enumerate(utilities.features), key=lambda placed: placed[1].disparity)
            label += f" ({drawing.fold(outcome.features[widest].name)})"
        if outcome.objective == "constrained" and utilities.disparity > outcome.max_disparity:
            limit = f"{outcome.max_disparity:g}"
            label += f"\nmore than {limit}, at a price" if has_a_price(outcome) else f"\nmore than the {limit} allowed"
        elif outcome.objective == "welfare_constrained" and utilities.welfare.value < floor:
            floor_note = (
                "less than the least welfare, at a price" if has_a_price(outcome) else "less than the least welfare"
            )
            label += f"\n{floor_note}"
        if alternative.is_winner:
            certainty_text = "confirmed" if outcome.assurance.verdict == CONFIRMED else "how sure is not known"
            label = f"wins, {certainty_text}\n{label}"
            panel.strong[row] = drawing.GOOD
            panel.area(EDGES, (row - 0.5, row + 0.5), **_WINNER_BAND)
        panel.beside[row] = label, panel.strong.get(row, drawing.MUTED)
    return panel


def _draw_served(panel: Panel, level: float, utilities: ServedUtilities, *, is_hollow: bool, reach: float) -> None:
    """Draw a mark for each group, a line from the worst-off to the best-off group, and a tick for all voters.

    Marks of true values are hollow.
    """
    values = [utility.value for utility in utilities.utilities]
    size = 0.75 if is_hollow else 1.0
    panel.line([min(values), max(values)], [level] * 2, color=drawing.MUTED, linewidth=3 * size, alpha=0.6, level=1.0)
    ends = level - reach, level + reach
    panel.line([utilities.welfare.value] * 2, ends, color=drawing.INK, linewidth=2 * size)
    if len(values) > len(_MARKS):
        # The more marks, the more transparent each, so that their density is visible.
        alpha = min(max(_FULL_MARKS / len(values), _PALEST), 1.0)
        mark = {**_MARK_OF_MANY, "markersize": 9 * size, "alpha": alpha, "linestyle": "none"}
        panel.line(values, [level] * len(values), level=3.0, **mark)
        return
    for place, (utility, mark) in enumerate(zip(utilities.utilities, _MARKS, strict=False)):
        marker_style = {**mark, "markersize": mark["markersize"] * size, **(_HOLLOW if is_hollow else {})}
        # Error bars would hide each other.
        level_shifted = level + _APART * (place - (len(values) - 1) / 2) * bool(utility.standard_error)
        panel.measured(utility, level_shifted, **marker_style)


def _source(outcome: Outcome) -> str:
    """Return the mechanism in words, with the claimed ε if it differs from the proven one."""
    claimed = f"ε = {outcome.epsilon_claimed:.4g}"
    proven = "none" if outcome.epsilon_proven is None else f"ε = {at_most(outcome.epsilon_proven, 4)}"
    differs = f", {claimed} claimed, {proven} proven" if claimed != proven else ""
    return f"{outcome.mechanism}, {outcome.objective}{differs}"
