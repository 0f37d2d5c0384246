"""Crowds in files: every plain and every quoted file reads alike, and every fault is named with its line."""

import csv
import gzip
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bad_input import refused_by, refuses
from hypothesis import given
from hypothesis import strategies as st
from makers import as_usual
from psephos.protocol.columns import CodedColumn
from psephos.scenarios.reading import columns
from psephos.scenarios.reading.batches import TableFiles
from psephos.scenarios.truth_discovery.data import Crowd
from psephos.scenarios.truth_discovery.data.assembly import Rows, assemble, in_order
from psephos.scenarios.truth_discovery.data.files import read_crowd

# The fast way to read a file; which one was taken cannot be seen from outside.
READ_PLAIN = columns._read_plain  # pyright: ignore[reportPrivateUsage]  the two ways are compared
COLUMNS = ("task", "worker", "label")
HEAD = "task,worker,label\n"
SETS = "task,worker,label,answer_set\n"


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(folder: Path, answers: str | bytes, truth: str | None = None, **options: Any) -> Crowd:
    truths = None if truth is None else put(folder / "t.csv", truth)
    return read_crowd(put(folder / "a.csv", answers), truth=truths, **options)


def rows(crowd: Crowd) -> list[tuple[str, str, str]]:
    """Return task, worker and label of every answer, by name, in the crowd's order."""
    codes = crowd.answers
    return [
        (crowd.tasks[int(t)], crowd.workers[int(w)], crowd.answer_sets[int(crowd.answer_set_of_task[t])][int(c)])
        for t, w, c in zip(codes.tasks.tolist(), codes.workers.tolist(), codes.labels.tolist(), strict=True)
    ]


refused = as_usual(refused_by, read)


def test_answers_are_sorted_by_worker_and_task_whatever_the_order_of_rows(tmp_path: Path) -> None:
    crowd = read(tmp_path, HEAD + "10,b,no\n9,b,yes\n9,a,no\n", "task,truth\n9,yes\n")
    assert rows(crowd) == [("9", "a", "no"), ("9", "b", "yes"), ("10", "b", "no")]
    assert (crowd.tasks, crowd.workers, crowd.answer_sets) == (["9", "10"], ["a", "b"], [("no", "yes")])
    assert crowd.truth.tolist() == [1, -1]
    assert crowd.answers.labels.dtype == np.int64


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["10", "9", "-1"], ["-1", "9", "10"]),
        (["1", "01", "2"], ["01", "1", "2"]),
        (["10", "9", "x"], ["10", "9", "x"]),
        (["b", "B", "a"], ["B", "a", "b"]),
        (["1" * 5000, "2"], ["1" * 5000, "2"]),
        ([], []),
    ],
)
def test_names_are_in_numeric_order_if_all_are_integers(names: list[str], ordered: list[str]) -> None:
    assert in_order(names) == ordered


@pytest.mark.parametrize(
    "content",
    [
        "task,worker,label\nt,u,NA\nt,v,nan\n",
        "\ufefftask,worker,label\nt,u,NA\nt,v,nan\n",
        "task,worker,label\r\nt,u,NA\r\nt,v,nan",
        "\n\ntask,worker,label\n\n\nt,u,NA\n   \nt,v,nan\n\n",
        "label,when,worker,item\nNA,1,u,t\nnan,,v,t\n",
        " task , worker,label\n t ,u , NA\nt,v,nan\n",
        '"task","worker","label"\n"t","u","NA"\nt,v,nan\n',
        "item,task,worker,label\nx,t,u,NA\ny,t,v,nan\n",
        "task,worker,label\rt,u,NA\rt,v,nan\r",
        "\n\nlabel;when;worker;item\n\nNA;1,5;u;t\nnan;;v;t\n",
        "task\tworker\tlabel\nt\tu\tNA\nt\tv\tnan\n",
    ],
    ids=["plain", "BOM", "CR LF", "blank lines", "others", "blanks", "quotes", "task before item", "CR", ";", "tabs"],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_one_crowd_in_many_spellings(tmp_path: Path, content: str, is_packed: bool) -> None:  # noqa: FBT001  a parameter of the test
    raw = content.encode()
    path = tmp_path / ("a.csv.gz" if is_packed else "a.csv")
    assert rows(read_crowd(put(path, gzip.compress(raw) if is_packed else raw))) == [
        ("t", "u", "NA"),
        ("t", "v", "nan"),
    ]


NAMES = st.text(st.sampled_from('ab1 é,"\n漢'), max_size=20).filter(str.strip)


@given(table=st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=30), block=st.integers(1, 200))
def test_the_fast_way_the_careful_way_and_the_csv_module_agree(
    tmp_path_factory: pytest.TempPathFactory, table: list[tuple[str, str, str]], block: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "agree.csv"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", "worker", "label"])
    writer.writerows(table)
    put(path, text.getvalue())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_BLOCK_BYTES", block), ("_ROWS", 7)):
            patch.setattr(columns, name, value)
        fast = columns.join_batches(TableFiles(path, field="own").batches(COLUMNS))
        is_plain = None not in READ_PLAIN(path, width=3, max_bytes=1 << 20)
    careful = columns.join_batches(TableFiles(path, field="own").batches(COLUMNS))
    for read in (fast, careful):
        assert list(zip(*read.table.values(), strict=True)) == table
        assert list(read.lines) == list(range(2, len(table) + 2))
    assert is_plain == ('"' not in text.getvalue())


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 63, 64, 65, 200])
def test_names_that_differ_in_the_last_character_only_are_two(tmp_path: Path, length: int) -> None:
    stem = "x" * (length - 1)
    crowd = read(tmp_path, HEAD + f"{stem}a,w,0\n{stem}b,w,1\n{stem}a,v,1\n")
    assert crowd.tasks == [f"{stem}a", f"{stem}b"]
    assert len(crowd.answers) == 3


