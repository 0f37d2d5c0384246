"""The cells of the experiments: parameters, and what all elections of a cell give."""

import bisect
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.fair_voting import FairVoting, Objective, Parameters, Rankings
from ....protocol.fair_voting.kinds import MechanismName
from ....protocol.fair_voting.rules import RULES
from ....protocol.randomness import SimulatedNoise
from ...experiments.measurements import Measurement, mean_of
from ..elections import Release, choice_shares, clean_release, elect, has_quick_law, qualities_of, release
from ..profiles import Profiles
from .settings import Setting, draw_profiles

GAMMA: Final = 0.05
"""Of Algorithm 2; the paper has no value (reading F4)."""
DELTA: Final = 1e-5
"""Of its n_s; any of reading F2 has the published N/A cells, and this one comes nearest to the others."""
OBJECTIVES: Final = ("parity", "constrained", "penalized")
FAIRNESS_WEIGHTS: Final[Mapping[str, float]] = {"parity": 1.0, "constrained": 8.0, "penalized": 1.0}
"""λ, by objective. Where qualities are chosen by, "constrained" pays it for each unit of ΔW above t: enough that no
alternative beyond t is worth it here."""
_SAMPLES: Final = tuple(sorted({math.ceil(1.15**step) for step in range(76)}))
"""Tried n_s, up to some 36,000."""
_MOST_SAMPLES_OF_MANY: Final = 2_500
"""Where every election has voters of its own, whose laws take long for more; its answers are then nearly true."""


class Measured(msgspec.Struct, frozen=True):
    """What the winners of a cell are."""

    disparity: Measurement  # ΔW
    welfare: Measurement  # W
    agreement: Measurement  # how often the winner is one without privacy
    merit: Measurement  # what the objective makes of them

    @property
    def elected(self) -> dict[str, Any]:
        """ΔW and W, as rows have them."""
        return {"disparity": self.disparity, "welfare": self.welfare}


class Cells:
    """All cells of one kind of electorate: the same elections for each; cells of one name share their noise."""

    def __init__(self, profiles: Profiles, *, name: str, trials: int, seed: int, max_disparity: float) -> None:
        self.profiles = profiles
        self.trials = trials
        self.base = msgspec.structs.replace(
            self.parameters_only(profiles.num_alternatives, profiles.group_sizes), max_disparity=max_disparity
        )
        self._name = name
        self._seed = seed
        clean = clean_release(self.base, profiles)
        self._clean = {name: clean.best(objective_of(self.base, name)) for name in OBJECTIVES}

    @staticmethod
    def parameters_only(num_alternatives: int, sizes: Sequence[int]) -> Parameters:
        """Return parameters of groups of these sizes."""
        return Parameters(
            alternatives=tuple(str(place) for place in range(num_alternatives)),
            groups=tuple(f"group {number}" for number in range(1, len(sizes) + 1)),
            group_sizes=tuple(sizes),
            gamma=GAMMA,
            delta=DELTA,
        )

    def first(self, trials: int) -> "Cells":
        """Return cells of the first elections."""
        profiles = self.profiles
        if not profiles.is_fixed:
            profiles = Profiles(profiles.group_sizes, profiles.positions[:trials])
        limit = self.base.max_disparity
        return Cells(profiles, name=self._name, trials=min(trials, self.trials), seed=self._seed, max_disparity=limit)

    def parameters(self, mechanism: MechanismName, epsilon: float, **others: Any) -> Parameters:
        """Return a session's parameters; Algorithm 2 may have more samples than it is allowed (reading F2)."""
        if mechanism == "sampling" and "num_samples" not in others:
            given = msgspec.structs.replace(self.base, epsilon=epsilon)
            others["num_samples"] = given.samples
        return msgspec.structs.replace(self.base, mechanism=mechanism, epsilon=epsilon, **others)

    def measure(self, parameters: Parameters, objectives: Sequence[str] = OBJECTIVES) -> dict[str, Measured]:
        """Run all elections of a cell, and elect by each objective."""
        votes = {name: FairVoting(with_objective(parameters, name)) for name in objectives}
        if all(map(has_quick_law, votes.values())):
            return {name: self._of_shares(choice_shares(vote, self.profiles), name) for name, vote in votes.items()}
        released = self.release(parameters)
        return {name: self.elect(released, name) for name in objectives}

    def release(self, parameters: Parameters) -> Release:
        """Run all elections of a cell, up to what the winner is elected by."""
        noise = SimulatedNoise(self._seed, session=self._name)
        return release(FairVoting(parameters), self.profiles, trials=self.trials, noise=noise)

    def elect(self, released: Release, objective: str) -> Measured:
        """Elect by an objective."""
        return self.of_winners(elect(released, objective_of(self.base, objective)), objective)

    def measure_clean(self, objective: str) -> Measured:
        """Return what there is without privacy; of several that tie the first wins."""
        return self.of_winners(self.clean_winners(objective), objective)

    def clean_winners(self, objective: str) -> IntArray:
        """Return whom an objective elects without privacy: int64, shape (elections,)."""
        return self._clean[objective].argmax(axis=1).astype(np.int64)

    def of_winners(self, winners: IntArray, objective: str) -> Measured:
        """Return what winners are, one for each election."""
        shares = np.zeros((len(winners), self.profiles.num_alternatives))
        shares[np.arange(len(winners)), winners] = 1.0
        return self._of_shares(shares, objective)

    def _of_shares(self, shares: FloatArray, objective: str) -> Measured:
        return Measured(
            disparity=_mean(shares, self.profiles.disparities),
            welfare=_mean(shares, self.profiles.welfares),
            agreement=_mean(shares, self._clean[objective]),
            merit=_mean(shares, qualities_of(objective_of(self.base, objective), self.profiles)),
        )


