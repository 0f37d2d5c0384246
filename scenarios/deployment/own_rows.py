"""Encode one party's entries and choices as its rows; errors name the column only."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...protocol.errors import ConfigurationError, list_choices, refuse, require
from ...protocol.phases import PhasedProtocol


def encode_own(
    protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any], public: Sequence[int]
) -> tuple[int, ...]:
    """Return a party's private row from its entries by column; errors name the column only.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> encode_own(vote, {"weight": "1", "roof": "yes"}, ())
        (0, 1, 0)
    """
    column_names = [column.name for column in protocol.columns()]
    for name in entries:
        refuse(name not in column_names, "column", name, list_choices(column_names, name))
    try:
        return protocol.encode_own(entries, public)
    except ConfigurationError as error:
        raise _drop_row_number(error) from None


def check_choices(protocol: PhasedProtocol[Any, Any], choices: Iterable[str]) -> None:
    """Raise ConfigurationError unless all these are public columns that parties choose.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> check_choices(vote, ["epsilon"])
        Traceback (most recent call last):
        psephos.protocol.errors.ConfigurationError: leave out --set: the session leaves nothing to choose
    """
    choice_names = [column.name for column in protocol.columns() if column.chosen]
    for name in choices:
        allowed = list_choices(choice_names, name) if choice_names else "left out: the session leaves nothing to choose"
        require(name in choice_names, "--set", name, allowed)


def encode_chosen(protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any]) -> tuple[int, ...]:
    """Return a party's public choices from its entries by column; other columns are ignored.

    Errors name the column only.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> encode_chosen(vote, {"weight": "1", "roof": "yes"})
        ()
    """
    choice_names = {column.name for column in protocol.columns() if column.chosen}
    try:
        return protocol.encode_chosen({name: entry for name, entry in entries.items() if name in choice_names})
    except ConfigurationError as error:
        raise _drop_row_number(error) from None


def with_choices(
    protocol: PhasedProtocol[Any, Any], entries: Mapping[str, Any], public: Sequence[int]
) -> tuple[int, ...]:
    """Return a party's public row with its choices; errors name the column only.

    Raises:
        ConfigurationError: as `PhasedProtocol.encode_chosen`; or the row has no columns for choices.
    """
    choice_row = encode_chosen(protocol, entries)
    num_public = len(public) - protocol.num_chosen
    allowed = f"at least the {protocol.num_chosen} numbers that the party chooses"
    refuse(
        num_public < 0 or len(choice_row) != protocol.num_chosen, "the server's public row", list(public[:12]), allowed
    )
    return (*public[:num_public], *choice_row)


def _drop_row_number(error: ConfigurationError) -> ConfigurationError:
    field = re.sub(r" in row 1(?=$|:)", "", error.field)
    return ConfigurationError(field=field, value=error.value, allowed=error.allowed)
