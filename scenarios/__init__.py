"""What is run: scenarios, sessions over transports or arrays, run folders, the command line.

Names are looked up when they are first used, so that the command line's help need not import numpy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import Scenario, load_scenario, shipped_scenarios
    from .folder import RunFolder, read_ledger
    from .resolution import Resolved, resolve
    from .run import Finished, run_in_folder, run_session
    from .session import AgentClasses, SessionRecord, run_agents, run_arrays, simulate

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
    "config": ("Scenario", "load_scenario", "shipped_scenarios"),
    "folder": ("RunFolder", "read_ledger"),
    "resolution": ("Resolved", "resolve"),
    "run": ("Finished", "run_in_folder", "run_session"),
    "session": ("AgentClasses", "SessionRecord", "run_agents", "run_arrays", "simulate"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
