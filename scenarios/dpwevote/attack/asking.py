"""The ways of collecting weights: once in a session, or anew for each candidate (reading W5)."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ....protocol.dpwevote import DPWeVote
from ....protocol.phases import PhasedProtocol
from ....protocol.privacy import total_of
from ...adversaries.averaging_attacker import AskedAnew

_WEIGHT: Final = "weight"


def _collections(protocol: PhasedProtocol[Any, Any]) -> list[DPWeVote]:
    """Return the vote with weights collected once, and for each candidate; empty if these do not differ."""
    assert isinstance(protocol, DPWeVote)  # noqa: S101  whose system this is
    parameters = protocol.parameters
    if parameters.public_weights or not parameters.kind.counts_by_group or len(parameters.candidates) == 1:
        return []
    return [
        DPWeVote(msgspec.structs.replace(parameters, weight_collection=collected, game=msgspec.UNSET))
        for collected in ("once", "per_candidate")
    ]


def _ways(protocol: PhasedProtocol[Any, Any]) -> list[tuple[str, PhasedProtocol[Any, Any]]]:
    ways: list[tuple[str, PhasedProtocol[Any, Any]]] = []
    for collection in _collections(protocol):
        number = sum(loss.unit == _WEIGHT for loss in collection.losses)
        times = "once" if number == 1 else f"{number:,} times, for each candidate"
        ways.append((f"weights collected {times}", collection))
    return ways


def _say(protocol: PhasedProtocol[Any, Any]) -> Iterator[str]:
    collections = _collections(protocol)
    if not collections:
        return
    total_once, each = (total_of(collection.losses).proven for collection in collections)
    parameters = collections[0].parameters
    number = len(parameters.candidates)
    yield (
        f"The paper runs the weights again for each of {number:,} candidates, which is the same thing inside one "
        f"session: it costs {number} · ({parameters.loss_of_weight:g} + {parameters.loss_of_opinion:g}) = {each:g}, "
        f"where weights that are collected once cost "
        f"{parameters.loss_of_weight:g} + {number} · {parameters.loss_of_opinion:g} = {total_once:g}."
    )


WEIGHTS: Final = AskedAnew(unit=_WEIGHT, ways=_ways, say=_say)
