"""Parties from files and lists: every fault is named with its line before anything runs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, load_scenario, resolve
from psephos.scenarios.reading import columns

Write = Callable[[str, str | bytes], Path]


def never_plain(_: Path, *, width: int, max_bytes: float) -> Iterator[None]:
    assert max_bytes > width
    yield None


@pytest.fixture(autouse=True, params=["fast", "careful"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads each file as it is, and as if it were not plain."""
    if request.param == "careful":
        monkeypatch.setattr(columns, "_read_plain", never_plain)


@pytest.fixture
def read(write: Write) -> Callable[[str | bytes], Local]:
    """Resolves a scenario over a file of partners."""

    def resolved(content: str | bytes) -> Local:
        write("mine.csv", content)
        return resolve(load_scenario(str(write("b.toml", 'protocol = "dpwevote"\npartners = "mine.csv"\n'))))

    return resolved


Read = Callable[[str | bytes], Local]


def weights_and_opinions(resolved: Local) -> list[list[int]]:
    """Return the private rows: the weight's group, the opinions, the weight's place."""
    return resolved.inputs.private.tolist()


@pytest.mark.parametrize(
    "content",
    [
        "partner,weight,merger\nann,1,1\nbob,3,0\n",
        "partner,weight,merger\r\nann,1,1\r\nbob,3,0\r\n",
        "partner,weight,merger\nann,1,1\n\nbob,3,0",
        " partner , weight , merger \n ann , 1 , 1 \nbob,3.0,0e0\n",
        '"partner","weight","merger"\n"ann","1","1"\n"bob","3","0"\n',
        "weight,partner,merger\n1,ann,1\n3,bob,0\n",
    ],
    ids=["plain", "lines of Windows", "a blank line", "spaces", "quotes", "another order"],
)
def test_a_file_is_read_in_every_usual_form(read: Read, content: str) -> None:
    resolved = read(content)
    assert list(resolved.names) == ["ann", "bob"]
    assert resolved.protocol.parameters.candidates == ("merger",)
    assert weights_and_opinions(resolved) == [[0, 1, 0], [2, 0, 2]]


def test_a_file_as_spreadsheets_save_it_is_read(read: Read) -> None:
    resolved = read("partner,weight,merger\nann,1,1\nbob,3,0\n".encode("utf-8-sig"))
    assert list(resolved.names) == ["ann", "bob"]


def test_names_and_candidates_may_hold_commas_and_any_script(read: Read) -> None:
    resolved = read('partner,weight,"fish, and rail",Λόγος\n"Müller, Anna",1,1,0\n东京,2,0,1\n')
    assert list(resolved.names) == ["Müller, Anna", "东京"]
    assert resolved.protocol.parameters.candidates == ("fish, and rail", "Λόγος")


