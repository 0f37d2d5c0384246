"""What a terminal shows of a reproduction."""

from rich.console import Console
from rich.text import Text

from ..sheets import show_sheet
from .evidence import count_in_words
from .rows import Reproduction
from .summary import READINGS
from .tables import sheets_of

__all__ = ["show_reproduction"]


def show_reproduction(console: Console, reproduction: Reproduction) -> None:
    """Print all tables, and what holds and what does not.

    Args:
        console: where to.
        reproduction: what was measured.
    """
    for sheet in sheets_of(reproduction):
        show_sheet(console, sheet)
    for heading, findings in reproduction.findings.items():
        console.print()
        console.print(Text(heading, style="bold"))
        console.print(Text(count_in_words(findings)))
        for finding in findings:
            style = "bold green" if finding.holds else "bold red"
            words = Text.assemble((f"{finding.verdict}: ", style), finding.claim, (f" ({finding.source})", "cyan"))
            console.print()
            console.print(words)
            console.print(Text(finding.numbers, style="dim"))
    console.print()
    note = f"{reproduction.trials:,} trials a cell, seed {reproduction.seed}; ± is one standard error"
    console.print(Text(note, style="dim"))
    console.print(Text(READINGS, style="dim"))
