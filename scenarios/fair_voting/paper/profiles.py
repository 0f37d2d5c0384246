"""The elections of the experiments: rankings of two groups drawn afresh for each, or one published profile for all.

Everything that a mechanism of the central model sees, and everything that is right, follows from how many voters of a
group have each alternative at each position.
"""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.fair_voting import FairVoting, Scoring
from ....protocol.randomness import philox_rows, stream_key
from ..data.mallows import draw_mallows

__all__ = ["FITTED", "READ", "SETTINGS", "Profiles", "Setting", "draw_profiles", "fixed_profile"]

_BATCH_VOTERS = 1 << 17


@dataclasses.dataclass(frozen=True)
class Setting:
    """Two groups, each with a law of Mallows.

    Args:
        name: short, in files.
        centers: each group's alternatives by number, the best first.
        dispersions: φ of each group.
        max_disparity: t of objective "constrained" there: it admits more than the least ΔW, and not all.
    """

    name: str
    centers: tuple[tuple[int, ...], ...]
    dispersions: tuple[float, ...]
    max_disparity: float = 0.0

    @property
    def title(self) -> str:
        """What people read."""
        orders = " and ".join(">".join(map(str, center)) for center in self.centers)
        return f"centers {orders}, dispersions {' and '.join(f'{each:g}' for each in self.dispersions)}"


FITTED = Setting("fitted", ((0, 1, 2, 3), (1, 2, 3, 0)), (0.4, 0.05), 0.9)
"""Comes nearest to the published table, by the search of `societies_fit`, with `DELTA` and `GAMMA`."""
READ = Setting("reading F5", ((0, 1, 2, 3), (2, 0, 1, 3)), (0.38, 0.65), 0.6)
"""What reading F5 found for the Laplace rows."""
SETTINGS = (FITTED, READ)


@dataclasses.dataclass(frozen=True, eq=False)
class Profiles:
    """The voters of some elections; those of a group follow each other.

    Args:
        group_sizes: n_k.
        positions: int8, shape (elections, voters, alternatives): each alternative's position; one election where all
            trials have the same voters.
        is_fixed: all trials have the same voters.
    """

    group_sizes: tuple[int, ...]
    positions: NDArray[np.int8]
    is_fixed: bool = False

    @property
    def num_alternatives(self) -> int:
        """M."""
        return self.positions.shape[2]

    @property
    def members(self) -> IntArray:
        """The place of each voter's group: int64, shape (voters,)."""
        return np.repeat(np.arange(len(self.group_sizes), dtype=np.int64), self.group_sizes)

    @functools.cached_property
    def counts(self) -> IntArray:
        """How many voters of a group have each alternative at each position: int64, shape (elections, G, m, m)."""
        size, num_groups = self.num_alternatives, len(self.group_sizes)
        cells = (self.members[:, None] * size + np.arange(size)) * size
        kinds = num_groups * size * size
        rows = [np.bincount((cells + each).reshape(-1), minlength=kinds) for each in self.positions]
        return np.stack(rows).reshape(-1, num_groups, size, size).astype(np.int64)

    def sums(self, scoring: Scoring) -> IntArray:
        """Return the groups' sums of utilities in steps from the center: int64, shape (elections, G, m)."""
        return self.counts @ np.array(scoring.steps, dtype=np.int64)

    @functools.cached_property
    def utilities(self) -> FloatArray:
        """W_k(a), the paper's: float64, shape (elections, G, m)."""
        points = np.arange(self.num_alternatives - 1, -1, -1)
        return (self.counts @ points) / np.array(self.group_sizes)[:, None]

    @property
    def disparities(self) -> FloatArray:
        """ΔW: float64, shape (elections, m)."""
        return self.utilities.max(axis=1) - self.utilities.min(axis=1)

    @property
    def welfares(self) -> FloatArray:
        """W: float64, shape (elections, m)."""
        points = np.arange(self.num_alternatives - 1, -1, -1)
        return (self.counts.sum(axis=1) @ points) / sum(self.group_sizes)

    def __len__(self) -> int:
        return len(self.positions)


def draw_profiles(setting: Setting, sizes: tuple[int, ...], *, trials: int, seed: int) -> Profiles:
    """Return elections, each with voters of its own.

    A voter's uniforms are a row of its group's stream, so that electorates of one seed share them.

    Args:
        setting: the laws.
        sizes: n_k.
        trials: how many elections.
        seed: of everything drawn.
    """
    num_alternatives = len(setting.centers[0])
    positions = np.empty((trials, sum(sizes), num_alternatives), dtype=np.int8)
    begin = 0
    for group, (size, center, dispersion) in enumerate(zip(sizes, setting.centers, setting.dispersions, strict=True)):
        key = stream_key(
            seed=seed,
            session=setting.name,
            round_number=0,
            protocol=FairVoting.name,
            phase=f"group {group + 1}",
            purpose="rankings",
        )
        at_a_time = max(1, _BATCH_VOTERS // size)
        for start in range(0, trials, at_a_time):
            stop = min(start + at_a_time, trials)
            uniforms = philox_rows(key, start=start * size, stop=stop * size, slots=num_alternatives - 1)
            drawn = draw_mallows(uniforms, center=center, dispersion=dispersion)
            positions[start:stop, begin : begin + size] = drawn.reshape(stop - start, size, num_alternatives)
        begin += size
    return Profiles(tuple(sizes), positions)


def fixed_profile(positions: IntArray, members: IntArray, num_groups: int) -> Profiles:
    """Return one published profile, the voters of a group side by side.

    Args:
        positions: int64, shape (n, m).
        members: int64, shape (n,): the place of each voter's group.
        num_groups: how many groups there are.
    """
    order = np.argsort(members, kind="stable")
    sizes: list[int] = np.bincount(members, minlength=num_groups).tolist()
    return Profiles(tuple(sizes), positions[order][None].astype(np.int8), is_fixed=True)
