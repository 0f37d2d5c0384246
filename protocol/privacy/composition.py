"""The sum of a person's losses: every loss is converted to one relation, that of the total.

A replacement is a removal and an addition. So a loss under add-or-remove-one counts twice in a total under replace-one
(group privacy for groups of two). The converse conversion is impossible: a loss under replace-one does not bound what
is revealed about whether a person took part.

Losses of all trust models add, since an observer of the releases may also see the reports. The total is a bound against
anybody who does not see a trusted server's view.

Source: Dwork and Roth (2014), Theorem 2.2 for groups and Theorem 3.16 for sums of pure losses.
"""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..errors import PrivacyError
from .events import Composed, DiscreteLaplaceNoise, NonPrivate, NoRelease, PrivacyEvent, PureMechanism, SelfComposed
from .exact_sums import rounded_up, units_of
from .relations import SEMI_HONEST, NeighboringRelation, TrustModel, is_semi_honest

if TYPE_CHECKING:
    from .ledger import LedgerEntry, PrivacyLoss


class Total(NamedTuple):
    """The sum of some losses of one person.

    Args:
        relation: the neighboring data sets.
        claimed: the sum of the ε that papers state, in nats.
        proven: the sum of the proven ε, in nats: exact, then rounded up.
        is_converted: whether some loss was stated under another relation, and counts twice.
        model: the trust model that trusts most, of all losses.
        against: the adversary that the total bounds, as a phrase: the assumptions of all losses together.
    """

    relation: NeighboringRelation
    claimed: float
    proven: float
    is_converted: bool
    model: TrustModel
    against: str


def count_of(stated_relation: NeighboringRelation, *, relation: NeighboringRelation) -> int:
    """Return how often a loss that is stated under one relation counts in a total under another.

    Raises:
        PrivacyError: a loss under replace-one bounds nothing under add-or-remove-one.

    Examples:
        >>> count_of(NeighboringRelation.ADD_OR_REMOVE_ONE, relation=NeighboringRelation.REPLACE_ONE)
        2
    """
    if stated_relation is relation:
        return 1
    if relation is NeighboringRelation.REPLACE_ONE:
        return 2
    raise PrivacyError(
        f"a loss for {stated_relation.value} neighbors bounds nothing for {relation.value} ones, and is in no total "
        "of these"
    )


def event_under(
    event: PrivacyEvent, stated_relation: NeighboringRelation, *, relation: NeighboringRelation
) -> PrivacyEvent:
    """Convert an event from one relation to another; PrivacyError as `count_of`.

    Examples:
        >>> replace, add = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
        >>> event_under(DiscreteLaplaceNoise(scale=4.0, sensitivity=1), add, relation=replace)
        DiscreteLaplaceNoise(scale=4.0, sensitivity=2)
    """
    count = count_of(stated_relation, relation=relation)
    return event if count == 1 else _group_event(event, count)


def _group_event(event: PrivacyEvent, size: int) -> PrivacyEvent:
    """Return the event where so many units change, one after another."""
    match event:
        case PureMechanism(epsilon):
            return PureMechanism(rounded_up(size * units_of(epsilon)))
        case DiscreteLaplaceNoise(scale, sensitivity):
            return DiscreteLaplaceNoise(scale, size * sensitivity)
        case Composed(events):
            return Composed(tuple(_group_event(part, size) for part in events))
        case SelfComposed(part, count):
            return SelfComposed(_group_event(part, size), count)
        case NoRelease() | NonPrivate():
            return event
        case _:
            raise PrivacyError(f"{event!r} shows that its owner took part, so it is no loss of adding or removing one")


def common_relation(losses: "Iterable[PrivacyLoss | LedgerEntry]") -> NeighboringRelation:
    """Return the relation of all these losses; if they differ, replace-one, to which all can be converted.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse, local_loss
        >>> loss = local_loss("k-RR", RandomizedResponse(0.5, 2), unit="vote", claimed=0.5)
        >>> common_relation([loss, loss]).value
        'replace-one'
    """
    relations = {loss.relation for loss in losses}
    return relations.pop() if len(relations) == 1 else NeighboringRelation.REPLACE_ONE


def total_of(losses: "Iterable[PrivacyLoss | LedgerEntry]", *, relation: NeighboringRelation | None = None) -> Total:
    """Add up the losses of one person (sequential composition of pure losses).

    Args:
        losses: the losses of one person, in any sessions; later ones may depend on earlier outcomes.
        relation: the relation of the total; by default `common_relation`.

    Raises:
        PrivacyError: as `count_of`.

    Examples:
        >>> from psephos.protocol.privacy import RandomizedResponse, local_loss
        >>> loss = local_loss("k-RR", RandomizedResponse(0.5, 2), unit="vote", claimed=0.5)
        >>> total = total_of([loss, loss])
        >>> total.proven, total.is_converted
        (1.0, False)
    """
    parts = list(losses)
    relation = relation or common_relation(parts)
    counts = [count_of(loss.relation, relation=relation) for loss in parts]
    counted = list(zip(counts, parts, strict=True))
    model = TrustModel.weakest_of(loss.model for loss in parts)
    masked = {loss.mechanism for loss in parts if loss.model.is_masked}
    condition = ", with as many parties as the session states" if masked and not model.is_masked else ""
    mark = f" ({SEMI_HONEST})" if any(map(is_semi_honest, masked)) else ""
    return Total(
        relation,
        claimed=math.fsum(count * loss.claimed for count, loss in counted),
        proven=rounded_up(sum(count * units_of(loss.proven) for count, loss in counted)),
        is_converted=any(count > 1 for count in counts),
        model=model,
        against=f"{model.adversary}{condition}{mark}",
    )
