"""What a terminal and a picture show of a series: its votes side by side, and what each person paid."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from ..presentation import briefs_of, drawing
from ..presentation.charts import EDGES, Axis, Chart, Panel, save_chart
from ..presentation.numbers import capitalized, pluralize
from ..presentation.presenter import Brief
from ..presentation.terminal import show_label, show_note, show_table
from ..reading.times import say_period
from ..tables import Cell, Entry, Table
from .series import Series, Vote
from .series_run import FinishedSeries, VoteResult, say_allowance
from .session_facts import prices_of
from .statements import meaning_of

_MOST_BRIEFS: Final = 3  # things that are said of one vote in its row
_MOST_DRAWN: Final = 20  # things that are drawn of all votes, as many of each
_MOST_NAMES: Final = 3  # names in a row of persons who paid alike
_MOST_LINES: Final = 12
_MOST_VOTES: Final = 6  # columns of single votes; of a longer series only sums are shown
_LEGEND_LINES: Final = 8
_LOSS_INCHES: Final = 2.0
_WIDER: Final = 0.9
_ESTIMATE: Final[dict[str, Any]] = {"color": drawing.RULE, "marker": "o", "markersize": 6, "linewidth": 2}
_ROW_INCHES: Final = 0.25


def show_series_verdict(console: Console, series: Series, held: Sequence[VoteResult]) -> None:
    """Print what came of each vote in a line or two, or of how many something came where they are many."""
    if len(held) <= _MOST_VOTES:
        titles = [f"{_title_of(one, series) or one.vote.number}: " for one in held]
        said = "; ".join(f"{title}{_outcome_of(one, is_titled=True)}" for title, one in zip(titles, held, strict=True))
    else:
        came = sum(each.finished is not None for each in held)
        said = f"{came:,} of {pluralize(len(held), 'vote')} came to an outcome."
    console.print(Text(f"Verdict: {said.removesuffix('.')}.", style="bold"))


def _title_of(held: VoteResult, series: Series) -> str:
    """Return what a vote is called, without the series' title, which one has that names itself nothing."""
    return held.vote.scenario.title.removeprefix(f"{series.title}, ")


def show_votes(console: Console, series: Series, held: Sequence[VoteResult]) -> None:
    """Print a row for each vote: when it was, who took part, and what came of it; below, who could not take part."""
    rows: list[Sequence[Entry]] = [
        (
            str(each.vote.number),
            _when(each.vote),
            _title_of(each, series),
            _outcome_of(each),
            f"{len(each.names):,}" + (f" of {each.num_there:,}" if each.refused else ""),
        )
        for each in held
    ]
    if all(each.vote.at is None for each in held):
        rows = [(row[0], *row[2:]) for row in rows]
    texts = ("", *(["When"] if any(each.vote.at for each in held) else []), "Vote", "Outcome")
    columns = (*texts, capitalized(f"{series.client_role}s"))
    show_table(console, Table(columns=columns, rows=rows, labels=len(texts)), drop=("When",))
    for each in held:
        if each.refused:
            first, who = next(iter(each.refused.values())), _named(list(each.refused), series.client_role)
            room = f"{first.remaining:g} of {first.requested:g}"
            note = f"vote {each.vote.number:,}: too little budget left ({room}), so not there: {who}"
            show_note(console, note, style="yellow")
    for each in held:
        if each.failure is not None:
            show_note(console, f"Vote {each.vote.number}: {each.failure}", style="red")


def show_losses(console: Console, series: Series, finished: FinishedSeries, *, is_brief: bool) -> None:
    """Print what persons lost, in words, and unless briefly each in each vote, in all, and what is left, in a table.

    Persons who paid alike have one row.
    """
    persons = [*map(finished.accounts.entries_of, finished.accounts.persons)]
    if persons:
        words = meaning_of(prices_of(*persons), party=series.client_role)[: 1 if is_brief else None]
        label = "Privacy loss per person over all votes"
        show_label(console, label, " ".join(words), style="", is_apart=not is_brief)
    if is_brief:
        show_note(console, say_allowance(series) or "what votes cost adds up, without a limit")
        return
    console.print()
    alike = _alike(finished)
    with_votes = len(finished.held) <= _MOST_VOTES
    votes = [f"Vote {each.vote.number}" for each in finished.held] if with_votes else []
    allowance = series.allowance
    last = finished.held[-1].vote.at
    rows: list[Sequence[Entry]] = []
    for names, paid in list(alike)[:_MOST_LINES]:
        cells: list[Entry] = [_named(names, series.client_role)]
        if with_votes:
            cells += [Cell("–", tone="quiet") if number is None else f"{number:g}" for number in paid]
        total = math.fsum(number for number in paid if number is not None)
        cells.append(Cell(f"{total:g}", tone="strong"))
        if allowance.budget is not None:
            cells.append(f"{finished.accounts.remaining(names[0], last):g}")
        rows.append(cells)
    columns = ["ε proven", *votes, "In all", *(["Left"] if allowance.budget is not None else [])]
    show_table(console, Table(columns=columns, rows=rows), drop=votes)
    if len(alike) > _MOST_LINES:
        show_note(console, f"… and {pluralize(len(alike) - _MOST_LINES, 'more row')} in losses.csv")
    if said := say_allowance(series):
        show_note(console, said)
    if allowance.period_seconds is not None:
        show_note(console, "left is what the last vote's window still holds")
    show_note(console, "replace-one neighbors; what one person pays in several votes adds up")


