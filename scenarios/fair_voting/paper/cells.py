"""The cells of the experiments: electorates, parameters, and what all elections of a cell give.

Rankings of two groups have laws of Mallows, and are drawn afresh for each trial.
"""

import bisect
import dataclasses
import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.fair_voting import FairVoting, Objective, Parameters
from ....protocol.randomness import SimulatedNoise, philox_rows, stream_key
from ...experiments.declared import grids_of
from ...experiments.measurements import Measurement, error_of_unseen, mean_of
from ...experiments.paper_files import rows_beside
from ...reading.conversion import convert
from ..data.mallows import draw_mallows, mallows_probabilities
from ..elections import choice_shares, clean_release, elect, has_quick_law, qualities_of, release
from ..profiles import Profiles

_BATCH_VOTERS: Final = 1 << 17


class MallowsPair(msgspec.Struct, frozen=True):
    """Two groups, each with a law of Mallows."""

    name: str  # short, in files
    centers: Sequence[tuple[int, ...]]  # each group's alternatives by number, the best first
    dispersions: Sequence[float]  # φ of each group
    max_disparity: float  # t of objective "constrained" there: it admits more than the least ΔW, and not all


GRIDS: Final = grids_of(__name__)
FITTED, READ = convert(GRIDS["societies"], list[MallowsPair], "")
PUBLISHED: Final = {
    (tuple(int(row[size]) for size in ("n_1", "n_2")), row["mechanism"], float(row["epsilon"])): row
    for row in rows_beside(__name__, "published.csv")
}
"""Table 1: ΔW ("N/A" in some cells) and W, by (n₁, n₂), mechanism and ε."""
SIZES, _, EPSILONS = (tuple(dict.fromkeys(axis)) for axis in zip(*PUBLISHED, strict=True))
GAMMA: Final = 0.05
"""Of Algorithm 2; the paper has no value (reading F4)."""
OBJECTIVES: Final = ("parity", "constrained", "penalized")
_SAMPLES: Final = tuple(sorted({math.ceil(1.15**step) for step in range(76)}))
"""Tried n_s, up to some 36,000."""
_MOST_SAMPLES_OF_MANY: Final = 2_500
"""Where every election has voters of its own, whose laws take long for more; its answers are then nearly true."""


def expected_utilities(society: MallowsPair) -> FloatArray:
    """Return the groups' expected utilities under their laws: float64, shape (G, m)."""
    positions = np.array(list(itertools.permutations(range(len(society.centers[0])))), dtype=np.int64)
    points = positions.shape[1] - 1 - positions
    laws = zip(society.centers, society.dispersions, strict=True)
    return np.array([mallows_probabilities(positions, center=law, dispersion=each) @ points for law, each in laws])


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ElectorateCells:
    """All cells of one kind of electorate: the same elections for each; cells of one name share their noise."""

    profiles: Profiles  # the elections
    name: str  # of the electorate
    trials: int  # elections of each cell
    seed: int  # of their noise
    max_disparity: float  # t of objective "constrained"
    columns: Mapping[str, Any]  # what its rows begin with

    @functools.cached_property
    def base(self) -> Parameters:
        """What all sessions have in common."""
        sizes = self.profiles.group_sizes
        return Parameters(
            alternatives=tuple(map(str, range(self.profiles.num_alternatives))),
            groups=tuple(f"group {number}" for number in range(1, len(sizes) + 1)),
            group_sizes=sizes,
            gamma=GAMMA,
            delta=1e-5,  # any of reading F2 has the published N/A cells, and this one comes nearest to the others
            max_disparity=self.max_disparity,
        )

    @functools.cached_property
    def _clean(self) -> Mapping[str, NDArray[np.bool_]]:
        """Which alternatives are best without privacy, by objective, in each election."""
        clean = clean_release(self.base, self.profiles)
        return {name: clean.best(self._objective(name)) for name in (*OBJECTIVES, "welfare")}

    def first(self, trials: int) -> "ElectorateCells":
        """Return cells of the first elections."""
        profiles = dataclasses.replace(self.profiles, positions=self.profiles.positions[:trials])
        return dataclasses.replace(self, profiles=profiles, trials=trials)

    def parameters(self, mechanism: Any, epsilon: float, **settings: Any) -> Parameters:
        """Return a session's parameters; Algorithm 2 may have more samples than it is allowed (reading F2)."""
        if mechanism == "sampling" and "num_samples" not in settings:
            settings["num_samples"] = msgspec.structs.replace(self.base, epsilon=epsilon).samples
        return msgspec.structs.replace(self.base, mechanism=mechanism, epsilon=epsilon, **settings)

    def measure(
        self, parameters: Parameters, objectives: Sequence[str] = OBJECTIVES
    ) -> dict[str, dict[str, Measurement]]:
        """Run all elections of a cell, and return what winners by each objective are.

        That is ΔW ("disparity"), W ("welfare"), how often they are those without privacy ("agreement"), and what the
        objective makes of them ("merit").
        """
        votes = {name: FairVoting(with_objective(parameters, name)) for name in objectives}
        if all(map(has_quick_law, votes.values())):
            return {name: self._of_shares(choice_shares(vote, self.profiles), name) for name, vote in votes.items()}
        noise = SimulatedNoise(self.seed, session=self.name)
        election_release = release(FairVoting(parameters), self.profiles, trials=self.trials, noise=noise)
        return {
            name: self._measure_winners(elect(election_release, self._objective(name)), name) for name in objectives
        }

    def measure_clean(self, objective: str) -> dict[str, Measurement]:
        """Return what there is without privacy; of several that tie the first wins."""
        return self._measure_winners(self._clean[objective].argmax(axis=1), objective)

    def _measure_winners(self, winners: IntArray, objective: str) -> dict[str, Measurement]:
        return self._of_shares(np.eye(self.profiles.num_alternatives)[winners], objective)

    def _of_shares(self, shares: FloatArray, objective: str) -> dict[str, Measurement]:
        """Return means over elections of what winners have, with an error also where all winners have the same.

        Values of a single election stand for all.
        """
        measurements: dict[str, Measurement] = {}
        for name, values in (
            ("disparity", self.profiles.disparities),
            ("welfare", self.profiles.welfares),
            ("agreement", self._clean[objective].astype(np.float64)),
            ("merit", qualities_of(self._objective(objective), self.profiles)),
        ):
            numbers = (shares * values).sum(axis=1)
            mean = Measurement(float(numbers[0]), 0.0)
            if len(numbers) > 1:
                mean = mean_of(numbers)
                error = mean.standard_error or error_of_unseen(len(numbers)) * float(np.ptp(values))
                mean = Measurement(mean.value, error)
            measurements[name] = mean
        return measurements

    def _objective(self, name: str) -> Objective:
        return with_objective(self.base, name).make_objective()


