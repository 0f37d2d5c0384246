"""Scenarios from Python: all that a run leaves, in memory, the same as from the command line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from bad_input import Psephos
from psephos.protocol import ConfigurationError, QuorumError, View
from psephos.protocol.dpwevote import Outcome
from psephos.scenarios import RunFolder, RunResult, load, load_scenario, read_ledger, resolve, run, run_in_folder
from psephos.scenarios.verdicts import outcome_to_dict
from runs import read_json

SMALL: Mapping[str, object] = {"partners.count": 12}
COALITION = {"role": "coalition", "members": ["server", "partner-2..12"], "target": "partner-1"}


def in_notebook(value: Any) -> str:
    """Return what a notebook shows of an object."""
    return value._repr_html_()


def test_a_run_leaves_outcome_ledger_views_and_findings() -> None:
    left = run(load("sybil", SMALL, adversary=[COALITION]))
    assert left.to_frame()["candidate"].tolist() == ["Charter"]
    assert len(left.ledger) == 24  # a weight and an opinion of each
    assert [view.party for view in left.views][:2] == ["cloud-server", "partner-1"]
    assert [finding.role for finding in left.findings] == ["coalition"]
    assert left.folder is None


def test_every_part_has_a_frame() -> None:
    left = run(load("sybil", SMALL, adversary=[COALITION]))
    ledger = left.ledger.to_frame()
    assert (ledger["person"][0], ledger["model"][0], ledger["proven"].sum()) == ("partner-1", "local", 24.0)
    views = left.views.to_frame()
    assert {"sent", "received"} <= set(views["happening"])
    assert len(views) == sum(len(view.observations) for view in left.views)
    findings = left.findings.to_frame()
    assert set(findings["role"]) == {"coalition"}
    assert len(findings) == len(left.findings[0].rows)
    assert isinstance(left.outcome, Outcome)
    assert left.outcome.to_frame()["support"].tolist() == left.to_frame()["support"].tolist()
    assert "true_support" in left.to_frame()  # nobody real stands behind these parties


def test_it_is_the_run_of_the_command_line(tmp_path: Path) -> None:
    finished = run_in_folder(resolve(load_scenario("consortium", ["partners.count=20"])), RunFolder(tmp_path))
    left = run(load("consortium", {"count": 20}))
    assert msgspec.json.encode(left.outcome) == msgspec.json.encode(finished.record.outcome)
    assert list(left.ledger) == read_ledger(tmp_path)


@pytest.mark.parametrize("transport", ["array", "memory"])
def test_the_transport_changes_nothing_of_the_outcome(transport: str) -> None:
    scenario = load("consortium", {"count": 20})
    assert run(scenario, transport=transport, seed=3).outcome == run(scenario, seed=np.int64(3)).outcome


def test_another_seed_draws_other_noise() -> None:
    scenario = load("consortium", {"count": 20})
    assert run(scenario, transport="array", seed=3).outcome != run(scenario, transport="array", seed=4).outcome


def test_a_folder_is_written_only_where_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("eu-council")
    assert list(tmp_path.iterdir()) == []
    left = run("eu-council", out=tmp_path / "out", transport="array")
    assert left.folder == tmp_path / "out"
    result = read_json(tmp_path / "out" / "result.json")
    assert result["outcome"] == json.loads(msgspec.json.encode(outcome_to_dict(left.outcome)))
    assert not (tmp_path / "out" / "private").exists()  # views were seen here, and are written only on request


def test_no_views_where_nobody_wants_any() -> None:
    assert len(run("eu-council", views=False).views) == 0
    assert len(run("eu-council", transport="array").views) == 0
    assert len(run(load("eu-council", noise="secure")).views) == 0


def test_an_adversary_sees_what_nobody_keeps() -> None:
    left = run(load("sybil", SMALL, adversary=[COALITION]), views=False)
    assert (len(left.views), len(left.findings)) == (0, 1)


def test_what_adversaries_learnt_of_a_failed_run_is_among_the_notes() -> None:
    table = {"role": "drop-out", "members": ["partner-1"], "phase": "weights"}
    with pytest.raises(QuorumError) as caught:
        run(load("sybil", SMALL, adversary=[table]))
    assert any(note.startswith("drop-out, ") for note in caught.value.__notes__)


def test_a_streamed_survey_has_its_losses() -> None:
    left = run(load("moral-machine", {"voters.voters": 40, "voters.stream": True, "transport": "array"}))
    assert sum(entry.num_persons for entry in left.ledger) == 40
    assert left.truth is None


def test_a_text_says_what_came_of_it_and_what_was_lost() -> None:
    left = run(load("sybil", SMALL, adversary=[]))
    said = str(left)
    assert "Charter" in said
    assert (
        "12 persons lost at most ε = 2 each: proven for replace-one neighbors in the local model (units: weight and "
        in said
    )
    assert str(left.findings) == "There was no adversary."
    assert "private" in str(left.views)


def test_a_loss_that_holds_against_a_semi_honest_server_alone_says_so_in_every_form(
    tmp_path: Path, psephos: Psephos
) -> None:
    left = run(load("consortium-masked", {"count": 1_100, "threshold": 1_001, "colluders": 0}), out=tmp_path / "m")
    run(load("consortium", {"count": 20}), out=tmp_path / "l")
    assert "in the distributed model, semi-honest server only (" in str(left.ledger)
    written = read_json(tmp_path / "m" / "result.json")
    assert written["privacy"]["person"]["against"].endswith(" as the session states (semi-honest server only)")
    told = psephos("compare", tmp_path / "m", tmp_path / "l")
    assert "against a server that follows the protocol" in " ".join(told.out.split())


def test_one_exact_line_shows_neither_seed_nor_values() -> None:
    scenario = load("eu-council", seed=987654321)
    assert "987654321" not in repr(scenario)
    line = repr(run(scenario))
    assert line.startswith("RunResult('eu-council', Outcome(candidates=<3 CandidateOutcome>, ")
    assert line.endswith("<losses: 81>, <views: 28>, <findings: 0>)")
    assert "987654321" not in line


def test_a_notebook_shows_names_as_they_are_written() -> None:
    rows = pd.DataFrame({"partner": ["<b>ann</b>", "bob"], "weight": [1, 1], "<script>x</script>": [1, 0]})
    scenario = load("consortium", partners=rows, candidates=["<script>x</script>"])
    left = run(scenario)
    shown = "".join(map(in_notebook, (left, left.outcome, left.ledger, left.views)))
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;x" in shown
    assert "&lt;b&gt;ann" in shown


def test_parties_may_be_a_frame_or_rows() -> None:
    rows = [{"partner": name, "weight": 1, "pool": vote} for name, vote in (("ann", 1), ("bob", 0), ("eve", 1))]
    own = {"candidates": ["pool"], "seed": 1, "noise": "simulated"}
    framed = run(load("consortium", own, partners=pd.DataFrame(rows)))
    assert framed.outcome == run(load("consortium", own, partners=rows)).outcome
    assert framed.truth is None  # these may be real


def test_settings_may_be_of_numpy_and_paths(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("partner,weight,pool\nann,1,1\nbob,2,0\n", encoding="utf-8")
    own = {"weights": np.array([1, 2]), "epsilon": np.float64(0.5), "candidates": ("pool",), "seed": np.int64(1)}
    own |= {"noise": "simulated"}
    as_text = ["weights=[1, 2]", "epsilon=0.5", "candidates=['pool']", "seed=1", "noise=simulated"]
    expected = run(load_scenario("consortium", [f"partners={file}", *as_text])).outcome
    assert run(load("consortium", own, partners=file)).outcome == expected


@pytest.mark.bad_input("an unknown scenario, key or transport")
def test_what_is_wrong_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"setting 'epsilom' is unknown: did you mean 'epsilon'"):
        load("sybil", epsilom=1)
    with pytest.raises(ConfigurationError, match=r"settings is 'epsilon': set it once"):
        load("sybil", {"epsilon": 1}, epsilon=2)
    with pytest.raises(ConfigurationError, match=r"settings is an int: use values by key, as \{'epsilon': 1\}"):
        load("sybil", 5)  # pyright: ignore[reportArgumentType]  as somebody may write
    with pytest.raises(ConfigurationError, match=r"views (is|are) .*True or False"):
        run("eu-council", views="no")  # pyright: ignore[reportArgumentType]  as somebody may write
    with pytest.raises(ConfigurationError, match=r"did you mean 'sybil'"):
        load("sybill")
    with pytest.raises(ConfigurationError, match=r"seed is a str: use an integer"):
        run("eu-council", seed="7")  # pyright: ignore[reportArgumentType]  as somebody may write
    for nothing, kind in (({"ann": "yes"}, "a dict"), (3, "an int"), (None, "a NoneType")):
        with pytest.raises(ConfigurationError, match=rf"scenario is {kind}: use a shipped scenario"):
            run(nothing)  # pyright: ignore[reportArgumentType]  as somebody may write
    for out in (3, b"x", "a\0b", "runs/\ud800"):
        with pytest.raises(ConfigurationError, match=r"out (is|are) .*a folder's path"):
            run("eu-council", out=out)  # pyright: ignore[reportArgumentType]  as somebody may write
    with pytest.raises(ConfigurationError, match=r"seed is a bool: use an integer"):
        run("eu-council", seed=True)
    with pytest.raises(ConfigurationError, match=r"pigeon"):
        run("eu-council", transport="pigeon")
    with pytest.raises(ConfigurationError, match=r"transport (is|are) .*text"):
        run("eu-council", transport=3)  # pyright: ignore[reportArgumentType]  as somebody may write


def test_a_part_is_a_sequence() -> None:
    views = run("eu-council").views
    assert isinstance(views[0], View)
    assert list(views[1:3]) == list(views)[1:3]
    assert isinstance(run("eu-council"), RunResult)
