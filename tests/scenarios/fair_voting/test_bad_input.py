"""Bad input of fair voting, by the command line: files of rankings, of orders and of budgets, and settings."""

import ballot_files
import pytest
from bad_input import Psephos, Write, check_refused

ELECTION_FINE = "voter,group,ranking\nann,north,a > b > c\nbob,south,b>a>c\ncid,south,c>b>a\n"
HEADER = "voter,group,ranking\n"
EACH_ONCE = "must be each of a, b, c once, the best first, with '>' between them, or '=' for a tie"
ELECTION: dict[str, tuple[str | bytes, list[str], list[str]]] = {
    "an alternative twice": (
        ELECTION_FINE.replace("b>a>c", "b>a>b"),
        [],
        [f"ranking: repeated alternative (own.csv line 3, bob) {EACH_ONCE}, got 'b'"],
    ),
    "an alternative left out": (
        ELECTION_FINE.replace("b>a>c", "b>a"),
        [],
        [f"ranking: missing alternative (own.csv line 3, bob) {EACH_ONCE}, got 'c'"],
    ),
    "an alternative invented": (
        ELECTION_FINE.replace("b>a>c", "b>a>d"),
        [],
        [f"ranking: unknown alternative (own.csv line 3, bob) {EACH_ONCE}, got 'd'"],
    ),
    "an alternative of the scenario's left out": (
        ELECTION_FINE,
        ["alternatives=['a', 'b', 'c', 'd']"],
        ["ranking: missing alternative (own.csv line 2, ann) must be each of a, b, c, d once", "got 'd'"],
    ),
    "an epsilon of one's own that is no level": (
        "voter,group,ranking,epsilon\nann,north,a>b>c,0.5\nbob,south,b>a>c,0.7\ncid,south,c>b>a,1\n",
        ["mechanism=local", "epsilons=[0.5, 1]", "epsilon=1"],
        ["epsilon (own.csv line 3, bob) must be one of 0.5, 1, got '0.7'"],
    ),
    "an epsilon of one's own left out": (
        ELECTION_FINE,
        ["mechanism=local", "epsilons=[0.5, 1]", "epsilon=1"],
        ["the table has no column epsilon (own.csv line 1)"],
    ),
    "levels where the aggregator is trusted": (
        ELECTION_FINE,
        ["mechanism=laplace", "epsilons=[0.5, 1]", "epsilon=1"],
        ["leave out epsilons in mechanism 'laplace': what it releases has one ε for all"],
    ),
    "an epsilon beside levels": (
        ELECTION_FINE,
        ["mechanism=local", "epsilons=[0.5, 2]", "epsilon=1"],
        ["leave out parameters.epsilon beside epsilons: each voter has one of these"],
    ),
    "no ranking": (
        ELECTION_FINE.replace("b>a>c", ""),
        [],
        [f"ranking: unknown alternative (own.csv line 3, bob) {EACH_ONCE}, got ''"],
    ),
    "a ranking that commas cut": (
        ELECTION_FINE.replace("b>a>c", "b,a,c"),
        [],
        ["own.csv line 3 must be 3 entries: voter, group, ranking"],
    ),
    "a voter in no group": (
        ELECTION_FINE.replace("bob,south", "bob,"),
        [],
        ["group (own.csv line 3, bob) must be one group, such as north, south, got ''"],
    ),
    "a voter in two groups": (
        ELECTION_FINE.replace("bob,south", "bob,north;south"),
        [],
        ["group (own.csv line 3, bob) must be one group, such as north, south, got 'north;south'"],
    ),
    "a voter twice, in two groups": (
        f"{ELECTION_FINE}ann,south,a>b>c\n",
        [],
        ["voter (own.csv line 5) must be named once (it is also in line 2), got 'ann'"],
    ),
    "a group that is none": (
        ELECTION_FINE,
        ["groups=['north', 'west', 'south']"],
        ["group 'west' must be at least one voter, got '0 voters'"],
    ),
    "one group": (
        ELECTION_FINE.replace("north", "south"),
        [],
        ["objective must be 'welfare', 'copeland' or 'kemeny' with one group", "got 'constrained'"],
    ),
    "one alternative": (
        f"{HEADER}ann,north,a\nbob,south,a\n",
        [],
        ["ranking (own.csv line 2, ann) must be two names or more, the best first, with '>' between them, got 'a'"],
    ),
    "no column of groups": (
        "voter,groups,ranking\nann,north,a>b\nbob,south,b>a\n",
        [],
        ["the table has no column group (own.csv line 1)"],
    ),
    "no column of rankings": (
        "voter,group\nann,north\nbob,south\n",
        [],
        ["the table has no column ranking (own.csv line 1)"],
    ),
    "a column too many": (
        "voter,group,ranking,age\nann,north,a>b,3\nbob,south,b>a,4\n",
        [],
        ["leave out age (own.csv line 1): the columns are group, ranking"],
    ),
    "other sizes of groups": (ELECTION_FINE, ["group_sizes=[1, 3]"], ["group 'south' must be", "3", "got '2 voters'"]),
    "a header alone": (HEADER, [], ["voters must be a file with at least one voter, got 'own.csv'"]),
    "nothing": ("", [], ["own.csv line 1 must be a header with the column 'voter', got []"]),
    "no UTF-8": (b"voter,group,ranking\nann,n\x81,a>b\n", [], ["own.csv line 2 must be UTF-8 text"]),
    "an unprintable name": (
        ELECTION_FINE.replace(">a", ">a\x07"),
        [],
        ["alternatives must be distinct names of 1 to 256 printable characters"],
    ),
}
# The same of settings, of the shipped societies of 1,000 and 500 voters, who rank four alternatives. How far each
# number may go, protocol/fair_voting/test_parameters.py tries.
SOCIETY: dict[str, tuple[list[str], list[str]]] = {
    "epsilon of 0": (["epsilon=0"], ["epsilon must be in [0.0001, 30]", "got 0"]),
    "gamma of 1": (["gamma=1"], ["gamma must be in [0, 1)", "got 1"]),
    "delta of 0": (["delta=0"], ["delta must be in (0, 1)", "got 0"]),
    "a disparity below 0": (["max_disparity=-1"], ["max_disparity must be in [0, 1e+06]", "got -1"]),
    "a weight that is no number": (["fairness_weight=nan"], ["fairness_weight must be in [0, 1e+06]", "got nan"]),
    "no samples": (["num_samples=0"], ["num_samples must be in [1, 1048576]", "got 0"]),
    "a level of one half": (["level=0.5"], ["level must be a number in (0, 0.5)", "got 0.5"]),
    "epsilon of text": (["epsilon=much"], ["epsilon must be a number, got 'much'"]),
    "too few scores": (["scores=[3, 2, 1]"], ["scores must be 4 numbers, one for each position, got [3.0, 2.0, 1.0]"]),
    "scores that rise": (["scores=[1, 2, 3, 0]"], ["scores must be decreasing", "got [1.0, 2.0, 3.0, 0.0]"]),
    "a score that is no number": (["scores=[3, 2, 1, nan]"], ["scores must be in [-1e+06, 1e+06], got nan"]),
    "a score in words": (["scores=['a', 2, 1, 0]"], ["parameters.scores[0] must be a number, got 'a'"]),
    "unknown scores": (["scores=borada"], ["parameters.scores 'borada' is unknown: did you mean 'borda'?", "veto"]),
    "an unknown mechanism": (
        ["mechanism=laplac"],
        ["parameters.mechanism 'laplac' is unknown: did you mean 'laplace'?", "sampling, exponential", "local"],
    ),
    "an unknown objective": (
        ["objective=fair"],
        [
            "objective must be one of constrained, copeland, kemeny, parity, penalized, ",
            "welfare, welfare_constrained, got 'fair'",
        ],
    ),
    "an unknown relation": (["relation=swap"], ["must be one of replace-one, add-remove-one, got 'swap'"]),
    "an unknown reading": (["reading=both"], ["parameters.reading must be one of group, subsample, got 'both'"]),
    "a relation that is not proven": (
        ["mechanism=local", "relation=add-remove-one"],
        ["relation must be 'replace-one' for mechanism 'local', got 'add-remove-one'"],
    ),
    "a share of welfare above 1": (
        ["objective=welfare_constrained", "welfare_share=1.1"],
        ["welfare_share must be in (0, 1]", "got 1.1"],
    ),
    "a share of welfare that is not asked for": (
        ["welfare_share=0.5"],
        ["leave out welfare_share, except with objective 'welfare_constrained'"],
    ),
    "a calibration that the mechanism ignores": (
        ["mechanism=exponential", "calibration=printed"],
        ["calibration must be 'tight' or left out with mechanism 'exponential', which has no other, got 'printed'"],
    ),
    "noise that needs no proof": (
        ["calibration=proven"],
        ["calibration must be 'tight' or 'printed' with mechanism 'laplace'", "got 'proven'"],
    ),
    "a gamma that is chosen": (
        ["mechanism=sampling", "calibration=proven", "gamma=0.1"],
        ["leave out gamma with calibration 'proven', which chooses it"],
    ),
    "an epsilon that cannot be proven": (
        ["mechanism=sampling", "calibration=proven", "epsilon=0.001"],
        ["epsilon must be at least 0.0069 with a smallest group of 500", "n_s is 1 and γ 0.5", "got 0.001"],
    ),
    "an epsilon that cannot be proven with so many samples": (
        ["mechanism=sampling", "calibration=proven", "epsilon=0.01", "num_samples=1000"],
        ["epsilon must be at least", "n_s is 1000 and γ 0.5", "got 0.01"],
    ),
    "private groups that are added or removed": (
        ["mechanism=joint", "relation=add-remove-one"],
        ["relation must be 'replace-one' for mechanism 'joint', got 'add-remove-one'"],
    ),
    "private groups and pairs of plurality": (
        ["mechanism=joint_pair", "scores=plurality"],
        ["mechanism must be another one, or equally spaced scores", "got 'joint_pair'"],
    ),
    "a public group as a secret": (
        ["adversary=[{role='coalition', members=['server'], secret='group'}]", "mechanism=local"],
        ["secret must be one of ranking, favorite, pair: groups are public with mechanism 'local', got 'group'"],
    ),
    "a feature of too few groups": (
        ["features=[{name='size', of=['large']}]"],
        ["feature 'size' must be a group of it for each of the 2 groups of the session: north, south", "got ['large']"],
    ),
    "a feature of one group": (
        ["features=[{name='size', of=['all', 'all']}]"],
        ["feature 'size' must be two groups of it or more, got ['all']"],
    ),
    "a misreporter of two": (
        ["adversary=[{role='misreporter', members=['voter-1', 'voter-2']}]"],
        ["members must be one voter, got '2 voters'"],
    ),
    "too few voters for the samples": (
        ["mechanism=sampling", "epsilon=0.3"],
        ["epsilon must be at least 0.406 for a group of 500", "takes 369 samples", "= 150, got 0.3"],
    ),
    "too many samples": (
        ["mechanism=sampling", "epsilon=0.001"],
        ["epsilon must be larger: this one takes 33176199 samples of at most 1048576, got 0.001"],
    ),
    "too few voters to sample first": (
        ["mechanism=sampling", "reading=subsample", "num_samples=501"],
        ["num_samples must be at most 500, the voters of the smallest group", "got 501"],
    ),
    "pairs for unequal steps": (
        ["mechanism=sampled_pair", "scores=plurality"],
        ["mechanism must be another one, or equally spaced scores", "got 'sampled_pair'"],
    ),
    "whole rankings of many": (
        [
            "mechanism=whole_ranking",
            "voters={generator='impartial', alternatives=9, groups={n={voters=2}, s={voters=2}}}",
        ],
        ["mechanism must be another one for more than 8 alternatives: there are 9, got 'whole_ranking'"],
    ),
    "an empty group": (["voters.groups.south.voters=0"], ["voters.groups.south.voters must be in [1, ", "got 0"]),
    "one group alone": (
        ["voters.groups={north={voters=3, dispersion=1.0}}"],
        ["objective must be 'welfare', 'copeland' or 'kemeny' with one group", "got 'constrained'"],
    ),
    "no group at all": (["voters.groups={}"], ["voters.groups must be at least one group", "got []"]),
    "one alternative alone": (["voters.alternatives=1"], ["voters.alternatives must be 2 to 50 names", "got 1"]),
    "an alternative twice": (["voters.alternatives=['a', 'a']"], ["must be different names (repeated: 'a')"]),
    "a dispersion above 1": (["voters.groups.north.dispersion=1.5"], ["dispersion must be in [0, 1], got 1.5"]),
    "an unknown generator": (
        ["voters.generator=malows"],
        ["voters.generator 'malows' is unknown: did you mean 'mallows'?", "plackett_luce, impartial"],
    ),
    "two sources": (
        ["voters={generator='mallows', file='x.soc'}"],
        ["give one of voters.file and voters.generator alone"],
    ),
}
# All faults of such files are in data/test_preflib.py, test_pabulib.py and test_groups.py; here is how they are told.
# What is replaced in the file (whose type is then another one) or in that of groups, and what the sentence has.
ORDERS: dict[str, tuple[str, str, str, list[str]]] = {
    "an alternative invented": ("soi", "3,2,1", "3,4", ["alternative (x.soi line 9) must be", "1 to 3, got 4"]),
    "another number of alternatives": (
        "toi",
        "# NUMBER ALTERNATIVES: 3",
        "# NUMBER ALTERNATIVES: 4",
        ["NUMBER ALTERNATIVES (x.toi line 2) must be the number of", ", 3, got '4'"],
    ),
    "a voter in two groups": (
        "soc",
        "4,young\n",
        "4,young\n1,young\n",
        ["group (g.csv line 6, voter 1) must be 'old', since line 2 has that: a voter is in one group, got 'young'"],
    ),
}
BUDGETS: dict[str, tuple[str, str, list[str]]] = {
    "another number of votes": (
        "votes;4",
        "votes;5",
        ["num_votes (x.pb line 4) must be the number of votes", "4, got '5'"],
    ),
    "a project twice": ("M;p3,p2", "M;p3,p3", ["vote (x.pb line 14, voter 'v2')", "'p3' is repeated, got 'p3,p3'"]),
}


