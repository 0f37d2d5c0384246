"""What the variants of a vote offer at one price, as a table."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ...protocol.dpwevote import OPTIMAL_LIMITS, Parameters, make_offers, make_paper_offer
from ..presentation.terminal import Cell, show_note, show_table

__all__ = ["show_variants"]


def show_variants(console: Console, parameters: Parameters, *, num_partners: int) -> None:
    """Print what the unbiased variants of a DPWeVote session offer at one price, and the paper's split at its own.

    Args:
        console: where to.
        parameters: the session's, with private weights.
        num_partners: how many take part.
    """
    offers = make_offers(parameters)
    best = min(offers, key=lambda offer: offer.worst_variance)
    rows: list[Sequence[Cell]] = []
    for offer in (make_paper_offer(parameters), *offers):
        name = f"{offer.variant}, the paper's split" if not rows else offer.variant
        cells: list[Cell] = [
            name,
            f"{offer.epsilon_weight:.4g}" if offer.epsilon_weight else "",
            f"{offer.epsilon_opinion:.4g}",
            f"{offer.epsilon_total:.4g}",
            f"{offer.worst_variance:.5g}",
            f"{math.sqrt(num_partners * offer.worst_variance):,.4g}",
        ]
        if offer is best:
            cells[0] = f"{name} <- auto"
        rows.append([Text(str(cell), style="bold green") for cell in cells] if offer is best else cells)
    headers = ("ε weight", "ε a candidate", "ε in all", "Worst variance", "± of a margin")
    show_table(console, ("Variant",), headers, rows=rows, drop=("ε weight",))
    notes = (
        "one partner's contribution to the margin of one candidate has at most this variance; ± is the standard error",
        f"of a margin if all {num_partners:,} partners were the worst; `auto` takes the one that is marked",
    )
    for note in notes:
        show_note(console, note)
    if all(offer.variant != "optimal" for offer in offers):
        number = len(parameters.group_means)
        show_note(console, f"`optimal` is not computed for these {number} weights: {OPTIMAL_LIMITS}")
