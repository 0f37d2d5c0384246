"""What a terminal shows of a reproduction."""

from rich.console import Console

from ...experiments.reproductions import show_sheets_and_findings
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
    note = f"{reproduction.trials:,} trials a cell, seed {reproduction.seed}; ± is one standard error"
    show_sheets_and_findings(console, reproduction, sheets=sheets_of(reproduction), notes=(note, READINGS))
