"""Realized loss: the loss between two rows that a mechanism's law shows.

A report realizes the loss ln P[report | row] − ln P[report | another row]. Every proven ε for the two rows is at least
as large. So if a mechanism implements its law, this checks the event that it states, for any author's mechanism. If
rows and reports are few, all are enumerated, and the result is the smallest true ε. Otherwise some are tried, including
the ends of ranges and the rows themselves, and the result is a lower bound that the law attains.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray, IntArray
from ..errors import ConfigurationError
from .mechanism import Mechanism, Prepared, RowMechanism

# The most cells of a table of logarithms, which takes one or two hundredths of a second.
_MOST_CELLS: Final = 1 << 18
_MOST_ROWS: Final = 64
_MOST_REPORTS: Final = 1 << 10
# The values, or reports, that are tried of a column with more than fit into a table.
_SOME_VALUES: Final = 32
# The law of wider rows, or reports, is not tried, unless their values are randomized independently.
_WIDEST: Final = 8
# The assumed relative error of logarithms.
_ROUNDING: Final = 2.0**-46


CURE: Final = "values_of, rows_of, check_report"
"""The methods of a phase that say which rows a person may hold, for messages."""
MOST_SHOWN: Final = 12  # numbers of a row in a message
_AS_THEY_ARE: Final = (range, tuple)


class Gap(NamedTuple):
    """The greatest difference of two rows' logarithms, in nats, and the places of the likelier row and of the other."""

    loss: float
    row: int
    other: int


def realized_loss(
    mechanism: RowMechanism,
    values: Sequence[Sequence[int]],
    *,
    rows: IntArray | None = None,
    are_all_neighbors: bool = False,
) -> float:
    """Return a loss that the law attains between two rows: the smallest true ε if rows and reports are few.

    Args:
        mechanism: the mechanism.
        values: the possible values of each column.
        rows: the rows to compare, int64, shape (c, columns); by default all rows of these values, or some.
        are_all_neighbors: whether all pairs of rows are compared; by default only neighbors of the mechanism.

    Returns:
        The loss in nats; ∞ if a report is possible for only one of two rows, and 0 if the mechanism has no law.
    """
    try:
        if rows is None and isinstance(mechanism, Mechanism):
            return _loss_of_columns(mechanism, values, are_all_neighbors=are_all_neighbors)
        if rows is None:
            if max(len(values), mechanism.num_reports_of(len(values))) > _WIDEST:
                return 0.0
            rows = rows_to_try(values)
        log_laws = mechanism.log_likelihoods(reports_to_try(mechanism, rows), rows)
    except NotImplementedError:
        return 0.0
    return greatest_gap(log_laws, _neighbors_of(mechanism, rows, are_all_neighbors=are_all_neighbors)).loss


