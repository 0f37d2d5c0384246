"""Show moral preferences' outcome: each feature's preference with its error, and the trust statement.

Features are ordered from the one that favors an alternative most to the one that disfavors it most. A feature less than
two standard errors from 0 is marked, since noise may have changed its sign. If only the direction of preferences was
released, this is said first.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from ...protocol.estimators import Estimate
from ...protocol.moral_preferences import Level, LevelOutcome, Outcome, Paradigm
from ..presentation import drawing
from ..presentation.charts import EDGES, Axis, Chart, Panel
from ..presentation.numbers import decimals_of, join_words, pluralize, rounded
from ..presentation.presenter import Brief, Known, Presenter
from ..presentation.terminal import show_facts, show_note, show_table
from ..tables import Cell, Entry, Rows, Table
from .agreement import agreement_of
from .societies import draw_societies, rows_of_societies, show_societies, verdict_on_societies

_REACH: Final = 10  # characters of a bar on either side of 0, and the scale above them
_SURE, _UNSURE, _AXIS = "█", "░", "│"
_SURE_ERRORS: Final = 2  # standard errors from 0 within which noise may have changed a sign
_BRIEFLY: Final = 4  # features of a brief table
_MOST_LEVELS: Final = 10  # most rows of the table of levels; more levels are joined into ranges

_MECHANISMS: Final = {
    "laplace": "Laplace noise on preferences",
    "functional": "the functional mechanism: noise on each voter's objective",
    "pooled": "noise on the coefficients of the voters' objectives, pooled",
    "direction": "noise on the directions of the voters' choices",
}
_PROTECTED: Final = {
    Level.VOTER: "a voter: everything that it says",
    Level.RECORD: "a record: one of a voter's choices",
}
_WHISKER: Final[dict[str, Any]] = {"color": drawing.INK, "linewidth": 1.4}
_PALE: Final = 0.35


@dataclasses.dataclass(frozen=True)
class _Feature:
    """One feature of an outcome; `clean` is its preference without noise, if that may be shown."""

    name: str
    value: float
    error: float | None
    clean: float | None

    @property
    def is_sure(self) -> bool:
        """Whether noise hardly explains the sign; true without a standard error."""
        return self.error is None or abs(self.value) > _SURE_ERRORS * self.error

    def written(self, decimals: int) -> str:
        """Format the preference, with its standard error if there is one."""
        return rounded(self.value, decimals, signed=True) + (
            "" if self.error is None else f" ± {self.error:,.{decimals}f}"
        )


def _features(outcome: Outcome, known_truth: Known) -> list[_Feature]:
    """Return the features in the outcome's order."""
    errors = outcome.errors or [None] * len(outcome.features)
    columns = zip(outcome.features, outcome.preferences, errors, strict=True)
    return [
        _Feature(*entries, None if known_truth.truth is None else known_truth.truth[entries[0]]) for entries in columns
    ]


def _strongest(features: Sequence[_Feature], *, max_features: int = drawing.MOST_ROWS) -> list[_Feature]:
    """Return the features farthest from 0, as many as are readable, in decreasing order."""
    strongest = sorted(features, key=lambda feature: -abs(feature.value))[:max_features]
    return sorted(strongest, key=lambda feature: -feature.value)


def _show(console: Console, outcome: Outcome, known_truth: Known) -> None:
    features = _features(outcome, known_truth)
    if outcome.is_direction:
        show_note(console, "Only the direction means anything: how features compare with each other.", style="yellow")
        show_note(
            console, "How strong preferences are is not released; the numbers' squares add up to 1.", style="yellow"
        )
        console.print()
    shown_features = _strongest(features, max_features=_BRIEFLY if known_truth.is_brief else drawing.MOST_ROWS)
    _show_features(console, shown_features, _decimals(shown_features), known_truth.table)
    if len(features) > len(shown_features):
        rest_text = pluralize(len(features) - len(shown_features), "feature")
        show_note(console, f"and {rest_text} nearer to 0 in {known_truth.table}")
    clean = [feature.clean for feature in features if feature.clean is not None]
    if (
        len(clean) == len(features)
        and (same := agreement_of([feature.value for feature in features], clean)) is not None
    ):
        agreement_text = f"in {100 * same:.1f} % of pairs, drawn from one normal law, the same choice as without noise"
        show_note(console, agreement_text, style="bold")
    notes = list(_notes(outcome, shown_features))
    if known_truth.is_brief:
        show_note(console, f"{'; '.join(notes)}." if notes else "")
        return
    for note in notes:
        show_note(console, note)
    if outcome.society_outcomes:
        console.print()
        show_societies(console, outcome, [feature.name for feature in shown_features], known_truth.table)
    if len(outcome.levels) > 1:
        console.print()
        _show_levels(console, outcome.levels)
    console.print()
    paradigm, voters = Paradigm(outcome.paradigm), pluralize(outcome.num_voters, "voter")
    if outcome.relation == "add-remove-one":  # the number of voters is private
        voters = f"up to {voters}"
    facts = {
        paradigm.value: f"{voters}, by {_MECHANISMS[outcome.mechanism]}",
        "ε protects": _PROTECTED[paradigm.level],
    }
    if number := len(outcome.society_outcomes):
        facts["Societies"] = f"{number:,}: each has a release of its own, and a voter pays for that of its own alone"
    show_facts(console, facts, spaced=False)


