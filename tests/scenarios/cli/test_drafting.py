"""From nothing, or a file of one's own, to a first scenario: what is told is used, what is not is asked or refused."""

import gzip
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos, Write
from psephos.protocol.fair_voting import FairVoting
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.running.draft_text import MOST_LINES
from psephos.scenarios.running.drafts import samples
from runs import read_json
from terminals import Terminal
from thoroughness import IS_FULL

BOARD = (
    "Name;Stimmrecht;Anbau;Neues Dach;Bemerkung\n"
    "Jürgen;2;ja;nein;=SUM(A1)\nÅsa;1;nein;ja;\nłukasz;3;ja;ja;später\n".encode("utf-16")
)


def scenario(name: str) -> dict[str, Any]:
    """Return the tables of a scenario that was written, which is short."""
    text = Path(name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    return tomllib.loads(text)


KINDS = ["vote", "crowd", "survey", "ranking"]


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_file_a_small_one_is_synthetic_and_said_so(psephos: Psephos, kind: str) -> None:
    ended = psephos("new", kind, "--no-run")
    assert (ended.status, ended.err) == (0, "")
    (written,) = Path().glob("*.toml")
    assert "No file was given:" in ended.out
    assert f"Written to {written}" in ended.out
    assert written.read_text(encoding="utf-8") in ended.out
    assert scenario(str(written))["synthetic"]
    assert resolve(load_scenario(str(written))).may_show_truth
    copy = written.with_suffix(".csv")
    assert copy.read_bytes() == samples()[copy.name].read_bytes()
    assert psephos("new", kind, "--no-run").status == 0  # the same again is nobody's loss


def test_a_scenario_is_run_at_once(psephos: Psephos, write: Write) -> None:
    write("board.csv", "name,roof\n" + "".join(f"p{n},{'yes' if n % 3 else 'no'}\n" for n in range(60)))
    ended = psephos("new", "vote", "board.csv", "--epsilon", "3", "--out", "run")
    assert (ended.status, ended.err) == (0, "")
    assert "one person, one vote, and nothing is spent on weights" in ended.out
    result = read_json("run/result.json")
    assert [each["name"] for each in result["outcome"]["candidates"]] == ["roof"]


def test_whoever_counts_may_be_trusted(psephos: Psephos, write: Write) -> None:
    write("board.csv", "name,roof\n" + "".join(f"p{n},{'yes' if n % 3 else 'no'}\n" for n in range(60)))
    ended = psephos("new", "vote", "board.csv", "--trust", "central", "--out", "run")
    assert (ended.status, ended.err) == (0, "")
    assert "be sure of margins" not in ended.out
    result = read_json("run/result.json")
    assert result["outcome"]["candidates"][0]["margin"]["standard_error"] < 1


@pytest.mark.parametrize("kind", KINDS)
def test_whom_it_trusts_is_said_once_in_every_system_and_nobody_is_by_default(psephos: Psephos, kind: str) -> None:
    for name, options in (("usual", ()), ("local", ("--trust", "local")), ("central", ("--trust", "central"))):
        ended = psephos("new", kind, *options, "--no-run", "--to", name)
        assert (ended.status, ended.err) == (0, "")
        assert ("Nobody is trusted. If whoever counts may see the" in ended.out) == (name == "usual")
        assert scenario(f"{name}.toml")["trust"] == ("local" if name == "usual" else name)
        model = resolve(load_scenario(f"{name}.toml")).protocol.model
        assert model.value == ("local" if name == "usual" else name)
    refusal = psephos("new", kind, "--trust", "nobody", "--no-run").refusal
    assert "'nobody' is unknown: use one of 'local', 'central'" in refusal


@pytest.mark.few(most=1)
@pytest.mark.parametrize(("answer", "trust"), [("yes", "central"), ("no", "local")])
def test_a_terminal_is_asked_whether_who_counts_may_see_the_votes(
    write: Write, tmp_path: Path, answer: str, trust: str
) -> None:
    write("board.csv", "name,roof\nann,yes\nbob,no\n")
    with Terminal("new", "vote", "board.csv", "--no-run", folder=tmp_path) as terminal:
        terminal.answer("May the person who counts see the votes? (yes, no): ", "maybe")
        terminal.answer("May the person who counts see the votes? (yes, no): ", answer)
        assert terminal.ending() == 0, terminal.seen
    assert tomllib.loads((tmp_path / "board.toml").read_text(encoding="utf-8"))["trust"] == trust


def test_what_a_file_tells_is_used_and_the_rest_is_said_by_options(psephos: Psephos, write: Write) -> None:
    write("Beirat 2026.csv", BOARD)
    options = ("--title", 'A "board" #1', "--no-run")
    ended = psephos("new", "vote", "Beirat 2026.csv", *options)
    assert (ended.status, ended.err) == (0, "")
    assert "Beirat 2026.csv is read as UTF-16, with semicolons between entries." in ended.out
    assert "Not used: Bemerkung." in ended.out
    tables = scenario("beirat-2026.toml")
    assert tables["title"] == 'A "board" #1'
    assert tables["parameters"] == {
        "candidates": ["Anbau", "Neues Dach"],
        "weights": [1, 2, 3],
        "passes": "more_than",
        "variant": "auto",
        "epsilon": 2,
    }
    assert tables["partners"]["columns"] == {"partner": "Name", "weight": "Stimmrecht"}
    resolved = resolve(load_scenario("beirat-2026.toml"))
    assert list(resolved.names) == ["Jürgen", "Åsa", "łukasz"]
    assert (truth := resolved.protocol.truth(resolved.inputs)) is not None
    assert (truth["Anbau"], truth["Neues Dach"], truth["total weight"]) == (5, 4, 6)
    assert not resolved.may_show_truth


@pytest.mark.parametrize(
    ("options", "is_public", "variant"),
    [((), False, "optimal"), (("--public-weights",), True, "joint")],
    ids=["private", "public"],
)
def test_weights_are_private_unless_they_are_said_to_be_public(
    psephos: Psephos,
    write: Write,
    options: tuple[str, ...],
    is_public: bool,  # noqa: FBT001  a parameter of the test
    variant: str,
) -> None:
    write("a.csv", "partner,weight,m\nann,2.5,1\nbob,1,0\n")
    assert psephos("new", "vote", "a.csv", "--no-run", *options).status == 0
    parameters = resolve(load_scenario("a.toml")).protocol.parameters
    assert (parameters.weights, parameters.public_weights, parameters.variant) == ((1, 2.5), is_public, variant)
    paid = "each opinion" if is_public else "the weight and one opinion together"
    assert f"# the price of {paid}:" in Path("a.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "content", "options", "parties", "names"),
    [
        (
            "crowd",
            "Student;Question;Grade\nann;q1;A\nbob;q1;B\nann;q2;B\n",
            ("--worker", "Student", "--label", "Grade", "--task", "Question", "--labels", "A,B"),
            {
                "answers": "own.csv",
                "columns": {"task": "Question", "worker": "Student", "label": "Grade"},
                "labels": ["A", "B"],
            },
            ["ann", "bob"],
        ),
        (
            "ranking",
            "Who\tTeam\tOrder\nann\ta\tx > y\nbob\tb\ty > x\n",
            ("--voter", "Who"),
            {
                "file": "own.csv",
                "columns": {"voter": "Who", "group": "Team", "ranking": "Order"},
                "alternatives": ["x", "y"],
            },
            ["ann", "bob"],
        ),
        (
            "ranking",
            "voter,group,x,y,z\nann,a,2,1,3\nbob,b,1,2,3\n",
            ("--place", "x", "--place", "y", "--place", "z"),
            {"file": "own.csv", "places": ["x", "y", "z"]},
            ["ann", "bob"],
        ),
        (
            "ranking",
            "voter,group,first,second\nann,a,y,x\nbob,b,x,y\n",
            ("--choice", "first", "--choice", "second"),
            {"file": "own.csv", "choices": ["first", "second"], "alternatives": ["x", "y"]},
            ["ann", "bob"],
        ),
        (
            "survey",
            "voter;record;choice;lives\nann;1;1;3\nann;1;0;1\nbob;1;1;2\nbob;1;0;0\n",
            (),
            {"choices": "own.csv"},
            ["ann", "bob"],
        ),
    ],
)
def test_every_kind_reads_files_as_people_have_them(
    psephos: Psephos,
    write: Write,
    kind: str,
    content: str,
    options: tuple[str, ...],
    parties: dict[str, Any],
    names: list[str],
) -> None:
    write("own.csv", content)
    ended = psephos("new", kind, "own.csv", "--no-run", *options)
    assert (ended.status, ended.err) == (0, "")
    *_, written = scenario("own.toml").values()
    assert written == parties
    resolved = resolve(load_scenario("own.toml"))
    assert list(resolved.names) == names
    if isinstance(vote := resolved.protocol, FairVoting):
        rows: list[list[int]] = resolved.inputs.private.tolist()
        best = [vote.parameters.alternatives[ranks.index(0)] for ranks in rows]
        assert best == (["x", "y"] if "columns" in parties else ["y", "x"])


VOTE = "name,share,roof\nann,1,yes\nbob,2,no\n"
WRONG: dict[str, tuple[str | bytes, tuple[str, ...], list[str]]] = {
    "weights or a number of something": (
        VOTE,
        (),
        ["--weight: which column holds weights, or 'none'", "One of share, none"],
    ),
    "a column that is not there": (
        VOTE,
        ("--weight", "shar"),
        ["has no column", "did you mean 'share'?"],
    ),
    "no names": ("age,roof\n17,yes\n21,no\n", (), ["--partner: ", "or 'none'", "One of none, age, roof"]),
    "words that nobody has explained": (
        "name,roof\nann,hiya\nbob,hapana\n",
        (),
        ["--yes: 'roof' has 'hiya' (1×) and 'hapana' (1×): which means yes? One of hiya, hapana"],
    ),
    "a word beside yes": ("name,roof\nann,yes\nbob,hapana\n", (), ["--no: ", "One of hapana"]),
    "nearly no beside yes": ("name,roof\nann,yes\nbob,nope\n", (), ["roof (own.csv line 3)", "(did you mean 'no'?)"]),
    "three words": (
        "name,roof,floor\nann,yes,yes\nbob,no,no\ncid,maybe,maybe\n",
        (),
        ["--abstain: 'roof' has 'yes' (1×), 'no' (1×) and 'maybe' (1×): does 'maybe' mean abstain?"],
    ),
    "three words in the one column": (
        "name,roof\nann,yes\nbob,no\ncid,Maybe\n",
        (),
        ["--abstain: 'roof' has", "does 'Maybe' mean abstain? One of Maybe, none"],
    ),
    "no header, so that the first partner would be lost": (
        "ann,yes\nbob,no\ncid,yes\n",
        ("--partner", "none"),
        ["own.csv line 1: There is no header: this line has an answer. Put a line"],
    ),
    "no header, and answers that are numbers": (
        "ann,5,1\nbob,3,0\n",
        (),
        ["own.csv line 1 is 'ann,5,1': use the columns' names, such as name,proposal", "one with --partner"],
    ),
    "a byte order mark before another encoding": (
        b"\xef\xbb\xbf" + "Name;Zustimmung\nJörg;ja\n".encode("cp1252"),
        (),
        ["own.csv line 2 is not UTF-8 text", "begins as UTF-8 and goes on otherwise: save it as CSV (UTF-8)"],
    ),
    "three words that are voted on": (
        "name,roof\nann,yes\nbob,no\ncid,maybe\n",
        ("--candidate", "roof", "--abstain", "none", "--yes", "none", "--no", "none"),
        [
            "roof (own.csv line 4) is 'maybe': use yes or no; other words",
            "--yes WORD, --no WORD",
            "--leave-out",
            "maybe",
        ],
    ),
    "an abstention": (
        "name,roof\nann,yes\nbob,\n",
        ("--candidate", "roof"),
        ["--abstentions: roof (own.csv line 3) says 'nothing'", "as everybody will see"],
    ),
    "a name twice": (
        "name,roof\nann,yes\nann,no\nbob,no\n",
        (),
        ["--repeats: 'name' names 2", "'ann' stands in lines 2 and 3"],
    ),
    "a word with two meanings": (
        VOTE,
        ("--weight", "none", "--yes", "no"),
        ["Another answer has"],
    ),
    "a weight that is none": (
        "name;weight;roof\nann;1,5;yes\nbob;;no\n",
        (),
        ["weight (own.csv line 3): A weight cannot be ''. Write a number above 0, with ',' before its decimals"],
    ),
    "an epsilon that is none": (VOTE, ("--weight", "none", "--epsilon", "0"), ["epsilon is 0"]),
    "an empty file": ("", (), ["own.csv: There is no table in it."]),
    "a header alone": ("name,roof\n", (), ["own.csv: There is no table in it."]),
    "a row too long": (
        "name,roof\nann,yes,no\n",
        (),
        ["own.csv line 2: This line has 3 entries, and the header 2: name, roof"],
    ),
    "an open quote": ('name,roof\nann,yes\n"bob,no\n', (), ["own.csv line 3 is no well-formed CSV"]),
    "a column twice": (
        "name,roof,roof\nann,yes,no\n",
        (),
        ["own.csv line 1 has 'roof': give each column a name of its own"],
    ),
    "a workbook": (
        b"PK\x03\x04",
        (),
        [
            "own.csv: This is no workbook of .xlsx or .ods. Open it, and save it as CSV",
        ],
    ),
    "no answers at all": ("name\nann\n", (), ["There is no column with answers"]),
}


@pytest.mark.bad_input("a file of one's own that does not tell what is needed")
@pytest.mark.parametrize("case", WRONG)
def test_what_a_file_does_not_tell_is_an_error_that_names_the_option(psephos: Psephos, write: Write, case: str) -> None:
    content, options, words = WRONG[case]
    write("own.csv", content)
    questions = psephos("new", "vote", "own.csv", *options).questions
    for word in words:
        assert word in questions
    assert sorted(path.name for path in Path().iterdir()) == ["own.csv"]


@pytest.mark.bad_input("a file of one's own that does not tell what is needed")
@pytest.mark.parametrize(
    ("kind", "content", "options", "words"),
    [
        ("crowd", "task,who,label\n", (), "There is no table in it."),
        ("crowd", "task,who,label\nq,ann,a\n", (), "--worker: which column says who answered"),
        ("survey", "voter,records,choice,x\nann,1,1,2\n", (), "did you mean 'records'?"),
        (
            "crowd",
            "q1,ann,a\nq1,bob,b\n",
            (),
            "own.csv line 1 is 'q1,ann,a': use the columns' names, such as task,worker,label",
        ),
        ("crowd", "1,1,0\n1,2,1\n", (), "if the file has no header, put one above this line"),
        ("survey", "v1,1,1,0.5\nv1,1,0,0.1\n", (), "if the file has no header, put one above this line"),
        (
            "survey",
            "v1,7,1,0.5\nv1,7,0,0.1\n",
            (),
            "use a header with voter, record, choice and the features",
        ),
        (
            "ranking",
            "ann,a,x > y\nbob,b,y > x\ncyd,a,y > x\n",
            (),
            "line 1 is 'ann,a,x > y': use the columns' names, such as voter,",
        ),
        ("ranking", "voter,group,x,y\nann,a,good,bad\nbob,b,bad,good\n", (), "--ranking: "),
        ("ranking", "voter,group,ranking\nann,a,x > y\n", (), "use a column with two groups"),
        (
            "ranking",
            "voter,group,x,y\nann,a,1,2\nbob,b,1,1\n",
            ("--place", "x", "--place", "y", "--ties", "refuse"),
            "use each place from 1 to 2 once",
        ),
        (
            "ranking",
            "voter,group,x,y\nann,a,1,2\nbob,b,1,1\n",
            ("--place", "x", "--choice", "y"),
            "leave out --choice beside --place",
        ),
        ("vote", None, (), "There is no file "),
    ],
)
def test_other_kinds_say_what_they_lack(
    psephos: Psephos, write: Write, kind: str, content: str | None, options: tuple[str, ...], words: str
) -> None:
    if content is not None:
        write("own.csv", content)
    assert words in psephos("new", kind, "own.csv", *options).questions
    assert not list(Path().glob("*.toml"))


def test_a_header_may_have_numbers_where_a_column_of_it_is_named(psephos: Psephos, write: Write) -> None:
    write("own.csv", "Wer,Bereich,2,1\nann,a,1,2\nbob,b,2,1\n")
    named = ("--voter", "Wer", "--group", "Bereich", "--place", "2", "--place", "1")
    assert psephos("new", "ranking", "own.csv", "--no-run").status == 2
    assert psephos("new", "ranking", "own.csv", "--no-run", *named).status == 0
    assert list(resolve(load_scenario("own.toml")).names) == ["ann", "bob"]


@pytest.mark.bad_input("nothing accepted is lost")
def test_a_file_that_is_there_is_not_written_over(psephos: Psephos, write: Write) -> None:
    write("board.csv", "name,roof\nann,yes\nbob,no\n")
    write("board.toml", "mine = true\n")
    refusal = psephos("new", "vote", "board.csv").refusal
    assert "--to: The file board.toml exists and holds something else. Add --to with another name." in refusal
    assert Path("board.toml").read_text(encoding="utf-8") == "mine = true\n"
    assert psephos("new", "vote", "board.csv", "--to", "nowhere/b.toml").status == 2
    Path("planted.toml").symlink_to("elsewhere.toml")
    assert "where a file can be written" in psephos("new", "vote", "board.csv", "--to", "planted.toml").err
    assert not Path("elsewhere.toml").exists()
    Path("sub").mkdir()
    assert psephos("new", "vote", "board.csv", "--to", "sub/other", "--no-run").status == 0
    assert scenario("sub/other.toml")["partners"]["file"] == "../board.csv"
    assert len(resolve(load_scenario("sub/other.toml")).names) == 2
    write("committee.csv", "name,roof\n")
    ended = psephos("new", "vote")
    assert (ended.status, ended.out) == (2, "")
    assert "The file committee.csv exists and holds something else" not in ended.out
    assert Path("committee.csv").read_text(encoding="utf-8") == "name,roof\n"


@pytest.mark.bad_input("names with markup")
def test_a_name_that_would_be_obeyed_is_text(psephos: Psephos, write: Write) -> None:
    name = '"=HYPERLINK(""x"")\n[a]\nb = 1 # [red]"'
    write("own.csv", f"{name},roof\nann,yes\n'=cmd,no\n")
    ended = psephos("new", "vote", "own.csv", "--partner", '=HYPERLINK("x")\n[a]\nb = 1 # [red]', "--no-run")
    assert (ended.status, ended.err) == (0, "")
    assert scenario("own.toml")["partners"]["columns"] == {"partner": '=HYPERLINK("x")\n[a]\nb = 1 # [red]'}
    assert list(resolve(load_scenario("own.toml")).names) == ["ann", "'=cmd"]


@pytest.mark.bad_input("names with markup")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ok.csv", "--to", "."), "use the name of a file"),
        (("ok.csv", "--to", "/"), "use the name of a file"),
        (("ok.csv", "--to", ".."), "use the name of a file"),
        (("ok.csv", "--to", "/proc/a.toml"), "use where a file can be written"),
        (("--to", "/proc/a.toml"), "use where a file can be written"),
        (("ok.csv", "--title", "a\udcff"), "name it in UTF-8"),
        (("\udcff.csv", "--to", "a.toml"), "name it in UTF-8"),
    ],
)
def test_a_scenario_that_cannot_be_written_is_refused_and_nothing_is(
    psephos: Psephos, write: Write, words: tuple[str, ...], said: str
) -> None:
    for name in ("ok.csv", "\udcff.csv"):
        write(name, "name,roof\nann,yes\nbob,no\n")
    before = sorted(Path().iterdir())
    assert said in psephos("new", "vote", *words, "--weight", "none", "--no-run").refusal
    assert sorted(Path().iterdir()) == before


