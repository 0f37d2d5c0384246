"""Reproduction of DPWeVote's published tables and figures, with further experiments.

Source: Yan, Liu and Liu (2018), Section 5; readings W1 to W9.
"""

from typing import Final

from ...experiments.paper import Paper

__all__ = ["PAPER"]

PAPER: Final = Paper(
    help="""Tables 3 and 4 and Figure 4 of DPWeVote's paper; skewed votes, power, better mechanisms, prices.

    The run's folder gets a CSV for each table, a PNG and an SVG for each figure, summary.md, which says which claims
    hold, and reproduction.json with every number. It takes less than a minute.
    """,
    experiments=f"{__name__}.runs:EXPERIMENTS",
    trials=2_000,
    about_trials="How many votes for each cell; the paper has 2,000.",
    least_trials=100,
    most_trials=1_000_000,
)
