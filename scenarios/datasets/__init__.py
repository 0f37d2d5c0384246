"""Data sets: parties that somebody else has published, from a folder that a reader has.

None of them comes with Psephos. A folder of data sets has a folder for each, under the name that it has here; a
scenario names one in place of its generator (`data = "imf_votes"`), with what is to be chosen in it. A system
brings those that fit its protocol. A file is read as it was published, and refused, with its line, where it is not
what it should be.
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
"""The environment's name for the folder of data sets."""

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


def load_data_set(
    options: Mapping[str, Any], *, folder: str, parameters: Mapping[str, Any], protocol: type[PhasedProtocol[Any, Any]]
) -> PartiesTable:
    """Return the parties of a data set.

    Args:
        options: its name, as `data`, and what a scenario chooses in it.
        folder: of all data sets; empty where nobody has named it.
        parameters: the scenario's, before they are checked.

    Raises:
        ConfigurationError: there is no such data set, or none for this protocol; an option is not allowed; the folder
            is not known; a file cannot be read, or is not what it should be.
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
    """Return a data set by its name; None where no system has one of it."""
    return next((own_sets[name] for _, own_sets in load_each("data_sets", Mapping) if name in own_sets), None)
