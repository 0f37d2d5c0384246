"""What of the paper on fair and private voting is run again, and how it is told."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from ...experiments.reproductions import Experiments
from .additions import findings_on_profiles, own_findings
from .cells import DELTA, GAMMA
from .claims import findings_on_paper
from .pictures import pictures_of
from .published import SIZES
from .real_sets import REAL_SETS
from .reproduction import parts, parts_on_own_data
from .rows import Reproduction
from .settings import FITTED, READ, SETTINGS
from .tables import sheets_of, sheets_of_profiles

_SOCIETIES: Final = (
    "The paper's voters are drawn from two Mallows models, whose centers and dispersions it does not give. Two "
    f"pairs stand in for them: {FITTED.title}, which comes nearest to the whole table ({FITTED.name}), and "
    f"{READ.title}, which reading F5 found for its Laplace rows ({READ.name}). Voters are drawn anew in every "
    f"election. Algorithm 2 has n_s = ⌈(m/ε²)·ln(m/δ)⌉ with δ = {DELTA:g}, and γ = {GAMMA:g}; the paper has no "
    "value of either."
)
_READINGS: Final = (
    "F1 to F6 are readings: the questions that the paper leaves open or has wrong, each with the answer taken "
    "here. docs/readings.md explains each by its number."
)


def _lacking(names: Sequence[str]) -> str:
    return f"Fairness, welfare and proven ε of {', '.join(names)} are not measured"


EXPERIMENTS: Final = Experiments(
    found=Reproduction,
    parts=parts,
    steps=len(SETTINGS) * (len(SIZES) + 1) + len(REAL_SETS) + 2,
    on_paper=findings_on_paper,
    additions=own_findings,
    sheets=sheets_of,
    pictures=pictures_of,
    captions={
        "table-1": "Table 1 again: diamonds are published, hollow marks are cells that the paper has as N/A. "
        "Electorates of one ε stand side by side.",
        "equal-loss": "Right winners, those without privacy, by each objective, at equal loss that is proven for "
        "replacing a voter's ranking; sampling has the γ and n_s that suit it best.",
        "local": "The variance of one voter's estimated utilities, over the least of all local mechanisms.",
        "real": "Three published profiles under the paper's objective: ΔW and W of the winners over proven ε.",
        "trade-off": "Where the winners of three objectives are on three published profiles, as ε grows; stars are "
        'what there is without privacy. Permute-and-flip has a soft bound on ΔW in "constrained" (see the tables).',
    },
    title="The paper on fair and private voting rules, run again",
    introduction="`psephos reproduce fair-voting` runs Table 1 again, {run.trials:,} elections a cell (seed "
    "{run.seed}), N/A cells included, and what the paper does not show: proven losses, other objectives, better "
    "mechanisms at equal proven loss, and published profiles. Every number and every verdict here comes from that run; "
    "± is one standard error. ΔW is the difference of the groups' mean utilities of the winner, W its mean utility to "
    "all voters; both are of the true profile.",
    cells="{run.trials:,} elections a cell",
    remarks=(_SOCIETIES, _READINGS),
    lacking=_lacking,
)

ON_OWN_DATA: Final = dataclasses.replace(
    EXPERIMENTS,
    steps=0,
    parts=parts_on_own_data,
    on_paper=findings_on_profiles,
    additions=None,
    sheets=sheets_of_profiles,
    captions={
        "real": "This profile under the paper's objective: ΔW and W of the winners over proven ε.",
        "trade-off": "Where the winners of three objectives are on this profile, as ε grows; stars are what there is "
        "without privacy.",
    },
    title="The paper on fair and private voting rules, run again on your data",
    introduction="`psephos reproduce fair-voting --rankings` ran on {run.own} what is run of published profiles, "
    "{run.trials:,} elections a cell (seed {run.seed}): all elections have these voters. Table 1 is of made-up "
    "electorates, and not here. ± is one standard error. ΔW is the difference of the groups' mean utilities of the "
    "winner, W its mean utility to all voters; both are of the true profile.",
    remarks=(_READINGS,),
)
