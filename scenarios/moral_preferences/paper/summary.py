"""The page that a reproduction leaves: what holds and what does not, the pictures, all tables."""

from ...experiments.reproductions import page_of
from .pictures import pictures_of
from .rows import Reproduction
from .tables import sheets_of

__all__ = ["READINGS", "STAND_INS", "summary_in_markdown"]

READINGS = (
    "M1 to M14 are readings: the questions that the paper leaves open or has wrong, each with the answer taken here, "
    "as the manual's page on moral preferences lists them by number."
)
"""What the numbers of readings mean."""
STAND_INS = (
    "Figures 8, 9 and 10(b) are of a stand-in (reading M13): made-up voters who answer dilemmas like the Moral "
    "Machine's, since the public sample has one answer of each person, and not thirteen. The values of n in Figures 1 "
    "to 3 are lost; 50 and 100 stand there (reading M11)."
)
"""What is not the paper's own."""


def summary_in_markdown(reproduction: Reproduction, *, pictures: bool = True, prefix: str = "") -> str:
    """Return a page: what holds and what does not, the pictures, all tables.

    Args:
        reproduction: what was measured.
        pictures: show them.
        prefix: of the pictures' names.
    """
    opening = [
        "# The moral preferences paper, run again",
        (
            f"`psephos reproduce moral-preferences` runs Figures 1 to 10 again, {reproduction.trials:,} repetitions of "
            f"each point (seed {reproduction.seed}), each with voters and noise of its own, and what the paper does "
            "not show: what the same ε buys with other mechanisms, weights and projections. Every number and every "
            "verdict here comes from that run; ± is one standard error. The paper's figures are pictures without "
            "numbers, so that its sentences on them are what is checked. Accuracy is the share of pairs of "
            "alternatives on which the released preferences decide as the mean of the voters' true ones (reading M1): "
            "1 − angle/π for Section 5.1's voters, exactly, and counted on held-out dilemmas for the others."
        ),
        STAND_INS,
        READINGS,
    ]
    captions = {name: _CAPTIONS[name] for name in pictures_of(reproduction)} if pictures else {}
    return page_of(reproduction, opening, captions=captions, sheets=sheets_of(reproduction), prefix=prefix)


_CAPTIONS = {
    **{
        f"figure-{number}": f"Figure {number} again: Algorithm {number} over ε. Bars are two standard errors."
        for number in (1, 2, 3)
    },
    "figure-4": "Figure 4 again: the three algorithms at equal ε, which is a record's for Algorithm 3 and a voter's "
    "for the others (reading M7).",
    "figure-5": "Figure 5 again: the number of features.",
    "figure-6": "Figure 6 again: Algorithm 3 where voters have an ε of their own; broken lines have the weighted mean.",
    "figure-7": "Figure 7 again, and the same at ε = 1; dotted is what there is without noise.",
    "figure-8": "Figure 8 again, on the stand-in.",
    "figure-9": "Figure 9 again, on the stand-in; broken lines have the weighted mean.",
    "figure-10": "Figure 10 again: what is kept of the accuracy without privacy. The steps are what Section 5.3 says "
    "of Algorithms 1 and 3.",
    "variants": "All methods of a paradigm at equal ε; the paper's own are thick.",
    "weights": "What weights gain where voters have an ε of their own (reading M9).",
}
