"""How verdicts read the rows: selections, numbers in sentences, and formulas that both kinds of findings have."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from ...experiments.measurements import Measurement, mean_square
from .published import TABLE_1
from .rows import EqualLossRow, ObjectiveRow, RealRow, RealSetRow, Reproduction, SamplingRow, TableRow

__all__ = [
    "CLEAR",
    "distance",
    "equal_losses",
    "in_turn",
    "limits_of_samples",
    "mean_without_disparity",
    "objective_at",
    "percent",
    "real_at",
    "real_rules",
    "table",
]

RowT = TypeVar("RowT")

CLEAR: Final = 3.0
"""In joint standard errors: what is farther apart is hardly so by chance."""


def table(reproduction: Reproduction, society: str, mechanism: str) -> list[TableRow]:
    """Return a society's cells of one algorithm."""
    return [row for row in reproduction.table_1 if (row.society, row.mechanism) == (society, mechanism)]


def objective_at(
    reproduction: Reproduction,
    society: str,
    sizes: tuple[int, int],
    mechanism: str,
    objective: str,
    epsilon: float | None,
) -> ObjectiveRow:
    """Return one row of the mechanisms and objectives."""
    return next(
        row
        for row in reproduction.objectives
        if (row.society, row.sizes, row.mechanism, row.objective, row.epsilon)
        == (society, sizes, mechanism, objective, epsilon)
    )


def equal_losses(reproduction: Reproduction, society: str, objective: str, mechanism: str) -> dict[float, EqualLossRow]:
    """Return a mechanism's rows by proven ε."""
    return {
        row.epsilon_proven: row
        for row in reproduction.equal_losses
        if (row.society, row.objective, row.mechanism) == (society, objective, mechanism)
    }


def real_at(reproduction: Reproduction, name: str, objective: str, mechanism: str) -> dict[float, RealRow]:
    """Return a mechanism's rows on a published profile by proven ε."""
    return {
        row.epsilon_proven: row
        for row in reproduction.real
        if (row.name, row.objective, row.mechanism) == (name, objective, mechanism)
    }


def real_rules(reproduction: Reproduction, name: str) -> dict[str, RealSetRow]:
    """Return whom rules without privacy elect in a published profile."""
    return {row.rule: row for row in reproduction.real_sets if row.name == name}


def in_turn(
    ones: Mapping[float, RowT], others: Mapping[float, RowT], cell: Callable[[RowT], str], prices: Iterable[float]
) -> str:
    """Return what one mechanism has against another, by ε."""
    return ", ".join(f"{cell(ones[price])} against {cell(others[price])} at {price:g}" for price in prices)


def distance(rows: Iterable[TableRow | SamplingRow]) -> float:
    """Return the root of the mean squared difference from the published ΔW and W."""
    differences: list[float] = []
    for row in rows:
        printed = TABLE_1[row.sizes, row.mechanism if isinstance(row, TableRow) else "sampling", row.epsilon]
        differences.append(row.welfare.value - printed.welfare)
        if printed.disparity is not None:
            differences.append(row.disparity.value - printed.disparity)
    return math.sqrt(mean_square(differences))


def percent(measurement: Measurement) -> str:
    """Return a share in percent, without its error."""
    return f"{100 * measurement.value:.0f} %"


def mean_without_disparity(sizes: tuple[int, int], *, epsilon: float, num_alternatives: int) -> float:
    """Return the mean of Algorithm 1's ΔŴ where ΔW = 0: E|X − Y| of two Laplace numbers of the groups' scales."""
    first, second = (num_alternatives * (num_alternatives - 1) / (2 * size * epsilon) for size in sizes)
    return (first * first + first * second + second * second) / (first + second)


def limits_of_samples() -> tuple[float, float]:
    """Return the bounds of n_s·ε² by n_s·ε² ≤ ε·min n_k: of the cells without an election, and of those with one."""
    limits: dict[bool, list[float]] = {True: [], False: []}
    for (sizes, mechanism, epsilon), cell in TABLE_1.items():
        if mechanism == "sampling":
            limits[cell.disparity is None].append(epsilon * min(sizes))
    return max(limits[True]), min(limits[False])
