"""The paper's numbers, from `published.csv` and `crowds.csv`, and what is run again, from `grids.toml`.

Source: Li et al. (2018), Section 7.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ...experiments.paper_files import grids_beside, rows_beside


class Grids(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is run, and where on its axes; the file says what each is."""

    runs: int
    methods: Mapping[str, tuple[str, str]]
    compared: Sequence[str]
    prices: Mapping[str, Sequence[float]]
    weight_epsilon: float
    num_weights: int
    figure_1_highs: Sequence[float]
    figure_1_numbers: Sequence[int]
    hyper_epsilons: Sequence[float]
    hyper_answers: Sequence[int]
    bound_qualities: Sequence[float]
    bound_workers: Sequence[int]


GRIDS: Final = grids_beside(__name__, Grids)
RUNS: Final = GRIDS.runs
METHODS: Final = GRIDS.methods
"""The columns of Tables 2 and 3, in their order: estimator and mechanism."""

_CROWDS: Final = {row["crowd"]: row for row in rows_beside(__name__, "crowds.csv")}
TABLE_1: Final = {
    crowd: tuple(int(row[name]) for name in ("tasks", "workers", "answers", "gold")) for crowd, row in _CROWDS.items()
}
"""Tasks, workers, answers, and tasks with a known truth."""
CLEAN_ACCURACIES: Final = {crowd: float(row["accuracy"]) for crowd, row in _CROWDS.items()}
"""Section 7.2, without saying of which aggregation: "the accuracy of aggregated answers"."""

TABLES: Final[Mapping[str, dict[float, tuple[float, ...]]]] = {crowd: {} for crowd in _CROWDS}
"""Error rate changes of Tables 2 and 3, by data set: for each ε those of all methods."""
for _row in rows_beside(__name__, "published.csv"):
    TABLES[_row["crowd"]][float(_row["epsilon"])] = tuple(float(_row[method]) for method in METHODS)
EPSILONS: Final = tuple(next(iter(TABLES.values())))