@pytest.mark.bad_input(
    "a ranking that repeats, omits or invents an alternative",
    "a voter in no group, or in two",
    "an empty group; one group; one alternative",
)
@pytest.mark.parametrize("case", list(ELECTION))
def test_a_wrong_election_gets_one_sentence_status_2_and_no_folder(psephos: Psephos, write: Write, case: str) -> None:
    content, settings, words = ELECTION[case]
    write("own.csv", content)
    check_refused(psephos, "two-societies", ["voters=own.csv", *settings], words)


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
@pytest.mark.parametrize("case", list(SOCIETY))
def test_a_wrong_setting_of_a_society_gets_one_sentence_and_status_2(psephos: Psephos, case: str) -> None:
    settings, words = SOCIETY[case]
    check_refused(psephos, "two-societies", settings, words)


@pytest.mark.bad_input(
    "a ranking that repeats, omits or invents an alternative",
    "a voter in no group, or in two",
    "an empty group; one group; one alternative",
    "a file whose numbers are not those of its header",
)
@pytest.mark.parametrize("case", list(ORDERS))
def test_a_wrong_file_of_orders_gets_one_sentence_and_status_2(psephos: Psephos, write: Write, case: str) -> None:
    suffix, old, new, words = ORDERS[case]
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
@pytest.mark.parametrize("case", list(BUDGETS))
def test_a_wrong_budget_gets_one_sentence_and_status_2(psephos: Psephos, write: Write, case: str) -> None:
    old, new, words = BUDGETS[case]
    assert old in ballot_files.BUDGET
    write("x.pb", ballot_files.BUDGET.replace(old, new))
    check_refused(psephos, "two-societies", ["voters=x.pb", "voters.group_column=sex"], words)
