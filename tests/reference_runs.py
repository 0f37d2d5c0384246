"""One session of each protocol with all parties in one function, to be read beside its paper's algorithms.

Agents, the array path and replays must equal it bit for bit: `conformance/test_protocols.py` holds them to that. Truth
discovery has its own in `protocol.truth_discovery.reference`.
"""

import functools
import itertools
from collections.abc import Sequence

import numpy as np
from psephos.protocol import Inputs, SimulatedNoise, Tally
from psephos.protocol.dpwevote import DPWeVote
from psephos.protocol.dpwevote import Outcome as VoteOutcome
from psephos.protocol.dpwevote.central import CentralVotes
from psephos.protocol.fair_voting import FairVoting
from psephos.protocol.fair_voting import Outcome as VotingOutcome
from psephos.protocol.fair_voting.phases import DisclosedRankings, JointRankings, RandomizedRankings
from psephos.protocol.fair_voting.subsample import Subsample
from psephos.protocol.moral_preferences import MoralPreferences
from psephos.protocol.moral_preferences import Outcome as PreferencesOutcome
from psephos.protocol.moral_preferences.phases import DisclosedPhase


def run_dpwevote(vote: DPWeVote, inputs: Inputs, *, noise: SimulatedNoise) -> VoteOutcome:
    """Run a DPWeVote session of any variant but `laplace` and `masked` in which every partner answers."""
    parameters = vote.parameters
    if parameters.kind.model.trusts_server:
        return _run_central(vote, inputs, noise)
    num_groups = len(parameters.group_means)
    tallies: list[Tally] = []
    reported_group = [int(group) for group in inputs.public[:, 0]] if parameters.public_weights else [0] * len(inputs)
    for phase in vote.phases:
        # Each partner randomizes its own values and sends nothing else (Figures 2 and 3, the partner's side).
        reports: list[Sequence[int]] = []
        for place, row in enumerate(inputs.private.tolist()):
            values = row[phase.columns]
            uniforms = noise.uniforms(
                protocol=vote.name, phase=phase.name, start=place, stop=place + 1, slots=len(values)
            )[0]
            mechanism = phase.mechanism_of(inputs.public[place].tolist())  # its own, where it has an ε of its own
            reports.append(mechanism.randomize_row(values, uniforms.tolist()))
        # The cloud server counts (the same figures, the server's side).
        if phase.name.startswith("weights"):
            reported_group = [report[0] for report in reports]
            counts = [reported_group.count(group) for group in range(num_groups)]
            tallies.append(Tally(len(reports), np.array(counts, dtype=np.int64)))
        elif parameters.reports_signed_weights:
            levels = inputs.public[:, -1].tolist() if parameters.own_levels.epsilons else [0] * len(inputs)
            by_level = np.zeros(
                (len(parameters.level_parameters), phase.num_values, phase.mechanism.report_range[1] + 1),
                dtype=np.int64,
            )
            for level, report in zip(levels, reports, strict=True):
                for candidate, vote_reported in enumerate(report):
                    by_level[level, candidate, vote_reported] += 1
            tallies.append(Tally(len(reports), by_level if parameters.own_levels.epsilons else by_level[0]))
        else:
            table = np.zeros((phase.num_values, num_groups, 2), dtype=np.int64)
            for group, report in zip(reported_group, reports, strict=True):
                for candidate, opinion in enumerate(report):
                    table[candidate, group, opinion] += 1
            tallies.append(Tally(len(reports), table))
    # It estimates, decides and releases (Section 4.4).
    return vote.outcome(tallies)


def _run_central(vote: DPWeVote, inputs: Inputs, noise: SimulatedNoise) -> VoteOutcome:
    """Run a session of the variant `central`: the server adds up what it is shown, and draws noise once."""
    (phase,) = vote.phases
    assert isinstance(phase, CentralVotes)  # of this variant
    num_candidates, sums = len(vote.parameters.candidates), phase.sums
    is_public = vote.parameters.public_weights
    totals = [0] * (num_candidates + bool(len(sums.totals)))
    numbers = [0] * len(vote.parameters.weights)
    for row, public in zip(inputs.private.tolist(), inputs.public.tolist(), strict=True):
        place, opinions = (public[1], row) if is_public else (row[0], row[1:])
        numbers[place] += 1
        for candidate, opinion in enumerate(opinions):
            totals[candidate] += int(sums.margins[place, opinion])
        if len(sums.totals):
            totals[-1] += int(sums.totals[place])
    stream = f"release of {phase.name}"
    noisy = noise.randomize(phase.tally_mechanism, totals, protocol=vote.name, phase=stream, place=0)
    released = [*noisy, *numbers] if is_public else noisy
    return vote.outcome([Tally(len(inputs), np.array(released, dtype=np.int64))])


