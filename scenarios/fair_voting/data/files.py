"""Files of ballots as profiles: published elections with groups, or somebody's own in the same formats.

Voters have running numbers: what a file calls them serves to find their groups, and goes no further.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec
import numpy as np

from ....protocol.columns import first_alike
from ....protocol.errors import ConfigurationError, did_you_mean, refuse, require
from ....protocol.fair_voting.rankings import Rankings
from ....protocol.mechanisms import MAX_ALTERNATIVES
from ...reading.frames import path_of
from .ballots import FileBallots
from .groups import (
    Grouping,
    WithoutGroup,
    age_groups,
    check_groups,
    cross_groupings,
    groups_in_turn,
    groups_of_companion,
    groups_of_entries,
    groups_of_files,
)
from .pabulib import OutsideLimits, read_pabulib
from .preflib import PREFLIB_TYPES, read_preflib, type_of
from .profile import Profile
from .ties import TieRule, break_ties

_LEAST: Final = 2
_FIELD: Final = "voters"
_PABULIB: Final = "pb"
_MAX_SHOWN: Final = 12
_SOURCES: Final = ("group_files", "groups_file", "group_column", "group_columns", "group_rule")  # of groups


class RankingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How ballots become rankings.

    Raises:
        ConfigurationError: a value is not allowed.
    """

    # Those that are kept, by name or by what the file calls them, in the order of the result; by default all. There may
    # be 2 to 50.
    alternatives: tuple[str, ...] = ()
    ties: TieRule = "mean"  # how tied alternatives, and those that are not ranked, are counted (see `ties`)


class ColumnOptions(RankingOptions, frozen=True, kw_only=True):
    """How a column of a Pabulib file tells groups, beside `RankingOptions`."""

    group_column: str = ""  # of VOTES, such as sex, age or district_preference
    group_names: dict[str, str] = {}  # a group's name by the entry that stands for it; entries may share one
    # The age with which each group but the first begins: [30, 60] for "under 30", "30 to 59" and "60 and over".
    age_cuts: tuple[int, ...] = ()
    without_group: WithoutGroup = "refuse"  # what becomes of voters whose group is not said
    outside_limits: OutsideLimits = "refuse"  # what becomes of ballots that break their own Pabulib file's limits

    def __post_init__(self) -> None:
        cuts = self.age_cuts
        if cuts and (cuts[0] < 1 or any(high <= low for low, high in itertools.pairwise(cuts))):
            raise ConfigurationError(field=f"{_FIELD}.age_cuts", value=list(cuts), allowed="ages that ascend, from 1")
        columns: tuple[str, ...] = (self.group_column, *getattr(self, "group_columns", ()))
        allowed = "left out with group_names, and without group_column"
        refuse(cuts and (self.group_names or not any(columns)), f"{_FIELD}.age_cuts", list(cuts), allowed)
        allowed = "given for the column 'age', such as [30, 60]"
        refuse(self.group_column == "age" and not cuts, f"{_FIELD}.age_cuts", "nothing", allowed)


