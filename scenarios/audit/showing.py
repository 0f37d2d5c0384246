"""Show audits in a terminal, and write them into a folder: a row for each case, and a summary of two sentences."""

import math
import operator
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from ..presentation.numbers import pluralize
from ..presentation.terminal import show_note, show_table
from ..running.folder import RunFolder
from ..running.studies import Study, StudyTable, write_study
from ..tables import listed
from ..verdicts import AuditVerdict
from .running import AuditReport, AuditRow
from .verdict import AuditResult

_NOTHING = "–"
_OF_OUTPUTS = ("outputs_of_input", "unnoticed", "departure", "samples", "needed", "pair", "event")
_LARGE = 1e6


def show_report(console: Console, report: AuditReport) -> None:
    """Print a table for each group, and a summary."""
    console.print(Text(f"\n{_summarize(report)}", style="bold"))
    groups = dict.fromkeys(row.group for row in report.rows)
    for group in groups:
        rows = [row for row in report.rows if row.group == group]
        _show_group(console, group, rows)
        for line in dict.fromkeys(_remarks(rows)):
            show_note(console, line)
    for line in _describe_sweeps(report):
        show_note(console, line)
    console.print()
    samples = ", ".join(f"{number:,} {source}" for source, number in report.samples.items())
    console.print(
        Text(
            "Audited is a lower bound on ε: what tells two neighbors apart for certain, or in outputs of the code that "
            f"runs ({samples} of each neighbor at most); all bounds hold at once with confidence {report.confidence:g} "
            f"(at a risk of {report.risk_each:.2g} each), so that a false refutation anywhere has a probability of at "
            f"most {1 - report.confidence:.2g}."
        ),
        soft_wrap=False,
    )
    console.print(
        Text(
            "By law: the ε of the neighbors' laws as they are written down, which says nothing of a sampler. By sim, "
            "sec: outputs with simulated and with secure noise, which were held against laws where there are any; "
            "audit.json says of how many inputs, and how rare an outcome may be to be missed."
        )
    )
    console.print(Text("Not refuting proves nothing: other neighbors, or more outputs, may tell more."))


def _describe_sweeps(report: AuditReport) -> Iterator[str]:
    """Yield sentences on the tried and untried sizes of sessions."""
    if report.sweeps:
        yield f"Sizes of sessions: --rotation {report.rotation} repeats them."
    for sweep in report.sweeps:
        tried_values = "; ".join(f"{size}: {', '.join(values)}" for size, values in sweep.tried.items())
        coverage_line = (
            f"{sweep.group}, {sweep.name}: {sweep.num_combinations} of {sweep.num_possible:,} combinations "
            f"({tried_values})."
        )
        untried = "; ".join(f"{size}: {', '.join(values)}" for size, values in sweep.untried.items() if values)
        yield f"{coverage_line} Not tried: {untried}." if untried else coverage_line


def _summarize(report: AuditReport) -> str:
    """Return a summary of an audit, in sentences."""
    counts = {verdict: sum(row.verdict is verdict for row in report.rows) for verdict in AuditVerdict}
    verdict_counts = ", ".join(f"{number} {verdict.value}" for verdict, number in counts.items() if number)
    summary = f"{'A proof is refuted' if report.is_refuted else 'No proof is refuted'}."
    summary = f"{summary} {pluralize(len(report.rows), 'loss', 'losses')} in {report.seconds:,.0f} s: {verdict_counts}."
    if report.num_left:
        summary = f"{summary} The run was ended before {pluralize(report.num_left, 'more case')} came to be audited."
    return summary


