"""How long the paper's Tables 3 and 4 take, and how long the best mechanism takes to be found and proven."""

import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from psephos.protocol.mechanisms import optimal
from psephos.scenarios.experiments.dpwevote.cells import Cells
from psephos.scenarios.experiments.dpwevote.reproduction import LEAST_TRIALS, published_tables
from table import NOTHING, Row, at_most
from trials import timed

__all__ = ["measure"]

_TRIALS: Final = 2_000
_MOST_SECONDS: Final = 10.0
_EPSILON: Final = 1.0


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield the time of all cells of both tables, and that of the optimal mechanism by the number of weights."""
    trials = LEAST_TRIALS if quick else _TRIALS
    seconds = timed(lambda: published_tables(Cells(trials=trials, seed=1), trials))
    most = None if quick else _MOST_SECONDS
    yield Row(
        f"Tables 3 and 4, {trials:,} votes a cell",
        f"{seconds:.1f} s",
        NOTHING,
        NOTHING,
        *at_most(seconds, most, unit=" s"),
    )
    for number in (3, 5) if quick else (3, 5, 10):
        halves = [Fraction(weight, 2) for weight in range(-number, number + 1) if weight]
        seconds = timed(functools.partial(optimal, halves, epsilon=_EPSILON))
        yield Row(f"optimal mechanism, {number} weights", f"{seconds:.2f} s", NOTHING, NOTHING, NOTHING, NOTHING)
