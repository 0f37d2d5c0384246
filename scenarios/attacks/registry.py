"""Which attack goes with which protocol."""

from typing import Any

from ...protocol.dpwevote import DPWeVote
from ...protocol.errors import ConfigurationError
from ...protocol.fair_voting import FairVoting
from ...protocol.moral_preferences import MoralPreferences
from ...protocol.phases import PhasedProtocol
from ...protocol.truth_discovery import TruthDiscovery
from ..dpwevote.attack.inference import DPWeVoteAttack
from ..fair_voting.attack.inference import FairVotingAttack
from ..moral_preferences.attack.inference import MoralAttack
from ..truth_discovery.attack.inference import TruthDiscoveryAttack
from .attack import Attack

__all__ = ["find_attack"]


def find_attack(protocol: PhasedProtocol[Any, Any]) -> Attack:
    """Return the attack on a protocol's parties.

    Raises:
        ConfigurationError: none is known here.
    """
    match protocol:
        case DPWeVote():
            return DPWeVoteAttack(protocol)
        case FairVoting():
            return FairVotingAttack(protocol)
        case MoralPreferences():
            return MoralAttack(protocol)
        case TruthDiscovery():
            return TruthDiscoveryAttack(protocol)
        case _:
            known = ", ".join(kind.name for kind in (DPWeVote, FairVoting, MoralPreferences, TruthDiscovery))
            allowed = f"one whose inference is known: {known}"
            raise ConfigurationError(field="protocol", value=protocol.name, allowed=allowed)
