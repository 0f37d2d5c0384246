"""What a scenario says once and all follows: whom it trusts, and that many parties are computed by arrays."""

from pathlib import Path
from typing import Any

import pytest
from bad_input import refuses
from psephos.protocol.dpwevote import Outcome
from psephos.protocol.errors import ConfigurationError
from psephos.protocol.privacy import TrustModel
from psephos.protocol.truth_discovery import TruthDiscovery
from psephos.scenarios.running.config import Scenario, load_scenario
from psephos.scenarios.running.resolution import MOST_BY_AGENTS, resolve, resolve_served
from psephos.scenarios.running.run import run_in_memory
from psephos.scenarios.running.turnout import Turnout

BOTH = [
    ("consortium", {"variant": "central"}, {"variant": "joint"}),
    ("two-societies", {"mechanism": "laplace"}, {"mechanism": "local"}),
    ("moral-synthetic", {"paradigm": "VLCP"}, {"paradigm": "VLDP"}),
    ("crowd", {"mechanism": "central"}, {"mechanism": "one_layer"}),
]


def scenario_of(name: str, *settings: str, without: tuple[str, ...] = ()) -> Scenario:
    scenario = load_scenario(name, settings)
    for key in without:
        scenario.parameters.pop(key, None)
    return scenario


def vote_of(number: int, **given: Any) -> Scenario:
    partners = {"count": number, "weight_shares": [0.5, 0.3, 0.2], "yes_shares": [0.5]}
    parameters = {"candidates": ["a"], "weights": [1, 2, 3], "variant": "central"}
    return Scenario(name="many", protocol="dpwevote", parameters=parameters, parties=partners, seed=1, **given)


@pytest.mark.parametrize(("name", "central", "local"), BOTH)
@pytest.mark.parametrize("model", [TrustModel.LOCAL, TrustModel.CENTRAL])
def test_parameters_follow_the_trust_that_is_asked_for(
    name: str, central: dict[str, str], local: dict[str, str], model: TrustModel
) -> None:
    settings = central if model is TrustModel.CENTRAL else local
    scenario = scenario_of(name, f"trust={model.value}", without=tuple(settings))
    resolved = resolve(scenario)
    assert resolved.protocol.model is model
    assert resolve_served(scenario).protocol.model is model
    for key, value in settings.items():
        assert str(getattr(resolved.protocol.parameters, key)) in {value, f"Paradigm.{value}"}
    assert (scenario.model, scenario.trust_note) == (model, "")


def test_the_best_of_a_model_gives_way_to_the_trust_that_is_asked_for() -> None:
    assert resolve(scenario_of("consortium", "trust=central", "variant=auto")).protocol.parameters.variant == "central"
    local = resolve(scenario_of("consortium", "trust=local", "variant=auto", "partners.count=9"))
    assert local.protocol.model is TrustModel.LOCAL


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("consortium", ["trust=local", "variant=central"], "'central', as variant = 'central' has it"),
        ("consortium", ["trust=central", "variant=joint"], "'local', as variant = 'joint' has it"),
        ("canteen", ["trust=local"], "'central', as mechanism = 'sampling' has it"),
        ("peer-grading", ["trust=central"], "'local', as mechanism = 'two_layer' has it"),
    ],
)
def test_another_trust_than_the_parameters_have_is_refused(name: str, settings: list[str], said: str) -> None:
    with refuses("trust", said=said):
        resolve(scenario_of(name, *settings))


def test_a_protocol_of_one_model_has_nothing_to_say_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TruthDiscovery, "settings_by_trust", ())
    with pytest.raises(ConfigurationError, match="leave out trust: truth-discovery has one model of trust"):
        resolve(scenario_of("crowd", "trust=central"))


@pytest.mark.parametrize("word", ["centrl", "Central", "nobody"])
def test_a_word_that_is_no_model_of_trust_is_refused(word: str) -> None:
    with pytest.raises(ConfigurationError, match=f"trust is '{word}': use .*local.*central.*or a text"):
        load_scenario("trusted-count", [f"trust={word}"])


def test_a_text_about_trust_stays_a_text() -> None:
    scenario = load_scenario("sybil")
    assert scenario.model is None
    assert scenario.trust_note == scenario.trust != ""


def test_many_parties_are_computed_by_arrays_and_it_is_said() -> None:
    few, many = resolve(vote_of(MOST_BY_AGENTS)), resolve(vote_of(MOST_BY_AGENTS + 1))
    assert (few.scenario.transport, few.note) == ("memory", "")
    assert many.scenario.transport == "array"
    assert many.note.startswith("More than 10,000 partners are computed by arrays")
    finished = run_in_memory(many)
    assert isinstance(finished.record.outcome, Outcome)
    assert finished.record.outcome.num_partners == MOST_BY_AGENTS + 1


@pytest.mark.parametrize(
    "given",
    [{"transport": "memory"}, {"network": {"loss": 0.01}}, {"adversary": [{"role": "averaging-attacker", "votes": 2}]}],
)
def test_many_parties_stay_agents_where_somebody_needs_them(given: dict[str, Any]) -> None:
    assert resolve(vote_of(MOST_BY_AGENTS + 1, **given)).scenario.transport == "memory"


def test_recorded_votes_stay_agents_and_those_of_a_series_are_as_any_other() -> None:
    assert resolve(vote_of(MOST_BY_AGENTS + 1), record=True).scenario.transport == "memory"
    for number, transport in ((MOST_BY_AGENTS, "memory"), (MOST_BY_AGENTS + 1, "array")):
        assert resolve(vote_of(number), turnout=Turnout()).scenario.transport == transport


def test_a_file_may_name_whom_it_trusts(tmp_path: Path) -> None:
    path = tmp_path / "board.toml"
    path.write_text(
        'protocol = "dpwevote"\ntrust = "central"\npartners = "board.csv"\n[parameters]\nweights = [1, 2]\n',
        encoding="utf-8",
    )
    (tmp_path / "board.csv").write_text("partner,weight,roof\na,1,yes\nb,2,no\n", encoding="utf-8")
    assert resolve(load_scenario(str(path))).protocol.trusts_server
