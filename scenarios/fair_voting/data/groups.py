"""Which group each voter of a file belongs to.

Every voter is in one group, and every group has a voter. Groups stand in the order in which they are named, or else in
that of their first voters. Where voters are in a group of each of several features, the groups are these features'
crossings: one that no voter is in is left out. That rule needs groups that are public, since who looks at which
crossings there are learns of voters' groups. A voter whose group of one feature is not said has none.
"""

import bisect
import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import ConfigurationError, did_you_mean, join_names, refuse
from ....protocol.fair_voting import Feature
from ....protocol.fair_voting.entries import names_two_groups
from ....protocol.roles import check_party_name
from ...reading.cells import number_in
from ...reading.text_forms import read_rows
from .ballots import FileBallots

WithoutGroup: TypeAlias = Literal["refuse", "leave out"]  # what becomes of a voter whose group is not said

_LEAST: Final = 2
_MAX_SHOWN: Final = 12
_LEAVE_OUT: Final = 'voters.without_group = "leave out"'


SIGN: Final = " × "  # between the names of a crossing's groups


@dataclasses.dataclass(frozen=True, eq=False)
class Grouping:
    """Voters' groups, and int64, shape (n,), the place of each voter's among them; −1 for one who is left out.

    Examples:
        >>> Grouping(("north", "south"), np.array([0, 1, 0])).members.tolist()
        [0, 1, 0]
    """

    groups: tuple[str, ...]
    members: IntArray


def groups_in_turn(ballots: FileBallots, groups: Sequence[str]) -> Grouping:
    """Return groups whose members take turns in the file: with two groups the odd voters and the even ones.

    Each ballot is on a line of its own, since lines that stand for many voters do not say who cast them.
    """
    check_groups(groups)
    allowed = f"at most as many as there are voters in {ballots.source}, {len(ballots)}"
    refuse(len(groups) > len(ballots), "voters.groups", list(groups)[:_MAX_SHOWN], allowed)
    is_repeated = ballots.lines[1:] == ballots.lines[:-1]
    if np.any(is_repeated):
        line = int(ballots.lines[np.argmax(is_repeated)])
        count = int(np.count_nonzero(ballots.lines == line))
        allowed = "1, since voters of the groups take turns: otherwise the order of the lines is not that of the voters"
        raise ConfigurationError(field=f"count ({ballots.source} line {line})", value=count, allowed=allowed)
    return Grouping(tuple(groups), np.arange(len(ballots)) % len(groups))


def groups_of_files(groups: Sequence[str], sizes: Sequence[int]) -> Grouping:
    """Return groups, two or more, that have a file of so many voters each.

    Examples:
        >>> groups_of_files(["north", "south"], [2, 1]).members.tolist()
        [0, 0, 1]
    """
    check_groups(groups)
    return Grouping(tuple(groups), np.repeat(np.arange(len(groups)), sizes))


def groups_of_entries(
    ballots: FileBallots,
    entries: Sequence[str],
    *,
    column: str,
    groups: Sequence[str] = (),
    new_names: Mapping[str, str] | None = None,
    without_group: WithoutGroup = "refuse",
    place_of_voter: Callable[[int], str] | None = None,
) -> Grouping:
    """Return the groups that the entries of a column name.

    Args:
        ballots: of n voters.
        entries: one for each of them; blanks around it do not count.
        groups: the groups that there must be; by default those that the entries name.
        new_names: a group's name by the entry that stands for it; entries may share one.
        without_group: what becomes of voters with an empty entry.
        place_of_voter: where a voter's entry stands, for errors; by default where its ballot does.

    Raises:
        ConfigurationError: an entry is empty or of no group, or a group has no voter, or there are fewer than two.
    """
    place_of_voter = place_of_voter or ballots.where
    index: dict[str, int] = {}
    codes = np.array([index.setdefault(entry.strip(), len(index)) for entry in entries], dtype=np.int64)
    if "" in index and without_group == "refuse":
        voter = int(np.argmax(codes == index[""]))
        allowed = f"a group, or {_LEAVE_OUT}"
        raise ConfigurationError(field=f"{column} ({place_of_voter(voter)})", value="", allowed=allowed)
    new_names = new_names or {}
    for entry in new_names:
        if entry not in index:
            known_names = [name for name in index if name]
            allowed = f"entries of {column!r}: {join_names(known_names)}{did_you_mean(entry, known_names)}"
            raise ConfigurationError(field="voters.group_names", value=entry, allowed=allowed)
    name_of = {entry: new_names.get(entry, entry) for entry in index if entry}
    for entry in name_of:
        if entry not in new_names and names_two_groups(entry, name_of):
            voter = int(np.argmax(codes == index[entry]))
            raise ConfigurationError(field=f"{column} ({place_of_voter(voter)})", value=entry, allowed="one group")
    group_order = tuple(groups) or tuple(dict.fromkeys(name_of.values()))
    place_of = {name: place for place, name in enumerate(group_order)}
    for entry, name in name_of.items():
        if name not in place_of:
            voter = int(np.argmax(codes == index[entry]))
            allowed = f"one of the groups {join_names(group_order)}{did_you_mean(name, group_order)}"
            raise ConfigurationError(field=f"{column} ({place_of_voter(voter)})", value=entry, allowed=allowed)
        check_party_name(name, field="group")
    for name in group_order:
        if name not in name_of.values():
            allowed = f"groups with a voter each: the entries of {column!r} are {join_names(list(name_of))}"
            raise ConfigurationError(field="voters.groups", value=name, allowed=allowed)
    check_groups(group_order)
    places = np.array([place_of[name_of[entry]] if entry else -1 for entry in index], dtype=np.int64)
    return Grouping(group_order, places[codes])