@pytest.mark.bad_input(
    "a missing, doubled or unknown partner or column, with its line",
    "a weight outside the public set",
    "an opinion other than 0 or 1",
)
@pytest.mark.parametrize(
    ("content", "field", "value", "allowed"),
    [
        ("partner,weight,,m\nann,1,1,1\n", "mine.csv line 1", "", "non-empty"),
        (
            "partner,weight,m\nann,1,1\n\nbob,2,1,1\n",
            "mine.csv line 4",
            "4 entries",
            "the header 3: partner, weight, m",
        ),
        ("partner,weight,m\nann,1,1\n  \n,,,\nbob,2,\n", "m (mine.csv line 5, bob)", "", "yes or no"),
        (f"partner,weight,m\n{'x' * 129},1,1\nbob,2,0\n", "partner (mine.csv line 2)", "x" * 129, "1 to 128"),
        ("partner,weight,m\n\nann,1,1\n\nbob,4,0\n", "weight (mine.csv line 5, bob)", "4", "one of 1, 2, 3"),
        ("partner,weight,m\nann,one,1\n", "weight (mine.csv line 2, ann)", "one", "one of 1, 2, 3"),
        ("partner,weight,m\nann,nan,1\n", "weight (mine.csv line 2, ann)", "nan", "one of 1, 2, 3"),
        ("partner,weight,m\nann,1,0.5\n", "m (mine.csv line 2, ann)", "0.5", "yes or no"),
        (b"partner,weight,m\nann\x81,1,1\n", "mine.csv line 2", None, "UTF-8 text (byte 4 of the line is 0x81"),
        ("partner,weight,m\nann,\x001,1\n", None, None, ""),
    ],
)
def test_a_fault_in_a_file_is_named_with_its_line(
    read: Read, content: str | bytes, field: str | None, value: object, allowed: str
) -> None:
    with refuses(allowed=allowed) as caught:
        read(content)
    assert field in {None, caught.value.field}
    if value is not None:
        assert caught.value.value == value


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('partner,weight,m\nann,1,1\n"bob,2,0\n', "line 3"),
        ('partner,weight,m\nann,1,1\n"bob,2,0\ncid,1,1\ndee,1,1\n', "line 3"),
        ('partner,weight,m\nann,1,1\n"bob"x,2,0\ncid,1,1\n', "line 3"),
        ('"partner,weight,m\nann,1,1\n', "line 1"),
    ],
    ids=["an open quote", "an open quote before other lines", "text after a quote", "a header"],
)
def test_a_line_that_is_no_csv_is_named(read: Read, content: str, line: str) -> None:
    with refuses(said=line):
        read(content)


def test_a_file_that_cannot_be_read_is_named(write: Write) -> None:
    path = write("b.toml", 'protocol = "dpwevote"\npartners = "nowhere.csv"\n')
    with pytest.raises(ConfigurationError, match="nowhere") as caught:
        resolve(load_scenario(str(path)))
    assert caught.value.field == "partners"


@pytest.mark.parametrize(
    ("rows", "field", "allowed"),
    [
        ("[]", "partners", "at least one partner"),
        ('[{ partner = "ann", weight = 1, m = 1 }, { partner = "bob", m = 1 }]', "partners[2]", "partner, weight, m"),
        ('[{ partner = "ann", weight = 1 }, { partner = "bob", weight = 1, m = 1 }]', "partners[2]", "weight"),
        ("[{ weight = 1, m = 1 }]", "partners[1]", "partner and"),
        (
            '[{ partner = "ann", wieght = 1 }, { partner = "bob", weight = 1 }, { partner = "cid", weight = 1 }]',
            "partners[1]",
            "weight",
        ),
        ('[{ partner = "ann", weight = 1, m = 1 }, { partner = "ann", weight = 1, m = 1 }]', "partner", "row 1"),
        ('[{ partner = " ann", weight = 1, m = 1 }]', "partner", "printable"),
        ('[{ partner = "ann", weight = 1, m = 1 }, { partner = "bob", weight = 9, m = 1 }]', "weight (bob)", "1, 2, 3"),
        ('[{ partner = "ann", weight = 1, m = "ja" }]', "m (ann)", "yes or no"),
        ('[{ partner = "ann", weight = 1, m = [1] }]', "m", "one entry for each party"),
    ],
)
def test_a_fault_in_a_list_is_named_with_its_party(write: Write, rows: str, field: str, allowed: str) -> None:
    path = write("b.toml", f'protocol = "dpwevote"\npartners = {rows}\n')
    with refuses(field, allowed=allowed):
        resolve(load_scenario(str(path)))


@pytest.mark.bad_input("no partners")
def test_a_scenario_without_parties_is_refused(write: Write) -> None:
    with refuses("partners"):
        resolve(load_scenario(str(write("b.toml", 'protocol = "dpwevote"\n'))))


# Workers of a crowd, of whom a file has a line for each answer.

QUESTIONS = "[parameters]\nanswer_sets = [['no', 'yes']]\n"


