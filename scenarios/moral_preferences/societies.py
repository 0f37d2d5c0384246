"""Compare several societies: their preferences, and differences that noise does not explain."""

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

_MOST_SOCIETIES: Final = 5  # most societies side by side in a terminal
_MOST_DRAWN: Final = len(drawing.COLORS)
_MOST_DIFFERENCES: Final = 8
_INTERVAL: Final = "Interval"
_HEIGHT: Final = 0.72  # fraction of a feature's row for the marks of all societies
_TRUTH: Final = {**drawing.TRUTH, "markersize": 3.5}


def _largest(outcome: Outcome, max_societies: int) -> list[SocietyOutcome]:
    """Return the societies with reports that have the most voters, in the outcome's order."""
    reported_societies = [society for society in outcome.society_outcomes if society.preferences is not None]
    largest_societies = sorted(reported_societies, key=lambda society: -society.num_voters)[:max_societies]
    return [society for society in reported_societies if society in largest_societies]


def show_societies(console: Console, outcome: Outcome, features: Sequence[str], table: str) -> None:
    """Print each society's preferences in these features, and where societies differ most."""
    shown_societies = _largest(outcome, _MOST_SOCIETIES)
    places = [outcome.features.index(feature) for feature in features]
    values = [(society.preferences or ())[place] for society in shown_societies for place in places]
    errors = [error for society in shown_societies for error in society.errors or ()]
    decimals = decimals_of(values, errors or [None])
    rows: list[list[Entry]] = [["voters", *(f"{society.num_voters:,}" for society in shown_societies)]]
    for feature, place in zip(features, places, strict=True):
        cells: list[Entry] = [feature]
        for society in shown_societies:
            value = (society.preferences or ())[place]
            is_sure = society.errors is None or abs(value) > drawing.ERRORS_SHOWN * society.errors[place]
            cells.append(Cell(rounded(value, decimals, signed=True), tone="" if is_sure else "quiet"))
        rows.append(cells)
    if errors:
        cells = ["± each"]
        for society in shown_societies:  # one number if all features have the same error
            error_texts = [f"{error:,.{decimals}f}" for error in sorted(society.errors or ())]
            cells.append(
                Cell(
                    error_texts[0] if error_texts[0] == error_texts[-1] else f"{error_texts[0]} to {error_texts[-1]}",
                    tone="quiet",
                )
            )
        rows.append(cells)
    names = [drawing.fold(society.name, most_lines=1) for society in shown_societies]
    show_table(console, Table(columns=["Feature", *names], rows=rows))
    num_left_out = len(outcome.society_outcomes) - len(shown_societies)
    if num_left_out:
        show_note(console, f"… and {num_left_out:,} more, with fewer voters, in {table}")
    for society in outcome.society_outcomes:
        if society.preferences is None:
            show_note(console, f"{society.name}: nobody reported", style="yellow")
    console.print()
    differences = compare_largest(outcome, max_societies=_MOST_SOCIETIES)
    if not differences:
        reason = why_no_verdict(outcome) or "fewer than two of them reported"
        show_note(console, f"no differences between societies: {reason}")
        return
    show_differences(console, outcome, differences, max_shown=_MOST_DIFFERENCES)
    if len(differences) > _MOST_DIFFERENCES:
        show_note(console, "all of them: psephos decide RUN --differences")


def compare_largest(
    outcome: Outcome, *, max_societies: int = MOST_COMPARED, level: float | None = None
) -> Sequence[Difference]:
    """Return the differences between the societies with the most voters. See `compare_societies`."""
    names = [society.name for society in _largest(outcome, max_societies)]
    return compare_societies(outcome, names, level=level) if names else ()


def show_differences(
    console: Console, outcome: Outcome, differences: Sequence[Difference], *, max_shown: int | None = None
) -> None:
    """Print some differences between societies, the number of significant ones, and its meaning."""
    shown_differences, level = differences[:max_shown], differences[0].level
    decimals = decimals_of(
        [each.difference for each in shown_differences], [each.standard_error for each in shown_differences]
    )
    rows: list[Sequence[Entry]] = []
    for each in shown_differences:
        tone = "" if _stands_out(each) else "quiet"
        difference_text = f"{rounded(each.difference, decimals, signed=True)} ± {each.standard_error:,.{decimals}f}"
        cells = [each.feature, each.more, each.less, Cell(difference_text, tone=tone)]
        if level is not None:
            cells += [
                Cell(_interval(each, decimals), tone=tone),
                Cell((UNDECIDED if tone else str(each.verdict)), tone=tone),
            ]
        rows.append(cells)
    columns = ("Feature", "counts more to", "than to", "by", *(() if level is None else (_INTERVAL, "Verdict")))
    show_table(console, Table(columns=columns, rows=rows, labels=3), drop=(_INTERVAL,))
    console.print()
    number = sum(map(_stands_out, differences))
    count_text = f"{number:,} of {pluralize(len(differences), 'difference')}"
    if level is None:
        verb = "is" if number == 1 else "are"
        large = f"  {count_text} {verb} larger than {drawing.ERRORS_SHOWN} standard errors"
        console.print(Text(large, style="bold"))
        show_note(console, f"no verdict: {why_no_verdict(outcome)}")
    else:
        risk = f"{at_most(100 * level)} %"
        verb = "holds" if number == 1 else "hold"
        console.print(Text(f"  {count_text} {verb}, all of them at once, at the {risk} level", style="bold"))
        show_note(console, "interval: of the difference without noise")
        show_note(
            console,
            f"noise makes any interval or verdict wrong with a probability of at most {risk}, whatever the societies "
            "are",
        )
    if outcome.mechanism != "functional":  # these errors include the variation between voters
        show_note(console, "± is of the noise: how far other voters would differ is no part of it")


