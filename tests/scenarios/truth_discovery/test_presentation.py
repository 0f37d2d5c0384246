"""Truths as readers see them: what was found, how sure it is, and how much of it is right where somebody knows."""

import functools
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pages
import pytest
from pages import Page, shown
from psephos.protocol.truth_discovery import LevelReports, Outcome, OwnOutcome
from psephos.scenarios.presentation import rows_of, show_outcome, verdict_of
from rich.console import Console
from strategies import told

drawn = functools.partial(pages.drawn, title="Pets")


def found(truths: Sequence[str | None], **options: Any) -> Outcome:
    """Return an outcome with these labels for tasks t0, t1, ..., reported by all of 18 workers where there is one."""
    labels = tuple(dict.fromkeys(["cat", "dog", *(label for label in truths if label is not None)]))
    fields: dict[str, Any] = {
        "tasks": tuple(f"t{n}" for n in range(len(truths))),
        "truths": tuple(truths),
        "confidences": tuple(None if label is None else 0.75 for label in truths),
        "model_confidences": tuple(None if label is None else 0.85 for label in truths),
        "answer_sets": (labels,),
        "answer_set_of_task": (),
        "flip_probabilities": (0.25,),
        "reports": tuple(tuple(18 * (label == found) for label in labels) for found in truths),
        "num_answers": tuple(0 if label is None else 18 for label in truths),
        "num_workers": 20,
        "estimator": "noise_aware",
        "num_iterations": 7,
        "has_converged": True,
        "epsilon_answer": 1.0,
        "epsilon_worker": 5.0,
    }
    return Outcome(**{**fields, **options})


PETS = found(["cat", "dog", "cat", None, "[bird]"])
CLEAN = {"t0": "cat", "t1": "cat", "t2": "cat", "t4": "[bird]"}
GOLD = {"t0": "cat", "t1": "cat", "t2": "dog", "t3": "cat"}


def line_of(page: Page, task: str) -> list[str]:
    """Return the words of one task's line."""
    (line,) = [line for line in page.lines if line[:1] == [task]]
    return line


def test_a_task_shows_label_confidence_and_limits_of_its_support() -> None:
    """12 of 18 reports: which numbers of answers make so many, and so few, as probable as the level."""
    outcome = msgspec.structs.replace(PETS, reports=((12, 3, 3), *PETS.reports[1:]))
    page = shown(outcome)
    assert ["Task", "Truth", "found", "Confidence", "Support"] in page.lines
    low, high = told(outcome.limits_of_found()[0])
    assert 6 < low < 15
    assert high == 18  # (12 − 18/8)/(5/8) = 15.6 ± 3.1
    assert line_of(page, "t0") == ["t0", "cat", "41.1", "to", "85.0", "%", str(low), "to", str(high), "of", "18"]
    assert line_of(page, "t1")[-3:] == ["18", "of", "18"]  # 18 reports of 18
    assert line_of(page, "t3") == ["t3", "none"]
    assert line_of(page, "t4")[1] == "[bird]"


def test_a_confidence_is_a_range_from_the_worst_published_crowd_to_the_best() -> None:
    """Of .85, with three labels, 20 to 95 % of what is beyond a third."""
    low, high = told(PETS.confidence_ranges[0])
    assert (low, high) == (pytest.approx(1 / 3 + 0.15 * (0.85 - 1 / 3)), pytest.approx(0.85))
    assert PETS.confidence_ranges[3] is None
    assert found(["cat"], estimator="majority").confidence_ranges == (pytest.approx((0.85, 0.85)),)


def test_confidences_that_were_worth_nothing_somewhere_rank_the_tasks_alone() -> None:
    outcome = found(["cat", "dog", None], estimator="one_coin", confidences=(0.6, 0.7, None))
    assert outcome.confidence_ranges == (None, None, None)
    page = shown(outcome)
    assert line_of(page, "t0")[2:4] == ["rank", "2"]
    assert line_of(page, "t1")[2:4] == ["rank", "1"]
    assert "no probability is said" in page.text
    assert verdict_of(outcome) == "t0 is cat and t1 is dog; nobody answered the rest."


def test_a_label_stands_beside_those_of_the_clean_answers_and_of_who_knows() -> None:
    page = shown(PETS, truth=CLEAN, gold=GOLD)
    assert line_of(page, "t0")[1:5] == ["cat", "cat", "cat", "right"]
    assert line_of(page, "t1")[1:5] == ["dog", "cat", "cat", "wrong"]
    assert line_of(page, "t2")[1:5] == ["cat", "cat", "dog", "wrong"]
    assert line_of(page, "t3") == ["t3", "none", "cat"]  # no answer is neither right nor wrong
    assert line_of(page, "t4")[1:4] == ["[bird]", "[bird]", "41.1"]


