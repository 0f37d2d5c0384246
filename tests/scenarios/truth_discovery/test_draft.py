"""`psephos new crowd`: what a file's columns are, which labels there are, and what is asked in place of a guess."""

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from psephos.scenarios import Streamed, load_scenario, resolve

Psephos = Callable[..., Any]
Write = Callable[[str, str | bytes], Path]
Draft = Callable[..., Any]
MANY = [f"w{place}" for place in range(6)]


def table(header: str, rows: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in (header, *rows))


def answers(header: str = "task,worker,label", labels: str = "yes no yes no yes yes") -> str:
    """Return the answers of six workers to two tasks, each label of the first task given again to the second."""
    rows = [f"{task},{who},{label}" for task in ("q1", "q2") for who, label in zip(MANY, labels.split(), strict=True)]
    return table(header, rows)


@pytest.fixture
def draft(psephos: Psephos, write: Write) -> Draft:
    """Return the table of workers that `psephos new crowd` writes, or what it asks."""

    def draft_crowd(content: str, *options: str) -> dict[str, Any] | str:
        write("own.csv", content)
        Path("own.toml").unlink(missing_ok=True)
        ended = psephos("new", "crowd", "own.csv", "--no-run", *options)
        if ended.status:
            assert (ended.status, ended.out, Path("own.toml").exists()) == (2, "", False)
            return str(ended.err)
        return dict(tomllib.loads(Path("own.toml").read_text(encoding="utf-8"))["workers"])

    return draft_crowd


SAID = ("--labels", "no,yes")


@pytest.mark.parametrize(
    ("header", "renamed"),
    [
        ("item,annotator,answer", {"task": "item", "worker": "annotator", "label": "answer"}),
        ("HITId,WorkerId,Answer.kind", {"task": "HITId", "worker": "WorkerId", "label": "Answer.kind"}),
        ("INPUT:url,ASSIGNMENT:worker_id,OUTPUT:kind", {"task": "INPUT:url", "worker": "ASSIGNMENT:worker_id"}),
        ("instance_id,user_id,annotation", {"task": "instance_id", "worker": "user_id", "label": "annotation"}),
        ("id,performer,label", {"task": "id", "worker": "performer"}),
        ("Question ID,Rater,Rating", {"task": "Question ID", "worker": "Rater", "label": "Rating"}),
        ("taskId,workerId,choices", {"task": "taskId", "worker": "workerId", "label": "choices"}),
        ("task,completed_by,labels", {"worker": "completed_by", "label": "labels"}),
    ],
)
def test_columns_are_known_by_the_names_that_programs_give_them(
    draft: Draft, header: str, renamed: dict[str, str]
) -> None:
    found = draft(answers(header), *SAID)
    assert found["columns"].items() >= renamed.items()
    assert found["labels"] == ["no", "yes"]


@pytest.mark.parametrize(
    ("header", "option", "choices"),
    [
        ("what,worker,label", "task", "One of what"),
        ("task,whose,label", "worker", "One of whose"),
        ("task,worker,said", "label", "One of said"),
        ("question,image,worker,label", "task", "One of question, image"),
        ("task,user,rater,label", "worker", "One of user, rater"),
        ("task,worker,Answer.a,Answer.b", "labels", "(Answer.a, Answer.b)"),
    ],
)
def test_a_column_that_no_name_tells_or_two_is_asked_for(draft: Draft, header: str, option: str, choices: str) -> None:
    width = header.count(",") + 1
    rows = [",".join([f"x{place}", *[f"y{place}"] * (width - 2), "yes"]) for place in range(6)]
    found = draft(table(header, rows), *SAID[: 0 if option.startswith("label") else 2])
    assert f"--{option}: " in str(found)
    assert choices in str(found)


def test_labels_that_are_said_tell_their_column(draft: Draft) -> None:
    rows = [
        f"q,{who},{word},text {who},{len(word)}"
        for who, word in zip(MANY, ["yes", "no", "yes", "no", "no", "no"], strict=True)
    ]
    found = draft(table("task,worker,mood,why,length", rows), *SAID)
    assert found["columns"] == {"label": "mood"}


@pytest.mark.parametrize(
    ("labels", "why", "options", "said"),
    [
        ("yes no yes no yes scurvy", "'no' was given by 2", ("--labels", "no,yes,scurvy"), ["no", "yes", "scurvy"]),
        ("1 0 1.0 0 1 1.0", "'1' and '1.0' may be one", ("--labels", "0,1=1.0"), {"0": [], "1": ["1.0"]}),
        ("1 0 1.0 0 1 1.0", "'1' and '1.0' may be one", ("--labels", "0,1,1.0"), ["0", "1", "1.0"]),
        (
            "Cat dog cat dog cat dog",
            "'Cat' and 'cat' may be one",
            ("--labels", "dog,cat=Cat"),
            {"dog": [], "cat": ["Cat"]},
        ),
        ("a b a#b a b a", "'a#b' may be several in one cell", ("--labels", "a,b,a#b"), ["a", "b", "a#b"]),
        ("yes yes yes yes yes yes", "'yes' stands there alone", ("--labels", "no", "--labels", "yes"), ["no", "yes"]),
    ],
)
def test_labels_that_few_gave_or_that_may_be_others_are_asked_for_and_written_down(
    draft: Draft, labels: str, why: str, options: Sequence[str], said: Any
) -> None:
    asked = draft(answers(labels=labels))
    assert "--labels: " in str(asked)
    assert why in str(asked)
    found = draft(answers(labels=labels), *options)
    assert found["labels"] == said


