"""Whole elections by arrays, and the paper's Table 1: seconds, of which there are few.

What a vote is from, rankings and groups as arrays, is made beforehand; its check that rows are rankings counts.
"""

import functools
from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from psephos.protocol.arrays import IntArray
from psephos.protocol.fair_voting import FairVoting, Parameters
from psephos.protocol.fair_voting.kinds import MechanismName
from psephos.protocol.population import run_population
from psephos.protocol.randomness import SimulatedNoise
from psephos.scenarios.fair_voting.data import MallowsGroup, Profile, Society, make_profile
from psephos.scenarios.fair_voting.paper.cells import FITTED, SIZES, electorate
from psephos.scenarios.fair_voting.paper.runs import table_1
from table import Row, at_most
from trials import interleave, timed

__all__ = ["measure"]

_NUM_VOTERS: Final = 1_000_000
_NUM_ALTERNATIVES: Final = 10
_TRIALS: Final = 3
_MOST_OF_SUMS: Final = 2.5
_TRIALS_OF_TABLE: Final = 1_000
_MOST_SECONDS_OF_TABLE: Final = 60.0
_MECHANISMS: Final[tuple[MechanismName, ...]] = (
    "laplace",
    "sampling",
    "exponential",
    "sampled_pair",
    "sampled_position",
    "noisy_scores",
)


def measure(*, quick: bool) -> Iterator[Row]:
    """Yield a row for each mechanism, and one for Table 1.

    Args:
        quick: a tenth of the voters and of Table 1's elections.
    """
    trials = _TRIALS_OF_TABLE // (10 if quick else 1)
    seconds = timed(lambda: [list(table_1(electorate(FITTED, sizes, trials=trials, seed=1))) for sizes in SIZES])
    yield Row(
        f"fair voting's Table 1, {trials:,} elections a cell",
        f"{seconds:.2f} s",
        goal=at_most(seconds, None if quick else _MOST_SECONDS_OF_TABLE, unit=" s"),
    )
    num_voters = _NUM_VOTERS // (10 if quick else 1)
    profile = _make_profile(num_voters)
    contestants = {"numpy": functools.partial(timed, functools.partial(_add_up, profile))}
    for mechanism in _MECHANISMS:
        contestants[mechanism] = functools.partial(timed, functools.partial(_hold, profile, mechanism))
    times = interleave(contestants, trials=_TRIALS)
    for mechanism in _MECHANISMS:
        ratio = times.ratio(mechanism, "numpy")
        yield Row(
            f"election of {num_voters:,} voters, {_NUM_ALTERNATIVES} alternatives, arrays: {mechanism}",
            f"{times.median(mechanism):.2f} s",
            f"{times.median('numpy'):.2f} s (numpy: the groups' utilities)",
            f"{ratio:.1f}",
            at_most(ratio, None if quick else _MOST_OF_SUMS),
        )


def _make_profile(num_voters: int) -> Profile:
    alternatives = tuple(f"a{number}" for number in range(1, _NUM_ALTERNATIVES + 1))
    north = MallowsGroup(voters=num_voters * 2 // 3, dispersion=0.8)
    south = MallowsGroup(voters=num_voters - north.voters, dispersion=0.9, center=alternatives[::-1])
    return make_profile(Society(alternatives=alternatives, groups={"north": north, "south": south}))


def _hold(profile: Profile, mechanism: MechanismName) -> None:
    sizes: list[int] = np.bincount(profile.members).tolist()
    parameters = {
        "alternatives": profile.alternatives,
        "groups": profile.groups,
        "group_sizes": sizes,
        "mechanism": mechanism,
    }
    protocol = FairVoting(msgspec.convert(parameters, Parameters))
    inputs = protocol.encode({"group": profile.members, "ranking": profile.rankings})
    protocol.check_roster(inputs.public)
    protocol.check_inputs(inputs)
    run_population(protocol, inputs, noise=SimulatedNoise(1, session="benchmark"))


def _add_up(profile: Profile) -> list[IntArray]:
    """Return each group's sums of utilities, without privacy and without a check of anything."""
    utilities = np.arange(_NUM_ALTERNATIVES - 1, -1, -1)
    groups = range(len(profile.groups))
    return [utilities[profile.rankings.positions[profile.members == group]].sum(axis=0) for group in groups]
