"""Data sets in scenarios: where their folder is said, which there are, and the same result on every path."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.datasets import DataSet, data_set_of
from psephos.scenarios.system import load_each
from psephos.scenarios.truth_discovery.data.published import CROWDS
from runs import read_json, refusal, result_bytes

Psephos = Callable[..., Any]
Put = Callable[[str, str | bytes], Path]

TABLES = {
    "eu_council_weights": "treaty = 'EU-10'\nseed = 3",
    "imf_votes": "yes_shares = [0.7]",
    "un_general_assembly": "roll_call = 3\nabstentions = 'no'",
}
SHIPPED = {"eu-council-treaties": 15, "imf": 190, "un-roll-call": 159}


@pytest.fixture
def ballot(sets: Path) -> Callable[..., str]:
    """Writes a scenario beside the small folder, which it does not name unless told to."""

    def write(data: str, beginning: str = "") -> str:
        path = sets.parent / f"{data.replace('_', '-')}.toml"
        text = f"protocol = 'dpwevote'\nseed = 7\n{beginning}\n[partners]\ndata = '{data}'\n{TABLES[data]}\n"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_every_data_set_is_tried_here() -> None:
    """Crowds, choices and elections are tried by themselves."""
    of_choices = {"moral_machine_countries", "moral_machine_sample", "moral_trolley"}
    known: dict[str, Mapping[str, DataSet]] = dict(load_each("data_sets", Mapping))
    elections = set(known["fair-voting"])
    assert len(elections) == 5
    assert set(TABLES) | set(CROWDS) | of_choices | elections == {name for sets in known.values() for name in sets}


@pytest.mark.parametrize("data", list(TABLES))
def test_a_data_set_gives_the_same_result_on_every_path(ballot: Callable[..., str], tmp_path: Path, data: str) -> None:
    source = ballot(data)
    results = {
        result_bytes(source, tmp_path / path, f"data={tmp_path / 'sets'}", f"transport={path}")
        for path in ("memory", "tcp", "array")
    }
    assert len(results) == 1
    assert json.loads(results.pop())["truth"]


@pytest.mark.few(most=1)
@pytest.mark.parametrize("scenario", list(SHIPPED))
def test_a_shipped_scenario_gives_the_same_result_on_every_path(
    real_sets: Path, two_roll_calls: Path, tmp_path: Path, scenario: str
) -> None:
    data = two_roll_calls if scenario == "un-roll-call" else real_sets
    results = {
        result_bytes(scenario, tmp_path / path, f"data={data}", f"transport={path}")
        for path in ("memory", "tcp", "array")
    }
    (result,) = map(json.loads, results)
    assert result["num_parties"] == SHIPPED[scenario]
    for candidate in result["outcome"]["candidates"]:  # decided as it should be
        assert (candidate["leaning"] == "yes") == (result["truth"][candidate["name"]] >= result["truth"]["quota"])


@pytest.mark.parametrize("scenario", list(SHIPPED))
def test_without_a_folder_a_shipped_scenario_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch, psephos: Psephos, scenario: str
) -> None:
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    ended = psephos("run", scenario, "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert "name the folder" in ended.err
    assert "--data FOLDER or PSEPHOS_DATA" in ended.err
    assert re.search(r"[\d.]+ [kM]B, from (github.com|preflib.org)", ended.err)
    assert ended.err.count("\n") == 1
    Path("empty").mkdir()
    ended = psephos("run", scenario, "--data", "empty", "--out", "out")
    assert (ended.status, ended.out) == (2, "")
    assert re.search(r"a folder with a readable file .*; .*: [\d.]+ [kM]B, from ", ended.err)
    assert not Path("out").exists()
    assert load_scenario(scenario).description


def test_every_data_set_of_ours_says_where_it_is_from_and_how_large_it_is() -> None:
    for _, own in load_each("data_sets", Mapping):
        for name, data_set in own.items():
            assert re.fullmatch(r"[\d.]+ [kM]B, from .+", data_set.origin), name
            assert data_set_of(name) is data_set
    assert data_set_of("nothing") is None


def test_shipped_scenarios_are_listed_without_a_folder(monkeypatch: pytest.MonkeyPatch, psephos: Psephos) -> None:
    monkeypatch.delenv("PSEPHOS_DATA", raising=False)
    ended = psephos("scenarios")
    assert ended.status == 0
    assert all(name in ended.out for name in SHIPPED)
    assert "un_general_assembly: 3.0 MB, from github.com/dgrtwo/unvotes" in ended.out


def test_a_folder_named_in_a_file_is_found_beside_it(
    ballot: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = ballot("imf_votes", "data = 'sets'")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert len(resolve(load_scenario(source)).names) == 4


def test_a_folder_named_on_the_command_line_is_found_from_where_one_is(
    ballot: Callable[..., str], psephos: Psephos, tmp_path: Path
) -> None:
    source = ballot("imf_votes", "data = 'nowhere'")
    (tmp_path / "sets").rename(tmp_path / "2024")
    for number, words in enumerate((["--data", "2024"], ["--set", "data=./2024"])):
        ended = psephos("run", source, *words, "--no-pictures", "--out", f"out-{number}", "--json")
        assert ended.status == 0
        assert ended.err.startswith("  4 partners at ")
        assert json.loads(ended.out)["num_parties"] == 4


def test_the_environments_folder_is_used_where_nothing_else_is_said(
    ballot: Callable[..., str], sets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PSEPHOS_DATA", str(sets))
    resolved = resolve(load_scenario(ballot("imf_votes")))
    assert (len(resolved.names), resolved.scenario.data) == (4, str(sets))
    assert resolve(load_scenario("eu-council")).scenario.data == ""
    assert "nowhere/imf_votes" not in refusal(ballot("imf_votes"), "data=nowhere").allowed
    assert refusal(ballot("imf_votes"), "data=nowhere").value == "nowhere"


@pytest.mark.few(most=1)
@pytest.mark.parametrize("data", list(TABLES))
def test_a_runs_scenario_runs_again_from_its_own_folder(
    ballot: Callable[..., str], psephos: Psephos, sets: Path, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    source = ballot(data)
    monkeypatch.setenv("PSEPHOS_DATA", str(sets))
    first = psephos("run", source, "--no-pictures", "--out", "runs/first", "--json")
    monkeypatch.delenv("PSEPHOS_DATA")
    kept = read_json("runs/first/scenario.json")
    assert kept["data"] == "../../sets"
    assert kept["parties"]["data"] == data
    again = psephos("run", "runs/first/scenario.json", "--seed", "7", "--no-pictures", "--out", "again", "--json")
    assert (again.status, again.out) == (0, first.out)


def test_in_a_rerun_another_treaty_brings_its_own_weights_and_quota(
    ballot: Callable[..., str], psephos: Psephos, sets: Path
) -> None:
    psephos("run", ballot("eu_council_weights"), "--data", sets, "--no-pictures", "--out", "first")
    resolved = resolve(load_scenario("first/scenario.json", ["treaty=EU-28"]))
    assert len(resolved.names) == 28
    assert resolved.protocol.parameters.quota == 260


def test_a_data_set_that_is_none_is_refused_with_a_hint(ballot: Callable[..., str], sets: Path) -> None:
    error = refusal(ballot("imf_votes"), f"data={sets}", "partners.data=imf_vote")
    assert (error.field, error.value) == ("partners.data", "imf_vote")
    assert "one of eu_council_weights, imf_votes, un_general_assembly (did you mean 'imf_votes'?)" in error.allowed
    assert refusal(ballot("imf_votes"), "partners.data=5").field == "partners.data"


def test_a_data_set_of_another_protocol_is_refused(survey: str, sets: Path) -> None:
    path = sets.parent / "sum.toml"
    path.write_text("protocol = 'bounded-total'\n[surveyors]\ndata = 'imf_votes'\n", encoding="utf-8")
    error = refusal(str(path), f"data={sets}")
    assert (error.field, error.value) == ("surveyors.data", "imf_votes"), survey
    assert "this one is for protocol 'dpwevote'" in error.allowed


def test_a_state_that_stands_twice_is_named_with_both_lines(
    ballot: Callable[..., str], sets: Path, put_set: Put
) -> None:
    put_set("imf_votes/votes.csv", "country,vote_percentage\nAlpha3,50\nBeta,25\nAlpha,25\n")
    error = refusal(ballot("imf_votes"), f"data={sets}")
    assert error.field == "partner (votes.csv line 4)"
    assert "line 2" in error.allowed


def test_a_weight_outside_a_scenarios_own_set_is_named_with_its_line(ballot: Callable[..., str], sets: Path) -> None:
    error = refusal(ballot("imf_votes"), f"data={sets}", "weights=[10.24, 12.25, 51]")
    assert error.field == "weight (votes.csv line 3, Beta)"


def test_the_truth_of_what_is_public_record_is_shown_in_simulations_alone(
    ballot: Callable[..., str], sets: Path
) -> None:
    source = ballot("un_general_assembly")
    assert resolve(load_scenario(source, [f"data={sets}"])).may_show_truth
    assert not resolve(load_scenario(source, [f"data={sets}", "noise=secure"])).may_show_truth


def test_a_file_of_values_that_are_public_record_shows_its_truth_too(write: Put) -> None:
    write("mine.csv", "partner,weight,m\nann,1,1\nbob,3,0\n")
    write("other.csv", "partner,weight,m\ncid,1,1\ndee,3,0\n")
    text = 'protocol = "dpwevote"\nsynthetic = false\npublic_record = true\npartners = "mine.csv"\n'
    path = write("b.toml", text)
    assert resolve(load_scenario(str(path))).may_show_truth
    assert not resolve(load_scenario(str(path), ["noise=secure"])).may_show_truth
    other = load_scenario(str(path), [f"partners={path.parent / 'other.csv'}"])
    assert not other.public_record
    assert not resolve(other).may_show_truth


def test_another_data_set_takes_title_and_record_with_it(ballot: Callable[..., str]) -> None:
    source = ballot("imf_votes", "title = 'A vote'\npublic_record = true")
    for setting in ("partners.data=eu_council_weights", "parties={data='eu_council_weights', treaty='EU-10'}"):
        scenario = load_scenario(source, [setting])
        assert (scenario.title, scenario.public_record) == ("", False)
    assert load_scenario(source, ["yes_shares=[0.1]"]).title == "A vote"
