"""The vote that is measured: one candidate, weights of 1 to 3, everybody answers."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from psephos.protocol.dpwevote import DPWeVote, Parameters
from psephos.protocol.phases import Inputs, PhasedProtocol
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
        self._protocol = DPWeVote(Parameters(candidates=("proposal",)))
        self._names = [f"partner-{place}" for place in range(num_partners)]
        weights, opinions = generator.integers(1, 4, num_partners), generator.integers(0, 2, num_partners)
        self.weights: list[int] = weights.tolist()
        self.opinions: list[int] = opinions.tolist()
        self._inputs = self._protocol.encode({"weight": weights, "proposal": opinions})

    @property
    def protocol(self) -> PhasedProtocol[Any, Any]:
        """DPWeVote with default parameters."""
        return self._protocol

    @property
    def names(self) -> Sequence[str]:
        """The partners."""
        return self._names

    @property
    def inputs(self) -> Inputs:
        """Their weights and opinions."""
        return self._inputs
