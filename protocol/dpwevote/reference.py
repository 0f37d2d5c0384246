"""One DPWeVote session with all parties in one function, to be read beside the paper.

Agents, the array path and replays must equal it bit for bit; the tests hold them to that.
"""

from collections.abc import Sequence

import numpy as np

from ..phases import Inputs
from ..randomness import SimulatedNoise
from ..tally import Tally
from .central import CentralVotes
from .outcome import Outcome
from .protocol import DPWeVote

__all__ = ["reference_run"]


def reference_run(vote: DPWeVote, inputs: Inputs, *, noise: SimulatedNoise) -> Outcome:
    """Run a session of any variant but `laplace` and `masked` in which every partner answers; ValueError for these."""
    parameters = vote.parameters
    if parameters.kind.model.trusts_server:
        return _central_run(vote, inputs, noise)
    if not parameters.kind.has_finite_reports:
        raise ValueError(f"the reference run does not cover the variant {parameters.variant!r}")
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
                (len(parameters.by_level), phase.num_values, phase.mechanism.report_range[1] + 1), dtype=np.int64
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


def _central_run(vote: DPWeVote, inputs: Inputs, noise: SimulatedNoise) -> Outcome:
    """Run a session of the variant `central`: the server adds up what it is shown, and draws noise once."""
    (phase,) = vote.phases
    assert isinstance(phase, CentralVotes)  # noqa: S101  of this variant
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
