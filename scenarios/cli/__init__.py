"""The command line. Heavy imports wait until a command needs them, so that help is there at once.

Exit status: 0, or 1 where a run failed, or 2 where the input was wrong; one line says why, without a traceback.
"""

from . import (
    audit,
    beginning,
    calibration,
    deployment,
    experiments,
    journal,
    rehearsal,
    reports,
    reproduction,
    simulation,
)
from .group import cli, main

__all__ = [
    "audit",
    "beginning",
    "calibration",
    "cli",
    "deployment",
    "experiments",
    "journal",
    "main",
    "rehearsal",
    "reports",
    "reproduction",
    "simulation",
]
