"""Promises on a protocol's declarations: its types, columns, rows and losses."""

import collections
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ...protocol.arrays import IntArray
from ...transports.promises import require
from ..deployment.own_rows import encode_chosen
from .cases import ProtocolCase

_ROUNDING: Final = 1e-9
_MOST_ROWS: Final = 64  # most private rows of one public row that are compared with each other


def _check_declaration(case: ProtocolCase) -> None:
    """A protocol has a name, types that are structs, and parameters from which it can be made again."""
    protocol = case.protocol
    name: Any = protocol.name
    require(isinstance(name, str) and name, f"the name is {name!r}")
    own_type = protocol.own_outcome_type
    kinds: dict[str, Any] = {"parameters_type": protocol.parameters_type, "outcome_type": protocol.outcome_type}
    for field, kind in (kinds if own_type is None else {**kinds, "own_outcome_type": own_type}).items():
        require(isinstance(kind, type) and issubclass(kind, msgspec.Struct), f"{field} is {kind!r}, and no struct")
    parameters = protocol.parameters
    require(
        isinstance(parameters, protocol.parameters_type), f"the parameters are {parameters!r}, not of parameters_type"
    )
    decoded_parameters = msgspec.msgpack.decode(protocol.encoded_parameters, type=protocol.parameters_type)
    require(decoded_parameters == parameters, f"the parameters {parameters!r} arrive as {decoded_parameters!r}")
    require(case.again().encoded_parameters == protocol.encoded_parameters, "made again, its parameters are others")


def check_columns(case: ProtocolCase) -> None:
    """The columns have distinct names, and there is at least one."""
    names: list[Any] = [column.name for column in case.protocol.columns()]
    require(names and all(isinstance(name, str) and name for name in names), f"the columns are called {names!r}")
    require(len({*names}) == len(names), f"the columns are called {names!r}")


def _check_losses(case: ProtocolCase) -> None:
    """Every phase states at least what it draws, for everybody and for each public row."""
    protocol = case.protocol
    _ = protocol.phases  # building phases checks their greatest losses
    try:
        public = case.inputs.public
    except Exception:  # noqa: BLE001  errors in rows belong to another promise
        return
    rows: list[list[int]] = np.unique(public, axis=0).tolist() if public.shape[1] else [[]]
    for row in rows:
        protocol.check_losses(row)
        for loss in protocol.losses_of(row):
            require(loss.proven > 0, f"a loss of {loss.proven} is stated for the public row {row[:12]}")
        max_loss = math.fsum(loss.proven for loss in protocol.losses)
        row_loss = math.fsum(loss.proven for loss in protocol.losses_of(row))
        complaint = (
            f"the public row {row[:12]} pays {row_loss:g}, and losses, which are to cover everybody, say {max_loss:g}"
        )
        require(row_loss <= max_loss * (1 + _ROUNDING), complaint)
    protocol.check_loss_groups(public)
    protocol.check_loss_groups(public[:0])


def _check_encoding(case: ProtocolCase) -> None:
    """A table becomes a row of integers for each party, the same each time, in the ranges of their mechanisms."""
    protocol, inputs, table = case.protocol, case.inputs, case.table
    require(len(inputs) == len(case), f"{len(case)} parties have {len(inputs)} rows")
    protocol.check_inputs(inputs)
    protocol.check_roster(inputs.public)
    if table is None:
        return
    second_inputs = case.again().encode(table)
    for kind, one, other in (
        ("private", inputs.private, second_inputs.private),
        ("public", inputs.public, second_inputs.public),
    ):
        require(np.array_equal(one, other), f"the {kind} rows are others the second time")
    columns_given = {column.name: table[column.name] for column in protocol.columns() if column.name in table}
    shared_columns = {column.name: columns_given[column.name] for column in protocol.columns() if not column.is_own}
    public = protocol.encode_public(shared_columns, num_parties=len(case))
    agreed_places = slice(0, inputs.public.shape[1] - protocol.num_chosen)
    same = public.shape == inputs.public.shape and np.array_equal(
        public[:, agreed_places], inputs.public[:, agreed_places]
    )
    require(same, "encode_public makes other public rows than encode")


