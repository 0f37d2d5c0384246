"""Published data sets as parties of a scenario.

Data sets are not part of Psephos; you download them. The folder of data sets has a subfolder for each, under its name
here. A scenario names a data set instead of a generator (`data = "imf_votes"`), with the data set's options. Each
system declares the data sets of its protocol. Files are read as they were published. A file with an unexpected content
is refused, and the error names the line.
"""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from ...protocol.errors import ConfigurationError, list_choices, require
from ...protocol.phases import PhasedProtocol
from ..reading.conversion import convert
from ..reading.sources import PartiesTable
from ..system import load_each, part_of

__all__ = ["DATA_VARIABLE", "DataSet", "data_set_of", "load_data_set"]

DATA_VARIABLE: Final = "PSEPHOS_DATA"
"""The environment variable for the folder of data sets."""

_KILO: Final = 1_000
_MEGA: Final = 1_000_000


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A data set: its options, and how to read parties from it."""

    options: type[msgspec.Struct]  # a struct of the options that a scenario may set
    # Returns the parties, from the options, the data set's folder and the scenario's unchecked parameters.
    load: Callable[[Any, Path, Mapping[str, Any]], PartiesTable]
    source: str = ""  # where it is published
    num_bytes: int = 0  # total size of its files

    @property
    def origin(self) -> str:
        """Its source and size, as a phrase; empty if unknown."""
        size = _size(self.num_bytes) if self.num_bytes else ""
        return ", ".join(part for part in (size, f"from {self.source}" if self.source else "") if part)


def _size(num_bytes: int) -> str:
    """Return a size with its unit."""
    return f"{num_bytes / _MEGA:.1f} MB" if num_bytes >= _MEGA else f"{max(1, round(num_bytes / _KILO))} kB"


def load_data_set(
    options: Mapping[str, Any], *, folder: str, parameters: Mapping[str, Any], protocol: type[PhasedProtocol[Any, Any]]
) -> PartiesTable:
    """Return the parties of a data set.

    Args:
        options: the data set's name, as `data`, and its options in the scenario.
        folder: the folder of all data sets; empty if not given.
        parameters: the scenario's parameters, unchecked.

    Raises:
        ConfigurationError: there is no such data set, or not for this protocol; an option is not allowed; the folder is
            unknown; a file cannot be read, or has an unexpected content.
    """
    word = f"{protocol.client_role}s"
    name: str = convert(options["data"], str, f"{word}.data")
    fitting: Mapping[str, DataSet] = part_of(protocol, "data_sets", Mapping) or {}
    if name not in fitting:
        owners = [system for system, own in load_each("data_sets", Mapping) if name in own]
        allowed = list_choices(fitting, name)
        if owners:
            allowed = f"another data set: this one is for protocol {owners[0]!r}"
        raise ConfigurationError(field=f"{word}.data", value=name, allowed=allowed)
    data_set = fitting[name]
    converted_options = convert({key: value for key, value in options.items() if key != "data"}, data_set.options, word)
    origin = f" ({data_set.origin})" if data_set.origin else ""
    allowed = (
        f"Get the data set {name!r}{origin} first, and name the folder that holds {name}/ by --data FOLDER or "
        f"{DATA_VARIABLE}."
    )
    require(folder, "data", "nothing", allowed)
    own = Path(folder) / name
    try:
        return data_set.load(converted_options, own, parameters)
    except ConfigurationError as error:
        if own.is_dir() or error.field != "data" or not origin:
            raise
        raise ConfigurationError(
            field="data", value=error.value, allowed=f"{error.allowed}; {name}: {data_set.origin}"
        ) from None


def data_set_of(name: str) -> DataSet | None:
    """Return a data set by its name; None if no system declares it."""
    return next((own_sets[name] for _, own_sets in load_each("data_sets", Mapping) if name in own_sets), None)
