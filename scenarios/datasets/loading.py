"""What a data set is: where its parties come from, what may be chosen, how its files are read.

A file is read as it was published, and refused, with its line, where it is not what it should be.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..reading.sources import PartiesTable

__all__ = ["DataSet"]


@dataclasses.dataclass(frozen=True)
class DataSet:
    """One data set: how its parties are chosen and read.

    Args:
        options: a struct; what a scenario may choose.
        load: returns the parties, of the options, the data set's own folder and the scenario's parameters, which have
            not been checked.
    """

    options: type[msgspec.Struct]
    load: Callable[[Any, Path, Mapping[str, Any]], PartiesTable]
