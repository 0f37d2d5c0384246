"""Turnout: the parties of a series that take part in one vote, and their entries for that vote.

It is applied to parties after reading them from any source: a file, a generator, a data set or a list.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...protocol.errors import ConfigurationError, did_you_mean, join_names, refuse, require
from ...protocol.phases import Entries
from ..reading.sources import PartiesTable


@dataclasses.dataclass(frozen=True, kw_only=True)
class Turnout:
    """The presence of a series' parties, and of those who joined, in one vote.

    Examples:
        >>> parties = PartiesTable(["ann", "bob"], {"roof": [1, 0]})
        >>> Turnout(absent=["bob"]).apply_to(parties, role="partner").names
        ['ann']
    """

    present: Collection[str] | None = None  # the only parties present; None for all
    absent: Collection[str] = ()  # parties absent from this vote
    left: Collection[str] = ()  # parties that have left, in this vote or earlier
    # Entries by column of parties that joined, in this vote or earlier. Columns that the parties' table does not have
    # apply only in the vote in which the party joins.
    joined: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict[str, Mapping[str, Any]])
    joining: Collection[str] = ()  # parties that join in this vote
    # Entries by column and party for this vote, which override or extend the parties' table.
    entries: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict[str, Mapping[str, Any]])
    refused: Collection[str] = ()  # parties whose budget does not suffice for this vote, but who would be present

    def without(self, refused_names: Collection[str]) -> "Turnout":
        """Return the turnout without these parties, whose entries are then ignored."""
        return dataclasses.replace(self, refused=frozenset(refused_names))

    def apply_to(self, parties: PartiesTable, *, role: str) -> PartiesTable:
        """Return the parties of this vote; ConfigurationError: unknown name, missing entry, or no party left."""
        if not (self.present is not None or self.absent or self.left or self.joined or self.entries or self.refused):
            return parties
        row_of_name = {name: place for place, name in enumerate(parties.names)}
        _check_known("leave", self.left, row_of_name)
        rows = {name: place for name, place in row_of_name.items() if name not in self.left}
        for name in self.joined:
            refuse(name in rows, "join", name, f"named once: the series has this {role} already")
        all_names = [*rows, *self.joined]
        _check_known("absent", self.absent, all_names)
        _check_known(f"{role}s", self.present or (), all_names)
        present_names = [
            name for name in all_names if name not in self.absent and (self.present is None or name in self.present)
        ]
        for column, entries in self.entries.items() if present_names else ():
            _check_known(f"entries.{column}", entries, present_names)
        present_names = [name for name in present_names if name not in self.refused]
        require(present_names, f"{role}s", "none", f"at least one {role} who is there")
        of_joining = [column for name in self.joining for column in self.joined[name] if column != role]
        columns = dict.fromkeys([*parties.table, *self.entries, *of_joining])
        table = {column: self._column(column, parties.table, row_of_name, present_names) for column in columns}
        kept_rows = [row_of_name[name] for name in present_names if name in rows]
        is_as_read = len(kept_rows) == len(present_names) and not self.entries
        return dataclasses.replace(
            parties,
            names=present_names,
            table=table,
            lines=[parties.lines[place] for place in kept_rows] if is_as_read and parties.lines else (),
            is_generated=parties.is_generated and is_as_read,
            is_public_record=parties.is_public_record and is_as_read,
        )

    def _column(
        self, column: str, table: Mapping[str, Entries], places: Mapping[str, int], present_names: Sequence[str]
    ) -> Entries:
        """Return a column's entries of the present parties."""
        of_vote, of_all = self.entries.get(column, {}), table.get(column)
        filled: list[Any] = []
        for name in present_names:
            if name in of_vote:
                filled.append(of_vote[name])
            elif column in self.joined.get(name, {}):
                filled.append(self.joined[name][column])
            elif of_all is not None and name not in self.joined:
                filled.append(of_all[places[name]])
            else:
                allowed = f"an entry for {name} too, who is there"
                field = f"entries.{column}" if of_vote else column
                raise ConfigurationError(field=field, value="left out", allowed=allowed)
        return filled


def _check_known(field: str, names: Collection[str], known_names: Collection[str]) -> None:
    """Raise ConfigurationError unless all names are those of parties."""
    for name in names:
        if name not in known_names:
            allowed = f"one of {join_names([*known_names])}{did_you_mean(name, known_names)}"
            raise ConfigurationError(field=field, value=name, allowed=allowed)
