"""Published moral choices as the voters of a moral preferences session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...datasets.loading import DataSet
from ...reading.sources import PartiesTable
from .moral_machine import read_moral_machine
from .parties import OwnEpsilons, as_voters
from .trolley import read_trolley

__all__ = ["DATA_SETS", "MoralChoices"]


class MoralChoices(OwnEpsilons, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a scenario may choose in published choices.

    Args:
        min_records: voters with fewer are dropped and counted.
        groups: see `OwnEpsilons`.
        epsilons: see `OwnEpsilons`.
    """

    min_records: int = 1


def _load_machine(options: MoralChoices, folder: Path, parameters: Mapping[str, Any]) -> PartiesTable:
    del parameters
    survey = read_moral_machine(folder / "moral_machine_sample.csv", min_records=options.min_records, field="data")
    # Whoever publishes choices lets everybody know them.
    return as_voters(survey, options, is_public_record=True)


def _load_trolley(options: MoralChoices, folder: Path, parameters: Mapping[str, Any]) -> PartiesTable:
    del parameters
    path = folder / "Shared_data_responses_demographics.csv"
    survey = read_trolley(path, min_records=options.min_records, field="data")
    return as_voters(survey, options, is_public_record=True)


DATA_SETS: Final[Mapping[str, DataSet]] = {
    "moral_machine_sample": DataSet(MoralChoices, _load_machine, "github.com/Lossfunk/modeling-moral-machine", 180_044),
    "moral_trolley": DataSet(MoralChoices, _load_trolley, "github.com/rodolfoamancio/trolley_problem", 3_132_997),
}
"""By the name of the folder that holds it."""
