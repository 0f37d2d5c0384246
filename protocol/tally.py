"""Tallies: mergeable sufficient statistics made of integers."""

import dataclasses

import numpy as np

from .arrays import IntArray, exact_column_sums

__all__ = ["Tally"]


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """Sums of integers over the clients that reported.

    `merge` adds; it is associative and commutative, and an empty tally is neutral, so the shards of an
    aggregator, the workers of a cluster and the batches of a simulation give one tally in any order.

    Args:
        num_reports: how many clients it covers.
        totals: int64, any shape that the phase chooses; summed over the clients.

    Raises:
        TypeError: the totals are of another type.
    """

    num_reports: int
    totals: IntArray

    def __post_init__(self) -> None:
        if self.totals.dtype != np.int64:  # floats would add up differently in another order, or be cut off
            raise TypeError(f"a tally's totals are int64, got {self.totals.dtype}")

    def merge(self, other: "Tally") -> "Tally":
        """Return the tally of both.

        Raises:
            ValueError: their shapes differ.
            OverflowError: a total would not fit into 64 bits.
        """
        if self.totals.shape != other.totals.shape:
            raise ValueError(f"tallies of shapes {self.totals.shape} and {other.totals.shape} do not merge")
        both = np.stack([self.totals.reshape(-1), other.totals.reshape(-1)])
        return Tally(self.num_reports + other.num_reports, exact_column_sums(both).reshape(self.totals.shape))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return self.num_reports == other.num_reports and np.array_equal(self.totals, other.totals)

    def __hash__(self) -> int:
        return hash((self.num_reports, self.totals.tobytes()))
