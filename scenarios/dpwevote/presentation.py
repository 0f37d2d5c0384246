"""DPWeVote's outcome: each candidate's estimated support with its error, beside the quota, or its margin beside 0."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from ...protocol.dpwevote import CandidateOutcome, Outcome, WeightsOutcome
from ...protocol.estimators import DEFAULT_LEVEL, Estimate, Verdict
from ..presentation import drawing
from ..presentation.numbers import in_a_row, some
from ..presentation.plain import PLAIN, columns_of
from ..presentation.presenter import Brief, Known, Presenter
from ..presentation.terminal import estimate_text, percent, show_note, show_table, styled
from ..tables import Cell, Entry, Rows, Table
from ..verdicts import cell_of_decision

__all__ = ["PRESENTERS"]


def _show(console: Console, outcome: Outcome, known: Known) -> None:
    # Reports of signed weights tell the margin alone.
    with_support = all(candidate.support is not None for candidate in outcome.candidates)
    columns = ["Candidate", "Decision", f"At {_level(outcome)}", *["Support", "Quota"] * with_support]
    truth = known.truth
    columns += ["Margin", "P(wrong)", *(() if truth is None else ("True margin",))]
    rows: list[Sequence[Entry]] = []
    for candidate in outcome.candidates:
        cells = [
            candidate.name,
            _decision(candidate),
            cell_of_decision(candidate.verdict.verdict.value),
            *(estimate_text(shown) for shown in (candidate.support, candidate.quota) if shown is not None),
            estimate_text(candidate.margin, signed=True),
            percent(candidate.error_probability),
        ]
        if truth is not None:
            cells += [f"{truth[candidate.name] - truth['quota']:+,.6g}"]
        rows.append(cells)
    # The margin is what the decision rests on, and it says most of what support and quota say.
    drop = ("True margin", "Quota", "Support", "P(wrong)")
    show_table(console, Table(columns=columns, rows=rows, labels=3), drop=drop, whole=known.table)
    if outcome.weight_counts:
        console.print()
        counts: list[Sequence[Entry]] = []
        for count in outcome.weight_counts:
            possible = "" if count.projected is None else f"   (nearest possible {count.projected:,.1f})"
            counts.append((f"{count.weight:g}", estimate_text(count.count) + Text(possible)))
        show_table(console, Table(columns=("Weight", "Partners"), rows=counts))
    for note in _noise(outcome):
        show_note(console, note, style="yellow")
    biased = [candidate for candidate in outcome.candidates if candidate.bias]
    for candidate in biased:
        note = f"{candidate.name}: the printed margin is off by {candidate.bias:+,.1f}, as far as the reports tell"
        show_note(console, note, style="yellow")
    if outcome.weight_bias_bound:
        bound = f"{outcome.weight_bias_bound:,.6g}"
        note = f"weights are rounded to what stands for them: that can move a margin by up to {bound}"
        show_note(console, note, style="yellow")
    notes = [
        f"From the reports of {some(outcome.num_partners, 'partner')}. ± is one standard error of the randomization.",
        f"At {_level(outcome)}: a verdict that is wrong in at most so many votes like this, whatever the truth is.",
        "P(wrong): the probability that the decision is wrong,",
        f"{_PRIORS[outcome.error_prior]} (prior {outcome.error_prior!r}); {_NEAR_TIE}.",
    ]
    show_note(console, " ".join(notes))


_PRIORS: Final = {
    "mixed": "if half of all votes are coin tosses and in the others any share of yes is equally likely",
    "uniform": "if any share of yes is equally likely",
}
"""The priors in words."""
_NEAR_TIE: Final = "where the truth is near a tie, about half of all decisions are wrong, whatever it says"
_MOST_NOISE: Final = 6  # so many estimates that are nothing but noise are listed


def _level(outcome: Outcome) -> str:
    level = max((candidate.verdict.level for candidate in outcome.candidates), default=DEFAULT_LEVEL)
    return f"{100 * level:.4g} %"


def _noise(outcome: Outcome) -> Iterator[str]:
    """Yield a sentence on each estimate that cannot be true."""
    beyond = [
        f"{name} {_short(estimate.value)}: possible is {_short(low)} to {_short(high)}, the rest is noise"
        for name, estimate, (low, high) in _estimates(outcome)
        if not low <= estimate.value <= high
    ]
    yield from beyond[:_MOST_NOISE]
    if len(beyond) > _MOST_NOISE:
        yield f"and {some(len(beyond) - _MOST_NOISE, 'more estimate')} beyond what is possible"


def _estimates(outcome: Outcome) -> Iterator[tuple[str, Estimate, tuple[float, float]]]:
    """Yield every estimate that is shown, with its name and the possible range."""
    possible = outcome.possible
    for candidate in outcome.candidates:
        for name, estimate, between in (
            ("support", candidate.support, possible.support),
            ("quota", candidate.quota, possible.quota),
            ("margin", candidate.margin, possible.margin),
        ):
            if estimate is not None and estimate.standard_error:
                yield f"{candidate.name}, {name}", estimate, between
    for count in outcome.weight_counts:
        yield f"partners of weight {count.weight:g}", count.count, possible.count


def _short(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _decision(candidate: CandidateOutcome) -> Cell:
    return Cell("passes", tone="good") if candidate.passed else Cell("fails", tone="poor")


def _rows(outcome: Outcome, known: Known) -> Rows:
    rows: Rows = []
    for candidate in outcome.candidates:
        row: dict[str, object] = {"candidate": candidate.name, "passed": int(candidate.passed)}
        row |= {"verdict": candidate.verdict.verdict.value, "level": candidate.verdict.level}
        row |= columns_of(candidate, ("support", "quota", "margin", "bias", "error_probability"))
        if known.truth is not None:
            support, quota = known.truth[candidate.name], known.truth["quota"]
            row |= {"true_support": support, "true_quota": quota, "true_margin": support - quota}
        rows.append(row)
    return rows


# By shape too, for readers who do not tell these colors apart.
_MARKS: Final[dict[Verdict, dict[str, Any]]] = {
    Verdict.PASSES: {"color": drawing.GOOD, "marker": "o", "markersize": 7},
    Verdict.FAILS: {"color": drawing.POOR, "marker": "X", "markersize": 9, "markeredgecolor": "white"},
    Verdict.TOO_CLOSE: {"color": drawing.MUTED, "marker": "o", "markersize": 7, "mfc": "white", "markeredgewidth": 1.6},
}
_BAND: Final[dict[str, Any]] = {"color": drawing.RULE, "alpha": 0.16, "linewidth": 0, "zorder": 0}


def _draw(outcome: Outcome, known: Known) -> drawing.Picture:
    ordered = sorted(outcome.candidates, key=lambda candidate: (not candidate.passed, -candidate.margin.value))
    shown = ordered[: drawing.MOST_ROWS]
    names = [drawing.fold(candidate.name) for candidate in shown]
    is_all = len(shown) == len(ordered)
    return drawing.Picture(
        draw=functools.partial(_draw_rows, candidates=shown, names=names, truth=known.truth),
        size=drawing.size_of_rows(names, row=0.36),
        title="" if is_all else f" (the {len(shown)} of {len(ordered):,} with the greatest margins)",
    )


def _marks(*, with_band: bool, with_truth: bool) -> drawing.Marks:
    """Return what the legend explains, in no candidate's color."""
    marks: dict[str, Mapping[str, Any]] = {
        f"estimate, {drawing.WHISKERS}": {"color": drawing.RULE, "marker": "o", "markersize": 7, "linewidth": 2}
    }
    if with_band:
        band = {"color": drawing.RULE, "alpha": 0.3, "marker": "s", "markersize": 11, "linestyle": "none"}
        marks[f"quota, band: {drawing.ERRORS_SHOWN} standard errors"] = band
    return {**marks, "truth": drawing.TRUTH} if with_truth else marks


