"""Adversaries that a scenario names: coalitions that infer, parties that deviate, observers of the network.

A module for each role; what they have in common is in `role`, and a scenario's tables are read in `reading`.
"""

from .role import AttackContext, AttackReport, Role, Row, SessionTrace

__all__ = ["AttackContext", "AttackReport", "Role", "Row", "SessionTrace"]
