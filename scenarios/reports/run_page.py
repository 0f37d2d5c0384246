"""A run's page: its verdict, what it released, what that cost, who is trusted, what happened, how to repeat it.

The rule that holds here: of a deployment a page has the release and, of a party, its own losses; nobody's name, values
or reports, no seed, and nothing of who took part where that is private. `private/` is never opened.
"""

import contextlib
import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ...protocol.privacy import LedgerEntry, total_of
from ..presentation import verdict_of
from ..presentation.numbers import pluralize
from ..presentation.terminal import title_of
from ..running.reader import AttackReportJSON, RunArtifacts
from ..running.report import against_whom
from ..running.session_facts import SessionFacts
from ..running.statements import meaning_of, trust_of, warning_of
from ..tables import Cell, Entry, Table, Tone, listed
from .blocks import estimates_in, exchange_of
from .page import (
    Block,
    Code,
    Facts,
    Page,
    Section,
    Text,
    drawn,
    epsilon_cell,
    epsilon_text,
    repeated,
)

_MOST_CHARACTERS: Final = 160  # of a setting
_NOT_SETTINGS: Final = ("name", "title", "description", "trust")


def page_of_run(left: RunArtifacts, studies: Sequence[Section]) -> Page:
    """Return the page of a run, with what is said of studies in its folder."""
    facts = list(_facts(left))
    verdict, tone = verdict_in(left)
    sections = [
        Section(title="Results", blocks=list(_outcome(left))),
        Section(title="Privacy loss per person", blocks=list(_cost(left))),
        Section(title="Trust", blocks=list(_trust(left))),
        Section(title="Course of the session", blocks=list(_happened(left))),
        *_adversaries(left),
        *studies,
        Section(title="Scenario", blocks=list(_scenario(left))),
        *repeated(left.command),
        Section(title="About this run", blocks=list(_about_run(left))),
    ]
    return Page(
        kind={"run": "Report", "party": "One party's session"}[left.kind],
        title=left.title,
        facts=facts,
        verdict=verdict,
        tone=tone,
        sections=[section for section in sections if section.blocks],
    )


def verdict_in(left: RunArtifacts) -> tuple[Sequence[str], Tone]:
    """Return what came of a run, in sentences, and how good that is."""
    failed = left.run is not None and left.run.failure is not None
    said: list[str] = []
    if left.outcome is not None:
        said = [verdict_of(left.outcome)]
    elif left.missing_protocol:
        said = [left.missing_protocol]
    elif left.run is None:
        said = ["No outcome: the run has not ended, or its process was killed. What it wrote is below."]
    elif not failed:
        said = ["No outcome: the folder has none."]
    refuting = [learnt.who for learnt in left.learnt if learnt.refutes_ledger]
    said += [f"This ledger is refuted: {who} learnt more than it says is proven." for who in refuting]
    if left.run is not None and left.run.failure is not None:
        reason = left.run.failure.reason
        what = "Nobody heard it" if left.outcome is not None else "No outcome"
        said.append(f"{what}: {reason}.".replace("..", "."))
        return said, "poor"
    if refuting:
        return said, "poor"
    return said, "" if left.outcome is not None else "warning"


def _facts(left: RunArtifacts) -> Iterator[str]:
    """Yield the day, how many took part of how many, and whether it was real."""
    with contextlib.suppress(ValueError, OverflowError):
        yield f"{dt.datetime.fromisoformat('' if left.run is None else left.run.at):%-d %B %Y}"
    num = None if left.result is None else left.result.num_parties
    hides = left.about is None or left.about.hides_participation
    roles = ("party", "parties") if left.about is None else (left.about.client_role,)
    if num is not None and not (left.is_deployment and hides):
        number, came = pluralize(num, *roles), None
        if left.result is not None and left.result.received and not hides:
            came = min(left.result.received.values())
        if came is None or not 0 <= came <= num or not num:
            yield number
        else:
            share = 100 * came / num
            yield f"{came:,} of {number} took part ({share:.0f} %)"
    if not left.is_deployment or _is_rehearsal(left):
        yield "a simulation, which protects nobody"


