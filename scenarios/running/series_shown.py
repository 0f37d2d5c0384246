"""Show a series in a terminal and a picture: its votes, and each person's losses."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from ..presentation import briefs_of, drawing
from ..presentation.charts import EDGES, Axis, Chart, Panel, save_chart
from ..presentation.numbers import capitalize, pluralize
from ..presentation.presenter import Brief
from ..presentation.terminal import show_label, show_note, show_table
from ..reading.times import say_period
from ..tables import Cell, Entry, Table
from .series import Series, Vote
from .series_run import FinishedSeries, VoteResult, say_allowance
from .session_facts import prices_of
from .statements import meaning_of

_MOST_BRIEFS: Final = 3  # most results of one vote in its row
_MOST_DRAWN: Final = 20  # most results drawn of all votes
_MOST_NAMES: Final = 3  # most names in a row of persons with equal losses
_MOST_LINES: Final = 12
_MOST_VOTES: Final = 6  # most columns of votes; for longer series only sums are shown
_LEGEND_LINES: Final = 8
_LOSS_INCHES: Final = 2.0
_WIDER: Final = 0.9
_ESTIMATE: Final[dict[str, Any]] = {"color": drawing.RULE, "marker": "o", "markersize": 6, "linewidth": 2}
_ROW_INCHES: Final = 0.25


def show_series_verdict(console: Console, series: Series, vote_results: Sequence[VoteResult]) -> None:
    """Print each vote's result in a line or two; for many votes, counts of results."""
    if len(vote_results) <= _MOST_VOTES:
        titles = [f"{_title_of(one, series) or one.vote.number}: " for one in vote_results]
        sentence = "; ".join(
            f"{title}{_outcome_of(one, is_titled=True)}" for title, one in zip(titles, vote_results, strict=True)
        )
    else:
        num_finished = sum(each.finished is not None for each in vote_results)
        sentence = f"{num_finished:,} of {pluralize(len(vote_results), 'vote')} came to an outcome."
    console.print(Text(f"Verdict: {sentence.removesuffix('.')}.", style="bold"))


def _title_of(vote_result: VoteResult, series: Series) -> str:
    """Return a vote's title; empty if it is only the series' title."""
    return vote_result.vote.scenario.title.removeprefix(f"{series.title}, ")


def show_votes(console: Console, series: Series, vote_results: Sequence[VoteResult]) -> None:
    """Print a row for each vote: time, participants and result; below, parties without enough budget."""
    rows: list[Sequence[Entry]] = [
        (
            str(each.vote.number),
            _when(each.vote),
            _title_of(each, series),
            _outcome_of(each),
            f"{len(each.names):,}" + (f" of {each.num_there:,}" if each.refused else ""),
        )
        for each in vote_results
    ]
    if all(each.vote.at is None for each in vote_results):
        rows = [(row[0], *row[2:]) for row in rows]
    texts = ("", *(["When"] if any(each.vote.at for each in vote_results) else []), "Vote", "Outcome")
    columns = (*texts, capitalize(f"{series.client_role}s"))
    show_table(console, Table(columns=columns, rows=rows, labels=len(texts)), drop=("When",))
    for each in vote_results:
        if each.refused:
            first, refused_text = next(iter(each.refused.values())), _named(list(each.refused), series.client_role)
            room = f"{first.remaining:g} of {first.requested:g}"
            note = f"vote {each.vote.number:,}: too little budget left ({room}), so not there: {refused_text}"
            show_note(console, note, style="yellow")
    for each in vote_results:
        if each.failure is not None:
            show_note(console, f"Vote {each.vote.number}: {each.failure}", style="red")


def show_losses(console: Console, series: Series, finished_series: FinishedSeries, *, is_brief: bool) -> None:
    """Print persons' losses in words; unless brief, also a table by vote, with totals and remaining budgets.

    Persons with equal losses share a row.
    """
    persons = [*map(finished_series.accounts.entries_of, finished_series.accounts.persons)]
    if persons:
        words = meaning_of(prices_of(*persons), party=series.client_role)[: 1 if is_brief else None]
        label = "Privacy loss per person over all votes"
        show_label(console, label, " ".join(words), style="", is_apart=not is_brief)
    if is_brief:
        show_note(console, say_allowance(series) or "what votes cost adds up, without a limit")
        return
    console.print()
    names_by_loss = _alike(finished_series)
    with_votes = len(finished_series.held) <= _MOST_VOTES
    votes = [f"Vote {each.vote.number}" for each in finished_series.held] if with_votes else []
    allowance = series.allowance
    last = finished_series.held[-1].vote.at
    rows: list[Sequence[Entry]] = []
    for names, paid_losses in list(names_by_loss)[:_MOST_LINES]:
        cells: list[Entry] = [_named(names, series.client_role)]
        if with_votes:
            cells += [Cell("–", tone="quiet") if number is None else f"{number:g}" for number in paid_losses]
        total = math.fsum(number for number in paid_losses if number is not None)
        cells.append(Cell(f"{total:g}", tone="strong"))
        if allowance.budget is not None:
            cells.append(f"{finished_series.accounts.remaining(names[0], last):g}")
        rows.append(cells)
    columns = ["ε proven", *votes, "In all", *(["Left"] if allowance.budget is not None else [])]
    show_table(console, Table(columns=columns, rows=rows), drop=votes)
    if len(names_by_loss) > _MOST_LINES:
        show_note(console, f"… and {pluralize(len(names_by_loss) - _MOST_LINES, 'more row')} in losses.csv")
    if allowance_text := say_allowance(series):
        show_note(console, allowance_text)
    if allowance.period_seconds is not None:
        show_note(console, "left is what the last vote's window still holds")
    show_note(console, "replace-one neighbors; what one person pays in several votes adds up")


