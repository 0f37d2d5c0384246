"""Audits: every privacy loss bounded from below by telling neighbors apart, and held against what is proven."""

from .case import Case, OutputSampler, Pair, Score, Source
from .engine import audit
from .verdict import Audited, AuditVerdict

__all__ = [
    "AuditVerdict",
    "Audited",
    "Case",
    "OutputSampler",
    "Pair",
    "Score",
    "Source",
    "audit",
]
