"""Show DPWeVote's outcome: each candidate's estimated support with its error and the quota, or its margin and 0."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from ...protocol.dpwevote import CandidateOutcome, Outcome, WeightsOutcome
from ...protocol.estimators import DEFAULT_LEVEL, Estimate, Verdict
from ..presentation import drawing
from ..presentation.charts import EDGES, Axis, Chart, Panel
from ..presentation.numbers import join_words, pluralize
from ..presentation.plain import PLAIN, columns_of
from ..presentation.presenter import Brief, Known, Presenter
from ..presentation.terminal import estimate_text, show_note, show_table, style_entry
from ..tables import Cell, Entry, Rows, Table, listed, six_digits
from ..verdicts import at_most, cell_of_decision, round_up
from ..words import say_number


def _show(console: Console, outcome: Outcome, known_truth: Known) -> None:
    # Signed weights estimate only the margin, and a trusted server may release only the decision.
    with_support = all(candidate.support is not None for candidate in outcome.candidates)
    with_margin = all(candidate.margin is not None for candidate in outcome.candidates)
    needed_text = _needed(outcome).capitalize()
    columns = ["Candidate", "Verdict", *["Support", needed_text] * with_support, *["Margin"] * with_margin]
    truth = None if known_truth.is_brief else known_truth.truth
    columns += [] if truth is None else ["True margin"]
    rows: list[Sequence[Entry]] = []
    for candidate in outcome.candidates:
        cells = [
            candidate.name,
            _decision(candidate),
            *(estimate_text(statement) for statement in (candidate.support, candidate.quota) if statement is not None),
            *([] if candidate.margin is None else [estimate_text(candidate.margin, signed=True)]),
        ]
        if truth is not None:
            cells += [six_digits(truth[candidate.name] - truth["quota"], signed=True)]
        rows.append(cells)
    # The verdict is based on the margin, which has most of the information in support and quota.
    drop = ("True margin", needed_text, "Support")
    show_table(console, Table(columns=columns, rows=rows, labels=2), drop=drop, whole=known_truth.table)
    if outcome.weight_counts and not known_truth.is_brief:
        console.print()
        counts: list[Sequence[Entry]] = [
            (
                f"{each.weight:g}",
                estimate_text(each.count)
                + Text("" if each.projected is None else f"   (nearest possible {each.projected:,.1f})"),
            )
            for each in outcome.weight_counts
        ]
        show_table(console, Table(columns=("Weight", "Partners"), rows=counts))
    for note in _noise(outcome, max_lines=1 if known_truth.is_brief else _MOST_NOISE):
        show_note(console, note, style="yellow")
    for candidate in outcome.candidates:
        if candidate.bias:
            note = f"{candidate.name}: the printed margin is off by {candidate.bias:+,.1f}, as far as the reports tell"
            show_note(console, note, style="yellow")
    if outcome.weight_bias_bound:
        bound = six_digits(round_up(outcome.weight_bias_bound, 6))
        note = f"weights are rounded to what stands for them: that can move a margin by up to {bound}"
        show_note(console, note, style="yellow")
    for sentence in filter(None, (_rounded(outcome), _responses(outcome))):
        show_note(console, sentence, style="yellow")
    note = "± is one standard error of the randomization." if with_margin else _DECISIONS_ALONE
    if not known_truth.is_brief:
        wrong = f"Verdict: wrong in at most {_level(outcome)} of such votes, whatever the truth is."
        reports = f"From the reports of {pluralize(outcome.num_partners, 'partner')}."
        note = f"{reports} {note} {wrong} {_levels_of(outcome)}".rstrip()
    show_note(console, note)


def _responses(outcome: Outcome) -> str:
    """Return a sentence on whose opinions a trusted server randomized one by one; empty if it only added noise."""
    if isinstance(outcome.noise_weight, msgspec.UnsetType):
        return ""
    if not outcome.noise_weight:
        return "Each opinion passed randomized response by itself: here that is more exact than noise on the sum."
    return (
        f"Opinions of partners who weigh more than {outcome.noise_weight:g} passed randomized response one by one; "
        "noise protects all others."
    )


def _rounded(outcome: Outcome) -> str:
    """Return a sentence on the rounding of weights; empty if they are not rounded."""
    if isinstance(outcome.weights_within, msgspec.UnsetType):
        return ""
    return (
        f"Weights are rounded, each by at most {round_up(100 * outcome.weights_within, 4):.4g} %: verdicts are about "
        "those before, other numbers about those after it."
    )


def _levels_of(outcome: Outcome) -> str:
    """Return a sentence on the number of partners at each level of ε; empty if there are no levels."""
    if isinstance(outcome.levels, msgspec.UnsetType):
        return ""
    levels = ", ".join(f"{level.epsilon:g} ({level.num_partners:,})" for level in outcome.levels)
    return f"Partners by their own ε: {levels}."


def _needed(outcome: Outcome) -> str:
    """Return the word before a quota."""
    return "quota" if isinstance(outcome.passes, msgspec.UnsetType) else "more than"


_DECISIONS_ALONE: Final = "Decisions alone are released, no margin."
_MOST_NOISE: Final = 6  # most estimates listed as being only noise


def _level(outcome: Outcome) -> str:
    level = max((candidate.verdict.level for candidate in outcome.candidates), default=DEFAULT_LEVEL)
    return f"{at_most(100 * level, 4)} %"


def _noise(outcome: Outcome, *, max_lines: int) -> Iterator[str]:
    """Yield a sentence on each impossible estimate."""
    possible = outcome.possible
    statements = [
        (f"{candidate.name}, {name}", getattr(candidate, name), getattr(possible, name))
        for candidate in outcome.candidates
        for name in ("support", "quota", "margin")
    ]
    statements += [
        (f"partners of weight {each.weight:g},", each.count, possible.count) for each in outcome.weight_counts
    ]
    impossible = [
        f"{name} {_short(estimate.value)}: only {_short(low)} to {_short(high)} is possible; the excess is noise"
        for name, estimate, (low, high) in statements
        if estimate is not None and estimate.standard_error and not low <= estimate.value <= high
    ]
    yield from impossible[:max_lines]
    if len(impossible) > max_lines:
        yield f"and {pluralize(len(impossible) - max_lines, 'more estimate')} beyond what is possible"


def _short(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def _decision(candidate: CandidateOutcome) -> Cell:
    return cell_of_decision(candidate.decision)


def _rows(outcome: Outcome, known_truth: Known) -> Rows:
    rows: Rows = []
    for candidate in outcome.candidates:
        row = {"candidate": candidate.name, "verdict": candidate.decision, "level": candidate.verdict.level}
        row |= columns_of(candidate, ("support", "quota", "margin", "bias"))
        if known_truth.truth is not None:
            support, quota = known_truth.truth[candidate.name], known_truth.truth["quota"]
            row |= {"true_support": support, "true_quota": quota, "true_margin": support - quota}
        rows.append(row)
    return rows


# Distinguished by shape too, for color-blind readers.
_MARKS: Final[dict[Verdict, dict[str, Any]]] = {
    Verdict.PASSES: {"color": drawing.GOOD, "marker": "o", "markersize": 7},
    Verdict.FAILS: {"color": drawing.POOR, "marker": "X", "markersize": 9, "mec": "white"},
    Verdict.TOO_CLOSE: {"color": drawing.MUTED, "marker": "o", "markersize": 7, "mfc": "white", "mew": 1.6},
}
_ROW_INCHES: Final = 0.36
_BAND: Final[dict[str, Any]] = {"color": drawing.RULE, "alpha": 0.16, "level": 0.0}


def _draw(outcome: Outcome, known_truth: Known) -> Chart | None:
    """Return a drawing of each candidate's estimate and its quota; None if only decisions are released."""
    if any(candidate.margin is None for candidate in outcome.candidates):
        return None
    sorted_candidates = sorted(
        outcome.candidates, key=lambda each: (not each.leans_yes, -_drawn_estimates(each)[0].value)
    )
    shown_candidates = sorted_candidates[: drawing.MOST_ROWS]
    is_margin = any(candidate.support is None for candidate in shown_candidates)
    meaning = "margin: weight of the yes votes less the quota" if is_margin else "weight of the yes votes"
    panel = Panel(
        x=Axis(meaning),
        y=Axis(names=[drawing.fold(candidate.name) for candidate in shown_candidates]),
        height=_ROW_INCHES,
    )
    for row, candidate in enumerate(shown_candidates):
        mark = _MARKS[candidate.verdict.verdict]
        panel.measured(_drawn_estimates(candidate)[0], row, cap=8, linewidth=2, **mark)
        if known_truth.truth is not None:
            subtracted = known_truth.truth["quota"] if candidate.support is None else 0.0
            panel.mark(known_truth.truth[candidate.name] - subtracted, row, **drawing.TRUTH)
        panel.beside[row] = _decision(candidate).words, mark["color"]
    marks: dict[str, Mapping[str, Any]] = {
        drawing.ESTIMATE: {"color": drawing.RULE, "marker": "o", "markersize": 7, "linewidth": 2}
    }
    if _draw_quotas(
        panel, [_drawn_estimates(candidate)[1] for candidate in shown_candidates], "" if is_margin else _needed(outcome)
    ):
        band = {"color": drawing.RULE, "alpha": 0.3, "marker": "s", "markersize": 11, "linestyle": "none"}
        marks["quota, band: 2 standard errors"] = band
    if known_truth.truth is not None:
        marks["truth"] = drawing.TRUTH
    title = (
        ""
        if len(shown_candidates) == len(sorted_candidates)
        else f" (the {len(shown_candidates)} of {len(sorted_candidates)} with the greatest margins)"
    )
    return Chart(panels=[panel], marks=marks, title=title)