def write_report(folder: RunFolder, report: AuditReport) -> None:
    """Write `audit.json` with everything, `audit.csv` with a row for each audit, and the summary."""
    folder.write_json("audit.json", report)
    audits = StudyTable(
        name="audit",
        caption="What an audit found",
        left_out=["model", "is_exact", "sampled", "delta", "mu", "inputs", *_OF_OUTPUTS],
        is_mixed=True,
    )
    study = Study(
        kind="Audit",
        title=f"Audit of {', '.join(report.names)}",
        facts=[f"{number:,} {source} outputs" for source, number in report.samples.items()],
        verdict=[_summarize(report)],
        tone="poor" if report.is_refuted else "good",
        tables=[audits],
        notes=[
            f"Audited is a lower bound on ε. All bounds hold at once with confidence {report.confidence:g}.",
            "Not refuting proves nothing: other neighbors, or more outputs, may tell more.",
        ],
    )
    write_study(folder, study)
    rows = [
        {
            "group": row.group,
            "name": row.name,
            "unit": row.unit,
            "relation": row.relation,
            "model": row.model,
            "claimed": row.claimed,
            "proven": row.proven,
            "source": audit_result.source,
            "audited": "" if audit_result.epsilon is None else audit_result.epsilon,
            "is_exact": audit_result.is_exact,
            "sampled": "" if audit_result.sampled_epsilon is None else audit_result.sampled_epsilon,
            "delta": audit_result.delta,
            "mu": audit_result.mu,
            "follows_law": "" if audit_result.follows_law is None else audit_result.follows_law,
            "inputs": audit_result.num_inputs,
            "outputs_of_input": audit_result.outputs_held,
            "unnoticed": audit_result.unnoticed,
            "departure": audit_result.departure,
            "samples": audit_result.samples,
            "needed": "" if audit_result.needed is None else audit_result.needed,
            "pair": audit_result.pair,
            "event": audit_result.event,
            "verdict": audit_result.verdict.value,
        }
        for row in report.rows
        for audit_result in row.audits
    ]
    if rows:
        folder.write_table("audit.csv", rows)


def _show_group(console: Console, group: str, rows: Sequence[AuditRow]) -> None:
    """Print a group's table, with what all rows have in common in its heading."""
    texts = {"unit": [row.unit for row in rows], "relation": [row.relation for row in rows]}
    common = {name: cells[0] for name, cells in texts.items() if len(set(cells)) == 1}
    common_facts = [f"unit: {common['unit']}"] if "unit" in common else []
    common_facts += [f"{common['relation']} neighbors"] if "relation" in common else []
    console.print(
        Text.assemble("\n", (group, "bold"), (f"   {', '.join(common_facts)}" if common_facts else "", "dim"))
    )
    own_names = [name for name in texts if name not in common]
    table = listed(
        rows,
        [
            ("mechanism", lambda row: row.name),
            *((name, operator.attrgetter(name)) for name in own_names),
            ("claimed", lambda row: _number(row.claimed)),
            ("proven", lambda row: _number(row.proven)),
            ("audited", lambda row: _NOTHING if row.audited is None else _number(row.audited)),
            ("by", lambda row: _ways(row.audits)),
            ("tightness", lambda row: _NOTHING if row.tightness is None else f"{100 * row.tightness:.0f} %"),
            ("verdict", lambda row: row.verdict.cell),
        ],
        labels=1 + len(own_names),
    )
    show_table(console, table, drop=("by",))


def _number(loss: float) -> str:
    if math.isinf(loss):
        return "∞"
    return f"{loss:.3g}" if loss >= _LARGE else f"{loss:.3f}"


def _ways(audits: Sequence[AuditResult]) -> str:
    """Return what was audited: the law, and outputs by source."""
    ways = ["law"] if any(audit_result.is_exact for audit_result in audits) else []
    letters = {"simulated": "sim", "secure": "sec", "law": ""}
    return "+".join([*ways, *filter(None, (letters[audit_result.source] for audit_result in audits))])


def _remarks(rows: Sequence[AuditRow]) -> Iterator[str]:
    """Yield remarks on single rows."""
    for row in rows:
        if all(audit_result.source == "law" for audit_result in row.audits):
            yield f"{row.name}: nothing was drawn; this is of the law alone."
        for audit_result in row.audits:
            if audit_result.follows_law is False:
                remark = f"{row.name}: {audit_result.source} outputs do not follow the law that the proof is of"
                yield f"{remark} ({audit_result.departure})."
            if audit_result.verdict is AuditVerdict.NO_STATEMENT:
                min_samples = audit_result.needed
                advice = ", and no number would" if min_samples is None else f"; fewer than {min_samples:,} never do"
                yield f"{row.name}: {audit_result.samples:,} {audit_result.source} outputs tell nothing{advice}."
