"""Data sets: parties that somebody else has published, from a folder that a reader has.

None of them comes with Psephos. A folder of data sets has a folder for each, under the name that it has here; a
scenario names one in place of its generator (`data = "imf_votes"`), with what is to be chosen in it. A new one takes
its place in `DATA_SETS`, in the module of its kind.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...protocol.errors import ConfigurationError
from ...protocol.phases import PhasedProtocol
from ..dpwevote.data.roll_calls import UN_GENERAL_ASSEMBLY
from ..dpwevote.data.weighted_votes import EU_COUNCIL_WEIGHTS, IMF_VOTES
from ..fair_voting.data.published_elections import PABULIB, PREFLIB_BREAKFAST, PREFLIB_DOTS, PREFLIB_UK_LABOR, ZURICH_PB
from ..moral_preferences.data.published_choices import MORAL_MACHINE_SAMPLE, MORAL_TROLLEY
from ..running.conversion import convert
from ..running.loaded import Loaded
from ..running.settings import did_you_mean
from ..truth_discovery.data.published_labels import CROWD_LABELS
from .loading import DataSet

__all__ = ["DATA_SETS", "DATA_VARIABLE", "DataSet", "load_data_set"]

DATA_VARIABLE: Final = "PSEPHOS_DATA"
"""The environment's name for the folder of data sets."""
DATA_SETS: Final[Mapping[str, DataSet]] = {
    "eu_council_weights": EU_COUNCIL_WEIGHTS,
    "imf_votes": IMF_VOTES,
    "moral_machine_sample": MORAL_MACHINE_SAMPLE,
    "moral_trolley": MORAL_TROLLEY,
    "pabulib": PABULIB,
    "preflib_00024_dots": PREFLIB_DOTS,
    "preflib_00030_uklabor": PREFLIB_UK_LABOR,
    "preflib_00035_breakfast": PREFLIB_BREAKFAST,
    "un_general_assembly": UN_GENERAL_ASSEMBLY,
    "zurich_pb": ZURICH_PB,
    **CROWD_LABELS,
}
"""By the name of the folder that holds it."""


def load_data_set(
    options: Mapping[str, Any],
    *,
    folder: str,
    parameters: Mapping[str, Any],
    protocol: type[PhasedProtocol[Any, Any]],
) -> Loaded:
    """Return the parties of a data set.

    Args:
        options: its name, as `data`, and what a scenario chooses in it.
        folder: of all data sets; empty where nobody has named it.
        parameters: the scenario's, before they are checked.
        protocol: that needs parties.

    Raises:
        ConfigurationError: there is no such data set, or none for this protocol; an option is not allowed; the folder
            is not known; a file cannot be read, or is not what it should be.
    """
    word = f"{protocol.client_role}s"
    name: str = convert(options["data"], str, f"{word}.data")
    if name not in DATA_SETS:
        fitting = [known for known, data_set in DATA_SETS.items() if issubclass(protocol, data_set.protocol)]
        allowed = f"one of {', '.join(fitting)}{did_you_mean(name, fitting)}"
        raise ConfigurationError(field=f"{word}.data", value=name, allowed=allowed)
    data_set = DATA_SETS[name]
    if not issubclass(protocol, data_set.protocol):
        allowed = f"another data set: this one is for protocol {data_set.protocol.name!r}"
        raise ConfigurationError(field=f"{word}.data", value=name, allowed=allowed)
    chosen = convert({key: value for key, value in options.items() if key != "data"}, data_set.options, word)
    if not folder:
        allowed = f"given, for data set {name!r}: --data FOLDER or {DATA_VARIABLE}"
        raise ConfigurationError(field="data", value="nothing", allowed=allowed)
    return data_set.load(chosen, Path(folder) / name, parameters)
