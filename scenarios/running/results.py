"""The published content of a run (`result.json`), and its traffic.

Nothing published depends on the transport, or on what was recorded. Traffic is as the server counted it; for arrays it
is that which agents would have.
"""

import contextlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ...protocol.messages import SessionDescriptor
from ...protocol.phases import PhasedProtocol, Truth
from ...protocol.privacy import NeighboringRelation, total_of
from ...protocol.roles import SessionKind
from ...protocol.session_flow import SessionResult
from ...protocol.traffic import ExpectedTraffic, PhaseTraffic
from ..plugins import ARRAY
from ..verdicts import outcome_to_dict
from .folder import SCHEMA
from .record import SessionRecord
from .resolution import Local, Streamed
from .statements import certainty_of


def result_of(setup: Local, record: SessionRecord, *, num_parties: int, truth: Truth | None) -> dict[str, Any]:
    """Return the content of `result.json`, with the truth if it may be shown."""
    kind = SessionKind.DEPLOYMENT if setup.scenario.noise == "secure" else SessionKind.SIMULATION
    session_result = SessionResult(record.outcome, record.tallies, record.num_received)
    result = public_result(
        setup.protocol, session_result, session=setup.scenario.name, kind=kind, num_parties=num_parties
    )
    if truth is not None:
        result["truth"] = dict(truth)
    return result


def public_result(
    protocol: PhasedProtocol[Any, Any],
    session_result: SessionResult,
    *,
    session: str,
    kind: SessionKind,
    num_parties: int,
) -> dict[str, Any]:
    """Return the public result of a session, given the number of parties on the roster."""
    return {
        "schema": SCHEMA,
        "session": session,
        "protocol": protocol.name,
        "kind": kind.value,
        "num_parties": num_parties,
        "received": {
            phase.name: n
            for phase, n in zip(protocol.phases, session_result.num_received, strict=True)
            if not phase.hides_participation
        },
        "outcome": outcome_to_dict(session_result.outcome),
        "privacy": _privacy_of(protocol),
        "tallies": [tally.totals.tolist() for tally in session_result.tallies],
    }


def _privacy_of(protocol: PhasedProtocol[Any, Any]) -> dict[str, Any]:
    """Return the greatest loss of a person in the session, and of a part of a unit if a phase states it.

    `certainty` is the greatest posterior probability of a party's value, from even odds.
    """
    total = total_of(protocol.losses)
    replace_total = total_of(protocol.losses, relation=NeighboringRelation.REPLACE_ONE)
    privacy: dict[str, Any] = {
        "person": {
            "claimed": total.claimed,
            "proven": total.proven,
            "relation": total.relation.value,
            "certainty": certainty_of(replace_total.proven),
            "against": total.against,
        },
        "relation": sorted({loss.relation.value for loss in protocol.losses}),
        "model": sorted({loss.model.value for loss in protocol.losses}),
    }
    parts = [
        {"phase": phase.name, **msgspec.to_builtins(loss.part)}
        for phase in protocol.phases
        for loss in phase.losses
        if loss.part is not None
    ]
    return {**privacy, "part": parts} if parts else privacy


_ANY_SESSION: Final = SessionDescriptor("0" * 32)  # all ids have the same length


def expect_traffic(setup: Local) -> ExpectedTraffic | None:
    """Return the expected traffic of a session of agents; None for a stream, or if a message would be too large."""
    if isinstance(setup, Streamed):
        return None
    with contextlib.suppress(ValueError):
        return ExpectedTraffic(
            setup.protocol,
            names=setup.names,
            public=setup.inputs.public,
            session=setup.scenario.name,
            kind=SessionKind.SIMULATION,
            descriptor=_ANY_SESSION,
        )
    return None


def traffic_of(setup: Local, record: SessionRecord, expected: ExpectedTraffic | None) -> Sequence[PhaseTraffic] | None:
    """Return the traffic, for arrays the expected one; None if unknown."""
    if setup.scenario.transport != ARRAY and record.traffic:
        return record.traffic
    if expected is not None:
        with contextlib.suppress(ValueError):
            return expected.phase_traffic(record.tallies, record.outcome, record.own_outcomes)
    return None
