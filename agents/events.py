"""What agents log: structlog events with nouns as keys, and never a private value or a seed."""

import math
from typing import Any, Protocol

import msgspec

from ..protocol.effects import Charged, Closed, Drop, Effect, Fail, Finish, Opened

__all__ = ["Log", "log_effect"]


class Log(Protocol):
    """What is used of a structlog logger."""

    def info(self, event: str, **fields: Any) -> object:
        """Log an event of a healthy session."""
        ...

    def warning(self, event: str, **fields: Any) -> object:
        """Log a peer's fault, or a session that ends without a result."""
        ...


def log_effect(log: Log, *, session: str, party: str, effect: Effect) -> None:
    """Log one effect of a party's machine, if it is one that people follow a session by.

    Args:
        log: where to.
        session: the session's name.
        party: whose machine it was.
        effect: what it asked for.
    """
    match effect:
        case Charged(charge):
            entry = charge.entry
            log.info(
                "privacy_loss",
                session=session,
                party=party,
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
            asked = {} if num_asked is None else {"asked": num_asked}
            log.info("phase_opened", session=session, party=party, phase=phase, **asked)
        case Closed(phase, num_received, num_missing, outcome):
            counts = {} if num_received is None else {"received": num_received, "missing": num_missing}
            log.info(
                "phase_closed",
                session=session,
                party=party,
                phase=phase,
                **counts,
                outcome=msgspec.to_builtins(outcome),
            )
        case Drop(peer, error):
            log.warning(
                "party_dropped", session=session, party=party, peer=peer, error=type(error).__name__, reason=str(error)
            )
        case Finish():
            pass  # one line a party would say what `phase_closed` and the result say once
        case Fail(error):
            log.warning("session_failed", session=session, party=party, error=type(error).__name__, reason=str(error))
        case _:
            pass