def age_groups(
    ballots: FileBallots, entries: Sequence[str], cuts: Sequence[int], *, column: str
) -> tuple[list[str], list[str]]:
    """Return the names of groups of age, "under 30", "30 to 59", "60 and over" for the cuts 30 and 60, and each one's.

    Entries are ages in years; where one is empty, so is the voter's group.
    """
    middle_names = [f"{low} to {high - 1}" if high - low > 1 else str(low) for low, high in itertools.pairwise(cuts)]
    names = [f"under {cuts[0]}", *middle_names, f"{cuts[-1]} and over"]
    group_of_age: dict[str, str] = {"": ""}
    for voter, entry in enumerate(entries):
        if entry not in group_of_age:
            age = number_in(entry)
            if not 0 <= age < math.inf:
                allowed = "an age in years, at least 0"
                raise ConfigurationError(field=f"{column} ({ballots.where(voter)})", value=entry, allowed=allowed)
            group_of_age[entry] = names[bisect.bisect_right(cuts, age)]
    return names, [group_of_age[entry] for entry in entries]


def groups_of_companion(
    path: Path,
    ballots: FileBallots,
    *,
    column: str = "group",
    groups: Sequence[str] = (),
    new_names: Mapping[str, str] | None = None,
    without_group: WithoutGroup = "refuse",
) -> Grouping:
    """Return the groups that a CSV file names: a line for each voter, with the columns `voter` and `group`, or another.

    A voter is called as the file of ballots does (Pabulib), or by its number there, from 1: the lines of a PrefLib file
    in their order, each for as many voters as its count. Lines stand in any order, and may be repeated. See
    `groups_of_entries`.

    Raises:
        ConfigurationError: the file cannot be read, a voter in it is unknown or in two groups or is missing, a group
            has no voter, or there are fewer than two.
    """
    numbers = _numbers_of_voters(ballots)
    entries: list[str | None] = [None] * len(ballots)
    lines = [0] * len(ballots)
    for line, (voter, entry) in read_rows(path, "voter", column, field="voters.groups_file"):
        number = numbers(voter.strip())
        group = entry.strip()
        if number < 0:
            allowed_key = "a voter_id of it" if ballots.voters else f"a number from 1 to {len(ballots)}"
            allowed = f"a voter of {ballots.source}: {allowed_key}"
            raise ConfigurationError(field=f"voter ({path.name} line {line})", value=voter, allowed=allowed)
        earlier_entry = entries[number]
        if earlier_entry is not None and earlier_entry != group:
            place_text = f"{path.name} line {line}, voter {voter.strip()}"
            allowed = f"{earlier_entry!r}, since line {lines[number]} has that: a voter is in one group"
            raise ConfigurationError(field=f"{column} ({place_text})", value=group, allowed=allowed)
        entries[number], lines[number] = group, line
    if None in entries and without_group == "refuse":
        missing = entries.index(None)
        allowed = f"There is no line of {ballots.where(missing)}. Add one, or {_LEAVE_OUT}."
        raise ConfigurationError(field=path.name, value=ballots.where(missing), allowed=allowed)
    return groups_of_entries(
        ballots,
        [entry or "" for entry in entries],
        column=column,
        groups=groups,
        new_names=new_names,
        without_group=without_group,
        place_of_voter=lambda voter: f"{path.name} line {lines[voter]}, voter {ballots.name_of(voter)}",
    )


def check_groups(groups: Sequence[str]) -> None:
    """Raise ConfigurationError unless these are the names of two or more groups."""
    allowed = "two or more, each with its own name"
    refuse(len(groups) < _LEAST or len(set(groups)) < len(groups), "voters.groups", list(groups)[:_MAX_SHOWN], allowed)
    for name in groups:
        check_party_name(name, field="group")


def _numbers_of_voters(ballots: FileBallots) -> Callable[[str], int]:
    """Return what finds a voter's number, from 0, by what it is called; −1 for none."""
    if ballots.voters:
        by_name = {name: number for number, name in enumerate(ballots.voters)}
        return lambda name: by_name.get(name, -1)
    num_ballots = len(ballots)

    def by_number(text: str) -> int:
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(num_ballots)) else 0
        return number - 1 if number <= num_ballots else -1

    return by_number


def cross_groupings(groupings: Mapping[str, Grouping], *, field: str) -> tuple[Grouping, tuple[Feature, ...]]:
    """Return the crossings of two features or more that have voters, and which groups of the features they are in.

    Crossings come in the order of their groups: those of the first feature's first group first. If two of them have one
    name, the setting that names the features is in error.
    """
    refuse(len(groupings) < _LEAST, field, list(groupings), "two columns or more, each once")
    members = np.stack([grouping.members for grouping in groupings.values()], axis=1)
    is_in = (members >= 0).all(axis=1)
    present, places = np.unique(members[is_in], axis=0, return_inverse=True)
    own_groups = np.full(len(members), -1, dtype=np.int64)
    own_groups[is_in] = places.reshape(-1)
    rows: list[list[int]] = present.tolist()
    group_tuples: Sequence[tuple[str, ...]] = [
        tuple(grouping.groups[place] for grouping, place in zip(groupings.values(), row, strict=True)) for row in rows
    ]
    groups = tuple(SIGN.join(parts) for parts in group_tuples)
    if repeated_names := [name for name in groups if groups.count(name) > 1]:
        raise ConfigurationError(
            field=field, value=repeated_names[:_MAX_SHOWN], allowed="groups whose crossings have own names"
        )
    features = tuple(
        Feature(name=name, of=tuple(parts[number] for parts in group_tuples)) for number, name in enumerate(groupings)
    )
    return Grouping(groups, own_groups), features
