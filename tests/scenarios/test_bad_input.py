"""Every item of bad input has a test, and an unknown scenario is answered with those that there are."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_input import ITEMS, Psephos, Write

TESTS = Path(__file__).parents[1]


def marked_items() -> Iterator[tuple[str, str]]:
    """Yield every item that a test is marked with: item, file."""
    for file in sorted(TESTS.rglob("test_*.py")):
        source = file.read_text(encoding="utf-8")
        if "mark.bad_input" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="bad_input"), args=items):
                    yield from ((ast.literal_eval(item), file.relative_to(TESTS).as_posix()) for item in items)
                case _:
                    pass


def test_every_item_of_bad_input_has_a_test_and_every_such_test_an_item() -> None:
    marked = list(marked_items())
    assert [item for item in ITEMS if item not in {item for item, _ in marked}] == []
    assert [(item, file) for item, file in marked if item not in ITEMS] == []


@pytest.mark.bad_input("an unknown scenario, key or transport")
def test_an_unknown_scenario_is_answered_with_those_that_there_are(psephos: Psephos) -> None:
    for command, more in (
        ("run", ()),
        ("serve", ("--transport", "tcp", "--listen", "127.0.0.1:0")),
        ("roster", ("--make-keys",)),
    ):
        refusal = psephos(command, "consortum", *more, "--out", "out").refusal
        assert refusal == (
            "psephos: scenario: There is no file and no shipped scenario 'consortum' (did you mean 'consortium'?). "
            "`psephos scenarios` lists the shipped ones.\n"
        )
        assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "consortium", "--epsilon", 2), "A value of the scenario is set by --set epsilon=VALUE"),
        (("run", "vot.toml"), "'vot.toml' (did you mean 'vote.toml'?)"),
        (("new", "tabel.csv"), "There is no file tabel.csv (did you mean 'table.csv'?)"),
        (("new", "folder"), "FILE: This is a folder."),
        (("new", "protocol", "My_Protocol"), "for example my-protocol"),
        (("samples", "table.csv"), "There is a file called table.csv. Name a folder."),
        (("report", "table.csv"), "RUN: 'table.csv' is a file. Name the folder of a run."),
        (("report", "flder"), "RUN: There is no folder 'flder' (did you mean 'folder'?)"),
        (("ledger", "folder"), "RUN: There is no folder/ledger.jsonl. Name the folder of a run"),
    ],
    ids=repr,
)
def test_what_is_called_otherwise_is_named_with_the_next_step(
    psephos: Psephos, write: Write, words: tuple[object, ...], said: str
) -> None:
    write("table.csv", "name,roof\nAnn,yes\n")
    write("vote.toml", "")
    Path("folder").mkdir()
    assert said in psephos(*words).refusal
