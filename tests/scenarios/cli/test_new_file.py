"""`psephos new FILE`: which kind of session a file's columns look like, and what is asked about any table."""

import shlex
import tomllib
from pathlib import Path

import pytest
from bad_input import Psephos, Write
from terminals import Terminal

EXPORTS = Path(__file__).parents[2] / "exports"
VOTE = "name,roof\nAnn,yes\nBob,no\nCid,yes\n"


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (VOTE, "vote"),
        ("name,roof\nAnn,yes\nBob,\nCid,no\n", "vote"),
        ("task,worker,label\n" + "".join(f"t{n % 2},w{n // 2},{n % 3 % 2}\n" for n in range(12)), "crowd"),
        ("voter,group,ranking\na,x,p > q\nb,y,q > p\n", "ranking"),
        ("voter,record,choice,lives\na,1,1,3\na,1,0,1\n", "survey"),
    ],
)
def test_a_file_is_begun_as_what_its_columns_look_like(psephos: Psephos, write: Write, content: str, word: str) -> None:
    write("own.csv", content)
    assert f"own.csv looks like what `psephos new {word}` begins." in psephos("new", "own.csv", "--no-run").err


@pytest.mark.bad_input("a file of another kind, or in two forms")
def test_a_file_that_does_not_tell_gets_the_commands_that_may_be_meant(psephos: Psephos, write: Write) -> None:
    write("my own.csv", "a,b\nx,1\ny,2\n")
    ended = psephos("new", "my own.csv", "--no-run")
    assert ended.status == 2
    assert "my own.csv does not tell what it holds: psephos new vote 'my own.csv'; psephos new crowd" in ended.err
    assert len(ended.err.splitlines()) == 1


def test_what_is_said_of_a_table_is_written_into_the_scenario(psephos: Psephos, write: Write) -> None:
    write("own.csv", "Assembly\n\nname,roof,part\nAnn,yes,a\nBob,no,b\nCid,no,\nDee,yes,a\n")
    asked = psephos("new", "own.csv", "--no-run")
    assert (asked.status, len(asked.err.splitlines())) == (2, 1)
    assert "own.csv: the header seems to be in line 3. Add --header 3" in asked.err
    said = ("--header", "3", "--only", "part=a", "--only", "part=b", "--leave-out-empty", "part")
    ended = psephos("new", "own.csv", *said, "--partner", "name", "--candidate", "roof", "--no-run")
    assert ended.status == 0, ended.err
    assert "1 of 4 rows of own.csv are left out: part is empty." in ended.out
    table = tomllib.loads(Path("own.toml").read_text(encoding="utf-8"))["partners"]
    assert table["only"] == {"part": ["a", "b"]}
    assert (table["header"], table["leave_out_empty"]) == (3, ["part"])
    assert psephos("run", "own.toml", "--out", "run").status == 0


@pytest.mark.parametrize("name", ["rctab_generic.csv", "label_studio.csv", "polis_votes.csv"])
def test_a_command_that_is_printed_holds_nothing_that_nobody_said(psephos: Psephos, name: str) -> None:
    """Every value in it stands for one, such as COLUMN."""
    path = EXPORTS / name
    err = psephos("new", "vote", str(path), "--no-run", "--to", "own").err
    command = err.partition("In full: ")[2]
    words = shlex.split(command)[4:]
    assert all(value.isupper() or value == "COLUMN=WORD" for value in words[1::2]), command


def test_a_status_is_asked_about_and_so_is_a_form_that_was_left(psephos: Psephos) -> None:
    asked = psephos("new", "crowd", str(EXPORTS / "mturk_batch.csv"), "--no-run").err
    assert "--only: 'AssignmentStatus' has 'Approved' (4×) and 'Rejected' (1×)" in asked
    asked = psephos("new", "vote", str(EXPORTS / "limesurvey_codes.csv"), "--no-run").err
    assert "--leave-out-empty: 'submitdate' is empty in 1 rows: are these left out" in asked


def test_in_a_terminal_nothing_that_was_answered_is_lost(write: Write, tmp_path: Path) -> None:
    write("own.csv", "Assembly\n\nname,Status,roof\nAnn,ok,hiya\nBob,draft,hapana\nCid,ok,hapana\nDee,ok,hiya\n")
    with Terminal("new", "vote", "own.csv", "--trust", "local", "--no-run", folder=tmp_path) as terminal:
        terminal.answer("Header (3): ", "3")
        terminal.answer("which rows count, or 'none': all? (Status=ok, Status=draft, none): ", "ok")
        terminal.answer("which rows count, or 'none': all? (Status=ok, Status=draft, none): ", "Status=ok")
        terminal.answer("(hiya, hapana): ", "hiya")
        assert terminal.ending() == 0, terminal.seen
    table = tomllib.loads((tmp_path / "own.toml").read_text(encoding="utf-8"))["partners"]
    assert (table["header"], table["only"], table["yes"]) == (3, {"Status": ["ok"]}, ["hiya"])
