"""Cells of a calibration as one line, and the columns that such lines share."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from .calibration import SMALL, Claims

__all__ = ["CLAIM_COLUMNS", "pool", "pool_by", "verdict_columns", "written_share"]

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


def pool_by(cells: Sequence[CellT], *fields: str) -> list[CellT]:
    """Return the cells that are alike in some fields as one each, with the shares of verdicts that these give.

    Args:
        cells: of which `decided` is the share of verdicts that are given, and `verdicts_wrong` that of wrong ones.
        fields: what tells kinds of cells apart, in the order of the first of each.
    """
    kinds: dict[tuple[object, ...], list[CellT]] = {}
    for cell in cells:
        kinds.setdefault(tuple(getattr(cell, field) for field in fields), []).append(cell)
    return [pool(alike, shares=("decided", "verdicts_wrong")) for alike in kinds.values()]


def written_share(value: float) -> str:
    """Return a share with three decimals; nothing where there is none."""
    return "" if math.isnan(value) else f"{value:.3f}"


CLAIM_COLUMNS: Final[Sequence[tuple[str, Callable[[Claims], str]]]] = (
    ("claimed", lambda cell: written_share(cell.claimed)),
    ("found", lambda cell: written_share(cell.found)),
    (f"below {100 * SMALL:g} %", lambda cell: f"{cell.small_number:,}"),
    ("claimed there", lambda cell: written_share(cell.small_claimed)),
    ("found there", lambda cell: written_share(cell.small_found)),
)
"""Of all claims, then of the small ones."""


def verdict_columns(
    given: str = "verdicts given", wrong: str = "verdicts wrong", **labels: str
) -> list[tuple[str, Callable[[Any], str]]]:
    """Return the columns of cells with claims and verdicts.

    Args:
        given: the header of the share of verdicts that are given.
        wrong: that of the share of wrong ones.
        labels: fields that tell the cells apart, by header.
    """
    of_labels: list[tuple[str, Callable[[Any], str]]] = [
        (header, operator.attrgetter(field)) for header, field in labels.items()
    ]
    return [
        *of_labels,
        *CLAIM_COLUMNS,
        (given, lambda cell: written_share(cell.decided)),
        (wrong, lambda cell: written_share(cell.verdicts_wrong)),
    ]
