"""Runs: the same result on every path, and what is true shown only of parties that nobody is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bad_input import refuses
from psephos.protocol import ConfigurationError, QuorumError
from psephos.protocol.effects import Closed, Effect
from psephos.scenarios import RunFolder, load_scenario, read_ledger, resolve, run_in_folder, run_session
from psephos.scenarios.running.record import SessionObservers
from runs import read_json, read_lines, result_bytes

PATHS = ("memory", "tcp", "array")


@pytest.mark.few(most=4)
@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("variant=printed",),
        ("variant=laplace",),
        ("public_weights=true",),
        ("weight_collection=per_candidate", "candidates=['a', 'b']", "yes_shares=[0.3, 0.6]"),
        ("project_counts=true", "round=3", "groups=[[1, 2], [3]]"),
    ],
)
def test_result_json_is_the_same_file_on_every_path(tmp_path: Path, settings: tuple[str, ...]) -> None:
    results = {
        result_bytes("consortium", tmp_path / path, "count=40", f"transport={path}", *settings) for path in PATHS
    }
    assert len(results) == 1


def test_another_round_draws_other_noise(tmp_path: Path) -> None:
    first, second = (result_bytes("consortium", tmp_path / n, "count=40", f"round={n}") for n in "12")
    assert json.loads(first)["tallies"] != json.loads(second)["tallies"]


def test_result_json_says_what_was_decided_and_what_it_cost(tmp_path: Path) -> None:
    result = json.loads(result_bytes("eu-council", tmp_path / "out", "transport=array"))
    assert result["session"] == "eu-council"
    assert (result["protocol"], result["kind"], result["num_parties"]) == ("dpwevote", "simulation", 27)
    assert result["received"] == {"opinions": 27}
    assert result["privacy"] == {
        "person": {
            "claimed": 9.0,
            "proven": 9.0,
            "relation": "replace-one",
            "certainty": pytest.approx(0.99988, abs=1e-5),
            "against": "everyone else, even if all of them collude",
        },
        "relation": ["replace-one"],
        "model": ["local"],
    }
    names = [candidate["name"] for candidate in result["outcome"]["candidates"]]
    assert names == ["Fishing quotas", "Rail corridors", "Data act"]
    assert sum(map(sum, result["tallies"][0][0])) == 27
    assert result["truth"]["Fishing quotas"] == 219.0


def test_without_a_seed_every_run_draws_another(tmp_path: Path, write: Callable[[str, str], Path]) -> None:
    text = 'protocol = "dpwevote"\n[parameters]\ncandidates = ["m"]\n[partners]\ncount = 300\n'
    path = str(write("ballot.toml", text))
    first, second = (json.loads(result_bytes(path, tmp_path / n, "transport=array"))["tallies"] for n in "12")
    assert first != second


def test_the_truth_of_synthetic_parties_is_shown(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "out")
    resolved = resolve(load_scenario("consortium", ["count=30"]))
    finished = run_in_folder(resolved, folder, pictures=False)
    assert finished.truth == resolved.protocol.truth(resolved.inputs)
    assert read_json(folder.path / "result.json")["truth"] == finished.truth
    assert "true_support" in (folder.path / "estimates.csv").read_text(encoding="utf-8")
    assert finished.seconds > 0


@pytest.mark.parametrize(
    "settings",
    [
        ["noise=secure"],  # as in a deployment, which shows nothing of anybody
        ["synthetic=false", "noise=simulated"],
        ["partners=[{partner = 'ann', weight = 3, m = 1}]", "quota=2"],  # other people than the scenario speaks of
    ],
)
def test_the_truth_of_people_who_may_be_real_is_not_shown(tmp_path: Path, settings: list[str]) -> None:
    folder = RunFolder(tmp_path / "out")
    finished = run_in_folder(resolve(load_scenario("eu-council", settings)), folder, pictures=False)
    assert finished.truth is None
    assert "truth" not in read_json(folder.path / "result.json")


def test_the_truth_of_a_file_is_not(tmp_path: Path, write: Callable[[str, str], Path]) -> None:
    table = write("mine.csv", "partner,weight,m\nann,1,1\nbob,3,0\n")
    folder = RunFolder(tmp_path / "out")
    finished = run_in_folder(resolve(load_scenario("consortium", [f"partners={table}"])), folder)
    assert finished.truth is None
    assert "truth" not in read_json(folder.path / "result.json")
    assert "true" not in (folder.path / "estimates.csv").read_text(encoding="utf-8")
    assert "truth" not in (folder.path / "estimates.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["quota", "total weight"])
def test_a_candidate_with_a_name_that_the_truth_needs_is_refused(name: str) -> None:
    scenario = load_scenario("consortium", [f"candidates=['{name}', 'other']", "yes_shares=[0.9, 0.1]"])
    with pytest.raises(ConfigurationError, match="other than") as caught:
        resolve(scenario)
    assert (caught.value.field, caught.value.value) == ("candidates", name)


@pytest.mark.parametrize("setting", ["transport=array", "noise=secure"])
def test_what_cannot_be_recorded_is_refused(setting: str) -> None:
    scenario = load_scenario("consortium", ["count=5", setting])
    with refuses("--record"):
        resolve(scenario, record=True)


def test_secure_noise_draws_anew_every_time() -> None:
    resolved = resolve(load_scenario("consortium", ["count=60", "noise=secure"]))
    first, second = (run_session(resolved, seed=1) for _ in range(2))
    assert [tally.totals.tolist() for tally in first.tallies] != [tally.totals.tolist() for tally in second.tallies]


def test_a_budget_reaches_every_partner(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "out")
    run_in_folder(resolve(load_scenario("consortium", ["count=3", "budget=1.25"])), folder, pictures=False)
    events = read_lines(folder.events)
    left = [event["remaining"] for event in events if event["event"] == "privacy_loss"]
    assert sorted(left) == [0.25] * 3 + [0.75] * 3


def test_a_run_that_fails_leaves_its_scenario_and_its_events(tmp_path: Path, survey: str) -> None:
    text = 'protocol = "bounded-total"\nsurveyors = [{ surveyor = "ann", value = 5 }, { surveyor = "bob", value = 8 }]'
    (tmp_path / "sum.toml").write_text(text, encoding="utf-8")
    resolved = resolve(load_scenario(str(tmp_path / "sum.toml"), ["deadline_seconds=0.05"]))
    module: Any = __import__(survey)

    async def stay_away(_self: object, channel: Any) -> None:
        await channel.aclose()

    module.Surveyor.take_part = stay_away
    folder = RunFolder(tmp_path / "out")
    with pytest.raises(QuorumError, match="ann, bob"):
        run_in_folder(resolved, folder)
    assert {path.name for path in folder.path.iterdir()} == {
        "scenario.json",
        "events.jsonl",
        "ledger.jsonl",
        "run.json",
    }
    failure = read_json(folder.path / "run.json")["failure"]
    assert failure["error"] == "QuorumError"
    assert "ann, bob" in failure["reason"]
    assert read_ledger(folder.path) == []  # nobody joined, so that nobody paid
    last = json.loads(folder.events.read_bytes().splitlines()[-1])
    assert (last["event"], last["level"]) == ("session_failed", "warning")


def test_run_json_says_how_and_with_what(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "out")
    run_in_folder(resolve(load_scenario("consortium", ["count=5"])), folder, pictures=False)
    run = read_json(folder.path / "run.json")
    assert (run["transport"], run["noise"], run["parties_without_outcome"]) == ("memory", "simulated", {})
    assert set(run) >= {"seconds", "psephos", "numpy"}


@pytest.mark.bad_input("Ctrl-C on either side")
def test_an_interrupted_run_leaves_what_was_paid(tmp_path: Path) -> None:
    def interrupt(effect: Effect) -> None:
        if isinstance(effect, Closed) and effect.phase == "weights":
            raise KeyboardInterrupt

    for path, num_paid in (("memory", 3), ("array", 2)):
        folder = RunFolder(tmp_path / path)
        resolved = resolve(load_scenario("consortium", ["count=3", f"transport={path}"]))
        with pytest.raises(BaseException) as caught:  # noqa: PT011  a group over agents
            run_in_folder(resolved, folder, observers=SessionObservers(listener=interrupt))
        assert isinstance(caught.value, (KeyboardInterrupt, BaseExceptionGroup))
        assert len(read_ledger(folder.path)) == num_paid
        assert read_json(folder.path / "run.json")["failure"]["error"] == "KeyboardInterrupt"


def test_a_recording_says_what_each_private_number_is_for(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "out")
    run_in_folder(resolve(load_scenario("consortium", ["count=3"]), record=True), folder, pictures=False)
    recorded = read_json(folder.path / "private" / "simulation.json")
    assert recorded["columns"] == ["weights", "opinions", "not reported"]
