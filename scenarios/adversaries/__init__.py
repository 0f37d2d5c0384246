"""Adversaries that a scenario names: coalitions that infer, parties that deviate, observers of the network.

Each role is a module. `role` holds the base class, and `reading` makes roles from a scenario's tables.
"""

from .role import AttackContext, AttackReport, Role, Row, SessionTrace

__all__ = ["AttackContext", "AttackReport", "Role", "Row", "SessionTrace"]
