"""Published elections: what they are, and where they are read from.

Their rankings are made strict, which no session does, so that one table has all mechanisms: some take no ties.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import msgspec
import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.errors import refuse
from ....protocol.fair_voting import FairVoting, Rankings, positions_of_orders
from ....protocol.randomness import philox_rows, stream_key
from ...datasets import load_data_set
from ...experiments.reproductions import as_option
from ...plugins import ARRAY
from ...running.config import Scenario
from ...running.resolution import resolve
from ..profiles import Profiles, fixed_profile


class RealSet(msgspec.Struct, frozen=True, kw_only=True):
    """A published profile."""

    name: str  # short
    title: str  # for people
    options: Mapping[str, Any]  # as a scenario's table of voters has them
    max_disparity: float  # t of objective "constrained": it admits more than the least ΔW, and not all


class LoadedSet(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder has of it."""

    real_set: RealSet  # what it is
    profiles: Profiles  # the one profile
    alternatives: tuple[str, ...]  # their names
    groups: tuple[str, ...]  # their names


REAL_SETS: Final = (
    RealSet(
        name="breakfast",
        title="What is for breakfast: 21 men and 21 women rank 15 items",
        options={"data": "preflib_00035_breakfast"},
        max_disparity=0.6,
    ),
    RealSet(
        name="zurich",
        title="Projects for Zurich: 180 participants from 4 districts, 24 projects",
        options={"data": "zurich_pb"},
        max_disparity=3.0,
    ),
    RealSet(
        name="podlesie",
        title="Projects for Podlesie, Katowice: 992 men and 1,049 women, 13 projects",
        options={"data": "pabulib", "election": "poland_katowice_2021_podlesie"},
        max_disparity=0.1,
    ),
)


def load_real_sets(folder: str) -> tuple[list[LoadedSet], dict[str, str]]:
    """Return what a folder of data sets has, and why the others are not there.

    Args:
        folder: of all data sets; empty where nobody has named it.

    Raises:
        ConfigurationError: a data set is not what it should be.
    """
    if not folder:
        return [], {real_set.name: "no folder of data sets was named" for real_set in REAL_SETS}
    found: list[LoadedSet] = []
    missing: dict[str, str] = {}
    for real_set in REAL_SETS:
        if not (Path(folder) / real_set.options["data"]).is_dir():
            missing[real_set.name] = "not in the folder of data sets"
            continue
        loaded = load_data_set(real_set.options, folder=folder, parameters={}, protocol=FairVoting)
        rankings = cast("Rankings", loaded.table["ranking"])
        members = cast("IntArray", loaded.table["group"])
        groups = tuple(loaded.parameters["groups"])
        found.append(
            LoadedSet(
                real_set=real_set,
                profiles=fixed_profile(_by_lot(rankings.positions), members, len(groups)),
                alternatives=tuple(loaded.parameters["alternatives"]),
                groups=groups,
            )
        )
    return found, missing


def load_own_set(path: str) -> LoadedSet:
    """Return somebody's own profile, with the limit of ΔW in the middle between the alternatives' own.

    Raises:
        ConfigurationError: the file cannot be read or is not what it should be.
    """
    name = Path(path).name
    given = {"epsilon": 1.0, "objective": "welfare"}  # which counts nowhere here, and refuses no number of groups
    with as_option("--rankings", "voters"):
        resolved = resolve(
            Scenario(name="own", protocol=FairVoting.name, parties=path, parameters=given, transport=ARRAY)
        )
    protocol = resolved.protocol
    assert isinstance(protocol, FairVoting)  # noqa: S101  what the scenario says
    parameters = protocol.parameters
    allowed = "a file with two groups or more, between which the paper measures differences"
    refuse(len(parameters.groups) == 1, "--rankings", f"{name} with one", allowed)
    members, positions = protocol.members_of(resolved.inputs)
    profiles = fixed_profile(_by_lot(positions), members, len(parameters.groups))
    kinds = f"{len(resolved.names):,} voters of {len(parameters.groups)} groups rank {len(parameters.alternatives)}"
    limit = float(np.median(profiles.disparities))
    own = RealSet(name=name, title=f"{name}: {kinds} alternatives", options={}, max_disparity=limit)
    return LoadedSet(
        real_set=own, profiles=profiles, alternatives=tuple(parameters.alternatives), groups=tuple(parameters.groups)
    )


def _by_lot(positions: IntArray) -> IntArray:
    """Return strict rankings: ties fall by lots, of a public seed."""
    key = stream_key(seed=0, session="", round_number=0, protocol="fair-voting", phase="", purpose="ties of ballots")
    uniforms = philox_rows(key, start=0, stop=len(positions), slots=positions.shape[1])
    return positions_of_orders(np.argsort(positions + uniforms / 2, axis=1, kind="stable"))
