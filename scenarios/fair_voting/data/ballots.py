"""Ballots: what the voters of a file wrote, before they become rankings of all alternatives.

A ballot is an order of some alternatives, in which several may stand alike. Many voters may have cast the same one.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import IntArray

PlaceArray: TypeAlias = NDArray[np.int16]
"""Places in a ballot: a table of a million ballots is a quarter as large as with int64."""

MAX_VOTERS: Final = 10_000_000
"""More would not fit into memory as a table of positions; a count of voters in a file can be any number."""
MAX_ALTERNATIVES_OF_A_FILE: Final = 1_000
_MAX_NAME_LENGTH: Final = 256


@dataclasses.dataclass(frozen=True, eq=False)
class FileBallots:
    """The ballots of a file, and who cast them."""

    alternatives: tuple[str, ...]  # their names, which are distinct
    ids: tuple[str, ...]  # how the file itself calls them (PrefLib: numbers from 1; Pabulib: project ids)
    # Shape (b, m): for each ballot the class of each alternative: those of class 0 are the best, those of one class are
    # tied, and those that are not listed are of class m, unless the file says what they count.
    classes: PlaceArray
    # Shape (b, m): at which place of the ballot each alternative stands, from 0; m for one that does not.
    listed: PlaceArray
    ballot_of_voter: IntArray  # int64, shape (n,): which ballot each voter cast
    lines: IntArray  # int64, shape (n,): the line of each voter's ballot, from 1
    voters: Sequence[str]  # how the file itself calls its voters; empty where it does not, and they are counted from 1
    source: str  # the file's name
    entries: Sequence[str] = ()  # what a column that was asked for says of each voter
    sources: tuple[str, ...] = ()  # the names of the files, where there are several
    source_of_voter: IntArray | None = None  # int64, shape (n,): which of them has each voter; None where there is one
    is_strict: bool = False  # whether the file's form says that all ballots are strict orders of all alternatives
    num_left_out: int = 0  # how many ballots of the file are none of these, since they break its own limits

    def __len__(self) -> int:
        return len(self.ballot_of_voter)

    def where(self, voter: int) -> str:
        """Return where a voter stands, from 0, for errors."""
        source = self.source if self.source_of_voter is None else self.sources[int(self.source_of_voter[voter])]
        return f"{source} line {self.lines[voter]}, voter {self.name_of(voter)}"

    def name_of(self, voter: int) -> str:
        """Return what a voter, from 0, is called in errors."""
        return repr(self.voters[voter]) if self.voters else str(voter + 1)


def tabulate(
    alternatives: IntArray, classes: IntArray, lengths: IntArray, *, num_alternatives: int
) -> tuple[PlaceArray, PlaceArray, int]:
    """Return ballots as tables.

    Args:
        alternatives: int64, shape (t,): the alternatives of all ballots one after another, in [0, m).
        classes: int64, shape (t,): the class of each of them.
        lengths: int64, shape (b,): how many there are of each ballot; together t.
        num_alternatives: m.

    Returns:
        `classes` and `rank_table` of `FileBallots`, and the first ballot that has an alternative twice; −1 where none
        has.

    Examples:
        >>> alternatives, classes, lengths = np.array([1, 0, 1]), np.array([0, 1, 0]), np.array([2, 1])
        >>> table, listed, twice = tabulate(alternatives, classes, lengths, num_alternatives=2)
        >>> table.tolist(), listed.tolist(), twice
        ([[1, 0], [2, 0]], [[1, 0], [2, 0]], -1)
    """
    ballots = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(alternatives)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    class_table = np.full((len(lengths), num_alternatives), num_alternatives, dtype=np.int16)
    class_table[ballots, alternatives] = classes
    rank_table = np.full((len(lengths), num_alternatives), num_alternatives, dtype=np.int16)
    rank_table[ballots, alternatives] = places
    # Of an alternative that stands there twice one place has overwritten the other.
    is_repeated = rank_table[ballots, alternatives] != places
    first = int(ballots[np.argmax(is_repeated)]) if np.any(is_repeated) else -1
    return class_table, rank_table, first


def make_distinct_names(names: Sequence[str], ids: Sequence[str]) -> tuple[str, ...]:
    """Return names of alternatives as a vote's parameters may have them.

    They are the given ones if these are distinct and none is empty, else each stands behind its id. Line ends and
    blanks in a row become one blank, ">", which separates alternatives elsewhere, becomes "›", what cannot be printed
    is left out, and a name of more than 256 characters ends with "…".

    Examples:
        >>> make_distinct_names(["park", "park", "pool"], ["1", "2", "3"])
        ('1: park', '2: park', '3: pool')
    """
    plain = [_make_presentable(name) for name in names]
    if not all(plain) or len(set(plain)) < len(plain):
        plain = [
            _make_presentable(f"{identifier}: {name}" if name else identifier)
            for identifier, name in zip(ids, plain, strict=True)
        ]
    return tuple(plain)


def _make_presentable(name: str) -> str:
    words = " ".join(name.replace(">", "›").split())
    shown_text = "".join(character for character in words if character.isprintable())
    return shown_text if len(shown_text) <= _MAX_NAME_LENGTH else f"{shown_text[: _MAX_NAME_LENGTH - 1].rstrip()}…"
