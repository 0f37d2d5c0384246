"""What holds and what does not: sentences whose verdicts follow from numbers."""

from collections.abc import Iterable

import msgspec

__all__ = ["Finding", "findings_in_markdown"]


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
