"""What the other mechanism offers a crowd at the price of its session: how much one report tells of an answer.

That is `informativeness`, by which the mechanism "auto" chooses: the share of an answer that a report is worth, to
somebody who knows the worker's other answers. Mechanisms are compared at a price of all answers of a worker, where a
session names that one. At a price of one answer there is no comparison: all answers of a worker cost more by the one
mechanism than by the other, and they are what a ledger is charged.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ...protocol.phases import PhasedProtocol
from ...protocol.truth_discovery import TruthDiscovery
from ...protocol.truth_discovery.noise import Noise, informativeness, make_noise
from ...protocol.truth_discovery.parameters import MechanismName, Parameters
from ..running.offers import Offer, if_allowed

_MECHANISMS: Final[tuple[MechanismName, ...]] = ("one_layer", "two_layer")
# Answers of one worker, above which finding a price takes more than half a second.
_MOST_ANSWERS: Final = 2_000


def offers_at_price(protocol: PhasedProtocol[Any, Any], num_parties: int) -> Sequence[Offer]:
    """Return the other mechanism's offer for the same `epsilon_worker`; none where answer sets have several sizes."""
    del num_parties
    assert isinstance(protocol, TruthDiscovery)  # noqa: S101  what the descriptor says
    parameters, noise = protocol.parameters, protocol.noise
    is_quick = len(set(parameters.sizes)) == 1 and parameters.max_answers <= _MOST_ANSWERS
    own = informativeness(noise, num_answers=parameters.max_answers) if is_quick else 0.0
    # Where workers have an ε of their own a session has no one price, and no `epsilon_worker`.
    if parameters.epsilon_worker is None or not own or noise.on_counts is not None:  # less trust is a wish, and no gain
        return ()
    offered: list[Offer] = []
    for mechanism in _MECHANISMS:
        if mechanism == noise.name:
            continue
        other = if_allowed(_noise_by, mechanism, parameters)
        if other is None:  # two layers cannot have every price
            continue
        offered.append(
            Offer(
                name=mechanism,
                value=informativeness(other, num_answers=parameters.max_answers),
                own=own,
                of="of an answer that a report is worth",
                sign="",
                is_less_better=False,
            )
        )
    return offered


def _noise_by(mechanism: MechanismName, parameters: Parameters) -> Noise:
    return make_noise(msgspec.structs.replace(parameters, mechanism=mechanism))
