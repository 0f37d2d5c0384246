"""Files of ballots as profiles: which options go together, and what becomes of voters and alternatives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import Write
from psephos.protocol import ConfigurationError
from psephos.scenarios.fair_voting.data.files import RankingFile, load_rankings, read_ballots
from psephos.scenarios.fair_voting.data.parties import SOURCES
from psephos.scenarios.fair_voting.data.profile import Profile
from psephos.scenarios.reading.conversion import convert

TREES = """# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 4
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: Oak
# ALTERNATIVE NAME 2: Ash
# ALTERNATIVE NAME 3: Elm
1: 1,2,3
1: 3,2,1
1: 2
1: 1,2,3
"""
# The same alternatives in another order.
MORE_TREES = """# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 2
# NUMBER UNIQUE ORDERS: 1
# ALTERNATIVE NAME 1: Elm
# ALTERNATIVE NAME 2: Oak
# ALTERNATIVE NAME 3: Ash
2: 1,2,3
"""
PARK = """META
key;value
num_projects;3
num_votes;4
vote_type;ordinal
PROJECTS
project_id;cost;name
p1;100;Pond
p2;200;Path
p3;300;Bench
VOTES
voter_id;age;sex;vote
ann;34;F;p3,p1,p2
bob;12;M;p2,p1,p3
cy;71;;p1,p2,p3
dee;59;F;p1,p3,p2
"""


def load(**options: Any) -> Profile:
    """Return the profile of a table as a scenario has it."""
    chosen: RankingFile = convert(options, RankingFile, "voters")
    return load_rankings(chosen)


def refusal(**options: Any) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        load(**{name: str(value) if isinstance(value, Path) else value for name, value in options.items()})
    return caught.value


def groups_of(profile: Profile) -> list[str]:
    """Return each voter's group by name."""
    return [profile.groups[member] for member in profile.members.tolist()]


def test_voters_of_a_preflib_file_take_turns(write: Write) -> None:
    profile = load(
        file=str(write("trees.soi", TREES)), group_rule="alternating", groups=["men", "women"], ties="listed"
    )
    assert profile.alternatives == ("Oak", "Ash", "Elm")
    assert profile.rankings.positions.tolist() == [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 1, 2]]
    assert groups_of(profile) == ["men", "women", "men", "women"]
    assert list(profile.voters) == ["voter 1", "voter 2", "voter 3", "voter 4"]
    assert list(profile.lines) == [7, 8, 9, 10]
    assert (profile.source, profile.is_generated) == ("trees.soi", False)
    assert profile.note == "4 voters; ties, or alternatives not ranked, of 1 voter were ordered as they are listed"


def test_companion_tells_the_groups_of_a_preflib_file(write: Write) -> None:
    companion = write("who.csv", "voter,group\n1,a\n2,b\n4,b\n3,\n")
    options = {"file": str(write("trees.soi", TREES)), "groups_file": str(companion)}
    assert refusal(**options).field == "group (who.csv line 5, voter 3)"
    profile = load(**options, without_group="leave out", ties="refuse")
    assert groups_of(profile) == ["a", "b", "b"]
    assert list(profile.voters) == ["voter 1", "voter 2", "voter 4"]
    assert list(profile.lines) == [7, 8, 10]
    assert profile.note == "3 of 4 voters; left out: 1 without a group"


def test_files_are_groups_and_alternatives_are_the_same_by_their_names(write: Write) -> None:
    files = {"north": str(write("a.soi", TREES)), "south": str(write("b.soc", MORE_TREES))}
    profile = load(group_files=files, ties="listed")
    assert profile.alternatives == ("Oak", "Ash", "Elm")
    assert profile.rankings.positions[4:].tolist() == [[1, 2, 0]] * 2
    assert groups_of(profile) == ["north"] * 4 + ["south"] * 2
    assert (profile.source, list(profile.lines)) == ("a.soi, b.soc", [])
    assert len(set(profile.voters)) == 6
    by_number = load(group_files=files, ties="listed", same_alternatives="numbers")
    assert by_number.alternatives == ("alternative 1", "alternative 2", "alternative 3")
    assert by_number.rankings.positions[4:].tolist() == [[0, 1, 2]] * 2


def test_tie_is_refused_with_the_line_of_its_own_file(write: Write) -> None:
    files = {"north": str(write("b.soc", MORE_TREES)), "south": str(write("a.soi", TREES))}
    error = refusal(group_files=files, ties="refuse")
    assert (error.field, error.value) == ("ballot (a.soi line 9, voter 5)", "not ranked: Elm, Oak")


