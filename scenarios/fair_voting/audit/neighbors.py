"""Audits of winners that a trusted aggregator elects at random.

The law of the winner is computed, not sampled: by formulas for the exponential mechanism and permute-and-flip, by
`SampledChoice.probabilities` for Algorithm 2, averaged over all sub-samples if voters are sampled first. All profiles
of two small groups are tried, with every change of one voter. Winners are drawn by the phase, as when a session closes
it; with secure noise, in sessions by machines.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from ....protocol.arrays import FloatArray, IntArray
from ....protocol.fair_voting import FairVoting, Outcome
from ....protocol.fair_voting.choices import ExponentialChoice, SampledChoice
from ....protocol.phases import Inputs
from ....protocol.privacy import NeighboringRelation
from ....protocol.randomness import SimulatedNoise
from ...audit.case import Case, OutputSampler, Pair
from ...audit.exposed_parts import draw_releases
from ...audit.machines import SESSION, RecordedSession, noise_of, session_sampler
from ...audit.whole_sessions import charge

_SHARE: Final = 0.002  # fraction of the requested outputs: an election takes a millisecond, and losses are exact anyway
_SECURE_SHARE: Final = 0.04  # the same for sessions by machines, a millisecond or more each
_SIDES = 2


class RankingCounts(NamedTuple):
    """The number of voters of each group with each ranking, in lexicographic order of positions."""

    left: tuple[int, ...]
    right: tuple[int, ...]


def case_of_profiles(
    vote: FairVoting,
    neighbors: Callable[[], tuple[RankingCounts, RankingCounts]],
    *,
    group: int = 0,
    suffix: str = "",
    share: float = _SHARE,
    is_secure: bool = False,
) -> Case:
    """Return the audit of one election with two groups, for a voter of one group, on neighboring profiles."""
    parameters = vote.parameters
    entries = charge(vote, _rankings(vote)[0].tolist(), (group,), num_sessions=1)
    is_sampled = parameters.kind.is_sampled
    details = f"{parameters.reading}, {parameters.scale}" if is_sampled else parameters.relation.value

    def pairs() -> list[Pair]:
        profiles = neighbors()
        laws = np.stack([law_of_winner(vote, profile) for profile in profiles])
        voters = " against ".join(
            _describe(vote, *(each[group] for each in pair)) for pair in (profiles, profiles[::-1])
        )
        draws = (_draw_of(vote, profiles[0], side=0), _draw_of(vote, profiles[1], side=1))
        secure = (_held(vote, profiles[0], side=0), _held(vote, profiles[1], side=1)) if is_secure else None
        return [Pair(name=f"a voter: {voters}", laws=laws, draws=draws, secure=secure)]

    return Case.against(
        entries,
        name=f"{parameters.mechanism}, {details}{suffix}",
        group=vote.name,
        unit=entries[0].unit,
        pairs=pairs,
        share=share,
        secure_share=_SECURE_SHARE,
    )


def law_of_winner(vote: FairVoting, profile: RankingCounts) -> FloatArray:
    """Return the exact law of the winner, shape (m,), of a mechanism that elects at random.

    The profile may lack one voter of a group.
    """
    phase = vote.disclosed_phase
    if isinstance(phase.choice, ExponentialChoice):
        return np.array(phase.choice.probabilities(sums_of_profile(vote, profile).reshape(-1).tolist()))
    choice = phase.elects_by(SampledChoice)
    if choice.sum_sizes == choice.group_sizes:
        return _law_of_sums(choice, tuple(sums_of_profile(vote, profile).reshape(-1).tolist()))
    law = np.zeros(choice.num_alternatives)
    first_subsamples, right = (
        list(_subsamples(group_profile, size)) for group_profile, size in zip(profile, choice.sum_sizes, strict=True)
    )
    for (one, chance), (other, other_chance) in itertools.product(first_subsamples, right):
        sums = sums_of_profile(vote, RankingCounts(one, other)).reshape(-1)
        law += chance * other_chance * _law_of_sums(choice, tuple(sums.tolist()))
    return law


def sums_of_profile(vote: FairVoting, profile: RankingCounts) -> IntArray:
    """Return the groups' sums of utilities, in steps from the center, shape (2, m)."""
    utilities = np.array(vote.disclosed_phase.scoring.steps, dtype=np.int64)[_rankings(vote)]
    return np.stack([np.array(group_profile, dtype=np.int64) @ utilities for group_profile in profile])


