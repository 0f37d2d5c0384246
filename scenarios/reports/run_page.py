"""A run's page: verdict, release, privacy cost, trust, course of the session, and how to repeat it.

The page of a deployment has the release and, for a party, its own losses. It has no names, values, reports or seeds,
and nothing about participation if that is private. `private/` is never read.
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
from ..running.report import trust_model_of
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
    repeat_section,
)

_MOST_CHARACTERS: Final = 160  # most characters of a setting
_NOT_SETTINGS: Final = ("name", "title", "description", "trust")


def page_of_run(artifacts: RunArtifacts, studies: Sequence[Section]) -> Page:
    """Return a run's page, with sections on studies in its folder."""
    facts = list(_facts(artifacts))
    verdict, tone = verdict_in(artifacts)
    sections = [
        Section(title="Results", blocks=list(_outcome(artifacts))),
        Section(title="Privacy loss per person", blocks=list(_cost(artifacts))),
        Section(title="Trust", blocks=list(_trust(artifacts))),
        Section(title="Course of the session", blocks=list(_trace_blocks(artifacts))),
        *_adversaries(artifacts),
        *studies,
        Section(title="Scenario", blocks=list(_scenario(artifacts))),
        *repeat_section(artifacts.command),
        Section(title="About this run", blocks=list(_run_blocks(artifacts))),
    ]
    return Page(
        kind={"run": "Report", "party": "One party's session"}[artifacts.kind],
        title=artifacts.title,
        facts=facts,
        verdict=verdict,
        tone=tone,
        sections=[section for section in sections if section.blocks],
    )


def verdict_in(artifacts: RunArtifacts) -> tuple[Sequence[str], Tone]:
    """Return a run's verdict in sentences, and its tone."""
    has_failed = artifacts.run is not None and artifacts.run.failure is not None
    sentences: list[str] = []
    if artifacts.outcome is not None:
        sentences = [verdict_of(artifacts.outcome)]
    elif artifacts.missing_protocol:
        sentences = [artifacts.missing_protocol]
    elif artifacts.run is None:
        sentences = ["No outcome: the run has not ended, or its process was killed. What it wrote is below."]
    elif not has_failed:
        sentences = ["No outcome: the folder has none."]
    refuting = [attack_report.who for attack_report in artifacts.learnt if attack_report.refutes_ledger]
    sentences += [f"This ledger is refuted: {role_name} learnt more than it says is proven." for role_name in refuting]
    if artifacts.run is not None and artifacts.run.failure is not None:
        reason = artifacts.run.failure.reason
        opening = "Nobody heard it" if artifacts.outcome is not None else "No outcome"
        sentences.append(f"{opening}: {reason}.".replace("..", "."))
        return sentences, "poor"
    if refuting:
        return sentences, "poor"
    return sentences, "" if artifacts.outcome is not None else "warning"


def _facts(artifacts: RunArtifacts) -> Iterator[str]:
    """Yield the date, the number of participants, and whether the session was a simulation."""
    with contextlib.suppress(ValueError, OverflowError):
        yield f"{dt.datetime.fromisoformat('' if artifacts.run is None else artifacts.run.at):%-d %B %Y}"
    num = None if artifacts.result is None else artifacts.result.num_parties
    hides = artifacts.about is None or artifacts.about.hides_participation
    roles = ("party", "parties") if artifacts.about is None else (artifacts.about.client_role,)
    if num is not None and not (artifacts.is_deployment and hides):
        number, num_counted = pluralize(num, *roles), None
        if artifacts.result is not None and artifacts.result.received and not hides:
            num_counted = min(artifacts.result.received.values())
        if num_counted is None or not 0 <= num_counted <= num or not num:
            yield number
        else:
            share = 100 * num_counted / num
            yield f"{num_counted:,} of {number} took part ({share:.0f} %)"
    if not artifacts.is_deployment or _is_rehearsal(artifacts):
        yield "a simulation, which protects nobody"


