"""Levels of ε (personalized privacy): each party has one of several public levels, at the end of its public row.

A party's level is public, too. It is set by a column of the roster, or chosen by the party as it joins.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import numpy as np

from .arrays import IntArray
from .columns import Column, Entries, missing_column
from .errors import ConfigurationError, refuse, require

_COLUMN: Final = "epsilon"
_MOST_SHOWN: Final = 20
_BESIDE: Final = "left out beside epsilons: each {} has one of these"


@dataclasses.dataclass(frozen=True)
class PrivacyLevels:
    """The levels of a session.

    Args:
        epsilons: the levels, ascending, in nats; empty if all parties have the same ε.
        is_chosen: whether each party chooses its level as it joins.

    Privacy:
        A level is public. It bounds the loss of a report. Nothing bounds what the choice of a level reveals.
    """

    epsilons: tuple[float, ...]
    is_chosen: bool
    party: str

    def check(self, *, least: float, greatest: float, most: int) -> None:
        """Raise ConfigurationError unless levels ascend between two bounds, and are not more than `most`."""
        refuse(len(self.epsilons) > most, "epsilons", f"{len(self.epsilons)} levels", f"at most {most}")
        for level in self.epsilons:
            require(least <= level <= greatest, "epsilons", level, f"in [{least:g}, {greatest:g}]")
        is_ascending = all(level < later for level, later in itertools.pairwise(self.epsilons))
        require(is_ascending, "epsilons", list(self.epsilons), "distinct, ascending")

    def settle(self, epsilon: float, *, default: float, least: float, greatest: float, most: int) -> float:
        """Run `check`, and return the ε of a session with levels, which is the greatest level.

        Raises:
            ConfigurationError: as `check`; there is no level; or `epsilon` is set in addition: it is neither the
                default nor the greatest level.
        """
        require(self.epsilons, "epsilons", [], "at least one level")
        self.check(least=least, greatest=greatest, most=most)
        require(epsilon in {default, self.epsilons[-1]}, "epsilon", epsilon, _BESIDE.format(self.party))
        return self.epsilons[-1]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The public column of each party's ε, if there are levels: the last of the public ones."""
        if not self.epsilons:
            return ()
        description = f"the {self.party}'s ε, one of {self.level_text}"
        return (Column(_COLUMN, private=False, description=description, chosen=self.is_chosen),)

    @property
    def level_text(self) -> str:
        """The levels, as they are told to people."""
        return ", ".join(f"{level:g}" for level in self.epsilons[:_MOST_SHOWN])

    def places_of(self, entries: Entries) -> list[int]:
        """Return the place of each entry among the levels; ConfigurationError for an entry that is no level."""
        place_of_level = {level: place for place, level in enumerate(self.epsilons)}
        return [
            place_in(place_of_level, number_of(entry, row), f"epsilon in row {row}", self.level_text, value=entry)
            for row, entry in enumerate(entries, start=1)
        ]

    def encode(self, table: Mapping[str, Entries], *, num_parties: int) -> IntArray:
        """Return the index of each party's level, int64, shape (n, 1); or (n, 0) without levels.

        If parties choose their level, it is the greatest, which has the greatest loss, until they join.
        """
        if not self.epsilons:
            return np.empty((num_parties, 0), dtype=np.int64)
        if _COLUMN not in table and self.is_chosen:
            return np.full((num_parties, 1), len(self.epsilons) - 1, dtype=np.int64)
        if _COLUMN not in table:
            raise missing_column(_COLUMN)
        entries = table[_COLUMN]
        require(len(entries) == num_parties, _COLUMN, f"{len(entries)} entries", f"{num_parties} entries")
        return np.array(self.places_of(entries), dtype=np.int64).reshape(-1, 1)

    def encode_chosen(self, entries: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the place of the ε that a party chooses; nothing where it has none to choose."""
        if not self.is_chosen:
            return ()
        refuse(_COLUMN not in entries, _COLUMN, "left out", f"one of {self.level_text}")
        return tuple(self.places_of([entries[_COLUMN]]))

    def check_own(self, entries: Mapping[str, Any], public: Sequence[int]) -> None:
        """Raise ConfigurationError if a party says another ε of itself than its public row."""
        if self.epsilons and _COLUMN in entries:
            (level,) = self.places_of([entries[_COLUMN]])
            allowed = f"the ε that the server has: {self.epsilons[public[-1]]:g}"
            require(level == public[-1], _COLUMN, entries[_COLUMN], allowed)

    def write(self, public: IntArray) -> dict[str, list[str]]:
        """Return each party's ε, by column; nothing without levels."""
        if not self.epsilons:
            return {}
        places: list[int] = public[:, -1].tolist()
        return {_COLUMN: [repr(self.epsilons[place]) for place in places]}


def check_alone(fields: Mapping[str, Any], party: str) -> None:
    """Refuse an ε beside levels in parameters as they were given: once they are made, none looks like the default."""
    levels = fields.get("epsilons")
    if not isinstance(levels, (list, tuple)) or not levels:
        return
    greatest = cast("Sequence[Any]", levels)[-1]
    if "epsilon" in fields and fields["epsilon"] != greatest:
        raise ConfigurationError(field="parameters.epsilon", value=fields["epsilon"], allowed=_BESIDE.format(party))


def place_in(places: Mapping[Any, int], entry: Any, field: str, choices: str, *, value: Any = None) -> int:
    """Return the place of an entry among those that are allowed."""
    require(entry in places, field, entry if value is None else value, f"one of {choices}")
    return places[entry]


def number_of(entry: Any, row: int) -> float:
    """Return an entry as an ε; ConfigurationError for what is none, with its row, from 1."""
    try:
        epsilon = math.nan if isinstance(entry, bool) or "_" in str(entry) else float(entry)
    except (TypeError, ValueError, OverflowError):
        epsilon = math.nan
    refuse(not epsilon > 0 or math.isinf(epsilon), f"epsilon in row {row}", entry, "a number > 0")
    return epsilon
