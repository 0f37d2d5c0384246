"""What is run: scenarios, sessions over transports or arrays, run folders, the command line.

Names are imported on first use, so that the command line's help does not wait for numpy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .running.config import Scenario, list_scenarios, load_scenario
    from .running.folder import RunFolder, read_ledger
    from .running.from_python import RunResult, load, run
    from .running.resolution import Local, Resolved, ServerRun, Streamed, resolve, resolve_served
    from .running.run import FinishedRun, run_in_folder, run_session
    from .running.series import Series, load_series
    from .running.series_run import FinishedSeries, resolve_series, run_series
    from .running.session import (
        Adversity,
        AgentClasses,
        SessionRecord,
        run_agents,
        run_arrays,
        simulate,
        simulate_async,
    )

__all__ = [
    "Adversity",
    "AgentClasses",
    "FinishedRun",
    "FinishedSeries",
    "Local",
    "Resolved",
    "RunFolder",
    "RunResult",
    "Scenario",
    "Series",
    "ServerRun",
    "SessionRecord",
    "Streamed",
    "list_scenarios",
    "load",
    "load_scenario",
    "load_series",
    "read_ledger",
    "resolve",
    "resolve_series",
    "resolve_served",
    "run",
    "run_agents",
    "run_arrays",
    "run_in_folder",
    "run_series",
    "run_session",
    "simulate",
    "simulate_async",
]

_HOMES = {
    "running.config": ("Scenario", "load_scenario", "list_scenarios"),
    "running.folder": ("RunFolder", "read_ledger"),
    "running.from_python": ("RunResult", "load", "run"),
    "running.resolution": ("Local", "Resolved", "ServerRun", "Streamed", "resolve", "resolve_served"),
    "running.run": ("FinishedRun", "run_in_folder", "run_session"),
    "running.series": ("Series", "load_series"),
    "running.series_run": ("FinishedSeries", "resolve_series", "run_series"),
    "running.session": (
        "Adversity",
        "AgentClasses",
        "SessionRecord",
        "run_agents",
        "run_arrays",
        "simulate",
        "simulate_async",
    ),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
