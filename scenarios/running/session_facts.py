"""Facts of a session in a run's folder: its trust model, losses and phases.

They follow from protocol and parameters, which are public. So any folder may contain them, and reading them requires
neither the protocol nor the parties. `statements` turns them into words when they are read.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, TypeAlias

import msgspec

from ...protocol.phases import Phase, PhasedProtocol
from ...protocol.privacy import LedgerEntry, NeighboringRelation, PrivacyLoss, total_of
from ...protocol.privacy.composition import count_of

Epsilon: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """One person's losses; an unbounded ε is None.

    Examples:
        >>> Prices(replaced=None).replaced is None  # nothing bounds it
        True
    """

    replaced: Epsilon | None  # total, for replace-one neighbors
    participation: Epsilon | None = 0.0  # for participation; 0 if it is not private
    finest: tuple[tuple[Epsilon | None, tuple[str, ...]], ...] = ()
    """The smallest stated units with their greatest ε, in decreasing order; units of equal ε are grouped."""


class PhaseLosses(msgspec.Struct, frozen=True, kw_only=True):
    """Equal losses of one phase, and their number; ε is that of all together, None if unbounded."""

    mechanism: str
    unit: str
    relation: str
    model: str
    number: int
    claimed: float | None
    proven: float | None


class PhaseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of a phase."""

    name: str  # the phase's name
    is_central: bool  # whether the server sees parties' values in it
    hides_participation: bool  # whether participation is private
    publishes: bool  # whether closing it publishes something before the session's outcome
    kept: str  # the scope in which reports are memoized; empty if they are drawn each time
    losses: tuple[PhaseLosses, ...]  # the greatest losses of any party


class SessionFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts of a session; earlier versions wrote sentences, later ones their content."""

    protocol: str  # the names of protocol and roles
    client_role: str
    server_role: str
    trust: str = ""  # sentences of earlier versions: on trust, on the meaning of ε, and a warning
    meaning: tuple[str, ...] = ()
    warning: str = ""
    prices: Prices | None = None  # greatest losses of a person; None from earlier versions
    public: tuple[str, ...] = ()  # public columns of each party's row
    chosen: tuple[str, ...] = ()  # public columns that the party chooses
    hides_participation: bool  # whether participation is private
    phases: tuple[PhaseFacts, ...]  # the phases in order
    claimed: float | None  # claimed and proven total ε of one party; None if unbounded
    proven: float | None
    relation: str  # the neighboring relation of both
    threshold: int = 0  # in a masked session: least number of parties to the end, and most colluders with the server
    colluders: int = 0


def about(protocol: PhasedProtocol[Any, Any]) -> SessionFacts:
    """Return the facts of a session.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> facts = about(vote)
        >>> facts.client_role, facts.proven, [phase.name for phase in facts.phases]
        ('partner', 1.0, ['weights', 'opinions'])
    """
    total, masked = total_of(protocol.losses), protocol.masked_phase
    return SessionFacts(
        protocol=protocol.name,
        client_role=protocol.client_role,
        server_role=protocol.server_role,
        prices=prices_of(protocol.losses),
        public=tuple(column.name for column in protocol.columns() if not column.private),
        chosen=tuple(column.name for column in protocol.columns() if column.chosen),
        hides_participation=protocol.hides_participation,
        phases=tuple(_describe_phase(phase) for phase in protocol.phases),
        claimed=total.claimed,
        proven=total.proven,
        relation=total.relation.value,
        threshold=0 if masked is None else masked.threshold,
        colluders=0 if masked is None else masked.colluders,
    )


def prices_of(*sessions: Sequence[PrivacyLoss | LedgerEntry]) -> Prices:
    """Return one person's losses; for several sessions or persons, the greatest of any of them.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> vote = DPWeVote(Parameters(candidates=("roof",), weights=(1.0, 2.0), epsilon=1.0))
        >>> prices = prices_of(vote.losses)
        >>> prices.replaced, prices.finest
        (1.0, ((0.5, ('one weight', 'one opinion')),))
    """
    replace_totals = (total_of(losses, relation=NeighboringRelation.REPLACE_ONE).proven for losses in sessions)
    hidden_totals = (
        total for total in map(total_of, sessions) if total.relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    return Prices(
        replaced=_finite_or_none(max(replace_totals)),
        participation=_finite_or_none(max((total.proven for total in hidden_totals), default=0.0)),
        finest=tuple(
            (_finite_or_none(price), tuple(units)) for price, units in _group_by_price(itertools.chain(*sessions))
        ),
    )


def _finite_or_none(epsilon: float) -> float | None:
    return None if math.isinf(epsilon) else epsilon


def _group_by_price(losses: Iterable[PrivacyLoss | LedgerEntry]) -> list[tuple[float, list[str]]]:
    dearest: dict[str, float] = {}
    for loss in losses:
        part = loss.finest_loss
        number = "all" if part.unit.endswith("s") else "one"
        unit = part.unit if part.unit.startswith(("one ", "all ")) else f"{number} {part.unit}"
        price = part.proven * count_of(loss.relation, relation=NeighboringRelation.REPLACE_ONE)
        dearest[unit] = max(price, dearest.get(unit, 0.0))
    sorted_prices = sorted(dearest.items(), key=lambda each: -each[1])
    return [
        (price, [unit for unit, _ in same])
        for price, same in itertools.groupby(sorted_prices, key=lambda each: each[1])
    ]


def _describe_phase(phase: Phase) -> PhaseFacts:
    return PhaseFacts(
        name=phase.name,
        is_central=phase.model.trusts_server,
        hides_participation=phase.hides_participation,
        publishes=type(phase).outcome is not Phase.outcome,
        kept="" if phase.memo_scope is None else str(phase.memo_scope),
        losses=tuple(_priced(list(kind)) for _, kind in itertools.groupby(phase.losses, key=_alike)),
    )


def _alike(loss: PrivacyLoss) -> tuple[str, ...]:
    return loss.mechanism, loss.unit, loss.relation.value, loss.model.value


def _priced(equal_losses: list[PrivacyLoss]) -> PhaseLosses:
    total, first = total_of(equal_losses), equal_losses[0]
    return PhaseLosses(
        mechanism=first.mechanism,
        unit=first.unit,
        relation=first.relation.value,
        model=first.model.value,
        number=len(equal_losses),
        claimed=total.claimed,
        proven=total.proven,
    )
