"""What of the moral preferences paper is run again, and how it is told."""

import dataclasses
from typing import Final

from ...experiments.reproductions import Experiments
from .additions import own_findings
from .claims import findings_on_own_data, findings_on_paper
from .pictures import pictures_of
from .plan import PAPER as SIZES
from .reproduction import parts, parts_on_own_data
from .rows import Reproduction
from .tables import sheets_of

_STAND_INS: Final = (
    "Figures 8, 9 and 10(b) are of a stand-in (reading M13): made-up voters who answer dilemmas like the Moral "
    "Machine's, since the public sample has one answer of each person, and not thirteen. The values of n in "
    "Figures 1 to 3 are lost; 50 and 100 stand there (reading M11)."
)
_READINGS: Final = (
    "M1 to M14 are readings: the questions that the paper leaves open or has wrong, each with the answer taken "
    "here. docs/readings.md explains each by its number."
)

EXPERIMENTS: Final = Experiments(
    found=Reproduction,
    parts=parts,
    steps=14,
    on_paper=findings_on_paper,
    additions=own_findings,
    sheets=sheets_of,
    pictures=pictures_of,
    captions={
        **{
            f"figure-{number}": f"Figure {number} again: Algorithm {number} over ε. Bars are two standard errors."
            for number in (1, 2, 3)
        },
        "figure-4": "Figure 4 again: the three algorithms at equal ε, which is a record's for Algorithm 3 and a "
        "voter's for the others (reading M7).",
        "figure-5": "Figure 5 again: the number of features.",
        "figure-6": "Figure 6 again: Algorithm 3 where voters have an ε of their own; broken lines have the "
        "weighted mean.",
        "figure-7": "Figure 7 again, and the same at ε = 1; dotted is what there is without noise.",
        "figure-8": "Figure 8 again, on the stand-in.",
        "figure-9": "Figure 9 again, on the stand-in; broken lines have the weighted mean.",
        "figure-10": "Figure 10 again: what is kept of the accuracy without privacy. The steps are what Section 5.3 "
        "says of Algorithms 1 and 3.",
        "variants": "All methods of a paradigm at equal ε; the paper's own are thick.",
        "weights": "The gain of weights where voters have an ε of their own (reading M9).",
    },
    title="The moral preferences paper, run again",
    introduction="`psephos reproduce moral-preferences` runs Figures 1 to 10 again, {run.trials:,} repetitions of each "
    f"point ({SIZES.times} times as many in Figures 6 and 9 and of methods for voters, {SIZES.often} in 6(b), "
    f"{SIZES.times // 4} in 10(a); seed {{run.seed}}), each with "
    "voters and noise of its own, and what the paper does not show: what the same ε buys with other mechanisms, "
    "weights and projections. Every number and every verdict here comes from that run; ± is one standard error. The "
    "paper's figures are pictures without numbers: its sentences on them are checked. Accuracy is the "
    "share of pairs of alternatives on which the released preferences decide as the mean of the voters' true ones "
    "(reading M1): 1 − angle/π for Section 5.1's voters, exactly, and counted on held-out dilemmas for the others.",
    cells="{run.trials:,} repetitions of each cell, or more",
    remarks=(_STAND_INS, _READINGS),
)

ON_OWN_DATA: Final = dataclasses.replace(
    EXPERIMENTS,
    steps=0,
    parts=parts_on_own_data,
    on_paper=findings_on_own_data,
    additions=None,
    captions={
        "figure-8": "Figure 8 again, on this file.",
        "figure-9": "Figure 9 again, on this file; broken lines have the weighted mean.",
        "figure-10": "Figure 10(b) again, on this file.",
    },
    title="The moral preferences paper, run again on your data",
    introduction="`psephos reproduce moral-preferences --responses` ran Figures 8, 9 and 10(b) on {run.own}, "
    "{run.trials:,} repetitions of each point (seed {run.seed}). Each repetition draws voters of the file and noise. "
    "Nobody's true preferences are known: accuracy is the share of the choices of voters who were not drawn that the "
    "released preferences make as these did (reading M1). ± is one standard error over repetitions, all of which draw "
    "from the one file.",
    remarks=(_READINGS,),
)