def _technical(left: RunArtifacts) -> dict[str, str]:
    """Return by what it was computed, and with which noise."""
    scenario, run = left.scenario or {}, left.run
    how = ""
    if left.kind == "party" or (run is not None and run.kind):
        how = "a process for each party"
    elif run is not None and run.transport:
        how = {"array": "arrays, no agents"}.get(run.transport, f"agents over {run.transport}")
    is_secure = left.is_deployment and not _is_rehearsal(left)
    return {
        "Protocol": left.protocol,
        "Variant": str(scenario.get("parameters", {}).get("variant", "")),
        "Computed by": how,
        "Noise": "secure" if is_secure else "simulated, from a seed",
    }


def _is_rehearsal(left: RunArtifacts) -> bool:
    """Return whether processes took part with simulated noise."""
    said = {left.run.kind if left.run is not None else "", left.result.kind if left.result is not None else ""}
    return "simulation" in said


def _outcome(left: RunArtifacts) -> Iterator[Block]:
    yield from drawn(left.pictures, "estimates", "The estimates with their errors")
    table, shared = estimates_in(left)
    if table is not None:
        yield table
        if table.note:
            yield Text(table.note, "quiet")
        if any(cell.is_part and "±" in cell.words for row in table.cells for cell in row):
            yield Text("± is one standard error of the randomization.", "quiet")
        if shared:
            yield Text(f"The same in all rows: {shared}.", "quiet")
    elif left.result is not None and left.result.outcome is not None:
        yield Code(text=json.dumps(left.result.outcome, indent=2, ensure_ascii=False), words="As it was written:")
    if left.result is not None and left.result.truth is not None:
        yield Text("The truth is shown, since the parties are made up or everyone knows it.", "quiet")


def _cost(left: RunArtifacts) -> Iterator[Block]:
    about, entries = left.about, left.entries
    meaning, warning = ((), "") if about is None else (about.meaning, about.warning)
    if about is not None and about.prices is not None:
        meaning, warning = meaning_of(about.prices, party=about.client_role), warning_of(about.prices)
    if left.kind == "party" and entries:
        meaning, warning = meaning_of(entries), warning_of(entries)
    if left.kind == "party" and left.entries is not None and not left.entries:
        meaning, warning = ("Nothing was paid.",), ""
    if meaning:
        yield Text(" ".join(meaning))
    if warning:
        yield Text(warning, "warning")
    if entries:
        yield from _ledger(left, entries)
        if left.kind != "party":
            yield Text("Losses of one person add up over phases; those of different persons do not.", "quiet")
    elif about is not None and left.kind != "party":
        yield _stated(about)
    elif not meaning and left.result is not None:
        person = left.person
        yield Facts({"ε claimed": epsilon_text(person.claimed), "ε proven": epsilon_text(person.proven)})


def _ledger(left: RunArtifacts, entries: Sequence[LedgerEntry]) -> Iterator[Block]:
    """Yield the ledger: what each person lost by phase and unit; where that differs, the least and the most."""
    kinds: dict[tuple[str, ...], list[LedgerEntry]] = {}
    for entry in entries:
        against = against_whom(entry.mechanism, entry.model.value)
        kind = entry.phase, entry.mechanism, entry.unit, entry.relation.value, against
        kinds.setdefault(kind, []).append(entry)
    hides = left.kind == "party" or left.about is None or left.about.hides_participation
    is_alike = len({kind[3:] for kind in kinds}) == 1  # then a sentence says it once
    rows: list[Sequence[Entry]] = []
    for kind, paid in kinds.items():
        own: dict[tuple[str, str], list[LedgerEntry]] = {}
        for entry in paid:
            own.setdefault((entry.person, entry.session), []).append(entry)
        totals = [total_of(of_person) for of_person in own.values()]
        number = sum({entry.person: entry.num_persons for entry in paid}.values())
        rows.append(
            (
                *(kind[:3] if is_alike else kind),
                *(() if hides else (Cell.of(number),)),
                _range(total.claimed for total in totals),
                _range(total.proven for total in totals),
            )
        )
    columns = (
        "Phase",
        "Mechanism",
        "Unit",
        *(() if is_alike else ("Neighbors", "Model")),
        *(() if hides else ("Persons",)),
    )
    caption = "The ledger: what you lost" if left.kind == "party" else "The ledger: what each person lost in a session"
    yield Table(caption=caption, name="ledger", columns=(*columns, "ε claimed", "ε proven"), rows=rows)
    if is_alike:
        relation, model = next(iter(kinds))[3:]
        yield Text(f"{relation} neighbors; {model}.", "quiet")