def _technical(artifacts: RunArtifacts) -> dict[str, str]:
    """Return how the run was computed, and its kind of noise."""
    scenario, run = artifacts.scenario or {}, artifacts.run
    manner = ""
    if artifacts.kind == "party" or (run is not None and run.kind):
        manner = "a process for each party"
    elif run is not None and run.transport:
        manner = {"array": "arrays, no agents"}.get(run.transport, f"agents over {run.transport}")
    is_secure = artifacts.is_deployment and not _is_rehearsal(artifacts)
    return {
        "Protocol": artifacts.protocol,
        "Variant": str(scenario.get("parameters", {}).get("variant", "")),
        "Computed by": manner,
        "Noise": "secure" if is_secure else "simulated, from a seed",
    }


def _is_rehearsal(artifacts: RunArtifacts) -> bool:
    """Return whether the run used processes with simulated noise."""
    kinds = {
        artifacts.run.kind if artifacts.run is not None else "",
        artifacts.result.kind if artifacts.result is not None else "",
    }
    return "simulation" in kinds


def _outcome(artifacts: RunArtifacts) -> Iterator[Block]:
    yield from drawn(artifacts.pictures, "estimates", "The estimates with their errors")
    table, shared_text = estimates_in(artifacts)
    if table is not None:
        yield table
        if table.note:
            yield Text(table.note, "quiet")
        if any(cell.is_part and "±" in cell.words for row in table.cells for cell in row):
            yield Text("± is one standard error of the randomization.", "quiet")
        if shared_text:
            yield Text(f"The same in all rows: {shared_text}.", "quiet")
    elif artifacts.result is not None and artifacts.result.outcome is not None:
        yield Code(text=json.dumps(artifacts.result.outcome, indent=2, ensure_ascii=False), words="As it was written:")
    if artifacts.result is not None and artifacts.result.truth is not None:
        yield Text("The truth is shown, since the parties are made up or everyone knows it.", "quiet")


def _cost(artifacts: RunArtifacts) -> Iterator[Block]:
    facts, entries = artifacts.about, artifacts.entries
    meaning, warning = ((), "") if facts is None else (facts.meaning, facts.warning)
    if facts is not None and facts.prices is not None:
        meaning, warning = meaning_of(facts.prices, party=facts.client_role), warning_of(facts.prices)
    if artifacts.kind == "party" and entries:
        meaning, warning = meaning_of(entries), warning_of(entries)
    if artifacts.kind == "party" and artifacts.entries is not None and not artifacts.entries:
        meaning, warning = ("Nothing was paid.",), ""
    if meaning:
        yield Text(" ".join(meaning))
    if warning:
        yield Text(warning, "warning")
    if entries:
        yield from _ledger(artifacts, entries)
        if artifacts.kind != "party":
            yield Text("Losses of one person add up over phases; those of different persons do not.", "quiet")
    elif facts is not None and artifacts.kind != "party":
        yield _stated_table(facts)
    elif not meaning and artifacts.result is not None:
        person = artifacts.person
        yield Facts({"ε claimed": epsilon_text(person.claimed), "ε proven": epsilon_text(person.proven)})


def _ledger(artifacts: RunArtifacts, entries: Sequence[LedgerEntry]) -> Iterator[Block]:
    """Yield the ledger: losses by phase and unit; if persons differ, the least and the greatest."""
    kinds: dict[tuple[str, ...], list[LedgerEntry]] = {}
    for entry in entries:
        against = trust_model_of(entry.mechanism, entry.model.value)
        kind = entry.phase, entry.mechanism, entry.unit, entry.relation.value, against
        kinds.setdefault(kind, []).append(entry)
    hides = artifacts.kind == "party" or artifacts.about is None or artifacts.about.hides_participation
    is_alike = len({kind[3:] for kind in kinds}) == 1  # stated once in a sentence
    rows: list[Sequence[Entry]] = []
    for kind, kind_entries in kinds.items():
        entries_of_kind: dict[tuple[str, str], list[LedgerEntry]] = {}
        for entry in kind_entries:
            entries_of_kind.setdefault((entry.person, entry.session), []).append(entry)
        totals = [total_of(of_person) for of_person in entries_of_kind.values()]
        number = sum({entry.person: entry.num_persons for entry in kind_entries}.values())
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
    caption = (
        "The ledger: what you lost" if artifacts.kind == "party" else "The ledger: what each person lost in a session"
    )
    yield Table(caption=caption, name="ledger", columns=(*columns, "ε claimed", "ε proven"), rows=rows)
    if is_alike:
        relation, model = next(iter(kinds))[3:]
        yield Text(f"{relation} neighbors; {model}.", "quiet")