def _draw_rows(
    panels: Any, *, candidates: Sequence[CandidateOutcome], names: Sequence[str], truth: Mapping[str, float] | None
) -> drawing.Marks:
    axes = panels[0, 0]
    for row, candidate in enumerate(candidates):
        mark = _MARKS[candidate.verdict.verdict]
        support, _ = _shown(candidate)
        error = drawing.ERRORS_SHOWN * support.standard_error
        axes.errorbar(support.value, row, xerr=error, capsize=4, linewidth=2, **mark)
        if truth is not None:
            subtracted = truth["quota"] if candidate.support is None else 0.0
            axes.plot(truth[candidate.name] - subtracted, row, **drawing.TRUTH)
        decision = "passes" if candidate.passed else "fails"
        said = f"too close to tell ({decision})" if candidate.verdict.verdict is Verdict.TOO_CLOSE else decision
        drawing.annotate_row(axes, row, f"{said}\nP(wrong) {percent(candidate.error_probability)}", color=mark["color"])
    is_margin = any(candidate.support is None for candidate in candidates)
    meaning = "margin: weight of the yes votes less the quota" if is_margin else "weight of the yes votes"
    drawing.name_rows(axes, names, x=meaning)
    with_band = _draw_quotas(axes, [_shown(candidate)[1] for candidate in candidates], is_margin=is_margin)
    return _marks(with_band=with_band, with_truth=truth is not None)