def electorate(society: MallowsPair, sizes: tuple[int, ...], *, trials: int, seed: int) -> ElectorateCells:
    """Return all cells of an electorate of Table 1: elections, each with voters of its own.

    A voter's uniforms are a row of its group's stream, so that electorates of one seed share them.
    """
    num_alternatives = len(society.centers[0])
    groups: list[NDArray[np.int8]] = []
    for number, size in enumerate(sizes):
        key = stream_key(
            seed=seed,
            session=society.name,
            round_number=0,
            protocol=FairVoting.name,
            phase=f"group {number + 1}",
            purpose="rankings",
        )
        rankings = np.empty((trials * size, num_alternatives), dtype=np.int8)
        for start in range(0, len(rankings), _BATCH_VOTERS):
            stop = min(start + _BATCH_VOTERS, len(rankings))
            uniforms = philox_rows(key, start=start, stop=stop, slots=num_alternatives - 1)
            rankings[start:stop] = draw_mallows(
                uniforms, center=society.centers[number], dispersion=society.dispersions[number]
            )
        groups.append(rankings.reshape(trials, size, num_alternatives))
    return ElectorateCells(
        profiles=Profiles(tuple(sizes), np.concatenate(groups, axis=1)),
        name=f"{society.name} {' '.join(map(str, sizes))}",
        trials=trials,
        seed=seed,
        max_disparity=society.max_disparity,
        columns={"society": society.name, "sizes": f"{sizes[0]:,} and {sizes[1]:,}"},
    )


def with_objective(parameters: Parameters, name: Any) -> Parameters:
    """Return the same session with another objective.

    Where qualities are chosen by, "constrained" pays a λ of 8 for each unit of ΔW above t: enough that no alternative
    beyond t is worth it here.
    """
    return msgspec.structs.replace(parameters, objective=name, fairness_weight=8.0 if name == "constrained" else 1.0)


@functools.cache
def proven_of(parameters: Parameters) -> float:
    """Return the proven ε of the voter who pays most."""
    return FairVoting(parameters).losses[0].proven


@functools.cache
def samples_for(parameters: Parameters, *, price: float, is_fixed: bool = False) -> int | None:
    """Return about the most samples with which Algorithm 2 proves no more than a price; None where one is too many.

    There may be more of them where all elections have the same voters.
    """
    samples = [number for number in _SAMPLES if is_fixed or number <= _MOST_SAMPLES_OF_MANY]
    max_samples = bisect.bisect_right(
        samples, price, key=lambda number: proven_of(msgspec.structs.replace(parameters, num_samples=number))
    )
    return samples[max_samples - 1] if max_samples else None
