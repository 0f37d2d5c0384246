"""Memory channels, beyond what `tests/conformance/test_channels.py` checks of every transport."""

import errno

import pytest
import trio
import trio.testing
from pairs import open_pair
from psephos.protocol.errors import MalformedMessageError
from psephos.transports import Channel, MemoryTransport
from psephos.transports.memory import MAX_QUEUED_PAYLOADS


async def test_a_direction_holds_so_many_payloads_and_then_says_wouldblock() -> None:
    async with open_pair() as (near, far):
        for number in range(MAX_QUEUED_PAYLOADS):
            near.send_nowait(b"%d" % number)
        with pytest.raises(trio.WouldBlock):
            near.send_nowait(b"too many")
        assert await far.receive() == [b"%d" % number for number in range(MAX_QUEUED_PAYLOADS)]
        near.send_nowait(b"room again")
        assert await far.receive() == [b"room again"]


async def test_payloads_that_are_ready_arrive_together() -> None:
    async with open_pair() as (near, far):
        await near.send([b"a", b"b"])
        near.send_nowait(b"c")
        assert await far.receive() == [b"a", b"b", b"c"]


async def test_a_cancelled_send_leaves_the_channel_such_that_it_can_be_closed() -> None:
    async with open_pair() as (near, far):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(near.send, [b"x"] * (MAX_QUEUED_PAYLOADS + 10))
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        await near.aclose()
        assert len(await far.receive()) == MAX_QUEUED_PAYLOADS
        with pytest.raises(trio.EndOfChannel):
            await far.receive()


async def test_addresses_are_names_that_can_be_chosen_and_used_again_after_closing() -> None:
    transport = MemoryTransport()
    async with await transport.open_listener("the town hall") as listener:
        assert listener.address == "the town hall"
        with pytest.raises(OSError, match="taken") as caught:
            await transport.open_listener("the town hall")
        assert caught.value.errno == errno.EADDRINUSE
        near, far = await transport.connect("the town hall"), await listener.accept()
        assert near.peer == "the town hall"
        assert far.peer.startswith("the town hall#")
    async with await transport.open_listener("the town hall"):
        pass


async def test_closing_an_old_listener_again_does_not_close_its_address_to_a_new_one() -> None:
    transport = MemoryTransport()
    old = await transport.open_listener("the town hall")
    await old.aclose()
    async with await transport.open_listener("the town hall") as new:
        await old.aclose()
        near, far = await transport.connect("the town hall"), await new.accept()
        await near.send([b"hello"])
        assert await far.receive() == [b"hello"]


async def test_transports_are_networks_of_their_own() -> None:
    async with await MemoryTransport().open_listener("the town hall"):
        with pytest.raises(ConnectionRefusedError, match="nobody listens"):
            await MemoryTransport().connect("the town hall")


async def test_a_cancelled_close_of_a_listener_ends_all_that_wait_to_be_accepted() -> None:
    transport = MemoryTransport()
    listener = await transport.open_listener()
    waiting = [await transport.connect(listener.address) for _ in range(3)]
    with trio.CancelScope() as scope:
        scope.cancel()
        await listener.aclose()
    for channel in waiting:
        with pytest.raises(trio.EndOfChannel), trio.fail_after(240):
            await channel.receive()


async def test_two_accepts_may_wait_and_each_gets_a_channel() -> None:
    transport = MemoryTransport()
    async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
        arrived: list[bytes] = []

        async def accept() -> None:
            async with await listener.accept() as channel:
                arrived.extend(await channel.receive())

        nursery.start_soon(accept)
        nursery.start_soon(accept)
        await trio.testing.wait_all_tasks_blocked()
        for name in (b"a", b"b"):
            await (await transport.connect(listener.address)).send([name])
        await trio.testing.wait_all_tasks_blocked()
        assert sorted(arrived) == [b"a", b"b"]


async def test_a_watched_channel_says_when_there_is_something_and_when_it_ends() -> None:
    noted: list[Channel] = []
    async with open_pair() as (near, far):
        near.send_nowait(b"before")
        assert far.watch(noted.append)
        assert noted == [far]
        near.send_nowait(b"and again")
        assert noted == [far]  # there was something already
        assert far.receive_nowait() == [b"before", b"and again"]
        with pytest.raises(trio.WouldBlock):
            far.receive_nowait()
        await near.send([b"later"])
        near.close()
        assert noted == [far] * 3
        assert far.receive_nowait() == [b"later"]
        with pytest.raises(trio.EndOfChannel):
            far.receive_nowait()
        far.close()
        with pytest.raises(trio.ClosedResourceError):
            far.receive_nowait()


async def test_a_watched_channel_says_that_something_is_left_above_its_limit() -> None:
    noted: list[Channel] = []
    async with open_pair() as (near, far):
        far.limit_payloads(3)
        assert far.watch(noted.append)
        await near.send([b"fit", b"does not"])
        noted.clear()
        assert far.receive_nowait() == [b"fit"]
        assert noted == [far]
        with pytest.raises(MalformedMessageError):
            far.receive_nowait()


async def test_a_listener_has_without_waiting_what_has_come() -> None:
    transport = MemoryTransport()
    async with await transport.open_listener() as listener:
        assert listener.accept_nowait() is None
        nears = [await transport.connect(listener.address) for _ in range(2)]
        for near in nears:
            near.send_nowait(b"here")
            far = listener.accept_nowait()
            assert far is not None
            assert await far.receive() == [b"here"]
        assert listener.accept_nowait() is None


async def test_who_receives_from_a_channel_watches_it_no_longer() -> None:
    noted: list[Channel] = []
    async with open_pair() as (near, far):
        assert far.watch(noted.append)
        near.send_nowait(b"noted")
        assert await far.receive() == [b"noted"]
        near.send_nowait(b"no more")
        assert noted == [far]