def draw_series(series: Series, finished_series: FinishedSeries, *, folder: Path) -> list[Path]:
    """Draw a series as `series.svg`: each person's accumulated loss, and each vote's decision."""
    max_briefs = max(1, _MOST_DRAWN // len(finished_series.held))
    briefs = [(each.vote, brief) for each in finished_series.held for brief in _briefs(each)[:max_briefs]]
    drawn_briefs = [(vote, brief) for vote, brief in briefs if _is_drawn(brief)][: drawing.MOST_ROWS]
    losses = _draw_losses(series, finished_series)
    chart = Chart(panels=[losses])
    if drawn_briefs:
        chart = Chart(panels=[losses, _draw_outcomes(drawn_briefs)], marks={drawing.ESTIMATE: _ESTIMATE})
    return save_chart(chart, folder=folder, name="series", title=series.title, setting=finished_series.setting)


def _draw_losses(series: Series, finished_series: FinishedSeries) -> Panel:
    """Return a panel of each person's loss up to each vote, or in the window ending with it, and the budget."""
    vote_results, allowance = finished_series.held, series.allowance
    votes = list(range(1, len(vote_results) + 1))
    ends: dict[str, tuple[float, str]] = {}
    panel = Panel(
        x=Axis(ticks={vote: _tick(each.vote) for vote, each in zip(votes, vote_results, strict=True)}),
        y=Axis("ε proven", base=0.0, seen=[0.0]),
        height=_LOSS_INCHES,
        ends=ends,
    )
    palette = list(drawing.COLORS.values())
    names_by_loss = list(_alike(finished_series))[:_LEGEND_LINES]
    for place, (names, paid_losses) in enumerate(names_by_loss):
        color = palette[place % len(palette)]
        heights = [
            _counted(vote_results, paid_losses, number, allowance.period_seconds) for number in range(len(vote_results))
        ]
        # Coinciding lines stay visible, since lines drawn earlier are wider.
        width = 1.8 + _WIDER * (len(names_by_loss) - 1 - place)
        panel.line(votes, heights, linewidth=width, color=color, marker="o", markersize=width + 2.4)
        ends[_named(names, series.client_role)] = (heights[-1], color)
    if allowance.budget is not None:
        max_epsilon = allowance.budget.epsilon
        panel.line(EDGES, [max_epsilon] * 2, color=drawing.RULE, linewidth=1.0)
        panel.area(EDGES, (max_epsilon, math.inf), color=drawing.BEYOND, level=0.0)
        ends["budget: refused above"] = (max_epsilon, drawing.RULE)
        panel.y.ends = 0.0, max(1.05 * max(panel.y.seen), 1.15 * max_epsilon)
    seconds, period_text = allowance.period_seconds, "so far"
    period_text = period_text if seconds is None else f"in the {say_period(seconds)} up to each vote"
    panel.title = f"What each {series.client_role} lost {period_text}"
    return panel


def _counted(
    vote_results: Sequence[VoteResult], paid_losses: Sequence[float | None], number: int, seconds: float | None
) -> float:
    """Return the loss up to a vote, or in the period ending with it."""
    moment = vote_results[number].vote.at
    return math.fsum(
        loss or 0.0
        for each, loss in zip(vote_results[: number + 1], paid_losses, strict=False)
        if seconds is None
        or moment is None
        or each.vote.at is None
        or (moment - each.vote.at).total_seconds() < seconds
    )


def _draw_outcomes(briefs: Sequence[tuple[Vote, Brief]]) -> Panel:
    """Return a panel with a row for each decision, drawn by its number."""
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


def _briefs(vote_result: VoteResult) -> Sequence[Brief]:
    return () if vote_result.finished is None else briefs_of(vote_result.finished.record.outcome)


def _outcome_of(vote_result: VoteResult, *, is_titled: bool = False) -> Text:
    """Return a vote's result in a few words, without the single result's name after the vote's title."""
    if vote_result.finished is None:
        return Text("not held" if not vote_result.paid else "no outcome", style="red")
    briefs = _briefs(vote_result)
    outcome_text = Text()
    for place, brief in enumerate(briefs[:_MOST_BRIEFS]):
        outcome_text.append("; " if place else "")
        if len(briefs) > 1 or not (is_titled or brief.name == vote_result.vote.scenario.title):
            outcome_text.append(f"{brief.name}: ", style="dim")
        outcome_text.append_text(brief.said)
    if len(briefs) > _MOST_BRIEFS:
        outcome_text.append(f"; and {len(briefs) - _MOST_BRIEFS:,} more", style="dim")
    return outcome_text


def _alike(finished_series: FinishedSeries) -> list[tuple[list[str], tuple[float | None, ...]]]:
    """Group persons with equal losses in every vote; a loss is None if they were absent."""
    groups: dict[tuple[float | None, ...], list[str]] = {}
    for name in dict.fromkeys(name for each in finished_series.held for name in (*each.names, *each.refused)):
        paid_losses = tuple(each.paid.get(name) for each in finished_series.held)
        groups.setdefault(paid_losses, []).append(name)
    return [(names, paid_losses) for paid_losses, names in groups.items()]


def _named(names: Sequence[str], role: str) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMES else pluralize(len(names), role)


def _when(vote: Vote) -> str:
    """Format a vote's time as in its file; only the date if it is midnight."""
    if vote.at is None:
        return ""
    is_date = (vote.at.hour, vote.at.minute, vote.at.second) == (0, 0, 0)
    return f"{vote.at:%Y-%m-%d}" if is_date else f"{vote.at:%Y-%m-%d %H:%M}"


def _tick(vote: Vote) -> str:
    time_text = _when(vote)
    return f"{vote.number}\n{time_text[5:]}" if time_text else str(vote.number)
