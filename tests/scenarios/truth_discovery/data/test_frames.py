"""Frames of task, worker and label become codes, and codes become names again."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from psephos.scenarios.truth_discovery.data import Crowd, SyntheticCrowd, make_crowd
from psephos.scenarios.truth_discovery.data.estimators import MajorityVote
from psephos.scenarios.truth_discovery.data.frames import crowd_from_frame, crowd_to_frame, encode_frame

FRAME = pd.DataFrame(
    {
        "task": ["b", "a", "b", "a"],
        "worker": [7, 7, 3, 3],
        "label": ["yes", "no", "no", "no"],
        "seconds": [1.0, 2.0, 3.0, np.nan],
    },
    index=["w", "x", "y", "z"],
)


def with_rows(*rows: tuple[Any, Any, Any]) -> pd.DataFrame:
    """FRAME's answers and more, numbered from 0."""
    more = pd.DataFrame(list(rows), columns=["task", "worker", "label"])
    return pd.concat([FRAME[["task", "worker", "label"]], more], ignore_index=True)


def test_names_become_codes_by_appearance_and_labels_by_order() -> None:
    coded = encode_frame(FRAME)
    assert (list(coded.tasks), list(coded.workers), list(coded.labels)) == (["b", "a"], [7, 3], ["no", "yes"])
    answers = coded.answers
    assert answers.tasks.tolist() == [0, 1, 0, 1]
    assert answers.workers.tolist() == [0, 0, 1, 1]
    assert answers.labels.tolist() == [1, 0, 0, 0]
    assert answers.sizes.tolist() == [2, 2]
    assert {answers.tasks.dtype, answers.workers.dtype, answers.labels.dtype} == {np.dtype(np.int64)}


def test_labels_may_be_given_in_an_order_with_some_that_nobody_chose() -> None:
    coded = encode_frame(FRAME, labels=["yes", "perhaps", "no"])
    assert coded.answers.labels.tolist() == [0, 2, 2, 2]
    assert coded.answers.sizes.tolist() == [3, 3]


def test_labels_that_cannot_be_sorted_keep_their_order() -> None:
    mixed = pd.DataFrame({"task": [1, 2], "worker": [1, 1], "label": pd.Series(["x", 3], dtype=object)})
    assert list(encode_frame(mixed).labels) == ["x", 3]


@pytest.mark.parametrize("kind", ["object", "category", "string"])
def test_any_kind_of_column_will_do(kind: Any) -> None:
    coded = encode_frame(FRAME.astype({"task": kind, "label": kind}))
    assert coded.answers.tasks.tolist() == [0, 1, 0, 1]
    assert list(coded.labels) == ["no", "yes"]


def test_truths_are_named_and_missing_ones_stay_missing() -> None:
    coded = encode_frame(FRAME)
    assert coded.name_truths(np.array([1, 0])).to_dict() == {"b": "yes", "a": "no"}
    series = coded.name_truths(np.array([1, -1]))
    assert series["b"] == "yes"
    assert pd.isna(series["a"])


def test_the_same_answer_twice_counts_once() -> None:
    coded = encode_frame(with_rows(("b", 7, "yes")))
    assert len(coded.answers) == 4


def test_two_answers_to_a_task_are_refused_by_row() -> None:
    frame = with_rows(("a", 3, "yes"), ("b", 7, "yes"))
    with pytest.raises(ValueError, match=r"1 \(task, worker\) pairs .* task a and worker 3 in rows 3, 4;"):
        encode_frame(frame)


@pytest.mark.parametrize(("repeats", "label"), [("first", 0), ("last", 1)])
def test_the_first_or_the_last_answer_counts(repeats: Any, label: int) -> None:
    answers = encode_frame(with_rows(("a", 3, "yes")), repeats=repeats).answers
    kept = (answers.tasks == 1) & (answers.workers == 1)
    assert answers.labels[kept].tolist() == [label]
    assert len(answers) == 4


@pytest.mark.parametrize("column", ["task", "worker", "label"])
def test_missing_values_are_named_by_row(column: str) -> None:
    frame = FRAME.astype(object)
    frame.loc["y", column] = None
    with pytest.raises(ValueError, match=f"column {column} has 1 missing values, in rows y"):
        encode_frame(frame)