def _check_own_rows(case: ProtocolCase) -> None:
    """A party that encodes its own entries has the row that encode has for it, and its public row fits."""
    protocol, table = case.protocol, case.table
    for place, (row, public) in enumerate(_rows_of(case)):
        protocol.check_public(public)
        protocol.check_row(row, public)
        if table is not None:
            entries = {name: column[place] for name, column in table.items()}
            chosen_numbers = [int(number) for number in encode_chosen(protocol, entries)]
            public_choices = list(public[len(public) - protocol.num_chosen :])
            require(
                chosen_numbers == public_choices,
                f"encode has {public_choices} for party {place}, encode_chosen has {chosen_numbers}",
            )
            own_numbers = [int(number) for number in protocol.encode_own(entries, public)]
            require(own_numbers == row, f"encode has {row[:12]} for party {place}, encode_own has {own_numbers[:12]}")


def _check_mechanism_groups(case: ProtocolCase) -> None:
    """In mechanism_groups everybody is there once, with the mechanism of mechanism_of."""
    public = case.inputs.public
    rows: list[list[int]] = public.tolist()
    for phase in case.protocol.phases:
        groups = phase.mechanism_groups(public)
        _require_everybody_once(phase.name, [places for _, places in groups], len(rows))
        for mechanism, places in groups:
            grouped_rows: list[int] = np.arange(len(rows))[places].tolist()
            for place in grouped_rows:
                row_mechanism = phase.mechanism_of(rows[place])
                complaint = (
                    f"in phase {phase.name!r} party {place} is grouped with {mechanism}, and has {row_mechanism}"
                )
                require(row_mechanism == mechanism, complaint)


def _check_loss_groups(case: ProtocolCase) -> None:
    """In loss_groups everybody is there once, with the losses of losses_of, and no two groups have one name."""
    public = case.inputs.public
    rows: list[list[int]] = public.tolist()
    for phase in case.protocol.phases:
        groups = phase.loss_groups(public)
        names = [name for name, _, _ in groups]
        require(len({*names}) == len(names), f"in phase {phase.name!r} groups are called {names!r}")
        require(names == [""] or all(names), f"in phase {phase.name!r} one of several groups has no name")
        grouped_losses = collections.Counter[str]()
        for _, count, losses in groups:
            grouped_losses[repr(losses)] += count
        single = collections.Counter(repr(phase.losses_of(row)) for row in rows)
        differing_losses = grouped_losses - single or single - grouped_losses
        complaint = (
            f"in phase {phase.name!r} groups and single persons pay differently: {next(iter(differing_losses), '')}"
        )
        require(not differing_losses, complaint)


def _check_kinds(case: ProtocolCase) -> None:
    """In kinds_of everybody is there once, and values_of holds what the party holds."""
    public = case.inputs.public
    for phase in case.protocol.phases:
        _require_everybody_once(phase.name, phase.kinds_of(public), len(public))
        for row, own_public in _rows_of(case):
            values = phase.values_of(own_public)
            require(len(values) == phase.num_values, f"in phase {phase.name!r} values_of has {len(values)} columns")
            for value, number in zip(row[phase.columns], values, strict=True):
                complaint = f"in phase {phase.name!r} a party holds {value}, which its public row does not allow"
                require(value in number, complaint)


def _check_rows(case: ProtocolCase) -> None:
    """Rows that parties hold are told apart by no more than is stated, and releases show nothing of them but noise."""
    values_by_group: dict[tuple[int, ...], dict[tuple[int, ...], None]] = {}
    for row, public in _rows_of(case):
        values_by_group.setdefault(tuple(public), {})[tuple(row)] = None
    for public, rows in values_by_group.items():
        case.protocol.check_losses(public, *list(rows)[:_MOST_ROWS])


def _rows_of(case: ProtocolCase) -> list[tuple[list[int], list[int]]]:
    """Return each party's private and public row."""
    private: list[list[int]] = case.inputs.private.tolist()
    public: list[list[int]] = case.inputs.public.tolist()
    return list(zip(private, public, strict=True))


def _require_everybody_once(phase: str, groups: Sequence[IntArray | slice], number: int) -> None:
    all_places = np.arange(number)
    places = sorted(place for group in groups for place in all_places[group].tolist())
    complaint = f"in phase {phase!r} {number} parties are grouped as the places {places[:12]}"
    require(places == all_places.tolist(), complaint)


DECLARED: Final[tuple[Callable[[ProtocolCase], None], ...]] = (
    _check_declaration,
    check_columns,
    _check_losses,
    _check_encoding,
    _check_own_rows,
    _check_mechanism_groups,
    _check_loss_groups,
    _check_kinds,
    _check_rows,
)
"""The checks in order; each may rely on the previous ones."""
