"""Several societies side by side: what each prefers, and where they differ by more than noise explains."""

import math
from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from ...protocol.moral_preferences import DIFFERS, MOST_COMPARED, Difference, Outcome, SocietyOutcome, compare_societies
from ...protocol.moral_preferences.certainty import why_no_verdict
from ..presentation import drawing
from ..presentation.charts import EDGES, Axis, Chart, Panel
from ..presentation.numbers import decimals_of, pluralize, rounded
from ..presentation.presenter import Known
from ..presentation.terminal import show_note, show_table
from ..tables import Cell, Entry, Rows, Table
from ..verdicts import UNDECIDED, at_most

_MOST_SOCIETIES: Final = 5  # side by side in a terminal
_MOST_DRAWN: Final = len(drawing.COLORS)
_MOST_DIFFERENCES: Final = 8
_INTERVAL: Final = "Interval"
_HEIGHT: Final = 0.72  # of a feature's row, which its societies share
_TRUTH: Final = {**drawing.TRUTH, "markersize": 3.5}


def _largest(outcome: Outcome, most: int) -> list[SocietyOutcome]:
    """Return at most so many societies of whom somebody reported: those with most voters, in the outcome's order."""
    there = [society for society in outcome.society_outcomes if society.preferences is not None]
    kept = sorted(there, key=lambda society: -society.num_voters)[:most]
    return [society for society in there if society in kept]


def show_societies(console: Console, outcome: Outcome, features: Sequence[str], table: str) -> None:
    """Print what each society prefers, in these features and their order, and where they differ most."""
    shown = _largest(outcome, _MOST_SOCIETIES)
    places = [outcome.features.index(feature) for feature in features]
    values = [(society.preferences or ())[place] for society in shown for place in places]
    errors = [error for society in shown for error in society.errors or ()]
    decimals = decimals_of(values, errors or [None])
    rows: list[list[Entry]] = [["voters", *(f"{society.num_voters:,}" for society in shown)]]
    for feature, place in zip(features, places, strict=True):
        cells: list[Entry] = [feature]
        for society in shown:
            value = (society.preferences or ())[place]
            is_sure = society.errors is None or abs(value) > drawing.ERRORS_SHOWN * society.errors[place]
            cells.append(Cell(rounded(value, decimals, signed=True), tone="" if is_sure else "quiet"))
        rows.append(cells)
    if errors:
        cells = ["± each"]
        for society in shown:  # one number where all features have the same
            own = [f"{error:,.{decimals}f}" for error in sorted(society.errors or ())]
            cells.append(Cell(own[0] if own[0] == own[-1] else f"{own[0]} to {own[-1]}", tone="quiet"))
        rows.append(cells)
    names = [drawing.fold(society.name, most_lines=1) for society in shown]
    show_table(console, Table(columns=["Feature", *names], rows=rows))
    left = len(outcome.society_outcomes) - len(shown)
    if left:
        show_note(console, f"… and {left:,} more, with fewer voters, in {table}")
    for society in outcome.society_outcomes:
        if society.preferences is None:
            show_note(console, f"{society.name}: nobody reported", style="yellow")
    console.print()
    found = compare_largest(outcome, most=_MOST_SOCIETIES)
    if not found:
        why = why_no_verdict(outcome) or "fewer than two of them reported"
        show_note(console, f"no differences between societies: {why}")
        return
    show_differences(console, outcome, found, most=_MOST_DIFFERENCES)
    if len(found) > _MOST_DIFFERENCES:
        show_note(console, "all of them: psephos decide RUN --differences")


def compare_largest(outcome: Outcome, *, most: int = MOST_COMPARED, level: float | None = None) -> Sequence[Difference]:
    """Return the differences between the societies with most voters; see `compare_societies`."""
    names = [society.name for society in _largest(outcome, most)]
    return compare_societies(outcome, names, level=level) if names else ()


