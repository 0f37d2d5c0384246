"""Deviating parties, each a wrapper around an honest agent; what they infer is outside this room."""

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
