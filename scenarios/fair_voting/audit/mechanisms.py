"""Audits of fair voting's mechanisms: randomized rankings, and a trusted aggregator's choices of a winner.

Reports of a comparison, a position or a whole ranking by randomized response have exact laws, and every pair of
rankings is tried. Noisy scores differ most between a ranking and its reverse. If groups are private, every pair of
group and ranking is tried; noisy scores of two groups are equally far apart for all rankings.

Winners are few, so their laws are exact, and the search is for profiles. For choices by quality, all small profiles
that differ in one ranking are tried. For Algorithm 2, a local search finds a pair with a large loss (`winner_laws`).
The loss of each group's voters is audited separately.

Algorithm 1 releases sums with Laplace noise, under both relations. Algorithm 2's sample of voters does not depend on
rankings. Rankings, profiles, sums and sub-samples are drawn and tested against their laws.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.fair_voting import FairVoting, Feature, Parameters
from ....protocol.fair_voting.choices import Choice, ExponentialChoice, SampledChoice, SampleScale
from ....protocol.fair_voting.objective import Objective
from ....protocol.fair_voting.rankings import cells_of_members
from ....protocol.fair_voting.scoring import Scoring, make_scores
from ....protocol.fair_voting.subsample import Subsample
from ....protocol.mechanisms import (
    JointPair,
    JointPosition,
    JointRanking,
    JointScores,
    NoisyScores,
    RowMechanism,
    SampledPair,
    SampledPosition,
    WholeRanking,
)
from ....protocol.privacy import NeighboringRelation, TrustModel
from ...audit.case import Case, LawCheck, Pair
from ...audit.mechanisms.checking import checks_of
from ...audit.mechanisms.sampling import EPSILONS, finite_pairs, local_case, pair_of
from .winner_laws import search_neighbors

_NUM_ALTERNATIVES: Final = 3
_NUM_GROUPS: Final = 2
_JOINT_EPSILONS: Final = (0.5, 1.0, 4.0)
_GRID_STEPS: Final = 512
"""Grid steps between scores of neighboring positions at ε ≥ 1; a scale of Borda's noise then has at least 128 up to ε =
8."""
_SECURE_RANKINGS: Final = 1.0  # ε at which the noise of deployments is audited too
_SECURE_SHARES: Final = {"whole": 0.5, "noisy scores": 0.2}
"""Fractions of the requested outputs with secure noise, of which one takes up to a millisecond."""

_EPSILONS: Final = (0.5, 2.0, 8.0)
_SECURE_CHOICES: Final = 2.0
_SIZES: Final = (1, 2)  # voters of each group if all profiles are tried
_CROSSINGS: Final = (1, 1, 1)
_FEATURES: Final = (((0, 1), (2,)), ((0,), (1, 2)))
"""Two features with three crossings, of which the middle one is in the larger group of both."""
_MANY: Final = (40, 80)  # voters of each group for Algorithm 2, enough for its samples at ε = 1
_NAMES: Final = tuple("abcd")  # names of the alternatives
_SEED: Final = 1
_STARTS, _STEPS = 2, 150
# Fractions of the requested outputs: a draw loops over exact fractions, a thousand times as slow as arrays, and the law
# already gives the exact loss.
_SHARE, _SECURE_SHARE = 0.02, 0.3
_SAMPLED_SHARE, _SAMPLED_SECURE_SHARE = 0.002, 0.03  # Algorithm 2 draws hundreds of numbers for a winner
_MOST_PROFILES: Final = 8  # most profiles that are tested against their laws
_RELEASED_SECURE_SHARE: Final = 0.2  # fraction of the requested outputs, which are rows of eight numbers
_SUBSAMPLED: Final = Subsample((4, 5), 2)
_SUBSAMPLE_SHARE: Final = 0.1


def mechanism_cases() -> Iterator[Case]:
    """Yield the cases of randomized rankings and of choices of a winner."""
    yield from _ranking_cases()
    yield from _joint_cases()
    yield from _choice_cases()
    yield from _released_cases()
    yield _subsample_case()


def _ranking_cases() -> Iterator[Case]:
    """Yield the cases of the four reports of a ranking, for each ε."""
    steps = tuple(_GRID_STEPS * score for score in range(_NUM_ALTERNATIVES - 1, -1, -1))
    for epsilon in EPSILONS:
        mechanisms: dict[str, RowMechanism] = {
            "a pair": SampledPair(epsilon, _NUM_ALTERNATIVES),
            "a position": SampledPosition(epsilon, _NUM_ALTERNATIVES),
            "whole": WholeRanking(epsilon, _NUM_ALTERNATIVES),
            "noisy scores": NoisyScores(epsilon, steps),
        }
        setting_text = f"m = {_NUM_ALTERNATIVES}, ε = {epsilon:g}"
        for name, mechanism in mechanisms.items():
            share = _SECURE_SHARES.get(name, 1.0)
            yield _local_case(
                f"{name}, {setting_text}", "ranking", mechanism, _rankings(_NUM_ALTERNATIVES), epsilon, share
            )


def _joint_cases() -> Iterator[Case]:
    """Yield the cases of joint reports of group and ranking, for each ε."""
    rankings = _rankings(_NUM_ALTERNATIVES)
    rows = np.concatenate([cells_of_members(np.full(len(rankings), group), rankings) for group in range(_NUM_GROUPS)])
    steps = tuple(_GRID_STEPS * score for score in range(1, -_NUM_ALTERNATIVES + 1, -1))
    for epsilon in _JOINT_EPSILONS:
        mechanisms: dict[str, RowMechanism] = {
            "a sign of one group": JointPair(epsilon, _NUM_ALTERNATIVES, _NUM_GROUPS, 1),
            "a sign of every group": JointPair(epsilon, _NUM_ALTERNATIVES, _NUM_GROUPS, _NUM_GROUPS),
            "group and position": JointPosition(epsilon, _NUM_ALTERNATIVES, _NUM_GROUPS),
            "group and ranking": JointRanking(epsilon, _NUM_ALTERNATIVES, _NUM_GROUPS),
            "scores of all groups": JointScores(epsilon, steps, _NUM_GROUPS),
        }
        setting_text = f"m = {_NUM_ALTERNATIVES}, G = {_NUM_GROUPS}, ε = {epsilon:g}"
        for name, mechanism in mechanisms.items():
            share = _SECURE_SHARES["noisy scores" if isinstance(mechanism, JointScores) else "whole"]
            yield _local_case(f"{name}, {setting_text}", "group and ranking", mechanism, rows, epsilon, share)


def _local_case(
    name: str, unit: str, mechanism: RowMechanism, rows: IntArray, epsilon: float, secure_share: float
) -> Case:
    """Return the case of a report of these rows, whose first and last are farthest apart."""
    is_secure = epsilon == _SECURE_RANKINGS

    def pairs() -> Sequence[Pair]:
        if isinstance(mechanism, (NoisyScores, JointScores)):
            pair_text = "two groups" if isinstance(mechanism, JointScores) else "a ranking and its reverse"
            return [pair_of(mechanism, rows[0].tolist(), rows[-1].tolist(), name=pair_text, is_secure=is_secure)]
        return finite_pairs(mechanism, rows, is_secure=is_secure)

    return local_case(
        name,
        "rankings" if unit == "ranking" else "joint-rankings",
        unit,
        pairs,
        proven=epsilon,
        secure_share=secure_share,
        law_checks=functools.partial(checks_of, mechanism, rows, limit=_MOST_PROFILES),
    )


def _rankings(number: int) -> IntArray:
    return np.array(list(itertools.permutations(range(number))), dtype=np.int64)


def _choice_cases() -> Iterator[Case]:
    """Yield the cases of the three choices; for Algorithm 2 with the paper's label as the claimed ε."""
    scoring = Scoring(make_scores("borda", _NUM_ALTERNATIVES))
    for epsilon in _EPSILONS:
        is_secure = epsilon == _SECURE_CHOICES
        for group, is_flipped in (("exponential", False), ("permute-and-flip", True)):
            choice = ExponentialChoice(scoring, _SIZES, Objective("parity"), epsilon, is_flipped=is_flipped)
            yield from _group_cases(choice, f"{group}, ε = {epsilon:g}", group, is_secure=is_secure)
            if is_secure:
                objective = Objective("welfare_constrained", welfare_share=Fraction(3, 4))
                floored = dataclasses.replace(choice, objective=objective)
                yield from _group_cases(floored, f"{group} above a floor, ε = {epsilon:g}", group, claimed=epsilon)
    votes = _few(num_samples=2, gamma=0.25), _few(calibration="proven", epsilon=2.0, num_samples=2)
    for vote, words in zip(votes, ("two samples", "proven ε = 2"), strict=True):
        choice = vote.disclosed_phase.elects_by(SampledChoice)
        name, claimed = f"Algorithm 2 above a floor, {words}", vote.parameters.claimed_epsilon
        yield from _group_cases(choice, name, "sampled-choice", claimed=claimed)
    overlapping = Objective("penalized", partitions=_FEATURES)
    choice = ExponentialChoice(scoring, _CROSSINGS, overlapping, _SECURE_CHOICES)
    for voter in range(len(_CROSSINGS)):
        name = f"exponential, two features, ε = {_SECURE_CHOICES:g}, crossing {voter + 1}"
        yield _case_of_voter(choice, voter, name, "exponential")
    three = Parameters(
        alternatives=_NAMES[:_NUM_ALTERNATIVES],
        groups=("one", "both", "other"),
        group_sizes=_CROSSINGS,
        mechanism="sampling",
        num_samples=1,
        gamma=0.25,
        features=(Feature(name="first", of=("a", "a", "b")), Feature(name="second", of=("a", "b", "b"))),
    )
    sampled = FairVoting(three).disclosed_phase.elects_by(SampledChoice)
    name = "Algorithm 2, two features, one sample"
    yield _case_of_voter(sampled, 1, name, "sampled-choice", claimed=three.claimed_epsilon)
    scales: tuple[SampleScale, ...] = ("unbiased", "printed")
    large = [
        (f"{scale}, γ = {gamma:g}", {"scale": scale, "gamma": gamma}) for scale in scales for gamma in (0.01, 0.05)
    ]
    large += [(f"{scale}, proven ε = 1", {"scale": scale, "calibration": "proven"}) for scale in scales]
    for words, parameters in large:
        vote = _vote(mechanism="sampling", **parameters)
        choice = vote.disclosed_phase.elects_by(SampledChoice)
        yield _case(
            f"Algorithm 2, {words}",
            "sampled-choice",
            claimed=vote.parameters.claimed_epsilon,
            proven=choice.proven[0],
            pairs=functools.partial(_search_profiles, choice),
            law_checks=functools.partial(_sampled_checks, choice),
        )


