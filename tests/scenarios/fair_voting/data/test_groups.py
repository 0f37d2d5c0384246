"""Groups of voters: where they are from, and what is refused with line and voter."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from bad_input import Write, refused_by
from psephos.scenarios.fair_voting.data.ballots import FileBallots
from psephos.scenarios.fair_voting.data.groups import (
    Grouping,
    age_groups,
    groups_in_turn,
    groups_of_companion,
    groups_of_entries,
    groups_of_files,
)


def ballots_of(num_voters: int, names: Sequence[str] = ()) -> FileBallots:
    return FileBallots(
        alternatives=("a", "b"),
        ids=("1", "2"),
        classes=np.array([[0, 1]], dtype=np.int16),
        listed=np.array([[0, 1]], dtype=np.int16),
        ballot_of_voter=np.zeros(num_voters, dtype=np.int64),
        lines=np.arange(num_voters) + 11,
        voters=names,
        source="x.soc",
    )


def shown(grouping: Grouping) -> list[str | None]:
    """Return each voter's group by name; None for one who is left out."""
    return [grouping.groups[member] if member >= 0 else None for member in grouping.members.tolist()]


def test_voters_of_two_groups_take_turns() -> None:
    grouping = groups_in_turn(ballots_of(5), ["men", "women"])
    assert shown(grouping) == ["men", "women", "men", "women", "men"]


def test_voters_take_turns_only_where_each_line_is_one_of_them() -> None:
    ballots = dataclasses.replace(ballots_of(4), lines=np.array([11, 12, 12, 13]))
    error = refused_by(lambda: groups_in_turn(ballots, ["men", "women"]))
    assert (error.field, error.value) == ("count (x.soc line 12)", 2)


@pytest.mark.parametrize("groups", [[], ["men"], ["men", "men"], ["men", ""], ["men", " women"], list("abcdef")])
def test_groups_in_turn_are_two_or_more_with_names_and_voters(groups: list[str]) -> None:
    assert refused_by(lambda: groups_in_turn(ballots_of(5), groups)).field in {"voters.groups", "group"}


def test_files_are_groups() -> None:
    grouping = groups_of_files(["north", "south"], [2, 3])
    assert shown(grouping) == ["north", "north", "south", "south", "south"]
    assert refused_by(lambda: groups_of_files(["north"], [2])).value == ["north"]


def test_entries_are_groups_in_the_order_of_their_first_voters() -> None:
    grouping = groups_of_entries(ballots_of(4), ["M", " F", "M ", "F"], column="sex")
    assert grouping.groups == ("M", "F")
    assert grouping.members.tolist() == [0, 1, 0, 1]


def test_groups_that_are_named_stand_in_that_order() -> None:
    grouping = groups_of_entries(ballots_of(3), ["M", "F", "M"], column="sex", groups=["F", "M"])
    assert grouping.groups == ("F", "M")
    assert shown(grouping) == ["M", "F", "M"]


def test_entries_may_be_renamed_and_share_a_name() -> None:
    renamed = {"M": "men", "K": "women", "F": "women"}
    grouping = groups_of_entries(ballots_of(3), ["M", "K", "F"], column="sex", new_names=renamed)
    assert shown(grouping) == ["men", "women", "women"]


def test_voter_with_an_empty_entry_is_refused_or_left_out() -> None:
    ballots = ballots_of(4, ["u1", "u2", "u3", "u4"])
    error = refused_by(lambda: groups_of_entries(ballots, ["M", "F", " ", ""], column="sex"))
    assert error.field == "sex (x.soc line 13, voter 'u3')"
    assert error.allowed == 'a group, or voters.without_group = "leave out"'
    grouping = groups_of_entries(ballots, ["M", "F", " ", ""], column="sex", without_group="leave out")
    assert shown(grouping) == ["M", "F", None, None]
    assert grouping.members.tolist().count(-1) == 2


def test_group_that_nobody_is_in_or_that_is_not_named_is_refused() -> None:
    error = refused_by(lambda: groups_of_entries(ballots_of(2), ["M", "F"], column="sex", groups=["M", "F", "X"]))
    assert (error.field, error.value) == ("voters.groups", "X")
    assert error.allowed == "groups with a voter each: the entries of 'sex' are M, F"
    error = refused_by(lambda: groups_of_entries(ballots_of(2), ["M", "Men"], column="sex", groups=["M", "Man"]))
    assert (error.field, error.value) == ("sex (x.soc line 12, voter 2)", "Men")
    assert error.allowed == "one of the groups M, Man (did you mean 'Man'?)"


