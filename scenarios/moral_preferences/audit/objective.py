"""Moral preferences: every mechanism in every paradigm, with records that are as far apart as any that are known.

The list and its records are the experiments' (`audit_list`). What is told apart is the randomizer's report alone;
what a voter or a server gives away in whole sessions is `sessions`'.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ....protocol.moral_preferences.functional import NoisyObjective
from ....protocol.privacy import NeighboringRelation
from ...audit.case import Case, Pair
from ...audit.mechanisms.sampling import pair_of
from ..paper.audit_list import AuditEntry, audit_list

__all__ = ["moral_cases"]

_SECURE: Final = frozenset({"VLDP laplace", "VLDP direction"})
_SECURE_SHARE: Final = 0.1
_SHARE_OF_OBJECTIVES: Final = 0.03
"""A report of Algorithm 3 is the solution of a problem: a hundred microseconds."""


def moral_cases() -> Iterator[Case]:
    """Yield the list."""
    for entry in audit_list():
        is_objective = isinstance(entry.mechanism, NoisyObjective)
        yield Case(
            name=f"mechanism {entry.name}",
            group="moral-preferences",
            unit=entry.loss.unit,
            relation=NeighboringRelation.REPLACE_ONE,
            model=entry.protocol.parameters.paradigm.model,
            claimed=entry.loss.claimed,
            proven=entry.loss.proven,
            pairs=_pairs(entry),
            note=f"records {entry.reach:.3f} of the proven sensitivity apart",
            share=_SHARE_OF_OBJECTIVES if is_objective else 1.0,
            secure_share=_SECURE_SHARE,
        )


def _pairs(entry: AuditEntry) -> Callable[[], Sequence[Pair]]:
    def pairs() -> Sequence[Pair]:
        first, second = (entry.protocol.summary.rows_of(records)[0].tolist() for records in (entry.before, entry.after))
        is_secure = entry.name in _SECURE
        return [
            pair_of(entry.mechanism, first, second, name="the records that are farthest apart", is_secure=is_secure)
        ]

    return pairs