def _draw_quotas(panel: Panel, quotas: Sequence[Estimate], needed_text: str) -> bool:
    """Draw the quotas, as one line if they are equal; return whether they have errors.

    `needed_text` is the word before a quota; it is empty for margins, which are compared with 0.
    """
    is_one = len({*quotas}) == 1
    for row, quota in enumerate(quotas[:1] if is_one else quotas):
        reach = EDGES if is_one else (row - 0.4, row + 0.4)
        panel.line([quota.value] * 2, reach, color=drawing.RULE, linewidth=1.6, level=1.0)
        if error := drawing.ERRORS_SHOWN * quota.standard_error:
            panel.area((quota.value - error, quota.value + error), reach, **_BAND)
    if is_one:
        panel.above[quotas[0].value] = f"{needed_text} {_short(quotas[0].value)}" if needed_text else "quota"
    return any(quota.standard_error for quota in quotas)


def _drawn_estimates(candidate: CandidateOutcome) -> tuple[Estimate, Estimate]:
    """Return a candidate's drawn estimate, and the quota that it is compared with."""
    if candidate.support is None or candidate.quota is None:
        return candidate.margin or Estimate(0.0, 0.0), Estimate(0.0, 0.0)
    return candidate.support, candidate.quota


def _sheet(outcome: Outcome, known_truth: Known) -> Table:
    """Return a table row for each candidate, with votes as numbers and shares."""
    total = outcome.total_weight

    def count_text(estimate: Estimate | None, *, signed: bool = False) -> Cell:
        if estimate is None:
            return Cell("–")
        share = 100 * estimate.value / total.value if total is not None and total.value > 0 else None
        words = estimate_text(estimate, signed=signed).plain
        words += "" if share is None else f" ({share:{'+' if signed else ''}.0f} %)"
        return Cell(words, estimate.value, is_part=True)

    columns: dict[str, Callable[[CandidateOutcome], Cell]] = {
        "Candidate": lambda each: Cell(each.name),
        "Verdict": _decision,
        "Support": lambda each: count_text(each.support),
        _needed(outcome).capitalize(): lambda each: count_text(each.quota),
        "Margin": lambda each: count_text(each.margin, signed=True),
    }
    if all(each.margin is None for each in outcome.candidates):
        for column in ("Support", _needed(outcome).capitalize(), "Margin"):
            del columns[column]
    truth = known_truth.truth or {}
    if {"quota", *(each.name for each in outcome.candidates)} <= truth.keys():
        columns["True support"] = lambda each: count_text(Estimate(truth[each.name], 0.0))
        if any(each.quota is None or each.quota.standard_error for each in outcome.candidates):
            columns["True quota"] = lambda _: count_text(Estimate(truth["quota"], 0.0))
    note = " ".join(filter(None, [_rounded(outcome), _levels_of(outcome)]))
    if total is not None:
        shares = f"Percentages are of all votes: {estimate_text(total).plain}."
        note = f"{shares} {note}".rstrip()
    return listed(outcome.candidates, list(columns.items()), labels=2, note=note)


