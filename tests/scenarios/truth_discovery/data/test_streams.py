"""Crowds of files of any size: the bits of one CSV that is read at once, and what is wrong said with file and row."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest
from bad_input import refused_by, refuses
from makers import as_usual
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, Streamed, load_scenario, resolve, run_session
from psephos.scenarios.reading import batches, columns, grouping
from psephos.scenarios.truth_discovery.data import streams

pyarrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

Rows = list[tuple[str, str, str]]

MECHANISMS: dict[str, dict[str, Any]] = {
    "one layer": {"epsilon": 2.0},
    "two layers": {"epsilon": 2.0, "mechanism": "two_layer"},
    "central": {"epsilon": 2.0, "mechanism": "central"},
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batches, "_ROWS", 7)
    monkeypatch.setattr(columns, "_ROWS", 7)
    monkeypatch.setattr(grouping, "_PART_BYTES", 600)
    monkeypatch.setattr(streams, "_BATCH_WORKERS", 3)


def made(*, are_numbers: bool = False) -> Rows:
    """Return answers in no order, one of which stands twice."""
    draw = random.Random(4)
    prefix = "" if are_numbers else "w"
    rows = [
        (f"t{task}", f"{prefix}{worker}", draw.choice(["cat", "dog", "eel"]))
        for worker in range(23)
        for task in draw.sample(range(31), draw.randint(1, 6))
    ]
    draw.shuffle(rows)
    return [*rows, rows[0]]


def write(path: str, rows: Rows, names: tuple[str, str, str] = ("task", "worker", "label")) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    if path.endswith(".parquet"):
        columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        parquet.write_table(pyarrow.table(columns), path, row_group_size=50)
    else:
        with Path(path).open("w", newline="") as file:
            csv.writer(file).writerows([names, *rows])


def load(parameters: dict[str, Any], workers: Any, *settings: str) -> Local:
    usual = {"protocol": "truth-discovery", "name": "c", "seed": 3, "noise": "simulated", "transport": "array"}
    Path("c.json").write_text(json.dumps({**usual, "parameters": parameters, "workers": workers}))
    return resolve(load_scenario("c.json", settings))


def resolved(parameters: dict[str, Any], answers: str, **more: Any) -> Local:
    return load(parameters, {"answers": answers, **more}, "synthetic=true")


refusal = as_usual(refused_by, resolved, {"epsilon": 2.0})


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("end", ["parquet", "csv"])
@pytest.mark.parametrize("are_numbers", [False, True], ids=["names", "numbers"])
def test_files_have_the_bits_of_one_that_is_read_at_once(mechanism: str, end: str, *, are_numbers: bool) -> None:
    rows, parameters = made(are_numbers=are_numbers), MECHANISMS[mechanism]
    write("all.csv", rows)
    for number, (start, stop) in enumerate([(0, 11), (11, 12), (12, len(rows))]):
        write(f"parts/{number}.{end}", rows[start:stop])
    Path("truth.csv").write_text("task,truth\nt3,cat\nt40,eel\n")
    at_once = resolved(parameters, "all.csv", truth="truth.csv")
    streamed = resolved(parameters, f"parts/*.{end}", truth="truth.csv")
    assert isinstance(streamed, Streamed)
    assert not isinstance(at_once, Streamed)
    assert streamed.protocol.parameters == at_once.protocol.parameters
    assert streamed.gold == at_once.gold == {"t3": "cat", "t40": "eel"}
    assert streamed.stream.num_parties == 23
    ours, theirs = run_session(streamed, seed=3), run_session(at_once, seed=3)
    assert list(ours.tallies) == list(theirs.tallies)
    assert ours.outcome == theirs.outcome
    assert ours.own_outcomes == theirs.own_outcomes
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["all.csv", "c.json", "parts", "truth.csv"]


@pytest.mark.parametrize("repeats", ["first", "last"])
def test_of_answers_given_twice_the_same_ones_count(repeats: str) -> None:
    rows = made()
    rows.append((*rows[5][:2], "cat" if rows[5][2] != "cat" else "dog"))
    write("all.csv", rows)
    write("parts/0.parquet", rows[:30])
    write("parts/1.parquet", rows[30:])
    outcomes = [
        run_session(resolved({"epsilon": 2.0}, path, repeats=repeats), seed=3).outcome for path in ("all.csv", "parts")
    ]
    assert outcomes[0] == outcomes[1]


def test_names_that_are_nearly_alike_are_one_worker_s_where_that_is_said() -> None:
    rows = [(task, worker.upper() if len(label + task) % 2 else f" {worker} ", label) for task, worker, label in made()]
    rows.insert(0, ("t0", "W22", "newt"))
    write("all.csv", rows)
    write("parts/0.parquet", rows[:30])
    write("parts/1.parquet", rows[30:])
    said: dict[str, Any] = {"labels": ["cat", "dog", "eel"], "other_labels": "leave_out", "repeats": "last"}
    for path in ("all.csv", "parts"):
        assert "unlike" in refusal(path, **said).allowed
    at_once, streamed = (resolved({"epsilon": 2.0}, path, alike_workers="one", **said) for path in ("all.csv", "parts"))
    assert isinstance(streamed, Streamed)
    assert len(at_once.names) == streamed.stream.num_parties == 23
    assert run_session(streamed, seed=3).outcome == run_session(at_once, seed=3).outcome


def test_columns_are_the_files_and_an_item_is_a_task() -> None:
    rows = made()
    write("all.csv", rows)
    write("own.parquet", rows, ("item", "who", "said"))
    ours = resolved({"epsilon": 2.0}, "own.parquet", columns={"worker": "who", "label": "said"})
    theirs = resolved({"epsilon": 2.0}, "all.csv")
    assert run_session(ours, seed=3).outcome == run_session(theirs, seed=3).outcome


def test_labels_that_are_numbers_in_parquet_are_those_of_a_csv() -> None:
    rows = [(task, worker, str(len(label) + len(task) % 2)) for task, worker, label in made()]
    write("all.csv", rows)
    table = {
        "task": [row[0] for row in rows],
        "worker": [row[1] for row in rows],
        "label": [int(row[2]) for row in rows],
    }
    parquet.write_table(pyarrow.table(table), "own.parquet")
    ours, theirs = (resolved({"epsilon": 2.0}, path) for path in ("own.parquet", "all.csv"))
    assert run_session(ours, seed=3).outcome == run_session(theirs, seed=3).outcome


def test_a_worker_whose_number_is_whole_in_one_file_and_not_in_another_is_one() -> None:
    Path("parts").mkdir()
    for number, kind in enumerate((int, float)):
        columns = {"task": ["a", f"b{number}"], "worker": [kind(1), kind(2)], "label": ["x", "y"]}
        parquet.write_table(pyarrow.table(columns), f"parts/{number}.parquet")
    found = resolved({"epsilon": 2.0, "mechanism": "one_layer"}, "parts")
    assert isinstance(found, Streamed)
    assert found.stream.num_parties == 2


def test_workers_with_a_line_each_come_in_batches_too() -> None:
    lines = {"worker": [f"w{place}" for place in range(20)], "tasks": ["a;b", "b"] * 10, "answers": ["x;y", "y"] * 10}
    parquet.write_table(pyarrow.table(lines), "lines.parquet")
    Path("lines.csv").write_text(
        "".join(",".join(row) + "\n" for row in [tuple(lines), *zip(*lines.values(), strict=True)])
    )
    parameters = {"epsilon": 2.0, "tasks": ["a", "b"], "answer_sets": [["x", "y"]], "max_answers": 2}
    records = [run_session(load(parameters, path), seed=3) for path in ("lines.parquet", "lines.csv")]
    assert list(records[0].tallies) == list(records[1].tallies)
    assert len(records[0].tallies[0].rows) == 30
    assert records[0].own_outcomes == records[1].own_outcomes


@pytest.mark.parametrize(
    ("rows", "field", "value", "allowed"),
    [
        ([("t1", "w1", "cat"), ("", "w2", "dog")], "task (1.parquet row 2)", "", "given"),
        ([("t1", "w1", "cat"), ("t2", " ", "dog")], "worker (1.parquet row 2)", "", "given"),
    ],
)
def test_an_empty_entry_is_named_with_its_file_and_row(rows: Rows, field: str, value: str, allowed: str) -> None:
    write("parts/0.parquet", made())
    write("parts/1.parquet", rows)
    error = refusal("parts")
    assert (error.field, error.value, error.allowed) == (field, value, allowed)


def test_another_answer_to_a_task_is_named_with_its_file_and_row() -> None:
    rows = made()
    task, worker, label = rows[2]
    write("parts/0.parquet", rows)
    write("parts/1.csv", [("t1", "w1", "dog"), (task, worker, "dog" if label != "dog" else "cat")])
    Path("parts/1.csv").rename("parts/later.csv")
    write("other/0.csv", rows)
    write("other/1.csv", [(task, worker, "dog" if label != "dog" else "cat")])
    error = refusal("other")
    assert error.field == "label (1.csv line 2)"
    assert f"Worker '{worker}' answered '{label}' to task '{task}' before (0.csv line 4)" in error.allowed
    assert "column 'task' of later.csv holds an entry of a CSV in each row, and needs a text, as in 0.parquet" in str(
        refusal("parts")
    )


def test_a_label_outside_the_answer_set_is_named_with_its_file_and_row() -> None:
    write("parts/0.parquet", made())
    write("parts/1.parquet", [("t1", "w1", "cat"), ("t2", "w1", "gnu")])
    parameters = {"epsilon": 2.0, "answer_sets": [["cat", "dog", "eel"]]}
    with refuses("label (1.parquet row 2)", "gnu"):
        resolved(parameters, "parts", repeats="first")


def test_a_column_that_no_file_has_is_asked_for() -> None:
    write("parts/0.parquet", made(), ("task", "workers", "label"))
    error = refusal("parts")
    assert (error.field, error.value) == ("column 'worker' of 0.parquet", "missing")
    assert error.allowed.endswith("(did you mean 'workers'?)")


def test_sets_of_answers_for_each_task_are_for_files_that_are_read_at_once() -> None:
    rows = made()
    table = {"task": [row[0] for row in rows], "worker": [row[1] for row in rows], "label": ["cat"] * len(rows)}
    parquet.write_table(pyarrow.table({**table, "answer_set": ["cat|dog"] * len(rows)}), "own.parquet")
    assert refusal("own.parquet").field == "column 'answer_set' of own.parquet"


def test_files_that_change_between_the_passes_are_refused() -> None:
    write("own.parquet", made())
    streamed = resolved({"epsilon": 2.0}, "own.parquet")
    write("own.parquet", [*made(), ("t99", "w1", "cat")])
    with pytest.raises(ConfigurationError, match="files are not to change while they are read"):
        run_session(streamed, seed=3)
