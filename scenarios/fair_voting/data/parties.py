"""Elections as the voters of a fair voting session."""

import dataclasses
import functools
import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
import numpy as np

from ....protocol.columns import CodedColumn
from ....protocol.errors import ConfigurationError, list_choices
from ....protocol.fair_voting import FairVoting
from ....protocol.fair_voting.entries import RANKINGS_LOOKED_AT, alternatives_of, groups_of
from ....protocol.fair_voting.kinds import JOINT
from ....protocol.phases import Entries
from ...reading.batches import TableFiles, is_in_batches
from ...reading.conversion import convert
from ...reading.frames import path_of
from ...reading.headers import TableOptions
from ...reading.manifests import remembered
from ...reading.sources import PartiesTable, PartySources, RowFiles
from ...running.parties import check_unlike, read_parties_file
from .files import RankingFile, load_rankings
from .groups import Grouping, cross_groupings
from .own_tables import RankingTable, load_table
from .profile import Profile
from .societies import make_profile, read_society

_FIELD: Final = "voters"
_FILES: Final = ("file", "group_files")
_GENERATOR: Final = "generator"
_COLUMNS: Final = "group_columns"
_OF_GROUPS: Final = frozenset({"groups", "groups_file", "group_column", _COLUMNS, "group_rule"})
_SUFFIXES: Final = (".soc", ".soi", ".toc", ".toi", ".pb")
"""How the names of files end that are read here, before a `.gz`: PrefLib's files of orders, and Pabulib's."""


def is_of_ballots(path: str) -> bool:
    """Return whether a file is one of PrefLib's or Pabulib's, by its name.

    Examples:
        >>> is_of_ballots("votes.soc"), is_of_ballots("votes.csv")
        (True, False)
    """
    return path.lower().removesuffix(".gz").endswith(_SUFFIXES)


def load_electorate(parties: str | Mapping[str, Any]) -> PartiesTable:
    """Return the voters of published files, or made-up ones.

    They are the path of a file whose name ends in one of `_SUFFIXES`; a table of `RankingFile`, or of `RankingTable`
    where its file is no such one; or one of a society (alternatives, groups, seed) beside the name of its `generator`.

    Examples:
        >>> groups = {"all": {"voters": 2, "dispersion": 0.0}}
        >>> loaded = load_electorate({"generator": "mallows", "alternatives": ["a", "b"], "groups": groups})
        >>> loaded.names, loaded.table["ranking"].positions.tolist()
        (['voter-1', 'voter-2'], [[0, 1], [0, 1]])
    """
    options: dict[str, Any] = {_FILES[0]: parties} if isinstance(parties, str) else dict(parties)
    given_options = [name for name in (*_FILES, _GENERATOR) if name in options]
    if not given_options:
        field = " or ".join(f"{_FIELD}.{name}" for name in (*_FILES, _GENERATOR))
        raise ConfigurationError(field=field, value="left out", allowed="given")
    if _is_table(options):
        return _read_columns(options) if _COLUMNS in options else load_table(convert(options, RankingTable, _FIELD))
    if _GENERATOR not in options:
        file: RankingFile = convert(options, RankingFile, _FIELD)
        return electorate_to_parties(load_rankings(file))
    if len(given_options) > 1:
        field = " and ".join(f"{_FIELD}.{name}" for name in given_options)
        raise ConfigurationError(field=field, value="given", allowed="given one of them alone")
    generator: str = convert(options.pop(_GENERATOR), str, f"{_FIELD}.{_GENERATOR}")
    return electorate_to_parties(make_profile(read_society(options, generator)))


def _is_table(options: Mapping[str, Any]) -> bool:
    """Return whether a CSV file has rankings and groups, a line for each voter."""
    return isinstance(file := options.get(_FILES[0]), str) and not is_of_ballots(file)


