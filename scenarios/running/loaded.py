"""Parties from elsewhere: what a data set, a file of answers or a generator hands over."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ...protocol.phases import Entries

__all__ = ["Loaded"]


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Parties, in roster order.

    Args:
        names: theirs.
        table: the protocol's columns.
        lines: where each party stands in its file.
        source: that file, for errors.
        parameters: what their source says of the protocol's parameters, where the scenario does not.
        is_generated: what is private in the table is made up.
        is_public_record: everybody may know already what is private in the table.
        fixed: which of the parameters cannot be set otherwise, since the codes in the table mean nothing else.
        gold: what is true, where somebody knows: a name's true value.
        note: what became of the rows of their file, as a line for people.
    """

    names: Sequence[str]
    table: Mapping[str, Entries]
    lines: Sequence[int]
    source: str
    parameters: Mapping[str, Any]
    is_generated: bool = False
    is_public_record: bool = False
    fixed: frozenset[str] = frozenset()
    gold: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    note: str = ""
