"""Every planted fault is caught, and no repair is refuted.

At a confidence of 1 − 1e-11: a fault that is caught at it is caught at .99 with four standard deviations to spare, and
all repairs together are refuted falsely with a probability of at most 1e-10. Seeds are fixed.
"""

import pytest
from psephos.scenarios.audit import AuditVerdict, audit
from psephos.scenarios.audit.faults import CONFIDENCE, SAMPLES, Fault, planted_faults
from psephos.scenarios.audit.self_test import FaultResult, show_self_test
from psephos.scenarios.presentation import make_console

FAULTS = planted_faults()
FEW = 10_000


def test_there_are_the_nine_faults() -> None:
    assert [fault.faulty.name for fault in FAULTS] == [
        "noise halved",
        "sensitivity forgotten",
        "ε per answer",
        "randomness reused",
        "reports drawn again",
        "clipping by the data",
        "low bits of floats",
        "biased k-RR",
        "flip probability kept",
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.faulty.name for fault in FAULTS])
def test_the_fault_is_caught(fault: Fault) -> None:
    found = audit(fault.faulty, samples=SAMPLES, confidence=CONFIDENCE)
    assert found is not None
    assert found.verdict is AuditVerdict.PROOF_REFUTED


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.faulty.name for fault in FAULTS])
def test_the_repair_passes(fault: Fault) -> None:
    found = audit(fault.repaired, samples=FEW, confidence=CONFIDENCE)
    assert found is not None
    assert found.verdict in {AuditVerdict.CONSISTENT, AuditVerdict.NO_STATEMENT}
    assert fault.repaired.proven == fault.faulty.proven


def test_the_self_test_tells_what_is_not_caught(capsys: pytest.CaptureFixture[str]) -> None:
    caught = FaultResult(
        name="noise halved",
        what="The scale is wrong.",
        unit="row",
        proven=1.0,
        audited=1.5,
        verdict=AuditVerdict.PROOF_REFUTED,
        repaired_audited=None,
        repaired_verdict=AuditVerdict.NO_STATEMENT,
    )
    missed = FaultResult(
        name="randomness reused",
        what="The same uniforms.",
        unit="value",
        proven=1.0,
        audited=0.9,
        verdict=AuditVerdict.CONSISTENT,
        repaired_audited=0.9,
        repaired_verdict=AuditVerdict.CONSISTENT,
    )
    assert caught.is_right
    assert not missed.is_right
    show_self_test(make_console(), [caught, missed])
    shown = capsys.readouterr().out
    assert "1 of 2 faults are caught" in shown
    assert "randomness reused: The same uniforms." in shown
