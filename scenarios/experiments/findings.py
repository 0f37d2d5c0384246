"""What holds and what does not: sentences whose verdicts follow from numbers."""

from collections.abc import Iterable, Sequence

import msgspec
from rich.console import Console
from rich.text import Text

__all__ = ["Finding", "count_in_words", "findings_in_markdown", "show_findings"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, held against numbers.

    Args:
        claim: one sentence.
        source: who says so: a section of the paper, or a reading.
        holds: the verdict.
        numbers: a sentence or two that give the numbers behind it.
    """

    claim: str
    source: str
    holds: bool
    numbers: str

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "holds" if self.holds else "does not hold"


def findings_in_markdown(findings: Iterable[Finding]) -> str:
    """Return findings as a list in Markdown."""
    return "\n".join(
        f"- **{finding.verdict[0].upper()}{finding.verdict[1:]}.** {finding.claim} ({finding.source}) {finding.numbers}"
        for finding in findings
    )


def count_in_words(findings: Sequence[Finding]) -> str:
    """Return a sentence that counts findings by their verdict."""
    holding = sum(finding.holds for finding in findings)
    failing = len(findings) - holding
    return (
        f"Of {len(findings)} claims {holding} hold{'s' * (holding == 1)} and {failing} do{'es' * (failing == 1)} not."
    )


def show_findings(console: Console, heading: str, findings: Sequence[Finding]) -> None:
    """Print findings to a terminal, counted first."""
    console.print()
    console.print(Text(heading, style="bold"))
    console.print(Text(count_in_words(findings)))
    for finding in findings:
        style = "bold green" if finding.holds else "bold red"
        words = Text.assemble((f"{finding.verdict}: ", style), finding.claim, (f" ({finding.source})", "cyan"))
        console.print()
        console.print(words)
        console.print(Text(finding.numbers, style="dim"))
