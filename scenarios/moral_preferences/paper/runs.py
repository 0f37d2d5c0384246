"""`psephos reproduce moral-preferences`: Figures 1 to 10, and what the paper does not show, as rows.

`page.toml` says what is run, what each table of rows holds, and how it is told. All voters are made up; those of
Figures 8, 9 and 10(b) are a stand-in for the Moral Machine's (reading M13).
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...experiments.comparing import Row
from ...experiments.declared import experiments_of, grids_of
from ...experiments.measurements import sample_of
from ...experiments.reproductions import Asked, Part
from ...reading.conversion import convert
from ...running.processes import num_cores
from .claims import findings_on_moral_preferences
from .societies import MACHINE_LIKE, own_kind
from .trials import Cell, measure_all, protocol_of

_MOST_VOTERS: Final = 200  # Section 5.2: N
_OF_GROUPS: Final = ("conservative", "epsilon_conservative", "epsilon_moderate")
_Axes: TypeAlias = Mapping[str, Sequence[Any]]
"""The cells at all places of these axes, by the names of a cell's fields."""


def parts(asked: Asked) -> Iterator[Part]:
    """Run everything that the paper measured again, and more: each repetition has voters and noise of its own."""
    return _parts(asked, asked.grids["curves"], asked.grids["epsilons"])


def parts_on_own_data(asked: Asked) -> Iterator[Part]:
    """Run Figures 8, 9 and 10(b) on somebody's own file: each repetition draws its voters, and holds others out."""
    kind, number = own_kind(asked.own["responses"])
    most, grids = min(_MOST_VOTERS, number // 2), grids_of(__name__)
    curves = {
        table: {
            panel: {**axes, "society": [kind], "voters": [most * own // _MOST_VOTERS for own in axes["voters"]]}
            for panel, axes in grids["curves"][table].items()
            if MACHINE_LIKE in str(axes.get("society"))
        }
        for table in ("figure_8", "figure_9", "figure_10")
    }
    return _parts(asked, curves, grids["epsilons"])


def _parts(asked: Asked, curves: Mapping[str, Mapping[str, _Axes]], epsilons: Sequence[float]) -> Iterator[Part]:
    found: dict[Cell, list[float]] = {}
    for table, panels in curves.items():
        cells = [(panel, cell) for panel, axes in panels.items() for cell in _cells(epsilons, axes)]
        yield Part(table.replace("_", " "), {table: _rows(asked, cells, found)})


def _rows(asked: Asked, planned: Sequence[tuple[str, Cell]], found: dict[Cell, list[float]]) -> Iterator[Row]:
    """Yield a table's rows, whose cells are measured first, unless they are found."""
    cells = [own for _, cell in planned for own in (cell, cell.without_noise) if own not in found]
    found |= measure_all(cells, trials=asked.trials, seed=asked.seed, workers=asked.workers or num_cores())
    for panel, cell in planned:
        yield {"panel": panel, **_row(cell, found[cell], found[cell.without_noise])}


def _cells(epsilons: Sequence[float], axes: _Axes) -> Iterator[Cell]:
    """Yield the cells at all places of some axes, of which the last varies first."""
    every = axes if "groups" in axes else {**axes, "epsilon": axes.get("epsilon", epsilons)}
    for places in itertools.product(*every.values()):
        yield convert(dict(zip(every, places, strict=True)), Cell, "")


def _row(cell: Cell, ours: Sequence[float], clean: Sequence[float]) -> Row:
    """Return the accuracy, and its ratio to that without noise, over the same societies, to first order."""
    protocol, ratio = protocol_of(cell), math.fsum(ours) / math.fsum(clean)
    rest = np.subtract(ours, np.multiply(ratio, clean)) / np.mean(clean)
    is_noisy = not math.isinf(cell.epsilon)
    return {
        "kind": cell.society.kind,
        "records": cell.society.records,
        "features": cell.society.features,
        "voters": cell.voters,
        "paradigm": protocol.parameters.paradigm.value,
        "method": cell.method,
        "bound": protocol.parameters.bound,
        "epsilon": cell.epsilon if is_noisy else None,
        "epsilon_voter": protocol.losses[0].claimed if is_noisy else None,
        **{name: getattr(cell.groups, name, None) for name in _OF_GROUPS},
        "accuracy": sample_of(ours, is_share=True),
        "ratio": sample_of(ratio + rest, is_share=True),
    }


EXPERIMENTS: Final = experiments_of(__name__, parts=parts, laws=findings_on_moral_preferences, steps=11)
ON_OWN_DATA: Final = experiments_of(
    __name__, parts=parts_on_own_data, laws=findings_on_moral_preferences, data="own.toml"
)
