"""Every protocol here has its attack; another's is attacked by its reports."""

import importlib

import pytest
from psephos.scenarios import load_scenario, resolve
from psephos.scenarios.attacks import ReportAttack, find_attack


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


def test_a_protocol_without_an_attack_has_what_the_reports_tell(survey: str) -> None:
    module = importlib.import_module(survey)
    attack = find_attack(module.BoundedTotal(module.Bounds()))
    assert isinstance(attack, ReportAttack)
    assert attack.secrets == ("row",)
