"""What a party's file holds, and a roster's: faults are named with their lines, and what is private stays at home."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from bad_input import refuses
from deployments import NOBODY_LISTENS, SEED, invitations_to, serving
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario, resolve_served
from runs import read_json
from surveyed import LOCAL_PLANS, PLANS, QUIZ, SURVEY, TRUSTED_PLANS, Surveyed

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]

# A party's own file.


Fault = tuple[str, str | bytes, *tuple[str, ...]]
"""What is wrong, what the file holds, and words of the sentence."""
RANKING_FAULTS: Final[Sequence[Fault]] = (
    (
        "an alternative twice",
        "ranking\na > b > b\n",
        "ranking: repeated alternative is 'b': write each of a, b, c",
        "'b'",
    ),
    ("an alternative left out", "ranking\na > b\n", "ranking: missing alternative is 'c': write each of", "'c'"),
    ("an alternative invented", "ranking\na > b > d\n", "ranking: unknown alternative is 'd': write each of", "'d'"),
    (
        "another sign",
        "ranking\na < b < c\n",
        "is 'a < b < c': write each of a, b, c once, the best first, with '>' between them, or '=' for a tie",
    ),
    ("no ranking", 'ranking\n""\n', "ranking: unknown alternative", "is empty"),
    ("no column of rankings", "voter,group\nann,north\n", "the table has no column ranking"),
    ("another column", "order\na > b > c\n", "column is 'order': use one of group, ranking"),
    (
        "others' rankings",
        "voter,ranking\nann,a > b > c\nbob,b > a > c\n",
        "lines below the header of ann.csv. Keep one, that of 'ann'",
        "2 lines",
    ),
    ("another's ranking", "voter,ranking\nbob,a > b > c\n", "voter (ann.csv line 2) is 'bob': use 'ann'"),
    (
        "an entry too many",
        "ranking\na,b,c\n",
        "ann.csv line 2: This line has 3 entries, and the header 1: ranking",
        "3 entries",
    ),
    (
        "another group",
        "group,ranking\nsouth,a > b > c\n",
        "group is 'south': use the group that the server has: north",
    ),
    ("two groups", "group,ranking\nnorth;south,a > b > c\n", "group", "north", "is 'north;south'"),
)
RECORD_FAULTS: Final[Sequence[Fault]] = (
    (
        "a line is missing",
        "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n2,1,4,1\n",
        "use a record of two lines, one with choice 1 and one with choice 0",
        "is 1 line, ",
    ),
    (
        "a line too many",
        "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n1,0,4,1\n",
        "use a record of two lines",
        "3 lines, 1 of them chosen (also line 3, 4)",
    ),
    (
        "both are chosen",
        "record,choice,lives,law\n1,1,5,0\n1,1,1,1\n",
        "use a record of two lines",
        "2 of them chosen",
    ),
    ("a choice of 2", "record,choice,lives,law\n1,2,5,0\n1,0,1,1\n", "use 1", "is '2'"),
    (
        "nan",
        "record,choice,lives,law\n1,1,nan,0\n1,0,1,1\n",
        "lives (ann.csv line 2) is 'nan': use a value from",
        "nan",
    ),
    (
        "inf",
        "record,choice,lives,law\n1,1,5,0\n1,0,1,-inf\n",
        "law (ann.csv line 3) is '-inf': use a value from",
        "inf",
    ),
    (
        "no number",
        "record,choice,lives,law\n1,1,5,0\n1,0,,1\n",
        "lives (ann.csv line 3) is empty: use a value from",
        "empty",
    ),
    ("a line too short", "record,choice,lives,law\n1,1,5,0\n1,0,1\n", "ann.csv line 3", "the header 4"),
    (
        "another feature",
        "record,choice,lives,lwa\n1,1,5,0\n1,0,1,1\n",
        "records: an alternative has no 'law': describe it by all of lives, law, and by nothing else",
    ),
    (
        "a feature too many",
        "record,choice,lives,law,age\n1,1,5,0,3\n1,0,1,1,3\n",
        "records: an alternative has 'age': describe it by all of lives, law alone",
    ),
    ("no features", "record,choice\n1,1\n1,0\n", "ann.csv line 1", "at least one feature"),
    ("a feature twice", "record,choice,lives,lives\n1,1,5,0\n1,0,1,1\n", "ann.csv line 1", "a name of its own"),
    ("others' records", "voter,record,choice,lives,law\nann,1,1,5,0\nann,1,0,1,1\n", "without 'voter'"),
    ("no records", "record,choice,lives,law\n", "ann.csv is a header alone: use a file with rows"),
    ("nothing", "", "ann.csv line 1 has none: give each column a name"),
    ("no UTF-8", b"record,choice,lives,law\n\x81", "line 2 is not UTF-8 text"),
    (
        "too many records",
        "record,choice,lives,law\n1,1,5,0\n1,0,1,1\n2,1,5,0\n2,0,1,1\n3,1,5,0\n3,0,1,1\n",
        "records are 3 records: use 1 to 2 records (max_records)",
    ),
)
ANSWER_FAULTS: Final[Sequence[Fault]] = (
    (
        "a task answered in two ways",
        "task,label\nq1,yes\nq1,no\n",
        "answer it once, or with the same label",
        "is 'q1'",
    ),
    (
        "another's answer",
        "worker,task,label\nann,q1,yes\nbob,q2,no\n",
        "worker (ann.csv line 3) is 'bob': use 'ann'",
    ),
    (
        "an answer without its label",
        "task,label\nq1,yes\nq2\n",
        "ann.csv line 3: This line has 1 entry, and the header 2: task, label",
    ),
    ("two lines of answers", "answers\nq1=yes\nq2=no\n", "lines below the header of ann.csv. Keep one, that of 'ann'"),
    ("no answers at all", "task,label\n", "use a header and a line for each answer"),
    (
        "a label outside the answer set",
        "task,label\nq1,yes\nq3,maybe\n",
        "answers is 'maybe': use one of yes, no (task 'q3'), or nothing",
    ),
    (
        "a label outside the answer set, in one line",
        "answers\nq1=yes; q3=maybe\n",
        "answers is 'maybe': use one of yes, no (task 'q3'), or nothing",
    ),
    (
        "a task that nobody is asked",
        "answers\nq1=yes; q9=no\n",
        "answers is 'q9': use one of the tasks: q1, q2, q3",
    ),
    (
        "a task answered twice in one line",
        "answers\nq1=yes; q2=no; q1=no\n",
        "answers is 'q1': use each task named once",
    ),
    ("no pairs", "answers\nyes; no\n", "answers is 'yes'. Make it of the form task=label; task=label"),
    (
        "other tasks than the server's",
        "tasks,answers\nq1; q2,q1=yes\n",
        "tasks is 'q1; q2': use the tasks that the server has: q1; q2; q3",
    ),
    ("no answers", "tasks\nq1; q2; q3\n", "the table has no column answers"),
    (
        "an unknown column",
        "answer\nq1=yes\n",
        "column 'answer' is unknown: did you mean 'answers'? Use one of tasks, answers",
    ),
)
FAULTS: Final = {
    name: (system, content, words)
    for system, faults in ((TRUSTED_PLANS, RANKING_FAULTS), (SURVEY, RECORD_FAULTS), (QUIZ, ANSWER_FAULTS))
    for name, content, *words in faults
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Surveyed], Path]:
    """Returns the folder of a system's invitation to ann, drawn once."""
    folders: dict[str, Path] = {}

    def draw(system: Surveyed) -> Path:
        if system.name not in folders:
            folder = tmp_path_factory.mktemp(system.name)
            invitation = invitations_to(system.write(folder))["ann"]
            (folder / "ann.json").write_bytes(msgspec.json.encode(invitation))
            folders[system.name] = folder
        return folders[system.name] / "ann.json"

    return draw


