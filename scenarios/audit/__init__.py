"""Audits: every privacy loss bounded from below by telling neighbors apart, and held against what is proven."""

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
