"""Many sessions of one vote, drawn at once: what statistical tests count."""

import numpy as np
from makers import as_usual, vote_of
from psephos.protocol import Tally
from psephos.protocol.arrays import IntArray
from psephos.protocol.dpwevote import DPWeVote

make_vote = as_usual(vote_of, candidates=("a",))


def draw_trials(
    vote: DPWeVote, weights: IntArray, opinions: IntArray, generator: np.random.Generator
) -> tuple[list[IntArray], IntArray]:
    """Return each phase's reports, shape (trials, partners, 1), and what is public, of a session for each row."""
    inputs = vote.encode({"weight": weights.reshape(-1), "a": opinions.reshape(-1)})
    drawn: list[IntArray] = []
    for phase in vote.phases:
        values = inputs.private[:, phase.columns].reshape(-1, 1)
        reports = phase.mechanism.randomize_rows(values, generator.random((len(values), 1)))
        drawn.append(reports.reshape(*weights.shape, 1))
    return drawn, inputs.public.reshape(*weights.shape, inputs.public.shape[1])


def tallies_of_trials(
    vote: DPWeVote, weights: IntArray, opinions: IntArray, generator: np.random.Generator, *, present: int | None = None
) -> list[list[Tally]]:
    """Return the tallies of a session for each row; only the first `present` partners report opinions."""
    drawn, public = draw_trials(vote, weights, opinions, generator)
    tallies: list[list[Tally]] = [[] for _ in weights]
    for place, phase in enumerate(vote.phases):
        number = present if phase.name.startswith("opinions") else None
        for trial, of_trial in enumerate(tallies):
            before = [reports[trial, :number] for reports in drawn[:place]]
            of_trial.append(phase.tally(drawn[place][trial, :number], earlier=before, public=public[trial, :number]))
    return tallies