@pytest.mark.bad_input(
    "a label outside the task's answer set", "a worker who answers a task twice with different labels"
)
@pytest.mark.parametrize("case", list(FAULTS))
def test_a_fault_in_a_partys_file_is_named_and_nobody_is_called(
    psephos: Psephos, write: Write, drawn: Callable[[Surveyed], Path], case: str
) -> None:
    """One sentence and status 2; the terms are held against the invitation alone."""
    system, content, words = FAULTS[case]
    write("ann.csv", content)
    invited = ("--invitation", drawn(system), "--simulate", "--seed", SEED, "--transport", "tcp", "--trust-server")
    refusal = psephos("join", NOBODY_LISTENS, "--as", "ann", "--input", "ann.csv", *invited, "--out", "out").refusal
    for word in words:
        assert word in refusal
    assert not Path("out").exists()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with refuses("--input"):
        SURVEY.entries_of("ann", tmp_path)


@pytest.mark.parametrize(
    ("system", "entries", "reason", "secret"),
    [
        pytest.param(
            LOCAL_PLANS,
            {"ranking": "a > b > unheard-of"},
            "ranking: unknown alternative is '…': write each of a, b, c once",
            "unheard-of",
            id="rankings",
        ),
        pytest.param(
            SURVEY,
            {"records": [[{"lives": 54321.0, "law": 0.0}, {"lives": 1.0}]]},
            "records: an alternative has no '…': describe it by",
            "54321",
            id="preferences",
        ),
        pytest.param(
            QUIZ,
            {"answers": {"q1": "yes", "q3": "maybe"}},
            "answers is '…': use one of yes, no",
            "maybe",
            id="answers",
        ),
    ],
)
def test_what_is_wrong_with_a_partys_entries_stays_with_it(
    tmp_path: Path, system: Surveyed, entries: dict[str, Any], reason: str, secret: str
) -> None:
    """Without an invitation the terms are asked for first; what run.json says of the fault has no value in it."""
    with serving(system.write(tmp_path)) as session:
        said = system.refusal(session.address, tmp_path, ConfigurationError, entries=entries)
        assert re.match(re.escape(reason).replace("'…'", ".*"), said)
        failure = read_json(tmp_path / "as-ann" / "run.json")["failure"]
        assert failure["error"] == "ConfigurationError"
        assert failure["reason"].startswith(reason)
        assert secret not in (tmp_path / "as-ann" / "run.json").read_text(encoding="utf-8")
        assert secret not in repr(session.events)


