"""What a data set is: where its parties come from, what may be chosen, how its files are read.

A file is read as it was published, and refused, with its line, where it is not what it should be.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...protocol.phases import PhasedProtocol
from ..running.loaded import Loaded

__all__ = ["DataSet", "Loaded"]


@dataclasses.dataclass(frozen=True)
class DataSet:
    """One data set: how its parties are chosen and read.

    Args:
        protocol: whose parties they can be.
        options: a struct; what a scenario may choose.
        load: returns the parties, of the options, the data set's own folder and the scenario's parameters, which have
            not been checked.
    """

    protocol: type[PhasedProtocol[Any, Any]]
    options: type[msgspec.Struct]
    load: Callable[[Any, Path, Mapping[str, Any]], Loaded]
