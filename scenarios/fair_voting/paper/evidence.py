"""How verdicts read the rows: selections, numbers in sentences, and formulas that both kinds of findings have."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ...experiments.measurements import Measurement
from .published import EPSILONS, SIZES, TABLE_1
from .rows import EqualLossRow, ObjectiveRow, RealRow, Reproduction, SamplingRow, TableRow

__all__ = [
    "CLEAR",
    "agreement",
    "distance",
    "equal_losses",
    "limits_of_samples",
    "mean_without_disparity",
    "objective_at",
    "percent",
    "published_distance",
    "real_at",
    "table",
]

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
        if (row.society, row.size_1, row.size_2, row.mechanism, row.objective, row.epsilon)
        == (society, *sizes, mechanism, objective, epsilon)
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


def distance(rows: Iterable[TableRow]) -> float:
    """Return the root of the mean squared difference from the published ΔW and W."""
    return _root(_differences(rows))


def _differences(rows: Iterable[TableRow]) -> Iterator[float]:
    for row in rows:
        yield row.welfare.value - row.published_welfare
        if row.published_disparity is not None:
            yield row.disparity.value - row.published_disparity


def published_distance(rows: Iterable[SamplingRow]) -> float:
    """Return the root of the mean squared difference from Algorithm 2's published ΔW and W."""
    differences: list[float] = []
    for row in rows:
        printed = TABLE_1[(row.size_1, row.size_2), "sampling", row.epsilon]
        differences.append(row.welfare.value - printed.welfare)
        if printed.disparity is not None:
            differences.append(row.disparity.value - printed.disparity)
    return _root(differences)


def _root(differences: Iterable[float]) -> float:
    squares = [difference * difference for difference in differences]
    return math.sqrt(math.fsum(squares) / len(squares))


def percent(measurement: Measurement) -> str:
    """Return a share in percent, without its error."""
    return f"{100 * measurement.value:.0f} %"


def agreement(rows: Sequence[EqualLossRow]) -> str:
    """Return how often winners are those without privacy, by ε."""
    return ", ".join(f"{percent(row.agreement)} at {row.epsilon_proven:g}" for row in rows)


def mean_without_disparity(sizes: tuple[int, int], *, epsilon: float, num_alternatives: int) -> float:
    """Return the mean of Algorithm 1's ΔŴ where ΔW = 0: E|X − Y| of two Laplace numbers of the groups' scales."""
    first, second = (num_alternatives * (num_alternatives - 1) / (2 * size * epsilon) for size in sizes)
    return (first * first + first * second + second * second) / (first + second)


def limits_of_samples() -> tuple[float, float]:
    """Return the bounds of n_s·ε² by n_s·ε² ≤ ε·min n_k: of the cells without an election, and of those with one."""
    limits: dict[bool, list[float]] = {True: [], False: []}
    for sizes in SIZES:
        for epsilon in EPSILONS:
            limits[TABLE_1[sizes, "sampling", epsilon].disparity is None].append(epsilon * min(sizes))
    return max(limits[True]), min(limits[False])
