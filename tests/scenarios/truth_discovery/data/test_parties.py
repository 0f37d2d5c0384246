"""Crowds as parties: each worker with its tasks and its answers, from a file, a generator or a stand-in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from psephos.protocol import ConfigurationError
from psephos.protocol.mechanisms import NO_ANSWER
from psephos.protocol.truth_discovery import NO_TASK, Parameters, TruthDiscovery
from psephos.scenarios.reading.sources import PartiesTable
from psephos.scenarios.truth_discovery.data import Crowd
from psephos.scenarios.truth_discovery.data.files import read_crowd
from psephos.scenarios.truth_discovery.data.parties import crowd_to_parties, load_workers
from psephos.scenarios.truth_discovery.data.synthetic import (
    PEER_GRADING_STAND_IN,
    SyntheticCrowd,
    make_crowd,
    make_peer_grading,
)

Write = Callable[[str, str | bytes], Path]

ANSWERS = "task,worker,label\nq1,cid,yes\nq1,ann,yes\nq3,ann,no\nq2,bob,no\nq1,bob,yes\nq3,bob,yes\n"
SETS = "task,worker,label,answer_set\nsmile,ann,no,yes|no\nhue,ann,blue,red|green|blue\nhue,bob,red,red|green|blue\n"


def protocol_of(loaded: PartiesTable) -> TruthDiscovery:
    """Return the session that workers describe."""
    return TruthDiscovery(msgspec.convert(loaded.parameters, Parameters))


def answers_in(loaded: PartiesTable) -> dict[str, dict[str, str]]:
    """Return for each worker the label of each of its tasks, by names, as a session reads the table."""
    protocol = protocol_of(loaded)
    inputs = protocol.encode(loaded.table)
    found: dict[str, dict[str, str]] = {}
    for place, name in enumerate(loaded.names):
        assert inputs.public[place, 0] == place
        own: dict[str, str] = {}
        for task, code in zip(inputs.public[place, 1:].tolist(), inputs.private[place].tolist(), strict=True):
            assert (task == NO_TASK) == (code == NO_ANSWER)
            if task != NO_TASK:
                labels = protocol.codes.answer_sets[int(protocol.codes.set_of_task[task])]
                own[protocol.codes.tasks[task]] = labels[code - int(protocol.codes.offset_of_task[task])]
        found[name] = own
    return found


def refusal(parties: str | dict[str, Any], **parameters: Any) -> ConfigurationError:
    """Return the error that loading ends with."""
    with pytest.raises(ConfigurationError) as caught:
        load_workers(parties, parameters=parameters)
    return caught.value


# A crowd as rows.


def test_each_worker_has_its_tasks_and_its_answers_padded(write: Write) -> None:
    loaded = crowd_to_parties(read_crowd(write("a.csv", ANSWERS)), source="a.csv")
    assert (loaded.names, loaded.source, list(loaded.lines)) == (["ann", "bob", "cid"], "a.csv", [])
    # Tasks q1, q2, q3 and labels no, yes by code.
    assert np.asarray(loaded.table["tasks"]).tolist() == [[0, 2, -1], [0, 1, 2], [0, -1, -1]]
    assert np.asarray(loaded.table["answers"]).tolist() == [[1, 0, -1], [1, 0, 1], [1, -1, -1]]
    assert loaded.parameters["tasks"] == ["q1", "q2", "q3"]
    assert loaded.parameters["answer_sets"] == [["no", "yes"]]
    assert loaded.parameters["max_answers"] == 3
    assert not loaded.parameters.get("answer_set_of_task")
    assert answers_in(loaded) == {
        "ann": {"q1": "yes", "q3": "no"},
        "bob": {"q1": "yes", "q2": "no", "q3": "yes"},
        "cid": {"q1": "yes"},
    }


def test_codes_of_several_answer_sets_stand_one_after_another(write: Write) -> None:
    crowd = read_crowd(write("a.csv", SETS), truth=write("t.csv", "task,truth\nsmile,yes\nhue,green\n"))
    loaded = crowd_to_parties(crowd)
    assert loaded.parameters["answer_sets"] == [["red", "green", "blue"], ["yes", "no"]]
    assert list(loaded.parameters["answer_set_of_task"]) == [0, 1]
    assert np.asarray(loaded.table["answers"]).tolist() == [[2, 4], [0, -1]]
    assert answers_in(loaded) == {"ann": {"hue": "blue", "smile": "no"}, "bob": {"hue": "red"}}
    assert loaded.gold == {"hue": "green", "smile": "yes"}


def test_truths_are_names_of_those_tasks_alone_that_have_one(write: Write) -> None:
    truths = write("t.csv", "task,truth\nq3,yes\nq9,no\n")
    loaded = crowd_to_parties(read_crowd(write("a.csv", ANSWERS), truth=truths))
    assert loaded.gold == {"q3": "yes", "q9": "no"}  # nobody was asked q9; what is true of it is known all the same
    assert loaded.parameters["tasks"] == ["q1", "q2", "q3", "q9"]
    assert crowd_to_parties(read_crowd(write("a.csv", ANSWERS))).gold == {}


def test_a_worker_without_an_answer_is_asked_nothing() -> None:
    crowd = make_crowd(SyntheticCrowd(tasks=3, workers=30, answer_probability=0.2, seed=5))
    loaded = crowd_to_parties(crowd)
    own = answers_in(loaded)
    silent = [name for name, answers in own.items() if not answers]
    assert 0 < len(silent) < 30
    protocol = protocol_of(loaded)
    inputs = protocol.encode(loaded.table)
    place = list(loaded.names).index(silent[0])
    assert protocol.losses_of(inputs.public[place].tolist()) == ()


@pytest.mark.parametrize("classes", [2, 5])
def test_the_rows_hold_every_answer_of_the_crowd(classes: int) -> None:
    crowd = make_crowd(SyntheticCrowd(tasks=40, workers=13, answers_per_task=4, classes=classes, seed=3))
    (labels,) = crowd.answer_sets
    expected: dict[str, dict[str, str]] = {name: {} for name in crowd.workers}
    codes = crowd.answers
    for row in range(len(codes)):
        own = expected[crowd.workers[int(codes.workers[row])]]
        own[crowd.tasks[int(codes.tasks[row])]] = labels[int(codes.labels[row])]
    loaded = crowd_to_parties(crowd)
    assert answers_in(loaded) == expected
    counts = [len(own) for own in expected.values()]
    assert sum(counts) == 160
    assert loaded.parameters["max_answers"] == max(counts) == np.asarray(loaded.table["tasks"]).shape[1]
    truth = [labels[int(code)] for code in crowd.truth]
    assert loaded.gold == dict(zip(crowd.tasks, truth, strict=True))


# Files.


@pytest.mark.parametrize("is_table", ["a path", "a table"])
def test_a_file_is_real_people_and_names_itself(write: Write, is_table: str) -> None:
    path = str(write("a.csv", ANSWERS))
    loaded = load_workers({"answers": path} if is_table == "a table" else path, parameters={})
    assert (loaded.names, loaded.source) == (["ann", "bob", "cid"], "a.csv")
    assert (loaded.is_generated, loaded.is_public_record, loaded.gold) == (False, False, {})


def test_a_file_of_truths_is_compared_with(write: Write) -> None:
    parties = {"answers": str(write("a.csv", ANSWERS)), "truth": str(write("t.csv", "task,truth\nq3,yes\n"))}
    assert load_workers(parties, parameters={}).gold == {"q3": "yes"}
    assert load_workers({**parties, "truth": ""}, parameters={}).gold == {}


@pytest.mark.parametrize("answer_sets", ["yes", [["yes"], "no"], [1, 2], {"a": ["yes", "no"]}])
def test_answer_sets_that_are_none_are_named(write: Write, answer_sets: Any) -> None:
    error = refusal(str(write("a.csv", ANSWERS)), answer_sets=answer_sets)
    assert "answer_sets" in error.field


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"answers": "nowhere.csv"}, "answers"),
        ({"truth": "nowhere.csv"}, "truth"),
        ({"repeats": "all"}, "repeats"),
        ({"lines": 3}, "workers"),
        ({"answers": 3}, "answers"),
    ],
)
def test_a_wrong_option_of_a_file_is_named(write: Write, options: dict[str, Any], field: str) -> None:
    error = refusal({"answers": str(write("a.csv", ANSWERS)), **options})
    assert field in error.field


# Made-up workers.


def test_synthetic_workers_are_those_of_the_generator() -> None:
    table: dict[str, Any] = {"tasks": 8, "workers": 4, "answers_per_task": 2, "seed": 9}
    loaded = load_workers(table, parameters={})
    crowd: Crowd = make_crowd(SyntheticCrowd(**table))
    assert answers_in(loaded) == answers_in(crowd_to_parties(crowd))
    assert (loaded.is_generated, loaded.is_public_record) == (True, False)
    assert len(loaded.gold) == 8
    assert loaded.parameters["tasks"] == list(crowd.tasks)


def test_the_stand_in_is_the_usual_one_but_for_what_is_said() -> None:
    usual = load_workers({"stand_in": "peer_grading"}, parameters={})
    assert answers_in(usual) == answers_in(crowd_to_parties(make_peer_grading(PEER_GRADING_STAND_IN)))
    assert (len(usual.names), len(usual.parameters["tasks"]), usual.is_generated) == (72, 26, True)
    fewer = load_workers({"stand_in": "peer_grading", "grades": 2}, parameters={})
    assert (len(fewer.names), fewer.parameters["max_answers"]) == (72, 2)


@pytest.mark.parametrize(
    ("parties", "field", "value"),
    [
        ({"stand_in": "peer-grading"}, "workers.stand_in", "peer-grading"),
        ({"stand_in": 3}, "workers.stand_in", 3),
        ({"stand_in": "peer_grading", "tasks": 3}, "workers", None),
        ({"stand_in": "peer_grading", "grades": 26}, "grades", 26),
        ({"tasks": 0, "workers": 3, "answers_per_task": 1}, "tasks", 0),
        ({"tasks": 3, "workers": 3, "answers_per_task": 4}, "answers_per_task", 4),
        ({"tasks": 3, "workers": 3}, "answers_per_task", "none"),
        ({"tasks": 3, "workers": 3, "answers_per_task": 1, "classes": 1}, "classes", 1),
        ({"tasks": 3, "answers_per_task": 1}, "workers", None),
        ({"tasks": "many", "workers": 3, "answers_per_task": 1}, "tasks", "many"),
    ],
)
def test_a_wrong_option_of_synthetic_workers_is_named(parties: dict[str, Any], field: str, value: object) -> None:
    error = refusal(parties)
    assert field in error.field
    if value is not None:
        assert error.value == value