def _read_columns(options: Mapping[str, Any]) -> PartiesTable:
    """Return the voters of a CSV file with several columns of groups."""
    field = f"{_FIELD}.{_COLUMNS}"
    if other_options := sorted(options.keys() - {_FILES[0], _COLUMNS}):
        allowed = f"left out beside {_COLUMNS} and a CSV file"
        raise ConfigurationError(field=f"{_FIELD}.{other_options[0]}", value=options[other_options[0]], allowed=allowed)
    columns: tuple[str, ...] = convert(options[_COLUMNS], tuple[str, ...], field)
    parties = read_parties_file(path_of(options[_FILES[0]]), FairVoting.client_role)
    check_unlike(parties, FairVoting.client_role)
    groupings: dict[str, Grouping] = {}
    for column in columns:
        if column not in parties.table or column in groupings:
            allowed = f"columns of {parties.source}, each once: {', '.join(parties.table)}"
            raise ConfigurationError(field=field, value=column, allowed=allowed)
        entries = CodedColumn.from_values(parties.table[column])
        with parties.name_lines_in_errors():
            names = groups_of(entries, ())
        place = {name: number for number, name in enumerate(names)}
        members = entries.recode({entry: place[entry.strip()] for entry in entries.names})
        groupings[column] = Grouping(tuple(names), members)
    grouping, features = cross_groupings(groupings, field=field)
    sizes: list[int] = np.bincount(grouping.members, minlength=len(grouping.groups)).tolist()
    parameters_found = {
        "groups": list(grouping.groups),
        "group_sizes": sizes,
        "features": msgspec.to_builtins(features),
    }
    other_columns = {name: entries for name, entries in parties.table.items() if name not in columns}
    return dataclasses.replace(
        parties,
        table={**other_columns, "group": grouping.members},
        parameters=parameters_found,
        fixed=frozenset({"groups", "group_sizes"}),
    )


def electorate_to_parties(profile: Profile, *, is_public_record: bool = False) -> PartiesTable:
    """Return a profile as the parties of a session: each voter with its group and its ranking.

    Examples:
        >>> from psephos.scenarios.fair_voting.data import MallowsGroup, Society, make_profile
        >>> groups = {"all": MallowsGroup(voters=2, dispersion=0.0)}
        >>> loaded = electorate_to_parties(make_profile(Society(alternatives=("a", "b"), groups=groups)))
        >>> loaded.names, loaded.parameters["groups"]
        (['voter-1', 'voter-2'], ['all'])
    """
    sizes: list[int] = np.bincount(profile.members, minlength=len(profile.groups)).tolist()
    parameters: dict[str, Any] = {
        "alternatives": list(profile.alternatives),
        "groups": list(profile.groups),
        "group_sizes": sizes,
    }
    parameters_found: dict[str, Any] = {"features": msgspec.to_builtins(profile.features)} if profile.features else {}
    parameters_found |= {"ties": "mean"} if profile.may_tie else {}
    return PartiesTable(
        names=profile.voters,
        table={"group": profile.members, "ranking": profile.rankings},
        lines=profile.lines,
        source=profile.source,
        parameters=parameters | parameters_found,
        is_generated=profile.is_generated,
        is_public_record=is_public_record,
        fixed=frozenset(parameters),
        note=profile.note,
        has_header=not is_of_ballots(profile.source),
    )


def _read(parties: str | Mapping[str, Any], *, parameters: Mapping[str, Any]) -> PartiesTable | None:
    """Return the voters, unless a file has a line for each of them; of private groups no crossings are found.

    One group that the parameters name is that of all voters of a file of ballots.
    """
    mechanism = parameters.get("mechanism", "")
    if isinstance(parties, Mapping) and _COLUMNS in parties and mechanism in ("joint", *JOINT):
        allowed = f"left out with mechanism {mechanism!r}: which crossings have voters would tell of private groups"
        raise ConfigurationError(field=f"{_FIELD}.{_COLUMNS}", value=parties[_COLUMNS], allowed=allowed)
    if isinstance(parties, str) and not is_of_ballots(parties):
        return None
    options: dict[str, Any] = {_FILES[0]: parties} if isinstance(parties, str) else dict(parties)
    group_names = parameters.get("groups")
    is_plain = isinstance(group_names, (list, tuple)) and len(cast("list[str]", group_names)) == 1
    if is_plain and _FILES[0] in options and not _is_table(options) and not options.keys() & _OF_GROUPS:
        options["groups"] = group_names
    return load_electorate(options)


def _table_of(path: str) -> str | dict[str, Any]:
    """Return a file of ballots as a table, beside which the groups of its voters can be said."""
    return {_FILES[0]: path} if is_of_ballots(path) else path


