"""The votes of the experiments, and what partners hold there: pairs of a weight and an opinion.

A pair is a number: 2·(the weight's place in the public set) + (1 for yes, 0 for no).
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.dpwevote import DPWeVote, Parameters
from ....protocol.phases import Inputs
from ....protocol.randomness import philox_rows

WEIGHTS = (1.0, 2.0, 3.0)
SIGNED_WEIGHTS = (-1, 1, -2, 2, -3, 3)
"""Of each pair: twice what it truly adds to the margin, the quota being half of all weight."""


def make_vote(variant: str, *, epsilon: float, prior: str | None = None, split: float | None = None) -> DPWeVote:
    """Return a vote on one candidate with the paper's weights.

    Of ε, the price of the candidate with its weight, the part `split` goes to the weight, by default half. Variant
    "optimal" has a prior.
    """
    given: dict[str, Any] = {"candidates": ("candidate",), "weights": WEIGHTS, "variant": variant, "epsilon": epsilon}
    if prior is not None:
        given["prior"] = prior
    if split is not None:
        given |= {"epsilon_weight": split * epsilon, "epsilon_opinion": (1 - split) * epsilon}
    return DPWeVote(Parameters(**given))


def inputs_of_pairs(vote: DPWeVote) -> Inputs:
    """Return the row that the protocol makes of each pair."""
    opinions = np.tile(np.array([0, 1]), len(WEIGHTS))
    return vote.encode({"weight": np.repeat(np.array(WEIGHTS), 2), vote.parameters.candidates[0]: opinions})


@dataclasses.dataclass(frozen=True)
class Workload:
    """How the pairs are spread."""

    name: str  # short, in files
    shares: tuple[float, ...]  # of each pair, summing to 1
    # each partner's pair is drawn anew in every trial; else as many partners hold a pair as its share says, the same
    # in every trial
    is_drawn: bool

    def numbers(self, num_partners: int) -> tuple[int, ...]:
        """Return how many partners hold each pair where nothing is drawn: shares, rounded by largest remainders."""
        exact = [share * num_partners for share in self.shares]
        # A share such as 0.3·10 may fall short of a whole number by a rounding error.
        whole = [math.floor(number + 1e-9) for number in exact]
        by_remainder = sorted(range(len(exact)), key=lambda pair: (whole[pair] - exact[pair], pair))
        for pair in by_remainder[: num_partners - sum(whole)]:
            whole[pair] += 1
        return tuple(whole)

    def pairs(self, num_partners: int, *, key: int, start: int, stop: int) -> IntArray:
        """Return the pairs of the partners of some trials, from a stream: int64, shape (trials, num_partners)."""
        if not self.is_drawn:
            one = np.repeat(np.arange(len(self.shares), dtype=np.int64), self.numbers(num_partners))
            return np.tile(one, (stop - start, 1))
        uniforms = philox_rows(key, start=start, stop=stop, slots=num_partners)
        pairs = np.zeros(uniforms.shape, dtype=np.int8)
        for end in np.cumsum(np.array(self.shares))[:-1]:  # a tenth of a search
            pairs += uniforms >= end
        return pairs.astype(np.int64)


def votes_of(name: str, yes: float) -> Workload:
    """Return fixed pairs with this share of yes votes, of all weights alike ("even") or of weight 3 ("threes")."""
    weights = {"even": (1 / 3, 1 / 3, 1 / 3), "threes": (0.0, 0.0, 1.0)}[name]
    return Workload(f"{name}-{yes:.4f}", _spread(weights, (yes, yes, yes)), is_drawn=False)


def _spread(weights: Sequence[float], yes: Sequence[float]) -> tuple[float, ...]:
    """Return the shares of all pairs from those of the weights and of the yes votes among each."""
    return tuple(
        share * part for share, agreeing in zip(weights, yes, strict=True) for part in (1 - agreeing, agreeing)
    )


UNIFORM: Final = Workload("uniform", (1 / 6,) * 6, is_drawn=True)
"""Section 5.1.1, reading W1: weights and opinions independent."""
FIXED: Final = (
    Workload("all-heavy", votes_of("threes", 0.6).shares, is_drawn=False),
    Workload("few-heavy", _spread((0.9, 0.0, 0.1), (0.4, 0.0, 0.4)), is_drawn=False),
)
"""Reading W2: all weights 3, 60 % yes; and many small partners with a few large ones, as most electorates are."""