def worst_neighbors(vote: FairVoting, *, group: int = 0) -> tuple[RankingCounts, RankingCounts]:
    """Return the neighbors with the greatest loss among all profiles of two small groups."""
    own_size, other_size = vote.parameters.group_sizes[group], vote.parameters.group_sizes[1 - group]
    number = math.factorial(len(vote.parameters.alternatives))

    @functools.cache
    def log_law_of(profile: RankingCounts) -> FloatArray:
        return np.log(law_of_winner(vote, profile))

    voters = list(_profiles(1, number))
    is_removed = vote.parameters.relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    # Each pair is tried in one direction only, since the loss is symmetric.
    changes = (
        [((0,) * number, own_counts) for own_counts in voters]
        if is_removed
        else list(itertools.combinations(voters, 2))
    )

    def loss(pair: tuple[RankingCounts, RankingCounts]) -> float:
        one, other = (log_law_of(profile) for profile in pair)
        return float(np.max(np.abs(one - other)))

    def profile(own_counts: tuple[int, ...], other: tuple[int, ...]) -> RankingCounts:
        return RankingCounts(own_counts, other) if group == 0 else RankingCounts(other, own_counts)

    return max(
        (
            (profile(_sum(other_profiles, ranking_before), other), profile(_sum(other_profiles, ranking_after), other))
            for other_profiles in _profiles(own_size - 1, number)
            for other in _profiles(other_size, number)
            for ranking_before, ranking_after in changes
        ),
        key=loss,
    )


@functools.lru_cache(maxsize=1 << 12)
def _law_of_sums(choice: SampledChoice, sums: tuple[int, ...]) -> FloatArray:
    """Return the exact law of Algorithm 2's winner; cached, since many profiles have the same sums."""
    return np.array(choice.probabilities(sums))


def _rankings(vote: FairVoting) -> IntArray:
    return np.array(list(itertools.permutations(range(len(vote.parameters.alternatives)))), dtype=np.int64)


def _profiles(num_voters: int, num_rankings: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways of distributing voters over rankings."""
    for rankings in itertools.combinations_with_replacement(range(num_rankings), num_voters):
        yield tuple(rankings.count(place) for place in range(num_rankings))


def _subsamples(counts: Sequence[int], number: int) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield each possible sub-sample of a size, with its probability."""
    ways = math.comb(sum(counts), number)
    for subsample in itertools.product(*(range(count + 1) for count in counts)):
        if sum(subsample) == number:
            yield subsample, math.prod(map(math.comb, counts, subsample)) / ways


def _sum(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _describe(vote: FairVoting, counts: Sequence[int], other_counts: Sequence[int]) -> str:
    """Return the voter's ranking in the first profile, in words, from its group's counts in both profiles."""
    names = vote.parameters.alternatives
    for place, (count, other_count) in enumerate(zip(counts, other_counts, strict=True)):
        if count > other_count:
            order: list[int] = np.argsort(_rankings(vote)[place]).tolist()
            return ">".join(names[alternative] for alternative in order)
    return "nobody"


def _inputs_of(vote: FairVoting, profile: RankingCounts) -> Inputs:
    """Return the rows of a profile's voters."""
    rankings = _rankings(vote)
    positions = np.concatenate([np.repeat(rankings, group_counts, axis=0) for group_counts in profile])
    groups = np.repeat(np.arange(len(profile), dtype=np.int64), [sum(group_counts) for group_counts in profile])
    return Inputs(positions, groups[:, None])


def _held(vote: FairVoting, profile: RankingCounts, *, side: int) -> OutputSampler:
    """Return a sampler of the winner by sessions with secure noise."""
    names = vote.parameters.alternatives

    def observe(session: RecordedSession) -> Sequence[Sequence[int]]:
        assert isinstance(session.outcome, Outcome)  # noqa: S101  this protocol's
        return [[names.index(session.outcome.winner)]]

    return session_sampler(vote, _inputs_of(vote, profile), observe, noise_of("secure"), side=side)


def _draw_of(vote: FairVoting, profile: RankingCounts, *, side: int) -> OutputSampler:
    phase, inputs = vote.disclosed_phase, _inputs_of(vote, profile)
    tally = phase.tally(inputs.private, earlier=(), public=inputs.public)

    def draw(number: int, stream: int) -> IntArray:
        return draw_releases(vote, phase, tally, number, SimulatedNoise(_SIDES * stream + side, session=SESSION))

    return draw