def _show_levels(console: Console, levels: Sequence[LevelOutcome]) -> None:
    """Print the number of voters at each level of ε, and their weight."""
    size = math.ceil(len(levels) / _MOST_LEVELS)
    total = math.fsum(level.weight * level.num_voters for level in levels)
    rows: list[Sequence[Entry]] = []
    for start in range(0, len(levels), size):
        level_group = levels[start : start + size]
        number = sum(level.num_voters for level in level_group)
        weight = math.fsum(level.weight * level.num_voters for level in level_group)
        name = f"{level_group[0].epsilon:g}"
        if len(level_group) > 1:
            name = f"{name} to {level_group[-1].epsilon:g}"
        share = f"{100 * weight / total:.1f} %" if total else ""
        rows.append((name, f"{number:,}", f"{weight / number:.3g}", share))
    weights = "Weight of a report" if size == 1 else "Mean weight"
    show_table(console, Table(columns=("Voters' own ε", "Voters", weights, "Share of the mean"), rows=rows))


def _show_features(console: Console, features: Sequence[_Feature], decimals: int, table: str) -> None:
    with_clean = any(feature.clean is not None for feature in features)
    greatest = max(abs(feature.value) for feature in features)
    rows: list[Sequence[Entry]] = []
    for feature in features:
        preference_cell = Cell(feature.written(decimals), tone="" if feature.is_sure else "quiet")
        cells: list[Entry] = [feature.name, _bar(feature, greatest), preference_cell]
        if with_clean:
            cells.append("" if feature.clean is None else rounded(feature.clean, decimals, signed=True))
        rows.append(cells)
    bar = f"{'against'.ljust(_REACH)}0{'for'.rjust(_REACH)}"
    columns = ["Feature", bar, "Preference", *(["Without noise"] if with_clean else [])]
    show_table(console, Table(columns=columns, rows=rows), drop=(bar, "Without noise"), whole=table)


def _bar(feature: _Feature, greatest: float) -> Text:
    """Return a bar from 0, to the right for a positive preference; the greatest has full length."""
    cells = round(_REACH * abs(feature.value) / greatest) if greatest else 0
    bar = cells * (_SURE if feature.is_sure else _UNSURE)
    text_before, text_after = (bar, "") if feature.value < 0 else ("", bar)
    style = "red" if feature.value < 0 else "green"
    return Text.assemble(
        (text_before.rjust(_REACH), style),
        (_AXIS, "dim"),
        (text_after.ljust(_REACH), style),
        justify="left",  # right justification would strip blanks
        no_wrap=True,
    )


def _notes(outcome: Outcome, shown_features: Sequence[_Feature]) -> Iterable[str]:
    """Yield explanations of the table."""
    if outcome.is_direction and not any(outcome.preferences):
        yield "the reports cancel out: they have no direction"
    if outcome.errors is None:
        if outcome.mechanism in {"functional", "pooled"}:
            yield "no standard errors: those of noisy objectives' maxima have no closed form"
        return
    if outcome.mechanism == "functional":
        yield "± is one standard error, by the spread of reports: that of voters as well"
        yield "noise also draws all preferences towards 0: that is no part of ±"
    else:
        yield "± is one standard error of the noise, not of how voters differ"
    if outcome.is_projected:
        yield "preferences were projected to the ball of the bound; ± is from before that"
    if not all(feature.is_sure for feature in shown_features):
        yield f"{_UNSURE} or pale: within {_SURE_ERRORS} standard errors of 0; the noise may have turned the sign"


def _decimals(features: Sequence[_Feature]) -> int:
    return decimals_of([feature.value for feature in features], [feature.error for feature in features])


def _rows(outcome: Outcome, known_truth: Known) -> Rows:
    rows: Rows = []
    of_all: dict[str, object] = {"society": "all voters"} if outcome.society_outcomes else {}
    for feature in _features(outcome, known_truth):
        row: dict[str, object] = {**of_all, "feature": feature.name, "preference": feature.value}
        if outcome.errors is not None:
            row["standard_error"] = feature.error
        if known_truth.truth is not None:
            row["clean_preference"] = feature.clean
        rows.append(row)
    return rows + rows_of_societies(outcome, known_truth)


