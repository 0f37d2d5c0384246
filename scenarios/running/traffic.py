"""How much a run says: as its server counted it, or, of arrays, what agents would say."""

import contextlib
from collections.abc import Sequence
from typing import Final

from ...protocol.messages import Charter
from ...protocol.roles import SessionKind
from ...protocol.traffic import ExpectedTraffic, PhaseTraffic
from ..plugins import ARRAY
from .record import SessionRecord
from .resolution import Local, Streamed

__all__ = ["expect_traffic", "traffic_of"]

_ANY_SESSION: Final = Charter("0" * 32)
"""Every simulation has an id, and all ids have one length."""


def expect_traffic(resolved: Local) -> ExpectedTraffic | None:
    """Return what a session of agents says; None for a stream, and where a message would be too large for agents."""
    if isinstance(resolved, Streamed):
        return None
    with contextlib.suppress(ValueError):
        return ExpectedTraffic(
            resolved.protocol,
            names=resolved.names,
            public=resolved.inputs.public,
            session=resolved.scenario.name,
            kind=SessionKind.SIMULATION,
            charter=_ANY_SESSION,
        )
    return None


def traffic_of(
    resolved: Local, record: SessionRecord, expected: ExpectedTraffic | None
) -> Sequence[PhaseTraffic] | None:
    """Return how much was said, or, of arrays, would have been as expected; None where nobody knows."""
    if resolved.scenario.transport != ARRAY and record.traffic:
        return record.traffic
    if expected is not None:
        with contextlib.suppress(ValueError):
            return expected.of(record.tallies, record.outcome, record.own_outcomes)
    return None
