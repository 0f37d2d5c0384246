"""Deviating parties, each a wrapper around an honest agent; what they infer is no business of this room."""

from .clients import Leaver, Poisoner, Replayer
from .deviation import SERVER, DeviatingChannel, DeviatingListener, Deviation, Passage
from .servers import Asker, Dropper, Equivocator, Liar
from .sybils import Attempt, try_to_join

__all__ = [
    "SERVER",
    "Asker",
    "Attempt",
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
    "try_to_join",
]
