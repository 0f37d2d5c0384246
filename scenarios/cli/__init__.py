"""The command line. Heavy imports wait until a command needs them, so that help is there at once.

Exit status: 0, or 1 where a run failed, or 2 where the input was wrong; one line says why, without a traceback.
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
