"""One moral preferences session with all parties in one function, to be read beside the paper's Algorithms 1 to 3.

Agents, the array path and replays must equal it bit for bit; the tests hold them to that.
"""

import functools

import numpy as np

from ..phases import Inputs
from ..randomness import SimulatedNoise
from ..tally import Tally
from .outcome import Outcome
from .phases import DisclosedPhase
from .protocol import MoralPreferences

__all__ = ["reference_run"]


def reference_run(protocol: MoralPreferences, inputs: Inputs, *, noise: SimulatedNoise) -> Outcome:
    """Run a session of any paradigm that is not masked, and any mechanism, in which every voter answers.

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
