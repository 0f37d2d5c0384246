"""DPWeVote: weighted yes/no voting."""

from typing import Final

from ..system import System

_HERE: Final = __name__.rpartition(".")[0]

SYSTEM: Final = System(
    protocol="psephos.protocol.dpwevote:DPWeVote",
    place=1,
    sources=f"{_HERE}.data.parties:SOURCES",
    data_sets=f"{_HERE}.data:DATA_SETS",
    beginning=f"{_HERE}.draft:BEGINNING",
    file_form=f"{_HERE}.files:FILE_FORM",
    presenters=f"{_HERE}.presentation:PRESENTERS",
    attack=f"{_HERE}.attack.inference:DPWeVoteAttack",
    estimates=f"{_HERE}.attack.estimates:estimates_of",
    asking=f"{_HERE}.attack.asking:WEIGHTS",
    session_cases=f"{_HERE}.audit.sessions:dpwevote_cases",
    sweeps=f"{_HERE}.audit.sessions:dpwevote_climbs",
    claims=f"{_HERE}.paper.claims:findings_on_dpwevote",
    forecasts=f"{_HERE}.forecasts:forecasts_of",
    variants=f"{_HERE}.variants:VoteVariants",
    measures=f"{_HERE}.measures:VoteMeasures",
    reproduction=f"{_HERE}.paper:PAPER",
    web_ballot=f"{_HERE}.web_ballot:ballot_form_of",
    commands={"power": f"{_HERE}.commands:power"},
)
