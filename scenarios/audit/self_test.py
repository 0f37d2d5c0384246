"""The audit's test of itself: every planted fault must be caught, and no repaired one refuted."""

import msgspec
from rich.console import Console
from rich.text import Text

from ..presentation.terminal import show_note, show_table
from ..running.progress import OnStep
from ..tables import Cell, listed
from ..verdicts import AuditVerdict
from .engine import audit
from .faults import CONFIDENCE, Fault, planted_faults


class FaultResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the audit says of a fault and of its repair."""

    name: str  # the fault
    what: str  # what is wrong
    unit: str  # the unit of protection
    proven: float  # ε that is claimed, and of the repaired proven, in nats
    audited: float | None  # the lower bound on ε with the fault; None where there is none
    verdict: AuditVerdict  # of the fault
    repaired_audited: float | None  # the lower bound on ε without it
    repaired_verdict: AuditVerdict  # of the repaired
    told_by: str = ""  # the event, or the departure from a law, that told most of the fault, as a phrase

    @property
    def is_right(self) -> bool:
        """Whether the fault was caught, and its repair was not."""
        refuted = {AuditVerdict.PROOF_REFUTED, AuditVerdict.CLAIM_REFUTED}
        return self.verdict is AuditVerdict.PROOF_REFUTED and self.repaired_verdict not in refuted


def run_self_test(
    *, samples: int | None = None, factor: int = 1, seed: int = 1, on_progress: OnStep | None = None
) -> list[FaultResult]:
    """Audit all faults and repairs, each with the noise that it is in.

    Samples of each neighbor are by default as many as each fault asks for, times a factor; those of the noise of
    deployments are never exceeded.
    """
    results: list[FaultResult] = []
    faults = planted_faults()
    if on_progress is not None:
        on_progress("", 0, len(faults))
    for count, fault in enumerate(faults, start=1):
        number = factor * _samples_of(fault, samples)
        found, repaired = (
            audit(case, samples=number, confidence=CONFIDENCE, source=fault.source, seed=seed)
            for case in (fault.faulty, fault.repaired)
        )
        assert found is not None  # noqa: S101  all of them can be drawn
        assert repaired is not None  # noqa: S101  the same
        results.append(
            FaultResult(
                name=fault.faulty.name,
                what=fault.what,
                unit=fault.faulty.unit,
                proven=fault.faulty.proven,
                audited=found.epsilon,
                verdict=found.verdict,
                repaired_audited=repaired.epsilon,
                repaired_verdict=repaired.verdict,
                told_by=found.departure or found.event,
            )
        )
        if on_progress is not None:
            on_progress(f"{count}/{len(faults)}  {fault.faulty.name}", count, len(faults))
    return results


def _samples_of(fault: Fault, samples: int | None) -> int:
    if samples is None:
        return fault.samples
    return min(samples, fault.samples) if fault.source == "secure" else samples


def show_self_test(console: Console, results: list[FaultResult]) -> None:
    """Print a row for each fault."""
    table = listed(
        results,
        [
            ("fault", lambda each: each.name),
            ("unit", lambda each: each.unit),
            ("claimed", lambda each: f"{each.proven:.3f}"),
            ("audited", lambda each: _number(each.audited)),
            ("verdict", lambda each: Cell(each.verdict, tone="" if each.is_right else "poor")),
            ("repaired", lambda each: _number(each.repaired_audited)),
            ("its verdict", lambda each: each.repaired_verdict),
        ],
        labels=2,
    )
    console.print()
    show_table(console, table)
    for result in results:
        told_by = f" Told by {result.told_by}." if result.told_by else ""
        show_note(console, f"{result.name}: {result.what}{told_by}")
    right = sum(result.is_right for result in results)
    console.print(
        Text(
            f"\n{right} of {len(results)} faults are caught while their repairs pass; each repair is refuted falsely "
            f"with a probability of at most {1 - CONFIDENCE:.0e}."
        )
    )


def _number(epsilon: float | None) -> str:
    return "–" if epsilon is None else f"{epsilon:.3f}"
