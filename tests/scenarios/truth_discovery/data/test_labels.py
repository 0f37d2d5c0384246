"""Labels of a crowd, at every door: somebody says which there are, and how else each is written; no file is guessed."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError
from psephos.scenarios import load, load_scenario, resolve, run
from psephos.scenarios.truth_discovery.data.files import read_crowd
from psephos.scenarios.truth_discovery.data.frames import crowd_from_frame
from psephos.scenarios.truth_discovery.data.labels import LabelWords, alike_in

Psephos = Callable[..., Any]

DOORS = ("csv", "csv as a stream", "parquet", "frame", "crowd")
ALIKE: Mapping[str, tuple[Any, Any]] = {
    "numbers": ("1", "1.0"),
    "decimals": ("1,5", "1.50"),
    "case": ("Cat", "cat"),
    "blanks": ("new  roof", "new roof"),
    "forms of one character": ("caf\u00e9", "cafe\u0301"),
    "a sign that nobody sees": ("yes", "yes\u200b"),
    "a truth and a number": ("true", "1"),
    "German": ("STRASSE", "Stra\u00dfe"),
}


def table(labels: Sequence[Any]) -> pd.DataFrame:
    """Return answers of as many workers as there are labels to each of three tasks, each worker with one of its own."""
    rows = [(f"q{task}", f"w{place}", label) for task in range(3) for place, label in enumerate(labels)]
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def entered(door: str, frame: pd.DataFrame) -> Any:
    """Return answers as a door takes them."""
    if door == "csv as a stream":
        frame.to_csv("answers.csv", index=False)
        Path("folder").mkdir(exist_ok=True)
        Path("answers.csv").rename("folder/answers.csv")
        return "folder"
    if door == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        frame.to_parquet("answers.parquet")
        return "answers.parquet"
    if door == "csv":
        frame.to_csv("answers.csv", index=False)
        return "answers.csv"
    return frame


def refused(door: str, frame: pd.DataFrame, **settings: Any) -> ConfigurationError:
    answers = entered(door, frame)
    with pytest.raises(ConfigurationError) as caught:
        resolve(load("crowd", settings, answers=crowd_from_frame(answers) if door == "crowd" else answers))
    return caught.value


@pytest.mark.parametrize("pair", ALIKE.values(), ids=list(ALIKE))
def test_labels_that_look_alike_are_asked_about_at_every_door(
    pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = table(["no", pair[0], pair[1]])
    for door in DOORS:
        error = refused(door, frame, synthetic=True)
        assert error.field.startswith("label ("), (door, error)
        assert error.value in pair
        assert error.allowed.startswith(
            f"Is {error.value!r} the same label as {pair[error.value == pair[0]]!r}? Say by labels "
        )
    frame.to_csv("answers.csv", index=False)
    with pytest.raises(ConfigurationError, match=r"the same label as .*\? Say by labels which there are"):
        read_crowd(Path("answers.csv"))  # of `reproduce truth-discovery --answers`


def test_labels_that_mean_other_things_are_no_question() -> None:
    labels = ["3", "2", "-1", "1.5", "yes", "no", "a b", "ab", "A+", "A", "01x", "1x", "true", "unsure"]
    assert alike_in(labels) == [[label] for label in labels]


def test_true_and_1_of_one_frame_are_not_taken_for_one_nor_for_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = table([True, 1, False])
    assert refused("frame", frame, synthetic=True).value in {"true", "1"}
    with pytest.raises(ValueError, match="true or false beside numbers"):
        crowd_from_frame(frame)


@pytest.mark.parametrize("door", ["csv", "csv as a stream", "parquet", "frame"])
def test_what_is_said_of_labels_is_what_the_session_counts_and_names(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of ten workers who judge 12 tasks four write 1, five write 1.0, and one 0: merged, the truth is 1."""
    monkeypatch.chdir(tmp_path)
    frame = table(["1"] * 4 + ["1.0"] * 5 + ["0"])
    settings: dict[str, Any] = {
        "workers.labels": {"0": [], "1": ["1.0"], "unsure": []},
        "estimator": "majority",
        "epsilon": 30.0,
        "noise": "simulated",
        "seed": 1,
    }
    found = run(load("crowd", settings, answers=entered(door, frame)))
    outcome: Any = found.outcome
    assert outcome.answer_sets == (("0", "1", "unsure"),)
    assert set(outcome.truths) == {"1"}
    assert set(outcome.num_answers) == {10}
    assert set(outcome.reports) == {(1, 9, 0)}
    assert found.scenario.parties["labels"] == {"0": [], "1": ["1.0"], "unsure": []}  # pyright: ignore[reportArgumentType,reportCallIssue]  a table