def test_files_over_other_alternatives_are_refused(write: Write) -> None:
    a, b = write("a.soi", TREES), write("b.soc", MORE_TREES.replace("Elm", "Yew"))
    error = refusal(group_files={"north": str(a), "south": str(b)})
    assert (error.field, error.value) == ("voters.group_files", "b.soc without ['Elm']")
    assert 'same_alternatives = "numbers"' in error.allowed
    c = write("c.pb", PARK.replace("num_projects;3", "num_projects;4").replace("VOTES", "p4;9;Swing\nVOTES"))
    error = refusal(group_files={"north": str(a), "south": str(c)}, same_alternatives="numbers")
    assert error.value == "c.pb with 4 alternatives"


def test_column_tells_the_groups_of_a_pabulib_file(write: Write) -> None:
    path = str(write("park.pb", PARK))
    assert refusal(file=path, group_column="sex").field == "sex (park.pb line 15, voter 'cy')"
    names = {"M": "men", "F": "women"}
    profile = load(file=path, group_column="sex", group_names=names, without_group="leave out", groups=["men", "women"])
    assert (profile.groups, groups_of(profile)) == (("men", "women"), ["women", "men", "women"])
    assert profile.rankings.positions.tolist() == [[1, 2, 0], [1, 0, 2], [0, 2, 1]]
    assert list(profile.voters) == ["voter 1", "voter 2", "voter 4"]  # no identifier of the file's


def test_ages_are_groups(write: Write) -> None:
    profile = load(file=str(write("park.pb", PARK)), group_column="age", age_cuts=[30, 60])
    assert profile.groups == ("under 30", "30 to 59", "60 and over")
    assert groups_of(profile) == ["30 to 59", "under 30", "60 and over", "30 to 59"]
    error = refusal(file=write("park.pb", PARK), group_column="age", age_cuts=[30, 60, 80])
    assert (error.field, error.value, error.allowed) == (
        "voters.age_cuts",
        [30, 60, 80],
        "ages with voters in each group: nobody is 80 and over",
    )


def test_companion_names_the_voters_of_a_pabulib_file(write: Write) -> None:
    companion = write("who.csv", "voter,group\ndee,a\nann,b\nbob,b\ncy,a\n")
    profile = load(file=str(write("park.pb", PARK)), groups_file=str(companion))
    assert groups_of(profile) == ["b", "b", "a", "a"]


def test_some_alternatives_are_kept_by_name_or_id_in_the_order_given(write: Write) -> None:
    options = {"file": str(write("park.pb", PARK)), "group_column": "age", "age_cuts": [60]}
    profile = load(**options, alternatives=["p3", "Pond"])
    assert profile.alternatives == ("Bench", "Pond")
    assert profile.rankings.positions.tolist() == [[0, 1], [1, 0], [1, 0], [1, 0]]
    assert profile.note == "4 voters; 2 of 3 alternatives"
    error = refusal(**options, alternatives=["Pond", "Paht"])
    assert (error.field, error.allowed) == (
        "voters.alternatives",
        "an alternative of park.pb: Pond, Path, Bench (did you mean 'Path'?)",
    )
    assert refusal(**options, alternatives=["p1", "Pond"]).allowed == "alternatives, each once"
    assert refusal(**options, alternatives=["Pond"]).allowed == "2 to 50"


def test_more_than_fifty_alternatives_must_be_restricted(write: Write) -> None:
    names = "".join(f"# ALTERNATIVE NAME {number}: a{number}\n" for number in range(1, 52))
    text = f"# NUMBER ALTERNATIVES: 51\n# NUMBER VOTERS: 2\n# NUMBER UNIQUE ORDERS: 2\n{names}1: 51,2\n1: 2\n"
    options = {"file": str(write("many.soi", text)), "group_rule": "alternating", "groups": ["a", "b"]}
    error = refusal(**options)
    assert (error.field, error.value) == ("many.soi, number of alternatives", 51)
    assert error.allowed == "2 to 50; voters.alternatives keeps some of them"
    assert load(**options, alternatives=["a51", "a2"]).rankings.positions.tolist() == [[0, 1], [1, 0]]
    most = load(**options, ties="listed", alternatives=[f"a{number}" for number in range(2, 52)])
    assert np.array_equal(np.sort(most.rankings.positions, axis=1), [range(50)] * 2)


