"""One fair and private vote with all parties in one function, to be read beside the paper's Algorithms 1 and 2.

Agents, the array path and replays must equal it bit for bit; the tests hold them to that.
"""

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from ..phases import Inputs
from ..randomness import SimulatedNoise
from ..tally import Tally
from .outcome import Outcome
from .phases import DisclosedRankings, JointRankings, RandomizedRankings
from .protocol import FairVoting
from .subsample import Subsample

__all__ = ["reference_run"]


def reference_run(protocol: FairVoting, inputs: Inputs, *, noise: SimulatedNoise) -> Outcome:
    """Run a session of any mechanism but `masked` in which every voter answers.

    Raises:
        NotImplementedError: sums are masked.

    Source:
        Mohsin, Fair and Private Voting Rules, Algorithms 1 and 2; readings F1 to F6.
    """
    phase = protocol.phase
    rankings: list[list[int]] = inputs.private.tolist()
    if isinstance(phase, JointRankings):
        # What a voter randomizes holds its group, which nobody is told.
        return _run_local(protocol, phase, rankings, [None] * len(inputs), noise)
    groups: list[int] = inputs.public[:, 0].tolist()
    if isinstance(phase, RandomizedRankings):
        return _run_local(protocol, phase, rankings, groups, noise)
    if not isinstance(phase, DisclosedRankings):
        raise NotImplementedError("masked sums have no second way of computing them")
    # Voters send their rankings to the aggregator, which is trusted with them. Algorithm 1, line 2; here sums, since
    # the groups' sizes are public.
    if protocol.parameters.kind.counts_pairs:
        sums = _differences(rankings)
    else:
        sums = _sums(phase, rankings, groups, num_groups=len(protocol.parameters.groups))
    stream = f"release of {phase.name}"
    if phase.choice is None:
        # Algorithm 1, lines 3 to 5: noise on the groups' utilities; the least difference wins.
        noisy = noise.randomize(phase.tally_mechanism, sums, protocol=protocol.name, phase=stream, place=0)
        return protocol.outcome(
            [Tally(len(inputs), np.array(noisy, dtype=np.int64).reshape(len(protocol.parameters.groups), -1))]
        )
    if protocol.parameters.samples_voters_first:
        # Algorithm 2, line 4.
        sums = _sums_of_sampled(protocol, phase, rankings, groups, noise)
        stream += ", draw 2"
    # Algorithm 2, lines 2 and 5 to 19, or the exponential mechanism.
    winner = noise.randomize(phase.choice, sums, protocol=protocol.name, phase=stream, place=0)
    return protocol.outcome([Tally(len(inputs), np.array(winner, dtype=np.int64))])


def _differences(rankings: list[list[int]]) -> list[int]:
    """Return how many prefer a to b less how many prefer b to a, for each a < b."""
    pairs = itertools.combinations(range(len(rankings[0])), 2)
    return [sum(1 if own[a] < own[b] else -1 for own in rankings) for a, b in pairs]


def _sums(phase: DisclosedRankings, rankings: list[list[int]], groups: list[int], *, num_groups: int) -> list[int]:
    """Return each group's sums of utilities, group after group."""
    steps = phase.scoring.steps
    sums = [[0] * phase.num_values for _ in range(num_groups)]
    for ranking, group in zip(rankings, groups, strict=True):
        for alternative, position in enumerate(ranking):
            sums[group][alternative] += steps[position]
    return [total for own in sums for total in own]


def _sums_of_sampled(
    protocol: FairVoting, phase: DisclosedRankings, rankings: list[list[int]], groups: list[int], noise: SimulatedNoise
) -> list[int]:
    parameters = protocol.parameters
    subsample = Subsample(parameters.group_sizes, parameters.samples)
    places = noise.randomize(subsample, [0], protocol=protocol.name, phase=f"release of {phase.name}", place=0)
    sampled: list[list[int]] = []
    owners: list[int] = []
    for group in range(len(parameters.groups)):
        own = sorted(ranking for ranking, of in zip(rankings, groups, strict=True) if of == group)
        start = group * parameters.samples
        sampled += [own[place] for place in places[start : start + parameters.samples]]
        owners += [group] * parameters.samples
    return _sums(phase, sampled, owners, num_groups=len(parameters.groups))


def _run_local(
    protocol: FairVoting,
    phase: RandomizedRankings | JointRankings,
    rankings: list[list[int]],
    groups: Sequence[int | None],
    noise: SimulatedNoise,
) -> Outcome:
    """Run a session in the local model: every voter randomizes its own ranking, and only that leaves it."""
    tallies: list[Tally] = []
    for place, (ranking, group) in enumerate(zip(rankings, groups, strict=True)):
        report = noise.randomize(phase.mechanism, ranking, protocol=protocol.name, phase=phase.name, place=place)
        own = np.array([report], dtype=np.int64)
        public = np.array([[] if group is None else [group]], dtype=np.int64)
        tallies.append(phase.tally(own, earlier=[], public=public))
    return protocol.outcome([functools.reduce(Tally.merge, tallies)])
