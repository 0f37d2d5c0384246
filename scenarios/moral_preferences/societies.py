"""Several societies side by side: what each prefers, and where they differ by more than noise explains."""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.estimators import Estimate
from ...protocol.moral_preferences import Outcome, SocietyOutcome
from ..presentation.drawing import (
    COLORS,
    ERRORS_SHOWN,
    INK,
    MARKERS,
    RULE,
    TRUTH,
    Marks,
    Picture,
    fold,
    name_rows,
    size_of_rows,
)
from ..presentation.numbers import decimals_of, rounded, some
from ..presentation.presenter import Known, Rows
from ..presentation.terminal import Cell, show_note, show_table

__all__ = [
    "Difference",
    "differences_of",
    "draw_societies",
    "rows_of_societies",
    "show_societies",
    "verdict_on_societies",
]

_MOST_SOCIETIES: Final = 5
"""Side by side in a terminal."""
_MOST_DRAWN: Final = len(COLORS)
_MOST_DIFFERENCES: Final = 8
_HEIGHT: Final = 0.72
"""Of a feature's row, which its societies share."""


class Difference(msgspec.Struct, frozen=True):
    """How much more a feature counts to one society than to another.

    Args:
        feature: its name.
        more: the society to which it counts more, as released.
        less: the other one.
        estimate: more minus less, at least 0.
    """

    feature: str
    more: str
    less: str
    estimate: Estimate

    @property
    def is_sure(self) -> bool:
        """Whether noise hardly makes a difference as large."""
        return self.estimate.value > ERRORS_SHOWN * self.estimate.standard_error

    @property
    def size(self) -> float:
        """It in standard errors."""
        error = self.estimate.standard_error
        return self.estimate.value / error if error else math.inf if self.estimate.value else 0.0


def differences_of(outcome: Outcome, names: Sequence[str] = ()) -> list[Difference]:
    """Return all differences between societies, those that stand out most from the noise first.

    Args:
        outcome: of several societies.
        names: of those that are compared; by default all of whom somebody reported.
    """
    names = names or [society.name for society in outcome.by_society if society.preferences is not None]
    found = [
        Difference(feature, first, second, estimate)
        if estimate.value >= 0
        else Difference(feature, second, first, Estimate(-estimate.value, estimate.standard_error))
        for first, second in itertools.combinations(names, 2)
        for feature, estimate in zip(outcome.features, outcome.differences(first, second) or (), strict=False)
    ]
    return sorted(found, key=lambda difference: -difference.size)


def _largest(outcome: Outcome, most: int) -> list[SocietyOutcome]:
    """Return at most so many societies of whom somebody reported: those with most voters, in the outcome's order."""
    there = [society for society in outcome.by_society if society.preferences is not None]
    kept = sorted(there, key=lambda society: -society.num_voters)[:most]
    return [society for society in there if society in kept]


def show_societies(console: Console, outcome: Outcome, features: Sequence[str], table: str) -> None:
    """Print what each society prefers, and where they differ most.

    Args:
        console: where to.
        outcome: of several societies.
        features: those that are shown, in their order.
        table: the file that holds all of it.
    """
    shown = _largest(outcome, _MOST_SOCIETIES)
    places = [outcome.features.index(feature) for feature in features]
    values = [(society.preferences or ())[place] for society in shown for place in places]
    errors = [error for society in shown for error in society.errors or ()]
    decimals = decimals_of(values, errors or [None])
    rows: list[Sequence[Cell]] = [("voters", *(f"{society.num_voters:,}" for society in shown))]
    for feature, place in zip(features, places, strict=True):
        rows.append((feature, *(_cell(society, place, decimals) for society in shown)))
    if errors:
        rows.append(("± each", *(Text(_error_of(society, decimals), style="dim") for society in shown)))
    show_table(console, ("Feature",), [fold(society.name, most_lines=1) for society in shown], rows=rows)
    left = len(outcome.by_society) - len(shown)
    if left:
        show_note(console, f"… and {left:,} more, with fewer voters, in {table}")
    for society in outcome.by_society:
        if society.preferences is None:
            show_note(console, f"{society.name}: nobody reported", style="yellow")
    console.print()
    _show_differences(console, outcome, [society.name for society in shown])


def _cell(society: SocietyOutcome, place: int, decimals: int) -> Text:
    value = (society.preferences or ())[place]
    is_sure = society.errors is None or abs(value) > ERRORS_SHOWN * society.errors[place]
    return Text(rounded(value, decimals, signed=True), style="" if is_sure else "dim")


def _error_of(society: SocietyOutcome, decimals: int) -> str:
    """Return a society's errors: one number where all features have the same."""
    errors = [f"{error:,.{decimals}f}" for error in sorted(society.errors or ())]
    return errors[0] if errors[0] == errors[-1] else f"{errors[0]} to {errors[-1]}"