def test_entry_that_nobody_has_cannot_be_renamed() -> None:
    error = refused_by(lambda: groups_of_entries(ballots_of(2), ["M", "F"], column="sex", new_names={"W": "women"}))
    assert (error.field, error.value) == ("voters.group_names", "W")
    assert error.allowed == "entries of 'sex': M, F"


def test_one_group_is_too_few() -> None:
    error = refused_by(lambda: groups_of_entries(ballots_of(2), ["M", "M"], column="sex"))
    assert (error.field, error.value) == ("voters.groups", ["M"])


def test_ages_are_cut_into_groups() -> None:
    entries = ["29", "30", "59.9", "60", "0", ""]
    names, groups = age_groups(ballots_of(6), entries, [30, 60], column="age")
    assert names == ["under 30", "30 to 59", "60 and over"]
    assert groups == ["under 30", "30 to 59", "30 to 59", "60 and over", "under 30", ""]
    assert age_groups(ballots_of(1), ["18"], [18, 19], column="age")[0] == ["under 18", "18", "19 and over"]


@pytest.mark.parametrize("entry", ["old", "-1", "nan", "inf", "1_0"])
def test_what_is_no_age_is_refused(entry: str) -> None:
    error = refused_by(lambda: age_groups(ballots_of(2), ["30", entry], [30], column="age"))
    assert (error.field, error.value) == ("age (x.soc line 12, voter 2)", entry)


COMPANION = "voter,group\n2,south\n1,north\n3,north\n2,south\n"


def test_companion_names_the_groups_of_numbered_voters(write: Write) -> None:
    path = write("who.csv", COMPANION)
    assert shown(groups_of_companion(path, ballots_of(3))) == ["north", "south", "north"]
    renamed = groups_of_companion(path, ballots_of(3), new_names={"north": "N"}, groups=["south", "N"])
    assert renamed.groups == ("south", "N")


def test_companion_names_voters_as_their_file_does(write: Write) -> None:
    ballots = ballots_of(3, ["7", "1", "ann"])
    path = write("who.csv", "group,voter,age\nx,ann,3\ny,7,4\nx, 1 ,5\n")
    assert shown(groups_of_companion(path, ballots)) == ["y", "x", "x"]


FAULTS = {
    "two groups": ("3,north", "3,north\n1,south", "group (who.csv line 5, voter 1)", "line 3 has that"),
    "unknown voter": ("3,north", "4,north", "voter (who.csv line 4)", "a number from 1 to 3"),
    "voter 0": ("3,north", "0,north", "voter (who.csv line 4)", "a number from 1 to 3"),
    "no number": ("3,north", "ann,north", "voter (who.csv line 4)", "a number from 1 to 3"),
    "vast number": ("3,north", "9" * 5000 + ",north", "voter (who.csv line 4)", "a number from 1 to 3"),
    "missing voter": ("3,north\n", "", "who.csv", "There is no line of x.soc line 13, voter 3. Add one, or"),
    "empty group": ("3,north", "3,", "group (who.csv line 4, voter 3)", "a group, or"),
    "one group": ("south", "north", "voters.groups", "two or more"),
    "no column": ("voter,group", "voter,party", "who.csv line 1", "'group'"),
    "short row": ("3,north", "3", "who.csv line 4", "This line has 1 entry, and the header 2: voter, group. "),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_a_companion_is_named_with_line_and_voter(write: Write, fault: str) -> None:
    right, wrong, field, allowed = FAULTS[fault]
    path = write("who.csv", COMPANION.replace(right, wrong))
    error = refused_by(lambda: groups_of_companion(path, ballots_of(3)))
    assert error.field == field
    assert allowed in error.allowed


def test_missing_voter_is_named_or_left_out(write: Write) -> None:
    path = write("who.csv", COMPANION.replace("3,north\n", ""))
    assert refused_by(lambda: groups_of_companion(path, ballots_of(3))).value == "x.soc line 13, voter 3"
    grouping = groups_of_companion(path, ballots_of(3), without_group="leave out")
    assert shown(grouping) == ["north", "south", None]


def test_unknown_voter_of_a_file_with_names_is_told_so(write: Write) -> None:
    path = write("who.csv", "voter,group\n1,a\n")
    error = refused_by(lambda: groups_of_companion(path, ballots_of(2, ["ann", "bob"])))
    assert error.allowed == "a voter of x.soc: a voter_id of it"
