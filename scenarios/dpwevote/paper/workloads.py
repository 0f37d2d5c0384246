"""The experiments' votes, and distributions of partners' pairs of weight and opinion.

A pair is encoded as 2·(index of the weight in the public set) + (1 for yes, 0 for no).
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.dpwevote import DPWeVote, Parameters
from ....protocol.phases import Inputs
from ....protocol.randomness import philox_rows

WEIGHTS = (1.0, 2.0, 3.0)
SIGNED_WEIGHTS = (-1, 1, -2, 2, -3, 3)
"""Twice each pair's true contribution to the margin, with a quota of half of the total weight."""


@functools.cache
def make_vote(variant: str, *, epsilon: float, split: float | None = None, **options: Any) -> DPWeVote:
    """Return a vote on one candidate with the paper's weights.

    `epsilon` is the ε of the candidate with its weight, and `split` the fraction for the weight, by default half.
    `options` are other parameters of the vote, and override these.

    Examples:
        >>> vote = make_vote("joint", epsilon=2.0, split=0.25)
        >>> vote.parameters.epsilon_weight, vote.parameters.epsilon_opinion
        (0.5, 1.5)
    """
    parameters: dict[str, Any] = {
        "candidates": ("candidate",),
        "weights": WEIGHTS,
        "variant": variant,
        "epsilon": epsilon,
    }
    if split is not None:
        parameters |= {"epsilon_weight": split * epsilon, "epsilon_opinion": (1 - split) * epsilon}
    return DPWeVote(Parameters(**parameters | options))


def inputs_of_pairs(vote: DPWeVote) -> Inputs:
    """Return the protocol's rows of all pairs.

    Examples:
        >>> inputs_of_pairs(make_vote("joint", epsilon=1.0)).private.tolist()
        [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1], [2, 0, 2], [2, 1, 2]]
    """
    opinions = np.tile([0, 1], len(WEIGHTS))
    return vote.encode({"weight": np.repeat(WEIGHTS, 2), vote.parameters.candidates[0]: opinions})


@dataclasses.dataclass(frozen=True)
class Workload:
    """A distribution of pairs among partners.

    Examples:
        >>> UNIFORM.pairs(5, key=1, start=0, stop=2).shape
        (2, 5)
    """

    name: str  # a short name, for files
    shares: tuple[float, ...]  # the fraction of each pair, with sum 1
    # Whether each partner's pair is drawn anew in every trial; otherwise numbers follow the shares, the same in every
    # trial.
    is_drawn: bool

    def numbers(self, num_partners: int) -> tuple[int, ...]:
        """Return the number of partners with each pair if nothing is drawn: shares, rounded by largest remainders.

        Examples:
            >>> fixed_votes("even", (1 / 3, 1 / 3, 1 / 3), 0.6).numbers(15)
            (2, 3, 2, 3, 2, 3)
        """
        exact = np.array(self.shares) * num_partners
        # A product such as 0.3·10 may be below a whole number by a rounding error.
        whole = np.floor(exact + 1e-9).astype(np.int64)
        by_remainder = np.argsort(whole - exact, kind="stable")
        whole[by_remainder[: num_partners - whole.sum()]] += 1
        return tuple(whole.tolist())

    def pairs(self, num_partners: int, *, key: int, start: int, stop: int) -> IntArray:
        """Return the partners' pairs in trials `start` to `stop`, int64, shape (trials, num_partners)."""
        if not self.is_drawn:
            one = np.repeat(np.arange(len(self.shares), dtype=np.int64), self.numbers(num_partners))
            return np.tile(one, (stop - start, 1))
        uniforms = philox_rows(key, start=start, stop=stop, slots=num_partners)
        pairs = np.zeros(uniforms.shape, dtype=np.int8)
        for end in np.cumsum(np.array(self.shares))[:-1]:  # ten times as fast as a binary search
            pairs += uniforms >= end
        return pairs.astype(np.int64)


def fixed_votes(name: str, weights: Sequence[float], yes: float) -> Workload:
    """Return fixed pairs from the shares of weights, and one share of yes votes for all weights.

    Examples:
        >>> fixed_votes("threes", (0.0, 0.0, 1.0), 0.75).shares
        (0.0, 0.0, 0.0, 0.0, 0.25, 0.75)
    """
    shares = tuple(share * part for share in weights for part in (1 - yes, yes))
    return Workload(name, shares, is_drawn=False)


UNIFORM: Final = Workload("uniform", (1 / 6,) * 6, is_drawn=True)
"""Section 5.1.1, reading W1: weights and opinions are independent and uniform."""
FIXED: Final = (
    fixed_votes("all-heavy", (0.0, 0.0, 1.0), 0.6),
    fixed_votes("few-heavy", (0.9, 0.0, 0.1), 0.4),
)
"""Reading W2: all weights 3, 60 % yes; and many small partners with a few large ones, as in most electorates."""
