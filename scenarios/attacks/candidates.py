"""Candidate rows: the rows that a party may hold, for a coalition or an audit to distinguish.

If a protocol lists them (`PhasedProtocol.possible_entries`), its list is used. Otherwise they are all rows that its
mechanisms accept: every combination of the columns' values.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.errors import ConfigurationError
from ...protocol.guard import Values
from ...protocol.mechanisms.realized import rows_to_try
from ...protocol.phases import Inputs, PhasedProtocol
from ...protocol.plugin_faults import blaming


class CandidateRows(NamedTuple):
    """Distinct private rows of one person."""

    rows: IntArray  # int64, shape (c, private columns)
    labels: tuple[str, ...]  # distinct names of the rows
    public: IntArray  # int64, shape (any, public columns): their public rows; a single one for listed rows
    are_given: bool  # whether the protocol lists them; else they are the rows that its mechanisms accept


def columns_seen(protocol: PhasedProtocol[Any, Any]) -> list[int]:
    """Return the columns of a private row that some phase reads; the others cannot be learned."""
    return sorted({place for phase in protocol.phases for place in range(phase.columns.start, phase.columns.stop)})


def named_rows(protocol: PhasedProtocol[Any, Any]) -> CandidateRows | None:
    """Return the rows that the protocol lists as possible, at least two of them different; None without a list."""
    with blaming(protocol, "possible_entries"):
        table = protocol.possible_entries()
    if table is None:
        return None
    field = f"possible rows of protocol {protocol.name!r}"
    if not isinstance(table, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  plugin code may be untyped
        raise ConfigurationError(field=field, value=table, allowed="a table: by each column's name its entries")
    try:
        inputs = protocol.encode(table)
        protocol.check_inputs(inputs)
    except ConfigurationError as error:
        raise ConfigurationError(field=f"{field}: {error.field}", value=error.value, allowed=error.allowed) from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        allowed = f"a table that its own encode() takes ({type(error).__name__}: {error})"
        raise ConfigurationError(field=field, value=sorted(table), allowed=allowed) from error
    names = [column.name for column in protocol.columns() if column.private and column.name in table]
    lines = [[_show_entry(table[name][place]) for name in names] for place in range(len(inputs))]
    return _check_two(protocol, _drop_duplicates(inputs, _labels(names, lines), are_given=True))


def list_row_candidates(protocol: PhasedProtocol[Any, Any], public: Sequence[int], *, limit: int) -> CandidateRows:
    """Return all rows that the mechanisms accept from a party with this public row.

    Raises:
        ConfigurationError: there are more than `limit`, or none that differ.
    """
    rows = _rows_that_phases_name(protocol, public)
    if rows is None:
        values = _values_of(protocol, public)
        if (number := math.prod(map(len, values))) > limit:
            allowed = f"given by its method possible_entries(), or at most {limit:,} in all, so that they can be listed"
            field = f"possible rows of protocol {protocol.name!r}"
            raise ConfigurationError(field=field, value=f"{number:,} rows", allowed=allowed)
        rows = np.array(list(itertools.product(*values)), dtype=np.int64)
    return _check_two(protocol, _select_fitting(protocol, rows, public))


def sample_rows(protocol: PhasedProtocol[Any, Any], public: Sequence[int]) -> CandidateRows:
    """Return rows that the mechanisms accept from a party: all if they are few, else the extremes and some others.

    There is a single row if the public row leaves no choice.
    """
    rows = _rows_that_phases_name(protocol, public)
    return _select_fitting(protocol, rows_to_try(_values_of(protocol, public)) if rows is None else rows, public)


def _rows_that_phases_name(protocol: PhasedProtocol[Any, Any], public: Sequence[int]) -> IntArray | None:
    """Return the rows to which a phase that reads all columns restricts a party (`Guarded.rows_of`)."""
    width = max(phase.columns.stop for phase in protocol.phases)
    for phase in protocol.phases:
        if phase.num_values == width and (rows := phase.rows_of(public)) is not None:
            return rows
    return None


def _values_of(protocol: PhasedProtocol[Any, Any], public: Sequence[int]) -> Values:
    """Return the values of each column that all phases which read it accept."""
    values: list[Sequence[int] | None] = [None] * max(phase.columns.stop for phase in protocol.phases)
    for phase in protocol.phases:
        for place, phase_values in enumerate(phase.values_of(public), start=phase.columns.start):
            earlier_values = values[place]
            values[place] = (
                phase_values
                if earlier_values is None or earlier_values == phase_values
                else sorted({*earlier_values} & {*phase_values})
            )
    return [
        (0,) if phase_values is None else phase_values for phase_values in values
    ]  # columns that no phase reads cannot be learned


def _select_fitting(protocol: PhasedProtocol[Any, Any], rows: IntArray, public: Sequence[int]) -> CandidateRows:
    is_possible = np.array([_fits(protocol, row, public) for row in rows.tolist()], dtype=np.bool_)
    inputs = Inputs(rows[is_possible], np.tile(np.array(public, dtype=np.int64), (int(is_possible.sum()), 1)))
    names = [column.name for column in protocol.columns() if column.private]
    if len(names) != rows.shape[1]:
        names = [f"column {number}" for number in range(1, rows.shape[1] + 1)]
    return _drop_duplicates(inputs, _labels(names, inputs.private.tolist()), are_given=False)


def _fits(protocol: PhasedProtocol[Any, Any], row: Sequence[int], public: Sequence[int]) -> bool:
    try:
        protocol.check_row(row, public)
    except ValueError:
        return False
    trusting_phases = [phase for phase in protocol.phases if phase.model.trusts_server]
    try:
        for phase in trusting_phases:  # a trusted server sees the row itself
            phase.check_report(row[phase.columns], public)
    except Exception:  # noqa: BLE001  plugin code may raise anything; the server drops the sender
        return False
    return True


def _drop_duplicates(inputs: Inputs, labels: Sequence[str], *, are_given: bool) -> CandidateRows:
    """Return the distinct rows in order, each with its first label."""
    firsts: dict[tuple[int, ...], int] = {}
    for place, row in enumerate(inputs.private.tolist()):
        firsts.setdefault(tuple(row), place)
    first_places = list(firsts.values())
    first_labels = tuple(labels[place] for place in first_places)
    return CandidateRows(inputs.private[first_places], first_labels, np.unique(inputs.public, axis=0), are_given)


def _check_two(protocol: PhasedProtocol[Any, Any], candidates: CandidateRows) -> CandidateRows:
    """Raise ConfigurationError unless there are at least two rows to distinguish."""
    if len(candidates.rows) <= 1:
        field = f"possible rows of protocol {protocol.name!r}"
        raise ConfigurationError(
            field=field, value=f"{len(candidates.rows)} rows", allowed="at least two rows that differ"
        )
    return candidates


def _labels(names: Sequence[str], lines: Sequence[Sequence[Any]]) -> list[str]:
    if len(names) == 1:
        return [str(entry) for (entry,) in lines]
    return [", ".join(f"{name} {entry}" for name, entry in zip(names, line, strict=True)) for line in lines]


def _show_entry(entry: Any) -> str:
    plain = msgspec.to_builtins(entry.item() if isinstance(entry, np.generic) else entry)
    return f"{plain:.10g}" if isinstance(plain, float) else str(plain)
