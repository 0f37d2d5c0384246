"""Plants faults into mechanisms, samplers and sessions: the audit must catch each, and refute none that is repaired.

    $ .venv/bin/python tests/audit_faults.py
    $ .venv/bin/python tests/audit_faults.py --thorough --json

The faults are those of `planted/`, one at a time. The exit status is 1 if one is not caught, or a repair is refuted.
"""

import argparse
import sys
from collections.abc import Sequence

import msgspec
from planted.fault import CONFIDENCE, Fault
from planted.faults import planted_faults
from psephos.protocol.errors import ConfigurationError
from psephos.scenarios.audit.engine import audit
from psephos.scenarios.audit.running import THOROUGH
from psephos.scenarios.presentation import make_console
from psephos.scenarios.presentation.terminal import show_note, show_table
from psephos.scenarios.running.progress import OnStep, steps
from psephos.scenarios.tables import Cell, listed
from psephos.scenarios.verdicts import AuditVerdict
from rich.console import Console
from rich.text import Text


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
        assert found is not None
        assert repaired is not None
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


def main(words: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, help="outputs of each neighbor (as many as each fault asks for)")
    parser.add_argument("--thorough", action="store_true", help="draw ten times as many")
    parser.add_argument("--seed", type=int, default=1, help="of simulated noise (1)")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON, and nothing else")
    given = parser.parse_args(words)
    factor = THOROUGH if given.thorough else 1
    try:
        with steps(make_console(stderr=True)) as tell:
            results = run_self_test(samples=given.samples, factor=factor, seed=given.seed, on_progress=tell)
    except ConfigurationError as error:
        sys.stderr.write(f"audit_faults: {error}\n")
        return 2
    if given.json:
        sys.stdout.write(msgspec.json.encode(results).decode() + "\n")
    else:
        show_self_test(make_console(), results)
    return 0 if all(result.is_right for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