def _draw_quotas(axes: Any, quotas: Sequence[Estimate], *, is_margin: bool) -> bool:
    """Draw what estimates are held against, once where that is the same for all; return whether it has errors."""
    is_one = len({*quotas}) == 1
    for row, quota in enumerate(quotas[:1] if is_one else quotas):
        reach = (-0.5, len(quotas) - 0.5) if is_one else (row - 0.4, row + 0.4)
        axes.plot([quota.value] * 2, reach, color=drawing.RULE, linewidth=1.6, zorder=1)
        if error := drawing.ERRORS_SHOWN * quota.standard_error:
            axes.fill_betweenx(reach, quota.value - error, quota.value + error, **_BAND)
    said = "quota" if is_margin or not is_one else f"quota {_short(quotas[0].value)}"
    if is_one:
        axes.annotate(
            said,
            (quotas[0].value, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            color=drawing.RULE,
        )
    return any(quota.standard_error for quota in quotas)


def _shown(candidate: CandidateOutcome) -> tuple[Estimate, Estimate]:
    """Return what is drawn of a candidate, and what that is held against."""
    if candidate.support is None or candidate.quota is None:
        return candidate.margin, Estimate(0.0, 0.0)
    return candidate.support, candidate.quota


def _brief(outcome: Outcome) -> list[Brief]:
    """Return each candidate's decision, and how sure it is, with the margin that it rests on."""
    briefs: list[Brief] = []
    for candidate in outcome.candidates:
        said = styled(_decision(candidate))
        if candidate.verdict.verdict is Verdict.TOO_CLOSE:
            said.append(f" ({Verdict.TOO_CLOSE.value})", style="yellow")
        briefs.append(Brief(candidate.name, said, candidate.margin, _told(candidate, outcome.total_weight)))
    return briefs


def _told(candidate: CandidateOutcome, total: Estimate | None) -> str:
    """Return a decision with the numbers that it rests on: "passes: 208 ± 53 of 600, quota 301 ± 21"."""
    decision = _decision(candidate).words
    if candidate.support is None or candidate.quota is None or total is None:
        return f"{decision}: {estimate_text(candidate.margin, signed=True).plain} from the quota"
    support, of, quota = (estimate_text(each).plain for each in (candidate.support, total, candidate.quota))
    return f"{decision}: {support} of {of}, quota {quota}"


def _conclude(outcome: Outcome) -> str:
    """Return which candidates pass, which fail and which are too close to tell, and how rarely that is wrong."""
    names: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for candidate in outcome.candidates:
        names[candidate.verdict.verdict].append(candidate.name)
    clauses = [_clause(verdict, of_verdict) for verdict, of_verdict in names.items() if of_verdict]
    said = f"{'; '.join(clauses)}."
    close = [candidate for candidate in outcome.candidates if candidate.verdict.verdict is Verdict.TOO_CLOSE]
    if close:
        said = f"{said} {_estimated(close, outcome)}"
    if len(close) == len(outcome.candidates):
        return said
    which = "The verdict is wrong" if len(outcome.candidates) == 1 else "Each verdict is wrong"
    said = f"{said} {which} in at most {_level(outcome)} of votes like this, whatever the truth is"
    if len(outcome.candidates) > 1 and outcome.joint_level < 1:
        said = f"{said}; one or more of the {len(outcome.candidates):,} in at most {100 * outcome.joint_level:.4g} %"
    return f"{said}."


_VERBS: Final = {
    Verdict.PASSES: ("passes", "pass"),
    Verdict.FAILS: ("fails", "fail"),
    Verdict.TOO_CLOSE: ("is too close to tell", "are too close to tell"),
}
"""Of one candidate, and of several."""
_MOST_NAMED: Final = 6  # so many candidates of one verdict are named in a sentence


def _clause(verdict: Verdict, names: Sequence[str]) -> str:
    who = in_a_row(names) if len(names) <= _MOST_NAMED else f"{len(names):,} candidates"
    return f"{who} {_VERBS[verdict][len(names) > 1]}"


def _estimated(close: Sequence[CandidateOutcome], outcome: Outcome) -> str:
    """Return which way the decisions went of which no verdict is given."""
    if len(close) == 1:
        (only,) = close
        wrong = f"the probability that this is wrong is {percent(only.error_probability)}"
        way = "passes" if only.passed else "fails"
        return f"By the estimate it {way}; {wrong}, {_PRIORS[outcome.error_prior]}; {_NEAR_TIE}."
    ways = {
        verdict: [candidate.name for candidate in close if candidate.passed is (verdict is Verdict.PASSES)]
        for verdict in (Verdict.PASSES, Verdict.FAILS)
    }
    return f"By the estimates {', and '.join(_clause(verdict, names) for verdict, names in ways.items() if names)}."


VOTES: Presenter[Outcome] = Presenter(show=_show, rows=_rows, draw=_draw, brief=_brief, verdict=_conclude)
"""A row for each candidate."""


def _say_weights(weights: WeightsOutcome) -> Text:
    return Text(", approximate quota ").append_text(estimate_text(weights.quota))


WEIGHTS: Presenter[WeightsOutcome] = Presenter(show=PLAIN.show, rows=PLAIN.rows, draw=PLAIN.draw, say=_say_weights)
"""What the first phase publishes."""

PRESENTERS: Final[Mapping[type, Presenter[Any]]] = {Outcome: VOTES, WeightsOutcome: WEIGHTS}
"""By the type of what is shown."""
