"""How verdicts read the rows: selections and pairs."""

import math
from collections.abc import Iterable, Iterator, Sequence

from ...experiments.measurements import deviation
from .rows import Cell

__all__ = ["at", "by_partners", "errors_of", "lead", "pairs_of", "select"]


def errors_of(cell: Cell) -> list[float]:
    """Return the three mean squared errors, equations (11) to (13); nan where the reports do not tell one."""
    return [math.nan if error is None else error.value for error in (cell.mse_w, cell.mse_q, cell.mse_phi)]


def select(cells: Iterable[Cell], variant: str, num_partners: int | None = None) -> list[Cell]:
    """Return the cells of a variant, of all numbers of partners or of one."""
    return [cell for cell in cells if cell.variant == variant and num_partners in {None, cell.num_partners}]


def at(cells: Iterable[Cell], num_partners: int, epsilon: float) -> Cell:
    """Return the first cell with so many partners and this ε."""
    return next(cell for cell in cells if cell.num_partners == num_partners and cell.epsilon == epsilon)


def pairs_of(cells: Iterable[Cell], one: str, other: str) -> Iterator[tuple[Cell, Cell]]:
    """Yield the cells of two variants that are otherwise alike."""
    by_place = {(cell.variant, cell.workload, cell.num_partners, cell.epsilon): cell for cell in cells}
    for (variant, workload, num_partners, epsilon), cell in by_place.items():
        if variant == one:
            yield cell, by_place[other, workload, num_partners, epsilon]


def by_partners(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Yield pairs of cells of one ε, the one with fewer partners first."""
    for few in cells:
        for many in cells:
            if few.epsilon == many.epsilon and few.num_partners < many.num_partners:
                yield few, many


def lead(one: Cell, other: Cell) -> float:
    """Return by how many joint standard errors one is more accurate."""
    return deviation(one.accuracy, other.accuracy)
