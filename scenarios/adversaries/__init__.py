"""Adversaries that a scenario names: coalitions that infer, parties that deviate, observers of the network.

A module for each role; what they have in common is in `role`, and a scenario's tables are read in `reading`.
"""

from .role import Happened, Lesson, Role, Row, Scene

__all__ = ["Happened", "Lesson", "Role", "Row", "Scene"]
