"""The page that a reproduction leaves: what holds and what does not, the pictures, all tables."""

from ...experiments.reproductions import page_of
from .rows import Reproduction
from .tables import sheets_of

__all__ = ["READINGS", "summary_in_markdown"]

READINGS = (
    "W1 to W9 are readings: the questions that the paper leaves open, each with the answer taken here, as the manual's "
    "page on DPWeVote lists them by number."
)
"""What the numbers of readings mean."""


def summary_in_markdown(reproduction: Reproduction, *, pictures: bool = True, prefix: str = "") -> str:
    """Return a page: what holds and what does not, the pictures, all tables.

    Args:
        reproduction: what was measured.
        pictures: show them.
        prefix: of the pictures' names.
    """
    opening = [
        "# DPWeVote's paper, run again",
        (
            f"`psephos reproduce dpwevote` runs Tables 3 and 4 and all panels of Figure 4 again, "
            f"{reproduction.trials:,} trials a cell (seed {reproduction.seed}), and what the paper does not show: "
            "skewed votes, power against the true margin, and better mechanisms at the same price. Every number and "
            "every verdict here comes from that run; ± is one standard error."
        ),
        READINGS,
    ]
    captions = _CAPTIONS if pictures else {}
    return page_of(reproduction, opening, captions=captions, sheets=sheets_of(reproduction), prefix=prefix)


_CAPTIONS = {
    "figure-4": "Figure 4 again: accuracy and three mean squared errors over ε, with the published cells of Tables 3 "
    "and 4. The curve in (a) is the normal law of reading W9, in which n does not occur.",
    "variants": "The accuracy of four variants on the paper's own data, each with its normal law.",
    "skewed": "Accuracy of four variants where votes are skewed, with the normal law of each, and the "
    "MSE_φ of those that tell it.",
    "power": "How often a vote passes, over its true margin: a fair rule crosses one half at 0.",
    "costs": "The worst-case variance of k candidates at one price of the whole session, as a multiple of the optimal "
    "mechanism's. Lines that leave a panel go on outside it; the printed rule's bias comes on top.",
}
