"""The command line.

Heavy modules are imported only by the commands that need them, so that help appears at once. The exit status is 0, or 1
if a run failed, or 2 if the input was wrong; a message says why, without a traceback.
"""

from . import (
    audit,
    drafting,
    enrollment,
    experiments,
    joining,
    journal,
    rehearsal,
    reports,
    reproduction,
    serving,
    simulation,
)
from .group import cli, main

__all__ = [
    "audit",
    "cli",
    "drafting",
    "enrollment",
    "experiments",
    "joining",
    "journal",
    "main",
    "rehearsal",
    "reports",
    "reproduction",
    "serving",
    "simulation",
]
