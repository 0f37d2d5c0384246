"""Moral preferences for decisions that a machine takes."""

from typing import Final

from ..system import System

_HERE: Final = __name__.rpartition(".")[0]

SYSTEM: Final = System(
    protocol="psephos.protocol.moral_preferences:MoralPreferences",
    place=3,
    sources=f"{_HERE}.data.sources:SOURCES",
    own_entries=f"{_HERE}.data.own_records:OWN_RECORDS",
    data_sets=f"{_HERE}.data.published_choices:DATA_SETS",
    beginning=f"{_HERE}.draft:BEGINNING",
    presenters=f"{_HERE}.presentation:PRESENTERS",
    attack=f"{_HERE}.attack.inference:MoralAttack",
    estimates=f"{_HERE}.attack.estimates:estimates_of",
    mechanism_cases=f"{_HERE}.audit.objective:moral_cases",
    session_cases=f"{_HERE}.audit.sessions:moral_preferences_cases",
    sweeps=f"{_HERE}.audit.sessions:moral_preferences_climbs",
    claims=f"{_HERE}.paper.claims:findings_on_moral_preferences",
    variants=f"{_HERE}.variants:PreferenceVariants",
    measures=f"{_HERE}.measures:PreferenceMeasures",
    reproduction=f"{_HERE}.paper:PAPER",
    commands={"decide": f"{_HERE}.commands:decide"},
)