def _interval(difference: Difference, decimals: int) -> str:
    """Return the interval of a difference without noise, rounded outwards."""
    if difference.low is None or difference.high is None:
        return "anywhere"
    step = 10.0**-decimals
    low, high = math.floor(difference.low / step) * step, math.ceil(difference.high / step) * step
    return f"{rounded(low, decimals, signed=True)} to {rounded(high, decimals, signed=True)}"


def _stands_out(difference: Difference) -> bool:
    """Whether a difference is significant; without a verdict, whether noise alone rarely causes one as large."""
    if difference.verdict is None:
        return difference.difference > drawing.ERRORS_SHOWN * difference.standard_error
    return difference.verdict == DIFFERS


def verdict_on_societies(outcome: Outcome) -> str:
    """Return a sentence on where the societies with the most voters differ significantly."""
    differences = compare_largest(outcome, max_societies=_MOST_SOCIETIES)
    return (
        verdict_on_differences(differences)
        if differences
        else "Where the societies differ beyond the noise is not known."
    )


def verdict_on_differences(differences: Sequence[Difference]) -> str:
    """Return a sentence on the clearest of at least one difference, or that none is significant."""
    first = next(filter(_stands_out, differences), None)
    if first is not None:
        counts = f"it counts more to {first.more} than to {first.less}"
        return f"The societies differ most clearly on {first.feature}: {counts}."
    if differences[0].level is None:
        return f"No difference between societies is larger than {drawing.ERRORS_SHOWN} standard errors."
    return "Every difference between societies is undecided."


def rows_of_societies(outcome: Outcome, known_truth: Known) -> Rows:
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
            if known_truth.truth is not None:
                row["clean_preference"] = known_truth.truth.get(f"{society.name}, {feature}")
            rows.append(row)
    return rows


def draw_societies(outcome: Outcome, known_truth: Known, features: Sequence[str], *, x: str, setting: str) -> Chart:
    """Return a picture with a row for each feature, and a mark for each society."""
    shown_societies, truth = _largest(outcome, _MOST_DRAWN), known_truth.truth or {}
    names = [drawing.fold(feature) for feature in features]
    panel = Panel(x=Axis(x), y=Axis(names=names), height=0.16 + 0.12 * len(shown_societies))
    panel.line((0, 0), EDGES, color=drawing.RULE, linewidth=1)
    marks: dict[str, dict[str, Any]] = {}
    step = _HEIGHT / len(shown_societies)
    looks = zip(shown_societies, drawing.COLORS.values(), drawing.MARKERS, strict=False)
    for number, (society, color, marker) in enumerate(looks):
        style: dict[str, Any] = {"color": color, "marker": marker, "markersize": 5, "linestyle": "none"}
        marks[society.name] = style
        for row, feature in enumerate(features):
            place, position = outcome.features.index(feature), row + (number + 0.5) * step - _HEIGHT / 2
            value = (society.preferences or ())[place]
            panel.mark(value, position, **style)
            if society.errors is not None:
                panel.whisker((value, position), society.errors[place], cap=0, color=color, linewidth=1.6)
            if (true := truth.get(f"{society.name}, {feature}")) is not None:
                panel.mark(true, position, **_TRUTH)
    if any(society.errors for society in shown_societies):
        marks[f"± {drawing.ERRORS_SHOWN} standard errors"] = {"color": drawing.INK, "linewidth": 1.6}
    if known_truth.truth is not None:
        marks["without noise"] = _TRUTH
    num_left_out = len(outcome.society_outcomes) - len(shown_societies)
    note = f"{num_left_out:,} smaller societies are in {known_truth.table}." if num_left_out else ""
    return Chart(panels=[panel], marks=marks, setting=setting, note=note)
