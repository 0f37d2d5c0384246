"""What of DPWeVote's paper is run again, and how it is told."""

from typing import Final

from ...experiments.reproductions import Experiments
from .additions import own_findings
from .claims import findings_on_paper
from .pictures import pictures_of
from .reproduction import parts
from .rows import Reproduction
from .tables import sheets_of

_READINGS: Final = (
    "W1 to W9 are readings: the questions that the paper leaves open, each with the answer taken here. "
    "docs/readings.md explains each by its number."
)

EXPERIMENTS: Final = Experiments(
    found=Reproduction,
    parts=parts,
    steps=7,
    on_paper=findings_on_paper,
    additions=own_findings,
    sheets=sheets_of,
    pictures=pictures_of,
    captions={
        "figure-4": "Figure 4 again: accuracy and three mean squared errors over ε, with the published cells of "
        "Tables 3 and 4. The curve in (a) is the normal law of reading W9, in which n does not occur.",
        "variants": "The accuracy of four variants on the paper's own data, each with its normal law.",
        "skewed": "Accuracy of four variants where votes are skewed, with the normal law of each, and the "
        "MSE_φ of those that tell it.",
        "power": "How often a vote passes, over its true margin: a fair rule crosses one half at 0.",
        "costs": "The worst-case variance of k candidates at one price of the whole session, as a multiple of the "
        "optimal mechanism's. Lines that leave a panel go on outside it; the printed rule's bias comes on top.",
    },
    title="DPWeVote's paper, run again",
    introduction="`psephos reproduce dpwevote` runs Tables 3 and 4 and all panels of Figure 4 again, {run.trials:,} "
    "trials a cell (seed {run.seed}), and what the paper does not show: skewed votes, power against the true margin, "
    "and better mechanisms at the same price. Every number and every verdict here comes from that run; ± is one "
    "standard error.",
    cells="{run.trials:,} trials a cell",
    remarks=(_READINGS,),
)
