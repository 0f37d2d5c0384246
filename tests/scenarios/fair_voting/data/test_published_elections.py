"""Published elections: voters and groups as the published counts say, and what cannot be chosen."""

import csv
from pathlib import Path
from typing import Any

import pytest
from bad_input import Write, refused_by
from makers import as_usual
from psephos.protocol import ConfigurationError
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.fair_voting import FairVoting, Rankings
from psephos.scenarios.datasets import load_data_set
from psephos.scenarios.fair_voting.data.published_elections import DATA_SETS
from psephos.scenarios.reading.sources import PartiesTable

ELECTIONS = ("pabulib", "preflib_00024_dots", "preflib_00030_uklabor", "preflib_00035_breakfast", "zurich_pb")
BREAKFAST = "preflib_00035_breakfast"
DOTS = "preflib_00024_dots"
LABOR = "preflib_00030_uklabor"
ZURICH = "zurich_pb"


def load(folder: Path, name: str, **options: Any) -> PartiesTable:
    """Return the voters of a data set."""
    return load_data_set({"data": name, **options}, folder=str(folder), parameters={}, protocol=FairVoting)


refusal = as_usual(refused_by, load)


def groups_of(loaded: PartiesTable) -> dict[str, int]:
    return dict(zip(loaded.parameters["groups"], loaded.parameters["group_sizes"], strict=True))


def orders_of(loaded: PartiesTable) -> list[list[int]]:
    """Return each voter's order of the alternatives, numbered from 1."""
    rankings = loaded.table["ranking"]
    assert isinstance(rankings, Rankings)
    orders: list[list[int]] = (rankings.positions.argsort(axis=1) + 1).tolist()
    return orders


