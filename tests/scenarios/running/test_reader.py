"""A run's folder, read again: typed where it is whole, said where it is old or unfinished, refused where it is not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from bad_input import refuses
from psephos.protocol.dpwevote import Outcome
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.moral_preferences.decisions import read_outcome
from psephos.scenarios.reading.files import MAX_FILE_BYTES
from psephos.scenarios.running.config import load_scenario
from psephos.scenarios.running.folder import SCHEMA, RunFolder, read_ledger
from psephos.scenarios.running.reader import read_run
from psephos.scenarios.running.resolution import Local, resolve
from psephos.scenarios.running.run import run_in_folder
from psephos.scenarios.running.statements import trust_in, trust_of
from psephos.scenarios.verdicts import outcome_to_dict
from runs import read_json


def made() -> Local:
    """Return a small vote."""
    return resolve(load_scenario("consortium", ["count=20", "transport=array"]))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that is whole."""
    path = tmp_path_factory.mktemp("whole") / "out"
    run_in_folder(made(), RunFolder(path), pictures=False)
    return path


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """Return a copy of it, to be spoiled."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a file of JSON has."""
    read = read_json(path)
    change(read)
    path.write_text(json.dumps(read), encoding="utf-8")


def test_what_a_run_wrote_is_read_typed(whole: Path) -> None:
    left = read_run(whole)
    resolved = made()
    assert (left.kind, left.is_deployment) == ("run", False)
    assert isinstance(left.outcome, Outcome)
    written = read_json(whole / "result.json")
    assert json.loads(msgspec.json.encode(outcome_to_dict(left.outcome))) == written["outcome"]
    assert written["schema"] == read_json(whole / "run.json")["schema"] == SCHEMA
    assert left.about is not None
    assert " ".join(trust_of(left.about)) == trust_in(resolved.protocol)
    assert [phase.name for phase in left.about.phases] == [phase.name for phase in resolved.protocol.phases]
    assert left.entries is not None
    assert {entry.num_persons for entry in left.entries} == {len(resolved.names)}


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
def test_a_folder_of_a_run_that_was_killed_is_read_without_an_outcome(folder: Path) -> None:
    for name in ("run.json", "result.json", "estimates.csv", "ledger.jsonl"):
        (folder / name).unlink()
    left = read_run(folder)
    assert (left.run, left.result, left.outcome, left.entries) == (None, None, None, None)


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("run.json", b'{"seconds": 1', ("run.json is damaged",)),
        ("run.json", b"[]", ("run.json is damaged",)),
        ("scenario.json", b"", ("scenario.json is not empty: it was cut short as it was written. Repeat the command",)),
        ("run.json", b"\xff\xfe", ("run.json is damaged",)),
        ("run.json", b'{"schema": 2, "seconds": "long"}', ("run.json.seconds", "a number or left out")),
        (
            "result.json",
            b'{"schema": 2, "protocol": "dpwevote", "outcome": {"candidates": 3}}',
            ("outcome of protocol",),
        ),
        ("result.json", b"[" * 100_000, ("result.json is damaged",)),
        ("scenario.json", b'{"parameters": "many"}', ("scenario.json.parameters", "a table")),
        ("scenario.json", b'{"network": [1]}', ("scenario.json.network", "a table or left out")),
        ("ledger.jsonl", b'{"person": "a"}\n', ("ledger.jsonl line 1",)),
        ("adversaries.json", b'[{"role": 1}]', ("adversaries.json is damaged",)),
        ("run.json", b"{}", ("run.json needs the key 'schema'",)),
        ("run.json", b'{"schema": 1}', ("run.json: This Psephos reads schema 2, and this file has 1. Use",)),
        ("run.json", b'{"schema": 99}', ("run.json: This Psephos reads schema 2, and this file has 99",)),
        ("result.json", b'{"schema": 3}', ("result.json: This Psephos reads schema 2, and this file has 3",)),
    ],
)
def test_a_damaged_folder_and_one_of_a_later_version_are_refused_by_file(
    folder: Path, name: str, content: bytes, words: tuple[str, ...]
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(ConfigurationError) as refused:
        read_run(folder)
    for word in words:
        assert word in str(refused.value)


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
@pytest.mark.parametrize("name", ["estimates.csv", "result.json", "ledger.jsonl", "estimates.svg"])
def test_a_folder_whose_files_lead_out_of_it_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "salaries").write_text("name,salary\nann,9\n", encoding="utf-8")
    (folder / "private").mkdir()
    (folder / "private" / "values").write_text("name,value\nann,1\n", encoding="utf-8")
    for target in (own / "salaries", folder / "private" / "values"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)
        with pytest.raises(ConfigurationError, match=f"{name} leads to"):
            read_run(folder)


def test_a_folder_may_be_a_link_itself(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert read_run(tmp_path / "link").outcome is not None


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
def test_a_file_that_is_too_large_is_refused_unread(folder: Path) -> None:
    with (folder / "estimates.csv").open("r+b") as file:
        file.truncate(MAX_FILE_BYTES + 1)  # sparse: no disk is used
    with pytest.raises(ConfigurationError, match="all of it has to fit into memory"):
        read_run(folder)


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
def test_what_is_no_folder_of_a_run_is_refused(tmp_path: Path, whole: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    for path in (tmp_path / "photos", tmp_path / "missing", whole / "run.json"):
        with refuses("RUN"):
            read_run(path)


def test_an_outcome_of_a_protocol_that_is_not_installed_is_said_to_be_one(folder: Path) -> None:
    edit(folder / "result.json", lambda result: result.update(protocol="somebody-elses"))
    left = read_run(folder)
    assert left.outcome is None
    assert "somebody-elses' is not installed here" in left.missing_protocol


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
def test_a_ledger_is_read_beside_a_damaged_run_json_and_not_from_a_later_version(folder: Path) -> None:
    whole = read_ledger(folder)
    for content in (b"{", b"\xff", b'{"a":' + b"[" * 100_000):
        (folder / "run.json").write_bytes(content)
        assert read_ledger(folder) == whole
    (folder / "run.json").unlink()
    assert read_ledger(folder) == whole
    (folder / "run.json").write_bytes(b'{"schema": 3}')
    with pytest.raises(ConfigurationError, match="Use the Psephos that wrote it"):
        read_ledger(folder)


@pytest.mark.bad_input("a run's folder that is unfinished, damaged, of another kind, or of a later version")
def test_decisions_are_not_read_from_a_later_version(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"schema": 3, "protocol": "moral-preferences", "outcome": {}}')
    with pytest.raises(ConfigurationError, match=r"result\.json: .* this file has 3"):
        read_outcome(tmp_path)
