"""Which local mechanism tells a ranking best: variances by ε and number of alternatives, and where the best changes."""

from collections.abc import Iterator
from typing import Final

from ....protocol.fair_voting import Scoring, make_scores
from ....protocol.fair_voting.reports import best_report, possible_reports
from .rows import CrossingRow, VarianceRow

ALTERNATIVES: Final = (3, 4, 5, 6, 8, 10, 15, 24)
PRICES: Final = (0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0)
"""Of the table that people read."""
_DENSE: Final = tuple(sorted({*PRICES, *(tenth / 10 for tenth in range(2, 81, 2))}))
_LEAST: Final = 0.05
_MOST: Final = 20.0
_STEPS: Final = 400
_HALVINGS: Final = 50


def variances() -> Iterator[VarianceRow]:
    """Yield what each mechanism has."""
    for size in ALTERNATIVES:
        for epsilon in _DENSE:
            reports = possible_reports(_scoring(size), epsilon)
            least = min(report.mean_variance for report in reports)
            for report in reports:
                yield VarianceRow(
                    alternatives=size,
                    epsilon=epsilon,
                    mechanism=report.name,
                    variance=report.mean_variance,
                    ratio=report.mean_variance / least,
                )


def find_crossings() -> Iterator[CrossingRow]:
    """Yield where the best mechanism changes, for ε from 0.05 to 20."""
    for size in ALTERNATIVES:
        scoring = _scoring(size)
        grid = [_LEAST + (_MOST - _LEAST) * step / _STEPS for step in range(_STEPS + 1)]
        best = [best_report(scoring, epsilon).name for epsilon in grid]
        for place in range(_STEPS):
            if best[place] != best[place + 1]:
                low, high = grid[place], grid[place + 1]
                for _ in range(_HALVINGS):
                    middle = (low + high) / 2
                    low, high = (middle, high) if best_report(scoring, middle).name == best[place] else (low, middle)
                yield CrossingRow(alternatives=size, epsilon=high, below=best[place], above=best[place + 1])


def _scoring(size: int) -> Scoring:
    return Scoring(make_scores("borda", size))