def _brief(outcome: Outcome) -> list[Brief]:
    """Return each candidate's verdict with its margin."""
    return [
        Brief(each.name, style_entry(_decision(each)), each.margin, _verdict_in_numbers(each, outcome))
        for each in outcome.candidates
    ]


def _verdict_in_numbers(candidate: CandidateOutcome, outcome: Outcome) -> str:
    """Return a decision with the numbers that it is based on: "passes: 208 ± 53 of 600, quota 301 ± 21"."""
    decision, total = _decision(candidate).words, outcome.total_weight
    if candidate.margin is None:
        return decision
    if candidate.support is None or candidate.quota is None or total is None:
        return f"{decision}: {estimate_text(candidate.margin, signed=True).plain} from the quota"
    support, total_text, quota = (estimate_text(each).plain for each in (candidate.support, total, candidate.quota))
    return f"{decision}: {support} of {total_text}, {_needed(outcome)} {quota}"


def _conclude(outcome: Outcome) -> str:
    """Return sentences on which candidates pass, fail and are undecided, and on the risk of a wrong verdict."""
    names: dict[str, list[str]] = {verdict: [] for verdict in _VERBS}
    for candidate in outcome.candidates:
        names[candidate.decision].append(candidate.name)
    clauses = [
        say_number(
            *_VERBS[verdict],
            len(names_of_verdict),
            names=join_words(names_of_verdict)
            if len(names_of_verdict) <= _MOST_NAMED
            else pluralize(len(names_of_verdict), "candidate"),
        )
        for verdict, names_of_verdict in names.items()
        if names_of_verdict
    ]
    sentences = [f"{'; '.join(clauses)}."]
    number, level = len(outcome.candidates), _level(outcome)
    close = sum(candidate.verdict.verdict is Verdict.TOO_CLOSE for candidate in outcome.candidates)
    if number == 1 and not close:
        sentences.append(f"Wrong in at most {level} of such votes, whatever the truth is.")
    elif close < number:
        joint = f"; one or more of the {number:,} in at most {at_most(100 * outcome.joint_level, 4)} %"
        sentences.append(
            f"Each verdict is wrong in at most {level} of such votes, whatever the truth is"
            f"{joint if outcome.joint_level < 1 else ''}."
        )
    if close:
        sentences.append(_leaning(outcome))
    return " ".join(sentences)