def test_where_nobody_knows_a_shown_task_there_is_no_column_for_it() -> None:
    truths = ["cat"] * 40
    page = shown(found(truths), gold={"t39": "cat"})
    assert "Right?" not in page.text
    assert "1 of 1 task with a known truth is right (1.00)" in page.text


def test_wrong_labels_are_red_and_right_ones_green() -> None:
    console = Console(file=io.StringIO(), width=120, highlight=False, force_terminal=True, color_system="standard")
    show_outcome(console, PETS, truth=CLEAN, gold=GOLD)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert text.count("\x1b[1;32mright") == 1
    assert text.count("\x1b[1;31mwrong") == 2
    assert text.count("\x1b[33mcat") == 1  # t1: the clean answers say something else


def test_labels_are_counted_and_compared_with_who_knows_and_with_the_clean_answers() -> None:
    """Of t0, t1, t2 one is right: 1/3 ± √(1/3 · 2/3 / 3) = 0.33 ± 0.27; of t0, t1, t2, t4 three are the clean ones."""
    text = shown(PETS, truth=CLEAN, gold=GOLD).text
    assert "From 72 answers of 20 workers, by noise_aware, which converged after 7 iterations" in text
    assert "1 of 3 tasks with a known truth is right (0.33 ± 0.27); from the clean answers 2 (0.67)" in text
    assert "3 of 4 tasks have the label that the same estimator finds in the clean answers (0.75 ± 0.22)" in text


def test_nothing_is_compared_where_nobody_knows() -> None:
    text = shown(PETS).text
    assert "known truth" not in text
    assert "clean answers" not in text
    assert "of the share" not in text
    nobody_answered = found([None, None], num_iterations=0)
    text = shown(nobody_answered, truth={}, gold={"t0": "cat"}).text
    assert "known truth" not in text
    assert "Support:" not in text


def test_without_all_clean_labels_there_is_no_accuracy_of_theirs() -> None:
    text = shown(PETS, truth={"t0": "cat"}, gold=GOLD).text
    assert "1 of 3 tasks with a known truth is right (0.33 ± 0.27).\n" in text
    assert "1 of 1 task has the label that the same estimator finds in the clean answers (1.00)" in text


def test_of_many_tasks_the_least_sure_are_shown_and_where_all_are() -> None:
    page = shown(found(["cat"] * 15))
    assert [line[0] for line in page.lines if line and line[0].startswith("t")] == [f"t{n}" for n in range(15)]
    confidences = tuple(0.9 - 0.01 * place for place in range(16))
    page = shown(found([*["cat"] * 15, None], confidences=(*confidences[:15], None)), table="outcome.json")
    assert [line[0] for line in page.lines if line and line[0].startswith("t")] == [f"t{n}" for n in range(14, 4, -1)]
    assert "The 10 that are least sure" in page.text
    assert "outcome.json has all 16, in their order" in page.text
    assert "estimates.csv has all 2,134, in their order" in shown(found(["cat"] * 2134)).text


def test_a_verdict_on_many_labels_names_the_most_frequent() -> None:
    said = verdict_of(found([*"aabbccddeeff", *"ghi"]))
    four = ", ".join(f"{label} for 2 (13 %)" for label in "abcd")
    assert said.startswith(f"A label is named for all 15 tasks: {four} and 5 other labels for 7 (47 %).")


def test_levels_are_shown_with_how_many_have_them() -> None:
    levels = tuple(LevelReports(level, 9, PETS.flip_probabilities, PETS.reports) for level in (0.5, 2.0))
    text = " ".join(shown(msgspec.structs.replace(PETS, levels=levels)).text.split())
    assert "Workers by their own ε: 0.5 (9), 2 (9)." in text
    assert "These shares were found" not in shown(PETS).text
    assert "their own" not in shown(PETS).text


def test_what_has_not_converged_is_said_to() -> None:
    text = shown(found(["cat"], has_converged=False, num_iterations=50)).text
    assert "noise_aware had not converged after 50 iterations" in text
    assert "which converged" not in text
    assert "converge" not in shown(found(["cat"], estimator="majority", num_iterations=0)).text


@pytest.mark.parametrize(
    ("estimator", "meaning"),
    [
        ("majority", "the label's share of the reports, which is no probability"),
        ("truth_discovery", "from the label's share of the weighted reports"),
        ("dawid_skene", "from the label's posterior probability"),
        ("cautious", "from the label's posterior probability by noise_aware; the label is what cautious takes"),
    ],
)
def test_what_a_confidence_means_depends_on_the_estimator(estimator: str, meaning: str) -> None:
    text = shown(found(["cat"], estimator=estimator)).text
    name = "Share" if estimator == "majority" else "Confidence"
    assert f"{name}: {meaning}" in " ".join(text.split())
    assert name in text.splitlines()[2].split()
    says_range = "on published crowds, from the worst to the best" in " ".join(text.split())
    assert says_range == (estimator in {"truth_discovery", "cautious"})
    assert ("that no probability is said" in " ".join(text.split())) == (estimator == "dawid_skene")


