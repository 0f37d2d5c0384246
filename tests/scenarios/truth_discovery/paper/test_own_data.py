"""The paper's Table 3 and Figures 2 and 4 on somebody's own crowd."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runs import read_json, read_rows

Psephos = Callable[..., Any]

ANSWERS = "task,worker,label\n" + "".join(
    f"t{task},w{worker},{'yes' if (task + worker) % 5 else 'no'}\n" for task in range(6) for worker in range(5)
)
TRUTH = "task,truth\n" + "".join(f"t{task},yes\n" for task in range(6))


def test_a_crowd_of_one_s_own_has_the_table_and_the_figures_and_counts_neither_way(psephos: Psephos) -> None:
    Path("mine.csv").write_text(ANSWERS, encoding="utf-8")
    Path("known.csv").write_text(TRUTH, encoding="utf-8")
    words = ("reproduce", "truth-discovery", "--answers", "mine.csv", "--truth", "known.csv", "--trials", 10)
    ended = psephos(*words, "--out", "out", "--no-report")
    assert ended.status == 0, ended.err
    cells = read_rows("out/table-3.csv")
    assert {cell["crowd"] for cell in cells} == {"mine.csv"}
    assert {cell["published"] for cell in cells} == {""}
    clean = {cell["method"]: float(cell["accuracy"]) + float(cell["change"]) for cell in cells}
    assert clean == pytest.approx(dict.fromkeys(clean, 1.0))  # four of five workers are right on every task
    assert [row["name"] for row in read_rows("out/figure-2.csv")] == [f"w{worker}" for worker in range(5)]
    shares = [float(row["error"]) for row in read_rows("out/figure-2.csv")]
    assert shares == pytest.approx([2 / 6, 1 / 6, 1 / 6, 1 / 6, 1 / 6])  # wrong where task + worker is 0 or 5
    for row, share in zip(read_rows("out/figure-2.csv"), shares, strict=True):
        base = share / math.e + (1 - share) * math.e
        assert float(row["importance"]) == pytest.approx(base ** -math.log(share / (1 - share)))
    assert Path("out/figure-2.png").exists()
    assert Path("out/figure-4.png").exists()
    found = read_json("out/reproduction.json")
    assert found["own"] == "mine.csv"
    page = Path("out/summary.md").read_text(encoding="utf-8")
    assert "## On your data" in page
    assert "## What the paper says" not in page
    assert "they count neither way" in page
    assert "without privacy" in " ".join(ended.out.split())


def test_who_is_never_wrong_has_no_finite_importance(psephos: Psephos) -> None:
    """Nor is there an error rate of who answered no task whose truth is known."""
    Path("mine.csv").write_text("task,worker,label\na,v,yes\na,w,no\nb,w,yes\nb,x,yes\na,v2,yes\n", encoding="utf-8")
    Path("known.csv").write_text("task,truth\na,yes\n", encoding="utf-8")
    words = ("reproduce", "truth-discovery", "--answers", "mine.csv", "--truth", "known.csv", "--trials", 10)
    assert psephos(*words, "--out", "out", "--no-report", "--no-pictures").status == 0
    told = {row["name"]: (row["error"], row["importance"]) for row in read_rows("out/figure-2.csv")}
    assert told == {"v": ("0.0", ""), "v2": ("0.0", ""), "w": ("1.0", ""), "x": ("", "")}


def test_without_a_known_truth_there_are_its_weights(psephos: Psephos) -> None:
    Path("mine.csv").write_text(ANSWERS, encoding="utf-8")
    words = ("reproduce", "truth-discovery", "--answers", "mine.csv", "--no-pictures", "--no-report")
    ended = psephos(*words, "--out", "out")
    assert ended.status == 0, ended.err
    assert sorted(path.name for path in Path("out").glob("*.csv")) == ["claims.csv", "falls.csv", "figure-2.csv"]


def test_what_is_said_of_a_crowd_is_what_is_run(psephos: Psephos) -> None:
    """It is as in a table that somebody cleaned by hand: Yes is yes, w0 is W0, and the first answer counts."""
    Path("mine.csv").write_text(ANSWERS, encoding="utf-8")
    words = ("reproduce", "truth-discovery", "--no-pictures", "--no-report", "--trials", 10, "--answers", "mine.csv")
    assert psephos(*words, "--labels", "no,yes,unsure", "--out", "clean").status == 0
    rows = ANSWERS.replace("t1,w0,yes", "t1,W0,Yes").replace("t2,w1,yes", "t2,w1,Yes") + "t3,w1,no\nt3,w2,perhaps\n"
    Path("mine.csv").write_text(rows, encoding="utf-8")
    said = list[str]()
    for option, value, due in (
        ("--alike-workers", "one", "workers.alike_workers"),
        ("--labels", "no,yes=Yes,unsure", "Is 'yes' the same label as 'Yes'? Say by labels which there are"),
        ("--other-labels", "leave_out", "'perhaps'"),
        ("--repeats", "first", "Set workers.repeats to first or last"),
    ):
        ended = psephos(*words, *said, "--out", "out")
        assert (ended.status, ended.err.count("\n"), due in ended.err) == (2, 1, True), ended.err
        said += [option, value]
    ended = psephos(*words, *said, "--out", "own")
    assert ended.status == 0, ended.err
    assert Path("own/figure-2.csv").read_bytes() == Path("clean/figure-2.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--labels", "no,yes"], "give --answers beside --labels"),
        (
            ["--answers", "mine.csv", "--labels", "yes"],
            "--labels are ['yes']: use a list of two or more different labels",
        ),
        (["--answers", "mine.csv", "--repeats", "any"], "--repeats "),
        (["--truth", "known.csv"], "give --answers beside --truth"),
        (["--answers", "nowhere.csv"], "--answers is 'nowhere.csv': use a file that is there"),
        (
            ["--answers", "known.csv"],
            "column 'worker' of known.csv is missing: there are task, truth. Name yours by workers.columns",
        ),
        (["--answers", "mine.csv", "--truth", "wrong.csv"], "truth (wrong.csv line 2)"),
    ],
)
def test_a_file_that_is_none_is_named_in_one_line(psephos: Psephos, words: list[str], said: str) -> None:
    Path("mine.csv").write_text(ANSWERS, encoding="utf-8")
    Path("known.csv").write_text(TRUTH, encoding="utf-8")
    Path("wrong.csv").write_text("task,truth\nt1,perhaps\n", encoding="utf-8")
    refusal = psephos("reproduce", "truth-discovery", *words, "--out", "out", "--trials", 10).refusal
    assert said in refusal, refusal
    assert not Path("out").exists() or not any(Path("out").iterdir())
