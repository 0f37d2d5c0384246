"""Published crowds as the workers of a truth discovery session."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...datasets.loading import DataSet
from ...reading.sources import PartiesTable
from .parties import as_parties
from .published import CROWDS, PublishedCrowd

__all__ = ["DATA_SETS"]


def _data_set(name: str, crowd: PublishedCrowd) -> DataSet:
    def load(options: Any, folder: Path, parameters: Mapping[str, Any]) -> PartiesTable:
        del parameters
        # Whoever publishes answers lets everybody know them.
        return as_parties(crowd.load(options, folder), source=name, is_public_record=True)

    return DataSet(options=crowd.options, load=load)


DATA_SETS: Final[Mapping[str, DataSet]] = {name: _data_set(name, crowd) for name, crowd in CROWDS.items()}