@pytest.mark.parametrize(
    ("confidence", "text"), [(0.51, "51.0 %"), (0.9994, "99.9 %"), (0.9999, "> 99.9 %"), (1.0, "100.0 %")]
)
def test_a_confidence_that_is_not_certain_is_never_shown_as_if_it_were(confidence: float, text: str) -> None:
    assert f" {text} " in shown(found(["cat"], model_confidences=(confidence,), estimator="majority")).text


def test_where_reports_say_nothing_there_is_no_support_but_the_number_of_answers() -> None:
    page = shown(found(["cat"], flip_probabilities=(0.5,)))
    assert line_of(page, "t0")[-2:] == ["of", "18"]
    assert "before the perturbation" not in page.text


@pytest.mark.parametrize("width", [50, 60, 80])
def test_a_narrow_terminal_gets_fewer_columns_and_whole_words(width: int) -> None:
    tasks = ("is the [first] smile genuine", "the second", "t2", "t3", "t4")
    outcome = msgspec.structs.replace(PETS, tasks=tasks)
    page = shown(outcome, width=width, truth={"t4": "[bird]"}, gold={"the second": "cat"})
    assert {"Task", "found", "Right?", "wrong", "genuine", "[first]"} <= set(page.text.split())
    assert max(map(len, page.text.splitlines())) <= width


def test_a_worker_is_told_its_own_weight_and_quality() -> None:
    page = shown(OwnOutcome(weight=-0.432, quality=0.73, num_answers=1018))
    assert ["weight", "-0.43"] in page.lines
    assert ["quality", "73.0", "%"] in page.lines
    assert ["answers", "that", "counted", "1,018"] in page.lines


def test_rows_hold_the_numbers_to_their_last_bit() -> None:
    outcome = found(["cat", None], confidences=(1 / 3, None), model_confidences=(1 / 7, None))
    supports, limits = told(outcome.supports[0]), told(outcome.limits_of_found()[0])
    assert supports["cat"].value == pytest.approx((18 - 18 / 4) / (1 / 2))
    assert rows_of(outcome, truth=None) == [
        {
            "task": "t0",
            "truth": "cat",
            "confidence": 1 / 3,
            "model_confidence": 1 / 7,
            "least_confidence": 0.5 + 1.0 * (1 / 7 - 0.5),
            "most_confidence": 0.5 + 0.15 * (1 / 7 - 0.5),
            "least_support": limits.low,
            "most_support": limits.high,
            "num_answers": 18,
            "support of cat": supports["cat"].value,
            "standard error of cat": supports["cat"].standard_error,
            "support of dog": supports["dog"].value,
            "standard error of dog": supports["dog"].standard_error,
        },
        {
            "task": "t1",
            "truth": None,
            "confidence": None,
            "model_confidence": None,
            "least_confidence": None,
            "most_confidence": None,
            "least_support": None,
            "most_support": None,
            "num_answers": 0,
            "support of cat": None,
            "standard error of cat": None,
            "support of dog": None,
            "standard error of dog": None,
        },
    ]


def test_rows_have_the_clean_label_and_the_true_one_where_they_may_be_shown() -> None:
    rows = rows_of(PETS, truth=CLEAN, gold=GOLD)
    assert [row["clean_truth"] for row in rows] == ["cat", "cat", "cat", None, "[bird]"]
    assert [row["gold"] for row in rows] == ["cat", "cat", "dog", "cat", None]
    assert all(row.keys() == rows[0].keys() for row in rows)
    assert "gold" not in rows_of(PETS, truth=CLEAN)[0]
    assert "clean_truth" not in rows_of(PETS, truth=None, gold=GOLD)[0]


def test_a_few_tasks_are_drawn_each_with_its_label(tmp_path: Path) -> None:
    text = drawn(PETS, tmp_path, gold=GOLD)
    for said in (
        ">Pets<",
        ">t4<",
        ">cat, 41.1 to 85.0 %<",
        ">[bird], 41.1 to 85.0 %<",
        ">no answer<",
        ">true: cat<",
        ">true: dog<",
    ):
        assert said in text
    for kind in ("right", "wrong", "truth not known"):
        assert f">{kind}: limits at 95 %<" in text
    assert "shares that are possible" in text


