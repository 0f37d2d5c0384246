"""The columns of the table that a protocol's users fill in, and the errors for missing and unknown ones."""

import dataclasses
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from .arrays import IntArray
from .errors import ConfigurationError, did_you_mean, refuse

Entries: TypeAlias = Sequence[Any] | NDArray[Any]
"""One column of a table as users write it: text or numbers, one entry per party."""

_MOST_NAMED: Final = 12
"""The most columns that an error message names."""


@dataclasses.dataclass(frozen=True, eq=False)
class CodedColumn(Sequence[str]):
    """A column of text with few distinct entries, stored as codes, so that each distinct entry is processed once.

    Args:
        names: the distinct entries, in the order of their first rows.
        codes: the index in `names` of each row's entry: integers, shape (rows,); int64, or one or two bytes from a
            file.

    Examples:
        >>> column = CodedColumn.from_values(["tea", "coffee", "tea"])
        >>> column.names, column.codes.tolist(), column[2]
        (['tea', 'coffee'], [0, 1, 0], 'tea')
    """

    names: Sequence[str]
    codes: NDArray[Any]

    @classmethod
    def from_values(cls, values: Iterable[Any]) -> "CodedColumn":
        """Return the column with these entries, as text."""
        if isinstance(values, CodedColumn):
            return values
        index: dict[str, int] = {}
        codes = np.fromiter((index.setdefault(str(value), len(index)) for value in values), dtype=np.int64)
        return cls(list(index), codes)

    def row_of(self, code: int) -> int:
        """Return the first row with a code, from 1, as errors name it."""
        return int(np.argmax(self.codes == code)) + 1

    def recode(self, index: Mapping[str, int]) -> IntArray:
        """Return the code in `index` of each row's entry; -1 for an entry that `index` does not have.

        Examples:
            >>> CodedColumn.from_values(["tea", "coffee", "milk"]).recode({"coffee": 0, "tea": 1}).tolist()
            [1, 0, -1]
        """
        return np.array([index.get(name, -1) for name in self.names], dtype=np.int64)[self.codes]

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> "CodedColumn": ...

    def __getitem__(self, index: int | slice) -> "str | CodedColumn":
        """Return a row's entry, or the column of some rows."""
        if isinstance(index, slice):
            return CodedColumn(self.names, self.codes[index])
        return self.names[int(self.codes[index])]

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.codes.tolist())

    def __len__(self) -> int:
        return len(self.codes)


class Column(msgspec.Struct, frozen=True):
    """A column of the table that a protocol's users fill in.

    Args:
        name: the column's header.
        private: whether only the party itself may know its entry.
        description: the content and the allowed entries, as a phrase.
        chosen: whether each party chooses its entry as it joins. The entry is then public, absent from the roster, and
            an integer at the end of the public row (`PhasedProtocol.num_chosen`).

    Raises:
        ConfigurationError: it is both chosen and private.

    Examples:
        >>> Column("weight", private=False, description="1 to 3").is_own
        False
    """

    name: str
    private: bool
    description: str
    chosen: bool = False

    def __post_init__(self) -> None:
        allowed = "public: what a party chooses as it joins, the server is told"
        refuse(self.chosen and self.private, f"column {self.name!r}", "private and chosen", allowed)

    @property
    def is_own(self) -> bool:
        """Whether a party alone says it, and no roster has it."""
        return self.private or self.chosen


def normalize_name(name: object) -> str:
    """Return a name with case folded and blanks normalized, to compare names that people write differently.

    Example:
        >>> normalize_name(" Ann  Lee") == normalize_name("ann lee")
        True
    """
    return " ".join(unicodedata.normalize("NFKC", str(name)).casefold().split())


def first_alike(names: Iterable[str]) -> tuple[int, int] | None:
    """Return the indices of the first two names that are equal after `normalize_name`; None if there are none.

    Example:
        >>> first_alike(["ann", "bob", "Ann"])
        (0, 2)
    """
    place_of_name = dict[str, int]()
    pairs = ((place_of_name.setdefault(normalize_name(name), place), place) for place, name in enumerate(names))
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


def missing_column(name: str) -> ConfigurationError:
    """Return the error for a table without a column that it needs.

    Examples:
        >>> str(missing_column("weight"))
        'the table has no column weight'
    """
    hint = ", with a line for each party: its own ε" if name == "epsilon" else ""
    return ConfigurationError(field=name, value="no such column", allowed=f"a column of the table{hint}")


def unknown_column(name: str, names: Sequence[str], *, field: str = "") -> ConfigurationError:
    """Return the error for a table with an unknown column, such as a misspelled one.

    The error calls the column `field`; by default its name.

    Examples:
        >>> unknown_column("wieght", ["weight", "opinion"]).allowed
        "left out: the columns are weight, opinion (did you mean 'weight'?)"
    """
    names_text = f"{', '.join(names[:_MOST_NAMED])}{', ...' if len(names) > _MOST_NAMED else ''}"
    reason = ", since nobody has an ε of its own here" if name == "epsilon" else ""
    allowed = f"left out{reason}: the columns are {names_text}{did_you_mean(name, names)}"
    return ConfigurationError(field=field or name, value="an unknown column", allowed=allowed)


def check_columns(columns: Iterable[Column], names: Iterable[str]) -> None:
    """Raise ConfigurationError unless the names are exactly those of the columns.

    Examples:
        >>> check_columns([Column("weight", private=False, description="")], ["weight"])
        >>> check_columns([Column("weight", private=False, description="")], [])
        Traceback (most recent call last):
            ...
        psephos.protocol.errors.ConfigurationError: the table has no column weight
    """
    names_known, names_given = [column.name for column in columns], list(names)
    for name in names_known:
        if name not in names_given:
            raise missing_column(name)
    for name in names_given:
        if name not in names_known:
            raise unknown_column(name, names_known)


class Observed(Mapping[str, Entries]):
    """A table that records which of its columns are read.

    Attributes:
        seen: the columns that were read.

    Examples:
        >>> table = Observed({"weight": [1, 2], "opinion": ["yes", "no"]})
        >>> table["weight"]
        [1, 2]
        >>> table.seen
        {'weight'}
    """

    def __init__(self, table: Mapping[str, Entries]) -> None:
        self._table = table
        self.seen: set[str] = set()

    def __getitem__(self, name: str) -> Entries:
        self.seen.add(name)
        return self._table[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)
