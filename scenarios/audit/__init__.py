"""Audits: every privacy loss bounded from below by telling neighbors apart, and held against what is proven."""

from .case import Case, Draw, Pair, Score
from .engine import Audited, Source, Verdict, audit, check_confidence, check_samples

__all__ = [
    "Audited",
    "Case",
    "Draw",
    "Pair",
    "Score",
    "Source",
    "Verdict",
    "audit",
    "check_confidence",
    "check_samples",
]