def test_where_nobody_knows_nothing_is_drawn_as_right_or_wrong(tmp_path: Path) -> None:
    text = drawn(PETS, tmp_path)
    assert ">share: limits at 95 %<" in text
    assert "right" not in text
    assert "wrong" not in text
    assert "true:" not in text


def test_without_any_support_the_labels_are_drawn_alone(tmp_path: Path) -> None:
    text = drawn(found(["cat", None], flip_probabilities=(0.5,)), tmp_path)
    assert ">cat, 55.2 to 85.0 %<" in text
    assert "limits" not in text


@pytest.mark.full("a picture more")
def test_of_many_tasks_the_confidences_are_drawn(tmp_path: Path) -> None:
    truths: list[str | None] = ["cat"] * 40 + [None]
    outcome = found(truths, confidences=(*(0.6 + n / 100 for n in range(40)), None))
    gold = {f"t{n}": "cat" if n > 2 else "dog" for n in range(10)}
    text = drawn(outcome, tmp_path, gold=gold)
    for said in ("40 tasks with an answer", "10 tasks with an answer and a known truth", "right (7)", "wrong (3)"):
        assert f">{said}<" in text
    assert ">Confidence: from the label's posterior probability" in text
    assert ">confidence<" in text
    assert ">60 %<" in text  # the least confidence begins the axis
    assert ">50 %<" not in text
    assert ">tasks<" not in drawn(found(["cat"] * 40), tmp_path)


def test_where_all_truths_are_known_or_none_there_is_one_panel(tmp_path: Path) -> None:
    outcome = found(["cat"] * 41, estimator="majority")
    text = drawn(outcome, tmp_path, gold={f"t{n}": "cat" for n in range(41)})
    assert ">41 tasks with an answer and a known truth<" in text
    assert ">41 tasks with an answer<" not in text
    text = drawn(outcome, tmp_path)
    assert ">41 tasks with an answer<" in text
    assert "known truth" not in text
    assert "share of the reports" in text


@pytest.mark.few(most=1)
@pytest.mark.parametrize("confidence", [1.0, 0.05, 0.0])
def test_confidences_at_a_limit_are_drawn(tmp_path: Path, confidence: float) -> None:
    assert "41 tasks" in drawn(found(["cat"] * 41, confidences=(confidence,) * 41), tmp_path)


def test_tasks_that_nobody_answered_leave_an_empty_picture(tmp_path: Path) -> None:
    assert ">0 tasks with an answer<" in drawn(found([None] * 41), tmp_path)


def test_a_task_or_a_label_of_any_name_is_drawn_as_it_is_written(tmp_path: Path) -> None:
    outcome = msgspec.structs.replace(found(["from $5 to $6"]), tasks=("$a$ <b>",))
    text = drawn(outcome, tmp_path, gold={"$a$ <b>": "日本"})
    assert ">$a$ <b><" in text
    assert ">from $5 to $6, 41.1 to 85.0" in text  # the line is full
    assert ">true: 日本<" in text


def test_a_verdict_on_a_few_tasks_says_each_label() -> None:
    two = found(["cat", None])
    assert verdict_of(two).startswith("t0 is cat; nobody answered the rest. ")
    assert verdict_of(found([None])) == "No answer was found: nobody answered."


def test_a_verdict_on_many_tasks_counts_labels_and_those_that_are_expected_to_be_right() -> None:
    confidences = (*(0.75 for _ in range(99)), None)
    many = found([*("cat" for _ in range(60)), *("dog" for _ in range(39)), None], confidences=confidences)
    assert verdict_of(many) == (
        "A label is named for 99 of 100 tasks: cat for 60 (61 %) and dog for 39 (39 %). "
        "About 55 to 84 of these 99 are right, if this crowd is no worse than the worst of sixteen published ones, "
        "and no better than the best."
    )


def test_a_verdict_takes_no_share_of_votes_for_a_probability() -> None:
    assert verdict_of(found(["cat"], estimator="majority")) == "t0 is cat."


def test_a_worker_is_told_how_much_its_answers_counted() -> None:
    own = OwnOutcome(weight=0.418, quality=0.8, num_answers=14)
    assert verdict_of(own) == "14 answers of yours counted, with a weight of +0.42 each."


def test_settings_that_nobody_tried_on_published_crowds_say_no_probability() -> None:
    untried = msgspec.structs.replace(PETS, is_calibrated=False)
    text = shown(untried).text
    assert "published crowds do not tell what it is worth, so that no probability is said." in " ".join(text.split())
    assert ("rank 1" in text, "rank 1" in shown(PETS).text) == (True, False)
    assert "with a probability of" in verdict_of(found(["cat"]))
    assert "with a probability of" not in verdict_of(msgspec.structs.replace(found(["cat"]), is_calibrated=False))
