"""Manifests: a pass over large files is made once, and a file that has changed since is refused by its name."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios import Local, Streamed, load_scenario, resolve, run_session
from psephos.scenarios.reading import manifests
from psephos.scenarios.reading.batches import TableFiles
from runs import read_json

pyarrow: Any = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet: Any = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

Columns = dict[str, list[Any]]

TABLES: dict[str, tuple[str, str, dict[str, Any], Columns]] = {
    "dpwevote": (
        "partners",
        "file",
        {"candidates": ["roof"], "epsilon": 1.0, "public_weights": True},
        {"weight": [3, 1, 1, 2], "roof": ["yes", "no", "yes", "no"]},
    ),
    "fair-voting": (
        "voters",
        "file",
        {"epsilon": 1.0},
        {"group": ["b", "a", "a", "b"], "ranking": ["x > y", "y > x", "x > y", "x > y"]},
    ),
    "truth-discovery": (
        "workers",
        "answers",
        {"epsilon": 1.0},
        {"task": ["t1", "t2", "t1", "t2"], "worker": ["w", "w", "v", "u"], "label": ["cat", "dog", "dog", "dog"]},
    ),
    "moral-preferences": (
        "voters",
        "choices",
        {"epsilon": 1.0, "paradigm": "VLDP", "mechanism": "laplace"},
        {"voter": ["w", "w", "v", "v"], "record": [1, 1, 1, 1], "choice": [1, 0, 0, 1], "law": [0.5, 2.0, 1.0, 0.0]},
    ),
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()


def write(path: str, columns: Columns) -> None:
    parquet.write_table(pyarrow.table(columns), path)


def resolved(protocol: str = "truth-discovery", **more: Any) -> Local:
    role, key, parameters, _ = TABLES[protocol]
    content: dict[str, Any] = {"protocol": protocol, "name": "s", "seed": 3, "transport": "array"}
    content |= {"parameters": parameters, role: {key: "parts", "manifest": "m.json", **more}}
    Path("s.json").write_text(json.dumps(content))
    return resolve(load_scenario("s.json", ["synthetic=true"]))


def refusal(**more: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        resolved(**more)
    return str(caught.value)


@pytest.mark.parametrize("protocol", TABLES)
def test_a_pass_is_made_once_and_found_again(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = TABLES[protocol][3]
    write("parts/0.parquet", {name: entries[:2] for name, entries in columns.items()})
    write("parts/1.parquet", {name: entries[2:] for name, entries in columns.items()})
    first = resolved(protocol)
    kept = read_json("m.json")
    assert Path("m.json").stat().st_mode & 0o777 == 0o600
    assert [Path(each["path"]).name for each in kept["files"]] == ["0.parquet", "1.parquet"]
    assert all(each.keys() == {"path", "num_bytes", "modified"} for each in kept["files"])
    passes: list[str] = []
    read = TableFiles.batches

    def counted(files: TableFiles, names: Any, **pieces: Any) -> Any:
        passes.append(str(names))
        return read(files, names, **pieces)

    monkeypatch.setattr(TableFiles, "batches", counted)
    again = resolved(protocol)
    assert not passes
    assert isinstance(first, Streamed)
    assert isinstance(again, Streamed)
    assert again.protocol.parameters == first.protocol.parameters
    assert run_session(again, seed=3).outcome == run_session(first, seed=3).outcome


def test_what_is_true_is_kept_and_its_file_is_not_to_change_either() -> None:
    write("parts/0.parquet", TABLES["truth-discovery"][3])
    Path("truth.csv").write_text("task,truth\nt1,cat\n")
    first, again = (resolved(truth="truth.csv") for _ in range(2))
    assert first.gold == again.gold == {"t1": "cat"}
    Path("truth.csv").write_text("task,truth\nt1,cat\nt2,dog\n")
    assert "use the file of the manifest, of 18 bytes" in refusal(truth="truth.csv")


def test_a_file_that_has_changed_since_is_refused_by_name() -> None:
    table = TABLES["truth-discovery"][3]
    write("parts/0.parquet", table)
    write("parts/37.parquet", {name: entries[::-1] for name, entries in table.items()})
    resolved(repeats="first")
    found = Path("parts/37.parquet").stat()
    os.utime("parts/37.parquet", ns=(found.st_atime_ns, found.st_mtime_ns + 1))
    said = refusal(repeats="first")
    assert said.startswith("37.parquet is")
    assert said.count("\n") == 0
    Path("parts/37.parquet").unlink()
    assert "of files that are there" in refusal(repeats="first")
    assert "37.parquet" in refusal(repeats="first")
    write("parts/38.parquet", table)
    assert "use one that lists this file" in refusal(repeats="first")


def test_a_file_that_changes_while_it_is_read_leaves_no_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    write("parts/0.parquet", TABLES["truth-discovery"][3])
    read = TableFiles.batches

    def changing(files: TableFiles, names: Any) -> Any:
        yield from read(files, names)
        os.utime("parts/0.parquet", ns=(0, 0))

    monkeypatch.setattr(TableFiles, "batches", changing)
    assert "use the file of the manifest" in refusal()
    assert not Path("m.json").exists()


def test_a_manifest_of_other_settings_is_refused() -> None:
    write("parts/0.parquet", TABLES["truth-discovery"][3])
    resolved()
    assert "of these settings, and not of" in refusal(repeats="last")


@pytest.mark.parametrize(
    ("content", "said"), [("", "a whole one"), ("{}", "a whole one"), ('{"schema": 2', "a whole one")]
)
def test_what_is_no_manifest_is_refused(content: str, said: str) -> None:
    write("parts/0.parquet", TABLES["truth-discovery"][3])
    Path("m.json").write_text(content)
    assert said in refusal()


def test_a_manifest_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    write("parts/0.parquet", TABLES["truth-discovery"][3])
    resolved()
    monkeypatch.setattr(manifests, "_SCHEMA", 2)
    assert "Make it of schema 2" in refusal()


def test_a_manifest_that_cannot_be_written_is_said() -> None:
    write("parts/0.parquet", TABLES["truth-discovery"][3])
    assert "use a file in a folder that is there" in refusal(manifest="none/m.json")


def test_files_that_are_read_at_once_have_no_manifest() -> None:
    Path("one.csv").write_text("task,worker,label\nt1,w,cat\nt2,w,dog\n")
    assert refusal(answers="one.csv").startswith("leave out workers.manifest")
