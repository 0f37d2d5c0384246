"""Show a run in a terminal, except its outcome: headings, phases, losses, and lists of scenarios."""

import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from rich.console import Console
from rich.text import Text

from ...protocol.effects import Closed
from ...protocol.phases import PhasedProtocol
from ...protocol.privacy import (
    SEMI_HONEST,
    LedgerEntry,
    NeighboringRelation,
    PartLoss,
    PrivacyLoss,
    Total,
    approximate_epsilon,
    common_relation,
    is_semi_honest,
    total_of,
)
from ...protocol.rules import JOIN
from ..presentation import describe_phase_outcome
from ..presentation.numbers import pluralize
from ..presentation.terminal import show_label, show_note, show_table
from ..tables import Cell, Entry, Table
from ..verdicts import at_most
from .session_facts import prices_of
from .statements import meaning_of, warning_of

T = TypeVar("T")
Key = TypeVar("Key", bound=Hashable)

_ROUNDING = 1e-9  # rounding of sums, which does not count as a greater loss
_MODELS: Final = {
    "local": "local model: against everyone else, even if all of them collude",
    "distributed": "distributed model: against the server, and as many parties with it as the session says",
    SEMI_HONEST: "distributed model: against a server that follows the protocol, and as many parties with it",
    "central": "central model: against everyone who sees the release; the server is trusted",
}


def trust_model_of(mechanism: str, model: str) -> str:
    """Return a phrase on a loss's trust model, and against whom it is bounded.

    Examples:
        >>> trust_model_of("k-RR", "local")
        'local model: against everyone else, even if all of them collude'
    """
    return _MODELS[SEMI_HONEST if is_semi_honest(mechanism) else model]


def show_heading(console: Console, *, title: str, facts: Sequence[str], description: str, trust: str) -> None:
    """Print what is run, and before participation its subject and trust statement.

    `description` and `trust` (`statements.trust_in` with the scenario's text) are empty if they are printed later.
    """
    console.print()
    console.print(Text(title, style="bold"))
    console.print(Text(" · ".join(facts), style="cyan"))
    show_label(console, "", description)
    show_label(console, "Trust", trust)
    console.print()


def show_phase(console: Console, closed: Closed) -> None:
    """Print one line when a phase closes: the number of reports, unless private, and its published outcome."""
    number, verb = closed.num_received, "joined" if closed.phase == JOIN else "reported"
    missing = closed.num_missing or 0
    count_text = "" if number is None else f"{number:,} of {number + missing:,}" if missing else f"{number:,}"
    closing_text = f"closed: who {verb} is private" if number is None else f"{count_text} {verb}"
    outcome_text = Text() if closed.outcome is None else describe_phase_outcome(closed.outcome)
    show_note(console, Text.assemble(f"{closed.phase:<12} {closing_text}", outcome_text, style="dim"))


def show_release(console: Console, *, num_heard: int | None, role: str) -> None:
    """Print the last line of a session: the number of parties that received the outcome, or None if private."""
    people_text = f"the {f'{role}s'} who took part" if num_heard is None else pluralize(num_heard, role)
    show_note(console, f"{'release':<12} told to {people_text}")
    console.print()


def show_privacy(
    console: Console,
    protocol: PhasedProtocol[Any, Any],
    *,
    public: Sequence[int] | None = None,
    kept_phases: Collection[str] = (),
    is_brief: bool = False,
) -> None:
    """Print a session's privacy cost, in words and by phase and unit.

    Losses of a part of a unit are below the unit's, and are not included in totals.

    Args:
        public: the public row of one party; None for the greatest losses of any party.
        kept_phases: phases in which all these parties repeated memoized reports, at no cost.
        is_brief: whether to print only the words.
    """
    drawn_phases = [phase for phase in protocol.phases if phase.name not in kept_phases]
    losses_of_phases = [
        (phase.name, phase.losses if public is None else phase.losses_of(public)) for phase in drawn_phases
    ]
    losses = [loss for _, of_phase in losses_of_phases for loss in of_phase]
    total = total_of(losses)
    words = meaning_of(losses, party=protocol.client_role) if total.proven else ["none."]
    show_label(
        console, ("Privacy loss per person" if public is None else "Your privacy loss"), " ".join(words), style=""
    )
    if warning := warning_of(losses):
        console.print(Text(warning, style="yellow"))
    if is_brief:
        return
    console.print()
    rows: list[Sequence[Entry]] = []
    for name, of_phase in losses_of_phases:
        for _, kind in itertools.groupby(of_phase, key=_alike):
            equal_losses = list(kind)
            sums = total_of(equal_losses)
            numbers = f"{sums.claimed:g}", at_most(sums.proven)
            rows.append((name, equal_losses[0].mechanism, equal_losses[0].unit, str(len(equal_losses)), *numbers))
            rows += _part_rows(equal_losses)
    in_all = ("in all", "", "", str(len(losses)), f"{total.claimed:g}", at_most(total.proven))
    rows.append([Cell(words, tone="strong") for words in in_all])
    heading = "Privacy loss per person" if public is None else "Your privacy loss"
    columns = (heading, "Mechanism", "Unit", "Reports", "ε claimed", "ε proven")
    show_table(console, Table(columns=columns, rows=rows, labels=3), drop=("Reports", "Unit"))
    for phase in protocol.phases:
        if phase.name in kept_phases:
            show_note(
                console, f"{phase.name}: kept from an earlier session of {phase.memo_scope}, nothing paid", style=""
            )
    _show_excess(console, losses)
    _show_models(console, losses)
    _show_total(console, total, losses)