def _draw(outcome: Outcome, known_truth: Known) -> Chart:
    features = _strongest(_features(outcome, known_truth))
    if outcome.society_outcomes:
        feature_names = [feature.name for feature in features]
        return draw_societies(outcome, known_truth, feature_names, x=_meaning(outcome), setting=_source(outcome))
    panel = Panel(
        x=Axis(_meaning(outcome)), y=Axis(names=[drawing.fold(feature.name) for feature in features]), height=0.17
    )
    decimals = _decimals(features)
    panel.line((0, 0), EDGES, color=drawing.RULE, linewidth=1)
    for row, feature in enumerate(features):
        color, alpha = drawing.POOR if feature.value < 0 else drawing.GOOD, 1 if feature.is_sure else _PALE
        panel.bar(row, feature.value, height=0.62, color=color, alpha=alpha)
        panel.whisker((feature.value, row), feature.error or 0.0)
        if feature.clean is not None:
            panel.mark(feature.clean, row, **drawing.TRUTH)
        label = feature.written(decimals).replace("-", "−")  # a minus sign, as on the axis
        panel.beside[row] = label, drawing.INK if feature.is_sure else drawing.MUTED
    is_all = len(features) == len(outcome.features)
    title = "" if is_all else f" (the strongest {len(features)} of {len(outcome.features)} features)"
    return Chart(panels=[panel], marks=_marks(features), setting=_source(outcome), title=title)


def _marks(features: Sequence[_Feature]) -> dict[str, dict[str, Any]]:
    """Return the legend's entries for what is drawn."""
    square: dict[str, Any] = {"marker": "s", "markersize": 9, "linestyle": "none"}
    marks: dict[str, dict[str, Any]] = {}
    if any(feature.value > 0 for feature in features):
        marks["speaks for an alternative"] = {**square, "color": drawing.GOOD}
    if any(feature.value < 0 for feature in features):
        marks["speaks against it"] = {**square, "color": drawing.POOR}
    if not all(feature.is_sure for feature in features):
        marks["pale: the noise may have turned the sign"] = {**square, "color": drawing.MUTED, "alpha": _PALE}
    if any(feature.error is not None for feature in features):
        marks[drawing.WHISKERS] = _WHISKER
    if any(feature.clean is not None for feature in features):
        marks["without noise"] = drawing.TRUTH
    return marks


def _meaning(outcome: Outcome) -> str:
    """Return the label of the axis."""
    if outcome.is_direction:
        return "direction alone: how features compare, not how strong preferences are"
    return "how much the feature speaks for an alternative"


def _source(outcome: Outcome) -> str:
    """Return the paradigm and mechanism, for the picture's setting."""
    paradigm = Paradigm(outcome.paradigm)
    epsilons = [level.epsilon for level in outcome.levels]
    epsilon = f"{epsilons[0]:g}" + (f" to {epsilons[-1]:g}" if len(epsilons) > 1 else "")
    source_text = f"{paradigm.value}, {outcome.mechanism}"
    if paradigm.level is Level.RECORD or len(epsilons) > 1:  # otherwise it is the voter's total ε, shown elsewhere
        source_text += f", ε = {epsilon} per {paradigm.level.value}"
    return source_text + (", no standard errors" if outcome.errors is None else "")


def _brief(outcome: Outcome) -> list[Brief]:
    """Return the features' preferences, those farthest from 0 first."""
    features = sorted(_features(outcome, Known()), key=lambda feature: -abs(feature.value))[: drawing.MOST_ROWS]
    decimals = _decimals(features)
    return [
        Brief(each.name, Text(each.written(decimals)), Estimate(each.value, each.error or 0.0)) for each in features
    ]


_MOST_NAMED: Final = 3  # most features named on either side


def _conclude(outcome: Outcome) -> str:
    """Return sentences on the strongest features, and on those whose sign may be due to noise."""
    features = _features(outcome, Known())
    if not any(feature.value for feature in features):
        return "The reports cancel out: no feature speaks for or against an alternative."
    sure_features = sorted((each for each in features if each.is_sure), key=lambda feature: -abs(feature.value))
    unsure_names = [feature.name for feature in features if not feature.is_sure]
    if not sure_features:
        return f"Nothing stands out of the noise: all is within {_SURE_ERRORS} standard errors of 0."
    clauses: list[str] = []
    for sign, end in ((1, "for an alternative"), (-1, "against one")):
        if names := [each.name for each in sure_features if sign * each.value > 0]:
            verb = "speaks" if len(names) == 1 else "speak most" if len(names) > _MOST_NAMED else "speak"
            clauses.append(f"{join_words(names[:_MOST_NAMED])} {verb} {end}")
    sentences = [f"{'; '.join(clauses)}."]
    if outcome.errors is None:
        sentences.append("How far the noise moved them is not known.")
    if unsure_names:
        unsure_text = (
            join_words(unsure_names) if len(unsure_names) <= _MOST_NAMED else pluralize(len(unsure_names), "feature")
        )
        sentences.append(
            f"The noise may have turned the sign of {unsure_text}: within {_SURE_ERRORS} standard errors of 0."
        )
    if outcome.is_direction:
        sentences.append("Only how features compare is released, not how strong preferences are.")
    if outcome.society_outcomes:
        sentences.append(verdict_on_societies(outcome))
    return " ".join(sentences)


PREFERENCES: Presenter[Outcome] = Presenter(show=_show, rows=_rows, draw=_draw, brief=_brief, verdict=_conclude)
"""Presents an outcome with a row for each feature."""

PRESENTERS: Final[Mapping[type, Presenter[Any]]] = {Outcome: PREFERENCES}  # presenters by outcome type
