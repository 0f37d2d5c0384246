"""Audits: every privacy loss bounded from below by telling neighbors apart, and held against what is proven."""

from .case import Case, OutputSampler, Pair, Score, Source
from .engine import audit, check_confidence, check_samples
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
    "check_confidence",
    "check_samples",
]