def breakfast_rows(folder: Path) -> list[list[list[int]]]:
    """Return the rankings of respondents 2 to 42 in all situations."""
    with (folder / BREAKFAST / "00035-00000001.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter=";"))[2:]
    return [[[int(number) for number in entry.split(",")] for entry in row] for row in rows]


def test_elections_are_for_fair_voting_and_published() -> None:
    assert set(DATA_SETS) == set(ELECTIONS)
    with pytest.raises(ConfigurationError) as caught:
        load_data_set({"data": ZURICH}, folder=".", parameters={}, protocol=DPWeVote)
    assert caught.value.allowed == "another data set: this one is for protocol 'fair-voting'"


@pytest.mark.parametrize("situation", range(1, 7))
def test_men_and_women_at_breakfast_are_in_the_order_of_the_respondents(real_sets: Path, situation: int) -> None:
    loaded = load(real_sets, BREAKFAST, situation=situation)
    assert groups_of(loaded) == {"men": 21, "women": 21}
    assert list(loaded.names) == [f"respondent {number:02d}" for number in range(1, 43)]
    assert list(loaded.table["group"]) == [0, 1] * 21
    assert len(loaded.parameters["alternatives"]) == 15
    assert (loaded.is_public_record, loaded.is_generated) == (True, False)
    orders = orders_of(loaded)
    assert orders[1:] == [row[situation - 1] for row in breakfast_rows(real_sets)]
    soc = (real_sets / BREAKFAST / f"00035-{situation + 1:08d}.soc").read_text(encoding="utf-8")
    first = next(line for line in soc.splitlines() if not line.startswith("#"))
    assert first == "1: " + ",".join(map(str, orders[0]))


def test_files_of_a_breakfast_situation_agree_but_for_one_ranking(real_sets: Path) -> None:
    """On this rests that respondent 1 is on the first line, where a line stands for two voters."""
    differing: list[int] = []
    for situation in range(1, 7):
        orders: list[list[int]] = []
        soc = (real_sets / BREAKFAST / f"00035-{situation + 1:08d}.soc").read_text(encoding="utf-8")
        for line in soc.splitlines():
            if not line.startswith("#"):
                count, _, order = line.partition(":")
                orders += [[int(number) for number in order.split(",")]] * int(count)
        others = [row[situation - 1] for row in breakfast_rows(real_sets)]
        differing.append(sum(mine != other for mine, other in zip(orders[1:], others, strict=True)))
    assert differing == [0, 0, 0, 0, 1, 0]


def test_breakfast_situation_may_be_named_by_its_file(real_sets: Path) -> None:
    by_number = load(real_sets, BREAKFAST, situation=5)
    assert orders_of(load(real_sets, BREAKFAST, situation="00035-00000006")) == orders_of(by_number)
    assert orders_of(load(real_sets, BREAKFAST, situation="00035-00000006.soc")) == orders_of(by_number)
    assert by_number.note == "42 voters; respondents 2 to 42 as in 00035-00000001.csv, 1 as in 00035-00000006.soc"
    assert list(by_number.lines) == []


def test_tasks_of_the_dots_are_groups(real_sets: Path) -> None:
    loaded = load(real_sets, DOTS)
    assert groups_of(loaded) == {"3 dots apart": 795, "5 dots apart": 794, "7 dots apart": 800, "9 dots apart": 794}
    assert loaded.parameters["alternatives"] == ["fewest dots", "second fewest dots", "second most dots", "most dots"]
    orders, members = orders_of(loaded), list(loaded.table["group"])
    for task, share in enumerate((0.093, 0.115, 0.161, 0.213)):
        of_task = [order for order, member in zip(orders, members, strict=True) if member == task]
        assert round(of_task.count([1, 2, 3, 4]) / len(of_task), 3) == share
    assert groups_of(load(real_sets, DOTS, tasks=[4, 1])) == {"9 dots apart": 794, "3 dots apart": 795}


def test_members_of_parliament_have_groups_from_a_file_of_ones_own(real_sets: Path, tmp_path: Path) -> None:
    error = refusal(real_sets, LABOR)
    assert error.field == "voters.groups_file"
    assert "given, a CSV file of voter, group" in error.allowed
    path = tmp_path / "who.csv"
    lines = [f"{number},{'north' if number <= 100 else 'south'}" for number in range(1, 267)]
    path.write_text("voter,group\n" + "\n".join(lines) + "\n", encoding="utf-8")
    loaded = load(real_sets, LABOR, groups_file=str(path), ties="listed")
    assert groups_of(loaded) == {"north": 100, "south": 166}
    assert orders_of(loaded)[0] == [4, 1, 2, 3, 5]  # of candidate 4 alone
    assert loaded.parameters["alternatives"] == ["D.Abbott", "E.Balls", "A.Burnhm", "D.Milbnd", "E.Milbnd"]
    path.write_text("voter,group\n" + "\n".join(lines[:-1]) + "\n", encoding="utf-8")
    assert refusal(real_sets, LABOR, groups_file=str(path)).value == "00030-00000001.soi line 93, voter 266"
    left = load(real_sets, LABOR, groups_file=str(path), without_group="leave out")
    assert len(left.names) == 265


@pytest.mark.parametrize("ballot", ["S5R", "S5", "SN", "D5", "D10", "S5D10"])
def test_voters_of_zurich_are_grouped_by_district(real_sets: Path, ballot: str) -> None:
    loaded = load(real_sets, ZURICH, ballot=ballot)
    assert groups_of(loaded) == {"West": 32, "Nord": 55, "Ost": 71, "Süd": 22}
    assert len(loaded.parameters["alternatives"]) == 24
    assert loaded.parameters["alternatives"][0] == "Planting Workshops at Oerlikon"


def test_ranked_ballots_of_zurich_stand_above_the_rest(real_sets: Path) -> None:
    """The first two ballots, as they stand on lines 46 and 47."""
    orders = orders_of(load(real_sets, ZURICH))
    assert orders[0][:5] == [8, 15, 20, 18, 1]
    assert orders[1][:4] == [2, 24, 5, 7]


def test_voters_of_zurich_are_the_same_in_every_format(real_sets: Path) -> None:
    members = {tuple(load(real_sets, ZURICH, ballot=ballot).table["group"]) for ballot in ("S5R", "SN", "D10")}
    assert len(members) == 1


@pytest.mark.parametrize(
    ("election", "groups"),
    [
        ("poland_katowice_2021_podlesie", {"M": 992, "F": 1049}),
        ("poland_katowice_2021_szopienice-burowiec", {"M": 757, "F": 1046}),
        ("poland_gdynia_2020_maly-kack-small", {"M": 1323, "F": 1558}),
        ("poland_gdynia_2020_orlowo-large.pb", {"M": 157, "F": 211}),
        ("poland_warszawa_2023_zoliborz", {"M": 927, "F": 1579}),
    ],
)
def test_budget_votes_are_grouped_by_sex(real_sets: Path, election: str, groups: dict[str, int]) -> None:
    loaded = load(real_sets, "pabulib", election=election)
    assert groups_of(loaded) == groups
    assert all(name.startswith("voter ") for name in loaded.names)


def test_other_columns_tell_groups_too(real_sets: Path) -> None:
    election = "poland_krakow_2022_grzegorzki"
    assert refusal(real_sets, "pabulib", election=election).allowed.endswith("grzegorzki.pb: voting_method")
    methods = load(real_sets, "pabulib", election=election, group_column="voting_method")
    assert groups_of(methods) == {"internet": 1347, "paper": 122}
    ages = load(real_sets, "pabulib", election="poland_warszawa_2023_zoliborz", group_column="age", age_cuts=[30, 60])
    assert groups_of(ages) == {"under 30": 805, "30 to 59": 1523, "60 and over": 178}


def test_some_projects_may_be_kept(real_sets: Path) -> None:
    loaded = load(
        real_sets, "pabulib", election="poland_warszawa_2023_zoliborz", alternatives=["525", "685", "735", "1139"]
    )
    assert len(loaded.parameters["alternatives"]) == 4
    assert "4 of 31 alternatives" in loaded.note


@pytest.mark.parametrize(
    ("name", "options", "field", "allowed"),
    [
        (BREAKFAST, {"situation": 7}, "voters.situation", "1 to 6"),
        (BREAKFAST, {"situation": 0}, "voters.situation", "1 to 6"),
        (BREAKFAST, {"situation": "00035-00000001"}, "voters.situation", "from 00035-00000002 on"),
        (BREAKFAST, {"group_column": "sex"}, "voters", "without the unknown key 'group_column'"),
        (DOTS, {"tasks": [1]}, "voters.tasks", "two or more of 1, 2, 3, 4"),
        (DOTS, {"tasks": [1, 1]}, "voters.tasks", "each once"),
        (DOTS, {"tasks": [1, 5]}, "voters.tasks", "two or more of 1, 2, 3, 4"),
        (ZURICH, {"ballot": "S6"}, "voters.ballot", "one of S5R, S5, SN, D5, D10, S5D10"),
        ("pabulib", {}, "data", "a readable file"),
        ("pabulib", {"election": "x"}, "data", "a readable file"),
        (ZURICH, {}, "data", "a readable file"),
        (BREAKFAST, {"ties_seed": 1}, "voters", "without the unknown key 'ties_seed'"),
        (BREAKFAST, {"ties": "random"}, "voters.ties", "mean, refuse, listed"),
    ],
)
def test_what_cannot_be_chosen_is_named(
    tmp_path: Path, name: str, options: dict[str, Any], field: str, allowed: str
) -> None:
    error = refusal(tmp_path, name, **options)
    assert error.field == field
    assert allowed in error.allowed


def test_election_that_is_not_in_the_folder_is_named_beside_those_that_are(put_set: Write, tmp_path: Path) -> None:
    put_set("pabulib/town.pb", "META\n")
    error = refusal(tmp_path / "sets", "pabulib", election="twon")
    assert (error.field, error.value) == ("voters.election", "twon")
    assert error.allowed == "a file in pabulib: town.pb (did you mean 'town.pb'?)"


HEADER = """# NUMBER ALTERNATIVES: 2
# NUMBER VOTERS: 42
# NUMBER UNIQUE ORDERS: 2
# ALTERNATIVE NAME 1: Toast
# ALTERNATIVE NAME 2: Jam
"""
ROW = ";".join(["1,2", "2,1"] * 3)


@pytest.fixture
def breakfast(put_set: Write, tmp_path: Path) -> Path:
    """A small folder with a breakfast of two things to eat."""
    put_set(f"{BREAKFAST}/00035-00000005.soc", HEADER + "1: 1,2\n41: 2,1\n")
    put_set(f"{BREAKFAST}/00035-00000001.csv", "files\ntitles\n" + f"{ROW}\n" * 41)
    return tmp_path / "sets"


def test_respondents_whose_lines_are_out_of_order_are_from_the_other_file(breakfast: Path) -> None:
    loaded = load(breakfast, BREAKFAST, situation=4)
    assert orders_of(loaded) == [[1, 2]] + [[2, 1]] * 41
    assert list(loaded.table["group"]) == [0, 1] * 21


@pytest.mark.parametrize(
    ("row", "field", "allowed"),
    [
        (ROW.replace("2,1", "2,2"), "00035-00000001.csv line 5", "6 orders of the numbers 1 to 2"),
        (ROW.replace("2,1", "2"), "00035-00000001.csv line 5", "6 orders of the numbers 1 to 2"),
        (ROW.replace("2,1", "two"), "00035-00000001.csv line 5", "6 orders of the numbers 1 to 2"),
        (f"{ROW};1,2", "00035-00000001.csv line 5", "6 orders of the numbers 1 to 2"),
        ("", "00035-00000001.csv", "rows of respondents 2 to 42"),
    ],
)
def test_fault_of_the_file_in_order_is_named(
    put_set: Write, breakfast: Path, row: str, field: str, allowed: str
) -> None:
    put_set(f"{BREAKFAST}/00035-00000001.csv", "files\ntitles\n" + f"{ROW}\n" * 2 + f"{row}\n" + f"{ROW}\n" * 38)
    error = refusal(breakfast, BREAKFAST, situation=4)
    assert error.field == field
    assert allowed in error.allowed


def test_breakfast_has_forty_two_respondents(put_set: Write, breakfast: Path) -> None:
    put_set(f"{BREAKFAST}/00035-00000002.soc", HEADER.replace("42", "2") + "1: 1,2\n1: 2,1\n")
    error = refusal(breakfast, BREAKFAST)
    assert (error.field, error.value) == ("00035-00000002.soc", "2 voters")
