"""General features of outputs, and scores learned from them, for cases without a score.

A feature maps an output, a row of integers, to one integer: a column, its low bits, the difference of two columns, the
count of a value, or a hash of the row. The score of a feature is the log-ratio of the frequencies of its value, or of a
range of values, in outputs of the two neighbors. Pairs of features, and the sum over all columns, give further scores.
The audit chooses among them by outputs that they were not learned from.

The features detect known faults: low bits of floating-point noise (Mironov, 2012), columns that share randomness,
reports that are drawn again, and values that only one neighbor can produce.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np
from scipy.special import xlogy

from ...protocol.arrays import FloatArray, IntArray
from .case import Score

_MOST_COLUMNS: Final = 16  # columns that are features by themselves; sums, counts and whole rows cover all columns
_MOST_PAIRED: Final = 6  # columns whose differences are features
_LOW_BITS: Final = (1, 3, 8)
_MOST_VALUES: Final = 4096  # values of a feature that are distinguished; if there are more, ranges are
_MOST_RANGES: Final = 128
_MOST_PER_SIDE: Final = 64  # ranges of each feature in a pair of features
_MOST_COUNTED: Final = 16  # distinct values in all columns, up to which each is counted
_MOST_IN_TABLE: Final = 1 << 16
_SMOOTHING: Final = 0.5

Named: TypeAlias = tuple[str, Score]  # a score with the phrase that names it


@dataclasses.dataclass(frozen=True, eq=False)
class OutputFeature:
    """A function from outputs, shape (number, width), to an integer for each, with its name."""

    name: str
    of: Callable[[IntArray], IntArray]
    is_column: bool = False


def features_of(outputs: IntArray, *, are_ordered: bool = False) -> Iterator[OutputFeature]:
    """Yield features in which such outputs of two neighbors, shape (number, width), may differ.

    With `are_ordered`, only features whose extremes and single values are meaningful events.
    """
    width = outputs.shape[1]
    for place in range(min(width, _MOST_COLUMNS)):
        yield OutputFeature(f"number {place + 1}", lambda rows, place=place: rows[:, place], is_column=True)
        if not are_ordered and int(outputs[:, place].max()) - int(outputs[:, place].min()) >= _MOST_COUNTED:
            for bits in _LOW_BITS:
                mask = (1 << bits) - 1
                yield OutputFeature(
                    f"number {place + 1}'s low {bits} bits", lambda rows, spot=place, mask=mask: rows[:, spot] & mask
                )
    if width == 1:
        return
    for one, other in itertools.combinations(range(min(width, _MOST_PAIRED)), 2):
        two = f"numbers {one + 1} and {other + 1}"
        yield OutputFeature(
            f"{two}, their difference", lambda rows, one=one, other=other: rows[:, one] - rows[:, other]
        )
        if not are_ordered:
            yield OutputFeature(
                f"{two}, whether equal",
                lambda rows, one=one, other=other: (rows[:, one] == rows[:, other]).astype(np.int64),
            )
    yield OutputFeature("all numbers, their sum", lambda rows: rows.sum(axis=1))
    yield OutputFeature("the greatest number", lambda rows: rows.max(axis=1))
    yield OutputFeature("the least number", lambda rows: rows.min(axis=1))
    if are_ordered:
        return
    yield OutputFeature("all numbers, how many differ", _num_different)
    yield OutputFeature("all numbers together", _whole)
    values = np.unique(outputs)
    if len(values) <= _MOST_COUNTED:
        for value in values.tolist():
            yield OutputFeature(f"how many numbers are {value}", lambda rows, value=value: (rows == value).sum(axis=1))


def outcome_feature() -> OutputFeature:
    """Return the feature of outputs that are indices of a law's columns."""
    return OutputFeature("place in the law", lambda rows: rows[:, 0], is_column=True)


def learn_scores(first: IntArray, second: IntArray) -> Iterator[Named]:
    """Yield scores that may distinguish two neighbors' outputs, shape (number, width); high for the first."""
    learned: list[_Learned] = []
    for feature in features_of(np.concatenate([first[:_MOST_VALUES], second[:_MOST_VALUES]])):
        learned_feature = _fit(feature, first, second)
        if learned_feature is not None:
            yield feature.name, learned_feature.score
            learned.append(learned_feature)
    single = [learned_feature for learned_feature in learned if learned_feature.feature.is_column]
    for learned_feature in single:  # the feature's value is a score by itself; nothing is learned, so it cannot overfit
        own_feature = learned_feature.feature
        yield (
            f"{own_feature.name}, large",
            lambda outputs, own_feature=own_feature: own_feature.of(outputs).astype(np.float64),
        )
        yield (
            f"{own_feature.name}, small",
            lambda outputs, own_feature=own_feature: -own_feature.of(outputs).astype(np.float64),
        )
    if len(single) > 1:
        yield "each number by itself, added up", _sum_scores(single)
    if learned:  # the feature that differs most, paired with each other feature
        best = max(learned, key=lambda learned_feature: learned_feature.difference).feature
        other_features = [learned_feature.feature for learned_feature in learned if learned_feature.feature is not best]
        yield from _fit_pairs(best, other_features, first, second)