def test_the_command_in_a_scenario_can_be_pasted(psephos: Psephos, write: Write) -> None:
    write("our; roof.csv", "name,roof\nann,yes\nbob,no\n")
    ended = psephos("new", "vote", "our; roof.csv", "--weight", "none", "--no-run")
    assert (ended.status, ended.err) == (0, "")
    assert "`psephos new vote 'our; roof.csv'`" in Path("our-roof.toml").read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.bad_input("a large file")
def test_of_a_packed_file_no_more_is_unpacked_than_fits(
    psephos: Psephos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psephos.scenarios.running.drafts.MAX_FILE_BYTES", 1 << 16)
    with gzip.open(tmp_path / "wide.csv.gz", "wt", encoding="utf-8") as file:
        file.write("name,roof\n" + "ann,yes\n" * (1 << 14))
    refusal = psephos("new", "vote", str(tmp_path / "wide.csv.gz"), "--no-run").refusal
    assert "all of it has to fit into memory" in refusal


@pytest.mark.full("a terminal more")
def test_a_terminal_is_asked_until_it_is_clear(write: Write, tmp_path: Path) -> None:
    write("board.csv", "name,share,roof\nann,1,hiya\nbob,2,hapana\n")
    with Terminal("new", "vote", "board.csv", "--no-run", folder=tmp_path) as terminal:
        terminal.answer("one vote? (share, none): ", "nonne")
        terminal.answer("one vote? (share, none): ", "none")
        terminal.answer("which means yes? (hiya, hapana): ", "hiya")
        terminal.answer("May the person who counts see the votes? (yes, no): ", "no")
        assert terminal.ending() == 0, terminal.seen
    assert "did you mean 'none'?" in terminal.seen
    tables = tomllib.loads((tmp_path / "board.toml").read_text(encoding="utf-8"))
    assert tables["partners"] == {
        "file": "board.csv",
        "columns": {"partner": "name"},
        "yes": ["hiya"],
        "no": ["hapana"],
    }


@pytest.mark.parametrize(("kind", "option"), [("vote", "--partner"), ("ranking", "--voter")])
def test_who_has_no_name_has_a_number(psephos: Psephos, write: Write, kind: str, option: str) -> None:
    lines = [f"2026-01-0{1 + n // 2},team {n % 2},{'Yes' if n % 3 else 'No'},b > a\n" for n in range(10)]
    write("form.csv", "Timestamp,Team,Do you agree?,Order\n" + "".join(lines))
    more = ("--leave-out", "Team") if kind == "vote" else ()
    assert psephos("new", kind, "form.csv", option, "none", "--no-run", *more).status == 0
    *_, parties = scenario("form.toml").values()
    assert parties["numbered"]
    role = option.removeprefix("--")
    assert resolve(load_scenario("form.toml")).names[::9] == [f"{role} 01", f"{role} 10"]


def test_weights_that_are_all_alike_are_no_secret(psephos: Psephos, write: Write) -> None:
    write("own.csv", "name,weight,m\nann,2,yes\nbob,2,no\n")
    assert psephos("new", "vote", "own.csv", "--no-run").status == 0
    assert resolve(load_scenario("own.toml")).protocol.parameters.loss_of_weight == 0


def test_a_table_in_place_of_a_scenario_is_told_what_makes_one(psephos: Psephos, write: Write) -> None:
    write("board.csv", "name,roof\nann,yes\n")
    assert (
        "This is a table, and no scenario. Make one of it: psephos new board.csv" in psephos("run", "board.csv").refusal
    )


def test_a_scenario_may_have_a_byte_order_mark(write: Write) -> None:
    write("board.csv", "partner,roof\nann,yes\n")
    path = write("b.toml", '\ufeffprotocol = "dpwevote"\npartners = "board.csv"\n')
    assert list(resolve(load_scenario(str(path))).names) == ["ann"]


@pytest.mark.bad_input("a large file")
def test_a_scenario_of_a_gigabyte_is_refused_before_it_is_read(psephos: Psephos, tmp_path: Path) -> None:
    with (tmp_path / "big.toml").open("wb") as file:
        file.truncate(1 << 30)
    assert "use a file of at most 67,108,864 bytes" in psephos("run", "big.toml").refusal


def test_show_prints_a_scenario_that_can_be_run(psephos: Psephos) -> None:
    ended = psephos("show", "consortium")
    Path("mine.toml").write_text(ended.out, encoding="utf-8")
    mine, ours = (resolve(load_scenario(name)) for name in ("mine.toml", "consortium"))
    assert mine.inputs.private.tolist() == ours.inputs.private.tolist()
    assert "[[votes]]" in psephos("show", "one-game").out
    assert "did you mean 'consortium'?" in psephos("show", "consortum").refusal


def test_samples_are_written_and_nobodys_file_is_lost(psephos: Psephos, write: Write) -> None:
    write("mine.csv", "mine\n")
    ended = psephos("samples")
    assert (ended.status, ended.err) == (0, "")
    assert "mine.csv is another file, and left as it is" in ended.out
    assert Path("mine.csv").read_text(encoding="utf-8") == "mine\n"
    assert {path.name for path in Path().iterdir()} >= samples().keys()
    assert psephos("samples", "nowhere").status == 2


def test_every_kind_is_listed_with_a_whole_sentence(psephos: Psephos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = psephos("new", "--help").out
    commands = told.partition("Commands:")[2]
    assert "..." not in commands
    assert re.findall(r"^  (\w+)  ", commands, re.MULTILINE) == [*KINDS, "protocol"]
    assert "What a society prefers, found from choices between two alternatives." in " ".join(told.split())


def test_the_pages_commands_run_one_after_another(psephos: Psephos) -> None:
    docs = Path(__file__).parents[3] / "docs"
    pages = [(docs / f"your-own-{name}.md").read_text(encoding="utf-8") for name in ("vote", "ranking")]
    blocks: list[str] = re.findall(r"^```console\n(.*?)^```", "\n".join(pages), re.MULTILINE | re.DOTALL)
    said = [line for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    lines = [line.partition("  #")[0].split()[2:] for line in said]
    assert len(lines) > 11
    for words in lines:
        is_run = words[0] == "new" and "--no-run" not in words and not IS_FULL
        ended = psephos(*words, *(["--no-run"] if is_run else []))
        assert (ended.status, ended.err) == (0, ""), words
    assert f"```toml\n{Path('board.toml').read_text(encoding='utf-8')}```" in pages[0]
