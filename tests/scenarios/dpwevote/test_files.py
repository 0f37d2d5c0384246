"""A vote's outcome in files: no boolean and no word that contradicts the verdict, and old files read as before."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from psephos.protocol.dpwevote import Outcome
from psephos.scenarios.reports.comparison import compare_runs
from psephos.scenarios.running.reader import read_run
from runs import made, read_json

_UNDECIDED = "undecided, leaning yes"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdicts") / "run"
    made("consortium", folder)
    return folder


def test_an_undecided_vote_is_undecided_in_every_file(run: Path) -> None:
    for path in run.iterdir():
        assert not re.search(r"passed|too close", path.read_text(encoding="utf-8")), path.name
    (candidate,) = read_json(run / "result.json")["outcome"]["candidates"]
    assert candidate["verdict"]["verdict"] == _UNDECIDED
    assert candidate["leaning"] == "yes"
    assert f'"{_UNDECIDED}"' in (run / "estimates.csv").read_text(encoding="utf-8")


def test_runs_side_by_side_say_the_verdict_and_no_other_decision(run: Path, tmp_path: Path) -> None:
    made("consortium", tmp_path / "sure", "epsilon=30")
    cells = {
        row[1].words: [cell.words for cell in row[2:]] for row in compare_runs([run, tmp_path / "sure"]).estimates.cells
    }
    assert cells["Verdict"][0] == _UNDECIDED
    assert not {"Passed", "Leaning"} & cells.keys()


def test_a_file_is_read_as_the_message_that_it_is_of(run: Path) -> None:
    left = read_run(run)
    assert isinstance(left.outcome, Outcome)
    (candidate,) = left.outcome.candidates
    assert (candidate.decision, candidate.leans_yes, left.outcome.winners) == (_UNDECIDED, True, ())
    sent: dict[str, Any] = msgspec.to_builtins(left.outcome)
    assert sent["candidates"][0]["passed"] is True  # the bits of messages are what they were
    assert sent["candidates"][0]["verdict"]["verdict"] == "too close to tell"


def test_a_result_alone_is_read(run: Path, tmp_path: Path) -> None:
    left = read_run(run)
    (tmp_path / "result.json").write_bytes(
        msgspec.json.encode({"schema": 2, "protocol": "dpwevote", "outcome": msgspec.to_builtins(left.outcome)})
    )
    assert read_run(tmp_path).outcome == left.outcome