def crowd_of(write: Write, workers: str, more: str = "") -> Local:
    """Resolve a scenario over these workers."""
    text = f'protocol = "truth-discovery"\nworkers = {workers}\n{more}'
    return resolve(load_scenario(str(write("crowd.toml", text))))


@pytest.mark.parametrize(
    "workers",
    [
        "[{ worker = 'ann', tasks = 'q1; q2', answers = 'yes; no' }, { worker = 'bob', tasks = 'q2', answers = '' }]",
        "[{worker='ann', tasks=['q1', 'q2'], answers=['yes', 'no']}, {worker='bob', tasks=['q2'], answers=[]}]",
        "[{ answers = 'yes;no', worker = 'ann', tasks = 'q1;q2' }, { worker = 'bob', answers = '', tasks = 'q2' }]",
    ],
    ids=["texts", "lists", "another order"],
)
def test_workers_are_listed_with_tasks_and_answers(write: Write, workers: str) -> None:
    resolved = crowd_of(write, workers, QUESTIONS)
    assert list(resolved.names) == ["ann", "bob"]
    assert resolved.protocol.parameters.tasks == ("q1", "q2")
    assert resolved.protocol.parameters.max_answers == 2
    assert resolved.inputs.public.tolist() == [[0, 0, 1], [1, 1, -1]]
    assert resolved.inputs.private.tolist() == [[1, 0], [-1, -1]]
    assert not resolved.may_show_truth


def test_names_of_tasks_and_labels_may_be_of_any_script(write: Write) -> None:
    workers = "[{ worker = 'Müller, Anna', tasks = 'ist 1 + 1, 3?', answers = 'no' }]"
    resolved = crowd_of(write, workers, QUESTIONS)
    assert resolved.protocol.parameters.tasks == ("ist 1 + 1, 3?",)
    write("mine.csv", 'task,worker,label\n"東京, ja?",Λόγος,да\nq,Λόγος,нет\n')
    resolved = crowd_of(write, "{ answers = 'mine.csv', labels = ['да', 'нет'] }")
    assert (resolved.protocol.parameters.tasks, list(resolved.names)) == (("q", "東京, ja?"), ["Λόγος"])


@pytest.mark.parametrize(
    ("workers", "field", "allowed"),
    [
        ("[]", "workers", "at least one worker"),
        ("[{ worker = 'ann', tasks = 'q1', answers = 'maybe' }]", "answers (ann)", "one of no, yes"),
        ("[{ worker = 'ann', tasks = 'q1; q1', answers = 'no; no' }]", "tasks (ann)", "distinct tasks"),
        ("[{ worker = 'ann', tasks = 'q1', answers = 'no; no' }]", "answers (ann)", "at most 1"),
        ("[{ worker = 'ann', tasks = '', answers = '' }]", "tasks", "at least one task"),
        ("[{ worker = 'ann', tasks = 'q1' }]", "answers", "a column of the table"),
        ("[{ worker = 'ann', answers = 'no' }]", None, ""),
        ("[{ worker = 'ann', tasks = 'q1', answers = 'no', label = 'no' }]", "label", "left out"),
        (
            "[{ worker = 'ann', tasks = 'q1', answers = 'no' }, { worker = 'ann', tasks = 'q1', answers = 'no' }]",
            "worker",
            "'ann' is also in row 1",
        ),
        (
            "[{ worker = 'ann', tasks = 'q1', answers = 'no' }, { worker = 'bob', answers = 'no' }]",
            "workers[2]",
            "tasks",
        ),
        ("[{ partner = 'ann', tasks = 'q1', answers = 'no' }]", "workers[1]", "worker and"),
        ("3", None, "text or a table or a list"),
    ],
)
def test_a_fault_in_a_list_of_workers_is_named(write: Write, workers: str, field: str | None, allowed: str) -> None:
    with refuses(allowed=allowed) as caught:
        crowd_of(write, workers, QUESTIONS)
    assert field in {None, caught.value.field}


