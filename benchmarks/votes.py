"""The vote that is measured: one candidate, weights of 1 to 3, everybody answers."""

from typing import Final

import numpy as np
from psephos.protocol.dpwevote import DPWeVote, Parameters
from sessions import Session

__all__ = ["Vote"]

_SEED: Final = 1


class Vote(Session):
    """A vote's partners.

    Args:
        num_partners: how many.
    """

    def __init__(self, num_partners: int) -> None:
        generator = np.random.default_rng(_SEED)
        protocol = DPWeVote(Parameters(candidates=("proposal",)))
        names = [f"partner-{place}" for place in range(num_partners)]
        weights, opinions = generator.integers(1, 4, num_partners), generator.integers(0, 2, num_partners)
        self.weights: list[int] = weights.tolist()
        self.opinions: list[int] = opinions.tolist()
        super().__init__(protocol, names, protocol.encode({"weight": weights, "proposal": opinions}))