def show_ledger(
    console: Console,
    entries: Sequence[LedgerEntry],
    *,
    party: str | None,
    delta: float | None,
    num_alike: Mapping[str, int] = {},
) -> None:
    """Print a ledger: the entries of one party, or the losses of each party by phase, and the population's total.

    A person may represent `num_alike` persons with equal losses; by default only itself. If losses differ between
    parties, a phase shows the least and the greatest, and the total is that of the party with the greatest. With δ in
    (0, 1) (else ConfigurationError), ε is also shown by tighter composition, for sessions fixed in advance.
    """
    shown_entries = [entry for entry in entries if party in {None, entry.person}]
    persons, num_persons = _group_by_person(shown_entries, num_alike)
    relation = common_relation(shown_entries)
    totals = {person: total_of(person_entries, relation=relation) for person, person_entries in persons.items()}
    worst = max(totals, key=lambda person: totals[person].proven)
    totals_text = f"{worst} in all" if num_persons == 1 else f"each of {num_persons:,} at most"
    line = f"  {totals_text}: ε proven = {at_most(totals[worst].proven)}"
    if delta is not None:
        tightest = _tightest(persons, totals, delta)
        line += f", or ε = {at_most(tightest)} at δ = {delta:g} for sessions fixed in advance"
    rows: list[Sequence[Entry]] = []
    for (_, phase, mechanism, unit, *_), person_entries in _group_items(shown_entries, _kind).items():
        number = sum({entry.person: _number_of(entry, num_alike) for entry in person_entries}.values())
        of_persons = _group_items(person_entries, lambda entry: entry.person).values()
        claimed, proven = (
            _range(getattr(total_of(of_person), kind) for of_person in of_persons) for kind in ("claimed", "proven")
        )
        rows.append((phase, mechanism, unit, f"{number:,}", claimed, proven))
        rows += _part_rows(person_entries)
    columns = ("Phase", "Mechanism", "Unit", "Persons", "ε claimed", "ε proven")
    show_table(console, Table(columns=columns, rows=rows, labels=3), drop=("Persons", "Unit"))
    console.print(Text(line, style="bold"))
    for session in dict.fromkeys(entry.session for entry in entries):
        show_note(console, f"session {session}")
    _show_excess(console, shown_entries)
    _show_models(console, shown_entries)
    _show_total(console, totals[worst], persons[worst])
    # The party with the greatest total need not have the greatest loss for one unit, such as a weight or an answer.
    prices = prices_of(*persons.values(), *_group_items(shown_entries, lambda entry: entry.person).values())
    for sentence in meaning_of(prices, party="person"):
        show_note(console, sentence)
    if warning := warning_of(prices):
        show_note(console, warning, style="yellow")
    if num_persons > 1:
        show_note(
            console,
            "losses of one person add over phases (sequential); different persons' do not (parallel composition)",
        )


def show_scenarios(
    console: Console, rows: Iterable[tuple[str, str, str, str]], *, origins: Mapping[str, str], variable: str
) -> None:
    """Print the shipped scenarios with protocol, title and data set, and the data sets' origins.

    `variable` is the environment variable of the data sets' folder.
    """
    columns = ("Scenario", "Protocol", "What is decided", "Needs")
    show_table(console, Table(columns=columns, rows=list(rows), labels=4), drop=("Protocol",))
    if origins:
        show_note(
            console,
            "A data set is a folder of that name, in the folder that --data FOLDER or the variable"
            f" {variable} names; none comes with Psephos, since the licences are not ours to give:",
        )
        for name, origin in origins.items():
            show_note(console, f"{name}: {origin}")
    show_note(console, "psephos show SCENARIO prints one to copy; psephos new makes one of a file of your own.")


def _part_rows(losses: Sequence[PrivacyLoss | LedgerEntry]) -> list[list[Cell]]:
    """Return a row for each kind of part, to be shown below its unit; it is included in the unit's loss."""
    parts = [loss.part for loss in losses if loss.part is not None]
    rows: list[list[Cell]] = []
    for unit, unit_parts in _group_items(parts, lambda part: part.unit).items():
        numbers = [_range(part.claimed for part in unit_parts), _range(part.proven for part in unit_parts)]
        cells = f"  of which {unit}", "", "", "", *numbers
        rows.append([Cell(words, tone="quiet") for words in cells])
    return rows


