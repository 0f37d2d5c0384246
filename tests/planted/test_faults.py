"""Every planted fault is caught, and no repair is refuted.

At a confidence of 1 − 1e-11: a fault that is caught at it is caught at .99 with four standard deviations to spare, and
all repairs together are refuted falsely with a probability of at most 1e-9. Seeds are fixed, but for secure noise.
"""

import json

import msgspec
import pytest
from audit_faults import FaultResult, main, show_self_test
from audits import found_by
from planted.fault import CONFIDENCE, Fault
from planted.faults import planted_faults
from psephos.scenarios.audit import AuditResult, AuditVerdict
from psephos.scenarios.audit.case import Case
from psephos.scenarios.audit.running import QUICK, SECURE_SAMPLES, SIMULATED_SAMPLES
from psephos.scenarios.presentation import make_console

FAULTS = planted_faults()
FEW = 10_000
QUICK_SAMPLES = {"simulated": SIMULATED_SAMPLES // QUICK, "secure": SECURE_SAMPLES // QUICK}
SLOW = {
    "few lies from the third answer set on",
    "server's secure noise halved",
    "fewer tasks charged as one answer",
    "voter counted in all societies",
}
NEEDS_ALL = {
    *("tail clipped", "double rate at ties", "flip probability for each eight answers"),
    *("votes: noise forgotten by one party", "rankings: noise forgotten by one party"),
    *("rankings: a colluder's share counted", "preferences: masks reused over two sessions"),
}
"""What a quick audit need not see, or misses now and then."""
OF_SECONDS = {
    "a place in clear",
    "a sampler that remembers",
    "candidates from the third on share a draw",
    "loss halved for the second group",
    *(f"{of}: masks reused over two sessions" for of in ("votes", "answers", "rankings")),
    *("preferences: a colluder's share counted", "preferences: shares for all parties"),
    "noise shared by two parties",
    "one draw for two candidates",
    "raw values in the agents",
    "release's noise halved",
    "tail cut in sessions",
    "the second group's best of nine",
}
"""What a quick audit takes a second or more to see."""
GROSS = [
    fault
    for fault in FAULTS
    if fault.faulty.name not in NEEDS_ALL | SLOW
    and fault.samples > QUICK_SAMPLES[fault.source]  # others are as quick already
]

each_fault = pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.full("four seconds of sessions") if fault.faulty.name in SLOW else ())
        for fault in FAULTS
    ],
    ids=[fault.faulty.name for fault in FAULTS],
)


def found(fault: Fault, case: Case, samples: int, *, confidence: float = CONFIDENCE) -> AuditResult:
    return found_by(case, samples, confidence, source=fault.source)


def test_faults_have_names_of_their_own() -> None:
    names = [fault.faulty.name for fault in FAULTS]
    assert len(set(names)) == len(names) == 63
    assert set(names) >= NEEDS_ALL | SLOW | OF_SECONDS


@pytest.mark.full("every fault in full; what is gross is caught below, quickly")
@each_fault
def test_the_fault_is_caught(fault: Fault) -> None:
    assert found(fault, fault.faulty, fault.samples).verdict is AuditVerdict.PROOF_REFUTED


@pytest.mark.full("the repair of every fault in full")
@each_fault
def test_the_repair_passes(fault: Fault) -> None:
    result = found(fault, fault.repaired, min(FEW, fault.samples))
    assert result.verdict in {AuditVerdict.CONSISTENT, AuditVerdict.NO_STATEMENT}
    assert fault.repaired.proven >= fault.faulty.proven  # more where the fault is that too little is charged


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, marks=pytest.mark.full("seconds of sessions") if fault.faulty.name in OF_SECONDS else ())
        for fault in GROSS
    ],
    ids=[fault.faulty.name for fault in GROSS],
)
def test_a_quick_audit_catches_what_is_gross(fault: Fault) -> None:
    """At the confidence that each of a thousand audits has in a run of .99."""
    samples = QUICK_SAMPLES[fault.source]
    assert found(fault, fault.faulty, samples, confidence=1 - 1e-5).verdict is AuditVerdict.PROOF_REFUTED


def test_what_departs_from_a_law_is_told_with_the_input() -> None:
    (fault,) = (fault for fault in FAULTS if fault.faulty.name == "values kept")
    result = found(fault, fault.faulty, FEW)
    assert result.follows_law is False
    assert result.num_inputs == 4
    assert result.departure.startswith("[2]: ")
    assert found(fault, fault.repaired, FEW).departure == ""


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
    missed = msgspec.structs.replace(
        caught, name="randomness reused", what="The same uniforms.", audited=0.9, verdict=AuditVerdict.CONSISTENT
    )
    assert caught.is_right
    assert not missed.is_right
    show_self_test(make_console(), [caught, missed])
    shown = capsys.readouterr().out
    assert "1 of 2 faults are caught" in shown
    assert "randomness reused: The same uniforms." in shown


@pytest.mark.full("all planted faults")
def test_the_self_test_fails_where_a_fault_is_not_caught(capsys: pytest.CaptureFixture[str]) -> None:
    """With so few outputs that most of them are not."""
    assert main(["--samples", "60", "--json"]) == 1
    results = json.loads(capsys.readouterr().out)
    assert len(results) == len(FAULTS)
    assert any(result["verdict"] != AuditVerdict.PROOF_REFUTED for result in results)


def test_too_few_samples_are_refused_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--samples", "5"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert ": use at least" in err.splitlines()[-1]
