"""The electorates of the experiments: rankings of two groups by laws of Mallows, drawn afresh for each trial."""

import dataclasses

import numpy as np

from ....protocol.fair_voting import FairVoting
from ....protocol.randomness import philox_rows, stream_key
from ..data.mallows import draw_mallows
from ..profiles import Profiles

_BATCH_VOTERS = 1 << 17


@dataclasses.dataclass(frozen=True)
class Setting:
    """Two groups, each with a law of Mallows."""

    name: str  # short, in files
    centers: tuple[tuple[int, ...], ...]  # each group's alternatives by number, the best first
    dispersions: tuple[float, ...]  # φ of each group
    max_disparity: float = 0.0  # t of objective "constrained" there: it admits more than the least ΔW, and not all

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


def draw_profiles(setting: Setting, sizes: tuple[int, ...], *, trials: int, seed: int) -> Profiles:
    """Return elections, each with voters of its own.

    A voter's uniforms are a row of its group's stream, so that electorates of one seed share them.
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