class RankingFile(ColumnOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Voters in files, and where their groups are from, beside `ColumnOptions`.

    There is one file and one of `groups_file`, `group_column`, `group_columns` and `group_rule`; or `group_files`.
    Beside `groups_file` there may be `group_columns`. Where `groups` has one name, all voters are in it.

    Examples:
        >>> RankingFile(file="votes.soc", group_rule="alternating", groups=("a", "b")).ties
        'mean'
    """

    file: str = ""  # PrefLib's .soc, .soi, .toc or .toi, or Pabulib's .pb; each may be packed (`.gz`)
    group_files: dict[str, str] = {}  # such a file by the name of the group that it is
    # How those of several files are told to be the same: by their names, or by their numbers.
    same_alternatives: Literal["names", "numbers"] = "names"
    groups_file: str = ""  # a CSV file with the columns voter and group, or with `group_columns`
    # Features that overlap: columns of VOTES of a Pabulib file, or of `groups_file`, whose crossings are the groups
    # (`groups.crossed`).
    group_columns: tuple[str, ...] = ()
    group_rule: Literal["", "alternating"] = ""  # "alternating" where the voters of the groups take turns in the file
    groups: tuple[str, ...] = ()  # the groups' names, in the order of the result; by default those found
    # Whether voters whose names differ in case or blanks alone, as a Pabulib file may have them, are several.
    alike_voters: Literal["refuse", "several"] = "refuse"

    def __post_init__(self) -> None:
        super().__post_init__()
        value = "given" if self.file else "left out"
        field = f"{_FIELD}.file and {_FIELD}.group_files"
        refuse(bool(self.file) == bool(self.group_files), field, value, "given one of them alone")
        sources = [name for name in _SOURCES if getattr(self, name)]
        if sources == ["groups_file", "group_columns"]:
            sources = ["group_columns"]
        field = " and ".join(f"{_FIELD}.{name}" for name in sources)
        refuse(len(sources) > 1, field, "given", "given one of them alone")
        if self.is_plain:
            return
        if not sources:
            columns = f"{_FIELD}.group_column, " if type_of(Path(self.file)) == _PABULIB else ""
            allowed = "given for the voters of one file (or group_files, a file for each group; or one name of groups)"
            field = f"one of {_FIELD}.groups_file, {columns}{_FIELD}.group_rule"
            raise ConfigurationError(field=field, value="nothing", allowed=allowed)
        has_entries = sources[0] in {"groups_file", "group_column"}
        allowed = "left out where no entries stand for groups"
        refuse(self.group_names and not has_entries, f"{_FIELD}.group_names", self.group_names, allowed)
        if self.groups or self.group_rule:
            check_groups(self.groups)
        are_named = self.group_files or self.age_cuts or self.group_columns
        allowed = "left out, since group_files, age_cuts or group_columns name them"
        refuse(self.groups and are_named, f"{_FIELD}.groups", list(self.groups), allowed)

    @property
    def is_plain(self) -> bool:
        """Whether all voters are in one group, which nothing has to tell."""
        return len(self.groups) == 1 and not any(getattr(self, name) for name in (*_SOURCES, "group_names", "age_cuts"))


def load_rankings(options: RankingFile) -> Profile:
    """Return the voters of a file, or of several, as the options read them."""
    if options.group_files:
        parts = [_read(options, file=file, field=f"group_files.{group}") for group, file in options.group_files.items()]
        grouping = groups_of_files(list(options.group_files), [len(part) for part in parts])
        ballots = merge(parts, same_alternatives=options.same_alternatives)
        return profile_of(ballots, grouping, options)
    if options.group_columns:
        return _profile_of_columns(options)
    ballots = _read(options, column=options.group_column)
    return profile_of(ballots, _grouping_of(ballots, options), options)


def _read(options: RankingFile, *, column: str = "", file: str = "", field: str = "file") -> FileBallots:
    path, limits = Path(file or options.file), options.outside_limits
    ballots = read_ballots(path, column=column, outside_limits=limits, field=f"{_FIELD}.{field}")
    if options.alike_voters == "refuse" and (places := first_alike(ballots.voters)) is not None:
        first, second_place = places
        allowed = (
            f"unlike {ballots.voters[first]!r} in line {ballots.lines[first]}, but for case and blanks: leave one out, "
            f"or say {_FIELD}.alike_voters = 'several', if they are different persons'"
        )
        place_text = f"voter_id ({path.name} line {ballots.lines[second_place]})"
        raise ConfigurationError(field=place_text, value=ballots.voters[second_place], allowed=allowed)
    return ballots


def read_ballots(
    path: Path, *, column: str = "", outside_limits: OutsideLimits = "refuse", field: str = "file"
) -> FileBallots:
    """Return the ballots of a file, by the end of its name, and of a Pabulib file's VOTES the entries of a column."""
    of_type = type_of(path)
    if of_type == _PABULIB:
        return read_pabulib(path, column=column, outside_limits=outside_limits, field=field)
    allowed = f"a file that ends with .{_PABULIB} or {', '.join(f'.{name}' for name in PREFLIB_TYPES)}"
    require(of_type in PREFLIB_TYPES, field, str(path), allowed)
    refuse(column, f"{_FIELD}.group_column", column, f"left out for {path.name}: PrefLib's files hold no groups")
    return read_preflib(path, field=field)


def merge(parts: Sequence[FileBallots], *, same_alternatives: Literal["names", "numbers"] = "names") -> FileBallots:
    """Return the ballots of several files, one after another.

    That alternatives are the same is told by their names, which may stand in another order; or by their numbers,
    whatever their names are.
    """
    first = parts[0]
    columns = [_columns_like(first, part, by_name=same_alternatives == "names") for part in parts]
    names = first.alternatives
    if any(part.alternatives != names for part in parts) and same_alternatives == "numbers":
        names = tuple(f"alternative {number}" for number in range(1, len(names) + 1))
    offsets = np.cumsum([0, *(len(part.classes) for part in parts)])
    return FileBallots(
        alternatives=names,
        ids=first.ids,
        classes=np.concatenate([part.classes[:, places] for part, places in zip(parts, columns, strict=True)]),
        listed=np.concatenate([part.listed[:, places] for part, places in zip(parts, columns, strict=True)]),
        ballot_of_voter=np.concatenate(
            [part.ballot_of_voter + offset for part, offset in zip(parts, offsets, strict=False)]
        ),
        lines=np.concatenate([part.lines for part in parts]),
        voters=(),
        source=", ".join(part.source for part in parts),
        sources=tuple(part.source for part in parts),
        source_of_voter=np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
        is_strict=all(part.is_strict for part in parts),
        num_left_out=sum(part.num_left_out for part in parts),
    )


def profile_of(
    ballots: FileBallots, grouping: Grouping, options: RankingOptions, *, names: Sequence[str] = (), note: str = ""
) -> Profile:
    """Return the profile of the voters who are in a group.

    Names are by default running numbers; the note is on what else became of the lines of the file.

    Raises:
        ConfigurationError: an alternative is unknown, they are too few or too many, or a tie is refused.
    """
    kept_columns = _columns_to_keep(ballots, options.alternatives)
    left_out = np.flatnonzero(grouping.members < 0)
    positions, num_tied = break_ties(ballots, ties=options.ties, columns_kept=kept_columns, skipped=left_out)
    width = len(str(len(ballots)))
    voters = names or [f"voter {number:0{width}d}" for number in range(1, len(ballots) + 1)]
    members, lines = grouping.members, ballots.lines
    if left_out.size:
        is_in = np.flatnonzero(members >= 0)
        positions, members, lines = positions[is_in], members[is_in], lines[is_in]
        voters = [voters[place] for place in is_in.tolist()]
    return Profile(
        alternatives=tuple(ballots.alternatives[place] for place in kept_columns),
        rankings=Rankings(positions),
        groups=grouping.groups,
        members=members,
        voters=voters,
        # A line of several files would say little.
        lines=lines.tolist() if ballots.source_of_voter is None else (),
        source=ballots.source,
        may_tie=options.ties == "mean" and not ballots.is_strict,
        note=_note(
            ballots,
            num_kept=len(kept_columns),
            num_tied=num_tied,
            num_out=left_out.size,
            options=options,
            addition=note,
        ),
    )


def grouping_of_column(ballots: FileBallots, options: ColumnOptions, *, groups: Sequence[str] = ()) -> Grouping:
    """Return the groups that a Pabulib file's own column tells, as the options say."""
    column, entries = options.group_column, ballots.entries
    if options.age_cuts:
        groups, entries = age_groups(ballots, entries, options.age_cuts, column=column)
        if empty := [group for group in groups if group not in entries]:
            allowed = f"ages with voters in each group: nobody is {empty[0]}"
            raise ConfigurationError(field=f"{_FIELD}.age_cuts", value=list(options.age_cuts), allowed=allowed)
    return groups_of_entries(
        ballots,
        entries,
        column=column,
        groups=groups,
        new_names=options.group_names,
        without_group=options.without_group,
    )


def _profile_of_columns(options: RankingFile) -> Profile:
    """Return the voters of a file with the crossings of several columns."""
    field, file = f"{_FIELD}.group_columns", Path(options.file)
    ballots = _read(options)
    groupings: dict[str, Grouping] = {}
    for column in options.group_columns:
        if options.groups_file:
            groupings[column] = groups_of_companion(
                path_of(options.groups_file), ballots, column=column, without_group=options.without_group
            )
        else:
            if type_of(file) != _PABULIB:
                allowed = f"left out for {file.name}, or given with groups_file: PrefLib's files hold no groups"
                raise ConfigurationError(field=field, value=list(options.group_columns), allowed=allowed)
            cuts = options.age_cuts if column == "age" else ()
            column_options = msgspec.structs.replace(options, group_columns=(), group_column=column, age_cuts=cuts)
            groupings[column] = grouping_of_column(_read(options, column=column), column_options)
    refuse(len(groupings) < len(options.group_columns), field, list(options.group_columns), "columns, each once")
    grouping, features = cross_groupings(groupings, field=field)
    return dataclasses.replace(profile_of(ballots, grouping, options), features=features)


def _grouping_of(ballots: FileBallots, options: RankingFile) -> Grouping:
    if options.is_plain:
        return Grouping(options.groups, np.zeros(len(ballots), dtype=np.int64))
    if options.group_rule:
        return groups_in_turn(ballots, options.groups)
    if options.groups_file:
        return groups_of_companion(
            path_of(options.groups_file),
            ballots,
            groups=options.groups,
            new_names=options.group_names,
            without_group=options.without_group,
        )
    return grouping_of_column(ballots, options, groups=options.groups)


def _columns_like(first: FileBallots, part: FileBallots, *, by_name: bool) -> list[int]:
    """Return which alternative of a part each of the first one's is."""
    if by_name and sorted(part.alternatives) != sorted(first.alternatives):
        missing_names = [name for name in first.alternatives if name not in part.alternatives]
        surplus = [name for name in part.alternatives if name not in first.alternatives]
        odd = f"without {missing_names[:_MAX_SHOWN]}" if missing_names else f"with {surplus[:_MAX_SHOWN]}"
        value = f"{part.source} {odd}"
        allowed = f'files over the alternatives of {first.source}, or same_alternatives = "numbers"'
        raise ConfigurationError(field=f"{_FIELD}.group_files", value=value, allowed=allowed)
    value = f"{part.source} with {len(part.alternatives)} alternatives"
    allowed = f"files over as many alternatives as {first.source}, {len(first.alternatives)}"
    refuse(len(part.alternatives) != len(first.alternatives), f"{_FIELD}.group_files", value, allowed)
    if by_name:
        return [part.alternatives.index(name) for name in first.alternatives]
    return list(range(len(first.alternatives)))


def _columns_to_keep(ballots: FileBallots, wanted_names: Sequence[str]) -> list[int]:
    places: Mapping[str, int] = {
        **{name: place for place, name in enumerate(ballots.ids)},
        **{name: place for place, name in enumerate(ballots.alternatives)},
    }
    field = f"{_FIELD}.alternatives"
    for name in wanted_names:
        if name not in places:
            some_names = ", ".join(ballots.alternatives[:_MAX_SHOWN])
            allowed = f"an alternative of {ballots.source}: {some_names}{did_you_mean(name, places)}"
            raise ConfigurationError(field=field, value=name, allowed=allowed)
    kept_columns = [places[name] for name in wanted_names] or list(range(len(ballots.alternatives)))
    refuse(
        len(set(kept_columns)) < len(kept_columns), field, list(wanted_names)[:_MAX_SHOWN], "alternatives, each once"
    )
    place_text = field if wanted_names else f"{ballots.source}, number of alternatives"
    allowed = f"{_LEAST} to {MAX_ALTERNATIVES}" + ("" if wanted_names else f"; {field} keeps some of them")
    require(_LEAST <= len(kept_columns) <= MAX_ALTERNATIVES, place_text, len(kept_columns), allowed)
    return kept_columns


def _note(
    ballots: FileBallots, *, num_kept: int, num_tied: int, num_out: int, options: RankingOptions, addition: str
) -> str:
    """Return what became of the ballots, as a line for people."""
    sentences = [f"{len(ballots) - num_out:,} of {len(ballots):,} voters" if num_out else f"{len(ballots):,} voters"]
    if num_out:
        sentences.append(f"left out: {num_out:,} without a group")
    if ballots.num_left_out:
        sentences.append(f"left out: {ballots.num_left_out:,} that break their own file's limits")
    if num_kept < len(ballots.alternatives):
        sentences.append(f"{num_kept} of {len(ballots.alternatives)} alternatives")
    if num_tied:
        treatment = (
            "have the mean score of their places" if options.ties == "mean" else "were ordered as they are listed"
        )
        sentences.append(f"ties, or alternatives not ranked, of {num_tied:,} voter{'s' * (num_tied != 1)} {treatment}")
    if addition:
        sentences.append(addition)
    return "; ".join(sentences)