def _group_cases(
    choice: Choice, name: str, group: str, *, claimed: float | None = None, is_secure: bool = False
) -> Iterator[Case]:
    """Yield a case for each group's voter, over all small profiles."""
    for voter, size in enumerate(choice.group_sizes):
        yield _case_of_voter(choice, voter, f"{name}, group of {size}", group, claimed=claimed, is_secure=is_secure)


def _case_of_voter(
    choice: Choice, voter: int, name: str, group: str, *, claimed: float | None = None, is_secure: bool = False
) -> Case:
    """Return the case of one group's voter, over all small profiles; by default the claimed ε is the proven one."""
    return _case(
        name,
        group,
        claimed=choice.proven[voter] if claimed is None else claimed,
        proven=choice.proven[voter],
        pairs=functools.partial(_worst_profiles, choice, voter, is_secure=is_secure),
        law_checks=functools.partial(_profile_checks, choice),
    )


def _few(**parameters: Any) -> FairVoting:
    """Return a small vote by samples over three alternatives, with a floor for welfare."""
    values: dict[str, Any] = {"alternatives": _NAMES[:_NUM_ALTERNATIVES], "group_sizes": _SIZES}
    return _vote(mechanism="sampling", objective="welfare_constrained", **values | parameters)


def _released_cases() -> Iterator[Case]:
    """Yield the cases of Algorithm 1's sums, for replaced voters, and for added or removed ones."""
    ranking, other = list(range(len(_NAMES))), list(range(len(_NAMES)))[::-1]
    for relation in NeighboringRelation:
        phase = _vote(relation=relation).disclosed_phase
        (loss,) = phase.losses_of((0,))
        # The voter, and one voter of each group, whose sums cancel in every comparison.
        rankings_before = [other] if relation is NeighboringRelation.REPLACE_ONE else []
        sums = [
            phase.sums_of(np.array([*rankings, ranking, ranking]), np.array([0] * (len(rankings) + 1) + [1])).reshape(
                -1
            )
            for rankings in (rankings_before, [ranking])
        ]
        mechanism = phase.tally_mechanism
        yield Case(
            name=f"Algorithm 1's sums, m = {len(_NAMES)}, {relation.value}",
            group="released-sums",
            unit="voter",
            relation=relation,
            model=TrustModel.CENTRAL,
            claimed=loss.claimed,
            proven=loss.proven,
            pairs=functools.partial(_pair, mechanism, sums[0].tolist(), sums[1].tolist()),
            is_tight=True,
            secure_share=_RELEASED_SECURE_SHARE,
            law_checks=functools.partial(checks_of, mechanism, np.stack(sums)),
        )


