"""What a run's folder says of its session for people: whom it trusts, what its ε allows, and which phases it has.

All of it follows from protocol and parameters, which everybody agrees to. So it may stand in any folder, and a reader
of the folder needs neither the protocol nor the parties.
"""

import itertools
from typing import Any

import msgspec

from ...protocol.phases import Phase, PhasedProtocol
from ...protocol.privacy import PrivacyLoss, total_of
from .statements import meaning_of, trust_in, warning_of

__all__ = ["PhaseFacts", "Priced", "SessionFacts", "about"]


class Priced(msgspec.Struct, frozen=True, kw_only=True):
    """Losses of one phase that are alike, and their number: ε of all of them together, None where nothing bounds it."""

    mechanism: str
    unit: str
    relation: str
    model: str
    number: int
    claimed: float | None
    proven: float | None


class PhaseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A phase."""

    name: str  # its own
    is_central: bool  # whether parties show the server their values in it
    hides_participation: bool  # whether it is private who takes part
    publishes: bool  # whether everybody is told something when it closes, before the session's outcome
    kept: str  # the scope in which a party repeats its report; empty where it draws each time
    losses: tuple[Priced, ...]  # the most that it costs any party


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A session in words."""

    protocol: str  # what it is called, as the roles are
    client_role: str
    server_role: str
    trust: str  # whom it trusts, as `statements.trust_in`
    meaning: tuple[str, ...]  # what its ε allows, a line each; of whoever pays most
    warning: str  # where that is little protection; empty where it is not
    hides_participation: bool  # whether it is private who takes part
    phases: tuple[PhaseFacts, ...]  # in order
    claimed: float | None  # ε of all that one party says; None where nothing bounds it
    proven: float | None
    relation: str  # of both


def about(protocol: PhasedProtocol[Any, Any]) -> SessionFacts:
    """Return what is said of a session."""
    total = total_of(protocol.losses)
    return SessionFacts(
        protocol=protocol.name,
        client_role=protocol.client_role,
        server_role=protocol.server_role,
        trust=trust_in(protocol),
        meaning=tuple(meaning_of(protocol.losses, party=protocol.client_role)),
        warning=warning_of(protocol.losses),
        hides_participation=protocol.hides_participation,
        phases=tuple(_about_phase(phase) for phase in protocol.phases),
        claimed=total.claimed,
        proven=total.proven,
        relation=total.relation.value,
    )


def _about_phase(phase: Phase) -> PhaseFacts:
    return PhaseFacts(
        name=phase.name,
        is_central=phase.model.trusts_server,
        hides_participation=phase.hides_participation,
        publishes=type(phase).outcome is not Phase.outcome,
        kept="" if phase.kept is None else str(phase.kept),
        losses=tuple(_priced(list(kind)) for _, kind in itertools.groupby(phase.losses, key=_alike)),
    )


def _alike(loss: PrivacyLoss) -> tuple[str, ...]:
    return loss.mechanism, loss.unit, loss.relation.value, loss.model.value


def _priced(alike: list[PrivacyLoss]) -> Priced:
    total, first = total_of(alike), alike[0]
    return Priced(
        mechanism=first.mechanism,
        unit=first.unit,
        relation=first.relation.value,
        model=first.model.value,
        number=len(alike),
        claimed=total.claimed,
        proven=total.proven,
    )
