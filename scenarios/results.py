"""What is published of a run: the contents of `result.json` and of `estimates.csv`.

Nothing in them depends on the path that the session took, or on what was recorded beside it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ..protocol.dpwevote import Outcome
from ..protocol.estimators import Estimate
from ..protocol.phases import PhasedProtocol
from ..protocol.roles import SessionKind
from ..protocol.server_machine import SessionResult
from .resolution import Resolved
from .session import SessionRecord

__all__ = ["published", "result_of", "rows_of"]


def result_of(resolved: Resolved, record: SessionRecord, *, truth: Mapping[str, float] | None) -> dict[str, Any]:
    """Return the content of `result.json`.

    Args:
        resolved: what was run.
        record: what the session left.
        truth: what the outcome estimates, where that may be shown.
    """
    kind = SessionKind.DEPLOYMENT if resolved.scenario.noise == "secure" else SessionKind.SIMULATION
    left = SessionResult(record.outcome, record.tallies, record.num_received)
    result = published(
        resolved.protocol, left, session=resolved.scenario.name, kind=kind, num_parties=len(resolved.names)
    )
    if truth is not None:
        result["truth"] = dict(truth)
    return result


def published(
    protocol: PhasedProtocol[Any, Any], left: SessionResult, *, session: str, kind: SessionKind, num_parties: int
) -> dict[str, Any]:
    """Return what anybody may know of a session.

    Args:
        protocol: what was run.
        left: what it left with its server.
        session: its name.
        kind: where its randomness came from.
        num_parties: on the roster.
    """
    return {
        "session": session,
        "protocol": protocol.name,
        "kind": kind.value,
        "num_parties": num_parties,
        "received": {phase.name: n for phase, n in zip(protocol.phases, left.num_received, strict=True)},
        "outcome": msgspec.to_builtins(left.outcome),
        "privacy": {
            "person": {
                "claimed": sum(loss.claimed for loss in protocol.losses),
                "proven": sum(loss.proven for loss in protocol.losses),
            },
            "relation": sorted({loss.relation.value for loss in protocol.losses}),
            "model": sorted({loss.model.value for loss in protocol.losses}),
        },
        "tallies": [tally.totals.tolist() for tally in left.tallies],
    }


def rows_of(outcome: msgspec.Struct, *, truth: Mapping[str, float] | None) -> list[dict[str, object]]:
    """Return the rows of `estimates.csv`: one for each candidate, or one of another protocol's whole outcome."""
    if not isinstance(outcome, Outcome):
        return [_columns_of(outcome, outcome.__struct_fields__)]
    rows: list[dict[str, object]] = []
    for candidate in outcome.candidates:
        row: dict[str, object] = {"candidate": candidate.name, "passed": int(candidate.passed)}
        row |= _columns_of(candidate, ("support", "quota", "margin", "bias", "error_probability"))
        if truth is not None:
            support, quota = truth[candidate.name], truth["quota"]
            row |= {"true_support": support, "true_quota": quota, "true_margin": support - quota}
        rows.append(row)
    return rows


def _columns_of(released: msgspec.Struct, fields: Iterable[str]) -> dict[str, object]:
    """Return fields by name, an estimate's standard error in a column of its own."""
    columns: dict[str, object] = {}
    for field in fields:
        value = getattr(released, field)
        if isinstance(value, Estimate):
            columns |= {field: value.value, f"{field}_standard_error": value.standard_error}
        elif value is not None:
            columns[field] = msgspec.to_builtins(value)
    return columns