# A server whose scenario has its parties in a file, or who draws a roster.

ELECTORATE = "voter,group,ranking\nann,north,a > b > c\nbob,south,b>a>c\ncid,south,c > a > b\n"
ORDERS = (
    "# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 3\n# NUMBER UNIQUE ORDERS: 2\n"
    "# ALTERNATIVE NAME 1: Oak\n# ALTERNATIVE NAME 2: Ash\n2: 1,2\n1: 2,1\n"
)
CHOICES = (
    "voter,record,choice,lives,law\nann,1,1,5,0\nann,1,0,1,1\nbob,a,1,3,0\nbob,a,0,2,2\nann,2,0,0,1\nann,2,1,4,1\n"
)
CROWD = (
    "task,worker,label\nq1,ann,yes\nq2,ann,no\nq3,ann,yes\nq1,bob,yes\nq2,cid,no\nq3,cid,no\n"
    "q1,dee,no\nq2,dee,no\nq3,dee,yes\n"
)
SETS = "task,worker,label,answer_set\n10,ann,yes,yes|no\n9,ann,red,red|green|blue\n10,bob,no,yes|no\n"


@pytest.mark.parametrize(
    ("scenario", "settings", "hidden"),
    [
        pytest.param("two-societies", ["voters=v.csv"], ["ranking", ">"], id="rankings"),
        pytest.param(
            "two-societies", ["voters=v.csv", "groups=['south', 'north']"], ["ranking", ">"], id="groups turned"
        ),
        pytest.param(
            "two-societies", ["voters=x.soc", "voters.groups_file=g.csv"], ["ranking", ">"], id="orders of Preflib"
        ),
        pytest.param("moral-synthetic", ["voters.choices=a.csv", "paradigm=VLDP"], ["records"], id="preferences"),
        pytest.param(
            "moral-synthetic",
            ["voters.choices=a.csv", "paradigm=VLDP", "voters.epsilons=e.csv"],
            ["records"],
            id="each its own epsilon",
        ),
        pytest.param("crowd", ["workers=crowd.csv", "answer_sets=[['no', 'yes']]"], ["label"], id="answers"),
        pytest.param("crowd", ["workers=sets.csv"], ["label"], id="several answer sets"),
    ],
)
def test_a_roster_says_again_who_takes_part_and_what_is_public_of_them(
    psephos: Psephos, write: Write, scenario: str, settings: list[str], hidden: list[str]
) -> None:
    for name, content in {
        "v.csv": ELECTORATE,
        "x.soc": ORDERS,
        "g.csv": "voter,group\n1,old\n2,young\n3,young\n",
        "a.csv": CHOICES,
        "e.csv": "voter,epsilon\nbob,2\nann,0.5\n",
        "crowd.csv": CROWD,
        "sets.csv": SETS,
    }.items():
        write(name, content)
    words = [word for setting in settings for word in ("--set", setting)]
    assert psephos("roster", scenario, *words, "--make-keys", "--out", "drawn").status == 0
    loaded = load_scenario(scenario, settings)
    own, drawn = resolve_served(loaded), resolve_served(loaded, roster=Path("drawn/roster.csv"))
    assert drawn.protocol.parameters == own.protocol.parameters
    assert list(drawn.roster.names) == list(own.roster.names)
    assert drawn.roster.public.tolist() == own.roster.public.tolist()
    if "voters.epsilons=e.csv" in settings:
        assert drawn.roster.public.tolist() == [[0], [1]]
    invitations = {each["party"]: each["public"] for each in map(read_json, Path("drawn/invitations").iterdir())}
    assert [invitations[name] for name in own.roster.names] == own.roster.public.tolist()
    for path in Path("drawn").rglob("*.csv" if scenario == "crowd" else "*.*"):
        text = path.read_text(encoding="utf-8").replace("max_records", "")
        assert not any(word in text for word in hidden), path


