"""Runs side by side: what differs is told, what means something else is refused."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from bad_input import Psephos
from runs import read_json

SMALL = ("--set", "count=20", "--no-pictures", "--transport", "array")


SPOILED: dict[str, dict[str, dict[str, object]]] = {
    "plans": {"result.json": {"protocol": "another"}},
    "series": {"result.json": {"series": "series", "outcome": None}},
    "failed": {"result.json": {"outcome": None}},
}
"""What is changed in copies of a run's folder."""


def hold(psephos: Psephos, name: str, *settings: str, scenario: str = "consortium") -> None:
    """Run a small vote."""
    words = [word for setting in settings for word in ("--set", setting)]
    ended = psephos("run", scenario, *SMALL, *words, "--no-report", "--out", name, "--seed", "7")
    assert ended.status == 0, ended.err


def test_runs_stand_side_by_side_with_what_differs(psephos: Psephos) -> None:
    hold(psephos, "one")
    hold(psephos, "four", "epsilon=4")
    ended = psephos("compare", "one", "four", "--out", "both.csv")
    assert (ended.status, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    assert ["ε", "proven", "1", "4"] in lines
    assert ["parameters.epsilon", "1.0", "4.0"] in lines
    assert sum(line[:3] == ["joint", "data", "space"] for line in lines) >= 3
    assert "parameters.count" not in ended.out  # which both have


def test_a_file_has_each_number_of_each_run(psephos: Psephos) -> None:
    hold(psephos, "one")
    hold(psephos, "four", "epsilon=4")
    assert psephos("compare", "one", "four", "--out", "both.csv").status == 0
    with Path("both.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    (margin,) = [row for row in rows if row["what"] == "Margin"]
    for name in ("one", "four"):
        assert " ± " in margin[name]
    assert {row["four"] for row in rows if (row["table"], row["of"]) == ("prices", "ε proven")} == {"4.0"}
    assert {row["four"] for row in rows if (row["table"], row["of"]) == ("settings", "parameters.epsilon")} == {"4.0"}
    said = psephos("compare", "one", "four", "--out", "both.csv")
    assert (said.status, said.out.count("both.csv")) == (2, 0)
    assert "is there already. Name a new file" in said.err


def test_runs_of_one_scenario_differ_in_nothing_but_their_noise(psephos: Psephos) -> None:
    for name in ("one", "two", "three"):
        hold(psephos, name)
    ended = psephos("compare", "one", "two", "three")
    assert ended.status == 0
    assert "The scenarios have the same settings." in ended.out


@pytest.mark.bad_input("runs that cannot be compared")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("one",), "Name another run to compare one with."),
        (("one", "one"), "You named one twice"),
        (("one", "plans"), "Only runs of one protocol can be compared. one is of 'dpwevote'"),
        (("one", "series"), "a single run"),
        (("one", "failed"), "a run with an outcome (No outcome: the folder has none.)"),
        (("one", "nowhere"), "There is no folder 'nowhere'"),
    ],
)
def test_what_cannot_be_compared_is_refused(psephos: Psephos, words: tuple[str, ...], said: str) -> None:
    hold(psephos, "one")
    for name, changes in SPOILED.items():
        shutil.copytree("one", name)
        for file, change in changes.items():
            path = Path(name, file)
            path.write_text(json.dumps({**read_json(path), **change}), encoding="utf-8")
    assert said in psephos("compare", *words, "--out", "both.csv").refusal
    assert not Path("both.csv").exists()


def test_a_large_loss_is_never_said_to_allow_certainty(psephos: Psephos) -> None:
    hold(psephos, "low")
    hold(psephos, "high", "epsilon=9")
    said = psephos("compare", "low", "high", "--out", "both.csv").out
    (line,) = [line.split() for line in said.splitlines() if line.startswith("certainty")]
    assert line == ["certainty", "at", "most", "73.2", "%", "99.988", "%"]


def test_what_all_runs_share_is_said_once(psephos: Psephos) -> None:
    for name in ("one", "two"):
        hold(psephos, name, 'candidates=["Storage", "Compute", "Network"]', "yes_shares=[0.6, 0.5, 0.7]")
    said = psephos("compare", "one", "two", "--out", "both.csv").out
    assert said.count("level 0.05") == said.count("The same in all lines: ") == 1
    lines = [line for line in said.splitlines() if line.startswith(("Storage", "Compute", "Network"))]
    assert not any("Level" in line for line in lines)
    assert sum("Margin" in line for line in lines) == 3