def test_five_megabytes_are_read_in_blocks_without_a_slow_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = np.random.Generator(np.random.Philox(key=5)).permutation(300_000)
    lines = [f"t{pair // 300:05d},w{pair % 300:03d},c{pair % 7}\n" for pair in pairs.tolist()]
    path = put(tmp_path / "a.csv", HEAD + "".join(lines))
    monkeypatch.setattr(columns, "_ROWS", 0)  # of the careful way
    crowd = read_crowd(path)
    order = np.arange(300_000).reshape(1000, 300).T.ravel()
    assert np.array_equal(crowd.answers.tasks, order // 300)
    assert np.array_equal(crowd.answers.workers, order % 300)
    assert np.array_equal(crowd.answers.labels, order % 7)


FAULTS: Mapping[str, tuple[str | bytes, str, str]] = {
    "empty": ("", "a.csv", "a CSV file with a header"),
    "blank": ("\n \n", "a.csv", "a CSV file with a header"),
    "header only": (HEAD, "a.csv", "a file with rows"),
    "no column": ("\ntask,worker\nt,w\n", "column 'label' of a.csv", "a column of task, worker"),
    "a column twice": (
        "task,worker,label,task\n1,2,3,4\n",
        "a.csv line 1",
        "a header of distinct, non-empty names",
    ),
    "short": (
        HEAD + "t,w,a\n\nt,w\n",
        "a.csv line 4",
        "This line has 2 entries, and the header 3: task, worker, label.",
    ),
    "long": (
        HEAD + "t,w,a\nt,v,b,c\n",
        "a.csv line 3",
        "This line has 4 entries, and the header 3: task, worker, label.",
    ),
    "short and long": (
        HEAD + "t,w\nt,v,b,c\n",
        "a.csv line 2",
        "This line has 2 entries, and the header 3: task, worker, label.",
    ),
    "empty entry": (HEAD + "t,w,a\n\nt,  ,a\n", "worker (a.csv line 4)", "given"),
    "empty column": (HEAD + "t,w,\nt,v,\n", "label (a.csv line 2)", "given"),
    "after a quoted line end": (HEAD + '"t\n1",w,a\nt,,a\n', "worker (a.csv line 3)", "given"),
    "no text": (HEAD.encode() + b"t,w,a\nt,\x81,a\n", "a.csv line 3", "UTF-8 text (byte 3 of the line is 0x81: "),
    "NUL": (HEAD + "t,w,a\nt,v\0,a\n", "a.csv line 3", "text without NUL bytes"),
    "open quote": (HEAD + 't,w,a\n"t,v,a\n', "a.csv line 3", "well-formed CSV (unexpected end of data)"),
    "one label": (
        HEAD + "t,w,a\nt,v,a\n",
        "label (a.csv line 2)",
        "Nobody gave another label than 'a'. Name the possible ones by labels.",
    ),
}


@pytest.mark.bad_input("an empty file, wrong columns, text that is none")
@pytest.mark.parametrize(("content", "field", "allowed"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_with_its_line(tmp_path: Path, content: str | bytes, field: str, allowed: str) -> None:
    error = refused(tmp_path, content)
    assert error.field == field
    assert error.allowed.startswith(allowed)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [("none.csv", None, "No such file"), ("a.csv.gz", b"task", "Not a gzipped"), (".", None, "Is a directory")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes | None, reason: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    good = put(tmp_path / "good.csv", HEAD + "t,w,a\nt,v,b\n")
    for arguments, field in (((path, None), "answers"), ((good, path), "truth")):
        with refuses(field, str(path), reason):
            read_crowd(arguments[0], truth=arguments[1])


REPEATED = HEAD + "\nt,w,a\nt,w,a\nu,w,b\nt,w,b\nt,v,b\nt,w,c\n"


@pytest.mark.bad_input("a worker who answers a task twice with different labels")
def test_different_answers_again_are_refused_with_both_lines(tmp_path: Path) -> None:
    error = refused(tmp_path, REPEATED)
    assert (error.field, error.value) == ("label (a.csv line 6)", "b")
    assert error.allowed.startswith(
        "Which counts? Worker 'w' answered 'a' to task 't' before (a.csv line 3), and 'b' here."
    )


@pytest.mark.parametrize(("repeats", "label"), [("first", "a"), ("last", "c")])
def test_the_first_or_the_last_answer_counts(tmp_path: Path, repeats: str, label: str) -> None:
    crowd = read(tmp_path, REPEATED, repeats=repeats)
    assert rows(crowd) == [("t", "v", "b"), ("t", "w", label), ("u", "w", "b")]


def test_the_same_answer_again_counts_once(tmp_path: Path) -> None:
    assert rows(read(tmp_path, HEAD + "t,w,a\nt,w,a\nt,v,b\nt,w,a\n")) == [("t", "v", "b"), ("t", "w", "a")]


@given(
    table=st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=40).filter(
        lambda table: len({row[2] for row in table}) > 1
    ),
    repeats=st.sampled_from(["first", "last", "error"]),
)
def test_repeats_are_reduced_as_a_dictionary_would(table: list[tuple[str, str, str]], repeats: Any) -> None:
    expected: dict[tuple[str, str], str] = {}
    conflict: int | None = None
    for row, (task, worker, label) in enumerate(table):
        before = expected.setdefault((worker, task), label)
        if before != label and conflict is None:
            conflict = row
        if repeats == "last":
            expected[worker, task] = label
    tasks, workers, labels = (CodedColumn.from_values(column) for column in zip(*table, strict=True))
    given_rows = Rows(tasks, labels, str, workers=workers)
    if repeats == "error" and conflict is not None:
        with refuses(f"label ({conflict})"):
            assemble(given_rows, repeats=repeats)
        return
    found = [(worker, task, label) for task, worker, label in rows(assemble(given_rows, repeats=repeats))]
    assert found == [(*pair, label) for pair, label in sorted(expected.items())]


def test_a_given_answer_set_has_its_own_order_and_more_labels(tmp_path: Path) -> None:
    crowd = read(tmp_path, HEAD + "t,w,a\n", answer_sets=["c", "b", "a"])
    assert crowd.answer_sets == [("c", "b", "a")]
    assert (crowd.answers.labels.tolist(), crowd.answers.sizes.tolist()) == ([2], [3])


def test_each_task_may_have_an_answer_set_that_its_rows_spell_out(tmp_path: Path) -> None:
    content = SETS + "t,w,a,b | a\nu,w,a,a|x|y\nu,v,y,a|x|y\n"
    crowd = read(tmp_path, content, "task,truth\nu,x\n")
    assert rows(crowd) == [("u", "v", "y"), ("t", "w", "a"), ("u", "w", "a")]
    assert [crowd.answer_sets[place] for place in crowd.answer_set_of_task] == [("b", "a"), ("a", "x", "y")]
    assert (crowd.answers.sizes.tolist(), crowd.truth.tolist()) == ([2, 3], [-1, 1])


def test_each_task_may_have_an_answer_set_that_its_rows_name(tmp_path: Path) -> None:
    content = SETS + "t,w,a,one\nu,w,a,two\n"
    crowd = read(tmp_path, content, answer_sets={"one": ["b", "a"], "two": ["a", "x", "y"], "three": ["p", "q"]})
    assert [crowd.answer_sets[place] for place in crowd.answer_set_of_task] == [("b", "a"), ("a", "x", "y")]
    assert crowd.answers.labels.tolist() == [1, 0]


@pytest.mark.bad_input("a label outside the task's answer set")
@pytest.mark.parametrize(
    ("content", "sets", "field", "allowed"),
    [
        (HEAD + "t,w,a\nt,v,z\n", ["a", "b"], "label (a.csv line 3)", "one of 'a', 'b'"),
        (HEAD + "t,w,a\n", [str(n) for n in range(15)], "label (a.csv line 2)", "'10', '11' and 3 more"),
        (HEAD + "t,w,a\n", ["a"], "answer_sets", "a list of two or more different labels"),
        (HEAD + "t,w,a\n", ["a", "a"], "answer_sets", "a list of two or more different labels"),
        (HEAD + "t,w,a\n", "ab", "answer_sets", "a list of two or more different labels"),
        (HEAD + "t,w,a\n", {"s": ["a", "b"]}, "answer_sets", "the answers have no column answer_set"),
        (SETS + "t,w,a,s\n", ["a", "b"], "answer_sets", "labels by the names of the answer sets"),
        (SETS + "t,w,a,s\n", {"s": ["a"]}, "answer_sets.s", "a list of two or more different labels"),
        (SETS + "t,w,a,s\n", {"r": ["a", "b"]}, "answer_set (a.csv line 2)", "one of the answer sets 'r'"),
        (SETS + "t,w,a,a|b\nu,w,a,a\n", None, "answer_set (a.csv line 3)", "two or more different labels, with |"),
        (SETS + "t,w,a,a|\n", None, "answer_set (a.csv line 2)", "two or more different labels, with |"),
        (SETS + "t,w,a,a|b\nt,v,a,a|c\n", None, "answer_set (a.csv line 3)", "'a|b', as in another row of task 't'"),
        (SETS + "t,w,a,a|b\nu,v,b,a|c\n", None, "label (a.csv line 3)", "one of 'a', 'c'"),
        (SETS + "t,w,a,a|b\nt,v,b,\n", None, "answer_set (a.csv line 3)", "given"),
    ],
)
def test_a_label_or_an_answer_set_that_is_not_allowed(
    tmp_path: Path, content: str, sets: Any, field: str, allowed: str
) -> None:
    error = refused(tmp_path, content, answer_sets=sets)
    assert error.field == field
    assert allowed in error.allowed


ANSWERS = HEAD + "t,w,a\nu,w,b\n"


def test_a_task_with_a_truth_but_no_answer_stays(tmp_path: Path) -> None:
    crowd = read(tmp_path, ANSWERS, "item,truth,source\nx,b,1\nt,a,2\nt,a,3\n")
    assert (crowd.tasks, crowd.truth.tolist()) == (["t", "u", "x"], [0, -1, 1])
    assert (crowd.answers.num_tasks, len(crowd.answers)) == (3, 2)
    sets = read(tmp_path, SETS + "t,w,a,a|b\n", "task,truth,answer_set\nx,q,p|q\nt,a,a|b\n")
    assert [sets.answer_sets[place] for place in sets.answer_set_of_task] == [("a", "b"), ("p", "q")]


@pytest.mark.parametrize(
    ("answers", "truth", "field", "allowed"),
    [
        (ANSWERS, "task,truth\nt,a\n\nu,z\n", "truth (t.csv line 4)", "a label that somebody answered: 'a', 'b'"),
        (
            ANSWERS,
            "task,truth\nt,a\nt,b\n",
            "truth (t.csv line 3)",
            "'a', which is the truth of task 't' before (t.csv",
        ),
        (ANSWERS, "task,truth\n", "t.csv", "a file with rows"),
        (ANSWERS, "task,label\nt,a\n", "column 'truth' of t.csv", "a column of task, label"),
        (ANSWERS, "task,truth,answer_set\nt,a,a|b\n", "answer_set (t.csv line 2)", "left out, since the answers"),
        (SETS + "t,w,a,a|b\n", "task,truth\nx,a\n", "task (t.csv line 2)", "a task that somebody answered"),
        (SETS + "t,w,a,a|b\n", "task,truth,answer_set\nt,a,b|a\n", "answer_set (t.csv line 2)", "'a|b', as in another"),
        (SETS + "t,w,a,a|b\n", "task,truth\nt,z\n", "truth (t.csv line 2)", "one of 'a', 'b'"),
    ],
)
def test_a_truth_that_is_not_allowed(tmp_path: Path, answers: str, truth: str, field: str, allowed: str) -> None:
    error = refused(tmp_path, answers, truth)
    assert error.field == field
    assert error.allowed.startswith(allowed)


def test_an_unknown_rule_for_repeats_and_rows_without_workers_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, ANSWERS, repeats="majority").field == "repeats"
    with pytest.raises(ValueError, match="answers need workers"):
        assemble(Rows(CodedColumn.from_values("ab"), CodedColumn.from_values("xy"), str))
