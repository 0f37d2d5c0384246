"""What a terminal shows of a reproduction."""

from rich.console import Console
from rich.text import Text

from ..sheets import show_sheet
from .rows import Reproduction
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
    console.print()
    console.print(Text("What holds and what does not", style="bold"))
    for finding in reproduction.findings:
        style = "bold green" if finding.holds else "bold red"
        console.print()
        console.print(Text.assemble((f"{finding.verdict}: ", style), finding.claim, (f" ({finding.source})", "cyan")))
        console.print(Text(finding.numbers, style="dim"))
    console.print()
    note = f"{reproduction.trials:,} trials a cell, seed {reproduction.seed}; ± is one standard error"
    console.print(Text(note, style="dim"))
