"""Deviating parties, each a wrapper around an honest agent; attacks on their views are in `scenarios`."""

from .clients import Changer, Leaver, Poisoner, Replayer
from .deviation import SERVER, DeviatingChannel, DeviatingListener, Deviation, Passage
from .servers import Asker, Dropper, Equivocator, Liar, Unmasker
from .sybils import Attempt, try_to_join

__all__ = [
    "SERVER",
    "Asker",
    "Attempt",
    "Changer",
    "DeviatingChannel",
    "DeviatingListener",
    "Deviation",
    "Dropper",
    "Equivocator",
    "Leaver",
    "Liar",
    "Passage",
    "Poisoner",
    "Replayer",
    "Unmasker",
    "try_to_join",
]