def _stated(about: SessionFacts) -> Table:
    return listed(
        [(phase, loss) for phase in about.phases for loss in phase.losses],
        [
            ("Phase", lambda each: each[0].name),
            ("Mechanism", lambda each: each[1].mechanism),
            ("Unit", lambda each: each[1].unit),
            ("Neighbors", lambda each: each[1].relation),
            ("Model", lambda each: against_whom(each[1].mechanism, each[1].model)),
            ("ε claimed", lambda each: epsilon_cell(each[1].claimed)),
            ("ε proven", lambda each: epsilon_cell(each[1].proven)),
        ],
        caption="The most that the session costs any party",
        name="losses",
    )


def _range(numbers: Iterable[float]) -> Cell:
    ordered = sorted(numbers)
    low, high = ordered[0], ordered[-1]
    if f"{low:g}" == f"{high:g}":
        return epsilon_cell(high)
    return Cell(f"{low:g} to {high:g}", high, is_part=True)


def _trust(left: RunArtifacts) -> Iterator[Block]:
    about, own = left.about, " ".join(str((left.scenario or {}).get("trust", "")).split())
    if about is None:
        yield Text(_too_old(left), "quiet")
    else:
        yield Text(" ".join(trust_of(about)))
    if " " in own:  # a word alone is the model, which has been said
        yield Text(own)
    if not left.is_deployment or _is_rehearsal(left):
        yield Text("This was a simulation: it protects nobody.", "quiet")


def _too_old(left: RunArtifacts) -> str:
    if left.run is None:
        return "Not known: a run that has not ended does not say whom it trusts."
    return "Not known: the session ended before it was agreed whom it trusts."


def _happened(left: RunArtifacts) -> Iterator[Block]:
    about = left.about
    if about is not None:
        yield exchange_of(left, about)
        if left.run is not None and left.run.transport == "array":
            yield Text("This run was computed by arrays: the same numbers, without messages.", "quiet")
    if left.run is not None and left.run.traffic:
        rows = [
            (each.phase, *map(Cell.of, (each.messages_up, each.bytes_up, each.messages_down, each.bytes_down)))
            for each in left.run.traffic
        ]
        columns = ("Phase", "Messages up", "Bytes up", "Messages down", "Bytes down")
        yield Table(caption="What was sent, all parties together", name="traffic", columns=columns, rows=rows)
    network: Mapping[str, Any] = (left.scenario or {}).get("network") or {}
    if network:
        yield Text("The network was made bad on purpose:")
        yield Facts({title_of(key): str(value) for key, value in network.items()})
    if left.run is not None and left.run.named:
        named = [(each.party, each.deed, each.evidence) for each in left.run.named]
        yield Table(
            caption="Parties that lied", name="named", columns=("Party", "What it did", "Proven by"), rows=named
        )
    if not left.is_deployment and not (about is not None and about.hides_participation):
        yield from _lost(left)


def _lost(left: RunArtifacts) -> Iterator[Block]:
    """Yield which parties of a simulation were dropped, or did not hear the outcome."""
    if left.dropped:
        rows = [[Cell.of(each.get(key)) for key in ("party", "phase", "reason")] for each in left.dropped]
        yield Table(caption="Parties that were dropped", name="dropped", columns=("Party", "Phase", "Why"), rows=rows)
    endings = {} if left.run is None else left.run.parties_without_outcome
    if endings:
        columns, rows = ("Party", "Why"), list(endings.items())
        yield Table(caption="Parties without the outcome", name="unheard", columns=columns, rows=rows)


def _adversaries(left: RunArtifacts) -> Iterator[Section]:
    if not left.learnt:
        return
    blocks: list[Block] = []
    if left.about is not None and left.about.hides_participation:
        blocks.append(Text("Whoever runs all parties knows who they are: this part is for nobody else.", "warning"))
    blocks.append(Text("Who deviated, watched or inferred; what each was allowed, and what came of it."))
    yield Section(title="Adversaries", blocks=blocks)
    for place, learnt in enumerate(left.learnt, start=1):
        who = f"{learnt.role}, {learnt.who}"
        yield Section(title=who, blocks=list(_learnt(learnt, place)), is_part=True)