def run_fair_voting(protocol: FairVoting, inputs: Inputs, *, noise: SimulatedNoise) -> VotingOutcome:
    """Run a fair vote of any mechanism but `masked` in which every voter answers.

    Source:
        Mohsin, Fair and Private Voting Rules, Algorithms 1 and 2; readings F1 to F6.
    """
    phase = protocol.phase
    rankings: list[list[int]] = inputs.private.tolist()
    if isinstance(phase, (JointRankings, RandomizedRankings)):
        # Where a voter's group is private, what it randomizes holds that, and there is no public row.
        return _run_local(protocol, phase, rankings, inputs.public.tolist(), noise)
    groups: list[int] = inputs.public[:, 0].tolist()
    assert isinstance(phase, DisclosedRankings)
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
    publics: Sequence[Sequence[int]],
    noise: SimulatedNoise,
) -> VotingOutcome:
    """Run a session in the local model: every voter randomizes its own ranking, by its own ε, and that alone leaves."""
    tallies: list[Tally] = []
    for place, (ranking, public) in enumerate(zip(rankings, publics, strict=True)):
        mechanism = phase.mechanism_of(public)
        report = noise.randomize(mechanism, ranking, protocol=protocol.name, phase=phase.name, place=place)
        own = np.array([report], dtype=np.int64)
        tallies.append(phase.tally(own, earlier=[], public=np.array([public], dtype=np.int64)))
    return protocol.outcome([functools.reduce(Tally.merge, tallies)])


def run_moral_preferences(protocol: MoralPreferences, inputs: Inputs, *, noise: SimulatedNoise) -> PreferencesOutcome:
    """Run a session of moral preferences of any paradigm that is not masked, and any mechanism; every voter answers.

    Args:
        inputs: every voter's row: its summary, which each has computed from its own records (Algorithm 1, line 2;
            Algorithm 2, line 1; Algorithm 3, lines 1 and 2 before the noise).

    Source:
        Wang et al. (2019), Algorithms 1 to 3.
    """
    phase = protocol.phase
    summaries: list[list[int]] = inputs.private.tolist()
    if isinstance(phase, DisclosedPhase):
        # Algorithm 1. Line 3: every voter sends its own to the aggregator, which is trusted with it. Where there are
        # several societies, each is a session of its own, whose noise has a stream of its own.
        names = protocol.parameters.names_of_societies
        societies: list[int] = inputs.public[:, 0].tolist() if names else [0] * len(summaries)
        released: list[list[int]] = []
        for society in range(max(len(names), 1)):
            own = [summary for summary, whose in zip(summaries, societies, strict=True) if whose == society]
            sums = [sum(column) for column in zip(*own, strict=True)] or [0] * protocol.summary.num_values
            # Lines 4 to 6: the aggregator takes the average and perturbs it; here it perturbs the sum, by as much.
            stream = f"release of {phase.name}" + (f", draw {society + 1}" if society else "")
            slots = phase.tally_mechanism.slots_of(len(sums))
            (uniforms,) = noise.uniforms(protocol=protocol.name, phase=stream, start=0, stop=1, slots=slots).tolist()
            noisy = phase.tally_mechanism.randomize_row(sums, uniforms)
            released.append([len(own), *noisy] if names else noisy)
        return protocol.outcome([Tally(len(inputs), np.array(released if names else released[0], dtype=np.int64))])
    # Algorithms 2 and 3: every voter perturbs its own, with its own ε, and sends only that.
    tallies: list[Tally] = []
    for place, (summary, public) in enumerate(zip(summaries, inputs.public.tolist(), strict=True)):
        mechanism = phase.mechanism_of(public)
        slots = mechanism.slots_of(len(summary))
        (uniforms,) = noise.uniforms(
            protocol=protocol.name, phase=phase.name, start=place, stop=place + 1, slots=slots
        ).tolist()
        report = np.array([mechanism.randomize_row(summary, uniforms)], dtype=np.int64)
        tallies.append(phase.tally(report, earlier=[], public=np.array([public], dtype=np.int64).reshape(1, -1)))
    # The aggregator averages the reports, all alike or by inverse variance.
    return protocol.outcome([functools.reduce(Tally.merge, tallies)])
