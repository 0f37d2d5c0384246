"""Vectors of fair voting."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from helpers import Session, make_names
from psephos.protocol import JOIN, SessionRules
from psephos.protocol.fair_voting import FairVoting, Parameters
from psephos.protocol.privacy import NeighboringRelation

from .recorder import Plain, Recorder, all_goes_well, with_a_forged_report

BALLOTS: Final = (
    ("north", "harbor > park > market"),
    ("south", "market > park > harbor"),
    ("north", "harbor > market > park"),
    ("north", "park > harbor > market"),
    ("south", "market > harbor > park"),
)
"""Each voter's group and ranking."""
_HIDING: Final[Plain] = {"relation": NeighboringRelation.ADD_OR_REMOVE_ONE, "quorum": None}


def _ballots(*, quorum: float | None = 1.0, **given: Any) -> Session:
    """Return a fair vote.

    Args:
        quorum: how many must take part; None where that is private.
        given: parameters.
    """
    table = {"group": [group for group, _ in BALLOTS], "ranking": [ranking for _, ranking in BALLOTS]}
    protocol = FairVoting(Parameters(**FairVoting.complete(given, table)))
    return Session(protocol, protocol.encode(table), seed=2021, rules=SessionRules(quorum=quorum))


def _good_ballots(about: str, **given: Any) -> Recorder:
    return all_goes_well(_ballots(**given), about)


def _ballots_of_four() -> Recorder:
    about = "A ranking is lost, and four of five are enough: who is missing leaves the utilities of the center."
    recorder = Recorder(_ballots(quorum=4), about)
    recorder.start(*make_names(5))
    recorder.deliver_requests()
    for party in ("p0", "p1", "p2", "p4"):
        recorder.deliver(party)
    recorder.expire("rankings")
    recorder.deliver_all()
    return recorder


def _hidden_ballots() -> Recorder:
    about = "Algorithm 1 with its printed noise; one voter is added or removed, so that only deadlines close phases."
    recorder = Recorder(_ballots(calibration="printed", **_HIDING), about)
    recorder.start(*make_names(5))
    recorder.deliver_all()  # all have joined, and are not asked before the deadline
    recorder.expire(JOIN)
    recorder.deliver_all()
    recorder.expire("rankings")
    recorder.deliver_all()
    return recorder


def _ballots_of_nobody() -> Recorder:
    about = "One voter is asked and lost, and nobody else comes: where that is private, noise alone is released."
    recorder = Recorder(_ballots(mechanism="exponential", **_HIDING), about)
    recorder.start("p2")
    recorder.deliver_all()
    recorder.expire(JOIN)
    recorder.lose("p2")
    recorder.expire("rankings")
    return recorder


def _forged_ballot(about: str, positions: Sequence[int]) -> Recorder:
    """Let p2 disclose these positions to an aggregator that voters trust, while four of five are enough."""
    return with_a_forged_report(_ballots(quorum=4), about, "p2", positions)


VECTORS: Final[Mapping[str, Callable[[], Recorder]]] = {
    "good_rankings_laplace": lambda: _good_ballots(
        "Algorithm 1: rankings are shown to the server, which adds noise to the groups' utilities.",
        objective="constrained",
        max_disparity=0.5,
    ),
    "good_rankings_printed": _hidden_ballots,
    "good_rankings_of_nobody": _ballots_of_nobody,
    "good_rankings_sampling": lambda: _good_ballots(
        "Algorithm 2: the server samples answers, and releases the winner alone.",
        mechanism="sampling",
        num_samples=4,
        gamma=0.25,
    ),
    "good_rankings_proven": lambda: _good_ballots(
        "Algorithm 2 with γ and n_s that are chosen so that ε is proven: both sides find the same ones.",
        mechanism="sampling",
        calibration="proven",
        epsilon=2.0,
        num_samples=4,
    ),
    "good_rankings_above_a_floor": lambda: _good_ballots(
        "The fairest plan among those with half of the greatest welfare, by permute-and-flip.",
        mechanism="permute_and_flip",
        objective="welfare_constrained",
        welfare_share=0.5,
        epsilon=3.0,
    ),
    "good_rankings_subsample": lambda: _good_ballots(
        "Algorithm 2 where voters are sampled first: the server draws twice, from streams of their own.",
        mechanism="sampling",
        num_samples=2,
        reading="subsample",
        scale="printed",
    ),
    "good_rankings_exponential": lambda: _good_ballots(
        "The exponential mechanism on welfare less disparity, for scores of any kind.",
        mechanism="exponential",
        objective="penalized",
        scores=(4.0, 3.0, 0.0),
        epsilon=2.0,
    ),
    "good_rankings_flipped": lambda: _good_ballots(
        "Permute-and-flip in its place.", mechanism="permute_and_flip", epsilon=2.0
    ),
    "good_rankings_pair": lambda: _good_ballots(
        "Each voter answers one comparison of a pair by randomized response.", mechanism="sampled_pair"
    ),
    "good_rankings_position": lambda: _good_ballots(
        "Each voter tells one alternative's position.", mechanism="sampled_position", scores="plurality"
    ),
    "good_rankings_whole": lambda: _good_ballots(
        "Each voter tells its whole ranking or another one; the mechanism with the least variance was asked for.",
        mechanism="local",
        epsilon=4.0,
    ),
    "good_rankings_scores": lambda: _good_ballots(
        "Each voter adds noise to the scores of all alternatives.", mechanism="noisy_scores", scores="veto"
    ),
    "good_rankings_of_four": _ballots_of_four,
    "bad_ranking_repeated_position": lambda: _forged_ballot(
        "A voter puts two alternatives at the top; the others go on.", [0, 0, 1]
    ),
    "bad_ranking_below_the_best": lambda: _forged_ballot(
        "A voter names a position above the best, which would weigh more than a vote; the others go on.", [-1, 0, 1]
    ),
}
