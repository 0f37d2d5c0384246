"""Reproduction of the paper on fair and private voting rules: its table, and further experiments.

Source: Mohsin, Fair and Private Voting Rules, project report; readings F1 to F6.
"""

from typing import Final

from ...experiments.paper import Paper

__all__ = ["PAPER"]

PAPER: Final = Paper(
    help="""Table 1 of the paper on fair and private voting; other objectives, better mechanisms, real profiles.

    The run's folder gets a CSV for each table, a PNG and an SVG for each figure, summary.md, which says which claims
    hold, and reproduction.json with every number. It takes some minutes. All voters of Table 1 are made up. The
    trade-off of fairness, welfare and privacy is of published profiles; it is left out without data sets.
    """,
    experiments=f"{__name__}.runs:EXPERIMENTS",
    trials=5_000,
    about_trials="How many elections for each cell; the paper has 1,000.",
    least_trials=10,
    most_trials=20_000,
    takes_data=True,
    own={
        "rankings": "Run what is of published profiles on this one: a CSV of voter, group and ranking.",
    },
    own_experiments=f"{__name__}.runs:ON_OWN_DATA",
)