def _stated_table(facts: SessionFacts) -> Table:
    return listed(
        [(phase, loss) for phase in facts.phases for loss in phase.losses],
        [
            ("Phase", lambda each: each[0].name),
            ("Mechanism", lambda each: each[1].mechanism),
            ("Unit", lambda each: each[1].unit),
            ("Neighbors", lambda each: each[1].relation),
            ("Model", lambda each: trust_model_of(each[1].mechanism, each[1].model)),
            ("ε claimed", lambda each: epsilon_cell(each[1].claimed)),
            ("ε proven", lambda each: epsilon_cell(each[1].proven)),
        ],
        caption="The most that the session costs any party",
        name="losses",
    )


def _range(numbers: Iterable[float]) -> Cell:
    sorted_numbers = sorted(numbers)
    low, high = sorted_numbers[0], sorted_numbers[-1]
    if f"{low:g}" == f"{high:g}":
        return epsilon_cell(high)
    return Cell(f"{low:g} to {high:g}", high, is_part=True)


def _trust(artifacts: RunArtifacts) -> Iterator[Block]:
    facts, own_trust = artifacts.about, " ".join(str((artifacts.scenario or {}).get("trust", "")).split())
    if facts is None:
        yield Text(_too_old(artifacts), "quiet")
    else:
        yield Text(" ".join(trust_of(facts)))
    if " " in own_trust:  # a single word is the model, which is already stated
        yield Text(own_trust)
    if not artifacts.is_deployment or _is_rehearsal(artifacts):
        yield Text("This was a simulation: it protects nobody.", "quiet")


def _too_old(artifacts: RunArtifacts) -> str:
    if artifacts.run is None:
        return "Not known: a run that has not ended does not say whom it trusts."
    return "Not known: the session ended before it was agreed whom it trusts."


def _trace_blocks(artifacts: RunArtifacts) -> Iterator[Block]:
    facts = artifacts.about
    if facts is not None:
        yield exchange_of(artifacts, facts)
        if artifacts.run is not None and artifacts.run.transport == "array":
            yield Text("This run was computed by arrays: the same numbers, without messages.", "quiet")
    if artifacts.run is not None and artifacts.run.traffic:
        rows = [
            (each.phase, *map(Cell.of, (each.messages_up, each.bytes_up, each.messages_down, each.bytes_down)))
            for each in artifacts.run.traffic
        ]
        columns = ("Phase", "Messages up", "Bytes up", "Messages down", "Bytes down")
        yield Table(caption="What was sent, all parties together", name="traffic", columns=columns, rows=rows)
    network: Mapping[str, Any] = (artifacts.scenario or {}).get("network") or {}
    if network:
        yield Text("The network was made bad on purpose:")
        yield Facts({title_of(key): str(value) for key, value in network.items()})
    if artifacts.run is not None and artifacts.run.named:
        named_parties = [(each.party, each.deed, each.evidence) for each in artifacts.run.named]
        yield Table(
            caption="Parties that lied", name="named", columns=("Party", "What it did", "Proven by"), rows=named_parties
        )
    if not artifacts.is_deployment and not (facts is not None and facts.hides_participation):
        yield from _loss_blocks(artifacts)


def _loss_blocks(artifacts: RunArtifacts) -> Iterator[Block]:
    """Yield the parties of a simulation that were dropped, or did not receive the outcome."""
    if artifacts.dropped:
        rows = [[Cell.of(each.get(key)) for key in ("party", "phase", "reason")] for each in artifacts.dropped]
        yield Table(caption="Parties that were dropped", name="dropped", columns=("Party", "Phase", "Why"), rows=rows)
    endings = {} if artifacts.run is None else artifacts.run.parties_without_outcome
    if endings:
        columns, rows = ("Party", "Why"), list(endings.items())
        yield Table(caption="Parties without the outcome", name="unheard", columns=columns, rows=rows)