def _pair(mechanism: RowMechanism, first: Sequence[int], second: Sequence[int]) -> list[Pair]:
    return [pair_of(mechanism, first, second, name="a ranking and its reverse, or none", is_secure=True)]


def _subsample_case() -> Case:
    """Return the case that the sub-sample's law does not depend on the profile."""
    rows = np.zeros((2, 1), dtype=np.int64)
    sizes = " and ".join(map(str, _SUBSAMPLED.group_sizes))
    return Case(
        name=f"{_SUBSAMPLED.num_samples} voters of {sizes}",
        group="subsample",
        unit="voter",
        model=TrustModel.CENTRAL,
        claimed=0.0,
        proven=0.0,
        pairs=lambda: finite_pairs(_SUBSAMPLED, rows, is_secure=True),
        is_tight=True,
        note="No draw looks at a ranking.",
        share=_SUBSAMPLE_SHARE,
        law_checks=lambda: checks_of(_SUBSAMPLED, rows[:1]),
    )


def _worst_profiles(choice: Choice, voter: int, *, is_secure: bool) -> Sequence[Pair]:
    """Return the pair with the greatest loss of profiles that differ in one ranking of a group."""
    utilities = _utilities(choice)
    neighbors: set[tuple[bytes, bytes]] = set()
    profiles: dict[bytes, IntArray] = {}
    for profile, sums in _profiles(choice):
        profiles[sums.tobytes()] = sums
        place = _NUM_ALTERNATIVES * voter
        for ranking_before, ranking_after in itertools.product(profile[voter], range(len(utilities))):
            changed_sums = sums.copy()
            changed_sums[place : place + _NUM_ALTERNATIVES] += utilities[ranking_after] - utilities[ranking_before]
            neighbors.add((sums.tobytes(), changed_sums.tobytes()))
    return finite_pairs(
        choice,
        np.array(list(profiles.values())),
        is_secure=is_secure,
        are_neighbors=lambda one, other: (one.tobytes(), other.tobytes()) in neighbors,
    )