ONE = {"file": "trees.soc"}
CONFLICTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({}, "voters.file and voters.group_files", "given one of them alone"),
    "file and files": ({**ONE, "group_files": {"a": "a.soc"}}, "voters.file and voters.group_files", "alone"),
    "no groups": (ONE, "one of voters.groups_file, voters.group_rule", "given for the voters of one file"),
    "no groups of votes": (
        {"file": "p.pb"},
        "one of voters.groups_file, voters.group_column, voters.group_rule",
        "or group_files",
    ),
    "two sources": (
        {**ONE, "groups_file": "w.csv", "group_rule": "alternating"},
        "voters.groups_file and voters.group_rule",
        "given one of them alone",
    ),
    "turns of nobody": ({**ONE, "group_rule": "alternating"}, "voters.groups", "two or more"),
    "one file": ({"group_files": {"a": "a.soc"}, "groups": ["a", "b"]}, "voters.groups", "left out"),
    "groups of ages": (
        {"file": "p.pb", "group_column": "age", "age_cuts": [9], "groups": ["a", "b"]},
        "voters.groups",
        "left out",
    ),
    "one group": ({**ONE, "groups_file": "w.csv", "groups": ["a"]}, "voters.groups", "two or more"),
    "ages without cuts": ({"file": "p.pb", "group_column": "age"}, "voters.age_cuts", "[30, 60]"),
    "cuts that fall": (
        {"file": "p.pb", "group_column": "age", "age_cuts": [60, 30]},
        "voters.age_cuts",
        "ages that ascend",
    ),
    "cut at birth": ({"file": "p.pb", "group_column": "age", "age_cuts": [0]}, "voters.age_cuts", "from 1"),
    "cuts of nothing": ({**ONE, "groups_file": "w.csv", "age_cuts": [30]}, "voters.age_cuts", "left out"),
    "names of nothing": (
        {**ONE, "group_rule": "alternating", "groups": ["a", "b"], "group_names": {"a": "x"}},
        "voters.group_names",
        "left out",
    ),
    "rule of ties": ({**ONE, "groups_file": "w.csv", "ties": "coin"}, "voters.ties", "mean, refuse, listed"),
    "rule of groups": ({**ONE, "group_rule": "odd"}, "voters.group_rule", "alternating"),
    "unknown key": ({**ONE, "grups": []}, "voters", "without the unknown key 'grups'"),
    "column of PrefLib": ({**ONE, "group_column": "sex"}, "voters.group_column", "hold no groups"),
    "other suffix": ({"file": "a.csv", "groups_file": "w.csv"}, "voters.file", ".pb or .soc, .soi, .toc, .toi"),
    "nowhere": ({"file": "nowhere.soc", "groups_file": "w.csv"}, "voters.file", "a readable file"),
    "nowhere in a group": (
        {"group_files": {"a": "no.pb", "b": "no.soc"}},
        "voters.group_files.a",
        "a readable file",
    ),
    "no companion": ({"file": "trees.soi", "groups_file": "no.csv"}, "voters.groups_file", "a readable file"),
}


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_options_that_do_not_go_together_are_named(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conflict: str
) -> None:
    write("trees.soi", TREES)
    monkeypatch.chdir(tmp_path)
    options, field, allowed = CONFLICTS[conflict]
    error = refusal(**options)
    assert error.field == field
    assert allowed in error.allowed


def test_ballots_are_read_by_the_end_of_the_name(write: Write) -> None:
    assert len(read_ballots(write("park.PB", PARK), column="sex").entries) == 4
    assert len(read_ballots(write("trees.soi", TREES))) == 4


def test_one_group_that_is_named_has_all_voters(write: Write) -> None:
    """No column and no second file is needed, whatever the file is; what would tell groups is refused beside it."""
    for name, text in (("trees.toi", TREES), ("park.pb", PARK)):
        path = write(name, text)
        profile = load_rankings(convert({"file": str(path), "groups": ["all"]}, RankingFile, "voters"))
        assert profile.groups == ("all",)
        assert profile.members.tolist() == [0] * len(profile)
        for given in (str(path), {"file": str(path)}):
            assert SOURCES.read is not None
            parties = SOURCES.read(given, parameters={"groups": ["all"]})
            assert parties is not None
            assert (parties.parameters["groups"], parties.parameters["group_sizes"]) == (["all"], [len(profile)])
        with pytest.raises(ConfigurationError, match="group_rule"):
            convert({"file": str(path), "groups": ["all"], "group_names": {"a": "b"}}, RankingFile, "voters")