# Voters of a survey, of whom a file has two lines for each of their records.

FEATURES = "[parameters]\nfeatures = ['lives', 'law']\nparadigm = 'VLDP'\n"


def survey_of(write: Write, voters: str, more: str = "") -> Local:
    """Resolve a scenario over these voters."""
    text = f'protocol = "moral-preferences"\nvoters = {voters}\n{more}'
    return resolve(load_scenario(str(write("survey.toml", text))))


def test_listed_voters_may_have_an_epsilon_each(write: Write) -> None:
    rows = [
        f"{{ voter = '{name}', epsilon = {epsilon}, records = [[[5, 0], [1, 1]]] }}"
        for name, epsilon in (("ann", 2), ("bob", 0.5), ("cid", 2))
    ]
    resolved = survey_of(write, f"[{', '.join(rows)}]", FEATURES)
    assert resolved.protocol.parameters.epsilons == (0.5, 2)
    assert resolved.inputs.public.tolist() == [[1], [0], [1]]


@pytest.mark.parametrize(
    ("voters", "field", "allowed"),
    [
        ("[{ voter = 'ann' }]", "records", "a column of the table"),
        ("[{ voter = 'ann', records = [[[5, 0], [1, 1]]], epsilon = 0 }]", "epsilon (ann)", "a number > 0"),
        ("[{ voter = 'ann', records = [[[5, 0], [1, 1]]], epsilon = 'x' }]", "epsilon (ann)", "a number > 0"),
        ("[{ voter = 'ann', records = [[[5, 0], [1, 1]]], age = 3 }]", "age", "left out"),
    ],
)
def test_a_fault_in_a_list_of_voters_is_named(write: Write, voters: str, field: str, allowed: str) -> None:
    with refuses(field, allowed=allowed):
        survey_of(write, voters, FEATURES)


@pytest.mark.parametrize(
    ("first", "second", "are_alike"), [("zoe", "ZOE", True), ("Az", "aZ", True), ("@[", "`{", False)]
)
def test_names_of_a_large_file_that_differ_in_large_letters_alone_are_refused(
    read: Read, monkeypatch: pytest.MonkeyPatch, first: str, second: str, *, are_alike: bool
) -> None:
    monkeypatch.setattr(columns, "_NAMES_AT_ONCE", 3)
    names = [first, *(f"p{place}" for place in range(7)), second]
    text = "\n".join(["partner,weight,merger", *(f"{name},1,yes" for name in names), ""])
    if not are_alike:
        assert list(read(text).names) == names
        return
    with pytest.raises(ConfigurationError, match="differ in case or blanks alone"):
        read(text)


def test_a_large_plain_file_is_read_by_columns_and_names_wait(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of some lines each, where words of names become more on the way; a fault is named with its line."""
    monkeypatch.setattr(columns, "_BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(columns, "_NAMES_AT_ONCE", 3)
    lines = [f"p{10**place},{1 + place % 3},{('no', ' Yes')[place % 2]}" for place in range(40)]
    resolved = read("\n".join(["partner,weight,merger", *lines, ""]))
    assert isinstance(resolved.names, columns.NameColumn)
    assert list(resolved.names) == [line.partition(",")[0] for line in lines]
    assert (resolved.names[7], list(resolved.names[3:5])) == ("p10000000", ["p1000", "p10000"])
    assert [row[1] for row in weights_and_opinions(resolved)] == [place % 2 for place in range(40)]
    with pytest.raises(ConfigurationError, match=r"mine.csv line 42.*'p10' is also in line 3"):
        read("\n".join(["partner,weight,merger", *lines, "p10,1,0"]))
    with pytest.raises(ConfigurationError, match=r"merger \(mine.csv line 42, q\).*is 'perhaps'"):
        read("\n".join(["partner,weight,merger", *lines, "q,1,perhaps"]))