def _show_excess(console: Console, losses: Iterable[PrivacyLoss | LedgerEntry]) -> None:
    """Print where the proven loss exceeds the paper's claim."""
    stated_losses: list[PrivacyLoss | LedgerEntry | PartLoss] = []
    for loss in losses:
        stated_losses += [loss] if loss.part is None else [loss, loss.part]
    units = dict.fromkeys(loss.unit for loss in stated_losses if loss.proven > loss.claimed * (1 + _ROUNDING))
    if units:
        excess_text = f"ε proven of {' and of '.join(units)} is more than claimed"
        show_note(
            console, f"{excess_text}: the paper's claim does not cover all that is protected here", style="yellow"
        )


def _show_models(console: Console, losses: Iterable[PrivacyLoss | LedgerEntry]) -> None:
    models = (f"{loss.relation.value} neighbors, {trust_model_of(loss.mechanism, loss.model.value)}" for loss in losses)
    for note in dict.fromkeys(models):
        show_note(console, note)


def _show_total(console: Console, total: Total, losses: Sequence[PrivacyLoss | LedgerEntry]) -> None:
    """Print the meaning of a total, if it differs from that of its losses."""
    reason = "since a replacement is a removal and an addition"
    if total.is_converted:
        show_note(
            console, f"in all for {total.relation.value} neighbors: an add-remove-one loss counts twice, {reason}"
        )
    elif total.relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
        replace_total = total_of(losses, relation=NeighboringRelation.REPLACE_ONE)
        proven = f"ε proven = {at_most(replace_total.proven)}"
        show_note(console, f"in all for {replace_total.relation.value} neighbors: {proven}, {reason}")
    if len({trust_model_of(loss.mechanism, loss.model.value) for loss in losses}) > 1:
        show_note(console, f"in all against {total.against}")


def _alike(loss: PrivacyLoss) -> tuple[object, ...]:
    return loss.mechanism, loss.unit, loss.relation, loss.proven, loss.part


def _kind(entry: LedgerEntry) -> tuple[str, ...]:
    return (entry.session, entry.phase, entry.mechanism, entry.unit, entry.relation.value, entry.model.value)


def _number_of(entry: LedgerEntry, num_alike: Mapping[str, int]) -> int:
    return entry.num_persons * num_alike.get(entry.person, 1)


def _group_by_person(
    entries: Sequence[LedgerEntry], num_alike: Mapping[str, int]
) -> tuple[Mapping[str, Sequence[LedgerEntry]], int]:
    """Return the entries of each person, or group of persons with equal losses, and the number of persons.

    If groups differ between phases, membership is unknown; then the greatest losses are combined for all.
    """
    persons = _group_items(entries, lambda entry: entry.person)
    phases = [
        _group_items(person_entries, lambda entry: entry.person)
        for person_entries in _group_items(entries, lambda entry: (entry.session, entry.phase)).values()
    ]
    numbers = [sum(_number_of(of_group[0], num_alike) for of_group in phase.values()) for phase in phases]
    is_grouped = any(entry.num_persons > 1 for entry in entries)
    if not is_grouped or all(phase.keys() == phases[0].keys() for phase in phases):
        return persons, sum(_number_of(person_entries[0], num_alike) for person_entries in persons.values())
    relation = common_relation(entries)
    worst_entries = (
        max(phase.values(), key=lambda person_entries: total_of(person_entries, relation=relation).proven)
        for phase in phases
    )
    return {"whoever paid most": list(itertools.chain.from_iterable(worst_entries))}, max(numbers)


def _range(numbers: Iterable[float]) -> str:
    """Format the least and the greatest number, or the common one."""
    sorted_numbers = sorted(numbers)
    low, high = f"{sorted_numbers[0]:g}", f"{sorted_numbers[-1]:g}"
    return low if low == high else f"{low} to {high}"


def _group_items(items: Iterable[T], key: Callable[[T], Key]) -> dict[Key, list[T]]:
    groups: dict[Key, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def _tightest(persons: Mapping[str, Sequence[LedgerEntry]], totals: Mapping[str, Total], delta: float) -> float:
    """Return the greatest ε at `delta` of any person; `totals` are the sums at δ = 0, which are upper bounds."""
    greatest = 0.0
    seen_events: set[tuple[object, ...]] = set()
    for person in sorted(persons, key=lambda each: totals[each].proven, reverse=True):
        if totals[person].proven <= greatest:
            break
        events = tuple((entry.relation, entry.event) for entry in persons[person])
        if events not in seen_events:  # many have equal losses, and composition is slow
            seen_events.add(events)
            composed_epsilon = approximate_epsilon(persons[person], relation=totals[person].relation, delta=delta)
            greatest = max(greatest, composed_epsilon)
    return greatest
