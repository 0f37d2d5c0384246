"""The findings as tables, one for each paper."""

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ..presentation.terminal import show_table
from .paper_finding import PaperFinding, Verdict

__all__ = ["show_findings"]

_STYLES = {
    Verdict.HOLDS: "green",
    Verdict.IN_PART: "yellow",
    Verdict.REFUTED: "bold red",
    Verdict.OPEN: "cyan",
    Verdict.SILENT: "cyan",
}


def show_findings(console: Console, findings: Sequence[PaperFinding]) -> None:
    """Print the findings, paper by paper, after a line that counts them.

    Args:
        console: where to.
        findings: those of a paper following each other.
    """
    numbers = {verdict: sum(finding.verdict is verdict for finding in findings) for verdict in Verdict}
    counted = ", ".join(f"{verdict} {number}" for verdict, number in numbers.items() if number)
    console.print(Text(f"{len(findings)} claims: {counted}."))
    for paper, of_paper in itertools.groupby(findings, key=lambda finding: finding.paper):
        console.print()
        console.print(Text(paper, style="bold"))
        show_table(
            console,
            ["", "claim", "verdict", "shown by"],
            ["claimed", "found", "which is"],
            rows=[_row(finding) for finding in of_paper],
            drop=["shown by"],
        )


def _row(finding: PaperFinding) -> list[str | Text]:
    told = Text.assemble(f"{finding.claim}: ", (f"{finding.quantity}.", "dim"))
    if finding.note:
        told.append(f" {finding.note}")
    if finding.verdict is Verdict.IN_PART:
        told.append(f" It holds only {finding.only}.", style="italic")
    verdict = Text(finding.verdict, style=_STYLES[finding.verdict])
    return [
        finding.key,
        told,
        verdict,
        finding.command,
        finding.claimed_text,
        finding.found_text,
        finding.certainty.value,
    ]
