"""Reproduction of the moral preferences paper's figures, with further experiments.

Source: Wang et al. (2019), Section 5; readings M1 to M14.
"""

from typing import Final

from ...experiments.paper import Paper

__all__ = ["PAPER"]

PAPER: Final = Paper(
    help="""Figures 1 to 10 of the moral preferences paper; better mechanisms at the same epsilon, weights, projections.

    The run's folder gets a CSV for each figure and table, a PNG and an SVG for each picture, summary.md, which says
    which claims hold, and reproduction.json with every number. It takes some twenty minutes of one core; --trials 10
    takes a tenth of it. All voters are made up; those of Figures 8, 9 and 10(b) are a stand-in for the Moral Machine's.
    """,
    experiments=f"{__name__}.runs:EXPERIMENTS",
    trials=100,
    about_trials="How many repetitions of each point.",
    least_trials=10,
    most_trials=50_000,
    takes_workers=True,
    own={"responses": "Run Figures 8, 9 and 10(b) on this survey instead: the Moral Machine's format, or choices."},
    own_experiments=f"{__name__}.runs:ON_OWN_DATA",
)
