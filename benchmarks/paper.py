"""How long the papers' tables take, and how long the best mechanism takes to be found and proven."""

import functools
import os
import pathlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from psephos.protocol.mechanisms import optimal
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.dpwevote.paper import PAPER
from psephos.scenarios.dpwevote.paper.reproduction import published_tables
from psephos.scenarios.dpwevote.paper.trials import Cells
from psephos.scenarios.truth_discovery.crowd_reports import Layout
from psephos.scenarios.truth_discovery.data.published import load_crowd
from psephos.scenarios.truth_discovery.paper.reproduction import published_table
from psephos.scenarios.truth_discovery.paper.trials import Cells as CrowdCells
from psephos.scenarios.truth_discovery.paper.workloads import DUCHENNE
from table import NOTHING, Row, at_most, skipped
from trials import timed

__all__ = ["measure"]

_TRIALS: Final = 2_000
_MOST_SECONDS: Final = 10.0
_CROWD_TRIALS: Final = 100
_LEAST_CROWD_TRIALS: Final = 10
_MOST_CROWD_SECONDS: Final = 60.0
_EPSILON: Final = 1.0


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield the time of all cells of the tables, and that of the optimal mechanism by the number of weights."""
    trials = PAPER.least_trials if quick else _TRIALS
    seconds = timed(lambda: published_tables(Cells(trials=trials, seed=1), trials))
    most = None if quick else _MOST_SECONDS
    yield Row(
        f"DPWeVote's Tables 3 and 4, {trials:,} votes a cell",
        f"{seconds:.1f} s",
        NOTHING,
        NOTHING,
        *at_most(seconds, most, unit=" s"),
    )
    yield _measure_crowd(_LEAST_CROWD_TRIALS if quick else _CROWD_TRIALS, most=None if quick else _MOST_CROWD_SECONDS)
    for number in (3, 5) if quick else (3, 5, 10):
        halves = [Fraction(weight, 2) for weight in range(-number, number + 1) if weight]
        seconds = timed(functools.partial(optimal, halves, epsilon=_EPSILON))
        yield Row(f"optimal mechanism, {number} weights", f"{seconds:.2f} s", NOTHING, NOTHING, NOTHING, NOTHING)


def _measure_crowd(trials: int, *, most: float | None) -> Row:
    """Return the time of Table 3 of truth discovery's paper: 13 ε, 4 methods; its data set is read before the clock."""
    what = f"truth discovery's Table 3, {trials} trials a cell"
    folder = os.environ.get(DATA_VARIABLE, "")
    if not folder:
        return skipped(what, f"{DATA_VARIABLE} names no folder of data sets")
    path = pathlib.Path(folder)
    if not (path / DUCHENNE).is_dir():
        return skipped(what, f"the folder that {DATA_VARIABLE} names has no {DUCHENNE}")
    cells = CrowdCells({DUCHENNE: Layout.of(load_crowd(DUCHENNE, path))}, seed=1)
    seconds = timed(lambda: published_table(cells, DUCHENNE, trials=trials))
    return Row(what, f"{seconds:.1f} s", NOTHING, NOTHING, *at_most(seconds, most, unit=" s"))
