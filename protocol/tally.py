"""Tallies: mergeable sufficient statistics made of integers.

Most are sums. If an estimator needs single reports, a tally holds them as rows, and merging takes their union.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from .arrays import IntArray, exact_column_sums

NOT_THERE: Final = IndexError, ValueError
"""The errors of code that reads array elements that do not exist."""


@dataclasses.dataclass(frozen=True, eq=False)
class Tally:
    """Sums of integers over the clients that reported.

    `merge` is associative and commutative, and an empty tally is neutral. So the shards of an aggregator, the workers
    of a cluster and the batches of a simulation merge into the same tally in any order.

    Args:
        num_reports: the number of clients; 0 once it is removed (`hide_count`).
        totals: sums over the clients: int64, of a shape that the phase chooses.
        rows: single reports, in ascending order: int64, shape (any number, columns of the phase's choice). Equal rows
            are repeated. If the identity of clients matters, a column holds the client's roster index.

    Raises:
        TypeError: totals or rows are not int64 arrays.
        ValueError: the rows are not two-dimensional.

    Examples:
        >>> import numpy as np
        >>> first, second = (Tally(2, np.array(totals)) for totals in ([1, 1], [0, 2]))
        >>> both = first.merge(second)
        >>> both.num_reports, both.totals.tolist()
        (4, [1, 3])
    """

    num_reports: int
    totals: IntArray
    rows: IntArray = dataclasses.field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))

    def __post_init__(self) -> None:
        for name, numbers in (("totals", self.totals), ("rows", self.rows)):
            if numbers.dtype != np.int64:  # sums of floats would depend on the order
                raise TypeError(f"a tally's {name} are {numbers.dtype}: convert them to int64")
        if self.rows.ndim != 2:  # noqa: PLR2004  a table
            raise ValueError(f"a tally's rows have shape {self.rows.shape}: give a table")

    def merge(self, other: "Tally") -> "Tally":
        """Return the tally of both.

        Raises:
            ValueError: their shapes differ.
            OverflowError: a total would not fit into 64 bits.

        Examples:
            >>> import numpy as np
            >>> Tally(1, np.array([1, 0])).merge(Tally(1, np.array([0, 1]))).totals.tolist()
            [1, 1]
        """
        if self.totals.shape != other.totals.shape or self.rows.shape[1:] != other.rows.shape[1:]:
            shapes = [(tally.totals.shape, tally.rows.shape) for tally in (self, other)]
            raise ValueError(f"tallies of shapes {shapes[0]} and {shapes[1]} do not merge")
        tables = np.stack([self.totals.reshape(-1), other.totals.reshape(-1)])
        totals = exact_column_sums(tables).reshape(self.totals.shape)
        return Tally(self.num_reports + other.num_reports, totals, _union([self.rows, other.rows]))

    def hide_count(self) -> "Tally":
        """Return the tally without the number of reports, for private participation.

        Examples:
            >>> import numpy as np
            >>> Tally(7, np.array([3])).hide_count().num_reports
            0
        """
        return dataclasses.replace(self, num_reports=0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (
            self.num_reports == other.num_reports
            and np.array_equal(self.totals, other.totals)
            and np.array_equal(self.rows, other.rows)
        )

    def __hash__(self) -> int:
        return hash((self.num_reports, self.totals.tobytes(), self.rows.tobytes()))


@dataclasses.dataclass(frozen=True, eq=False)
class TallyBlock:
    """One phase's tallies of many sessions.

    Args:
        num_reports: the number of reports in each session.
        totals: int64, shape (sessions, ...).
        rows: int64, shape (sessions, rows per session, columns); None if the tallies have no rows.

    Examples:
        >>> import numpy as np
        >>> block = TallyBlock.from_tallies([Tally(2, np.array([1, 1])), Tally(2, np.array([2, 0]))])
        >>> len(block), block.tally(1).totals.tolist()
        (2, [2, 0])
    """

    num_reports: int
    totals: IntArray
    rows: IntArray = dataclasses.field(default_factory=lambda: np.empty((0, 0, 0), dtype=np.int64))

    @classmethod
    def from_tallies(cls, tallies: Sequence[Tally]) -> "TallyBlock":
        """Return tallies of sessions of equal size, at least one, side by side; ValueError where numbers differ."""
        if len({(tally.num_reports, tally.rows.shape) for tally in tallies}) > 1:
            raise ValueError("tallies of different numbers of reports, or of rows, do not stand side by side")
        totals, rows = np.stack([tally.totals for tally in tallies]), np.stack([tally.rows for tally in tallies])
        return cls(tallies[0].num_reports, totals, rows)

    def __len__(self) -> int:
        return len(self.totals)

    def tally(self, number: int) -> Tally:
        """Return one session's tally."""
        row_fields = {"rows": self.rows[number]} if len(self.rows) else {}
        return Tally(self.num_reports, self.totals[number], **row_fields)

    def broadcast(self, num_sessions: int) -> "TallyBlock":
        """Return the tallies of this many sessions, from those of one that stands for all, or of each."""
        totals = np.broadcast_to(self.totals, (num_sessions, *self.totals.shape[1:]))
        rows = np.broadcast_to(self.rows, (num_sessions, *self.rows.shape[1:])) if len(self.rows) else self.rows
        return TallyBlock(self.num_reports, totals, rows)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Decisions:
    """The decisions of many sessions, as arrays, without statements. A protocol's subclass adds arrays.

    Args:
        kinds: a function that returns int64, shape (sessions, any number). Sessions with equal rows have outcomes of
            the same size in bytes; it is called only if bytes are counted.
    """

    kinds: Callable[[], IntArray]


class Merged:
    """A merger of many tallies, in any order. It adds totals as they come, and copies rows once, at the end.

    Examples:
        >>> import numpy as np
        >>> merged = Merged()
        >>> for total in (1, 2, 3):
        ...     merged.add(Tally(1, np.array([total])))
        >>> merged.total().totals.tolist()
        [6]
    """

    def __init__(self) -> None:
        self._without_rows: Tally | None = None
        self._rows: list[IntArray] = []

    def add(self, tally: Tally) -> None:
        """Add a tally.

        Raises:
            ValueError, OverflowError: as `Tally.merge`.
        """
        bare = dataclasses.replace(tally, rows=tally.rows[:0])
        self._without_rows = bare if self._without_rows is None else self._without_rows.merge(bare)
        self._rows.append(tally.rows)

    def total(self) -> Tally:
        """Return the merged tally.

        Raises:
            ValueError: no tally was added.
        """
        if self._without_rows is None:
            raise ValueError("there is no tally to merge")
        return dataclasses.replace(self._without_rows, rows=_union(self._rows))


def _union(parts: Sequence[IntArray]) -> IntArray:
    """Return the rows of all, at least one, in ascending order, where each has its own in that order."""
    filled = sorted((part for part in parts if len(part)), key=lambda part: part[0].tolist())
    if len(filled) < 2:  # noqa: PLR2004  nothing to join
        return filled[0] if filled else parts[0]
    rows = np.concatenate(filled)
    if all(
        earlier_rows[-1].tolist() <= later_rows[0].tolist() for earlier_rows, later_rows in itertools.pairwise(filled)
    ):
        return rows  # batches in roster order are sorted already
    return rows[np.lexsort(rows.T[::-1])]


def describe_earlier(names: Sequence[str], earlier: Sequence[IntArray]) -> str:
    """Describe the reports of these earlier phases that a tally gets.

    Examples:
        >>> import numpy as np
        >>> describe_earlier(["weights"], [np.empty((5, 1), dtype=int)])
        "`earlier` has an array of each phase before (phase 'weights': shape (n, 1))"
    """
    if not earlier:
        return "`earlier` is empty, since no phase is before this one"
    texts = (
        f"phase {name!r}: shape (n, {tally.shape[1]}){'' if tally.shape[1] else ', since its values were disclosed'}"
        for name, tally in zip(names, earlier, strict=False)
    )
    return f"`earlier` has an array of each phase before ({'; '.join(texts)})"
