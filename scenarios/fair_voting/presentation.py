"""A fair and private vote's outcome: who wins, and how well each alternative serves each group of voters.

The winner stands first. Where estimates are released, each alternative has its welfare (the mean utility of all
voters), its mean utility to each group, and its disparity (the greatest of these less the least). Of many groups, or
groups with long names, the worst and the best off are shown. Where the winner alone is released, that is said; what
would be elected without privacy is shown only where the truth may be.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...protocol.estimators import Estimate
from ...protocol.fair_voting import RULES, Outcome
from ...protocol.privacy import TrustModel
from ..presentation.drawing import (
    ERRORS_SHOWN,
    GOOD,
    INK,
    MOST_ROWS,
    MUTED,
    RULE,
    Picture,
    annotate_row,
    fold,
    name_rows,
)
from ..presentation.presenter import Known, Presenter, Rows
from ..presentation.terminal import Cell, show_note, show_table

__all__ = ["PRESENTERS"]

_MECHANISMS: Final = {
    "laplace": "noise on the groups' utilities",
    "sampling": "random questions to random voters; now and then anything wins",
    "exponential": "the better an alternative, the likelier it wins",
    "permute_and_flip": "the better an alternative, the likelier it wins",
    "sampled_pair": "voters compare two random alternatives each, and may lie",
    "sampled_position": "voters tell where they rank a random alternative, and may lie",
    "whole_ranking": "voters tell a whole ranking each, and may lie",
    "noisy_scores": "voters add noise to all their scores",
}
_TRUSTED: Final = {
    TrustModel.CENTRAL: "the aggregator: it sees every voter's ranking",
    TrustModel.LOCAL: "nobody: voters randomize what they report, before it leaves them",
}
# What a vote without privacy elects, by the truth's names: the session's own objective, the paper's, and the others.
_RULES: Final = ("this objective", "least disparity", *RULES)

_MOST_NAMED: Final = 8
"""Groups in the line of voters."""
_WIDEST_NAME: Final = 24
"""An alternative's, where it is weighed whether all groups fit; longer ones go on in the next line."""
_WIDEST_GROUP: Final = 16
_DIGITS: Final = 2
_DIGITS_WITHOUT_ERRORS: Final = 3
_MOST_DECIMALS: Final = 9

# By shape too, for readers who do not tell these colors apart; more groups than these are not told apart.
_MARKS: Final[tuple[dict[str, Any], ...]] = (
    {"color": "#0072b2", "marker": "o", "markersize": 7},
    {"color": "#d55e00", "marker": "s", "markersize": 6.5},
    {"color": "#8f5fa8", "marker": "^", "markersize": 7.5},
    {"color": "#e69f00", "marker": "v", "markersize": 7.5},
    {"color": "#56b4e9", "marker": "P", "markersize": 8},
    {"color": "#4d4d4d", "marker": "X", "markersize": 8},
)
_MARK_OF_MANY: Final[dict[str, Any]] = {"color": RULE, "marker": "|", "markersize": 9}
_MANY_MARKS: Final = 2_000
"""More than these are a bitmap, also in the SVG."""
_FULL_MARKS: Final = 30
"""Fewer than these are drawn in full color."""
_PALEST: Final = 0.08
_HOLLOW: Final[dict[str, Any]] = {"mfc": "white", "markeredgewidth": 1.4}
_BELOW: Final = 0.28
"""How far below its estimates a row has its truth."""
_APART: Final = 0.05
"""How far below each other a row has its groups, so that their errors can be read."""
_WINNER_BAND: Final = {"color": GOOD, "alpha": 0.09, "linewidth": 0, "zorder": 0}


@dataclasses.dataclass(frozen=True)
class _Served:
    """How well an alternative serves the groups: mean utilities to them and to all voters."""

    utilities: tuple[Estimate, ...]
    welfare: Estimate
    disparity: float

    @property
    def worst(self) -> int:
        """The place of the group that is worst off."""
        return min(range(len(self.utilities)), key=lambda place: self.utilities[place].value)

    @property
    def best(self) -> int:
        """The place of the group that is best off."""
        return max(range(len(self.utilities)), key=lambda place: self.utilities[place].value)