def test_labels_that_many_gave_are_written_down_and_said(psephos: Psephos, write: Write) -> None:
    rows = [f"q{task},w{who},{('no', 'yes')[(task + who) % 2]}" for task in range(2) for who in range(10)]
    write("own.csv", table("task,worker,label", rows))
    ended = psephos("new", "crowd", "own.csv", "--no-run")
    assert (ended.status, ended.err) == (0, "")
    assert "Labels, for everybody to know: 'no', 'yes'." in " ".join(ended.out.split())
    assert tomllib.loads(Path("own.toml").read_text(encoding="utf-8"))["workers"]["labels"] == ["no", "yes"]


def test_answers_that_are_no_label_are_left_out_or_refused_as_said(draft: Draft) -> None:
    content = answers(labels="yes no yes no yes scurvy")
    asked = draft(content, *SAID)
    assert "answers that are none of the labels: 2, the first is 'scurvy', label (own.csv line 7)" in str(asked)
    assert "if they are left out, everybody can see whose" in str(asked)
    found = draft(content, *SAID, "--other-labels", "leave-out")
    assert (found["labels"], found["other_labels"]) == (["no", "yes"], "leave_out")
    assert "scurvy" not in Path("own.toml").read_text(encoding="utf-8")
    assert "label (own.csv line 7) is 'scurvy': use one of" in str(draft(content, *SAID, "--other-labels", "refuse"))


def test_a_column_that_says_what_became_of_a_line_is_asked_about(draft: Draft) -> None:
    words = ["approved", "rejected", "approved", "submitted", "approved", "rejected"]
    rows = [f"q,{who},yes,{word}" for who, word in zip(MANY, words, strict=True)]
    for name in ("status", "AssignmentStatus", "ASSIGNMENT:status", "mood.responses.status", "State"):
        content = table(f"task,worker,label,{name}", rows)
        asked = draft(content, *SAID)
        assert f"--only: '{name}' has 'approved' (" in str(asked)
        assert "which rows count, or 'none': all" in str(asked)
        found = draft(content, *SAID, "--only", f"{name}=approved", "--only", f"{name}=submitted")
        assert isinstance(found, dict), found
        assert found["only"] == {name: ["approved", "submitted"]}
    assert isinstance(draft(table("task,worker,label,status", [f"q,{who},yes,done" for who in MANY]), *SAID), dict)


def test_lines_without_an_answer_and_answers_given_twice_are_asked_about(draft: Draft) -> None:
    content = answers() + "q1,w6,\nq3,,\nq1,w0,no\n"
    assert "lines without a label: 2, the first is label (own.csv line 14)" in str(draft(content, *SAID))
    options = (*SAID, "--leave-out-empty", "label")
    asked = draft(content, *options)
    assert "which answer of 'w0' to 'q1' counts, who gave another one before: label (own.csv line 16)" in str(asked)
    for word in ("first", "last"):
        found = draft(content, *options, "--repeats", word)
        assert isinstance(found, dict), found
        assert (found["repeats"], found["leave_out_empty"]) == (word, ["label"])
    assert "label (own.csv line 16): Which counts? " in str(draft(content, *options, "--repeats", "refuse"))


def test_a_column_of_truths_in_the_file_is_that(draft: Draft) -> None:
    rows = [f"q{task},{who},yes,{'no' if task else ''}" for task in range(2) for who in MANY]
    for name in ("GOLDEN:label", "gold", "true label", "ground_truth"):
        found = draft(table(f"task,worker,label,{name}", rows), *SAID)
        assert isinstance(found, dict), found
        assert (found["truth"], found["truth_columns"]) == ("own.csv", {"task": "task", "truth": name})
    wrong = [row.replace(",no", ",perhaps") for row in rows]
    asked = draft(table("task,worker,label,gold", wrong), *SAID)
    assert "truth (own.csv line 8) is 'perhaps': use one of 'no', 'yes'" in str(asked)


def test_names_of_workers_that_are_nearly_alike_are_asked_about(psephos: Psephos, write: Write, draft: Draft) -> None:
    content = answers() + "q1,W0 ,no\nq3,W0,no\n"
    asked = draft(content, *SAID)
    assert "--alike-workers: whether 'w0' and 'W0' in own.csv are one worker, or several?" in asked
    asked = draft(content, *SAID, "--alike-workers", "one")
    assert "--repeats: which answer of 'W0' to 'q1' counts" in asked
    for options, number in (("several", ()), 7), (("one", ("--repeats", "last")), 6):
        word, more = options
        assert isinstance(draft(content, *SAID, "--alike-workers", word, *more), dict)
        assert len(resolve(load_scenario("own.toml")).names) == number
    written = Path("own.toml").read_text(encoding="utf-8")
    Path("own.toml").write_text(written.replace('alike_workers = "one"', ""), encoding="utf-8")
    assert "'w0' differ in case or blanks alone" in psephos("run", "own.toml").err
    Path("many").mkdir()
    for name in ("a", "b"):
        write(f"many/{name}.csv", content if name == "a" else answers())
    Path("own.toml").write_text(written.replace('alike_workers = "one"', "").replace("own.csv", "many"), "utf-8")
    assert "'w0' differ in case or blanks alone" in psephos("run", "own.toml").err
    Path("own.toml").write_text(written.replace("own.csv", "many"), encoding="utf-8")
    streamed = resolve(load_scenario("own.toml"))
    assert isinstance(streamed, Streamed)
    assert streamed.stream.num_parties == 6
