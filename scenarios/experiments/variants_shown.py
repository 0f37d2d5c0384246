"""What variants offer and cost, as tables in a terminal and as JSON."""

from collections.abc import Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.text import Text

from ..presentation.terminal import Cell, show_note, show_table
from .variants import Offered, Priced, VariantTable

__all__ = ["show_prices", "show_variants", "variants_in_json"]


def show_variants(console: Console, table: VariantTable, offers: Sequence[Offered]) -> None:
    """Print what variants offer at the session's price; the best is marked."""
    best, mark = table.marked(offers)
    headers = list(dict.fromkeys(header for offered in offers for header in offered.cells))
    rows: list[Sequence[Cell]] = []
    for offered in offers:
        cells = [offered.name, *(offered.cells.get(header, "") for header in headers)]
        if offered is best:
            cells[0] += mark
        rows.append([Text(cell, style="bold green") for cell in cells] if offered is best else cells)
    show_table(console, ("Variant",), headers, rows=rows, drop=table.dropped)
    for note in table.notes(offers):
        show_note(console, note)


def show_prices(console: Console, table: VariantTable, prices: Sequence[Priced], *, error: float) -> None:
    """Print what variants cost for an error that is wanted; the least is marked."""
    known = [priced.offered for priced in prices if priced.offered is not None]
    least = min(known, key=lambda offered: offered.epsilon, default=None)
    console.print()
    rows: list[Sequence[Cell]] = []
    for priced in prices:
        offered = priced.offered
        cells = [priced.name, "", ""]
        if offered is not None:
            cells[1:] = [f"{offered.epsilon:.4g}", offered.cells[table.error]]
        rows.append([Text(cell, style="bold green") for cell in cells] if offered is least and least else cells)
    header = f"ε in all for {error:g}"
    show_table(console, ("Variant",), (header, table.error), rows=rows)
    words = f"the least price at which the error is {error:g} or less, within half a percent of it, and the error there"
    show_note(console, f"{words}; empty where no price is known to suffice")


def variants_in_json(
    table: VariantTable, offers: Sequence[Offered], prices: Sequence[Priced], *, error: float | None
) -> dict[str, Any]:
    """Return all of it as plain data."""
    written: dict[str, Any] = {
        "session": table.resolved.scenario.name,
        "protocol": table.resolved.protocol.name,
        "epsilon": table.price,
        "error": table.error,
        "variants": [_plain(offered) for offered in offers],
    }
    if error is not None:
        written["wanted"] = error
        written["prices"] = [
            {"name": priced.name, "offered": None if priced.offered is None else _plain(priced.offered)}
            for priced in prices
        ]
    return written


def _plain(offered: Offered) -> dict[str, Any]:
    return {name: value for name, value in msgspec.to_builtins(offered).items() if name != "cells"}
