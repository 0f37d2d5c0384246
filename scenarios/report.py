"""What a terminal shows of a run: rich tables, plain text where nobody watches."""

import itertools
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..protocol.dpwevote import (
    CandidateOutcome,
    Outcome,
    Parameters,
    WeightsOutcome,
    make_offers,
    make_paper_offer,
)
from ..protocol.effects import Closed
from ..protocol.estimators import Estimate
from ..protocol.phases import PhasedProtocol
from ..protocol.privacy import ApproximateAccountant, LedgerEntry, PrivacyLoss
from ..protocol.rules import JOIN

__all__ = [
    "make_console",
    "percent",
    "show_heading",
    "show_ledger",
    "show_outcome",
    "show_phase",
    "show_privacy",
    "show_release",
    "show_scenarios",
    "show_variants",
]

_Cell: TypeAlias = str | Text

_WIDTH_WHEN_PIPED = 110
_PADDING = 2
_SPACE_BETWEEN_COLUMNS = _PADDING + 1  # and the box's own, which is blank
_LEAST_WIDTH = 8
_LARGE = 100
_MODELS = {
    "local": "local model: against everybody else, all colluding",
    "central": "central model: against whoever sees the release; the aggregator is trusted",
}


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that takes no text for markup, and writes with a fixed width where its stream is no terminal.

    Names of parties, candidates, files and phases are other people's: whatever they hold is shown as it is.
    """
    console = _Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH_WHEN_PIPED
    return console


class _Console(Console):
    """A console whose reader may leave, as `head` does: what is under way goes on, unseen."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())  # which also takes what is left in the buffer
        os.close(nowhere)


def show_heading(console: Console, *, title: str, facts: Sequence[str], description: str, trust: str) -> None:
    """Print what is run, and who trusts whom before anything is run."""
    console.print()
    console.print(Text(title, style="bold"))
    console.print(Text(" · ".join(facts), style="cyan"))
    for label, text in (("", description), ("Trust: ", trust)):
        if text.strip():
            console.print()
            console.print(Text.assemble((label, "bold"), (" ".join(text.split()), "dim")))
    console.print()


def show_phase(console: Console, closed: Closed, *, num_parties: int) -> None:
    """Print one line as a phase closes: how many reported, and what it publishes."""
    verb = "joined" if closed.phase == JOIN else "reported"
    of_all = "" if not closed.num_missing else f" of {num_parties:,}"
    line = Text.assemble((f"  {closed.phase:<12}", "bold"), f" {closed.num_received:,}{of_all} {verb}")
    if isinstance(closed.outcome, WeightsOutcome):
        line.append(", approximate quota ").append_text(_estimate(closed.outcome.quota))
    console.print(line)


def show_release(console: Console, *, num_heard: int, role: str) -> None:
    """Print the last line of a session: who was told."""
    console.print(Text.assemble(("  release     ", "bold"), f" told to {num_heard:,} {role}s\n"))


def show_outcome(console: Console, outcome: msgspec.Struct, *, truth: Mapping[str, float] | None) -> None:
    """Print a released outcome: estimates with standard errors, decisions, and the truth where it may be shown."""
    if isinstance(outcome, Outcome):
        _show_votes(console, outcome, truth)
    else:
        released = [(name, _plain(getattr(outcome, name))) for name in outcome.__struct_fields__]
        true = [(f"{name} (true)", f"{value:,.6g}") for name, value in (truth or {}).items()]
        _show_table(console, ("Released", "Value"), rows=[*released, *true])


