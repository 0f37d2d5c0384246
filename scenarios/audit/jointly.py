"""Two parties jointly: what leaves both in one session, against neighbors who differ in the first one's row alone.

Reports of different parties are drawn independently, so that whoever sees both learns of the first party what its own
ledger says, and no more. What they shared would show: where the other's noise is known, so is the first one's. Each
output is of a session of its own, of these two parties and nobody else.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from ...protocol.arrays import IntArray
from ...protocol.phases import PhasedProtocol
from .case import Case, OutputSampler, Source
from .exposed_parts import Reported
from .exposures import Exposure
from .machines import Holder, by_agents, by_arrays, by_machines, noise_of, reports_of_all, roster_of, session_sampler
from .whole_sessions import Party

__all__ = ["AGENT_SHARES", "TWO_PARTY_SHARES", "exposure_of_two", "two_party_cases"]

TWO_PARTY_SHARES: Final = (0.01, 0.04)
"""Of the outputs that are asked for: a session by arrays takes tens of microseconds, one by machines up to two
milliseconds."""
AGENT_SHARES: Final = (0.0006, 0.015)
"""The same of agents, which take some milliseconds."""


def two_party_cases(party: Party, other: tuple[IntArray, Sequence[int]], *, name: str, unit: str) -> Iterator[Case]:
    """Yield the audits of two parties: by arrays with simulated noise and by machines with secure noise; by agents.

    `other` is the other's private and public row.
    """
    kinds = ("", by_arrays, by_machines, TWO_PARTY_SHARES), (" among agents", by_agents, by_agents, AGENT_SHARES)
    for held, simulated, secure, shares in kinds:
        both = functools.partial(exposure_of_two, party.protocol, party.rows, party.public, other)
        yield party.case(
            f"{name}, two parties{held}",
            unit,
            exposure=functools.partial(both, simulated=simulated, secure=secure),
            share=shares[0],
            secure_share=shares[1],
        )


def exposure_of_two(
    protocol: PhasedProtocol[Any, Any],
    rows: IntArray,
    public: Sequence[int],
    other: tuple[IntArray, Sequence[int]],
    *,
    simulated: Holder = by_arrays,
    secure: Holder = by_machines,
) -> Exposure:
    """Return all that leaves two parties in the local model: the first has one of these rows, the other its own.

    Sessions are held with the noise of simulations and with that of deployments.
    """
    other_row, other_public = other

    def sampler(candidate: int, side: int, holder: Holder, source: Source) -> OutputSampler:
        inputs = roster_of(protocol, [rows[candidate], other_row], [public, other_public])
        return session_sampler(protocol, inputs, reports_of_all, noise_of(source), side=side, hold=holder)

    own = (Reported(protocol, phase, rows, public) for phase in protocol.phases)
    others = np.tile(other_row, (len(rows), 1))
    theirs = (Reported(protocol, phase, others, other_public) for phase in protocol.phases)
    return Exposure(
        (*own, *theirs),
        num_sessions=1,
        simulated=lambda candidate, side: sampler(candidate, side, simulated, "simulated"),
        secure=lambda candidate, side: sampler(candidate, side, secure, "secure"),
    )
