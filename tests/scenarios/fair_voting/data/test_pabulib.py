"""Pabulib's files of participatory budgeting: what is read, and what is refused with its line."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from bad_input import Write, refused_by
from makers import as_usual
from psephos.protocol.fair_voting.rankings import positions_of_classes
from psephos.scenarios.fair_voting.data.pabulib import VOTE_TYPES, read_pabulib

PARK = """META
key;value
description;"A park; with trees"
num_projects;4
num_votes;3
vote_type;{vote_type}
PROJECTS
project_id;cost;name
P/1;100;Pond
P/2;200;"Path; paved"
7;300;Playground
x;50;Bench
VOTES
voter_id;age;sex;vote;points
ann;34;F;"7,P/1,x";2,5,2
bob;;M;P/2;1
cy;70;F;x,7;0,-1
"""


def park(vote_type: str = "cumulative") -> str:
    return PARK.format(vote_type=vote_type)


refusal = as_usual(refused_by, read_pabulib)


def test_voters_and_projects_are_those_of_the_file(write: Write) -> None:
    ballots = read_pabulib(write("park.pb", park()), column="sex")
    assert ballots.alternatives == ("Pond", "Path; paved", "Playground", "Bench")
    assert ballots.ids == ("P/1", "P/2", "7", "x")
    assert list(ballots.voters) == ["ann", "bob", "cy"]
    assert ballots.lines.tolist() == [15, 16, 17]
    assert list(ballots.entries) == ["F", "M", "F"]
    assert ballots.where(1) == "park.pb line 16, voter 'bob'"


@pytest.mark.parametrize(
    ("vote_type", "classes"),
    [
        ("ordinal", [[1, 4, 0, 2], [4, 0, 4, 4], [4, 4, 1, 0]]),
        ("approval", [[0, 4, 0, 0], [4, 0, 4, 4], [4, 4, 0, 0]]),
        # By points; those not listed have 0, which is more than −1.
        ("cumulative", [[0, 3, 1, 1], [1, 0, 1, 1], [0, 0, 3, 0]]),
        ("scoring", [[0, 3, 1, 1], [1, 0, 1, 1], [0, 0, 3, 0]]),
    ],
)
def test_ballot_orders_by_place_or_by_points_or_not_at_all(
    write: Write, vote_type: str, classes: list[list[int]]
) -> None:
    ballots = read_pabulib(write("park.pb", park(vote_type)))
    assert ballots.classes[ballots.ballot_of_voter].tolist() == classes
    assert ballots.listed[ballots.ballot_of_voter].tolist() == [[1, 4, 0, 2], [4, 0, 4, 4], [4, 4, 1, 0]]


def test_points_are_compared_as_numbers(write: Write) -> None:
    ballots = read_pabulib(write("park.pb", park().replace("2,5,2", "10,9.5,1e1")))
    assert ballots.classes[0].tolist() == [2, 3, 0, 0]


def test_vote_may_be_empty_and_voters_may_vote_alike(write: Write) -> None:
    text = park().replace("P/2;1", ";").replace('"7,P/1,x";2,5,2', "x,7;0,-1")
    ballots = read_pabulib(write("park.pb", text))
    assert ballots.classes[ballots.ballot_of_voter].tolist() == [[0, 0, 3, 0], [0, 0, 0, 0], [0, 0, 3, 0]]
    assert len(ballots.classes) == 2


def test_a_project_that_is_not_listed_has_the_default_score_of_the_file(write: Write) -> None:
    """Sixty voters who give the only listed project −1 do not make it the best."""
    text = park("scoring").replace('"7,P/1,x";2,5,2', "7;-1").replace("x,7;0,-1", "7;-1").replace("P/2;1", "7;-1")
    ballots = read_pabulib(write("park.pb", text))
    assert ballots.classes.tolist() == [[0, 0, 3, 0]]
    low = text.replace("vote_type", "default_score;-2\nvote_type")
    assert read_pabulib(write("park.pb", low)).classes.tolist() == [[1, 1, 0, 1]]
    equal = text.replace("vote_type", "default_score;-1.0\nvote_type")
    assert read_pabulib(write("park.pb", equal)).classes.tolist() == [[0, 0, 0, 0]]
    assert refusal(write("park.pb", text.replace("vote_type", "default_score;x\nvote_type"))).value == "x"


LIMITS = {
    "choose-1": ("choose-1", "", "length (park.pb line 15, voter 'ann')", "3", "at most 1"),
    "too long": ("approval", "max_length;2", "length (park.pb line 16, voter 'ann')", "3", "at most 2"),
    "too short": ("ordinal", "min_length;2", "length (park.pb line 17, voter 'bob')", "1", "at least 2"),
    "points of one": ("scoring", "max_points;4.5", "points (park.pb line 16, voter 'ann')", "5", "at most 4.5"),
    "few points of one": ("scoring", "min_points;0", "points (park.pb line 18, voter 'cy')", "-1", "at least 0"),
    "points together": (
        "cumulative",
        "max_sum_points;8",
        "sum points (park.pb line 16, voter 'ann')",
        "9",
        "at most 8",
    ),
    "few points": ("cumulative", "min_sum_points;1", "sum points (park.pb line 18, voter 'cy')", "-1", "at least 1"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_ballot_that_breaks_its_own_files_limits_is_refused_by_line_or_left_out(write: Write, limit: str) -> None:
    vote_type, line, field, value, allowed = LIMITS[limit]
    path = write("park.pb", park(vote_type).replace("vote_type", f"{line}\nvote_type") if line else park(vote_type))
    error = refusal(path)
    assert (error.field, error.value) == (field, value)
    assert error.allowed.startswith(allowed)
    assert "voters.outside_limits = 'leave out'" in error.allowed
    kept = read_pabulib(path, outside_limits="leave out", column="sex")
    bad = {"'ann'": "ann", "'bob'": "bob", "'cy'": "cy"}[field.split()[-1].rstrip(")")]
    assert bad not in kept.voters
    assert len(kept) == len(kept.voters) == len(kept.entries) == 3 - kept.num_left_out


def test_a_limit_that_pabutools_filled_in_is_none(write: Write) -> None:
    text = park().replace("vote_type", "max_sum_points;Auto-filled max_sum_points\nvote_type")
    assert len(read_pabulib(write("park.pb", text))) == 3


def test_approval_needs_no_points(write: Write) -> None:
    text = park("approval").replace(";points", "").replace(";2,5,2", "").replace("P/2;1", "P/2").replace(";0,-1", "")
    assert len(read_pabulib(write("park.pb", text))) == 3


FORMS = {
    "CR LF": park().replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + park(),
    "no last line end": park().rstrip("\n"),
    "blanks": park().replace("x,7", " x , 7 ").replace("bob", " bob "),
    "blank lines": park().replace("VOTES", "\nVOTES\n"),
    "columns in another order": park()
    .replace("voter_id;age;sex;vote;points", "vote;points;sex;age;voter_id")
    .replace('ann;34;F;"7,P/1,x";2,5,2', '"7,P/1,x";2,5,2;F;34;ann')
    .replace("bob;;M;P/2;1", "P/2;1;M;;bob")
    .replace("cy;70;F;x,7;0,-1", "x,7;0,-1;F;70;cy"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_file_give_the_same_ballots(write: Write, form: str) -> None:
    expected = read_pabulib(write("park.pb", park()), column="age")
    ballots = read_pabulib(write("park.pb", FORMS[form]), column="age")
    assert ballots.classes.tolist() == expected.classes.tolist()
    assert (list(ballots.voters), list(ballots.entries)) == (list(expected.voters), ["34", "", "70"])


def test_packed_file_is_read(write: Write) -> None:
    assert len(read_pabulib(write("park.pb.gz", gzip.compress(park().encode())))) == 3


def test_projects_with_the_same_name_or_none_stand_behind_their_ids(write: Write) -> None:
    ballots = read_pabulib(write("park.pb", park().replace("Bench", "Pond").replace("Playground", "")))
    assert ballots.alternatives == ("P/1: Pond", "P/2: Path; paved", "7", "x: Pond")
    nameless = park().replace("cost;name", "cost;what")
    assert read_pabulib(write("park.pb", nameless)).alternatives == ("P/1", "P/2", "7", "x")


def test_names_become_such_as_a_vote_may_have(write: Write) -> None:
    ballots = read_pabulib(write("park.pb", park().replace("Pond", '"Pond ->\n  lake"').replace("Bench", "B" * 300)))
    assert ballots.alternatives[0] == "Pond -› lake"
    assert ballots.alternatives[3] == "B" * 255 + "…"
    assert ballots.lines.tolist() == [16, 17, 18]


FAULTS = {
    "votes": ("num_votes;3", "num_votes;4", "num_votes (park.pb line 5)", "votes below, 3"),
    "no number of votes": ("num_votes;3\n", "", "num_votes (park.pb line 1)", "votes below, 3"),
    "projects": ("num_projects;4", "num_projects;3", "num_projects (park.pb line 4)", "projects below, 4"),
    "vote type": ("cumulative", "cumulativ", "vote_type (park.pb line 6)", "(did you mean 'cumulative'?)"),
    "key twice": ("num_votes;3", "num_votes;3\nnum_votes;3", "park.pb line 6", "line 5 has it"),
    "key alone": ("num_votes;3", "num_votes", "park.pb line 5", "a key and a value"),
    "unknown project": ("x,7;0", "x,8;0", "vote (park.pb line 17, voter 'cy')", "a project_id of PROJECTS"),
    "project twice": ("x,7;0", "x,x;0", "vote (park.pb line 17, voter 'cy')", "'x' is repeated"),
    "comma at the end": ("P/2;1", "P/2,;1,1", "vote (park.pb line 16, voter 'bob')", "a project_id"),
    "too few points": ("0,-1", "0", "points (park.pb line 17, voter 'cy')", "in the vote, 2"),
    "too many points": ("P/2;1", "P/2;1,1", "points (park.pb line 16, voter 'bob')", "in the vote, 1"),
    "no points": ("P/2;1", "P/2;", "points (park.pb line 16, voter 'bob')", "in the vote, 1"),
    "points in words": ("P/2;1", "P/2;one", "points (park.pb line 16, voter 'bob')", "numbers"),
    "points not finite": ("P/2;1", "P/2;nan", "points (park.pb line 16, voter 'bob')", "numbers"),
    "points with an underscore": ("P/2;1", "P/2;1_0", "points (park.pb line 16, voter 'bob')", "numbers"),
    "no column of points": (";points", ";score", "park.pb line 14", "one column 'points'"),
    "no column of votes": (";vote;", ";voted;", "park.pb line 14", "one column 'vote'"),
    "column twice": ("age;sex", "vote;sex", "park.pb line 14", "one column 'vote'"),
    "project without an id": ("P/1;100", ";100", "project_id (park.pb line 9)", "given"),
    "project again": ("P/2;200", "P/1;200", "project_id (park.pb line 10)", "has it already"),
    "comma in an id": ("P/1;100", '"P,1";100', "project_id (park.pb line 9)", "without a comma"),
    "short row": ("bob;;M;P/2;1", "bob;M;P/2;1", "park.pb line 16", "5 entries"),
    "long row": ("bob;;M;P/2;1", "bob;;M;P/2;1;", "park.pb line 16", "5 entries"),
    "cut within a row": ("F;x,7;0,-1\n", "F", "park.pb line 17", "5 entries"),
    "cut within a quote": ('"7,P/1,x"', '"7,P/1,x', "park.pb line 15", "well-formed CSV"),
    "voter without an id": ("bob;;", ";;", "voter_id (park.pb line 16)", "given"),
    "voter again": ("cy;70", "ann;70", "voter_id (park.pb line 17)", "line 15 has this one's vote"),
    "section again": ("cy;70", "PROJECTS\ncy;70", "park.pb line 17", "each once"),
    "no META": ("META\n", "", "park.pb line 1", "META"),
    "other header of META": ("key;value", "name;value", "park.pb line 2", "key;value"),
    "no PROJECTS": ("PROJECTS\n", "", "park.pb line 7", "or PROJECTS"),
    "no VOTES": ("VOTES\n", "", "park.pb line 13", "3 entries"),
}


@pytest.mark.bad_input("a file whose numbers are not those of its header")
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named_with_its_line_and_voter(write: Write, fault: str) -> None:
    right, wrong, field, allowed = FAULTS[fault]
    assert park().count(right) == 1
    error = refusal(write("park.pb", park().replace(right, wrong)))
    assert error.field == field
    assert allowed in error.allowed


def test_column_that_is_not_there_is_named_beside_those_that_are(write: Write) -> None:
    error = refusal(write("park.pb", park()), column="sexe")
    assert (error.field, error.value) == ("voters.group_column", "sexe")
    assert error.allowed == "a column of VOTES in park.pb: age, sex (did you mean 'sex'?)"


def test_text_in_another_encoding_is_named_with_its_line(write: Write) -> None:
    error = refusal(write("park.pb", park().replace("Pond", "Étang").encode("latin-1")))
    assert error.field == "park.pb line 9"
    assert "UTF-8 text" in error.allowed


@pytest.mark.parametrize(
    ("end", "allowed"),
    [
        ("PROJECTS", "a Pabulib file"),
        ("VOTES", "a Pabulib file"),
        ("ann;", "There is no vote below VOTES. Name a file with votes."),
    ],
)
def test_file_that_ends_too_early_is_refused(write: Write, end: str, allowed: str) -> None:
    error = refusal(write("park.pb", park()[: park().index(end)]))
    assert error.field == "park.pb"
    assert allowed in error.allowed


def test_missing_and_empty_files_are_refused(write: Write, tmp_path: Path) -> None:
    assert "a readable file" in refusal(tmp_path / "nowhere.pb").allowed
    assert refusal(write("empty.pb", "")).field == "empty.pb line 1"


def test_no_more_projects_and_votes_than_a_table_should_have(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    projects = "".join(f"q{number};1;Q{number}\n" for number in range(997))
    error = refusal(write("park.pb", park().replace("VOTES", f"{projects}VOTES")))
    assert (error.field, error.value) == ("park.pb line 1009", "q996")
    monkeypatch.setattr("psephos.scenarios.fair_voting.data.pabulib.MAX_VOTERS", 2)
    assert refusal(write("park.pb", park())).field == "park.pb line 17"


def test_rows_may_have_entries_that_the_header_is_known_not_to_name(write: Write) -> None:
    text = park().replace("2,5,2", "2,5,2;late").replace("P/2;1", "P/2;1;early").replace("0,-1", "0,-1;late")
    assert refusal(write("park.pb", text)).field == "park.pb line 15"
    assert len(read_pabulib(write("park.pb", text), num_unnamed=1)) == 3


@pytest.mark.parametrize(
    ("name", "vote_type", "num_voters", "num_projects", "column", "counts"),
    [
        ("poland_katowice_2021_podlesie", "cumulative", 2041, 13, "sex", {"M": 992, "F": 1049}),
        ("poland_katowice_2021_szopienice-burowiec", "cumulative", 1803, 11, "sex", {"M": 757, "F": 1046}),
        ("poland_gdynia_2020_maly-kack-small", "approval", 2881, 10, "sex", {"M": 1323, "F": 1558}),
        ("poland_gdynia_2020_orlowo-large", "approval", 368, 2, "sex", {"M": 157, "F": 211}),
        ("poland_warszawa_2023_zoliborz", "approval", 2506, 31, "sex", {"M": 927, "F": 1579}),
        ("poland_krakow_2022_grzegorzki", "ordinal", 1469, 18, "voting_method", {"internet": 1347, "paper": 122}),
    ],
)
def test_real_files_have_the_published_counts(
    real_sets: Path,
    name: str,
    vote_type: str,
    num_voters: int,
    num_projects: int,
    column: str,
    counts: dict[str, int],
) -> None:
    path = real_sets / "pabulib" / f"{name}.pb"
    ballots = read_pabulib(path, column=column)
    assert vote_type in VOTE_TYPES
    assert f"vote_type;{vote_type}\n" in path.read_text(encoding="utf-8")
    assert (len(ballots), len(ballots.alternatives)) == (num_voters, num_projects)
    assert {entry: list(ballots.entries).count(entry) for entry in set(ballots.entries)} == counts


def test_order_of_the_krakow_ballots_is_that_of_their_points(real_sets: Path, write: Write) -> None:
    """Projects that a voter does not list are below all listed ones by place, and have no point by points."""
    path = real_sets / "pabulib" / "poland_krakow_2022_grzegorzki.pb"
    by_place = read_pabulib(path)
    by_points = read_pabulib(write("k.pb", path.read_text(encoding="utf-8").replace("e;ordinal", "e;cumulative")))
    assert np.all(by_place.classes[by_place.listed == len(by_place.ids)] == len(by_place.ids))
    place, points = (positions_of_classes(ballots.classes.astype(np.int64)) for ballots in (by_place, by_points))
    assert np.array_equal(place, points)


@pytest.mark.parametrize(
    ("vote_type", "classes"),
    [("ordinal", [1, 4, 0, 2]), ("approval", [0, 4, 0, 0]), ("cumulative", [0, 3, 1, 1]), ("scoring", [1, 0, 2, 2])],
)
def test_a_default_score_is_of_scores_alone(write: Write, vote_type: str, classes: list[int]) -> None:
    """What a voter does not list is below in an order, and has no point where points are shared out."""
    text = park(vote_type).replace("vote_type", "default_score;9\nvote_type")
    assert read_pabulib(write("park.pb", text)).classes[0].tolist() == classes