@pytest.mark.parametrize("door", ["csv", "csv as a stream", "parquet", "frame"])
def test_an_answer_that_is_no_label_is_refused_by_its_line_or_left_out_as_said(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = table(["yes", "no", "scurvy", "Yes"])
    settings: dict[str, Any] = {"workers.labels": ["no", "yes"], "epsilon": 30.0, "estimator": "majority", "seed": 2}
    settings["noise"] = "simulated"
    error = refused(door, frame, **settings)
    place = {"frame": "row 2 of frame answers", "parquet": "answers.parquet row 3"}.get(door, "answers.csv line 4")
    assert (error.field, error.value) == (f"label ({place})", "scurvy")
    error = refused(door, frame[frame.label != "scurvy"], **settings)
    assert (error.value, "'yes', written otherwise" in error.allowed) == ("Yes", True)
    answers = entered(door, frame)
    found: Any = run(load("crowd", {**settings, "workers.other_labels": "leave_out"}, answers=answers))
    assert set(found.outcome.num_answers) == {2}
    assert "scurvy" not in json.dumps([list(found.outcome.answer_sets), *found.scenario.parameters])


@pytest.mark.parametrize("door", DOORS)
def test_no_label_is_read_off_what_real_people_answered(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = table(["yes", "no", "scurvy"])
    error = refused(door, frame)
    assert error.field == "workers.labels"
    assert "scurvy" not in str(error)
    answers = entered(door, frame)
    answers = crowd_from_frame(answers, labels=["no", "scurvy", "yes"]) if door == "crowd" else answers
    said = {} if door == "crowd" else {"workers.labels": ["no", "yes", "scurvy"]}
    resolve(load("crowd", said, answers=answers))
    if door != "crowd":
        for word in ("synthetic", "public_record"):
            resolve(load("crowd", {word: True}, answers=answers))


def test_a_server_reads_no_label_off_a_file_of_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from psephos.scenarios.running.resolution import resolve_served  # noqa: PLC0415  after the folder

    monkeypatch.chdir(tmp_path)
    table(["yes", "no"]).to_csv("answers.csv", index=False)
    with refuses("workers.labels"):
        resolve_served(load_scenario("crowd", ["workers=answers.csv"]))


@pytest.mark.parametrize(
    ("labels", "field"),
    [
        (["yes"], "workers.labels"),
        (["yes", "yes"], "workers.labels"),
        ({"yes": ["ja"], "no": ["ja"]}, "workers.labels.no"),
        ({"yes": ["no"], "no": []}, "workers.labels.yes"),
    ],
)
def test_labels_that_are_none_are_refused(labels: Any, field: str) -> None:
    with refuses(field):
        LabelWords.of(labels, field="workers.labels")


@pytest.mark.parametrize("door", ["csv", "csv as a stream", "parquet"])
def test_truths_are_labels_and_those_of_no_answered_task_are_said_or_refused(
    door: str, psephos: Psephos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answers = entered(door, table(["1", "1.0", "0"]))
    words = ("run", "crowd", "--set", f"workers.answers={answers}", "--set", "workers.truth=truth.csv")
    words = (*words, "--set", "workers.labels={ 0 = [], 1 = ['1.0'] }", "--no-pictures")
    Path("truth.csv").write_text("task,truth\nq0,1.0\nQ1,0\nq9,1\n")
    ended = psephos(*words)
    assert (ended.status, ended.err) == (0, "")
    shown = " ".join(ended.out.split())
    assert "Labels: '0', '1'." in shown
    assert "Truths of tasks that nobody answered: 2, the first of 'Q1' (truth.csv line 3)." in shown
    assert resolve(load_scenario("crowd", words[3:-1:2])).gold == {"q0": "1", "Q1": "0", "q9": "1"}
    Path("truth.csv").write_text("task,truth\nQ0,1\n")
    ended = psephos(*words)
    assert (ended.status, "use a task that somebody answered" in ended.err) == (2, True)
    Path("truth.csv").write_text("task,truth\nq0,2\n")
    ended = psephos(*words)
    assert (ended.status, "truth (truth.csv line 2) is '2': use one of '0', '1'" in ended.err) == (2, True)
