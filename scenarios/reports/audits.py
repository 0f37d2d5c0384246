"""What an audit left, read again, and as a table: lower bounds beside claims and proofs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from ..reading.conversion import convert
from ..running.reader import read_json
from .page import Cell, Table, Tone, epsilon_cell

__all__ = ["TONES", "Audit", "AuditedLoss", "audited_losses", "read_audit"]

TONES: Final[Mapping[str, Tone]] = {
    "proof refuted": "poor",
    "claim refuted": "warning",
    "refuted": "poor",
    "holds": "good",
    "in part": "warning",
    "no statement": "quiet",
}
"""How good a verdict is."""


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
    verdict: str


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of `audit.json`."""

    names: list[str] = []
    samples: dict[str, int] = {}
    confidence: float
    rows: list[AuditedLoss]


def read_audit(file: Path) -> Audit:
    """Return what an audit left in `audit.json`.

    Raises:
        ConfigurationError: the file is damaged, or is something else.
    """
    return convert(read_json(file), Audit, file.name)


def audited_losses(audit: Audit) -> tuple[Table, str]:
    """Return what an audit found, as a table, and how sure that is.

    Args:
        audit: what it left.
    """
    columns = ("Audited", "Unit", "ε claimed", "ε proven", "ε audited", "Tightness", "Verdict")
    rows = [
        [
            Cell(f"{row.group}: {row.name}"),
            Cell(row.unit),
            epsilon_cell(row.claimed),
            epsilon_cell(row.proven),
            Cell("–") if row.audited is None else Cell(f"{row.audited:.3f}", row.audited),
            Cell("–") if row.tightness is None else Cell(f"{100 * row.tightness:.0f} %", row.tightness),
            Cell(row.verdict, None, TONES.get(row.verdict, "")),
        ]
        for row in audit.rows
    ]
    samples = " and ".join(f"{number:,} {source} outputs" for source, number in audit.samples.items())
    drawn_of = f", from {samples} of each neighbor at most" if samples else ""
    sure = (
        f"Audited is a lower bound on ε{drawn_of}. All bounds hold at once with confidence {audit.confidence:g}. "
        "Not refuting proves nothing: other neighbors, or more outputs, may tell more."
    )
    return Table(caption="What an audit found", name="audit", columns=columns, rows=rows), sure
