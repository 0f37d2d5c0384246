"""How long the papers' tables take, the best mechanism takes to be found and proven, and a vote to be told."""

import functools
import itertools
import os
import pathlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

import numpy as np
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.mechanisms import optimal
from psephos.protocol.population import run_population
from psephos.protocol.randomness import SimulatedNoise
from psephos.scenarios.datasets import DATA_VARIABLE
from psephos.scenarios.dpwevote.paper import PAPER
from psephos.scenarios.dpwevote.paper.runs import Cells, published_table
from psephos.scenarios.truth_discovery.crowd_reports import Layout
from psephos.scenarios.truth_discovery.data.published import load_crowd
from psephos.scenarios.truth_discovery.paper.runs import DUCHENNE
from psephos.scenarios.truth_discovery.paper.runs import Cells as CrowdCells
from psephos.scenarios.truth_discovery.paper.runs import published_table as published_crowd_table
from table import Row, at_most, skipped
from trials import timed

__all__ = ["measure"]

_TRIALS: Final = 2_000
_MOST_SECONDS: Final = 10.0
_CROWD_TRIALS: Final = 100
_LEAST_CROWD_TRIALS: Final = 10
_MOST_CROWD_SECONDS: Final = 60.0
_EPSILON: Final = 1.0
_WEIGHTS: Final[Mapping[str, tuple[float, ...]]] = {
    "1 to 100": tuple(float(weight) for weight in range(1, 101)),
    "50 small ones and 50 a million times as large": tuple(
        float(weight * scale) for scale in (1, 10**6) for weight in range(1, 51)
    ),
    "100 decimals": tuple(round(1 + 0.37 * place + 0.01 * place**2, 2) for place in range(100)),
}
_PARTNERS: Final = 1_000
_MOST_OF_A_CANDIDATE: Final = 0.05


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield the time of all cells of the tables, of the optimal mechanism by the number of weights, and of outcomes."""
    trials = PAPER.least_trials if quick else _TRIALS
    cells = Cells(trials=trials, seed=1)
    seconds = timed(lambda: [list(published_table(table, cells, trials)) for table in "34"])
    most = None if quick else _MOST_SECONDS
    yield Row(
        f"DPWeVote's Tables 3 and 4, {trials:,} votes a cell",
        f"{seconds:.1f} s",
        goal=at_most(seconds, most, unit=" s"),
    )
    yield _measure_crowd(_LEAST_CROWD_TRIALS if quick else _CROWD_TRIALS, most=None if quick else _MOST_CROWD_SECONDS)
    for number in (3, 5) if quick else (3, 5, 10):
        halves = [Fraction(weight, 2) for weight in range(-number, number + 1) if weight]
        seconds = timed(functools.partial(optimal, halves, epsilon=_EPSILON))
        yield Row(f"optimal mechanism, {number} weights", f"{seconds:.2f} s")
    for kind, number in itertools.product(_WEIGHTS, (1, 20)):
        yield _measure_outcome(kind, number)


def _measure_outcome(kind: str, num_candidates: int) -> Row:
    """Return the time of a candidate of a vote's first outcome, which makes the tables of its weights."""
    names = tuple(f"c{place}" for place in range(num_candidates))
    parameters = Parameters(candidates=names, weights=_WEIGHTS[kind])
    vote, places = DPWeVote(parameters), np.arange(_PARTNERS)
    weights = np.array(parameters.weights)[places % len(parameters.weights)]
    inputs = vote.encode({"weight": weights, **dict.fromkeys(names, places // 2 % 2)})
    tallies = run_population(vote, inputs, noise=SimulatedNoise(1, session="outcome")).tallies
    seconds = timed(lambda: DPWeVote(parameters).outcome(tallies)) / num_candidates
    what = f"a vote's first outcome, each of {num_candidates} candidates, weights {kind}"
    target = at_most(seconds * 1e3, _MOST_OF_A_CANDIDATE * 1e3, unit=" ms")
    return Row(what, f"{seconds * 1e3:.0f} ms", goal=target)


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
    seconds = timed(lambda: list(published_crowd_table(cells, DUCHENNE, trials=trials)))
    return Row(what, f"{seconds:.1f} s", goal=at_most(seconds, most, unit=" s"))