def show_privacy(console: Console, protocol: PhasedProtocol[Any, Any]) -> None:
    """Print what a session cost each party, by phase and unit."""
    rows: list[Sequence[_Cell]] = []
    for phase in protocol.phases:
        for _, losses in itertools.groupby(phase.losses, key=lambda loss: (loss.mechanism, loss.unit, loss.proven)):
            paid = list(losses)
            claimed, proven = sum(loss.claimed for loss in paid), sum(loss.proven for loss in paid)
            rows.append((phase.name, paid[0].mechanism, paid[0].unit, str(len(paid)), f"{claimed:g}", f"{proven:g}"))
    claimed, proven = (sum(getattr(loss, kind) for loss in protocol.losses) for kind in ("claimed", "proven"))
    number = str(len(protocol.losses))
    total = ("in all", "", "", number, f"{claimed:g}", f"{proven:g}")
    rows.append([Text(cell, style="bold") for cell in total])
    numbers = ("Reports", "ε claimed", "ε proven")
    _show_table(console, ("Each party paid", "Mechanism", "Unit"), numbers, rows=rows, drop=("Reports", "Unit"))
    _show_models(console, protocol.losses)


def show_ledger(console: Console, entries: Sequence[LedgerEntry], *, party: str | None, delta: float | None) -> None:
    """Print a ledger: the entries of one party, or what each party paid by phase, and the population's total.

    Args:
        console: where to.
        entries: the ledger.
        party: whose entries; None for all.
        delta: also show ε at this δ by tighter composition.

    Raises:
        ConfigurationError: δ is not in (0, 1); nothing has been printed.
    """
    by_person: dict[str, list[LedgerEntry]] = {}
    for entry in entries:
        by_person.setdefault(entry.person, []).append(entry)
    shown = by_person if party is None else {party: by_person[party]}
    num_persons = sum(paid[0].num_persons for paid in shown.values())
    groups: dict[tuple[str, ...], list[LedgerEntry]] = {}
    for entry in itertools.chain.from_iterable(shown.values()):
        key = (entry.session, entry.phase, entry.mechanism, entry.unit, entry.relation.value, entry.model.value)
        groups.setdefault(key, []).append(entry)
    totals = _sums(itertools.chain.from_iterable(shown.values()), "proven")
    worst = max(totals, key=totals.__getitem__)
    whose = f"{worst} in all" if num_persons == 1 else f"each of {num_persons:,} at most"
    total = f"  {whose}: ε proven = {totals[worst]:g}"
    if delta is not None:
        total += f", or ε = {_tighter(by_person[worst], delta):.6g} at δ = {delta:g}"
    rows: list[Sequence[_Cell]] = []
    for key, paid in groups.items():
        persons = {entry.person: entry.num_persons for entry in paid}
        most_claimed = max(_sums(paid, "claimed").values())
        most_proven = max(_sums(paid, "proven").values())
        _, phase, mechanism, unit, _, _ = key
        numbers = (f"{sum(persons.values()):,}", f"{most_claimed:g}", f"{most_proven:g}")
        rows.append((phase, mechanism, unit, *numbers))
    headers = ("Persons", "ε claimed", "ε proven")
    _show_table(console, ("Phase", "Mechanism", "Unit"), headers, rows=rows, drop=("Persons", "Unit"))
    console.print(Text(total, style="bold"))
    for session in dict.fromkeys(entry.session for entry in entries):
        console.print(Text(f"  session {session}", style="dim"))
    _show_models(console, itertools.chain.from_iterable(shown.values()))
    if num_persons > 1:
        note = "  losses of one person add over phases (sequential); different persons' do not (parallel composition)"
        console.print(Text(note, style="dim"))


def show_scenarios(console: Console, rows: Iterable[tuple[str, str, str]]) -> None:
    """Print the shipped scenarios: name, protocol, title."""
    _show_table(console, ("Scenario", "Protocol", "What is decided"), rows=list(rows), drop=("Protocol",))


