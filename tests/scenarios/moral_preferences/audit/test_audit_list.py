"""The audit list: every mechanism in every paradigm, with neighbors nearly as far apart as the proof allows."""

import pytest
from psephos.protocol.moral_preferences.sensitivity import printed_sensitivity, tight_sensitivity
from psephos.scenarios.moral_preferences.audit.audit_list import AuditEntry, audit_list

ENTRIES = audit_list()
every_entry = pytest.mark.parametrize("entry", ENTRIES, ids=[entry.name for entry in ENTRIES])


def test_the_list_has_every_mechanism_in_every_paradigm_that_has_it() -> None:
    assert [entry.name for entry in ENTRIES] == [
        "VLCP laplace",
        "VLCP direction",
        "RLCP laplace",
        "RLCP direction",
        "RLCP pooled",
        "VLDP laplace",
        "VLDP direction",
        "RLDP laplace",
        "RLDP direction",
        "RLDP functional",
        "RLDP functional as printed",
        "RLDP pooled",
    ]


@every_entry
def test_no_neighbors_are_farther_apart_than_is_proven_and_these_are_nearly_so_far(entry: AuditEntry) -> None:
    least = 0.95 if entry.protocol.parameters.mechanism in {"functional", "pooled"} else 0.9999
    assert least < entry.reach <= 1


@every_entry
def test_unit_and_losses_are_those_of_the_paradigm(entry: AuditEntry) -> None:
    paradigm = entry.protocol.parameters.paradigm.value
    assert entry.loss.unit == {"V": "voter", "R": "record"}[paradigm[0]]
    assert entry.loss.claimed == 1.0
    expected = tight_sensitivity(3) / printed_sensitivity(3) if "as printed" in entry.name else 1.0
    assert entry.loss.proven == pytest.approx(expected, abs=1e-4)


def test_the_neighbors_differ_in_one_record() -> None:
    for entry in ENTRIES:
        assert len(entry.before) == len(entry.after) == 1
        assert entry.before.num_records.tolist() == entry.after.num_records.tolist() == [1]
        assert entry.before.differences.tolist() != entry.after.differences.tolist()
