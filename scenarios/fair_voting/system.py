"""Fair and private voting rules."""

from typing import Final

from ..system import System

_HERE: Final = __name__.rpartition(".")[0]

SYSTEM: Final = System(
    protocol="psephos.protocol.fair_voting:FairVoting",
    place=4,
    sources=f"{_HERE}.data.parties:SOURCES",
    own_entries=f"{_HERE}.data.own_ranking:OWN_RANKING",
    data_sets=f"{_HERE}.data.published_elections:DATA_SETS",
    beginning=f"{_HERE}.draft:BEGINNING",
    file_form=f"{_HERE}.files:FILE_FORM",
    presenters=f"{_HERE}.presentation:PRESENTERS",
    attack=f"{_HERE}.attack.inference:FairVotingAttack",
    mechanism_cases=f"{_HERE}.audit.mechanisms:mechanism_cases",
    session_cases=f"{_HERE}.audit.sessions:fair_voting_cases",
    sweeps=f"{_HERE}.audit.sessions:fair_voting_climbs",
    claims=f"{_HERE}.paper.claims:findings_on_fair_voting",
    variants=f"{_HERE}.variants:ElectionVariants",
    plan=f"{_HERE}.variants:WelfareErrors",
    measures=f"{_HERE}.measures:ElectionMeasures",
    reproduction=f"{_HERE}.paper:PAPER",
    web_ballot=f"{_HERE}.web_ballot:ballot_form_of",
)