@dataclasses.dataclass(frozen=True)
class _Alternative:
    """One alternative: as estimated, None where that is not released, and in truth, None where that is not shown."""

    name: str
    is_winner: bool
    estimated: _Served | None
    true: _Served | None

    @property
    def known(self) -> _Served | None:
        """What is known of it: estimates rather than the truth."""
        return self.estimated or self.true


def _alternatives(outcome: Outcome, known: Known) -> list[_Alternative]:
    """Return the alternatives in the order of their names in the session."""
    told = {own.name: _Served(own.utilities, own.welfare, own.disparity) for own in outcome.alternatives}
    return [
        _Alternative(name, name == outcome.winner, told.get(name), _truth_of(name, outcome, known))
        for name in outcome.candidates
    ]


def _truth_of(name: str, outcome: Outcome, known: Known) -> _Served | None:
    if known.truth is None:
        return None
    utilities: list[float] = [known.truth[f"{name} ({group})"] for group in outcome.groups]
    weighted = (value * size for value, size in zip(utilities, outcome.group_sizes, strict=True))
    welfare = math.fsum(weighted) / sum(outcome.group_sizes)
    without_error = tuple(Estimate(value, 0.0) for value in utilities)
    return _Served(without_error, Estimate(welfare, 0.0), max(utilities) - min(utilities))


def _in_order(alternatives: Sequence[_Alternative], outcome: Outcome) -> list[_Alternative]:
    """Return the winner first, then as the objective has them, by what is known of them."""

    def merit(alternative: _Alternative) -> tuple[bool, bool, float]:
        served = alternative.known
        if served is None:
            return not alternative.is_winner, False, 0.0
        is_out, cost = False, -served.welfare.value
        if outcome.objective == "penalized":
            cost += outcome.fairness_weight * served.disparity
        if outcome.objective == "constrained":
            is_out = served.disparity > outcome.max_disparity
        if outcome.objective == "parity" or is_out:
            cost = served.disparity
        return not alternative.is_winner, is_out, cost

    return sorted(alternatives, key=merit)


def _show(console: Console, outcome: Outcome, known: Known) -> None:
    alternatives = _in_order(_alternatives(outcome, known), outcome)
    _show_header(console, outcome)
    if outcome.alternatives:
        _show_alternatives(console, outcome, alternatives, known)
    else:
        show_note(console, "Only the winner is released, and no estimate.", style="yellow")
        if known.truth is not None:
            console.print()
            show_note(console, "The truth, which nobody was told:")
            console.print()
            _show_alternatives(console, outcome, alternatives, known)
    if known.truth is not None:
        console.print()
        _show_rules(console, outcome, alternatives, known.truth)
    for note in _notes(outcome, known):
        show_note(console, note)


