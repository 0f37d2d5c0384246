"""Which poisoning goes with which protocol."""

from typing import Any

from ....protocol.dpwevote import DPWeVote
from ....protocol.errors import ConfigurationError
from ....protocol.fair_voting import FairVoting
from ....protocol.moral_preferences import MoralPreferences
from ....protocol.phases import PhasedProtocol
from ....protocol.truth_discovery import TruthDiscovery
from ...dpwevote.attack.poisoning import PoisonedVote
from ...fair_voting.attack.poisoning import PoisonedRankings
from ...moral_preferences.attack.poisoning import PoisonedPreferences
from ...truth_discovery.attack.poisoning import PoisonedTruths
from .poisoning import Poisoning

__all__ = ["find_poisoning"]


def find_poisoning(protocol: PhasedProtocol[Any, Any], aim: str = "", *, sign: int = 1) -> Poisoning:
    """Return what can be pushed in sessions of a protocol. See `Poisoning`.

    Raises:
        ConfigurationError: it is not known here how to poison it, or as `Poisoning`.
    """
    match protocol:
        case DPWeVote():
            return PoisonedVote(protocol, aim, sign=sign)
        case FairVoting():
            return PoisonedRankings(protocol, aim, sign=sign)
        case MoralPreferences():
            return PoisonedPreferences(protocol, aim, sign=sign)
        case TruthDiscovery():
            return PoisonedTruths(protocol, aim, sign=sign)
        case _:
            known = ", ".join(kind.name for kind in (DPWeVote, FairVoting, MoralPreferences, TruthDiscovery))
            allowed = f"one whose poisoning is known: {known}"
            raise ConfigurationError(field="protocol", value=protocol.name, allowed=allowed)
