"""Bad input of fair voting, by the command line: files of rankings, of orders and of budgets, and settings."""

import ballot_files
import pytest
from bad_input import Psephos, Write, check_refused
from golden import tables_beside

ELECTION_FINE = "voter,group,ranking\nann,north,a > b > c\nbob,south,b>a>c\ncid,south,c>b>a\n"
REFUSED = tables_beside(__file__, "refused.toml")
"""By kind and name: what is refused, and words of the sentence.

How far each number may go, and all faults of files, the tests of parameters and of readers try."""


@pytest.mark.bad_input(
    "a ranking that repeats, omits or invents an alternative",
    "a voter in no group, or in two",
    "an empty group; one group; one alternative",
)
@pytest.mark.parametrize("case", REFUSED["election"])
def test_a_wrong_election_gets_one_sentence_status_2_and_no_folder(psephos: Psephos, write: Write, case: str) -> None:
    own = REFUSED["election"][case]
    write("own.csv", own.get("content", ELECTION_FINE).encode("latin-1"))
    check_refused(psephos, "two-societies", ["voters=own.csv", *own.get("set", ())], own["said"])


@pytest.mark.bad_input(
    "epsilon ≤ 0, nan, inf",
    "gamma outside [0, 1); delta outside (0, 1)",
    "a level of a verdict outside (0, 1/2)",
    "scores of another number, that do not fall, or are no numbers",
    "an unknown mechanism, objective, relation or reading",
    "too few voters for the samples of Algorithm 2",
    "a calibration that a mechanism ignores; an ε that cannot be proven; a share of welfare outside (0, 1]",
    "an empty group; one group; one alternative",
    "groups that cannot be private; crossings of private groups",
    "features that are none, or that a mechanism has no proof for; crossings without voters",
)
@pytest.mark.parametrize("case", REFUSED["society"])
def test_a_wrong_setting_of_a_society_gets_one_sentence_and_status_2(psephos: Psephos, case: str) -> None:
    check_refused(psephos, "two-societies", **REFUSED["society"][case])


@pytest.mark.bad_input(
    "a ranking that repeats, omits or invents an alternative",
    "a voter in no group, or in two",
    "an empty group; one group; one alternative",
    "a file whose numbers are not those of its header",
)
@pytest.mark.parametrize("case", REFUSED["orders"])
def test_a_wrong_file_of_orders_gets_one_sentence_and_status_2(psephos: Psephos, write: Write, case: str) -> None:
    suffix, old, new, words = REFUSED["orders"][case].values()
    content, groups = ballot_files.ORDERS.replace("TYPE: soc", f"TYPE: {suffix}"), ballot_files.COMPANION
    assert old in content + groups
    write(f"x.{suffix}", content.replace(old, new))
    write("g.csv", groups.replace(old, new))
    check_refused(psephos, "two-societies", [f"voters=x.{suffix}", "voters.groups_file=g.csv"], words)


@pytest.mark.bad_input(
    "groups that cannot be private; crossings of private groups",
    "features that are none, or that a mechanism has no proof for; crossings without voters",
)
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            ["mechanism=joint"],
            ["leave out voters.group_columns with mechanism 'joint'", "tell of private groups"],
        ),
        (
            ["groups=['F × old', 'M × old', 'F × young', 'M × young']"],
            ["leave out groups (mine.csv line 1): it follows from mine.csv"],
        ),
    ],
    ids=["private", "without voters"],
)
def test_crossings_that_are_not_there_get_one_sentence_and_status_2(
    psephos: Psephos, write: Write, settings: list[str], words: list[str]
) -> None:
    write("mine.csv", "voter,sex,age,ranking\nann,F,old,a > b\nbob,M,old,b > a\ncy,F,young,a > b\n")
    found = ["voters.file=mine.csv", "voters.group_columns=['sex', 'age']"]
    check_refused(psephos, "two-societies", [*found, *settings], words)


@pytest.mark.bad_input(
    "a ranking that repeats, omits or invents an alternative",
    "a voter in no group, or in two",
    "an empty group; one group; one alternative",
    "a file whose numbers are not those of its header",
)
@pytest.mark.parametrize("case", REFUSED["budgets"])
def test_a_wrong_budget_gets_one_sentence_and_status_2(psephos: Psephos, write: Write, case: str) -> None:
    old, new, words = REFUSED["budgets"][case].values()
    assert old in ballot_files.BUDGET
    write("x.pb", ballot_files.BUDGET.replace(old, new))
    check_refused(psephos, "two-societies", ["voters=x.pb", "voters.group_column=sex"], words)
