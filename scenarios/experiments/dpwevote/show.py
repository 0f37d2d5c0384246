"""What a terminal shows of a reproduction."""

from rich.console import Console
from rich.text import Text

from ..findings import show_findings
from ..sheets import show_sheet
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
        show_findings(console, heading, findings)
    console.print()
    note = f"{reproduction.trials:,} trials a cell, seed {reproduction.seed}; ± is one standard error"
    console.print(Text(note, style="dim"))
    console.print(Text(READINGS, style="dim"))
