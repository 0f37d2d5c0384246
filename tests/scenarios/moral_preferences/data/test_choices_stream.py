"""Surveys of files of any size: the bits of one CSV that is read at once, and what is wrong said with file and row."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from bad_input import refused_by
from makers import as_usual
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, Streamed, load_scenario, resolve, run_session
from psephos.scenarios.moral_preferences.data import streams
from psephos.scenarios.reading import batches, columns, grouping

pyarrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

NAMES = ("voter", "record", "choice", "lives", "law")
Rows = list[tuple[str, str, int, float, float]]

PARAMETERS: dict[str, dict[str, Any]] = {
    "VLDP": {"paradigm": "VLDP", "mechanism": "direction"},
    "RLDP": {"paradigm": "RLDP", "mechanism": "laplace"},
    "VLCP": {"paradigm": "VLCP", "mechanism": "laplace"},
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batches, "_ROWS", 7)
    monkeypatch.setattr(columns, "_ROWS", 7)
    monkeypatch.setattr(grouping, "_PART_BYTES", 900)
    monkeypatch.setattr(streams, "BATCH_VOTERS", 2)


def made() -> Rows:
    draw = random.Random(4)
    rows = [
        (f"w{voter}", str(record), choice, round(draw.uniform(-2, 2), 3), float(draw.randint(0, 3)))
        for voter in range(17)
        for record in range(draw.randint(1, 5))
        for choice in (0, 1)
    ]
    draw.shuffle(rows)
    return rows


def write(path: str, rows: Rows, names: tuple[str, ...] = NAMES) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    if path.endswith(".parquet"):
        columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
        parquet.write_table(pyarrow.table(columns), path, row_group_size=20)
    else:
        Path(path).write_text("".join(",".join(map(str, row)) + "\n" for row in [names, *rows]))


def resolved(choices: str, parameters: dict[str, Any] | None = None, **more: Any) -> Local:
    own = {"epsilon": 1.0, "bound": 1.0, **(parameters or PARAMETERS["RLDP"])}
    content = {
        "protocol": "moral-preferences",
        "name": "m",
        "seed": 3,
        "noise": "simulated",
        "transport": "array",
        "parameters": own,
    }
    Path("m.json").write_text(json.dumps({**content, "voters": {"choices": choices, **more}}))
    return resolve(load_scenario("m.json"))


refusal = as_usual(refused_by, resolved)


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_files_have_the_bits_of_one_that_is_read_at_once(name: str, end: str) -> None:
    rows = made()
    write("all.csv", rows)
    for number, (start, stop) in enumerate([(0, 11), (11, 12), (12, len(rows))]):
        write(f"parts/{number}.{end}", rows[start:stop])
    at_once, streamed = resolved("all.csv", PARAMETERS[name]), resolved(f"parts/*.{end}", PARAMETERS[name])
    assert isinstance(streamed, Streamed)
    assert not isinstance(at_once, Streamed)
    assert streamed.protocol.parameters == at_once.protocol.parameters
    ours, theirs = run_session(streamed, seed=3), run_session(at_once, seed=3)
    assert list(ours.tallies) == list(theirs.tallies)
    assert ours.outcome == theirs.outcome
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["all.csv", "m.json", "parts"]


def test_one_csv_comes_in_batches_where_that_is_asked_for() -> None:
    write("all.csv", made())
    streamed = resolved("all.csv", stream=True)
    assert isinstance(streamed, Streamed)
    assert run_session(streamed, seed=3).outcome == run_session(resolved("all.csv"), seed=3).outcome


@pytest.mark.parametrize("end", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ((("w1", "x", 1, 0.5, 1.0),), "1.{end} {word} {first}", "1 line, 1 of them chosen"),
        (
            (("w1", "x", 1, 0.5, 1.0), ("w1", "x", 1, 0.5, 1.0)),
            "1.{end} {word} {first}",
            "2 lines, 2 of them chosen (also {word} {second})",
        ),
        ((("w1", "x", 7, 0.5, 1.0),), "choice (1.{end} {word} {first})", "7"),
        ((("w1", "x", 1, 0.5, 1e301),), "law (1.{end} {word} {first})", "1e+301"),
    ],
)
def test_a_wrong_row_is_named_with_its_file(end: str, change: Any, field: str, value: str) -> None:
    write(f"parts/0.{end}", made())
    write(f"parts/1.{end}", [*made()[:0], *change])
    first = {"parquet": 1, "csv": 2}[end]
    words = {"end": end, "word": "row" if end == "parquet" else "line", "first": first, "second": first + 1}
    error = refusal("parts")
    assert (error.field, str(error.value)) == (field.format(**words), value.format(**words))


def test_a_column_that_is_missing_is_asked_for() -> None:
    write("own.parquet", made(), ("voters", *NAMES[1:]))
    error = refusal("own.parquet")
    assert (error.field, error.value) == ("column 'voter' of own.parquet", "missing")
    assert error.allowed.endswith("(did you mean 'voters'?)")


def test_a_name_that_names_nobody_is_refused() -> None:
    write("own.parquet", [("w\n1", *row[1:]) for row in made()[:1]])
    assert refusal("own.parquet").field == "voter (own.parquet row 1)"


def test_files_that_change_between_the_passes_are_refused() -> None:
    write("own.parquet", made())
    streamed = resolved("own.parquet")
    write(
        "own.parquet", [*made(), *(("w1", f"x{record}", choice, 0.0, 1.0) for record in range(6) for choice in (0, 1))]
    )
    with pytest.raises(ConfigurationError, match="files are not to change while they are read"):
        run_session(streamed, seed=3)
