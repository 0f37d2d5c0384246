"""Audits of every mechanism in every paradigm of moral preferences, with records at the greatest known distance.

The entries are from `audit_list`. Here only the randomizer's report is observed; `sessions` has whole sessions. Both
records, and one between them, are drawn and tested against the law of the noise. Algorithm 3 computes reports from
noise, and there the noise is tested.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.moral_preferences.functional import NoisyObjective
from ...audit.case import Case, LawCheck, Pair
from ...audit.mechanisms.checking import checks_of
from ...audit.mechanisms.sampling import pair_of
from .audit_list import AuditEntry, audit_list

_SECURE_SHARE: Final = 0.1
_SECURE_SHARE_OF_OBJECTIVES: Final = 0.04
# fraction of the requested outputs: each report of Algorithm 3 solves an optimization problem, in 0.1 ms
_SHARE_OF_OBJECTIVES: Final = 0.03


def moral_cases() -> Iterator[Case]:
    """Yield the cases of all entries in `audit_list`."""
    for entry in audit_list():
        is_objective = isinstance(entry.mechanism, NoisyObjective)
        yield Case(
            name=f"mechanism {entry.name}",
            group="moral-preferences",
            unit=entry.loss.unit,
            model=entry.protocol.parameters.paradigm.model,
            claimed=entry.loss.claimed,
            proven=entry.loss.proven,
            pairs=functools.partial(_pairs, entry),
            note=f"records {entry.reach:.3f} of the proven sensitivity apart",
            share=_SHARE_OF_OBJECTIVES if is_objective else 1.0,
            secure_share=_SECURE_SHARE_OF_OBJECTIVES if is_objective else _SECURE_SHARE,
            law_checks=functools.partial(_checks, entry),
        )


def _pairs(entry: AuditEntry) -> Sequence[Pair]:
    first, second = _rows(entry).tolist()
    return [pair_of(entry.mechanism, first, second, name="the records that are farthest apart", is_secure=True)]


def _checks(entry: AuditEntry) -> Sequence[LawCheck]:
    rows = _rows(entry)
    return checks_of(entry.mechanism, np.vstack([rows, np.zeros_like(rows[:1])]))


def _rows(entry: AuditEntry) -> IntArray:
    """Return the randomizer's input for both records."""
    return np.concatenate([entry.protocol.summary.rows_of(records) for records in (entry.before, entry.after)])
