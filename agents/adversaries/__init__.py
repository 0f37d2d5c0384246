"""Deviating parties, each a wrapper around an honest agent; what they infer is no business of this room."""

from .asking import Asker
from .deviation import SERVER, DeviatingChannel, DeviatingListener, Deviation, Passage
from .dropping import Dropper
from .equivocating import Equivocator
from .leaving import Leaver
from .lying import Liar
from .poisoning import Poisoner
from .replaying import Replayer
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
