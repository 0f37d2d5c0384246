"""A client to which false parameters are named says where they differ and leaves, and nothing was drawn."""

from collections.abc import Mapping
from typing import Any

import msgspec
import trio
from deviants import INPUTS, NAMES, VOTE, meet
from psephos.agents import CloudServer, Simulation, inquire
from psephos.agents.adversaries import SERVER, DeviatingListener, Liar
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roster import Roster
from psephos.transports import MemoryTransport


def larger_epsilon(parameters: dict[str, Any]) -> Mapping[str, Any]:
    return {**parameters, "epsilon": 20.0}


async def test_the_truth_as_it_is_harms_nobody() -> None:
    meeting = await meet(MemoryTransport(), {SERVER: Liar(dict[str, Any].copy)})
    assert set(meeting.transcripts.values()) == set((await meet(MemoryTransport())).transcripts.values())


async def test_who_agreed_to_nothing_is_told_the_lie_as_the_terms() -> None:
    transport = MemoryTransport()
    mode = Simulation("council", SimulatedNoise(7, session="council"))
    server = CloudServer(VOTE, Roster(NAMES, INPUTS.public), mode)
    with trio.fail_after(240):
        async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
            nursery.start_soon(server.serve, DeviatingListener(listener, Liar(larger_epsilon)))
            async with await transport.connect(listener.address) as channel:
                terms = await inquire(channel, party="ann")
            nursery.cancel_scope.cancel()
    assert msgspec.msgpack.decode(terms.parameters)["epsilon"] == 20.0
