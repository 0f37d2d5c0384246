"""Published moral choices as the voters of a moral preferences session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...datasets import DataSet
from ...reading.sources import PartiesTable
from .cultures import CountryVoters, read_countries
from .moral_machine import read_moral_machine
from .parties import OwnEpsilons, OwnSocieties, survey_to_parties
from .privacy_groups import PrivacyGroups
from .responses import VOTER
from .trolley import RESPONDENT, read_trolley


class MoralChoices(OwnSocieties, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a scenario may choose in published choices; groups and epsilons are those of `OwnEpsilons`."""

    min_records: int = 1  # voters with fewer are dropped and counted
    groups: PrivacyGroups | None = None
    epsilons: str = ""

    @property
    def own(self) -> OwnEpsilons:
        """Where voters' own ε are from."""
        return OwnEpsilons(groups=self.groups, epsilons=self.epsilons)


class Countries(CountryVoters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a scenario may choose of voters who are made up by countries' published effects."""

    groups: PrivacyGroups | None = None  # see `OwnEpsilons`


def _load_machine(options: MoralChoices, folder: Path, _: Mapping[str, Any]) -> PartiesTable:
    path = folder / "moral_machine_sample.csv"
    survey = read_moral_machine(path, min_records=options.min_records, field="data")
    survey = options.divide(survey, path, voter=VOTER)
    # Whoever publishes choices lets everybody know them.
    return survey_to_parties(survey, options.own, is_public_record=True)


def _load_trolley(options: MoralChoices, folder: Path, _: Mapping[str, Any]) -> PartiesTable:
    path = folder / "Shared_data_responses_demographics.csv"
    survey = read_trolley(path, min_records=options.min_records, field="data")
    return survey_to_parties(options.divide(survey, path, voter=RESPONDENT), options.own, is_public_record=True)


def _load_countries(options: Countries, folder: Path, _: Mapping[str, Any]) -> PartiesTable:
    return survey_to_parties(
        read_countries(folder / "CountriesChangePr.csv", options), OwnEpsilons(groups=options.groups)
    )


DATA_SETS: Final[Mapping[str, DataSet]] = {
    "moral_machine_countries": DataSet(
        Countries, _load_countries, "github.com/asdzxc000115/Moral-Machine-Analysis", 44864
    ),
    "moral_machine_sample": DataSet(MoralChoices, _load_machine, "github.com/Lossfunk/modeling-moral-machine", 180_044),
    "moral_trolley": DataSet(MoralChoices, _load_trolley, "github.com/rodolfoamancio/trolley_problem", 3_132_997),
}
"""By the name of the folder that holds it."""
