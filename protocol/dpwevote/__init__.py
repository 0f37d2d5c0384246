"""DPWeVote: weighted yes/no voting under differential privacy.

Each partner has a weight, and an opinion on each candidate. Partners report their weights by randomized response, then
their opinions, and the cloud server releases which candidates pass the quota. No party is trusted: each report is
private by itself, whoever colludes. In the variant `central` the server is trusted with the votes; in `masked` it sees
only a noisy sum.

Variants: `joint`, the default, has a consistent estimate; `printed` is the paper's estimate; `laplace` is the paper's
baseline; `two_point`, `signed_rr` and `optimal` report weight and opinion together, and `auto` is the best of these for
an ε; `central` and `masked` add noise to sums. `docs/dpwevote.md` lists what the paper leaves open, and our readings.

Source: Yan, Liu and Liu, DPWeVote: differentially private weighted voting protocol for cloud-based
decision-making, Enterprise Information Systems (2018).
"""

from .choice import (
    chances_of_decisions,
    decide,
    make_central_offer,
    make_offers,
    make_paper_offer,
    make_public_offer,
    with_noise_weight,
)
from .game import MemberPower, WeightedGame, released_power
from .outcome import CandidateOutcome, DecisionVerdict, LevelCount, Outcome, PossibleRanges, WeightCount, WeightsOutcome
from .parameters import Parameters
from .protocol import DPWeVote
from .signed import OPTIMAL_LIMITS
from .variant import Offer

__all__ = [
    "OPTIMAL_LIMITS",
    "CandidateOutcome",
    "DPWeVote",
    "DecisionVerdict",
    "LevelCount",
    "MemberPower",
    "Offer",
    "Outcome",
    "Parameters",
    "PossibleRanges",
    "WeightCount",
    "WeightedGame",
    "WeightsOutcome",
    "chances_of_decisions",
    "decide",
    "make_central_offer",
    "make_offers",
    "make_paper_offer",
    "make_public_offer",
    "released_power",
    "with_noise_weight",
]
