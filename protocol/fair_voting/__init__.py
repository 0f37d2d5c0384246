"""Fair and private voting: groups of voters rank alternatives, and one wins that treats the groups alike.

How a vote is kept private is its parameter `mechanism`. The aggregator is trusted with the rankings in

- `laplace`, the paper's Algorithm 1: noise on the groups' utilities, from which anything may then be computed;
- `sampling`, the paper's Algorithm 2: few voters are asked few questions, and now and then the winner is random;
- `exponential`, the exponential mechanism on the objective itself, and `permute_and_flip`, which is never worse;
- `pairwise`, of one group: noise on pairwise counts, from which Copeland's and Kemeny's winners are read.

Nobody is trusted in `sampled_pair`, `sampled_position`, `whole_ranking` and `noisy_scores`, which the paper lacks:
voters randomize their rankings themselves. `local` is the one of them with the least variance. In `joint_pair`,
`joint_position`, `joint_ranking` and `joint_scores` a voter's group is private too, and reported with the ranking;
`joint` is the one of them with the least error in the smallest group. Nor is anybody in `masked`, where the aggregator
learns noisy sums alone.

Source: Mohsin, Fair and Private Voting Rules, project report.
"""

from .assurance import Assurance
from .features import Feature
from .objective import Objective, disparity_of, welfare_of
from .outcome import AlternativeOutcome, Details, FeatureOutcome, Outcome
from .parameters import Parameters
from .phases import DisclosedRankings, JointRankings, MaskedRankings, RandomizedRankings
from .protocol import FairVoting
from .rankings import Rankings, positions_of_orders
from .rules import RULES
from .scoring import Scoring, make_scores

__all__ = [
    "RULES",
    "AlternativeOutcome",
    "Assurance",
    "Details",
    "DisclosedRankings",
    "FairVoting",
    "Feature",
    "FeatureOutcome",
    "JointRankings",
    "MaskedRankings",
    "Objective",
    "Outcome",
    "Parameters",
    "RandomizedRankings",
    "Rankings",
    "Scoring",
    "disparity_of",
    "make_scores",
    "positions_of_orders",
    "welfare_of",
]
