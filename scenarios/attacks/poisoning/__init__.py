"""Poisoning, protocol by protocol: what chosen reports can move, and how they are chosen."""

from .poisoning import STRATEGIES, Choices, Poisoning, StrategyName, outcome_of, reports_of
from .registry import find_poisoning

__all__ = ["STRATEGIES", "Choices", "Poisoning", "StrategyName", "find_poisoning", "outcome_of", "reports_of"]
