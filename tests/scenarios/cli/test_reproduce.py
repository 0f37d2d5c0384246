"""`psephos reproduce`: options reach the experiments, and what is wrong is said before anything is written."""

from pathlib import Path
from typing import Any

import pytest
from bad_input import Psephos
from psephos.scenarios.experiments import reproductions
from psephos.scenarios.truth_discovery.data.synthetic import PeerGrading
from psephos.scenarios.truth_discovery.paper import runs

# Trials by default, what else there is to ask for, and how many trials there may be.
PAPERS: dict[str, tuple[int, dict[str, Any], str]] = {
    "dpwevote": (2_000, {}, "from 100 to 1,000,000"),
    "truth-discovery": (3_000, {"data": ""}, "from 10 to 100,000"),
    "moral-preferences": (100, {"workers": 0}, "from 10 to 50,000"),
    "fair-voting": (5_000, {"data": ""}, "from 10 to 20,000"),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the experiments were asked for; they are not made."""
    options: dict[str, Any] = {}

    def reproduce(paper: object, folder: object, **given: Any) -> None:
        del paper, folder
        given.pop("on_progress")
        assert not given.pop("settings")
        assert not given.pop("only")
        options.update(given)

    def show(*_: object) -> None:
        pass

    monkeypatch.setattr(reproductions, "reproduce", reproduce)
    monkeypatch.setattr(reproductions, "show_reproduction", show)
    return options


@pytest.mark.parametrize("paper", PAPERS)
def test_the_paper_s_numbers_are_the_default(
    psephos: Psephos, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, paper: str
) -> None:
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    ended = psephos("reproduce", paper, "--no-report")  # of what is not made
    assert (ended.status, ended.err) == (0, "")
    assert f"Everything is in runs/reproduce-{paper}-" in ended.out.replace("\\", "/")
    trials, others, _ = PAPERS[paper]
    assert asked == {"trials": trials, "seed": 1, "pictures": True, **others}


def test_the_folder_of_data_sets_is_named_or_the_variable_s(
    psephos: Psephos, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSEPHOS_DATA", "variable")
    for name in ("variable", "option"):
        Path(name).mkdir()
    for words, folder in (((), "variable"), (("--data", "option"), "option"), (("--data", ""), "")):
        psephos("reproduce", "truth-discovery", "--trials", 20, "--seed", 7, "--no-pictures", *words)
        assert asked == {"data": folder, "trials": 20, "seed": 7, "pictures": False}


@pytest.mark.parametrize("paper", PAPERS)
def test_what_cannot_be_run_is_refused_before_anything_is_written(psephos: Psephos, paper: str) -> None:
    _, others, allowed = PAPERS[paper]
    refusals: dict[tuple[object, ...], str] = {("--trials", 9): f"--trials is 9: use a value {allowed}"}
    if "data" in others:
        refusals["--data", "nowhere"] = "data is 'nowhere': use a folder of data sets"
    else:
        refusals["--data", "nowhere"] = "No such option"
    for words, error in refusals.items():
        assert error in psephos("reproduce", paper, "--out", "out", *words).refusal
        assert not Path("out").exists()


@pytest.mark.full("a reproduction more")
def test_without_data_sets_the_rest_is_made_and_says_why(psephos: Psephos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    monkeypatch.setattr(runs, "PEER_GRADING_STAND_IN", PeerGrading(groups=4, students=4, grades=2, quality=(0.8, 0)))
    fewer = ("--set", "prices.claimed=[2.0]", "--set", "prices.all answers=[2.0]", "--set", "prices.one answer=[2.0]")
    ended = psephos("reproduce", "truth-discovery", "--trials", 10, "--no-pictures", "--out", "out", *fewer)
    assert ended.status == 0
    assert "Table 2" in ended.err
    for shown in (
        "Table 2, peer grading (a made-up stand-in)",
        "no folder of data sets was named",
        "Everything is in out",
    ):
        assert shown in ended.out
    assert "Table 3, Duchenne" not in ended.out
    assert {path.suffix for path in Path("out").iterdir()} == {".csv", ".html", ".json", ".md"}


def test_a_table_that_no_paper_has_leaves_no_folder(psephos: Psephos) -> None:
    refusal = psephos("reproduce", "dpwevote", "--table", "cost").refusal
    assert "--table 'cost' is unknown: did you mean 'costs'?" in refusal
    assert not Path("runs").exists()
