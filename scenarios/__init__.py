"""What is run: scenarios, sessions over transports or arrays, run folders, the command line.

Names are looked up when they are first used, so that the command line's help need not import numpy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .running.config import Scenario, load_scenario, shipped_scenarios
    from .running.folder import RunFolder, read_ledger
    from .running.resolution import Resolved, resolve
    from .running.run import Finished, run_in_folder, run_session
    from .running.session import AgentClasses, SessionRecord, run_agents, run_arrays, simulate

__all__ = [
    "AgentClasses",
    "Finished",
    "Resolved",
    "RunFolder",
    "Scenario",
    "SessionRecord",
    "load_scenario",
    "read_ledger",
    "resolve",
    "run_agents",
    "run_arrays",
    "run_in_folder",
    "run_session",
    "shipped_scenarios",
    "simulate",
]

_HOMES = {
    "running.config": ("Scenario", "load_scenario", "shipped_scenarios"),
    "running.folder": ("RunFolder", "read_ledger"),
    "running.resolution": ("Resolved", "resolve"),
    "running.run": ("Finished", "run_in_folder", "run_session"),
    "running.session": ("AgentClasses", "SessionRecord", "run_agents", "run_arrays", "simulate"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