def _rows_of_voters(parties: str | Mapping[str, Any], parameters: Mapping[str, Any]) -> RowFiles | None:
    """Return the files that hold voters, groups and rankings, by their path or a table, to be read in batches.

    Groups and their sizes are counted by a pass over them; alternatives are those of the first rankings.
    """
    options: dict[str, Any] = {_FILES[0]: parties} if isinstance(parties, str) else dict(parties)
    path = options.get(_FILES[0])
    known_options = {_FILES[0], "columns", "manifest", "numbered", *TableOptions.__struct_fields__}
    known_options |= {"repeats"} if options.get("repeats") == "none" else set()
    if not isinstance(path, str) or options.keys() - known_options or not is_in_batches(path):
        return None
    table: RankingTable = convert(options, RankingTable, _FIELD)
    # Of a worker of a cluster the parameters have them already, and nobody asks it for more.
    groups = {name: place for place, name in enumerate(convert(parameters.get("groups", []), list[str], "groups"))}

    def parameters_of(files: TableFiles) -> Mapping[str, Any]:
        parameters_asked = {name: parameters.get(name) for name in ("groups", "alternatives")}
        find = functools.partial(look_at, files)
        parameters_found = remembered(
            table.manifest, files, find, facts_asked={"columns": table.columns, **parameters_asked}
        )
        groups.clear()
        groups.update((name, place) for place, name in enumerate(parameters_found.get("groups", ())))
        return {name: value for name, value in parameters_found.items() if name not in parameters}

    def look_at(files: TableFiles) -> dict[str, Any]:
        parameters_found: dict[str, Any] = {}
        group_names: list[str] = convert(parameters.get("groups", []), list[str], "groups")
        if "group" not in files.names and len(group_names) == 1:
            parameters_found = {
                "groups": group_names,
                "group_sizes": [sum(batch.num_rows for batch in files.batches(["ranking"]))],
            }
        if "group" in files.names:
            numbers = Counter[str]()
            for entry, number in files.counts("group").items():
                numbers[str(entry).strip()] += number
            try:
                names = groups_of(list(numbers), group_names)
            except ConfigurationError as error:  # of a row among the distinct ones, which is nobody's
                raise ConfigurationError(field="group", value=error.value, allowed=error.allowed) from None
            parameters_found = {"groups": names, "group_sizes": [numbers[name] for name in names]}
        if "ranking" in files.names and "alternatives" not in parameters:
            rankings = itertools.chain.from_iterable(batch.table["ranking"] for batch in files.batches(["ranking"]))
            parameters_found["alternatives"] = alternatives_of(list(itertools.islice(rankings, RANKINGS_LOOKED_AT)))
        return parameters_found

    def prepare_rows(table: Mapping[str, Entries]) -> dict[str, Entries]:
        if "group" not in table:
            return dict(table)
        members = CodedColumn.from_values(table["group"])
        places = members.recode({name: groups.get(name.strip(), -1) for name in members.names})
        if (places < 0).any():  # counted before, and changed since
            row = int(np.argmax(places < 0))
            allowed = list_choices(groups, members[row])
            raise ConfigurationError(field=f"group in row {row + 1}", value=members[row], allowed=allowed)
        return {**table, "group": places}

    return RowFiles(
        path=path,
        columns=table.columns,
        only=("group", "ranking", *(["epsilon"] if "epsilons" in parameters else [])),
        prepared=prepare_rows,
        parameters_of=parameters_of,
        options=table,
        each_once="" if table.numbered else "same" if table.repeats == "none" else "unlike",
    )


SOURCES: Final = PartySources(
    read=_read,
    stream=_rows_of_voters,
    paths=("file", "groups_file", "manifest"),
    path_tables=("group_files",),
    synthetic=frozenset({_GENERATOR}),
    published=frozenset(_FILES),
    table_of=_table_of,
    parameters_of_table=frozenset({"alternatives", "groups", "group_sizes", "features", "ties"}),
    parameters_of_public_columns=frozenset({"groups", "group_sizes", "features"}),
    implied_parameters=frozenset({"ties"}),
    alternatives=(frozenset({"epsilon", "epsilons"}),),
    words={"rankings": ""},
)
