"""Read profiles of published elections, and the user's.

Ties in rankings are broken, which no session does, so that one table has all mechanisms; some do not support ties.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import refuse
from ....protocol.fair_voting import FairVoting, Rankings, positions_of_orders
from ....protocol.randomness import philox_rows, stream_key
from ...datasets import load_data_set
from ...experiments.reproductions import find_missing, rename_fields
from ...plugins import ARRAY
from ...running.config import Scenario
from ...running.resolution import resolve
from ..profiles import Profiles, fixed_profile


class Loaded(NamedTuple):
    """A profile with its limit and columns."""

    profiles: Profiles  # the profile
    max_disparity: float  # t of the objective "constrained"; it admits some alternatives, but not all
    columns: Mapping[str, Any]  # what its rows begin with


def load_profiles(folder: str, profiles: Sequence[Mapping[str, Any]]) -> tuple[list[Loaded], dict[str, str]]:
    """Load profiles from a folder of data sets, and return also why others are missing.

    Args:
        folder: the folder of all data sets; empty if not given.
        profiles: for each profile its name, its options as a scenario's voters, and the limit of ΔW.

    Raises:
        ConfigurationError: a data set has an unexpected content.
    """
    missing = find_missing(
        folder, {profile_entry["name"]: profile_entry["options"]["data"] for profile_entry in profiles}
    )
    loaded_profiles: list[Loaded] = []
    for profile_entry in profiles:
        if profile_entry["name"] not in missing:
            parties = load_data_set(profile_entry["options"], folder=folder, parameters={}, protocol=FairVoting)
            positions, members = cast("Rankings", parties.table["ranking"]).positions, parties.table["group"]
            groups = parties.parameters["groups"]
            loaded_profiles.append(
                _load_target(
                    profile_entry["name"], positions, cast("IntArray", members), groups, profile_entry["max_disparity"]
                )
            )
    return loaded_profiles, missing


def load_own_profile(path: str) -> Loaded:
    """Load the user's profile; the limit of ΔW is the middle of the alternatives' values.

    Raises:
        ConfigurationError: the file cannot be read, or has an unexpected content.
    """
    name = Path(path).name
    # The objective is not used here, and supports any number of groups.
    parameters = {"epsilon": 1.0, "objective": "welfare"}
    with rename_fields(voters="--rankings"):
        setup = resolve(
            Scenario(name="own", protocol=FairVoting.name, parties=path, parameters=parameters, transport=ARRAY)
        )
    protocol = cast("FairVoting", setup.protocol)
    groups = protocol.parameters.groups
    allowed = "a file with two groups or more, between which the paper measures differences"
    refuse(len(groups) == 1, "--rankings", f"{name} with one", allowed)
    members, positions = protocol.members_of(setup.inputs)
    own_profile = _load_target(name, positions, members, groups, 0.0)
    return own_profile._replace(max_disparity=float(np.median(own_profile.profiles.disparities)))


def _load_target(name: str, positions: IntArray, members: IntArray, groups: Sequence[str], limit: float) -> Loaded:
    # Ties are broken by lot, with a public seed.
    key = stream_key(seed=0, session="", round_number=0, protocol="fair-voting", phase="", purpose="ties of ballots")
    uniforms = philox_rows(key, start=0, stop=len(positions), slots=positions.shape[1])
    strict = positions_of_orders(np.argsort(positions + uniforms / 2, axis=1, kind="stable"))
    profiles = fixed_profile(strict, members, len(groups))
    sizes = profiles.group_sizes
    columns = {
        "profile": name,
        "voters": sum(sizes),
        "groups": ", ".join(f"{group} {size}" for group, size in zip(groups, sizes, strict=True)),
        "alternatives": profiles.num_alternatives,
    }
    return Loaded(profiles, limit, columns)
