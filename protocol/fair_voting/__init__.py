"""Fair and private voting: groups of voters rank alternatives, and the winner should treat the groups equally.

The parameter `mechanism` determines how a vote is private. The aggregator is trusted with the rankings in

- `laplace`, the paper's Algorithm 1: noise on the groups' utilities, from which anything may then be computed;
- `sampling`, the paper's Algorithm 2: few voters answer few questions, and with a small probability the winner is
  random;
- `exponential`, the exponential mechanism on the objective itself, and `permute_and_flip`, which is never worse;
- `pairwise`, for one group: noise on pairwise counts, from which the Copeland and Kemeny winners follow.

No party is trusted in the other mechanisms, which the paper lacks. In `sampled_pair`, `sampled_position`,
`whole_ranking` and `noisy_scores`, voters randomize their rankings; `local` is the one of these with the least
variance. In `joint_pair`, `joint_position`, `joint_ranking` and `joint_scores`, a voter's group is private, too, and
reported with the ranking; `joint` is the one of these with the least error in the smallest group. In `masked` the
aggregator learns only noisy sums.

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