def _show_differences(console: Console, outcome: Outcome, names: Sequence[str]) -> None:
    """Print the differences that stand out most from the noise."""
    found = differences_of(outcome, names)
    if not found:
        show_note(console, "no differences between societies: their errors have no closed form")
        return
    shown = found[:_MOST_DIFFERENCES]
    decimals = decimals_of([each.estimate.value for each in shown], [each.estimate.standard_error for each in shown])
    rows: list[Sequence[Cell]] = []
    for each in shown:
        written = rounded(each.estimate.value, decimals, signed=True)
        said = Text(f"{written} ± {each.estimate.standard_error:,.{decimals}f}", style="" if each.is_sure else "dim")
        rows.append((each.feature, each.more, each.less, said))
    show_table(console, ("Feature", "counts more to", "than to"), ("by",), rows=rows)
    console.print()
    number = sum(each.is_sure for each in found)
    said = f"  {number:,} of {some(len(found), 'difference')} {'is' if number == 1 else 'are'} larger than"
    console.print(Text(f"{said} {ERRORS_SHOWN} standard errors", style="bold"))
    if outcome.mechanism != "functional":  # whose errors have what differs between voters in them
        show_note(console, "noise alone does that to about 1 in 20 of them")
        show_note(console, "± is of the noise: how far other voters would differ is no part of it")


def verdict_on_societies(outcome: Outcome) -> str:
    """Return in a sentence where the societies with most voters differ by more than noise explains."""
    found = differences_of(outcome, [society.name for society in _largest(outcome, _MOST_SOCIETIES)])
    if not found:
        return "Where the societies differ beyond the noise is not known."
    first = found[0]
    if not first.is_sure:
        return f"No difference between societies is larger than {ERRORS_SHOWN} standard errors."
    return f"The societies differ most clearly on {first.feature}: it counts more to {first.more} than to {first.less}."


def rows_of_societies(outcome: Outcome, known: Known) -> Rows:
    """Return a row for each society and feature."""
    rows: Rows = []
    for society in outcome.by_society:
        for place, feature in enumerate(outcome.features):
            row: dict[str, object] = {
                "society": society.name,
                "feature": feature,
                "preference": None if society.preferences is None else society.preferences[place],
            }
            if outcome.errors is not None:
                row["standard_error"] = None if society.errors is None else society.errors[place]
            if known.truth is not None:
                row["clean_preference"] = known.truth.get(f"{society.name}, {feature}")
            rows.append(row)
    return rows


def draw_societies(outcome: Outcome, known: Known, features: Sequence[str], *, x: str, setting: str) -> Picture:
    """Return a picture in which a feature's row has a mark for each society.

    Args:
        outcome: of several societies.
        known: what may be shown beside it.
        features: those that are shown, from the top.
        x: what the axis means.
        setting: by what these preferences were found.
    """
    shown = _largest(outcome, _MOST_DRAWN)
    names = [fold(feature) for feature in features]
    left = len(outcome.by_society) - len(shown)
    return Picture(
        draw=functools.partial(_draw, outcome=outcome, known=known, shown=shown, names=names, features=features, x=x),
        size=size_of_rows(names, row=0.16 + 0.12 * len(shown)),
        setting=setting,
        note=f"{left:,} smaller societies are in {known.table}." if left else "",
    )


def _draw(
    panels: Any,
    *,
    outcome: Outcome,
    known: Known,
    shown: Sequence[SocietyOutcome],
    names: Sequence[str],
    features: Sequence[str],
    x: str,
) -> Marks:
    axes = panels[0, 0]
    axes.axvline(0, color=RULE, linewidth=1)
    marks: dict[str, dict[str, Any]] = {}
    step = _HEIGHT / len(shown)
    for number, (society, color, marker) in enumerate(zip(shown, COLORS.values(), MARKERS, strict=False)):
        style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 5, "linestyle": "none"}
        marks[society.name] = style
        for row, feature in enumerate(features):
            place, at = outcome.features.index(feature), row + (number + 0.5) * step - _HEIGHT / 2
            value = (society.preferences or ())[place]
            axes.plot(value, at, zorder=3, **style)
            if society.errors is not None:
                reach = ERRORS_SHOWN * society.errors[place]
                axes.plot([value - reach, value + reach], [at, at], color=color, linewidth=1.6, zorder=2)
            if known.truth is not None and (true := known.truth.get(f"{society.name}, {feature}")) is not None:
                axes.plot(true, at, **{**TRUTH, "markersize": 3.5})
    if any(society.errors for society in shown):
        marks[f"± {ERRORS_SHOWN} standard errors"] = {"color": INK, "linewidth": 1.6}
    if known.truth is not None:
        marks["without noise"] = {**TRUTH, "markersize": 3.5}
    name_rows(axes, names, x=x)
    return marks