class Electorate(Cells):
    """All cells of an electorate of Table 1."""

    def __init__(self, setting: Setting, sizes: tuple[int, int], *, trials: int, seed: int) -> None:
        profiles = draw_profiles(setting, sizes, trials=trials, seed=seed)
        name = f"{setting.name} {' '.join(map(str, sizes))}"
        super().__init__(profiles, name=name, trials=trials, seed=seed, max_disparity=setting.max_disparity)
        self.setting = setting
        self.sizes = sizes
        self.columns: Mapping[str, Any] = {"society": setting.name, "size_1": sizes[0], "size_2": sizes[1]}


def with_objective(parameters: Parameters, name: str) -> Parameters:
    """Return the same session with another objective."""
    return msgspec.structs.replace(parameters, objective=name, fairness_weight=FAIRNESS_WEIGHTS[name])


def objective_of(parameters: Parameters, name: str) -> Objective:
    """Return an objective of a session."""
    return with_objective(parameters, name).make_objective()


def proven_of(parameters: Parameters) -> float:
    """Return the proven ε of the voter who pays most."""
    (loss,) = FairVoting(parameters).losses
    return loss.proven


def rule_winners(profiles: Profiles) -> Iterator[tuple[str, IntArray]]:
    """Yield each rule without privacy and its winners; of several that tie the first."""
    for name, rule in RULES.items():
        winners = [rule(Rankings(own.astype(np.int64)))[0] for own in profiles.positions]
        yield name, np.array(winners, dtype=np.int64)


@functools.cache
def samples_for(parameters: Parameters, *, price: float, is_fixed: bool = False) -> int | None:
    """Return about the most samples with which Algorithm 2 proves no more than a price; None where one is too many.

    There may be more of them where all elections have the same voters.
    """
    samples = [number for number in _SAMPLES if is_fixed or number <= _MOST_SAMPLES_OF_MANY]

    def proven(number: int) -> float:
        return proven_of(msgspec.structs.replace(parameters, num_samples=number))

    within = bisect.bisect_right(samples, price, key=proven)
    return samples[within - 1] if within else None


def _mean(shares: FloatArray, values: NDArray[Any]) -> Measurement:
    """Return the mean over elections of what winners have; values of a single election stand for all."""
    numbers = (shares * values).sum(axis=1)
    if len(numbers) == 1:
        return Measurement(float(numbers[0]), 0.0)
    return mean_of(numbers)
