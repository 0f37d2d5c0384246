"""`psephos reproduce moral-preferences`: rows of Figures 1 to 10, and of further experiments.

`page.toml` defines what is run, the tables, and their presentation. All voters are synthetic; those of Figures 8, 9 and
10(b) stand in for the Moral Machine's (reading M13).
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
from .societies import MACHINE_LIKE, kind_of_file
from .trials import CellToMeasure, measure_all, protocol_of

_MOST_VOTERS: Final = 200  # number of voters N, by Section 5.2


def parts(request: Asked) -> Iterator[PaperPart]:
    """Run the paper's experiments again, and further ones; repetitions have independent voters and noise."""
    return _parts(request, request.grids)


def parts_on_own_data(request: Asked) -> Iterator[PaperPart]:
    """Run Figures 8, 9 and 10(b) on the user's file; each repetition draws voters, and holds others out."""
    kind, number = kind_of_file(request.own["responses"])
    max_voters, grids = min(_MOST_VOTERS, number // 2), grids_of(__name__)
    curves = {
        table: {
            panel: {
                **axes,
                "society": [kind],
                "voters": [max_voters * voters // _MOST_VOTERS for voters in axes["voters"]],
            }
            for panel, axes in grids["curves"][table].items()
            if MACHINE_LIKE in str(axes.get("society"))
        }
        for table in ("figure_8", "figure_9", "figure_10")
    }
    return _parts(request, grids | {"curves": curves})


def _parts(request: Asked, grids: Mapping[str, Any]) -> Iterator[PaperPart]:
    """Yield each table's part, with a cell for each combination of its axes, the last one changing fastest."""
    accuracies_of_cell: dict[CellToMeasure, list[float]] = {}
    for table, panels in grids["curves"].items():
        cells: list[tuple[str, CellToMeasure]] = []
        for panel, axes in panels.items():
            all_axes = axes if {"groups", "epsilon"} & set(axes) else {**axes, "epsilon": grids["epsilons"]}
            places = itertools.product(*all_axes.values())
            cells += [(panel, convert(dict(zip(all_axes, place, strict=True)), CellToMeasure, "")) for place in places]
        yield PaperPart(table.replace("_", " "), {table: _rows(request, cells, accuracies_of_cell)})


def _rows(
    request: Asked,
    planned_cells: Sequence[tuple[str, CellToMeasure]],
    accuracies_of_cell: dict[CellToMeasure, list[float]],
) -> Iterator[Row]:
    """Yield a table's rows, after measuring cells that are not cached.

    A row has the accuracy, and its ratio to the noiseless accuracy over the same societies, with a first-order error.
    """
    cells = [each for _, cell in planned_cells for each in (cell, cell.without_noise) if each not in accuracies_of_cell]
    accuracies_of_cell |= measure_all(
        cells, trials=request.trials, seed=request.seed, workers=request.workers or num_cores()
    )
    for panel, cell in planned_cells:
        own_accuracies, clean = accuracies_of_cell[cell], accuracies_of_cell[cell.without_noise]
        ratio = math.fsum(own_accuracies) / math.fsum(clean)
        residuals = np.subtract(own_accuracies, np.multiply(ratio, clean)) / np.mean(clean)
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
            "accuracy": sample_of(own_accuracies, is_share=True),
            "ratio": sample_of(ratio + residuals, is_share=True),
        }


EXPERIMENTS: Final = experiments_of(__name__, parts=parts, laws=findings_on_moral_preferences, steps=11)
ON_OWN_DATA: Final = experiments_of(
    __name__, parts=parts_on_own_data, laws=findings_on_moral_preferences, data="own.toml"
)
