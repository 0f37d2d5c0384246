"""Cells of the experiments: electorates, parameters, and results over all elections of a cell.

The rankings of two groups have Mallows laws, and are redrawn for each trial.
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
    """Two groups, each with a Mallows law."""

    name: str  # a short name, for files
    centers: Sequence[tuple[int, ...]]  # each group's central ranking: indices of alternatives, the best first
    dispersions: Sequence[float]  # dispersion φ of each group
    max_disparity: float  # t of the objective "constrained"; it admits some alternatives, but not all


GRIDS: Final = grids_of(__name__)
FITTED, READ = convert(GRIDS["societies"], list[MallowsPair], "")
PUBLISHED: Final = {
    (tuple(int(row[size]) for size in ("n_1", "n_2")), row["mechanism"], float(row["epsilon"])): row
    for row in rows_beside(__name__, "published.csv")
}
"""Table 1's ΔW ("N/A" in some cells) and W, by (n₁, n₂), mechanism and ε."""
SIZES, _, EPSILONS = (tuple(dict.fromkeys(axis)) for axis in zip(*PUBLISHED, strict=True))
GAMMA: Final = 0.05
"""γ of Algorithm 2, for which the paper states no value (reading F4)."""
OBJECTIVES: Final = ("parity", "constrained", "penalized")
_SAMPLES: Final = tuple(sorted({math.ceil(1.15**step) for step in range(76)}))
"""Tried values of n_s, up to about 36,000."""
_MOST_SAMPLES_OF_MANY: Final = 2_500
"""Greatest n_s if every election has different voters, whose laws are slow for more; its noise is then small."""


def expected_utilities(society: MallowsPair) -> FloatArray:
    """Return the groups' expected utilities under their laws: float64, shape (G, m)."""
    positions = np.array(list(itertools.permutations(range(len(society.centers[0])))), dtype=np.int64)
    points = positions.shape[1] - 1 - positions
    laws = zip(society.centers, society.dispersions, strict=True)
    return np.array([mallows_probabilities(positions, center=law, dispersion=each) @ points for law, each in laws])


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ElectorateCells:
    """Cells of one kind of electorate, with the same elections; cells of the same name share their noise."""

    profiles: Profiles  # the elections
    name: str  # the electorate's name
    trials: int  # number of elections of each cell
    seed: int  # seed of the noise
    max_disparity: float  # t of the objective "constrained"
    columns: Mapping[str, Any]  # first columns of its rows

    @functools.cached_property
    def base(self) -> Parameters:
        """The parameters that all sessions share."""
        sizes = self.profiles.group_sizes
        return Parameters(
            alternatives=tuple(map(str, range(self.profiles.num_alternatives))),
            groups=tuple(f"group {number}" for number in range(1, len(sizes) + 1)),
            group_sizes=sizes,
            gamma=GAMMA,
            delta=1e-5,  # every δ of reading F2 gives the published N/A cells; this one is nearest to the other cells
            max_disparity=self.max_disparity,
        )

    @functools.cached_property
    def _clean(self) -> Mapping[str, NDArray[np.bool_]]:
        """The best alternatives without privacy in each election, by objective."""
        clean = clean_release(self.base, self.profiles)
        return {name: clean.best(self._objective(name)) for name in (*OBJECTIVES, "welfare")}

    def first(self, trials: int) -> "ElectorateCells":
        """Return the cells with only the first elections."""
        profiles = dataclasses.replace(self.profiles, positions=self.profiles.positions[:trials])
        return dataclasses.replace(self, profiles=profiles, trials=trials)

    def parameters(self, mechanism: Any, epsilon: float, **settings: Any) -> Parameters:
        """Return a session's parameters; Algorithm 2 may exceed its allowed number of samples (reading F2)."""
        if mechanism == "sampling" and "num_samples" not in settings:
            settings["num_samples"] = msgspec.structs.replace(self.base, epsilon=epsilon).samples
        return msgspec.structs.replace(self.base, mechanism=mechanism, epsilon=epsilon, **settings)

    def measure(
        self, parameters: Parameters, objectives: Sequence[str] = OBJECTIVES
    ) -> dict[str, dict[str, Measurement]]:
        """Run all elections of a cell, and return measurements of the winners by each objective.

        These are ΔW ("disparity"), W ("welfare"), the agreement with non-private winners ("agreement"), and the
        objective's value ("merit").
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
        """Return the measurements without privacy; in a tie the first alternative wins."""
        return self._measure_winners(self._clean[objective].argmax(axis=1), objective)

    def _measure_winners(self, winners: IntArray, objective: str) -> dict[str, Measurement]:
        return self._of_shares(np.eye(self.profiles.num_alternatives)[winners], objective)

    def _of_shares(self, shares: FloatArray, objective: str) -> dict[str, Measurement]:
        """Return means of winners' values over elections, with a positive error even if all are equal.

        Values of a single election apply to all.
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
    """Return the cells of an electorate of Table 1, with new voters in each election.

    A voter's uniforms are a row of its group's stream, so electorates with the same seed share them.
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
    """Return the same session's parameters with another objective.

    For choices by quality, "constrained" has a penalty λ = 8 for each unit of ΔW above t, which is enough here that no
    alternative beyond t is best.
    """
    return msgspec.structs.replace(parameters, objective=name, fairness_weight=8.0 if name == "constrained" else 1.0)


@functools.cache
def proven_of(parameters: Parameters) -> float:
    """Return the greatest proven ε of any voter."""
    return FairVoting(parameters).losses[0].proven


@functools.cache
def samples_for(parameters: Parameters, *, price: float, is_fixed: bool = False) -> int | None:
    """Return approximately the greatest number of samples with a proven ε of at most `price`; None if 1 is too many.

    If all elections have the same voters (`is_fixed`), more samples are allowed.
    """
    samples = [number for number in _SAMPLES if is_fixed or number <= _MOST_SAMPLES_OF_MANY]
    max_samples = bisect.bisect_right(
        samples, price, key=lambda number: proven_of(msgspec.structs.replace(parameters, num_samples=number))
    )
    return samples[max_samples - 1] if max_samples else None
