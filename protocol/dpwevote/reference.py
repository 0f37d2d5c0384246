"""One DPWeVote session with all parties in one function, to be read beside the paper.

Agents, the array path and replays must equal it bit for bit; the tests hold them to that.
"""

from collections.abc import Sequence

import numpy as np

from ..phases import Inputs
from ..randomness import SimulatedNoise
from ..tally import Tally
from .outcome import Outcome
from .protocol import DPWeVote

__all__ = ["reference_run"]


def reference_run(vote: DPWeVote, inputs: Inputs, *, noise: SimulatedNoise) -> Outcome:
    """Run a session of any variant but `laplace` in which every partner answers; ValueError for that one."""
    parameters = vote.parameters
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
            reports.append(phase.mechanism.randomize_row(values, uniforms.tolist()))
        # The cloud server counts (the same figures, the server's side).
        if phase.name.startswith("weights"):
            reported_group = [report[0] for report in reports]
            counts = [reported_group.count(group) for group in range(num_groups)]
            tallies.append(Tally(len(reports), np.array(counts, dtype=np.int64)))
        elif parameters.reports_signed_weights:
            by_report = np.zeros((phase.num_values, phase.mechanism.report_range[1] + 1), dtype=np.int64)
            for report in reports:
                for candidate, vote_reported in enumerate(report):
                    by_report[candidate, vote_reported] += 1
            tallies.append(Tally(len(reports), by_report))
        else:
            table = np.zeros((phase.num_values, num_groups, 2), dtype=np.int64)
            for group, report in zip(reported_group, reports, strict=True):
                for candidate, opinion in enumerate(report):
                    table[candidate, group, opinion] += 1
            tallies.append(Tally(len(reports), table))
    # It estimates, decides and releases (Section 4.4).
    return vote.outcome(tallies)
