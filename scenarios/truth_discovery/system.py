"""Truth discovery from crowd answers."""

from typing import Final

from ..system import System

_HERE: Final = __name__.rpartition(".")[0]

SYSTEM: Final = System(
    protocol="psephos.protocol.truth_discovery:TruthDiscovery",
    place=2,
    sources=f"{_HERE}.data.sources:SOURCES",
    own_entries=f"{_HERE}.data.own_answers:OWN_ANSWERS",
    data_sets=f"{_HERE}.data.parties:DATA_SETS",
    beginning=f"{_HERE}.draft:BEGINNING",
    presenters=f"{_HERE}.presentation:PRESENTERS",
    attack=f"{_HERE}.attack.inference:TruthDiscoveryAttack",
    estimates=f"{_HERE}.attack.estimates:estimates_of",
    mechanism_cases=f"{_HERE}.audit.answers:answer_cases",
    session_cases=f"{_HERE}.audit.sessions:truth_discovery_cases",
    sweeps=f"{_HERE}.audit.sessions:truth_discovery_climbs",
    details=f"{_HERE}.workers:workers_of",
    measures=f"{_HERE}.measures:TruthMeasures",
    variants=f"{_HERE}.variants:CrowdVariants",
    claims=f"{_HERE}.paper.claims:findings_on_truth_discovery",
    reproduction=f"{_HERE}.paper:PAPER",
    web_ballot=f"{_HERE}.web_ballot:ballot_form_of",
)
