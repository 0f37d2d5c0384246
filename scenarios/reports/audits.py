"""What an audit left, read again, and as a table: lower bounds beside claims and proofs."""

from pathlib import Path

import msgspec

from ..reading.conversion import convert
from ..running.reader import read_json
from ..tables import Cell, Table, listed
from ..verdicts import AuditVerdict
from .page import epsilon_cell

__all__ = ["Audit", "AuditedLoss", "audited_losses", "read_audit"]


class AuditedLoss(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of an audit's row; a loss that nothing bounds is None."""

    group: str
    name: str
    unit: str
    relation: str = ""
    claimed: float | None
    proven: float | None
    audited: float | None
    tightness: float | None = None
    verdict: AuditVerdict


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of `audit.json`."""

    names: list[str] = []
    samples: dict[str, int] = {}
    confidence: float
    rows: list[AuditedLoss]


def read_audit(file: Path) -> Audit:
    """Return what an audit left in `audit.json`."""
    return convert(read_json(file), Audit, file.name)


def audited_losses(audit: Audit) -> tuple[Table, str]:
    """Return what an audit found, as a table, and how sure that is."""
    table = listed(
        audit.rows,
        [
            ("Audited", lambda row: f"{row.group}: {row.name}"),
            ("Unit", lambda row: row.unit),
            ("ε claimed", lambda row: epsilon_cell(row.claimed)),
            ("ε proven", lambda row: epsilon_cell(row.proven)),
            ("ε audited", lambda row: "–" if row.audited is None else Cell(f"{row.audited:.3f}", row.audited)),
            ("Tightness", lambda row: "–" if (part := row.tightness) is None else Cell(f"{100 * part:.0f} %", part)),
            ("Verdict", lambda row: row.verdict.cell),
        ],
        caption="What an audit found",
        name="audit",
    )
    samples = " and ".join(f"{number:,} {source} outputs" for source, number in audit.samples.items())
    drawn_of = f", from {samples} of each neighbor at most" if samples else ""
    sure = (
        f"Audited is a lower bound on ε{drawn_of}. All bounds hold at once with confidence {audit.confidence:g}. "
        "Not refuting proves nothing: other neighbors, or more outputs, may tell more."
    )
    return table, sure
