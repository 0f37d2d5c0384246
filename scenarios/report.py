"""What a terminal shows of a run: rich tables, plain text where nobody watches."""

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..protocol.dpwevote import CandidateOutcome, Outcome, WeightsOutcome
from ..protocol.effects import Closed
from ..protocol.estimators import Estimate
from ..protocol.phases import PhasedProtocol
from ..protocol.privacy import ApproximateAccountant, LedgerEntry
from ..protocol.server_machine import JOIN

__all__ = [
    "make_console",
    "show_heading",
    "show_ledger",
    "show_outcome",
    "show_phase",
    "show_privacy",
    "show_release",
    "show_scenarios",
]

_WIDTH_WHEN_PIPED = 110
_LARGE = 100
_MODELS = {
    "local": "local model: against everybody else, all colluding",
    "central": "central model: against whoever sees the release; the aggregator is trusted",
}


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that takes no text for markup, and writes with a fixed width where its stream is no terminal.

    Names of parties, candidates, files and phases are other people's: whatever they hold is shown as it is.
    """
    make = functools.partial(Console, stderr=stderr, highlight=False, markup=False, emoji=False)
    console = make()
    return console if console.is_terminal else make(width=_WIDTH_WHEN_PIPED)


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
        table = _table("Released", "Value")
        for name, value in msgspec.to_builtins(outcome).items():
            table.add_row(name, _plain(value))
        for name, value in (truth or {}).items():
            table.add_row(f"{name} (true)", f"{value:,.6g}")
        console.print(table)


def show_privacy(console: Console, protocol: PhasedProtocol[Any, Any]) -> None:
    """Print what a session cost each party, by phase and unit."""
    table = _table("Each party paid", "Mechanism", "Unit", numbers=("Reports", "ε claimed", "ε proven"))
    for phase in protocol.phases:
        for _, losses in itertools.groupby(phase.losses, key=lambda loss: (loss.mechanism, loss.unit, loss.proven)):
            paid = list(losses)
            claimed, proven = sum(loss.claimed for loss in paid), sum(loss.proven for loss in paid)
            table.add_row(phase.name, paid[0].mechanism, paid[0].unit, str(len(paid)), f"{claimed:g}", f"{proven:g}")
    claimed, proven = (sum(getattr(loss, kind) for loss in protocol.losses) for kind in ("claimed", "proven"))
    number = str(len(protocol.losses))
    table.add_row("in all", "", "", number, f"{claimed:g}", f"{proven:g}", style="bold")
    console.print(table)
    for relation, model in dict.fromkeys((loss.relation.value, loss.model.value) for loss in protocol.losses):
        console.print(Text(f"  {relation} neighbors, {_MODELS[model]}", style="dim"))


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
    texts = ("Session", "Phase", "Mechanism", "Unit", "Relation", "Model")
    table = _table(*texts, numbers=("Persons", "ε claimed", "ε proven"))
    for key, paid in groups.items():
        persons = {entry.person: entry.num_persons for entry in paid}
        most_claimed = max(_sums(paid, "claimed").values())
        most_proven = max(_sums(paid, "proven").values())
        table.add_row(*key, f"{sum(persons.values()):,}", f"{most_claimed:g}", f"{most_proven:g}")
    console.print(table)
    console.print(Text(total, style="bold"))
    if num_persons > 1:
        note = "  losses of one person add over phases (sequential); different persons' do not (parallel composition)"
        console.print(Text(note, style="dim"))


def show_scenarios(console: Console, rows: Iterable[tuple[str, str, str]]) -> None:
    """Print the shipped scenarios: name, protocol, title."""
    table = _table("Scenario", "Protocol", "What is decided")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _show_votes(console: Console, outcome: Outcome, truth: Mapping[str, float] | None) -> None:
    numbers = ["Support", "Quota", "Margin", "P(wrong)"]
    if truth is not None:
        numbers += ["True margin"]
    table = _table("Candidate", "Decision", numbers=numbers)
    for candidate in outcome.candidates:
        cells = [
            Text(candidate.name),
            _decision(candidate),
            _estimate(candidate.support),
            _estimate(candidate.quota),
            _estimate(candidate.margin, signed=True),
            _percent(candidate.error_probability),
        ]
        if truth is not None:
            cells += [Text(f"{truth[candidate.name] - truth['quota']:+,.6g}")]
        table.add_row(*cells)
    console.print(table)
    if outcome.weight_counts:
        console.print()
        weights = _table("Weight", numbers=["Partners"])
        for count in outcome.weight_counts:
            possible = "" if count.projected is None else f"   (possible: {count.projected:,.1f})"
            weights.add_row(f"{count.weight:g}", _estimate(count.count) + Text(possible))
        console.print(weights)
    biased = [candidate for candidate in outcome.candidates if candidate.bias]
    for candidate in biased:
        note = f"  {candidate.name}: the printed margin is off by {candidate.bias:+,.1f}, as far as the reports tell"
        console.print(Text(note, style="yellow"))
    if outcome.weight_bias_bound:
        bound = f"{outcome.weight_bias_bound:,.6g}"
        note = f"  weights are rounded to what stands for them: that can move a margin by up to {bound}"
        console.print(Text(note, style="yellow"))
    note = "  ± is one standard error of the randomization; P(wrong) the chance that the true margin has the other sign"
    console.print(Text(note, style="dim"))


def _decision(candidate: CandidateOutcome) -> Text:
    return Text("passes", style="bold green") if candidate.passed else Text("fails", style="bold red")


def _estimate(estimate: Estimate, *, signed: bool = False) -> Text:
    # As many decimals as the larger of value and error deserves: a tenth of a vote in a thousand says nothing.
    decimals = 0 if max(abs(estimate.value), estimate.standard_error) >= _LARGE else 1
    if not estimate.standard_error:
        return Text(f"{estimate.value:,.6g}")
    value = f"{estimate.value:{'+' if signed else ''},.{decimals}f}"
    return Text(f"{value} ± {estimate.standard_error:,.{decimals}f}")


def _percent(probability: float) -> Text:
    least = 0.0001
    return Text("< 0.01 %" if probability < least else f"{100 * probability:.2f} %")


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


def _table(*texts: str, numbers: Sequence[str] = ()) -> Table:
    """Return a table of text columns, which give way where a line is full, and number columns, which do not."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 2, 0, 0))
    for header in texts:
        table.add_column(header, overflow="fold")
    for header in numbers:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def _plain(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
