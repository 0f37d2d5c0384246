"""Psephos: private collective decisions as multi-party protocols.

This is the package `psephos`, which contains the four rooms: `protocol`, `transports`, `agents`, `scenarios`. Other
distributions may add packages to it. Its names are imported on first use.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psephos.scenarios import load, run, simulate, simulate_async

    __version__: str

__all__ = ["__version__", "load", "run", "simulate", "simulate_async"]

__path__ = pkgutil.extend_path(__path__, __name__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version(__name__)
    if name in __all__:
        return getattr(importlib.import_module("psephos.scenarios"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