@dataclasses.dataclass(frozen=True, eq=False)
class _Places:
    """Maps values to indices: of the sorted distinct values if they are few, else of ranges."""

    edges: IntArray
    is_exact: bool

    @property
    def size(self) -> int:
        """The number of indices, with one for values that did not occur."""
        return len(self.edges) + 1

    def of(self, values: IntArray) -> IntArray:
        """Return the index of each value."""
        if (table := self._table) is not None:
            low, high = int(self.edges[0]), int(self.edges[-1])
            # The table's first and last entries stand for all values beyond its ends.
            return table[np.clip(values, low - 1, high + 1) - (low - 1)]
        return self._search(values)

    def _search(self, values: IntArray) -> IntArray:
        positions = np.searchsorted(self.edges, values, side="left" if self.is_exact else "right")
        if self.is_exact:
            nearest = np.minimum(positions, len(self.edges) - 1)
            positions = np.where(self.edges[nearest] == values, nearest, len(self.edges))
        return positions.astype(np.int64)

    @functools.cached_property
    def _table(self) -> IntArray | None:
        """The index of every value between the first edge and the last; None if they are too many for a table."""
        low, high = int(self.edges[0]), int(self.edges[-1])
        if high - low > _MOST_IN_TABLE or min(low, -high) <= -(2**62):
            return None
        return self._search(np.arange(low - 1, high + 2, dtype=np.int64))


@dataclasses.dataclass(frozen=True, eq=False)
class _Learned:
    """A learned score: the log-ratio of frequencies of a feature's value, or of its range."""

    feature: OutputFeature
    places: _Places
    ratios: FloatArray
    difference: float

    def score(self, outputs: IntArray) -> FloatArray:
        """Return the scores of outputs."""
        return self.ratios[self.places.of(self.feature.of(outputs))]


def _fit(feature: OutputFeature, first: IntArray, second: IntArray) -> _Learned | None:
    """Return a feature's score; None if its values are all equal, or all distinct and unordered."""
    ones, other_values = feature.of(first), feature.of(second)
    places = _places_of(np.concatenate([ones, other_values]), _MOST_VALUES, _MOST_RANGES)
    if places is None or (feature.of is _whole and not places.is_exact):
        return None
    counts = [np.bincount(places.of(values), minlength=places.size) for values in (ones, other_values)]
    ratios = _ratios(counts[0], counts[1])
    # The smoothed symmetric divergence of the two neighbors' frequencies.
    return _Learned(feature, places, ratios, float(((counts[0] - counts[1]) * ratios).sum()))


def _fit_pairs(
    best: OutputFeature, other_features: Sequence[OutputFeature], first: IntArray, second: IntArray
) -> Iterator[Named]:
    """Yield the scores of one feature paired with each of the others."""
    sides = first, second
    rows = _places_of(np.concatenate([best.of(side) for side in sides]), _MOST_PER_SIDE, _MOST_PER_SIDE)
    assert rows is not None  # noqa: S101  the best one takes more than one value
    rows_of = [rows.of(best.of(side)) for side in sides]
    for other in other_features:
        values = [other.of(side) for side in sides]
        columns = _places_of(np.concatenate(values), _MOST_PER_SIDE, _MOST_PER_SIDE)
        if columns is None:
            continue
        counts = [
            np.bincount(row * columns.size + columns.of(values_of_row), minlength=rows.size * columns.size)
            for row, values_of_row in zip(rows_of, values, strict=True)
        ]
        yield f"{best.name}; {other.name}", _pair_score(best, rows, other, columns, _ratios(counts[0], counts[1]))


def _pair_score(
    best: OutputFeature, rows: _Places, other: OutputFeature, columns: _Places, ratios: FloatArray
) -> Score:
    return lambda outputs: ratios[rows.of(best.of(outputs)) * columns.size + columns.of(other.of(outputs))]


def _places_of(values: IntArray, most_values: int, most_ranges: int) -> _Places | None:
    """Return indices of distinct values if they are few, else of ranges with equal counts; None for a single one."""
    sorted_values = np.sort(values)
    distinct = sorted_values[np.concatenate([[True], sorted_values[1:] != sorted_values[:-1]])]
    if len(distinct) <= most_values:
        return _Places(distinct, is_exact=True) if len(distinct) > 1 else None
    places = np.linspace(0, len(sorted_values), most_ranges + 1)[1:-1]
    # Ranges are finer towards both ends, so that none of them hides a tail.
    ends = np.geomspace(1, len(sorted_values) / most_ranges, most_ranges.bit_length())
    places = np.concatenate([places, ends, len(sorted_values) - ends]).astype(np.int64)
    return _Places(np.unique(sorted_values[places]), is_exact=False)


def _ratios(first: IntArray, second: IntArray) -> FloatArray:
    # Half a pseudo-count for each neighbor keeps ratios finite, and the score of unseen values 0.
    return np.asarray(xlogy(1.0, first + _SMOOTHING) - xlogy(1.0, second + _SMOOTHING), dtype=np.float64)


def _sum_scores(tables: Sequence[_Learned]) -> Score:
    """Return the sum of the columns' scores: the log-ratio of whole rows if columns are independent."""

    def score(outputs: IntArray) -> FloatArray:
        total = np.zeros(len(outputs))
        for table in tables:
            total += table.score(outputs)
        return total

    return score


def _num_different(rows: IntArray) -> IntArray:
    sorted_rows = np.sort(rows, axis=1)
    return 1 + (sorted_rows[:, 1:] != sorted_rows[:, :-1]).sum(axis=1)


def _whole(rows: IntArray) -> IntArray:
    """Return a 64-bit hash of each row."""
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        # An odd factor and a shift, as in splitmix64; integers of 64 bits wrap around.
        hashes = (hashes ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes.astype(np.int64)
