"""Exports of annotation programs: what is typed beside the file's name, and what the session counts, by hand."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from answers_counted import counted
from psephos.scenarios import load_scenario, resolve

Psephos = Callable[..., Any]
EXPORTS: Final = Path(__file__).parents[3] / "exports"


class Told(NamedTuple):
    """What a file says, read by hand.

    Args:
        options: typed beside its name.
        answers: by worker and task.
        labels: which there are.
        gold: what is known to be true.
        asked: the options that are asked for, with none of these typed.
    """

    options: Sequence[str]
    answers: Mapping[tuple[str, str], str]
    labels: Sequence[str]
    asked: Sequence[str]
    gold: Mapping[str, str] = {}


MTURK = {("W1", "H1"): "good", ("W2", "H1"): "bad", ("W1", "H2"): "bad"}
CROWD_KIT = Told(
    ["--labels", "0,1"],
    {("w1", "t1"): "1", ("w2", "t1"): "0", ("w3", "t1"): "1", ("w1", "t2"): "0", ("w2", "t2"): "0", ("w3", "t2"): "1"},
    ["0", "1"],
    ["labels"],
)
READ: Final[Mapping[str, Told]] = {
    "label_studio.csv": Told(
        ["--labels", "bad,good", "--leave-out-empty", "mood", "--repeats", "last"],
        {
            ("ann@example.org", "1"): "good",
            ("8", "1"): "bad",
            ("9", "1"): "bad",
            ("8", "2"): "bad",
            ("ann@example.org", "2"): "bad",
            ("9", "2"): "good",
        },
        ["bad", "good"],
        ["labels"],
    ),
    "toloka.tsv": Told(
        ["--only", "ASSIGNMENT:status=APPROVED", "--labels", "bad,good"],
        {("w1", "Soup"): "good", ("w1", "Bread"): "bad", ("w2", "Soup"): "bad", ("w2", "Bread"): "bad"},
        ["bad", "good"],
        ["only"],
        {"Bread": "bad"},
    ),
    "mturk_batch.csv": Told(
        ["--only", "AssignmentStatus=Approved", "--labels", "bad,good", "--other-labels", "leave-out"],
        MTURK,
        ["bad", "good"],
        ["only"],
    ),
    "crowdkit.csv": CROWD_KIT,
    "crowdkit_old.csv": CROWD_KIT,
}
REFUSED: Final[Mapping[str, tuple[Sequence[str], str]]] = {
    "potato.csv": ([], "mood.good, mood.bad have a label of 'mood' each"),
    "doccano_all.csv": ([], "--worker: "),
    "doccano_ann.csv": ([], "if each person has a file or a column, put these below each other"),
    "doccano_bob.csv": ([], "--worker: "),
    "label_studio.csv": (
        ["--label", "topics", "--leave-out-empty", "topics"],
        """'{"choices":["price","taste"]}' may be several in one cell""",
    ),
    "mturk_batch.csv": (
        ["--only", "AssignmentStatus=Approved", "--labels", "bad,good"],
        "answers that are none of the labels: 1, the first is '{}', label (mturk_batch.csv line 7)",
    ),
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXPORTS, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", READ)
def test_an_export_is_asked_about_and_its_answers_are_those_counted_by_hand(psephos: Psephos, name: str) -> None:
    told = READ[name]
    questions = psephos("new", "crowd", name, "--no-run", "--to", "own.toml").questions
    for option in told.asked:
        assert f"--{option}:" in questions or f"--{option} " in questions
    assert sum(word.startswith("--") for word in told.options) <= 3
    made = psephos("new", "crowd", name, *told.options, "--no-run", "--to", "own.toml")
    assert (made.status, made.err) == (0, "")
    session = resolve(load_scenario("own.toml"))
    assert counted(session) == told.answers
    assert session.protocol.parameters.answer_sets == (tuple(told.labels),)
    assert session.gold == told.gold


@pytest.mark.parametrize("name", REFUSED)
def test_an_export_that_holds_no_answers_of_persons_is_refused_with_what_to_do(psephos: Psephos, name: str) -> None:
    options, told = REFUSED[name]
    ended = psephos("new", "crowd", name, *options, "--no-run", "--to", "own.toml")
    assert (ended.status, told in ended.err) == (2, True), ended.err
    assert not Path("own.toml").exists()