def _show_header(console: Console, outcome: Outcome) -> None:
    """Print who wins, by what, and what that costs."""
    console.print(Text.assemble((f"{outcome.winner} wins", "bold green")))
    console.print()
    table = Table.grid(padding=(0, 0, 0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    said: dict[str, str | Text] = {
        "Objective": _objective(outcome),
        "Voters": _by_group(outcome, outcome.group_sizes),
        "Reports": _by_group(outcome, outcome.num_reports or outcome.group_sizes),
        "Mechanism": f"{outcome.mechanism}: {_MECHANISMS[outcome.mechanism]}",
        "Trusted": _TRUSTED[TrustModel(outcome.model)],
        "Proven loss": _loss(outcome),
    }
    if said["Reports"] == said["Voters"]:
        del said["Reports"]
    for label, text in said.items():
        table.add_row(Text(label, style="bold"), text)
    console.print(table)
    console.print()


def _objective(outcome: Outcome) -> Text:
    """Return what is elected; in another color where nothing keeps the limit."""
    said = {
        "parity": "the least disparity",
        "constrained": f"the most welfare within a disparity of {outcome.max_disparity:g}",
        "penalized": f"the most welfare less {outcome.fairness_weight:g} times the disparity",
    }
    text = Text(f"{outcome.objective}: {said[outcome.objective]}")
    of_all = [own.disparity for own in outcome.alternatives]
    if outcome.objective == "constrained" and of_all and min(of_all) > outcome.max_disparity:
        text.append("; none is within it, so that the least disparity wins", style="yellow")
    return text


def _by_group(outcome: Outcome, numbers: Sequence[int]) -> str:
    """Return how many there are of each group, of the first groups."""
    named = [f"{number:,} of {_short(name)}" for name, number in zip(outcome.groups, numbers, strict=True)]
    if len(named) > _MOST_NAMED:
        named[_MOST_NAMED:] = [f"and {len(named) - _MOST_NAMED:,} more groups"]
    return f"{sum(numbers):,}: {', '.join(named)}"


def _short(name: str) -> str:
    """Return as much of a group's name as a column has room for."""
    text = Text(name)
    text.truncate(_WIDEST_GROUP, overflow="ellipsis")
    return text.plain


def _loss(outcome: Outcome) -> Text:
    """Return what a voter pays at most; in another color where that is more than claimed."""
    claimed, proven = outcome.epsilon_claimed, outcome.epsilon_proven
    if proven is None:
        return Text(f"unbounded: no ε is proven; the paper claims {claimed:.6g}", style="yellow")
    said = f"at most ε = {proven:.6g} for a voter's ranking"
    if float(f"{proven:.6g}") > claimed:
        return Text(f"{said}; the paper claims {claimed:.6g}", style="yellow")
    return Text(said)


def _show_alternatives(console: Console, outcome: Outcome, alternatives: Sequence[_Alternative], known: Known) -> None:
    """Print a row for each alternative: estimates, and the truth beside them; or the truth alone."""
    shown = alternatives[:MOST_ROWS]
    served = [own for alternative in shown if (own := alternative.known) is not None]
    true = [own for alternative in shown if (own := alternative.true) is not None]
    welfare = _column([own.welfare for own in served])
    of_groups = [_column([own.utilities[place] for own in served]) for place in range(len(outcome.groups))]
    decimals = _decimals_of_disparity(served)
    disparity = [f"{own.disparity:,.{decimals}f}" for own in served]
    truths: dict[str, Sequence[str]] = {}
    if outcome.alternatives and true:
        digits = _decimals([own.welfare for own in served])
        truths["True welfare"] = [_number(own.welfare.value, digits) for own in true]
        truths["True disparity"] = [f"{own.disparity:,.{decimals}f}" for own in true]
    names: list[Cell] = [Text(own.name, style="bold green" if own.is_winner else "") for own in shown]
    sizes = zip(outcome.groups, outcome.group_sizes, strict=True)
    each = {f"{group} ({size:,})": cells for (group, size), cells in zip(sizes, of_groups, strict=True)}
    numbers: dict[str, Sequence[str]] = {"Welfare": welfare, **each, "Disparity": disparity}
    if not _fit(console, shown, numbers):
        numbers = {
            "Welfare": welfare,
            "Least": _column([own.utilities[own.worst] for own in served], decimals),
            "Worst off": [_short(outcome.groups[own.worst]) for own in served],
            "Greatest": _column([own.utilities[own.best] for own in served], decimals),
            "Best off": [_short(outcome.groups[own.best]) for own in served],
            "Disparity": disparity,
        }
    columns: list[Sequence[Cell]] = [names, *numbers.values(), *truths.values()]
    show_table(
        console,
        ("Alternative",),
        (*numbers, *truths),
        rows=list(zip(*columns, strict=True)),
        drop=("True welfare", "True disparity", "Greatest", "Best off", "Worst off", "Least"),
    )
    if len(alternatives) > len(shown):
        show_note(console, f"… and {len(alternatives) - len(shown)} more alternatives in {known.table}")


def _fit(console: Console, shown: Sequence[_Alternative], numbers: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a line has room for all these columns beside the alternatives' names."""
    names = min(max(cell_len(alternative.name) for alternative in shown), _WIDEST_NAME)
    widths = [names, *(max(map(cell_len, (header, *cells))) for header, cells in numbers.items())]
    return sum(widths) + 3 * len(widths) <= console.width  # what `show_table` puts between columns


def _column(estimates: Sequence[Estimate], decimals: int | None = None) -> list[str]:
    """Return a column of estimates with as many decimals each; by default as their errors deserve."""
    if decimals is None:
        decimals = _decimals(estimates)
    with_errors = any(own.standard_error for own in estimates)
    return [
        _number(own.value, decimals) + (f" ± {own.standard_error:,.{decimals}f}" if with_errors else "")
        for own in estimates
    ]


def _number(value: float, decimals: int) -> str:
    written = f"{value:,.{decimals}f}"
    # What is rounded to 0 has no sign.
    return written if any(digit in written for digit in "123456789") else written.removeprefix("-")


def _decimals(estimates: Sequence[Estimate]) -> int:
    """Return with how many decimals all of these are written: two digits of the least error, or three of a value."""
    numbers, digits = [own.standard_error for own in estimates if own.standard_error], _DIGITS
    if not numbers:
        numbers, digits = [max(abs(own.value) for own in estimates)], _DIGITS_WITHOUT_ERRORS
    least = min(numbers)
    return min(max(digits - 1 - math.floor(math.log10(least)), 0), _MOST_DECIMALS) if least else 0


def _decimals_of_disparity(served: Sequence[_Served]) -> int:
    """Return with how many decimals differences of these groups' utilities are written: those of the least certain."""
    return min(_decimals([own.utilities[place] for own in served]) for place in range(len(served[0].utilities)))


def _show_rules(
    console: Console, outcome: Outcome, alternatives: Sequence[_Alternative], truth: Mapping[str, Any]
) -> None:
    """Print who would win without privacy, by which rules, and how well that serves the groups."""
    served = {alternative.name: own for alternative in alternatives if (own := alternative.true) is not None}
    decimals = _decimals([own.welfare for own in served.values()])
    rules_of: dict[str, list[str]] = {}
    for rule in _RULES:
        rules_of.setdefault(truth[rule], []).append(rule)
    rows: list[Sequence[Cell]] = []
    for joined, rules in rules_of.items():
        tied = [served[name] for name in _tied(joined, outcome.candidates)]
        welfare = _range((own.welfare.value for own in tied), decimals)
        rows.append((joined, ", ".join(rules), welfare, _range((own.disparity for own in tied), decimals)))
    texts, numbers = ("Non-private winner", "By"), ("Its welfare", "Its disparity")
    show_table(console, texts, numbers, rows=rows, drop=("Its welfare",))


def _tied(joined: str, candidates: Sequence[str]) -> Sequence[str]:
    """Return the alternatives that a truth names, in their order, with commas between them; a name may hold some."""
    if joined in candidates:
        return (joined,)
    beginnings: dict[str, tuple[str, ...]] = {"": ()}
    for name in candidates:
        for beginning, names in list(beginnings.items()):
            longer = f"{beginning}, {name}" if names else name
            if joined.startswith(longer):
                beginnings.setdefault(longer, (*names, name))
    return beginnings.get(joined, ())


def _range(values: Iterable[float], decimals: int) -> str:
    """Return the least and the greatest of some numbers, as one where they are written alike."""
    written = [_number(value, decimals) for value in sorted(values)]
    return " to ".join(dict.fromkeys((written[0], written[-1])))


def _notes(outcome: Outcome, known: Known) -> Iterable[str]:
    """Yield what readers of the tables need to know."""
    if not outcome.alternatives and known.truth is None:
        return
    yield "welfare: the mean utility of all voters; a utility is the score of a position"
    if not outcome.alternatives:
        yield "disparity: the greatest mean utility of a group less the least"
        return
    yield "disparity: the greatest mean utility of a group less the least;"
    yield "noise makes it larger on average, most where it is small"
    if outcome.model == TrustModel.CENTRAL.value:
        yield "± is one standard error of the noise; who sent nothing counts as indifferent"
        return
    yield "± is one standard error of the randomization, not of how voters differ"
    if not all(outcome.num_reports):
        yield "a group without a report counts as indifferent"


def _rows(outcome: Outcome, known: Known) -> Rows:
    rows: Rows = []
    for alternative in _alternatives(outcome, known):
        row: dict[str, object] = {"alternative": alternative.name, "wins": int(alternative.is_winner)}
        own, true = alternative.estimated, alternative.true
        row["welfare"] = None if own is None else own.welfare.value
        row["welfare_standard_error"] = None if own is None else own.welfare.standard_error
        row["disparity"] = None if own is None else own.disparity
        for place, group in enumerate(outcome.groups):
            utility = None if own is None else own.utilities[place]
            row[f"utility ({group})"] = None if utility is None else utility.value
            row[f"utility_standard_error ({group})"] = None if utility is None else utility.standard_error
        if true is not None:
            row |= {"true_welfare": true.welfare.value, "true_disparity": true.disparity}
            utilities = zip(outcome.groups, true.utilities, strict=True)
            row |= {f"true_utility ({group})": utility.value for group, utility in utilities}
        rows.append(row)
    return rows


def _draw(outcome: Outcome, known: Known) -> Picture | None:
    if not outcome.alternatives and known.truth is None:
        return None
    alternatives = _in_order(_alternatives(outcome, known), outcome)
    shown = alternatives[:MOST_ROWS]
    names = [fold(alternative.name) for alternative in shown]
    with_both = bool(outcome.alternatives) and known.truth is not None
    marks = _marks(outcome, known)
    lines = max(1 + name.count("\n") for name in names)
    rows_of_legend = math.ceil(len(marks) / 3) + sum(label.count("\n") for label in marks)
    is_all = len(shown) == len(alternatives)
    return Picture(
        height=1.35 + 0.2 * rows_of_legend + (0.27 + 0.15 * lines + 0.18 * with_both) * len(shown),
        draw=functools.partial(_draw_rows, outcome=outcome, alternatives=shown, names=names),
        marks=marks,
        title_note="" if is_all else f" (the first {len(shown)} of {len(alternatives)} alternatives)",
    )


def _is_told_apart(outcome: Outcome) -> bool:
    """Return whether each group has a mark of its own."""
    return len(outcome.groups) <= len(_MARKS)


def _marks(outcome: Outcome, known: Known) -> dict[str, dict[str, Any]]:
    """Return what the legend explains, of what is there."""
    is_true = not outcome.alternatives
    hollow = _HOLLOW if is_true else {}
    marks: dict[str, dict[str, Any]] = {}
    if _is_told_apart(outcome):
        for group, size, mark in zip(outcome.groups, outcome.group_sizes, _MARKS, strict=False):
            marks[fold(f"to {group} ({size:,})")] = {**mark, **hollow, "linestyle": "none"}
    else:
        marks[f"to each of {len(outcome.groups):,} groups"] = {**_MARK_OF_MANY, "linestyle": "none"}
    marks["disparity between groups"] = {"color": MUTED, "linewidth": 3, "alpha": 0.6}
    marks["welfare: to all voters"] = {
        "color": INK,
        "marker": "|",
        "markersize": 12,
        "markeredgewidth": 2,
        "linestyle": "none",
    }
    if outcome.alternatives and _is_told_apart(outcome):
        marks[f"± {ERRORS_SHOWN} standard errors"] = {"color": INK, "linewidth": 1.4}
    if outcome.alternatives and known.truth is not None:
        if _is_told_apart(outcome):
            hollow = {**_MARKS[0], **_HOLLOW, "color": INK, "markersize": 5.5}
            marks["hollow, below: the truth"] = {**hollow, "linestyle": "none"}
        else:
            marks["below: the truth"] = {**_MARK_OF_MANY, "markersize": 6, "linestyle": "none"}
    return marks


def _draw_rows(axes: Any, *, outcome: Outcome, alternatives: Sequence[_Alternative], names: Sequence[str]) -> None:
    is_bitmap = len(outcome.groups) * len(alternatives) > _MANY_MARKS
    is_estimated = bool(outcome.alternatives)
    served = [own for alternative in alternatives if (own := alternative.known) is not None]
    decimals = _decimals_of_disparity(served)
    for row, (alternative, own) in enumerate(zip(alternatives, served, strict=True)):
        beside = alternative.true if is_estimated else None
        level = row if beside is None else row - _BELOW / 2
        reach = 0.2 if beside is None else 0.13
        _draw_served(axes, level, own, is_hollow=not is_estimated, is_bitmap=is_bitmap, reach=reach)
        if beside is not None:
            _draw_served(axes, level + _BELOW, beside, is_hollow=True, is_bitmap=is_bitmap, reach=0.1)
        said = f"disparity {own.disparity:,.{decimals}f}"
        color = GOOD if alternative.is_winner else MUTED
        annotate_row(axes, row, f"wins\n{said}" if alternative.is_winner else said, color=color)
        if alternative.is_winner:
            axes.axhspan(row - 0.5, row + 0.5, **_WINNER_BAND)
    what = "mean utility" if is_estimated else "true mean utility; only the winner was released"
    axes.set_xlabel(f"{what}\n{_source(outcome)}")
    name_rows(axes, names)
    for label, alternative in zip(axes.get_yticklabels(), alternatives, strict=True):
        if alternative.is_winner:
            label.set(color=GOOD, fontweight="bold")


def _draw_served(axes: Any, level: float, own: _Served, *, is_hollow: bool, is_bitmap: bool, reach: float) -> None:
    """Draw a mark for each group, a line from the worst off to the best off, and a tick for all voters.

    Args:
        axes: where to.
        level: at which height.
        own: what is drawn.
        is_hollow: it is the truth.
        is_bitmap: there are too many marks to describe each.
        reach: of the tick, up and down.
    """
    values = [utility.value for utility in own.utilities]
    size = 0.75 if is_hollow else 1.0
    ends = [min(values), max(values)]
    axes.plot(ends, [level] * 2, color=MUTED, linewidth=3 * size, alpha=0.6, solid_capstyle="butt", zorder=1)
    axes.plot([own.welfare.value] * 2, [level - reach, level + reach], color=INK, linewidth=2 * size, zorder=2)
    if len(values) > len(_MARKS):
        # The more there are, the paler each, so that their density can be seen.
        alpha = min(max(_FULL_MARKS / len(values), _PALEST), 1.0)
        mark = {**_MARK_OF_MANY, "markersize": 9 * size, "alpha": alpha, "linestyle": "none"}
        axes.plot(values, [level] * len(values), zorder=3, rasterized=is_bitmap, **mark)
        return
    for place, (utility, mark) in enumerate(zip(own.utilities, _MARKS, strict=False)):
        drawn = {**mark, "markersize": mark["markersize"] * size, **(_HOLLOW if is_hollow else {})}
        error = ERRORS_SHOWN * utility.standard_error
        # Bars of errors would hide each other.
        at = level + _APART * (place - (len(values) - 1) / 2) if error else level
        axes.errorbar(utility.value, at, xerr=error or None, capsize=3, linewidth=1.4, zorder=4, **drawn)


def _source(outcome: Outcome) -> str:
    """Return whose election this is, and by what."""
    number = sum(outcome.group_sizes)
    claimed = f"ε = {outcome.epsilon_claimed:g}"
    proven = "unbounded" if outcome.epsilon_proven is None else f"{outcome.epsilon_proven:.4g}"
    loss = claimed if proven == f"{outcome.epsilon_claimed:.4g}" else f"{claimed} claimed, {proven} proven"
    return f"{number:,} voters in {len(outcome.groups):,} groups; {outcome.mechanism}, {outcome.objective}, {loss}"


ELECTIONS: Presenter[Outcome] = Presenter(show=_show, rows=_rows, draw=_draw)
"""A row for each alternative."""

PRESENTERS: Final[Mapping[type, Presenter[Any]]] = {Outcome: ELECTIONS}
"""By the type of what is shown."""
