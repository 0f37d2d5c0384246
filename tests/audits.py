"""What tests of audits have in common: a case of theirs, and an audit that has found something."""

from typing import Any

from psephos.scenarios.audit import AuditResult, Case, Pair, audit


def case_of(*pairs: Pair, claimed: float = 1.0, proven: float = 1.0, **given: Any) -> Case:
    """Return a case of these neighbors, local and replace-one unless given otherwise."""
    told: dict[str, Any] = {"name": "a case", "group": "tests", "unit": "bit", "pairs": lambda: pairs}
    return Case(claimed=claimed, proven=proven, **told | given)


def found_by(case: Case, samples: int, confidence: float, *, source: Any = "simulated") -> AuditResult:
    """Return what an audit finds, where there is something to draw or a law."""
    found = audit(case, samples=samples, confidence=confidence, source=source)
    assert found is not None, case.name
    return found
