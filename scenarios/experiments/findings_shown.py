"""Findings as people read them: sentences on a page and in a terminal, or a table of numbers for each paper."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from ..presentation.terminal import show_table
from .findings import BoundedFinding, Finding, Judged, Judgement

__all__ = ["count_in_words", "findings_in_markdown", "show_bounded_findings", "show_findings"]

_STYLES: Final = {
    Judgement.HOLDS: "green",
    Judgement.IN_PART: "yellow",
    Judgement.REFUTED: "bold red",
    Judgement.OPEN: "cyan",
    Judgement.SILENT: "cyan",
}
_WORDS: Final = {Judgement.HOLDS: "holds", Judgement.REFUTED: "does not hold"}
"""As sentences have it."""


def _count(findings: Iterable[Judged]) -> Counter[Judgement]:
    return Counter(finding.judgement for finding in findings)


def findings_in_markdown(findings: Iterable[Finding]) -> str:
    """Return findings as a list in Markdown."""
    return "\n".join(
        f"- **{_WORDS[finding.judgement].capitalize()}.** {finding.claim} ({finding.source}) {finding.numbers}"
        for finding in findings
    )


def count_in_words(findings: Sequence[Finding]) -> str:
    """Return a sentence that counts findings by their verdict."""
    counted = _count(findings)
    holding, failing = counted[Judgement.HOLDS], counted[Judgement.REFUTED]
    return (
        f"Of {len(findings)} claims {holding} hold{'s' * (holding == 1)} and {failing} do{'es' * (failing == 1)} not."
    )


def show_findings(console: Console, heading: str, findings: Sequence[Finding]) -> None:
    """Print findings to a terminal, counted first."""
    console.print()
    console.print(Text(heading, style="bold"))
    console.print(Text(count_in_words(findings)))
    for finding in findings:
        verdict = f"{_WORDS[finding.judgement]}: ", f"bold {_STYLES[finding.judgement]}"
        words = Text.assemble(verdict, finding.claim, (f" ({finding.source})", "cyan"))
        console.print()
        console.print(words)
        console.print(Text(finding.numbers, style="dim"))


def show_bounded_findings(console: Console, findings: Sequence[BoundedFinding]) -> None:
    """Print what is found of papers' claims as tables, paper by paper, after a line that counts them.

    Args:
        console: where to.
        findings: those of a paper following each other.
    """
    counted = _count(findings)
    told = ", ".join(f"{judgement} {counted[judgement]}" for judgement in Judgement if counted[judgement])
    console.print(Text(f"{len(findings)} claims: {told}."))
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


def _row(finding: BoundedFinding) -> list[str | Text]:
    told = Text.assemble(f"{finding.claim}: ", (f"{finding.quantity}.", "dim"))
    if finding.note:
        told.append(f" {finding.note}")
    if finding.judgement is Judgement.IN_PART:
        told.append(f" It holds only {finding.only}.", style="italic")
    return [
        finding.key,
        told,
        Text(finding.judgement, style=_STYLES[finding.judgement]),
        finding.command,
        finding.claimed_text,
        finding.found_text,
        finding.certainty.value,
    ]
