"""`psephos reproduce moral-preferences`: Figures 1 to 10, and what the paper does not show, as rows.

`page.toml` says what is run, what each table of rows holds, and how it is told. All voters are made up; those of
Figures 8, 9 and 10(b) are a stand-in for the Moral Machine's (reading M13).
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...experiments.comparing import Row
from ...experiments.declared import experiments_of, grids_of
from ...experiments.measurements import sample_of
from ...experiments.reproductions import Asked, PaperPart
from ...reading.conversion import convert
from ...running.processes import num_cores
from .claims import findings_on_moral_preferences
from .societies import MACHINE_LIKE, own_kind
from .trials import CellToMeasure, measure_all, protocol_of

_MOST_VOTERS: Final = 200  # Section 5.2: N


def parts(asked: Asked) -> Iterator[PaperPart]:
    """Run everything that the paper measured again, and more: each repetition has voters and noise of its own."""
    return _parts(asked, asked.grids)


def parts_on_own_data(asked: Asked) -> Iterator[PaperPart]:
    """Run Figures 8, 9 and 10(b) on somebody's own file: each repetition draws its voters, and holds others out."""
    kind, number = own_kind(asked.own["responses"])
    most, grids = min(_MOST_VOTERS, number // 2), grids_of(__name__)
    curves = {
        table: {
            panel: {**axes, "society": [kind], "voters": [most * voters // _MOST_VOTERS for voters in axes["voters"]]}
            for panel, axes in grids["curves"][table].items()
            if MACHINE_LIKE in str(axes.get("society"))
        }
        for table in ("figure_8", "figure_9", "figure_10")
    }
    return _parts(asked, grids | {"curves": curves})


def _parts(asked: Asked, grids: Mapping[str, Any]) -> Iterator[PaperPart]:
    """Yield each table, whose cells are at all places of its axes: fields of a cell, of which the last varies first."""
    measured: dict[CellToMeasure, list[float]] = {}
    for table, panels in grids["curves"].items():
        cells: list[tuple[str, CellToMeasure]] = []
        for panel, axes in panels.items():
            every = axes if {"groups", "epsilon"} & set(axes) else {**axes, "epsilon": grids["epsilons"]}
            places = itertools.product(*every.values())
            cells += [(panel, convert(dict(zip(every, place, strict=True)), CellToMeasure, "")) for place in places]
        yield PaperPart(table.replace("_", " "), {table: _rows(asked, cells, measured)})


def _rows(
    asked: Asked, planned: Sequence[tuple[str, CellToMeasure]], measured: dict[CellToMeasure, list[float]]
) -> Iterator[Row]:
    """Yield a table's rows, whose cells are measured first, unless they already are.

    A row has the accuracy, and its ratio to that without noise, over the same societies, to first order.
    """
    cells = [each for _, cell in planned for each in (cell, cell.without_noise) if each not in measured]
    measured |= measure_all(cells, trials=asked.trials, seed=asked.seed, workers=asked.workers or num_cores())
    for panel, cell in planned:
        ours, clean = measured[cell], measured[cell.without_noise]
        ratio = math.fsum(ours) / math.fsum(clean)
        rest = np.subtract(ours, np.multiply(ratio, clean)) / np.mean(clean)
        protocol, is_noisy = protocol_of(cell), not math.isinf(cell.epsilon)
        yield {
            "panel": panel,
            "kind": cell.society.kind,
            "records": cell.society.records,
            "features": cell.society.features,
            "voters": cell.voters,
            "paradigm": protocol.parameters.paradigm.value,
            "method": cell.method,
            "bound": protocol.parameters.bound,
            "epsilon": cell.epsilon if is_noisy else None,
            "epsilon_voter": protocol.losses[0].claimed if is_noisy else None,
            **{
                name: getattr(cell.groups, name, None)
                for name in ("conservative", "epsilon_conservative", "epsilon_moderate")
            },
            "accuracy": sample_of(ours, is_share=True),
            "ratio": sample_of(ratio + rest, is_share=True),
        }


EXPERIMENTS: Final = experiments_of(__name__, parts=parts, laws=findings_on_moral_preferences, steps=11)
ON_OWN_DATA: Final = experiments_of(
    __name__, parts=parts_on_own_data, laws=findings_on_moral_preferences, data="own.toml"
)