def _profile_checks(choice: Choice) -> Sequence[LawCheck]:
    """Return checks of some profiles against their laws."""
    return checks_of(choice, np.unique([sums for _, sums in _profiles(choice)], axis=0), limit=_MOST_PROFILES)


def _profiles(choice: Choice) -> Iterator[tuple[Sequence[Sequence[int]], IntArray]]:
    """Yield every profile as counts of rankings by group, with the groups' sums of utilities."""
    utilities = _utilities(choice)
    group_profiles = [
        itertools.combinations_with_replacement(range(len(utilities)), size) for size in choice.group_sizes
    ]
    for profile in itertools.product(*group_profiles):
        yield profile, np.concatenate([utilities[list(group)].sum(axis=0) for group in profile])


def _utilities(choice: Choice) -> IntArray:
    """Return each ranking's utilities, in steps."""
    return np.array(choice.scoring.steps, dtype=np.int64)[_rankings(_NUM_ALTERNATIVES)]


def _sampled_checks(choice: SampledChoice) -> Sequence[LawCheck]:
    """Return checks of Algorithm 2 for unanimous profiles, and for profiles with two rankings."""
    utilities = np.array(choice.scoring.steps, dtype=np.int64)[_rankings(choice.num_alternatives)]
    few, many_voters = choice.sum_sizes
    rows = [
        np.concatenate(
            [
                few * utilities[one],
                many_voters // 2 * utilities[one] + (many_voters - many_voters // 2) * utilities[other],
            ]
        )
        for one, other in ((0, 0), (0, len(utilities) - 1), (len(utilities) // 2, 1))
    ]
    return checks_of(choice, np.array(rows))


def _vote(**parameters: Any) -> FairVoting:
    """Return a vote over four alternatives, with few or many voters."""
    values: dict[str, Any] = {"alternatives": _NAMES, "groups": ("few", "many"), "group_sizes": _MANY, "epsilon": 1.0}
    return FairVoting(Parameters(**values | parameters))


def _search_profiles(choice: SampledChoice) -> Sequence[Pair]:
    """Search a pair of profiles with a large loss for Algorithm 2."""
    neighbors = search_neighbors(choice, seed=_SEED, num_starts=_STARTS, num_steps=_STEPS)
    return finite_pairs(choice, np.array([neighbors.sums, neighbors.changed_sums], dtype=np.int64), is_secure=True)


def _case(
    name: str,
    group: str,
    *,
    claimed: float,
    proven: float,
    pairs: Callable[[], Sequence[Pair]],
    law_checks: Callable[[], Sequence[LawCheck]],
) -> Case:
    return Case(
        name=name,
        group=group,
        unit="voter",
        model=TrustModel.CENTRAL,
        claimed=claimed,
        proven=proven,
        pairs=pairs,
        share=_SAMPLED_SHARE if group == "sampled-choice" else _SHARE,
        secure_share=_SAMPLED_SECURE_SHARE if group == "sampled-choice" else _SECURE_SHARE,
        law_checks=law_checks,
    )
