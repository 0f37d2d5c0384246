"""Cells of a calibration as one line, and the columns that such lines share."""

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from .calibration import SMALL, Claims

__all__ = ["CLAIM_COLUMNS", "pool", "written_share"]

CellT = TypeVar("CellT", bound=Claims)


def pool(cells: Sequence[CellT], *, shares: Sequence[str] = ()) -> CellT:
    """Return cells as one: means by the numbers of claims, and of deviations the greatest, which no other one hides.

    Args:
        cells: at least one; of the first are all other fields.
        shares: fields of which a mean is taken too; a cell whose share is nan has none.
    """

    def mean(field: str, weight: str) -> float:
        pairs = [(getattr(cell, field), getattr(cell, weight)) for cell in cells]
        known = [(value, number) for value, number in pairs if number and not math.isnan(value)]
        total = sum(number for _, number in known)
        return math.fsum(value * number for value, number in known) / total if total else math.nan

    def greatest(field: str, weight: str) -> float:
        return max((getattr(cell, field) for cell in cells if getattr(cell, weight)), key=abs, default=math.nan)

    changes: dict[str, float | int] = {}
    for prefix in ("", "small_"):
        number = f"{prefix}number"
        changes[number] = sum(getattr(cell, number) for cell in cells)
        for field in ("claimed", "found"):
            changes[prefix + field] = mean(prefix + field, number)
        changes[f"{prefix}deviation"] = greatest(f"{prefix}deviation", number)
    changes |= {field: mean(field, "number") for field in shares}
    return msgspec.structs.replace(cells[0], **changes)


def written_share(value: float) -> str:
    """Return a share with three decimals; nothing where there is none."""
    return "" if math.isnan(value) else f"{value:.3f}"


CLAIM_COLUMNS: Final[Sequence[tuple[str, Callable[[Claims], str]]]] = (
    ("claimed", lambda cell: written_share(cell.claimed)),
    ("found", lambda cell: written_share(cell.found)),
    (f"below {100 * SMALL:g} %", lambda cell: f"{cell.small_number:,}"),
    ("claimed", lambda cell: written_share(cell.small_claimed)),
    ("found", lambda cell: written_share(cell.small_found)),
)
"""Of all claims, then of the small ones."""