@pytest.mark.bad_input("a voter in no group, or in two", "a voter's epsilon ≤ 0; a voter without one, or with two")
@pytest.mark.parametrize(
    ("system", "content", "field", "allowed"),
    [
        *(
            (PLANS.having("groups = ['north', 'south']"), *case)
            for case in [
                ("voter,group\nann,north\nbob,west\n", "group (roster.csv line 3, bob)", "one group of north, south"),
                ("voter,group\nann,north\nbob,\n", "group (roster.csv line 3, bob)", "one group of north, south"),
                ("voter,group\nann,north;south\n", "group (roster.csv line 2, ann)", "one group of north, south"),
                ("voter,group\nann,north\nbob,north\n", "group 'south'", "at least one voter"),
                ("voter,group\nann,north\nann,south\n", "voter (roster.csv line 3)", "also in line 2"),
                ("voter,group,ranking\nann,north,a>b>c\nbob,south,a>b>c\n", "ranking (roster.csv line 1)", "leave out"),
                ("voter\nann\nbob\n", "", "group"),
                ("voter,grp\nann,north\n", "", "group"),
            ]
        ),
        *(
            (SURVEY.having("paradigm = 'VLDP'", dict.fromkeys(SURVEY.names, ", epsilon = 1")), *case)
            for case in [
                ("voter,epsilon\nann,0\n", "epsilon (roster.csv line 2, ann)", "a number > 0"),
                ("voter,epsilon\nann,1\nbob,-2\n", "epsilon (roster.csv line 3, bob)", "a number > 0"),
                ("voter,epsilon\nann,1\nbob,much\n", "epsilon (roster.csv line 3, bob)", "a number > 0"),
                ("voter,epsilon\nann,nan\n", "epsilon (roster.csv line 2, ann)", "a number > 0"),
                ("voter,epsilon\nann,1\nann,1\n", "voter (roster.csv line 3)", "also in line 2"),
                ("voter,eps\nann,1\n", "eps (roster.csv line 1)", "the columns are"),
                ("voter,records\nann,1\n", "records (roster.csv line 1)", "leave out"),
                ("voter\n", "--roster", "There is no row in roster.csv. "),
                ("who\nann\n", "roster.csv line 1", "'voter'"),
            ]
        ),
        *(
            (QUIZ.having("epsilon = 2.0\ntasks = ['q1', 'q2', 'q3']"), *case)
            for case in [
                ("worker,tasks\nann,q1; q9\n", "tasks (roster.csv line 2, ann)", "one of the tasks: q1, q2, q3"),
                ("worker,tasks\nann,q1\nbob,q1; q2; q1\n", "tasks (roster.csv line 3, bob)", ""),
                ("worker,tasks\nann,\nbob,\n", "tasks (roster.csv line 1)", "at least one task"),
                ("worker\nann\n", "", "the table has no column"),
                ("worker,tasks,answers\nann,q1,yes\n", "answers (roster.csv line 1)", "leave out"),
                ("worker,tasks\nann,q1\nann,q2\n", "worker (roster.csv line 3)", "also in line 2"),
            ]
        ),
    ],
)
def test_a_fault_in_a_roster_is_named_with_its_line(
    tmp_path: Path, write: Write, system: Surveyed, content: str, field: str, allowed: str
) -> None:
    scenario = system.write(tmp_path)
    with refuses(said=allowed) as caught:
        resolve_served(load_scenario(scenario), roster=write("roster.csv", content))
    assert caught.value.field == field or not field
