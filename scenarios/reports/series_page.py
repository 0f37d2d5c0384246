"""What the page of a series has beside a run's: a table of the votes, and for each vote what came of it and its price.

The rules that hold here: everything is on the one page, so that it can be sent as it is; and nobody is named in a
deployment, or where it is private who takes part.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from ...protocol.privacy import LedgerEntry
from ..presentation import briefs_of, verdict_of
from ..presentation.numbers import some
from ..running.reader import Released, RunLeft
from ..running.series_shown import say_limit
from ..running.session_facts import prices_of
from ..running.statements import LITTLE, held_by, little_of, meaning_of, odds_of
from ..tables import Cell, Entry, Table
from .blocks import estimates_in
from .page import Block, Facts, Section, Text, drawn, epsilon_text

MOST_VOTES: Final = 100  # that have a part of the page each; the folder of a further one has all of it
_MOST_DRAWN: Final = 24  # whose estimates are drawn: more pictures would make a page of many megabytes
_MOST_NAMES: Final = 12


def table_of_votes(left: RunLeft) -> Iterator[Table]:
    """Yield a row for each vote, which leads to its part of the page; nothing of what is no series."""
    if left.result is None or not left.result.votes:
        return
    rows: list[Sequence[Entry]] = []
    for place, vote in enumerate(left.result.votes, start=1):
        outcome = vote.get("failure") or _said_of(left.outcomes[place - 1])
        refused = len(vote.get("refused", ()))
        title = str(vote.get("title", ""))
        leads_to = _anchor(place) if place <= MOST_VOTES else ""
        rows.append(
            (
                Cell.of(vote.get("vote")),
                Cell(title or f"Vote {place}", leads_to=leads_to),
                Cell.of(vote.get("num_parties")),
                Cell.of(refused),
                outcome,
            )
        )
    columns = ("Vote", "What is decided", "Parties", "Refused: no budget", "What came of it")
    yield Table(caption="The votes", name="votes", columns=columns, rows=rows)


def _anchor(place: int) -> str:
    return f"vote-{place}"


def _said_of(outcome: msgspec.Struct | None) -> str:
    """Return a vote's outcome in a line."""
    if outcome is None:
        return ""
    return "; ".join(f"{brief.name}: {brief.said.plain}" for brief in briefs_of(outcome))


def losses_of_persons(left: RunLeft) -> Iterator[Table]:
    """Yield what each person of a series lost, vote by vote; nothing of a deployment."""
    if rows := left.losses:
        cells = [[Cell.of(value) for value in row.values()] for row in rows]
        yield Table(caption="ε of each person, by vote", name="losses", columns=list(rows[0]), rows=cells, full=rows)


def sections_of_votes(left: RunLeft, own: Sequence[RunLeft | None]) -> Iterator[Section]:
    """Yield a part for each vote of a series, with what it left itself; nothing of what is no series."""
    if left.kind != "series" or left.result is None or not left.result.votes:
        return
    votes = left.result.votes
    over = len(votes) - MOST_VOTES
    said = "Each vote by itself: what came of it, the privacy loss, and who was not there."
    if over > 0:
        said += " The folders of further votes have it: psephos report writes the page of one."
    yield Section(title="Vote by vote", blocks=[Text(said)])
    names_are_told = not (left.is_deployment or left.about is None or left.about.hides_participation)
    for place, vote in enumerate(votes[:MOST_VOTES], start=1):
        title = str(vote.get("title", ""))
        absent = _absent(left.losses, vote, place) if names_are_told else {}
        yield Section(
            title=f"Vote {place}" + (f": {title}" if title else ""),
            blocks=list(_vote(left, vote, place, absent, own[place - 1])),
            is_part=True,
            anchor=_anchor(place),
        )


def _vote(
    left: RunLeft, vote: Mapping[str, Any], place: int, absent: Mapping[str, str], own: RunLeft | None
) -> Iterator[Block]:
    outcome = left.outcomes[place - 1]
    if outcome is not None:
        yield Text(verdict_of(outcome))
    elif failure := vote.get("failure"):
        yield Text(f"No outcome: {failure}.".replace("..", "."), "poor")
    yield Facts({**_turnout(left, vote), **absent, "Privacy loss per person": _price(left, place)})
    if own is None:
        return
    if place <= _MOST_DRAWN:
        yield from drawn(own.pictures, "estimates", f"The estimates of vote {place} with their errors")
    table, shared = estimates_in(own)
    if table is not None:
        caption, name = f"What was estimated in vote {place}", f"vote-{place}-estimates"
        yield dataclasses.replace(table, caption=caption, name=name)
        if shared:
            yield Text(f"The same in all rows: {shared}.", "quiet")


def _turnout(left: RunLeft, vote: Mapping[str, Any]) -> dict[str, str]:
    """Return when a vote was, and how many took part of how many who wanted to."""
    facts: dict[str, str] = {}
    if at := vote.get("at"):
        facts["When"] = str(at).removesuffix("T00:00:00+00:00").replace("T", " ")
    num, refused = vote.get("num_parties"), len(vote.get("refused", ()))
    hides = left.about is not None and left.about.hides_participation
    if isinstance(num, int) and not (left.is_deployment and hides):
        roles = ("party", "parties") if left.about is None else (left.about.client_role,)
        number = some(vote.get("num_there", num + refused), *roles)
        facts["Who took part"] = f"{num:,} of {number}" if refused else number
    return facts


def _absent(losses: Sequence[Mapping[str, object]], vote: Mapping[str, Any], place: int) -> dict[str, str]:
    """Return who was not on a vote's roster, and who was left out since its budget has no room."""
    refused = [str(name) for name in vote.get("refused", ())]
    away = [
        str(next(iter(row.values())))
        for row in losses
        if f"vote {place}" in row and row[f"vote {place}"] is None and str(next(iter(row.values()))) not in refused
    ]
    facts = {"Not there": _listed(away), "Left out: no budget": _listed(refused)}
    return {label: names for label, names in facts.items() if names}


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def price_of_series(result: Released, role: str) -> tuple[str, str]:
    """Return what all votes cost whoever paid most, in odds, and the limit; and a warning if that protects little."""
    person, budget = result.privacy.person, result.privacy.budget
    epsilon = epsilon_text(person.proven)
    said = [f"Privacy loss per person over all votes: at most ε = {epsilon} (proven, {person.relation})."]
    warning = ""
    if person.certainty is not None:
        said.append(f"{odds_of(person.certainty, held_by(role))}.")
        if person.certainty > LITTLE:
            warning = little_of([f"ε = {epsilon} over all votes"])
    if budget is not None:
        limit = say_limit(budget, role=role, period_seconds=budget.period_seconds, in_all=budget.in_all)
        said.append(f"The budget: {limit}.")
    return " ".join(said), warning


def _price(left: RunLeft, place: int) -> str:
    """Return what a vote cost whoever paid most in it, in odds."""
    paid: dict[str, list[LedgerEntry]] = {}
    for entry in left.entries or ():
        if entry.session.endswith(f", vote {place}"):
            paid.setdefault(entry.person, []).append(entry)
    if not paid:
        return "Nothing."
    return " ".join(
        meaning_of(prices_of(*paid.values()), party="party" if left.about is None else left.about.client_role)
    )
