"""Reproduction of the truth discovery paper's tables and figures, with further experiments.

Source: Li et al. (2018), Sections 6 and 7; readings T1 to T9.
"""

from typing import Final

from ...experiments.paper import Paper

__all__ = ["PAPER"]

PAPER: Final = Paper(
    help="""Tables 2 and 3 and Figures 1 to 4 of the truth discovery paper; equal proven loss, better estimators.

    The run's folder gets a CSV for each table, a PNG and an SVG for each figure, summary.md, which says which claims
    hold, and reproduction.json with every number. It takes some minutes, and without data sets some seconds: Table 3
    and other parts are then left out.
    """,
    experiments=f"{__name__}.runs:EXPERIMENTS",
    trials=3_000,
    about_trials="How many trials for each cell; the paper has 100.",
    least_trials=10,
    most_trials=100_000,
    takes_data=True,
    own={
        "answers": "Run Table 3 and Figures 2 and 4 on this crowd instead: a CSV of task, worker and label.",
        "truth": "What is true of it: a CSV of task and truth.",
    },
    own_words={
        "labels": "What answers can be: no,yes; with another spelling: no,yes=Yes (default: those there).",
        "other_labels": "Answers with none of these: leave_out or refuse (default).",
        "alike_workers": "Names that differ in case or blanks alone: one, several or refuse (default).",
        "repeats": "Of a worker's answers to a task: first, last or error (default).",
    },
    own_experiments=f"{__name__}.runs:ON_OWN_DATA",
)
