"""The log of agents: structlog events with nouns as keys, without private values or seeds.

A log that cannot be written does not end a session, with one exception: if a privacy loss cannot be logged, its report
is not sent.
"""

import contextlib
import math
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from ..protocol.effects import Attended, Charged, Closed, Drop, Effect, Fail, LiarNamed, Opened, Presence


class Log(Protocol):
    """The methods of a structlog logger that agents use."""

    def info(self, event: str, **fields: Any) -> object:
        """Log an event of a healthy session."""
        ...

    def warning(self, event: str, **fields: Any) -> object:
        """Log a peer's fault, or a session that ends without a result."""
        ...


def log_unless_it_fails(log: Callable[..., object], event: str, **fields: Any) -> None:
    """Log an event, or go on without it."""
    with contextlib.suppress(Exception):  # faults of a log's file, disk or formatter must not end the session
        log(event, **fields)


def log_effect(log: Log, *, session: str, party: str, effect: Effect) -> None:
    """Log one effect of a party's machine, if it is of interest.

    Raises:
        Exception: any error of the log for a privacy loss, which must be logged before its report is sent.
    """
    fields = {"session": session, "party": party}
    match effect:
        case Charged(charge):
            entry = charge.entry
            log.info(
                "privacy_loss",
                **fields,
                phase=entry.phase,
                mechanism=entry.mechanism,
                relation=entry.relation.value,
                unit=entry.unit,
                model=entry.model.value,
                claimed=entry.claimed,
                proven=entry.proven,
                total=charge.total,
                total_relation=charge.relation.value,
                remaining=None if math.isinf(charge.remaining) else charge.remaining,
            )
        case Opened(phase, num_asked):
            count_field = {} if num_asked is None else {"asked": num_asked}
            log_unless_it_fails(log.info, "phase_opened", **fields, phase=phase, **count_field)
        case Closed(phase, num_received, num_missing, outcome):
            counts = {} if num_received is None else {"received": num_received, "missing": num_missing}
            outcome_fields = msgspec.to_builtins(outcome)
            log_unless_it_fails(log.info, "phase_closed", **fields, phase=phase, **counts, outcome=outcome_fields)
        case Drop(peer, error):
            kind, reason = type(error).__name__, str(error)
            log_unless_it_fails(log.warning, "party_dropped", **fields, peer=peer, error=kind, reason=reason)
        case LiarNamed(peer, deed, is_known=False):
            log_unless_it_fails(log.warning, "party_named", **fields, peer=peer, deed=deed)
        case Attended(peer, presence, reason):
            write = log.warning if presence in {Presence.LOST, Presence.LEFT} else log.info
            log_unless_it_fails(write, presence.value, **fields, peer=peer, **({"reason": reason} if reason else {}))
        case Fail(error):
            log_unless_it_fails(log.warning, "session_failed", **fields, error=type(error).__name__, reason=str(error))
        case _:
            pass  # a line for each `Finish` would repeat `phase_closed` and the result for every party
