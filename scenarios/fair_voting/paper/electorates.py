"""The electorates of the experiments: rankings of two groups by laws of Mallows, drawn afresh for each trial."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from ....protocol.arrays import FloatArray
from ....protocol.fair_voting import FairVoting
from ....protocol.randomness import philox_rows, stream_key
from ...experiments.declared import grids_of
from ...experiments.paper_files import rows_beside
from ...reading.conversion import convert
from ..data.mallows import draw_mallows, mallows_probabilities
from ..profiles import Profiles

_BATCH_VOTERS: Final = 1 << 17


class Society(msgspec.Struct, frozen=True):
    """Two groups, each with a law of Mallows."""

    name: str  # short, in files
    centers: Sequence[tuple[int, ...]]  # each group's alternatives by number, the best first
    dispersions: Sequence[float]  # φ of each group
    max_disparity: float  # t of objective "constrained" there: it admits more than the least ΔW, and not all


GRIDS: Final = grids_of(__name__)
FITTED, READ = convert(GRIDS["societies"], list[Society], "")
PUBLISHED: Final[Mapping[tuple[tuple[int, ...], str, float], Mapping[str, str]]] = {
    ((int(row["n_1"]), int(row["n_2"])), row["mechanism"], float(row["epsilon"])): row
    for row in rows_beside(__name__, "published.csv")
}
"""Table 1: ΔW ("N/A" in some cells) and W, by (n₁, n₂), mechanism and ε."""
SIZES: Final = tuple(dict.fromkeys(sizes for sizes, _, _ in PUBLISHED))
EPSILONS: Final = tuple(dict.fromkeys(epsilon for _, _, epsilon in PUBLISHED))


def draw_profiles(society: Society, sizes: tuple[int, ...], *, trials: int, seed: int) -> Profiles:
    """Return elections, each with voters of its own.

    A voter's uniforms are a row of its group's stream, so that electorates of one seed share them.
    """
    num_alternatives = len(society.centers[0])
    positions = np.empty((trials, sum(sizes), num_alternatives), dtype=np.int8)
    begin = 0
    for group, (size, center, dispersion) in enumerate(zip(sizes, society.centers, society.dispersions, strict=True)):
        key = stream_key(
            seed=seed,
            session=society.name,
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


def expected_utilities(society: Society) -> FloatArray:
    """Return the groups' expected utilities under their laws: float64, shape (G, m)."""
    positions = np.array(list(itertools.permutations(range(len(society.centers[0])))), dtype=np.int64)
    points = positions.shape[1] - 1 - positions
    rows: list[list[float]] = []
    for center, dispersion in zip(society.centers, society.dispersions, strict=True):
        chances = mallows_probabilities(positions, center=center, dispersion=dispersion)
        rows.append([math.fsum((chances * column).tolist()) for column in points.T])
    return np.array(rows)
