"""What privacy costs a profile of one's own: fairness and welfare of winners, over prices and mechanisms.

A point is one mechanism at one ε: many elections of the same voters, each with noise of its own, by the protocol's own
code over arrays; of a choice by quality the law is computed, and nothing is drawn. What is shown are the true ΔW and W
of the winners, so that these numbers are no release: they are for whoever has the rankings anyhow.

All points share their luck (`elections`): two mechanisms differ by what they are, and less by what was drawn.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from ...protocol.arrays import FloatArray, IntArray
from ...protocol.errors import ConfigurationError, one_of, require
from ...protocol.fair_voting import FairVoting, Parameters
from ...protocol.fair_voting.objective import OBJECTIVES
from ...protocol.phases import Inputs
from ...protocol.randomness import SimulatedNoise
from ..experiments.measurements import Measurement, mean_of
from .comparisons import MECHANISMS, with_mechanism
from .elections import choice_shares, clean_release, elect, release
from .profiles import Profiles, fixed_profile

EPSILONS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # unless others are asked for
MOST_TRIALS: Final = 100_000
_MOST_REPORTS: Final = 1 << 31
"""Of all elections of one mechanism without trust, which randomizes what every voter says each time."""
_SESSION: Final = "trade-off"
_WITHOUT_TRUST: Final = frozenset({"local", "joint"})
_OF_PRIVATE_GROUPS: Final = "joint"


def usual_mechanisms(parameters: Parameters) -> tuple[str, ...]:
    """Return what is compared unless somebody asks for something else: what keeps groups private where they are."""
    return tuple(name for name in MECHANISMS if parameters.is_joint or name != _OF_PRIVATE_GROUPS)


class TradeOffRow(msgspec.Struct, frozen=True, kw_only=True):
    """One mechanism at one ε."""

    mechanism: str  # of `MECHANISMS`
    epsilon: float  # the parameter
    epsilon_claimed: float  # what the paper says
    epsilon_proven: float | None  # of the voter who pays most; None where it is unbounded
    gamma: float | None  # γ of Algorithm 2
    num_samples: int | None  # n_s of Algorithm 2
    disparity: Measurement  # the mean true ΔW of the winners; of features that overlap the greatest
    welfare: Measurement  # the mean true W
    agreement: Measurement  # how often the winner is one without privacy
    trials: int  # how many elections were drawn; 0 where the law was computed, and no number has an error


@dataclasses.dataclass(frozen=True)
class TradeOff:
    """The curves of a profile."""

    parameters: Parameters  # the session's, whose objective is elected by
    rows: Sequence[TradeOffRow]  # the points, mechanism by mechanism, ε by ε
    left_out: Mapping[str, str]  # why a mechanism has no point at some ε, by the mechanism's name
    disparities: Sequence[float]  # the true ΔW of each alternative; of features that overlap the greatest
    welfares: Sequence[float]  # the true W of each alternative
    best: Sequence[int]  # the places of those that win without privacy

    @property
    def clean(self) -> tuple[float, float]:
        """The mean ΔW and W of the winners without privacy."""
        number = len(self.best)
        return (
            math.fsum(self.disparities[place] for place in self.best) / number,
            math.fsum(self.welfares[place] for place in self.best) / number,
        )


def trade_off(
    vote: FairVoting,
    inputs: Inputs,
    *,
    epsilons: Sequence[float] = EPSILONS,
    mechanisms: Sequence[str] = (),
    trials: int = 400,
    seed: int = 1,
) -> TradeOff:
    """Return the curves of fairness, welfare and proven ε for the voters of a vote.

    Args:
        vote: whose objective, scores and relation count.
        inputs: all voters' rankings and groups.
        epsilons: the prices, as the parameter `epsilon` has them.
        mechanisms: of `MECHANISMS`; by default the usual ones.
        trials: elections for each point that is drawn, at least 2.
        seed: of all noise.
    """
    mechanisms = mechanisms or usual_mechanisms(vote.parameters)
    _check(vote, len(inputs), epsilons, mechanisms, trials)
    parameters = vote.parameters
    members, positions = vote.members_of(inputs)
    profiles = fixed_profile(positions, members, len(parameters.groups))
    disparities, welfares = _served(parameters, profiles)
    clean = clean_release(with_mechanism(parameters, "laplace", epsilon=parameters.epsilon), profiles)
    is_best = clean.best(parameters.make_objective())[0]
    best: list[int] = np.flatnonzero(is_best).tolist()
    values = np.stack([disparities, welfares, is_best.astype(np.float64)])
    rows: list[TradeOffRow] = []
    left_out: dict[str, str] = {}
    for name in mechanisms:
        for epsilon in epsilons:
            try:
                own = with_mechanism(parameters, name, epsilon=epsilon)
                own.check_ties(positions)
            except ConfigurationError as error:
                left_out.setdefault(name, str(error))
                continue
            rows.append(_row(own, name, profiles, values, trials=trials, seed=seed))
    return TradeOff(parameters, rows, left_out, disparities.tolist(), welfares.tolist(), best)


def _check(
    vote: FairVoting, num_voters: int, epsilons: Sequence[float], mechanisms: Sequence[str], trials: int
) -> None:
    require(1 < trials <= MOST_TRIALS, "trials", trials, f"in [2, {MOST_TRIALS}]")  # one has no standard error
    require(epsilons, "epsilons", "none", "at least one")
    own = vote.parameters.objective
    require(
        own in OBJECTIVES, "objective", own, f"{one_of(OBJECTIVES, own)}: curves are drawn for these; trials take any"
    )
    for name in mechanisms:
        require(name in MECHANISMS, "mechanism", name, f"one of {'; '.join(MECHANISMS)}")
    for epsilon in epsilons:  # by the rules of the session, which know no number that is none
        with_mechanism(vote.parameters, "laplace", epsilon=epsilon)
    without_trust = [name for name in mechanisms if name in _WITHOUT_TRUST]
    if without_trust and trials * num_voters > _MOST_REPORTS:
        allowed = f"at most {_MOST_REPORTS // num_voters} with {num_voters} voters and mechanism {without_trust[0]!r}"
        raise ConfigurationError(field="trials", value=trials, allowed=allowed)


def _row(
    parameters: Parameters, name: str, profiles: Profiles, values: FloatArray, *, trials: int, seed: int
) -> TradeOffRow:
    vote = FairVoting(parameters)
    (loss,) = vote.losses
    is_sampling = parameters.kind.is_sampled
    if parameters.kind.is_by_quality:
        found = [Measurement(float(value), 0.0) for value in values @ choice_shares(vote, profiles)[0]]
    else:
        released = release(vote, profiles, trials=trials, noise=SimulatedNoise(seed, session=_SESSION))
        winners: IntArray = elect(released, parameters.make_objective())
        found = [mean_of(own[winners]) for own in values]
    disparity, welfare, agreement = found
    return TradeOffRow(
        mechanism=name,
        epsilon=parameters.epsilon,
        epsilon_claimed=loss.claimed,
        epsilon_proven=None if math.isinf(loss.proven) else loss.proven,
        gamma=parameters.plan.gamma if is_sampling else None,
        num_samples=parameters.samples if is_sampling else None,
        disparity=disparity,
        welfare=welfare,
        agreement=agreement,
        trials=0 if parameters.kind.is_by_quality else trials,
    )


def _served(parameters: Parameters, profiles: Profiles) -> tuple[FloatArray, FloatArray]:
    """Return each alternative's true ΔW, of features the greatest, and W: shape (m,) each."""
    scoring = parameters.make_scoring(is_centered=False)
    sums = profiles.sums(scoring)[0]
    sizes = np.array(profiles.group_sizes)
    welfares: FloatArray = sums.sum(axis=0) / sum(profiles.group_sizes) * scoring.step
    disparities: list[FloatArray] = []
    alone = tuple((place,) for place in range(len(sizes)))
    for partition in parameters.make_objective().partitions or (alone,):
        of_feature = [list(places) for places in partition]
        utilities = np.stack([sums[places].sum(axis=0) / sizes[places].sum() * scoring.step for places in of_feature])
        disparities.append(utilities.max(axis=0) - utilities.min(axis=0))
    return np.max(disparities, axis=0), welfares
