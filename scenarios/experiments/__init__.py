"""What papers published, run again: their tables and figures beside ours, and what of it holds.

General parts are here; each system has its paper's own. Names are looked up when they are first used, so that the
command line's help need not import numpy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .calibration import Calibration, Held, Statement, Wanted, calibrate, page_of_calibration
    from .findings import BoundedFinding, Certainty, Finding
    from .measurements import Measurement, deviation, mean_of, share_of
    from .paper import Paper
    from .reproductions import Asked, Experiments, PaperReproduction, Part, page_of, reproduce, show_reproduction

__all__ = [
    "Asked",
    "BoundedFinding",
    "Calibration",
    "Certainty",
    "Experiments",
    "Finding",
    "Held",
    "Measurement",
    "Paper",
    "PaperReproduction",
    "Part",
    "Statement",
    "Wanted",
    "calibrate",
    "deviation",
    "mean_of",
    "page_of",
    "page_of_calibration",
    "reproduce",
    "share_of",
    "show_reproduction",
]

_HOMES = ("paper", "calibration", "findings", "measurements", "reproductions")


def __getattr__(name: str) -> Any:
    for home in _HOMES if name in __all__ else ():
        module = importlib.import_module(f".{home}", __name__)
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
