"""Audits: lower bounds on privacy losses, found by distinguishing neighbors, compared with the proven losses."""

from ..verdicts import AuditVerdict
from .case import Case, LawCheck, OutputSampler, OutputView, Pair, Score, Source
from .engine import audit
from .verdict import AuditResult

__all__ = [
    "AuditResult",
    "AuditVerdict",
    "Case",
    "LawCheck",
    "OutputSampler",
    "OutputView",
    "Pair",
    "Score",
    "Source",
    "audit",
]