def draw_series(series: Series, finished: FinishedSeries, *, folder: Path) -> list[Path]:
    """Draw a series as `series.svg`: each person's loss from vote to vote, and each vote's decision."""
    most = max(1, _MOST_DRAWN // len(finished.held))
    briefs = [(each.vote, brief) for each in finished.held for brief in _briefs(each)[:most]]
    drawn = [(vote, brief) for vote, brief in briefs if _is_drawn(brief)][: drawing.MOST_ROWS]
    losses = _draw_losses(series, finished)
    chart = Chart(panels=[losses])
    if drawn:
        chart = Chart(panels=[losses, _draw_outcomes(drawn)], marks={drawing.ESTIMATE: _ESTIMATE})
    return save_chart(chart, folder=folder, name="series", title=series.title, setting=finished.setting)


def _draw_losses(series: Series, finished: FinishedSeries) -> Panel:
    """Return what each person lost up to each vote, or in the window that ends with it, below what is allowed."""
    held, allowance = finished.held, series.allowance
    votes = list(range(1, len(held) + 1))
    ends: dict[str, tuple[float, str]] = {}
    panel = Panel(
        x=Axis(ticks={vote: _tick(each.vote) for vote, each in zip(votes, held, strict=True)}),
        y=Axis("ε proven", base=0.0, seen=[0.0]),
        height=_LOSS_INCHES,
        ends=ends,
    )
    palette = list(drawing.COLORS.values())
    alike = list(_alike(finished))[:_LEGEND_LINES]
    for place, (names, paid) in enumerate(alike):
        color = palette[place % len(palette)]
        heights = [_counted(held, paid, number, allowance.period_seconds) for number in range(len(held))]
        # Lines that lie on each other are seen, since those that are drawn first are wider.
        width = 1.8 + _WIDER * (len(alike) - 1 - place)
        panel.line(votes, heights, linewidth=width, color=color, marker="o", markersize=width + 2.4)
        ends[_named(names, series.client_role)] = (heights[-1], color)
    if allowance.budget is not None:
        most = allowance.budget.epsilon
        panel.line(EDGES, [most] * 2, color=drawing.RULE, linewidth=1.0)
        panel.area(EDGES, (most, math.inf), color=drawing.BEYOND, level=0.0)
        ends["budget: refused above"] = (most, drawing.RULE)
        panel.y.ends = 0.0, max(1.05 * max(panel.y.seen), 1.15 * most)
    seconds, over = allowance.period_seconds, "so far"
    over = over if seconds is None else f"in the {say_period(seconds)} up to each vote"
    panel.title = f"What each {series.client_role} lost {over}"
    return panel


def _counted(held: Sequence[VoteResult], paid: Sequence[float | None], number: int, seconds: float | None) -> float:
    """Return the loss up to a vote, or within the period that ends with it."""
    at = held[number].vote.at
    return math.fsum(
        own or 0.0
        for each, own in zip(held[: number + 1], paid, strict=False)
        if seconds is None or at is None or each.vote.at is None or (at - each.vote.at).total_seconds() < seconds
    )


def _draw_outcomes(briefs: Sequence[tuple[Vote, Brief]]) -> Panel:
    """Return a row for each thing that was decided, by the number behind it."""
    names = [drawing.fold(f"{vote.number}  {brief.name}", most_lines=2) for vote, brief in briefs]
    panel = Panel(title="What each vote released", x=Axis("estimate"), y=Axis(names=names), height=_ROW_INCHES)
    for row, (_, brief) in enumerate(briefs):
        if brief.estimate is not None:
            panel.measured(brief.estimate, row, cap=8, **_ESTIMATE)
        panel.beside[row] = brief.said.plain, drawing.INK
    panel.line((0, 0), EDGES, color=drawing.MUTED, linewidth=0.8)
    return panel


def _is_drawn(brief: Brief) -> bool:
    estimate = brief.estimate
    return estimate is not None and math.isfinite(estimate.value) and math.isfinite(estimate.standard_error)


def _briefs(held: VoteResult) -> Sequence[Brief]:
    return () if held.finished is None else briefs_of(held.finished.record.outcome)


def _outcome_of(held: VoteResult, *, is_titled: bool = False) -> Text:
    """Return what came of a vote, in a few words; where its title stands before it, without the one thing's name."""
    if held.finished is None:
        return Text("not held" if not held.paid else "no outcome", style="red")
    briefs = _briefs(held)
    said = Text()
    for place, brief in enumerate(briefs[:_MOST_BRIEFS]):
        said.append("; " if place else "")
        if len(briefs) > 1 or not (is_titled or brief.name == held.vote.scenario.title):
            said.append(f"{brief.name}: ", style="dim")
        said.append_text(brief.said)
    if len(briefs) > _MOST_BRIEFS:
        said.append(f"; and {len(briefs) - _MOST_BRIEFS:,} more", style="dim")
    return said


def _alike(finished: FinishedSeries) -> list[tuple[list[str], tuple[float | None, ...]]]:
    """Return the persons who paid alike in every vote, with what they paid; None where they were not there."""
    groups: dict[tuple[float | None, ...], list[str]] = {}
    for name in dict.fromkeys(name for each in finished.held for name in (*each.names, *each.refused)):
        paid = tuple(each.paid.get(name) for each in finished.held)
        groups.setdefault(paid, []).append(name)
    return [(names, paid) for paid, names in groups.items()]


def _named(names: Sequence[str], role: str) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMES else pluralize(len(names), role)


def _when(vote: Vote) -> str:
    """Return the moment of a vote as its file told it: a date alone where that is midnight."""
    if vote.at is None:
        return ""
    is_date = (vote.at.hour, vote.at.minute, vote.at.second) == (0, 0, 0)
    return f"{vote.at:%Y-%m-%d}" if is_date else f"{vote.at:%Y-%m-%d %H:%M}"


def _tick(vote: Vote) -> str:
    when = _when(vote)
    return f"{vote.number}\n{when[5:]}" if when else str(vote.number)