def show_differences(
    console: Console, outcome: Outcome, found: Sequence[Difference], *, most: int | None = None
) -> None:
    """Print so many of the differences between societies, then how many of all hold, and what that means."""
    shown, level = found[:most], found[0].level
    decimals = decimals_of([each.difference for each in shown], [each.standard_error for each in shown])
    rows: list[Sequence[Entry]] = []
    for each in shown:
        tone = "" if _stands_out(each) else "quiet"
        written = f"{rounded(each.difference, decimals, signed=True)} ± {each.standard_error:,.{decimals}f}"
        cells = [each.feature, each.more, each.less, Cell(written, tone=tone)]
        if level is not None:
            cells += [
                Cell(_interval(each, decimals), tone=tone),
                Cell((UNDECIDED if tone else str(each.verdict)), tone=tone),
            ]
        rows.append(cells)
    columns = ("Feature", "counts more to", "than to", "by", *(() if level is None else (_INTERVAL, "Verdict")))
    show_table(console, Table(columns=columns, rows=rows, labels=3), drop=(_INTERVAL,))
    console.print()
    number = sum(map(_stands_out, found))
    counted = f"{number:,} of {pluralize(len(found), 'difference')}"
    if level is None:
        verb = "is" if number == 1 else "are"
        large = f"  {counted} {verb} larger than {drawing.ERRORS_SHOWN} standard errors"
        console.print(Text(large, style="bold"))
        show_note(console, f"no verdict: {why_no_verdict(outcome)}")
    else:
        risk = f"{at_most(100 * level)} %"
        verb = "holds" if number == 1 else "hold"
        console.print(Text(f"  {counted} {verb}, all of them at once, at the {risk} level", style="bold"))
        show_note(console, "interval: of the difference without noise")
        show_note(
            console,
            f"noise makes any interval or verdict wrong with a probability of at most {risk}, whatever the societies "
            "are",
        )
    if outcome.mechanism != "functional":  # whose errors have what differs between voters in them
        show_note(console, "± is of the noise: how far other voters would differ is no part of it")


def _interval(difference: Difference, decimals: int) -> str:
    """Return where a difference lies without noise, rounded outwards."""
    if difference.low is None or difference.high is None:
        return "anywhere"
    step = 10.0**-decimals
    low, high = math.floor(difference.low / step) * step, math.ceil(difference.high / step) * step
    return f"{rounded(low, decimals, signed=True)} to {rounded(high, decimals, signed=True)}"


def _stands_out(difference: Difference) -> bool:
    """Whether a difference holds; where there is no verdict, whether noise hardly makes one as large."""
    if difference.verdict is None:
        return difference.difference > drawing.ERRORS_SHOWN * difference.standard_error
    return difference.verdict == DIFFERS


def verdict_on_societies(outcome: Outcome) -> str:
    """Return in a sentence where the societies with most voters differ by more than noise explains."""
    found = compare_largest(outcome, most=_MOST_SOCIETIES)
    return verdict_on_differences(found) if found else "Where the societies differ beyond the noise is not known."


def verdict_on_differences(found: Sequence[Difference]) -> str:
    """Return in a sentence which of some differences, at least one, is clearest; or that none is clear."""
    first = next(filter(_stands_out, found), None)
    if first is not None:
        counts = f"it counts more to {first.more} than to {first.less}"
        return f"The societies differ most clearly on {first.feature}: {counts}."
    if found[0].level is None:
        return f"No difference between societies is larger than {drawing.ERRORS_SHOWN} standard errors."
    return "Every difference between societies is undecided."


def rows_of_societies(outcome: Outcome, known: Known) -> Rows:
    """Return a row for each society and feature."""
    rows: Rows = []
    for society in outcome.society_outcomes:
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


def draw_societies(outcome: Outcome, known: Known, features: Sequence[str], *, x: str, setting: str) -> Chart:
    """Return a picture in which a feature's row, from the top, has a mark for each society."""
    shown, truth = _largest(outcome, _MOST_DRAWN), known.truth or {}
    names = [drawing.fold(feature) for feature in features]
    panel = Panel(x=Axis(x), y=Axis(names=names), height=0.16 + 0.12 * len(shown))
    panel.line((0, 0), EDGES, color=drawing.RULE, linewidth=1)
    marks: dict[str, dict[str, Any]] = {}
    step = _HEIGHT / len(shown)
    looks = zip(shown, drawing.COLORS.values(), drawing.MARKERS, strict=False)
    for number, (society, color, marker) in enumerate(looks):
        style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 5, "linestyle": "none"}
        marks[society.name] = style
        for row, feature in enumerate(features):
            place, at = outcome.features.index(feature), row + (number + 0.5) * step - _HEIGHT / 2
            value = (society.preferences or ())[place]
            panel.mark(value, at, **style)
            if society.errors is not None:
                panel.whisker((value, at), society.errors[place], cap=0, color=color, linewidth=1.6)
            if (true := truth.get(f"{society.name}, {feature}")) is not None:
                panel.mark(true, at, **_TRUTH)
    if any(society.errors for society in shown):
        marks[f"± {drawing.ERRORS_SHOWN} standard errors"] = {"color": drawing.INK, "linewidth": 1.6}
    if known.truth is not None:
        marks["without noise"] = _TRUTH
    left = len(outcome.society_outcomes) - len(shown)
    note = f"{left:,} smaller societies are in {known.table}." if left else ""
    return Chart(panels=[panel], marks=marks, setting=setting, note=note)