def _adversaries(artifacts: RunArtifacts) -> Iterator[Section]:
    if not artifacts.learnt:
        return
    blocks: list[Block] = []
    if artifacts.about is not None and artifacts.about.hides_participation:
        blocks.append(Text("Whoever runs all parties knows who they are: this part is for nobody else.", "warning"))
    blocks.append(Text("Who deviated, watched or inferred; what each was allowed, and what came of it."))
    yield Section(title="Adversaries", blocks=blocks)
    for place, attack_report in enumerate(artifacts.learnt, start=1):
        role_and_observer = f"{attack_report.role}, {attack_report.who}"
        yield Section(title=role_and_observer, blocks=list(_report_blocks(attack_report, place)), is_part=True)


def _report_blocks(attack_report: AttackReportJSON, place: int) -> Iterator[Block]:
    role = attack_report.role
    yield Text(f"Trust: {attack_report.trust}", "quiet")
    for sentence in attack_report.sentences:
        yield Text(sentence)
    if attack_report.rows:
        keys = list(attack_report.rows[0])
        column_values = [[row.get(key) for row in attack_report.rows] for key in keys]
        rows = [list(map(Cell.of, row)) for row in zip(*column_values, strict=True)]
        columns = [title_of(key) for key in keys]
        name = f"adversary-{place}"
        yield Table(caption=f"What {role} found", name=name, columns=columns, rows=rows, full=attack_report.rows)


def settings_of(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Return a scenario's settings by dotted name, in the file's format and order.

    Examples:
        >>> settings_of({"name": "tea", "parameters": {"epsilon": 1.0}, "parties": [{}, {}]})
        {'parameters.epsilon': '1.0', 'parties': '2 listed'}
    """
    setting_texts: dict[str, str] = {}

    def walk(name: str, value: object) -> None:
        if isinstance(value, dict) and value:
            for key, part in value.items():  # pyright: ignore[reportUnknownVariableType]  plain data
                walk(f"{name}.{key}" if name else str(key), part)  # pyright: ignore[reportUnknownArgumentType]  the same
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):  # pyright: ignore[reportUnknownVariableType]  the same
            for number, part in enumerate(value, start=1):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  the same
                walk(f"{name} {number}", part)  # pyright: ignore[reportUnknownArgumentType]  the same
        elif value not in (None, "", [], {}):
            setting_texts[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    for key, value in scenario.items():
        if key == "parties" and isinstance(value, list):
            setting_texts[key] = f"{len(value):,} listed"  # pyright: ignore[reportUnknownArgumentType]  plain data
        elif key not in _NOT_SETTINGS:
            walk(key, value)
    return setting_texts


def _scenario(artifacts: RunArtifacts) -> Iterator[Block]:
    scenario = artifacts.scenario
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
    yield from _repeat_blocks(artifacts, scenario)


def _repeat_blocks(artifacts: RunArtifacts, scenario: Mapping[str, Any]) -> Iterator[Block]:
    if artifacts.run is not None and artifacts.run.kind:
        yield Code(text="psephos serve scenario.json --roster FOLDER", words="In this folder, to hold it again:")
        return
    role = "partie" if artifacts.about is None else artifacts.about.client_role
    lacks_parties = not scenario.get("parties")
    option = f" --set {role}s=FILE" if lacks_parties else ""
    yield Code(text=f"psephos run scenario.json{option}", words="In this folder, to repeat it:")
    if lacks_parties:
        yield Text("The parties stood in the scenario itself, and their values are not kept: name them.", "quiet")
    if not artifacts.is_deployment:
        yield Text("The seed is not kept here: with --seed and this run's you get the same bits.", "quiet")


def _run_blocks(artifacts: RunArtifacts) -> Iterator[Block]:
    run = artifacts.run
    facts = _technical(artifacts)
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
    yield Facts({label: text for label, text in facts.items() if text})
