"""How verdicts read the rows: selections, pairs, and what chance allows."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ...experiments.measurements import FAR, Measurement, deviation, mean_square, most_by_chance, percent
from .rows import Cell

__all__ = [
    "FAR",
    "LEAST_RATIO",
    "MEASURES",
    "at",
    "by_partners",
    "greatest_epsilon",
    "lead",
    "least_epsilon",
    "mean_square",
    "most_by_chance",
    "mse_phi",
    "mse_q",
    "mse_w",
    "pairs_of",
    "percent",
    "select",
]

LEAST_RATIO: Final = 0.5
"""Less of what is expected is something else."""


def mse_w(cell: Cell) -> float:
    """Return equation (11), nan where the reports do not tell it."""
    return _value(cell.mse_w)


def mse_q(cell: Cell) -> float:
    """Return equation (12), nan where the reports do not tell it."""
    return _value(cell.mse_q)


def mse_phi(cell: Cell) -> float:
    """Return equation (13), nan where the reports do not tell it."""
    return _value(cell.mse_phi)


MEASURES: Final[Sequence[Callable[[Cell], float]]] = (mse_w, mse_q, mse_phi)
"""The three mean squared errors."""


def _value(measurement: Measurement | None) -> float:
    return math.nan if measurement is None else measurement.value


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


def least_epsilon(cells: Iterable[Cell]) -> float:
    """Return the least ε of all cells."""
    return min(cell.epsilon for cell in cells)


def greatest_epsilon(cells: Iterable[Cell]) -> float:
    """Return the greatest ε of all cells."""
    return max(cell.epsilon for cell in cells)