def test_many_rows_are_not_all_named() -> None:
    frame = pd.DataFrame({"task": [None] * 9, "worker": range(9), "label": [1] * 9})
    with pytest.raises(ValueError, match=r"rows 0, 1, 2, 3, 4, …$"):
        encode_frame(frame)


def test_absent_columns_are_named_beside_those_that_are_there() -> None:
    with pytest.raises(ValueError, match="no column task, label; the frame has item, worker, seconds"):
        encode_frame(FRAME.rename(columns={"task": "item"}).drop(columns="label"))


def test_an_empty_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        encode_frame(FRAME.iloc[:0])


def test_what_is_no_frame_is_refused() -> None:
    nothing: Any = {"task": [1]}
    with pytest.raises(TypeError, match=r"is a dict: give a pandas\.DataFrame"):
        encode_frame(nothing)


@pytest.mark.parametrize(("labels", "named"), [(["yes"], "the frame has 'no'"), (["yes", "no", "no"], "twice")])
def test_labels_must_be_all_labels_once(labels: list[str], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        encode_frame(FRAME, labels=labels)


def test_an_unknown_rule_for_repeats_is_refused() -> None:
    unknown: Any = "both"
    with pytest.raises(ValueError, match="error, first, last"):
        encode_frame(FRAME, repeats=unknown)


def crowd_of(tasks: int, workers: int) -> Crowd:
    """Return a made-up crowd in which everybody answers most tasks."""
    return make_crowd(
        SyntheticCrowd(tasks=tasks, workers=workers, answer_probability=0.8, quality=(0.8, 0.1), classes=3, seed=3)
    )


def test_a_crowd_becomes_a_frame_and_comes_back() -> None:
    crowd = crowd_of(12, 5)
    data, truth = crowd_to_frame(crowd)
    assert list(data.columns) == ["task", "worker", "label"]
    assert (truth.name, truth.index.name, len(truth)) == ("true_label", "task", 12)
    back = crowd_from_frame(data, truth)
    assert (list(back.tasks), list(back.workers), back.truth.tolist()) == (
        list(crowd.tasks),
        list(crowd.workers),
        crowd.truth.tolist(),
    )
    for field in ("tasks", "workers", "labels", "sizes"):
        assert getattr(back.answers, field).tolist() == getattr(crowd.answers, field).tolist()


def test_different_answer_sets_and_what_nobody_knows_survive_the_way() -> None:
    data = pd.DataFrame(
        {
            "task": [1, 1, 2, 2],
            "worker": ["ann", "bob", "ann", "bob"],
            "label": ["yes", "no", "b", "c"],
            "answer_set": ["no|yes", "no|yes", "a|b|c", "a|b|c"],
        }
    )
    crowd = crowd_from_frame(data, pd.Series({2: "c"}))
    again, truth = crowd_to_frame(crowd)
    assert again.sort_values(["task", "worker"]).to_numpy().tolist() == data.astype({"task": str}).to_numpy().tolist()
    assert truth.to_dict() == {"2": "c"}


@pytest.mark.parametrize(
    ("change", "truth", "said"),
    [
        ({"label": ["yes", None]}, None, "column label has 1 missing values, in rows 1"),
        ({"task": ["q", "q"], "worker": ["a", "a"]}, None, "Worker 'a' answered 'yes' to task 'q' before"),
        ({"task": [1, "1"]}, None, "column task has two names that are '1' as text"),
        ({}, {"q1": "maybe"}, "the truth of q1"),
    ],
)
def test_a_frame_that_is_no_crowd_is_named(change: dict[str, Any], truth: dict[str, str] | None, said: str) -> None:
    data = pd.DataFrame({"task": ["q1", "q2"], "worker": ["a", "b"], "label": ["yes", "no"]} | change)
    with pytest.raises(ValueError, match=said):
        crowd_from_frame(data, None if truth is None else pd.Series(truth))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, which crowd-kit still uses
def test_crowdkit_infers_the_same_from_our_frames() -> None:
    aggregation: Any = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    data, _ = crowd_to_frame(crowd_of(40, 9))
    theirs = aggregation.MajorityVote().fit_predict(data)
    ours = MajorityVote().fit_predict(data)
    assert theirs.to_dict() == ours.to_dict()
