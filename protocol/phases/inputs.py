"""Everybody's inputs, as rows of integers.

A party's private input is a *row*: indices into public sets, or multiples of a public grid. Its public row is what the
server knows of it as well. `PhasedProtocol.encode` makes both from a table as users know it.
"""

import dataclasses

import numpy as np

from ..arrays import IntArray

__all__ = ["Inputs"]


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """All parties' inputs, one row each, in roster order.

    Args:
        private: int64, shape (n, private columns): known to its owner alone.
        public: int64, shape (n, public columns): known to the server as well.
    """

    private: IntArray
    public: IntArray

    def __post_init__(self) -> None:
        if not all(np.issubdtype(table.dtype, np.integer) for table in (self.private, self.public)):
            # A float would leave its party with its low bits in clear.
            raise TypeError(f"rows are integers, got {self.private.dtype} and {self.public.dtype}")
        if self.private.ndim != 2 or self.public.ndim != 2 or len(self.private) != len(self.public):  # noqa: PLR2004  tables
            raise ValueError(f"expected two tables of as many rows, got {self.private.shape} and {self.public.shape}")

    def of_range(self, start: int, stop: int) -> "Inputs":
        """Return the rows of the parties from `start` up to `stop`."""
        return Inputs(self.private[start:stop], self.public[start:stop])

    def __len__(self) -> int:
        return len(self.private)
