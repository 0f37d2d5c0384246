"""The columns of the table that a protocol's users fill in: what they are called, and what is wrong with others."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from numpy.typing import NDArray

from .errors import ConfigurationError, did_you_mean

__all__ = ["Column", "Entries", "check_columns", "missing_column", "unknown_column"]

Entries: TypeAlias = Sequence[Any] | NDArray[Any]
"""One column of a table as its users know it: text or numbers, a party each."""

_MOST_NAMED: Final = 12
"""Columns in an error message."""


class Column(msgspec.Struct, frozen=True):
    """A column of the table that a protocol's users fill in.

    Args:
        name: its header.
        private: whether only its owner may know it.
        description: what it holds and what is allowed, as a phrase.
        chosen: whether it is public and each party says its own as it joins, so that no roster has it: an integer at
            the end of its public row (`PhasedProtocol.num_chosen`).

    Raises:
        ConfigurationError: it is chosen and private.
    """

    name: str
    private: bool
    description: str
    chosen: bool = False

    def __post_init__(self) -> None:
        if self.chosen and self.private:
            allowed = "public: what a party chooses as it joins, the server is told"
            raise ConfigurationError(field=f"column {self.name!r}", value="private and chosen", allowed=allowed)

    @property
    def is_own(self) -> bool:
        """Whether a party alone says it, and no roster has it."""
        return self.private or self.chosen


def missing_column(name: str) -> ConfigurationError:
    """Return the error for a table without a column that it needs."""
    return ConfigurationError(field=name, value="no such column", allowed="a column of the table")


def unknown_column(name: str, known: Sequence[str], *, field: str = "") -> ConfigurationError:
    """Return the error for a table with a column that it does not take: a misspelled one, or another table's.

    Args:
        name: the column's.
        known: those that it takes.
        field: how the error calls it; by default by its name.
    """
    shown = f"{', '.join(known[:_MOST_NAMED])}{', ...' if len(known) > _MOST_NAMED else ''}"
    allowed = f"left out: the columns are {shown}{did_you_mean(name, known)}"
    return ConfigurationError(field=field or name, value="an unknown column", allowed=allowed)


def check_columns(columns: Iterable[Column], names: Iterable[str]) -> None:
    """Raise ConfigurationError unless a table has these columns and no other.

    Args:
        columns: the protocol's.
        names: the table's.
    """
    known, given = [column.name for column in columns], list(names)
    for name in known:
        if name not in given:
            raise missing_column(name)
    for name in given:
        if name not in known:
            raise unknown_column(name, known)
