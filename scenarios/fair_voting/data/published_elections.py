"""Published elections as the voters of a fair voting session.

Their groups are what the files say or what is known of them: men and women at breakfast, the four tasks of counting
dots, districts of Zurich, a column of a Pabulib file. Where nobody says it, a file of one's own does.
"""

import contextlib
import csv
import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from ....protocol.errors import did_you_mean, list_choices, refuse, require
from ...datasets import DataSet
from .ballots import FileBallots, tabulate
from .files import ColumnOptions, RankingOptions, grouping_of_column, merge, profile_of
from .groups import WithoutGroup, groups_in_turn, groups_of_companion, groups_of_files
from .lines import line_fault, read_lines
from .pabulib import read_pabulib
from .parties import electorate_to_parties
from .preflib import read_preflib
from .profile import Profile

_OptionsT = TypeVar("_OptionsT", bound=RankingOptions)

_DATA: Final = "data"
_FIELD: Final = "voters"
_SUFFIX: Final = ".pb"

_MEN_AND_WOMEN: Final = ("men", "women")
_NUM_SITUATIONS: Final = 6
_OUT_OF_ORDER: Final = (4, 5)
"""Situations in whose .soc file a line stands for two voters, so that it does not say by itself who cast which ballot.

The file of all situations has respondents 2 to 42 in order, and respondent 1 is on the first line of the .soc file:
without that one the two files agree. In situation 5 they do but for one ranking, of which the former's is taken.
"""
_NUM_RESPONDENTS: Final = 42
_HEADER_LINES: Final = 2

_TASKS: Final = (1, 2, 3, 4)
_PICTURES: Final = ("fewest dots", "second fewest dots", "second most dots", "most dots")
_BALLOTS: Final = ("S5R", "S5", "SN", "D5", "D10", "S5D10")


