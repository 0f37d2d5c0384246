"""Records of pairwise choices of one voter, and of many voters.

A record is a pair of alternatives of which the voter chose one; an alternative is a vector of d features. A preference
depends only on their difference. Both are stored, since preprocessing may treat them separately.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final, overload

import numpy as np

from ..arrays import FloatArray, IntArray

GREATEST_FEATURE: Final = 1e9
"""The greatest absolute value of a feature. With larger ones, other records would be lost in a likelihood's
rounding."""


@dataclasses.dataclass(frozen=True, eq=False)
class Records(Sequence[FloatArray]):
    """The records of some voters, one voter after another: for each voter an array of shape (records, 2, d).

    Args:
        offsets: int64, shape (voters + 1,), from 0 upwards to the number of records: voter i has the records from
            offsets[i] up to offsets[i + 1].
        chosen: float64, shape (records, d): the features of the alternative that the voter chose.
        rejected: float64, shape (records, d): those of the other one.

    Raises:
        TypeError: an array has another type.
        ValueError: the shapes do not fit each other, or a feature is not in [−GREATEST_FEATURE, GREATEST_FEATURE].

    Examples:
        >>> records = Records.from_voters([np.array([[[2.0, 0.0], [1.0, 0.5]]])], num_features=2)
        >>> records.differences.tolist(), records.num_records.tolist()
        ([[1.0, -0.5]], [1])
    """

    offsets: IntArray
    chosen: FloatArray
    rejected: FloatArray

    def __post_init__(self) -> None:
        kinds = (self.offsets.dtype, self.chosen.dtype, self.rejected.dtype)
        if kinds != (np.int64, np.float64, np.float64):
            raise TypeError(f"offsets and features are {', '.join(map(str, kinds))}: give int64, float64, float64")
        if self.chosen.ndim != 2 or self.chosen.shape != self.rejected.shape:  # noqa: PLR2004  a table
            shapes = f"{self.chosen.shape} and {self.rejected.shape}"
            raise ValueError(f"tables have shapes {shapes}: give two of one shape (records, features)")
        check_offsets(self.offsets, len(self.chosen))
        if not (_are_allowed(self.chosen) and _are_allowed(self.rejected)):
            raise ValueError(
                f"features are out of range: use numbers from -{GREATEST_FEATURE:g} to {GREATEST_FEATURE:g}"
            )

    @classmethod
    def from_voters(cls, voters: Sequence[FloatArray], *, num_features: int) -> "Records":
        """Return the records of a sequence of voters.

        Args:
            voters: for each voter float64, shape (records, 2, d): the chosen alternative, then the rejected one.
            num_features: d.

        Raises:
            ValueError: an array has another shape.
        """
        for place, pairs in enumerate(voters):
            if pairs.ndim != 3 or pairs.shape[1:] != (2, num_features):  # noqa: PLR2004  pairs of vectors
                raise ValueError(f"voter {place} has records of shape {pairs.shape}: give (records, 2, {num_features})")
        offsets = np.cumsum([0, *(len(pairs) for pairs in voters)], dtype=np.int64)
        pairs = np.concatenate([np.empty((0, 2, num_features)), *voters])
        return cls(offsets, np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]))

    @property
    def num_features(self) -> int:
        """How many features there are: d."""
        return self.chosen.shape[1]

    @property
    def num_records(self) -> IntArray:
        """How many each voter has: int64, shape (voters,)."""
        return np.diff(self.offsets)

    @property
    def differences(self) -> FloatArray:
        """Chosen minus rejected: float64, shape (records, d)."""
        return self.chosen - self.rejected

    def slice_rows(self, start: int, stop: int) -> "Records":
        """Return the records of the voters from `start` up to `stop`."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return Records(self.offsets[start : stop + 1] - first, self.chosen[first:last], self.rejected[first:last])

    @overload
    def __getitem__(self, place: int) -> FloatArray: ...

    @overload
    def __getitem__(self, place: slice) -> list[FloatArray]: ...

    def __getitem__(self, place: int | slice) -> FloatArray | list[FloatArray]:
        """Return one voter's records: the chosen alternative, then the rejected one."""
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        voter = range(len(self))[place]
        rows = slice(int(self.offsets[voter]), int(self.offsets[voter + 1]))
        return np.stack([self.chosen[rows], self.rejected[rows]], axis=1)

    def __len__(self) -> int:
        return len(self.offsets) - 1


def check_offsets(offsets: IntArray, num_records: int) -> None:
    """Raise ValueError unless offsets say which of so many records are whose."""
    wrong = offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != num_records
    if wrong or np.any(np.diff(offsets) < 0):
        raise ValueError(
            f"offsets do not fit: give numbers that never fall, from 0 to {num_records}, the number of records"
        )


def _are_allowed(features: FloatArray) -> bool:
    return bool(np.all(np.abs(features) <= GREATEST_FEATURE))  # false for NaN