def show_variants(console: Console, parameters: Parameters, *, num_partners: int) -> None:
    """Print what the unbiased variants of a DPWeVote session offer at one price, and the paper's split at its own.

    Args:
        console: where to.
        parameters: the session's, with private weights.
        num_partners: how many take part.
    """
    offers = make_offers(parameters)
    best = min(offers, key=lambda offer: offer.worst_variance)
    rows: list[Sequence[_Cell]] = []
    for offer in (make_paper_offer(parameters), *offers):
        name = f"{offer.variant}, the paper's split" if not rows else offer.variant
        cells: list[_Cell] = [
            name,
            f"{offer.epsilon_weight:.4g}" if offer.epsilon_weight else "",
            f"{offer.epsilon_opinion:.4g}",
            f"{offer.epsilon_total:.4g}",
            f"{offer.worst_variance:.5g}",
            f"{math.sqrt(num_partners * offer.worst_variance):,.4g}",
        ]
        if offer is best:
            cells[0] = f"{name} <- auto"
        rows.append([Text(str(cell), style="bold green") for cell in cells] if offer is best else cells)
    headers = ("ε weight", "ε a candidate", "ε in all", "Worst variance", "± of a margin")
    _show_table(console, ("Variant",), headers, rows=rows, drop=("ε weight",))
    notes = (
        "one partner's contribution to the margin of one candidate has at most this variance; ± is the standard error",
        f"of a margin if all {num_partners:,} partners were the worst; `auto` takes the one that is marked",
    )
    for note in notes:
        console.print(Text(f"  {note}", style="dim"))


def _show_votes(console: Console, outcome: Outcome, truth: Mapping[str, float] | None) -> None:
    # Reports of signed weights tell the margin alone.
    with_support = all(candidate.support is not None for candidate in outcome.candidates)
    numbers = [*(["Support", "Quota"] if with_support else []), "Margin", "P(wrong)"]
    if truth is not None:
        numbers += ["True margin"]
    rows: list[Sequence[_Cell]] = []
    for candidate in outcome.candidates:
        cells: list[_Cell] = [
            candidate.name,
            _decision(candidate),
            *(_estimate(shown) for shown in (candidate.support, candidate.quota) if shown is not None),
            _estimate(candidate.margin, signed=True),
            percent(candidate.error_probability),
        ]
        if truth is not None:
            cells += [f"{truth[candidate.name] - truth['quota']:+,.6g}"]
        rows.append(cells)
    # The margin is what the decision rests on, and it says most of what support and quota say.
    _show_table(
        console, ("Candidate", "Decision"), numbers, rows=rows, drop=("True margin", "Quota", "Support", "P(wrong)")
    )
    if outcome.weight_counts:
        console.print()
        counts: list[Sequence[_Cell]] = []
        for count in outcome.weight_counts:
            possible = "" if count.projected is None else f"   (nearest possible {count.projected:,.1f})"
            counts.append((f"{count.weight:g}", _estimate(count.count) + Text(possible)))
        _show_table(console, ("Weight",), ("Partners",), rows=counts)
    biased = [candidate for candidate in outcome.candidates if candidate.bias]
    for candidate in biased:
        note = f"  {candidate.name}: the printed margin is off by {candidate.bias:+,.1f}, as far as the reports tell"
        console.print(Text(note, style="yellow"))
    if outcome.weight_bias_bound:
        bound = f"{outcome.weight_bias_bound:,.6g}"
        note = f"  weights are rounded to what stands for them: that can move a margin by up to {bound}"
        console.print(Text(note, style="yellow"))
    partners = "1 partner" if outcome.num_partners == 1 else f"{outcome.num_partners:,} partners"
    notes = (
        f"from the reports of {partners}; ± is one standard error of the randomization;",
        "P(wrong) the chance that the true margin has the other sign",
    )
    for note in notes:
        console.print(Text(f"  {note}", style="dim"))


def _decision(candidate: CandidateOutcome) -> Text:
    return Text("passes", style="bold green") if candidate.passed else Text("fails", style="bold red")


