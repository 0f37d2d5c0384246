"""Rankings in a table as people keep them: a text, a place for each alternative, or a column for each choice."""

import dataclasses
from collections.abc import Sequence
from typing import Final

import msgspec

from ....protocol.errors import ConfigurationError, did_you_mean, one_of, refuse
from ....protocol.fair_voting import FairVoting
from ....protocol.fair_voting.parameters import SEPARATOR
from ...reading.frames import path_of
from ...reading.headers import TableOptions
from ...reading.sources import PartiesTable
from ...running.parties import read_parties_file

__all__ = ["RankingTable", "load_table"]

_FIELD: Final = "voters"
_COLUMNS: Final = ("voter", "group", "ranking")


class RankingTable(TableOptions, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file with a line for each voter, of whatever form; columns that nothing names are left out.

    Raises:
        ConfigurationError: a value is not allowed.
    """

    file: str  # a CSV of voter, group and ranking
    columns: dict[str, str] = {}  # what the file calls these, where it calls them otherwise
    # In place of rankings, the columns of the alternatives, each with its place: 1 is the best.
    places: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()  # in place of rankings, the columns of the first, the second and further choices
    manifest: str = ""  # keeps what a pass over files of any size finds (`reading.manifests`)
    numbered: bool = False  # it has no names: voters are called by their number in it

    def __post_init__(self) -> None:
        for name in self.columns:
            refuse(name not in _COLUMNS, f"{_FIELD}.columns", name, one_of(_COLUMNS, name))
        refuse(self.places and self.choices, f"{_FIELD}.choices", "given", "left out beside places")


def load_table(options: RankingTable) -> PartiesTable:
    """Return the voters of a file."""
    path = path_of(options.file)
    read = read_parties_file(path, FairVoting.client_role, options.columns, numbered=options.numbered, options=options)
    named = options.places or options.choices
    for name in named:
        if name not in read.table:
            key = "places" if options.places else "choices"
            allowed = f"columns of {path.name}: {', '.join(read.table)}{did_you_mean(name, read.table)}"
            raise ConfigurationError(field=f"{_FIELD}.{key}", value=name, allowed=allowed)
    table = {name: entries for name, entries in read.table.items() if name in _COLUMNS}
    if named:
        columns = [[str(entry).strip() for entry in read.table[name]] for name in named]
        rows = list(zip(*columns, strict=True))
        orders = (
            [_order_of_places(named, row, read, place) for place, row in enumerate(rows)] if options.places else rows
        )
        table["ranking"] = [f" {SEPARATOR} ".join(order) for order in orders]
    return dataclasses.replace(read, table=table)


def _order_of_places(names: Sequence[str], places: Sequence[str], read: PartiesTable, voter: int) -> list[str]:
    """Return the alternatives of a voter, the best first, by places from 1 on, each once."""
    if sorted(places) != sorted(str(place) for place in range(1, len(names) + 1)):
        where = f"places ({read.source} line {read.lines[voter]}, {read.names[voter]})"
        allowed = f"each place from 1 to {len(names)} once: 1 is the best"
        raise ConfigurationError(field=where, value=", ".join(places), allowed=allowed)
    return [name for _, name in sorted((int(place), name) for place, name in zip(places, names, strict=True))]
