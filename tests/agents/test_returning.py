"""Coming back without a journal: until the server has welcomed the party, and not afterwards."""

import msgspec
import pytest
import trio
import trio.testing
from peers import INPUTS, NAMES, VOTE
from psephos.agents import Client, CloudServer, Partner, Simulation
from psephos.agents.returning import take_part_durably
from psephos.protocol import Party
from psephos.protocol.errors import ConnectionLostError
from psephos.protocol.messages import Welcome, encode
from psephos.protocol.randomness import SimulatedNoise
from psephos.protocol.roster import Roster
from psephos.transports import Channel, MemoryTransport

MODE = Simulation("council", SimulatedNoise(7, session="council"))


class Guest:
    """A party without a journal, that takes part over memory.

    Args:
        place: its place in the roster.
    """

    def __init__(self, place: int) -> None:
        self.heard: msgspec.Struct | None = None
        self.losses: list[Exception] = []
        self._place = place

    async def take_part(self, transport: MemoryTransport, address: str) -> None:
        """Take part, and come back as it may."""

        async def connect() -> Channel:
            return await transport.connect(address)

        _, self.heard = await take_part_durably(
            self._make_client, connect, patience_seconds=30.0, has_journal=False, on_loss=self.losses.append
        )

    def _make_client(self) -> Client:
        row: list[int] = INPUTS.private.tolist()[self._place]
        return Partner(VOTE, Party(NAMES[self._place], self._place, row), MODE)


async def test_who_is_turned_away_at_the_door_comes_back_without_a_journal(clock: trio.testing.MockClock) -> None:
    del clock
    transport = MemoryTransport()
    parties = [Guest(place) for place in range(len(NAMES))]
    server = CloudServer(VOTE, Roster(NAMES, INPUTS.public), MODE)
    async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
        for party in parties:
            nursery.start_soon(party.take_part, transport, listener.address)
        (await listener.accept()).close()  # as by a server whose lobby is full
        ending = await server.serve(listener)
    assert [party.heard for party in parties] == [ending.outcome] * len(NAMES)
    assert [type(loss) for party in parties for loss in party.losses] == [ConnectionLostError]


async def test_who_never_reaches_a_server_tries_as_long_as_its_patience_lasts(clock: trio.testing.MockClock) -> None:
    del clock
    begun = trio.current_time()
    party = Guest(0)
    with pytest.raises(OSError, match="nobody"):
        await party.take_part(MemoryTransport(), "nobody")
    assert 20.0 < trio.current_time() - begun <= 30.0
    assert {type(loss) for loss in party.losses} == {ConnectionRefusedError}


@pytest.mark.parametrize("is_welcomed", [True, False])
async def test_without_a_journal_nobody_comes_back_who_was_welcomed_or_finds_no_server(
    clock: trio.testing.MockClock, *, is_welcomed: bool
) -> None:
    del clock
    transport = MemoryTransport()
    party = Guest(0)
    async with await transport.open_listener() as listener, trio.open_nursery() as nursery:

        async def leave() -> None:
            async with await listener.accept() as channel:
                await channel.receive()
                if is_welcomed:
                    await channel.send([encode(Welcome.make(VOTE, descriptor=MODE.descriptor))])
            if not is_welcomed:
                await listener.aclose()

        nursery.start_soon(leave)
        with pytest.raises(ConnectionLostError):
            await party.take_part(transport, listener.address)
    assert len(party.losses) == (0 if is_welcomed else 1)