def _estimate(estimate: Estimate, *, signed: bool = False) -> Text:
    # As many decimals as the larger of value and error deserves: a tenth of a vote in a thousand says nothing.
    decimals = 0 if max(abs(estimate.value), estimate.standard_error) >= _LARGE else 1
    if not estimate.standard_error:
        return Text(f"{estimate.value:,.6g}")
    value = f"{estimate.value:{'+' if signed else ''},.{decimals}f}"
    return Text(f"{value} ± {estimate.standard_error:,.{decimals}f}")


def percent(probability: float) -> str:
    """Return a probability as everything that shows one writes it."""
    least = 0.0001
    return "< 0.01 %" if probability < least else f"{100 * probability:.2f} %"


def _show_models(console: Console, losses: Iterable[PrivacyLoss | LedgerEntry]) -> None:
    for relation, model in dict.fromkeys((loss.relation.value, loss.model.value) for loss in losses):
        console.print(Text(f"  {relation} neighbors, {_MODELS[model]}", style="dim"))


def _sums(entries: Iterable[LedgerEntry], kind: str) -> dict[str, float]:
    sums: dict[str, float] = {}
    for entry in entries:
        sums[entry.person] = sums.get(entry.person, 0.0) + getattr(entry, kind)
    return sums


def _tighter(entries: Sequence[LedgerEntry], delta: float) -> float:
    """Return one person's ε at `delta`: each relation and model by tighter composition, then added."""
    accountants: dict[tuple[object, object], ApproximateAccountant] = {}
    for entry in entries:
        key = (entry.relation, entry.model)
        if key not in accountants:
            accountants[key] = ApproximateAccountant(entry.relation, delta=delta)
        accountants[key].compose(entry.event)
    return sum(accountant.epsilon for accountant in accountants.values())


def _show_table(
    console: Console,
    texts: Sequence[str],
    numbers: Sequence[str] = (),
    *,
    rows: Sequence[Sequence[_Cell]],
    drop: Sequence[str] = (),
) -> None:
    """Print a table that never breaks a number, nor a word where there is any other way.

    Args:
        console: where to.
        texts: the headers of the first columns, whose cells may go on over several lines.
        numbers: the headers of the others.
        rows: a cell for each header.
        drop: headers of columns that a narrow console goes without, the first of them first.
    """
    columns = {
        header: [_as_text(row[place]) for row in rows] for place, header in enumerate(itertools.chain(texts, numbers))
    }
    for dropped in drop:
        if _spare(console, columns, texts) >= 0:
            break
        columns.pop(dropped, None)
    spare = _spare(console, columns, texts)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, _PADDING, 0, 0))
    for header, cells in columns.items():
        if header in texts:
            least = _least_width(header, cells, may_wrap=True)
            full = _least_width(header, cells, may_wrap=False)
            width = max(min(full, least + spare), min(full, _LEAST_WIDTH))
            spare -= width - least
            table.add_column(header, overflow="fold", width=width)
        else:
            table.add_column(header, justify="right", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    console.print(table)


def _spare(console: Console, columns: Mapping[str, Sequence[Text]], texts: Sequence[str]) -> int:
    """Return how much of a line these columns leave at their narrowest; negative where they do not fit."""
    least = (_least_width(header, cells, may_wrap=header in texts) for header, cells in columns.items())
    return console.width - sum(least) - _SPACE_BETWEEN_COLUMNS * len(columns)


def _least_width(header: str, cells: Iterable[Text], *, may_wrap: bool) -> int:
    """Return the width of the longest word of a column that may wrap, or of the longest cell of another."""
    texts = (header, *(cell.plain for cell in cells))
    return max(cell_len(part) for text in texts for part in (text.split() or [""] if may_wrap else [text]))


def _as_text(cell: _Cell) -> Text:
    return Text(cell) if isinstance(cell, str) else cell


def _plain(value: object) -> _Cell:
    if isinstance(value, Estimate):
        return _estimate(value)
    return f"{value:,.6g}" if isinstance(value, float) else str(msgspec.to_builtins(value))
