"""Every protocol here has its attack; of another's nothing is pretended."""

import importlib

import pytest
from psephos.protocol import ConfigurationError
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.attacks import find_attack


@pytest.mark.parametrize(
    ("scenario", "name"),
    [
        ("consortium", "DPWeVoteAttack"),
        ("crowd", "TruthDiscoveryAttack"),
        ("moral-synthetic", "MoralAttack"),
        ("two-societies", "FairVotingAttack"),
    ],
)
def test_a_protocol_s_attack_is_found_by_its_name(scenario: str, name: str) -> None:
    protocol = resolve(load_scenario(scenario)).protocol
    attack = find_attack(protocol)
    assert type(attack).__name__ == name
    assert attack.protocol is protocol
    assert attack.secrets


def test_a_protocol_without_an_attack_is_refused_with_those_that_have_one(survey: str) -> None:
    module = importlib.import_module(survey)
    with pytest.raises(ConfigurationError, match="dpwevote, fair-voting, moral-preferences, truth-discovery") as caught:
        find_attack(module.BoundedTotal(module.Bounds()))
    assert (caught.value.field, caught.value.value) == ("protocol", "bounded-total")
