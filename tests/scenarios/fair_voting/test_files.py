"""An election's outcome in files: whether its winner is confirmed, in the words of every page."""

from pathlib import Path

import pytest
from psephos.protocol.fair_voting import Outcome
from psephos.scenarios.running.reader import read_run
from runs import made, read_json, read_rows


@pytest.mark.parametrize(("epsilon", "verdict"), [("0.01", "undecided"), ("20", "confirmed")])
def test_a_winner_has_one_verdict_in_all_files(tmp_path: Path, epsilon: str, verdict: str) -> None:
    _, finished = made("two-features", tmp_path / "run", f"epsilon={epsilon}")
    outcome = finished.record.outcome
    assert isinstance(outcome, Outcome)
    written = read_json(tmp_path / "run" / "result.json")["outcome"]
    assert written["assurance"]["verdict"] == verdict
    rows = read_rows(tmp_path / "run" / "estimates.csv")
    assert {row["alternative"]: row["verdict"] for row in rows if row["wins"] == "1"} == {outcome.winner: verdict}
    assert {row["verdict"] for row in rows if row["wins"] == "0"} == {""}
    assert all("too close" not in path.read_text(encoding="utf-8") for path in (tmp_path / "run").iterdir())
    assert read_run(tmp_path / "run").outcome == outcome