class Breakfast(RankingOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Students and their wives rank 15 things to eat at breakfast; see also `RankingOptions`."""

    situation: int | str = 1  # 1 (overall preference) to 6, or the name of its file, such as "00035-00000002"

    def __post_init__(self) -> None:
        allowed = f"1 to {_NUM_SITUATIONS}, or the name of a file from {_breakfast_file(1)} on"
        require(1 <= self.number <= _NUM_SITUATIONS, f"{_FIELD}.situation", self.situation, allowed)

    @property
    def number(self) -> int:
        """Return the situation's number; 0 for a name of no file."""
        if isinstance(self.situation, int):
            return self.situation
        names = [_breakfast_file(number) for number in range(1, _NUM_SITUATIONS + 1)]
        name = self.situation.removesuffix(".soc")
        return names.index(name) + 1 if name in names else 0


class Dots(RankingOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """People order four pictures by their dots; each task is a group. See also `RankingOptions`."""

    tasks: tuple[int, ...] = _TASKS  # two or more of 1 (the pictures differ by 3 dots) to 4 (by 9)

    def __post_init__(self) -> None:
        are_fine = len(set(self.tasks)) == len(self.tasks) > 1 and set(self.tasks) <= set(_TASKS)
        allowed = f"two or more of {', '.join(map(str, _TASKS))}, each once"
        require(are_fine, f"{_FIELD}.tasks", list(self.tasks), allowed)


class LaborLeadership(RankingOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Members of parliament rank the candidates for the leadership of the British Labour Party, 2010.

    See also `RankingOptions`.
    """

    # A CSV file with the columns voter (1 to 266: the lines in their order, each for as many voters as its count) and
    # group; PrefLib's file holds no groups.
    groups_file: str = ""
    without_group: WithoutGroup = "refuse"  # what becomes of voters whose group is not said


class ZurichVotes(RankingOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Participants of an experiment vote on projects for Zurich; groups are the districts that they prefer.

    See also `RankingOptions`.

    Args:
        ballot: how they voted: S5R (rank five), S5 (pick five), SN (pick any number), D5 and D10 (give 5 or 10 points),
            S5D10 (10 points to five).
    """

    ballot: str = "S5R"

    def __post_init__(self) -> None:
        require(self.ballot in _BALLOTS, f"{_FIELD}.ballot", self.ballot, list_choices(_BALLOTS, self.ballot))


class BudgetVotes(ColumnOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Citizens vote on projects of their district; see also `ColumnOptions`."""

    election: str = ""  # the file's name, with or without `.pb`; there is none by default
    group_column: str = "sex"


def _breakfast_file(situation: int) -> str:
    return f"00035-{situation + 1:08d}"


def _load_breakfast(options: Breakfast, folder: Path) -> Profile:
    """Return the respondents of a situation: the first of each two is a man, the second his wife."""
    number = options.number
    ballots = read_preflib(folder / f"{_breakfast_file(number)}.soc", field=_DATA)
    note = ""
    if number in _OUT_OF_ORDER:
        other_ballots = _read_in_order(folder / "00035-00000001.csv", ballots, column=number - 1)
        note = f"respondents 2 to {_NUM_RESPONDENTS} as in {other_ballots.source}, 1 as in {ballots.source}"
        first = dataclasses.replace(ballots, ballot_of_voter=ballots.ballot_of_voter[:1], lines=ballots.lines[:1])
        ballots = merge([first, other_ballots])
    allowed = f"{_NUM_RESPONDENTS} respondents"
    refuse(len(ballots) != _NUM_RESPONDENTS, ballots.source, f"{len(ballots)} voters", allowed)
    names = [f"respondent {respondent:02d}" for respondent in range(1, _NUM_RESPONDENTS + 1)]
    return profile_of(ballots, groups_in_turn(ballots, _MEN_AND_WOMEN), options, names=names, note=note)


def _read_in_order(path: Path, ballots: FileBallots, *, column: int) -> FileBallots:
    """Return the rankings of a situation as the file of all situations has them, from respondent 2 on."""
    num_alternatives = len(ballots.alternatives)
    orders: list[list[int]] = []
    lines: list[int] = []
    with contextlib.closing(read_lines(path, field=_DATA)) as text:
        rows = list(csv.reader(text, delimiter=";"))
    for line, row in enumerate(rows, start=1):
        if line <= _HEADER_LINES or not row:
            continue
        entry = row[column] if len(row) == _NUM_SITUATIONS else ""
        order = [int(number) for number in entry.split(",")] if re.fullmatch(r"[0-9]{1,3}(,[0-9]{1,3})*", entry) else []
        if sorted(order) != list(range(1, num_alternatives + 1)):
            allowed = f"{_NUM_SITUATIONS} orders of the numbers 1 to {num_alternatives}, separated by ';'"
            raise line_fault(path, line, ";".join(row), allowed)
        orders.append(order)
        lines.append(line)
    allowed = f"rows of respondents 2 to {_NUM_RESPONDENTS}"
    refuse(len(orders) != _NUM_RESPONDENTS - 1, path.name, f"{len(orders)} rows", allowed)
    table = np.array(orders, dtype=np.int64)
    classes, rank_table, _ = tabulate(
        table.ravel() - 1,
        np.tile(np.arange(num_alternatives), len(table)),
        np.full(len(table), num_alternatives),
        num_alternatives=num_alternatives,
    )
    return dataclasses.replace(
        ballots,
        classes=classes,
        listed=rank_table,
        ballot_of_voter=np.arange(len(table)),
        lines=np.array(lines, dtype=np.int64),
        source=path.name,
    )


def _load_dots(options: Dots, folder: Path) -> Profile:
    """Return the people of several tasks; pictures are the same in two tasks where their places in the truth are."""
    parts = [
        dataclasses.replace(read_preflib(folder / f"00024-{task:08d}.soc", field=_DATA), alternatives=_PICTURES)
        for task in options.tasks
    ]
    grouping = groups_of_files([f"{2 * task + 1} dots apart" for task in options.tasks], [len(part) for part in parts])
    return profile_of(merge(parts), grouping, options)


def _load_labor(options: LaborLeadership, folder: Path) -> Profile:
    allowed = "given, a CSV file of voter, group: PrefLib's file does not say who cast which ballot"
    require(options.groups_file, f"{_FIELD}.groups_file", "nothing", allowed)
    ballots = read_preflib(folder / "00030-00000001.soi", field=_DATA)
    grouping = groups_of_companion(Path(options.groups_file), ballots, without_group=options.without_group)
    return profile_of(ballots, grouping, options)


def _load_zurich(options: ZurichVotes, folder: Path) -> Profile:
    path = folder / f"qualtrics_zurich_2023_{options.ballot}{_SUFFIX}"
    of_column = ColumnOptions(group_column="district_preference")
    # Every vote has an entry more than the header has names; it stands behind the columns that are read here.
    ballots = read_pabulib(path, column=of_column.group_column, num_unnamed=1, field=_DATA)
    return profile_of(ballots, grouping_of_column(ballots, of_column), options)


def _load_pabulib(options: BudgetVotes, folder: Path) -> Profile:
    name = f"{options.election.removesuffix(_SUFFIX)}{_SUFFIX}"
    file_names = sorted(path.name for path in folder.glob(f"*{_SUFFIX}"))
    allowed = f"a file in {folder.name}: {', '.join(file_names)}{did_you_mean(name, file_names)}"
    refuse(file_names and name not in file_names, f"{_FIELD}.election", options.election, allowed)
    limits = options.outside_limits
    ballots = read_pabulib(folder / name, column=options.group_column, outside_limits=limits, field=_DATA)
    return profile_of(ballots, grouping_of_column(ballots, options), options)


def _make_data_set(
    options: type[_OptionsT], load: Callable[[_OptionsT, Path], Profile], source: str, num_bytes: int
) -> DataSet:
    """Return a data set whose ballots everybody may know, since they were published."""
    return DataSet(
        options,
        lambda own, folder, _: electorate_to_parties(load(own, folder), is_public_record=True),
        source,
        num_bytes,
    )


_POLAND: Final = "pabulib.org; these at github.com/lchipchase/CS407-Clustering-Investigation"
_PREFLIB: Final = "preflib.org, and github.com/fleverest/PrefLib-Data"

DATA_SETS: Final[Mapping[str, DataSet]] = {
    # Participatory budgets of districts in Poland.
    "pabulib": _make_data_set(BudgetVotes, _load_pabulib, _POLAND, 391_951),
    # Pictures in the order of their dots (Mao et al. 2013).
    "preflib_00024_dots": _make_data_set(Dots, _load_dots, _PREFLIB, 2_698),
    "preflib_00030_uklabor": _make_data_set(
        LaborLeadership, _load_labor, _PREFLIB, 1_270
    ),  # members of parliament (2010)
    # In six situations (Green and Rao 1972).
    "preflib_00035_breakfast": _make_data_set(Breakfast, _load_breakfast, _PREFLIB, 24_417),
    # In six formats of ballots (Yang et al. 2024).
    "zurich_pb": _make_data_set(ZurichVotes, _load_zurich, "github.com/joshuay1/zurich-pb-voting", 121_068),
}
"""By the name of the folder that holds it."""
