"""What of the truth discovery paper is run again, and how it is told."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from ...experiments.reproductions import Experiments
from .additions import own_findings
from .claims import findings_on_own_data, findings_on_paper
from .pictures import pictures_of
from .published import GRIDS
from .reproduction import parts, parts_on_own_data
from .rows import Reproduction
from .tables import sheets_of

_READINGS: Final = (
    "T1 to T9 are readings: the questions that the paper leaves open or has wrong, each with the answer taken "
    "here. docs/readings.md explains each by its number."
)


def _lacking(names: Sequence[str]) -> str:
    table = "Table 3 and Figure 4, and the " if "duchenne" in names else "The "
    return f"{table}comparisons on {', '.join(names)} are not made"


EXPERIMENTS: Final = Experiments(
    found=Reproduction,
    parts=parts,
    steps=len(GRIDS.compared) + 5,
    on_paper=findings_on_paper,
    additions=own_findings,
    sheets=sheets_of,
    pictures=pictures_of,
    captions={
        "figure-1": "Figure 1 again: the density of Δ as printed; the paper's text does not give b and n. Dotted is "
        "one layer's change, which is two layers' mean as well.",
        "figure-2": "Figure 2 again: the weights of the workers with most answers, from the answers and from the "
        "reports.",
        "figure-3": "Figure 3 again, on the stand-in; diamonds are Table 2.",
        "figure-4": "Figure 4 again; diamonds are Table 3.",
        "equal-loss": "The gain of the second layer with the paper's truth discovery: at equal claimed ε, and where "
        "all answers of the worker with most answers have the same proven loss (reading T4).",
        "estimators": "The gain of `auto` over the paper's truth discovery on the same reports.",
    },
    title="The truth discovery paper, run again",
    introduction="`psephos reproduce truth-discovery` runs Tables 2 and 3 and Figures 1 to 4 again, {run.trials:,} "
    "trials a cell (seed {run.seed}), and what the paper does not show: absolute errors, proven losses, the mechanisms "
    "at equal proven loss, and better estimators ({run.comparison_trials:,} trials a cell). Every number and every "
    "verdict here comes from that run; ± is one standard error. The peer grading data are not published: Table 2 "
    "and Figure 3 are of a made-up stand-in of the same size, and say nothing of the paper's own data.",
    cells="{run.trials:,} trials a published cell, {run.comparison_trials:,} a compared one",
    remarks=(_READINGS,),
    lacking=_lacking,
)

ON_OWN_DATA: Final = dataclasses.replace(
    EXPERIMENTS,
    steps=0,
    parts=parts_on_own_data,
    on_paper=findings_on_own_data,
    additions=None,
    captions={
        "figure-2": "Figure 2 again: the weights of the workers with most answers, from the answers and from the "
        "reports; below each, the flip probability that it drew.",
        "figure-4": "Figure 4 again, on this crowd.",
    },
    title="The truth discovery paper, run again on your data",
    introduction="`psephos reproduce truth-discovery --answers` ran Table 3 and Figures 2 and 4 on {run.own}, "
    "{run.trials:,} trials a cell (seed {run.seed}). Error rates are of tasks with a known truth; without any there "
    "are the weights alone. ± is one standard error.",
    cells="{run.trials:,} trials a cell",
)