def greatest_gap(log_laws: FloatArray, are_neighbors: NDArray[np.bool_]) -> Gap:
    """Return the greatest difference of ln P[report | row] between two neighbors, minus a bound on its rounding error.

    Logarithms have shape (reports, rows). The loss is 0 if no two rows are neighbors, and ∞ if a report is possible for
    only one of two neighbors.
    """
    worst = Gap(0.0, 0, 0)
    with np.errstate(invalid="ignore"):  # −∞ − (−∞) is NaN, for a report that is impossible for both rows
        error = np.where(np.isfinite(log_laws), np.abs(log_laws) * _ROUNDING, 0.0)
        highs, lows = log_laws - error, log_laws + error
        # Rows with the same neighbors are processed together. Usually all rows are neighbors.
        kinds, kind_of_row = np.unique(are_neighbors, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            rows, partners = np.flatnonzero(kind_of_row.reshape(-1) == number), np.flatnonzero(kind)
            if not len(partners):
                continue
            gaps = highs[:, rows].max(axis=1) - lows[:, partners].min(axis=1)
            report = int(np.argmax(np.where(np.isnan(gaps), -np.inf, gaps)))
            if gaps[report] > worst.loss:
                row, other = (rows[np.argmax(highs[report, rows])], partners[np.argmin(lows[report, partners])])
                worst = Gap(float(gaps[report]), int(row), int(other))
    return worst


def non_neighbors_error(
    phase: str,
    mechanism: RowMechanism,
    rows: IntArray,
    *,
    among: NDArray[np.bool_] | bool = True,
    is_shown: bool = True,
) -> ConfigurationError | None:
    """Return an error if a mechanism's event does not bound the loss between two of these rows.

    Args:
        phase: the name of the phase.
        mechanism: the mechanism that randomizes the rows.
        rows: rows of one person, or tallies with them, int64, shape (c, columns).
        among: which pairs of rows are neighbors, shape (c, c); True for all.
        is_shown: whether the message quotes the rows; it must not quote private ones.
    """
    for pair in np.argwhere(among & ~mechanism.are_neighbors(rows, rows))[:1]:
        allowed = (
            f"neighbors of {type(mechanism).__name__}, since one person may hold either: give it the greatest distance "
            f"of two rows (its sensitivity, its are_neighbors), or say which rows a person may hold ({CURE})"
        )
        row_texts = format_rows(rows[pair], is_shown=is_shown)
        return ConfigurationError(field=f"rows of phase {phase!r}", value=row_texts, allowed=allowed)
    return None


def format_rows(rows: IntArray, *, is_shown: bool) -> str:
    """Return how a sentence names two rows: not by what they hold where this is private."""
    return " and ".join(str(row[:MOST_SHOWN]) for row in rows.tolist()) if is_shown else "a private row and another"


def differ_in_one(rows: IntArray) -> NDArray[np.bool_]:
    """Return which pairs of rows, shape (c, columns), differ in one value: shape (c, c)."""
    return np.array([(rows != row).sum(axis=1) == 1 for row in rows], dtype=np.bool_).reshape(len(rows), len(rows))


def key_of(
    mechanism: RowMechanism, values: Sequence[Sequence[int]], rows: IntArray | None
) -> tuple[int, tuple[range | tuple[int, ...], ...], bytes | None]:
    """Return a key for a mechanism's laws of some rows; columns are in one order if the mechanism ignores theirs."""
    columns = [column if isinstance(column, _AS_THEY_ARE) else tuple(column) for column in values]
    if rows is not None:
        return id(mechanism), tuple(columns), rows.tobytes()
    if mechanism.ignores_order and len(set(columns)) > 1:
        columns.sort(key=lambda column: (len(column), column[0], column[-1]))
    return id(mechanism), tuple(columns), None


def rows_to_try(values: Sequence[Sequence[int]]) -> IntArray:
    """Return all rows of these values, shape (c, columns), or, of many, some: evenly among all, and columns' ends."""
    sample = _sample_rows(values, _MOST_ROWS)
    if math.prod(len(column) for column in values[:_WIDEST]) <= _MOST_ROWS and len(values) <= _WIDEST:
        return np.array(sample, dtype=np.int64)
    rows = dict.fromkeys(sample)
    nearest = [_nearest_to_zero(column) for column in values]
    rows[tuple(nearest)] = None
    for place, column in enumerate(values[:_WIDEST]):
        for end in (column[0], column[-1]):
            rows[*nearest[:place], end, *nearest[place + 1 :]] = None
    return np.array(list(rows), dtype=np.int64)


def reports_to_try(mechanism: RowMechanism, rows: IntArray) -> IntArray:
    """Return all reports, or, of many, some: evenly among all, and these rows themselves where they can be such."""
    low, high = mechanism.report_range
    width = mechanism.num_reports_of(rows.shape[1])
    values = [range(low, high + 1)] * width
    if width <= _WIDEST and (high + 1 - low) ** width <= _MOST_REPORTS:
        return np.array(_sample_rows(values, _MOST_REPORTS), dtype=np.int64)
    reports = _sample_rows(values, _MOST_REPORTS // 4)
    while isinstance(mechanism, Prepared):
        rows, mechanism = mechanism.prepare_rows(rows), mechanism.noise
    if rows.shape[1] == width:
        reports += [tuple(row) for row in np.clip(rows, low, high).tolist()]
    return np.unique(np.array(reports, dtype=np.int64), axis=0)


def _neighbors_of(mechanism: RowMechanism, rows: IntArray, *, are_all_neighbors: bool) -> NDArray[np.bool_]:
    return np.ones((len(rows), len(rows)), dtype=np.bool_) if are_all_neighbors else mechanism.are_neighbors(rows, rows)


def _loss_of_columns(mechanism: Mechanism, values: Sequence[Sequence[int]], *, are_all_neighbors: bool) -> float:
    """Return the loss of independent columns: their sum, if rows that differ in all of them are neighbors."""
    counts = Counter(column if isinstance(column, range) else tuple(column) for column in values if len(column) > 1)
    worst = {column: _worst_values(mechanism, column, are_all_neighbors=are_all_neighbors) for column in counts}
    pairs = [(gap.row, gap.other) for column, gap in worst.items() for _ in range(counts[column])]
    if not pairs:
        return 0.0
    first, second = (np.array([row], dtype=np.int64) for row in zip(*pairs, strict=True))
    if are_all_neighbors or mechanism.are_neighbors(first, second)[0, 0]:
        return math.fsum(worst[column].loss * number for column, number in counts.items())
    return max(gap.loss for gap in worst.values())


def _worst_values(mechanism: Mechanism, column: Sequence[int], *, are_all_neighbors: bool) -> Gap:
    """Return the greatest loss of a single value, and between which two, instead of between which rows."""
    low, high = mechanism.report_range
    if len(column) * (high + 1 - low) <= _MOST_CELLS:
        values, reports = np.array(column, dtype=np.int64), np.arange(low, high + 1, dtype=np.int64)
    else:
        values = np.array([column[place] for place in _sample_places(len(column), _SOME_VALUES)], dtype=np.int64)
        sample = [low + place for place in _sample_places(high + 1 - low, 4 * _SOME_VALUES)]
        reports = np.unique(np.concatenate([np.array(sample, dtype=np.int64), np.clip(values, low, high)]))
    allowed = _neighbors_of(mechanism, values[:, None], are_all_neighbors=are_all_neighbors)
    gap = greatest_gap(mechanism.log_probabilities(reports, values), allowed)
    return gap._replace(row=int(values[gap.row]), other=int(values[gap.other]))


def _sample_places(total: int, number: int) -> list[int]:
    """Return some of `total` places, both ends and both ends' neighbors among them."""
    if total <= number:
        return list(range(total))
    return sorted({1, total - 2, *(place * (total - 1) // (number - 1) for place in range(number))})


def _nearest_to_zero(column: Sequence[int]) -> int:
    """Return the value nearest to zero, of a range without a look at all of it."""
    if isinstance(column, range):
        return 0 if 0 in column else min(column[0], column[-1], key=abs)
    return min(column, key=abs)


def _sample_rows(values: Sequence[Sequence[int]], number: int) -> list[tuple[int, ...]]:
    """Return `number` rows of these values, evenly among all; the two ends of wide ones."""
    if len(values) > _WIDEST:
        return [tuple(column[0] for column in values), tuple(column[-1] for column in values)]
    lengths = [len(column) for column in values]
    return [_row_of(place, values, lengths) for place in _sample_places(math.prod(lengths), number)]


def _row_of(number: int, values: Sequence[Sequence[int]], lengths: Sequence[int]) -> tuple[int, ...]:
    """Return the row that is `number`-th of all rows of these values."""
    row: list[int] = []
    for column, length in zip(reversed(values), reversed(lengths), strict=True):
        number, place = divmod(number, length)
        row.append(column[place])
    return tuple(reversed(row))
