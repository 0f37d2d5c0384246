"""What papers published, run again: their tables and figures beside ours, and what of it holds.

General parts are here, each paper in a package of its own.
"""

from .findings import Finding
from .measurements import Measurement, deviation, mean_of, share_of
from .sheets import Sheet, flatten, markdown_of, show_sheet

__all__ = [
    "Finding",
    "Measurement",
    "Sheet",
    "deviation",
    "flatten",
    "markdown_of",
    "mean_of",
    "share_of",
    "show_sheet",
]
