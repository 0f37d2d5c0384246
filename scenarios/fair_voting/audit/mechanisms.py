"""Fair voting's mechanisms: randomized rankings, and a trusted aggregator's choices of a winner.

Of a comparison, a position or the whole of a ranking by randomized response every pair of rankings is tried, and the
law is exact. Noisy scores are farthest apart where one ranking is the other reversed.

Winners are few, so that the law is exact; what is searched is profiles. For choices by quality these are all small
profiles that differ in one ranking; for Algorithm 2 a search climbs to a pair that loses much (`paper.neighbors`). A
voter of each group pays a loss of its own.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting import FairVoting, Parameters
from ....protocol.fair_voting.choices import Choice, ExponentialChoice, SampledChoice, SampleScale
from ....protocol.fair_voting.objective import Objective
from ....protocol.fair_voting.scoring import Scoring, make_scores
from ....protocol.mechanisms import NoisyScores, RowMechanism, SampledPair, SampledPosition, WholeRanking
from ....protocol.privacy import NeighboringRelation, TrustModel
from ...audit.case import Case, Pair
from ...audit.mechanisms.sampling import EPSILONS, finite_pairs, local_case, pair_of
from ..paper.neighbors import search_neighbors

__all__ = ["mechanism_cases"]

_NUM_ALTERNATIVES: Final = 3
_GRID_STEPS: Final = 512
"""Between neighboring positions' scores at ε ≥ 1: a scale of Borda's noise has 128 or more up to ε = 8."""
_SECURE_RANKINGS: Final = 1.0
"""ε for which the noise of deployments is audited too."""
_SECURE_SHARES: Final = {"whole": 0.5, "noisy scores": 0.2}
"""Of the outputs asked for, where one takes up to a millisecond with such noise."""

_EPSILONS: Final = (0.5, 2.0, 8.0)
_SECURE_CHOICES: Final = 2.0
_SIZES: Final = (1, 2)
"""Voters of each group, where all profiles are tried."""
_MANY: Final = (40, 80)
"""Voters of each group for Algorithm 2, enough for its samples at ε = 1."""
_SEED: Final = 1
_STARTS, _STEPS = 2, 150
# A draw is a loop over exact fractions, a thousand times as slow as an array's; the law says all but how it is drawn.
_SHARE, _SECURE_SHARE = 0.02, 0.1
# Algorithm 2 draws hundreds of numbers for a winner.
_SAMPLED_SHARE, _SAMPLED_SECURE_SHARE = 0.002, 0.01


def mechanism_cases() -> Iterator[Case]:
    """Yield the cases of randomized rankings, and of mechanisms that choose a winner."""
    yield from _ranking_cases()
    yield from _choice_cases()


def _ranking_cases() -> Iterator[Case]:
    """Yield the four reports, for each ε."""
    for epsilon in EPSILONS:
        is_secure = epsilon == _SECURE_RANKINGS
        finite = {
            "a pair": SampledPair(epsilon, _NUM_ALTERNATIVES),
            "a position": SampledPosition(epsilon, _NUM_ALTERNATIVES),
            "whole": WholeRanking(epsilon, _NUM_ALTERNATIVES),
        }
        pairs = {name: _pairs(mechanism, is_secure=is_secure) for name, mechanism in finite.items()}
        steps = tuple(_GRID_STEPS * score for score in range(_NUM_ALTERNATIVES - 1, -1, -1))
        pairs["noisy scores"] = _reversed(NoisyScores(epsilon, steps), is_secure=is_secure)
        for name, own in pairs.items():
            yield local_case(
                f"{name}, m = {_NUM_ALTERNATIVES}, ε = {epsilon:g}",
                "rankings",
                "ranking",
                own,
                proven=epsilon,
                secure_share=_SECURE_SHARES.get(name, 1.0),
            )


def _pairs(mechanism: RowMechanism, *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    rankings = np.array(list(itertools.permutations(range(_NUM_ALTERNATIVES))), dtype=np.int64)
    return lambda: finite_pairs(mechanism, rankings, is_secure=is_secure)


def _reversed(mechanism: RowMechanism, *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    ranking = list(range(_NUM_ALTERNATIVES))
    return lambda: [
        pair_of(mechanism, ranking, ranking[::-1], name="a ranking and its reverse", is_secure=is_secure),
    ]


def _choice_cases() -> Iterator[Case]:
    """Yield the three mechanisms; of the last one what the paper claims, its label, beside what is proven."""
    scoring = Scoring(make_scores("borda", _NUM_ALTERNATIVES))
    for epsilon in _EPSILONS:
        for group, is_flipped in (("exponential", False), ("permute-and-flip", True)):
            choice = ExponentialChoice(scoring, _SIZES, Objective("parity"), epsilon, is_flipped=is_flipped)
            for voter, proven in enumerate(choice.proven):
                pairs = _all_profiles(choice, voter, is_secure=epsilon == _SECURE_CHOICES)
                name = f"{group}, ε = {epsilon:g}, group of {_SIZES[voter]}"
                yield _case(name, group, claimed=proven, proven=proven, pairs=pairs)
    scales: tuple[SampleScale, ...] = ("unbiased", "printed")
    for scale, gamma in itertools.product(scales, (0.01, 0.05)):
        parameters = Parameters(
            alternatives=tuple("abcd"),
            groups=("few", "many"),
            group_sizes=_MANY,
            mechanism="sampling",
            epsilon=1.0,
            gamma=gamma,
            scale=scale,
        )
        choice = FairVoting(parameters).disclosed.elects_by(SampledChoice)
        yield _case(
            f"Algorithm 2, {scale}, γ = {gamma:g}",
            "sampled-choice",
            claimed=parameters.epsilon,
            proven=choice.proven[0],
            pairs=_searched(choice),
        )


def _all_profiles(choice: Choice, voter: int, *, is_secure: bool) -> Callable[[], Sequence[Pair]]:
    """Return what makes the worst pair of profiles that differ in a ranking of a group."""

    def pairs() -> Sequence[Pair]:
        orders = np.array(list(itertools.permutations(range(_NUM_ALTERNATIVES))))
        utilities = np.array(choice.scoring.steps, dtype=np.int64)[orders]
        neighbors: set[tuple[bytes, bytes]] = set()
        profiles: dict[bytes, IntArray] = {}
        ranked = [itertools.combinations_with_replacement(range(len(orders)), size) for size in choice.group_sizes]
        for profile in itertools.product(*ranked):
            sums = np.concatenate([utilities[list(group)].sum(axis=0) for group in profile])
            profiles[sums.tobytes()] = sums
            place = _NUM_ALTERNATIVES * voter
            for before, after in itertools.product(profile[voter], range(len(orders))):
                changed = sums.copy()
                changed[place : place + _NUM_ALTERNATIVES] += utilities[after] - utilities[before]
                neighbors.add((sums.tobytes(), changed.tobytes()))
        return finite_pairs(
            choice,
            np.array(list(profiles.values())),
            is_secure=is_secure,
            are_neighbors=lambda one, other: (one.tobytes(), other.tobytes()) in neighbors,
        )

    return pairs


def _searched(choice: SampledChoice) -> Callable[[], Sequence[Pair]]:
    """Return what searches a pair of profiles for Algorithm 2."""

    def pairs() -> Sequence[Pair]:
        found = search_neighbors(choice, seed=_SEED, num_starts=_STARTS, num_steps=_STEPS)
        return finite_pairs(choice, np.array([found.sums, found.changed_sums], dtype=np.int64), is_secure=True)

    return pairs


def _case(name: str, group: str, *, claimed: float, proven: float, pairs: Callable[[], Sequence[Pair]]) -> Case:
    return Case(
        name=name,
        group=group,
        unit="voter",
        relation=NeighboringRelation.REPLACE_ONE,
        model=TrustModel.CENTRAL,
        claimed=claimed,
        proven=proven,
        pairs=pairs,
        share=_SAMPLED_SHARE if group == "sampled-choice" else _SHARE,
        secure_share=_SAMPLED_SECURE_SHARE if group == "sampled-choice" else _SECURE_SHARE,
    )