def _learnt(learnt: AttackReportJSON, place: int) -> Iterator[Block]:
    role = learnt.role
    yield Text(f"Trust: {learnt.trust}", "quiet")
    for sentence in learnt.sentences:
        yield Text(sentence)
    if learnt.rows:
        keys = list(learnt.rows[0])
        said = [[row.get(key) for row in learnt.rows] for key in keys]
        rows = [list(map(Cell.of, row)) for row in zip(*said, strict=True)]
        columns = [title_of(key) for key in keys]
        name = f"adversary-{place}"
        yield Table(caption=f"What {role} found", name=name, columns=columns, rows=rows, full=learnt.rows)


def settings_of(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Return a scenario's settings by their dotted names, as they are written in a file, in its order.

    Examples:
        >>> settings_of({"name": "tea", "parameters": {"epsilon": 1.0}, "parties": [{}, {}]})
        {'parameters.epsilon': '1.0', 'parties': '2 listed'}
    """
    found: dict[str, str] = {}

    def walk(name: str, value: object) -> None:
        if isinstance(value, dict) and value:
            for key, part in value.items():  # pyright: ignore[reportUnknownVariableType]  plain data
                walk(f"{name}.{key}" if name else str(key), part)  # pyright: ignore[reportUnknownArgumentType]  the same
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):  # pyright: ignore[reportUnknownVariableType]  the same
            for number, part in enumerate(value, start=1):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  the same
                walk(f"{name} {number}", part)  # pyright: ignore[reportUnknownArgumentType]  the same
        elif value not in (None, "", [], {}):
            found[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    for key, value in scenario.items():
        if key == "parties" and isinstance(value, list):
            found[key] = f"{len(value):,} listed"  # pyright: ignore[reportUnknownArgumentType]  plain data
        elif key not in _NOT_SETTINGS:
            walk(key, value)
    return found


def _scenario(left: RunArtifacts) -> Iterator[Block]:
    scenario = left.scenario
    if scenario is None:
        return
    if description := " ".join(str(scenario.get("description", "")).split()):
        yield Text(description)
    settings = settings_of(scenario)
    cut = [
        (Cell(name), Cell(text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} …"))
        for name, text in settings.items()
    ]
    full = [{"setting": name, "value": text} for name, text in settings.items()]
    yield Table(caption="The resolved scenario", name="scenario", columns=("Setting", "Value"), rows=cut, full=full)
    yield from _repeated(left, scenario)


def _repeated(left: RunArtifacts, scenario: Mapping[str, Any]) -> Iterator[Block]:
    if left.run is not None and left.run.kind:
        yield Code(text="psephos serve scenario.json --roster FOLDER", words="In this folder, to hold it again:")
        return
    role = "partie" if left.about is None else left.about.client_role
    lacks = not scenario.get("parties")
    option = f" --set {role}s=FILE" if lacks else ""
    yield Code(text=f"psephos run scenario.json{option}", words="In this folder, to repeat it:")
    if lacks:
        yield Text("The parties stood in the scenario itself, and their values are not kept: name them.", "quiet")
    if not left.is_deployment:
        yield Text("The seed is not kept here: with --seed and this run's you get the same bits.", "quiet")


def _about_run(left: RunArtifacts) -> Iterator[Block]:
    run = left.run
    facts = _technical(left)
    if run is not None:
        facts |= {"Psephos": run.psephos, "numpy": run.numpy}
        if run.seconds is not None:
            facts["Seconds"] = f"{run.seconds:,.2f}"
        if run.parties:
            facts["Parties"] = run.parties
        if run.late_phase:
            facts["Late for"] = run.late_phase
        if run.transcript:
            facts["Transcript"] = run.transcript
        if run.events_lost:
            facts["Events that could not be written"] = json.dumps(run.events_lost)
        facts |= {f"Kept, {phase}": source for phase, source in run.kept.items()}
        facts["Schema of the folder"] = str(run.schema)
    yield Facts({label: said for label, said in facts.items() if said})