def _leaning(outcome: Outcome) -> str:
    """Return how often a leaning is wrong: by margin, or for any truth if only decisions are released."""
    if any(candidate.margin is not None for candidate in outcome.candidates):
        return "A leaning decides nothing: if it was nearly a tie, it is a coin toss."
    if outcome.weight_bias_bound:
        return "A leaning is no verdict."
    share = at_most(100 / (1 + math.exp(outcome.epsilon_opinion)), 4)
    return f"A leaning is no verdict: it is wrong in at most {share} % of such votes, whatever the truth is."


_VERBS: Final = {
    "passes": ("{names} passes", "{names} pass"),
    "fails": ("{names} fails", "{names} fail"),
    "undecided, leaning yes": ("{names} is undecided, leaning yes", "{names} are undecided, leaning yes"),
    "undecided, leaning no": ("{names} is undecided, leaning no", "{names} are undecided, leaning no"),
}
"""Verbs for one candidate, and for several."""
_MOST_NAMED: Final = 6  # most candidates of one verdict that a sentence names


VOTES: Presenter[Outcome] = Presenter(show=_show, rows=_rows, draw=_draw, brief=_brief, verdict=_conclude, sheet=_sheet)
"""Presents an outcome with a row for each candidate."""


WEIGHTS: Presenter[WeightsOutcome] = Presenter(
    show=PLAIN.show,
    rows=PLAIN.rows,
    draw=PLAIN.draw,
    say=lambda weights: Text(", approximate quota ").append_text(estimate_text(weights.quota)),
)
"""Presents the outcome of the weights phase."""

PRESENTERS: Final[Mapping[type, Presenter[Any]]] = {Outcome: VOTES, WeightsOutcome: WEIGHTS}
"""Presenters by outcome type."""
