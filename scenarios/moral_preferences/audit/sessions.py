"""Moral preferences audited: a voter's report, and the release of a trusted server, in all four paradigms.

Neighbors are those that are farthest apart, as far as is known, in the norm that the noise is made for
(`psephos.scenarios.moral_preferences.paper.audit_list`); for a voter of several records, with all of them
replaced. Both directions are tried.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ....protocol.arrays import IntArray
from ....protocol.moral_preferences import DisclosedPhase, Level, MoralPreferences, Paradigm, Parameters, Records
from ....protocol.moral_preferences.parameters import MechanismName
from ....protocol.privacy import LedgerEntry, TrustModel
from ...audit.case import Case
from ...audit.exposures import Exposure, Released, case_of, exposure_of_party
from ..paper.audit_list import audit_list

__all__ = ["exposure_of_preferences", "moral_preferences_cases"]

_FEATURES = ("x", "y", "z")
_RECORDS = 2
# Levels of ε among which voters choose; an audit takes each.
_LEVELS = (0.5, 1.0, 2.0)


def moral_preferences_cases() -> Iterator[Case]:
    """Yield every mechanism in every paradigm that has it, and voters with an ε of their own."""
    for paradigm in Paradigm:
        is_record, is_central = paradigm.level is Level.RECORD, paradigm.model is TrustModel.CENTRAL
        mechanisms: list[MechanismName] = ["laplace", "direction"]
        if is_record and not is_central:
            mechanisms.append("functional")
        if is_record:
            mechanisms.append("pooled")
        for mechanism in mechanisms:
            given: dict[str, Any] = {"paradigm": paradigm, "mechanism": mechanism, "epsilon": 1.0}
            yield _case(given, unit=paradigm.level.value, num_sessions=2)
            if mechanism == "functional":
                yield _case(given | {"sensitivity": "printed"}, unit="record", num_sessions=2)
            if is_record and mechanism != "laplace":
                yield _case(given | {"max_records": _RECORDS}, unit="voter", num_sessions=1)
    for place, level in enumerate(_LEVELS):
        given = {"paradigm": Paradigm.VLDP, "mechanism": "laplace", "epsilons": _LEVELS}
        yield _case(given, unit="voter", num_sessions=2, public=[place], suffix=f", own ε = {level:g}")


def exposure_of_preferences(protocol: MoralPreferences, public: Sequence[int], *, num_sessions: int) -> Exposure:
    """Return what leaves a voter, or a trusted server, for records that point one way and the other.

    Args:
        protocol: what is run.
        public: the voter's public row.
        num_sessions: how often.
    """
    rows = np.concatenate([protocol.summary.rows_of(records) for records in _neighbors(protocol.parameters)])
    phase = protocol.phase
    if not isinstance(phase, DisclosedPhase):
        return exposure_of_party(protocol, rows, public, num_sessions=num_sessions)
    nobody = np.empty((2, 0), dtype=np.int64)
    # One more voter, whose row cancels out of every comparison.
    totals: IntArray = np.stack(
        [phase.tally(np.stack([row, rows[0]]), earlier=(), public=nobody).totals.reshape(-1) for row in rows]
    )
    return Exposure((Released(protocol, phase, totals),), num_sessions)


def _case(given: dict[str, Any], *, unit: str, num_sessions: int, public: Sequence[int] = (), suffix: str = "") -> Case:
    """Return the audit of one set of parameters.

    Args:
        given: the parameters, without the features.
        unit: "record" or "voter"; a voter has as many records as it may.
        num_sessions: how often.
        public: the voter's public row.
        suffix: of the name.
    """
    values: dict[str, Any] = {"features": _FEATURES, "max_records": 1}
    protocol = MoralPreferences(Parameters(**values | given))
    parameters = protocol.parameters
    is_part = unit == Level.RECORD.value

    def charged(entry: LedgerEntry) -> tuple[float, float]:
        return (entry.part.claimed, entry.part.proven) if is_part and entry.part else (entry.claimed, entry.proven)

    printed = ", printed Δ" if parameters.sensitivity == "printed" else ""
    return case_of(
        protocol,
        lambda: exposure_of_preferences(protocol, public, num_sessions=num_sessions),
        public,
        name=f"{parameters.paradigm.value} {parameters.mechanism}{printed}, {unit}{suffix}",
        unit=unit if parameters.max_records == 1 else f"{unit} of {parameters.max_records} records",
        num_sessions=num_sessions,
        names=["records that point one way", "records that point the other way"],
        charged=charged,
        # A vector's greatest change is attained; that of coefficients is bounded, and found to be somewhat less.
        is_tight=parameters.mechanism == "laplace",
        # Each output is the maximum of an objective of its own.
        share=0.02 if parameters.mechanism == "functional" else 0.2,
        note="Scored by a projection: many noisy objectives have the same maximum."
        if parameters.mechanism == "functional"
        else "",
    )


def _neighbors(parameters: Parameters) -> tuple[Records, Records]:
    """Return a voter's records before and after: as many as it may have, all of them replaced."""
    before, after = _single_records(parameters.num_features)[parameters.mechanism]
    return _repeated(before, parameters.max_records), _repeated(after, parameters.max_records)


@functools.cache
def _single_records(num_features: int) -> dict[MechanismName, tuple[Records, Records]]:
    """Return the neighbors of a single record for each mechanism, whatever the paradigm."""
    entries = audit_list(num_features=num_features)
    return {entry.protocol.parameters.mechanism: (entry.before, entry.after) for entry in entries}


def _repeated(records: Records, number: int) -> Records:
    """Return one voter's records: a single one, so many times."""
    chosen, rejected = (np.repeat(own, number, axis=0) for own in (records.chosen, records.rejected))
    return Records(records.offsets * number, chosen, rejected)
