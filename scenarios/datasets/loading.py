"""What a data set is: where its parties come from, what may be chosen, how its files are read.

A file is read as it was published, and refused, with its line, where it is not what it should be.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from ..reading.sources import PartiesTable

__all__ = ["DataSet"]

_KILO: Final = 1_000
_MEGA: Final = 1_000_000


@dataclasses.dataclass(frozen=True)
class DataSet:
    """One data set: how its parties are chosen and read."""

    options: type[msgspec.Struct]  # a struct; what a scenario may choose
    # Returns the parties, of the options, the data set's own folder and the scenario's parameters, which have not been
    # checked.
    load: Callable[[Any, Path, Mapping[str, Any]], PartiesTable]
    source: str = ""  # where it is published, as people find it
    num_bytes: int = 0  # how large its files are together

    @property
    def origin(self) -> str:
        """Where it is from and how large it is, as words; empty where nobody has said."""
        size = _size(self.num_bytes) if self.num_bytes else ""
        return ", ".join(part for part in (size, f"from {self.source}" if self.source else "") if part)


def _size(num_bytes: int) -> str:
    """Return a size with its unit."""
    return f"{num_bytes / _MEGA:.1f} MB" if num_bytes >= _MEGA else f"{max(1, round(num_bytes / _KILO))} kB"
