"""What a folder states of privacy is held against its own ledger, log and votes: a number that is changed is found."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import left_behind
import pytest
import quoting
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.running.folder import RunFolder
from psephos.scenarios.running.run import run_in_folder
from psephos.scenarios.running.series import load_series
from psephos.scenarios.running.series_run import resolve_series, run_series

VOTE = """
protocol = "dpwevote"
synthetic = true
seed = 5
transport = "memory"
partners = [{partner = "ann", weight = 3, merger = 1}, {partner = "bob", weight = 2, merger = 0}]
"""
PARAMETERS = '[parameters]\ncandidates = ["merger"]\nepsilon = 1.0\n'
SERIES = """budget = 2.0
budget_period = "1 week"
budget_in_all = 2.0
votes = [{at = 2026-01-01, "parameters" = {epsilon = 0.5}}, {at = 2026-01-09}]
"""
HIDDEN = """
protocol = "fair-voting"
synthetic = true
seed = 5
transport = "memory"
voters = [{voter = "ann", group = "north", ranking = "a > b"}, {voter = "bob", group = "south", ranking = "b > a"}]
[parameters]
alternatives = ["a", "b"]
mechanism = "laplace"
relation = "add-remove-one"
epsilon = 1.0
"""


def changes_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where positive numbers stand in what JSON has."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, list):
        value = dict(enumerate(cast("list[Any]", value)))
    if isinstance(value, dict):
        for key, each in cast("dict[Any, Any]", value).items():
            yield from changes_of(each, (*path, key))
    elif value > 0:
        yield path


def changed(value: Any, path: tuple[Any, ...], factor: float) -> Any:
    copied = json.loads(json.dumps(value))
    *way, last = path
    part = copied
    for key in way:
        part = part[key]
    part[last] *= factor
    return copied


def stated_in(file: str, content: Any) -> list[tuple[Any, ...]]:
    """Return where a file states what must agree with others: ε, and the certainty that it allows."""
    if file == "run.json":
        about = content["about"]
        told = [("about", "proven"), ("about", "prices", "replaced"), ("about", "prices", "participation")]
        told += [("about", name) for name in ("threshold", "colluders") if name in about]
        known = [*changes_of({"about": about})]
        return [path for path in told if path in known]
    return [path for path in changes_of(content["privacy"], ("privacy",)) if path[-1] in {"proven", "certainty"}]


def check_each_change(folder: Path) -> None:
    assert left_behind.fault_of(folder) == ""
    for file in ("run.json", "result.json"):
        right = (folder / file).read_bytes()
        content = json.loads(right)
        paths = [path for path in stated_in(file, content) if "part" not in path]
        assert paths
        for path in paths:
            for factor in (0.5, 2):
                (folder / file).write_text(json.dumps(changed(content, path, factor)), encoding="utf-8")
                assert left_behind.fault_of(folder), (file, path, factor)
        (folder / file).write_bytes(right)
    lines = (folder / "ledger.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "ledger.jsonl").write_bytes(b"".join(lines[1:]))
    assert left_behind.fault_of(folder)
    (folder / "ledger.jsonl").write_bytes(b"".join(lines))
    quoting.begin()


def test_each_statement_of_a_session_is_held_against_the_others(tmp_path: Path) -> None:
    for number, text in enumerate((VOTE + PARAMETERS, HIDDEN)):
        scenario = tmp_path / "vote.toml"
        scenario.write_text(text, encoding="utf-8")
        folder = RunFolder(tmp_path / str(number))
        run_in_folder(resolve(load_scenario(str(scenario), ())), folder, pictures=False)
        check_each_change(folder.path)
        events = folder.path / "events.jsonl"
        *_, last = (line for line in events.read_text().splitlines() if "privacy_loss" in line)
        loss = json.loads(last)
        loss["total"] = 0.9 * loss["total"]
        events.write_text(events.read_text().replace(last, json.dumps(loss)))
        assert "total" in left_behind.fault_of(folder.path)


def test_each_statement_of_a_series_is_held_against_its_votes(tmp_path: Path) -> None:
    scenario = tmp_path / "votes.toml"
    scenario.write_text(SERIES + VOTE + PARAMETERS, encoding="utf-8")
    series = load_series(str(scenario))
    folder = RunFolder(tmp_path / "run")
    run_series(series, resolve_series(series), folder, pictures=False)
    check_each_change(folder.path)
    table = folder.path / "losses.csv"
    right = table.read_text(encoding="utf-8")
    assert "1.5" in right
    for wrong in (right.replace("1.5", "1.0"), right.replace(",0.5\n", ",1.0\n")):
        table.write_text(wrong, encoding="utf-8")
        assert "losses.csv" in left_behind.fault_of(folder.path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("result.json", {"received": {"rankings": 2}}, "counts who took part"),
        ("run.json", {"traffic": []}, "counts messages"),
        ("events.jsonl", {"event": "party_dropped", "peer": "ann"}, "events.jsonl has ['peer']"),
        ("events.jsonl", {"event": "phase_closed", "received": 2}, "events.jsonl has ['received']"),
    ],
)
def test_a_server_that_counts_who_takes_part_in_private_is_found(
    tmp_path: Path, name: str, content: dict[str, Any], said: str
) -> None:
    about: dict[str, Any] = {"phases": [{"name": "rankings", "hides_participation": True, "losses": []}]}
    (tmp_path / "run.json").write_text(json.dumps({"about": about}), encoding="utf-8")
    assert left_behind.fault_of(tmp_path) == ""
    before = {"about": about} if name == "run.json" else {}
    (tmp_path / name).write_text(json.dumps(before | content), encoding="utf-8")
    assert said in left_behind.fault_of(tmp_path)
    shutil.rmtree(tmp_path)
