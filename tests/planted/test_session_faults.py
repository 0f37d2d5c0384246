"""What faults of whole sessions hide from: the audit of one party, one number, one source or one public row alone.

Each is caught in `test_planted_faults`. Here a narrower look at the very same sessions tells nothing, which is why
sessions are audited as they are. At a confidence of 1 − 1e-11.
"""

import dataclasses
import functools
from collections.abc import Sequence

import pytest
from audits import found_by
from planted.fault import CONFIDENCE, Fault
from planted.faults import planted_faults
from psephos.protocol.arrays import IntArray
from psephos.scenarios.audit import AuditVerdict, Case, OutputSampler, Pair, audit
from thoroughness import draws

PASSES = {AuditVerdict.CONSISTENT, AuditVerdict.NO_STATEMENT}


@functools.cache
def faults() -> dict[str, Fault]:
    return {fault.faulty.name: fault for fault in planted_faults()}


def looked_at(case: Case, columns: Sequence[int]) -> Case:
    """Return a case of which some numbers alone are looked at."""

    def narrow(draw: OutputSampler) -> OutputSampler:
        def drawn(number: int, stream: int) -> IntArray:
            return draw(number, stream)[:, list(columns)]

        return drawn

    def pairs() -> list[Pair]:
        (pair,) = case.pairs()
        draws, secure = (None if own is None else (narrow(own[0]), narrow(own[1])) for own in (pair.draws, pair.secure))
        return [Pair(pair.name, draws=draws, secure=secure)]

    return dataclasses.replace(case, pairs=pairs)


@pytest.mark.few(most=3)
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("noise shared by two parties", (0, 1)),  # one party's weight and opinion
        ("secure draw shared by candidates", (0, 1)),  # the weight with the opinion on either candidate
        ("secure draw shared by candidates", (0, 2)),
        ("raw values in the agents", (0,)),  # the first phase
        ("a weight drawn again", (0, 1, 3)),  # the first vote, and the opinion in the second
        ("a weight drawn again", (1, 2, 3)),
        ("second answer set in clear", (0, 1)),  # the tasks of the first set
    ],
)
def test_a_part_of_an_output_hides_the_fault(name: str, columns: Sequence[int]) -> None:
    fault = faults()[name]
    samples = draws(fault.samples // 4, full=fault.samples)
    assert found_by(looked_at(fault.faulty, columns), samples, CONFIDENCE, source=fault.source).verdict in PASSES


@pytest.mark.parametrize("name", ["server's secure noise halved", "second answer set in clear"])
def test_simulations_do_not_have_the_fault(name: str) -> None:
    fault = faults()[name]
    assert audit(fault.faulty, samples=fault.samples, confidence=CONFIDENCE, source="simulated") is None
