"""Channels over one connection keep the contract of all channels; whoever breaks the rules loses its own alone."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from struct import Struct

import pytest
import trio
import trio.lowlevel
import trio.testing
from psephos.protocol.errors import MalformedMessageError
from psephos.transports import Channel, MemoryTransport, TCPTransport, TLSTransport, Transport
from psephos.transports.carrier import GREETING, REFUSAL, WINDOW_BYTES, Carrier
from psephos.transports.framing import MAX_FRAME_BYTES
from psephos.transports.shared import SharedTransport
from psephos.transports.testing.channels import CHANNEL_CHECKS
from psephos.transports.testing.pairs import Sizes

HEADER = Struct(">BII")
OPEN, PAYLOAD, TAKEN, CLOSE = range(4)


@contextlib.asynccontextmanager
async def carriers(transport: Transport, *, most: int = 3) -> AsyncGenerator[tuple[Carrier, Carrier]]:
    """Yield both ends of a connection that carries channels, the opening one first."""
    async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
        near = Carrier(await transport.connect(listener.address))
        nursery.start_soon(near.run)
        connection = await listener.accept()
        payloads = await connection.receive()
        assert payloads[0] == GREETING
        far = Carrier(connection, most=most, early_payloads=payloads[1:])
        nursery.start_soon(far.run)
        yield near, far
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("make_transport", [MemoryTransport, TCPTransport, TLSTransport])
async def test_a_carried_channel_keeps_the_contract_of_channels(make_transport: Callable[[], Transport]) -> None:
    for check in CHANNEL_CHECKS:
        for is_flipped in (False, True):
            with trio.fail_after(60):
                async with carriers(make_transport()) as (near, far):
                    opened, accepted = near.open(), await far.accept()
                    ends = (accepted, opened) if is_flipped else (opened, accepted)
                    await check(ends[0], ends[1], Sizes(MAX_FRAME_BYTES, 1 << 20))


@contextlib.asynccontextmanager
async def hostile(*, most: int = 3) -> AsyncGenerator[tuple[Channel, Carrier, list[Exception]]]:
    """Yield a connection on which anything can be said, the carrier at its other end, and why that has ended."""
    ended: list[Exception] = []
    transport = MemoryTransport()

    async def run(carrier: Carrier) -> None:
        try:
            await carrier.run()
        except MalformedMessageError as error:
            ended.append(error)

    async with await transport.open_listener() as listener, trio.open_nursery() as nursery:
        connection = await transport.connect(listener.address)
        carrier = Carrier(await listener.accept(), most=most)
        nursery.start_soon(run, carrier)
        yield connection, carrier, ended
        nursery.cancel_scope.cancel()


async def until_it_ends(channel: Channel) -> None:
    """Read a channel to its end."""
    with contextlib.suppress(trio.EndOfChannel, trio.BrokenResourceError):
        while True:
            await channel.receive()


def head(kind: int, number: int, amount: int = 0) -> bytes:
    return HEADER.pack(kind, number, amount)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([head(OPEN, 2)], "channel 2 cannot be opened behind 0"),
        ([head(OPEN, 1), head(OPEN, 1)], "channel 1 cannot be opened behind 1"),
        ([head(OPEN, 1), head(CLOSE, 1), head(OPEN, 1)], "channel 1 cannot be opened behind 1"),
        ([head(OPEN, number) for number in range(1, 5)], "with 3 of 3 open"),
        ([head(PAYLOAD, 1), b"x"], "channel 1 is not open"),
        ([head(OPEN, 1), head(CLOSE, 1), head(PAYLOAD, 1), b"x"], "channel 1 is not open"),
        ([head(OPEN, 1), head(9, 1)], "channel 1 is not open"),
        ([REFUSAL], "channel 0 is not open"),
        ([head(OPEN, 1), head(TAKEN, 1, 1)], "channel 1 had 0 bytes to take, not 1"),
        ([head(OPEN, 1), head(TAKEN, 1, 0)], "channel 1 had 0 bytes to take, not 0"),
        ([b"short"], "a carrier's header has 9 bytes, not 5"),
        ([head(OPEN, 1)] + [head(PAYLOAD, 1), bytes(1 << 14)] * 5, f"more than {WINDOW_BYTES} bytes on the way"),
        ([head(OPEN, 1)] + [head(PAYLOAD, 1), b""] * 1_030, f"more than {WINDOW_BYTES} bytes on the way"),
    ],
)
async def test_whoever_breaks_the_rules_is_refused_in_one_line(said: list[bytes], reason: str) -> None:
    async with hostile() as (connection, carrier, ended):
        with contextlib.suppress(trio.BrokenResourceError):
            await connection.send(said)
        await trio.testing.wait_all_tasks_blocked()
        (error,) = ended
        assert reason in str(error)
        assert "\n" not in str(error)
        assert carrier.failure is error
        await until_it_ends(connection)


async def test_channels_are_opened_again_and_again_but_only_so_many_at_a_time() -> None:
    async with carriers(MemoryTransport(), most=2) as (near, far):
        for number in range(100):
            ours, theirs = near.open(), await far.accept()
            await ours.send([b"%d" % number])
            assert await theirs.receive() == [b"%d" % number]
            ours.close()
            theirs.close()
        assert far.failure is None


async def test_channels_that_nobody_has_accepted_yet_wait_on_the_connection() -> None:
    sent: list[int] = []

    async with hostile() as (connection, carrier, ended), trio.open_nursery() as nursery:

        async def flood() -> None:
            for number in range(1, 1_000):
                await connection.send([head(OPEN, number), head(CLOSE, number)])
                sent.append(number)

        nursery.start_soon(flood)
        nursery.start_soon(until_it_ends, connection)
        await trio.testing.wait_all_tasks_blocked()
        assert len(sent) < 100
        for _ in range(1, 1_000):
            (await carrier.accept()).close()
        assert not ended
        nursery.cancel_scope.cancel()
    assert len(sent) == 999


async def test_a_slow_channel_holds_up_no_other_one() -> None:
    async with carriers(MemoryTransport()) as (near, far), trio.open_nursery() as nursery:
        slow, quick = near.open(), near.open()
        unread, read = await far.accept(), await far.accept()
        nursery.start_soon(slow.send, [bytes(1 << 12)] * 100)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(trio.WouldBlock):
            slow.send_nowait(b"more")
        for number in range(1_000):
            await quick.send([b"%d" % number])
            assert await read.receive() == [b"%d" % number]
        got = 0
        while got < 100:
            got += len(await unread.receive())


async def test_who_asks_and_never_reads_is_cut_off() -> None:
    async with hostile(most=4) as (connection, carrier, ended):
        number = 1
        with contextlib.suppress(trio.BrokenResourceError), trio.fail_after(10):
            while True:
                await connection.send([head(OPEN, number), head(CLOSE, number)])
                (await carrier.accept()).close()
                number += 1
        assert number < 2_000
        assert not ended


async def test_half_a_frame_breaks_every_channel_of_its_connection() -> None:
    async with hostile() as (connection, carrier, _):
        await connection.send([head(OPEN, 1), head(OPEN, 2), head(PAYLOAD, 1)])
        channels = [await carrier.accept(), await carrier.accept()]
        connection.close()
        for channel in channels:
            with pytest.raises(trio.BrokenResourceError):
                await channel.receive()
        with pytest.raises(trio.ClosedResourceError):
            await carrier.accept()


async def test_nothing_leaves_before_it_is_kept_and_nothing_at_all_where_it_cannot_be() -> None:
    """Nor does what is said while something else is being kept."""
    kept: list[bytes] = []
    told: list[bytes] = []

    def say(payload: bytes) -> None:
        told.append(payload)
        channel.send_nowait(payload)

    async def keep() -> None:
        begun = [*told]
        if begun == [b"first"]:
            say(b"meanwhile")
        await trio.lowlevel.checkpoint()
        if b"full" in begun:
            raise OSError("the disk is full")
        kept[:] = begun

    transport = MemoryTransport()
    async with await transport.open_listener() as listener:
        near = Carrier(await transport.connect(listener.address), before_writing=keep)
        far = await listener.accept()
        channel = near.open()
        with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is full")):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(near.run)
                say(b"first")
                payloads: list[bytes] = []
                while b"meanwhile" not in payloads:
                    payloads += await far.receive()
                    assert {*told}.intersection(payloads) <= {*kept}
                say(b"full")
        with pytest.raises(trio.EndOfChannel):
            await far.receive()
        with pytest.raises(OSError, match="the disk is full"):
            await channel.receive()


async def test_a_lost_connection_is_made_anew_once_for_all(
    autojump_clock: trio.testing.MockClock,  # noqa: ARG001  it is waited on
) -> None:
    inner = MemoryTransport()
    async with await inner.open_listener() as listener, trio.open_nursery() as nursery:
        shared = SharedTransport(inner, nursery)
        before = [await shared.connect(listener.address) for _ in range(3)]
        (await listener.accept()).close()
        for channel in before:
            with pytest.raises(trio.BrokenResourceError):
                await channel.receive()
        for _ in range(3):
            nursery.start_soon(shared.connect, listener.address)
        payloads = await (await listener.accept()).receive()
        await trio.testing.wait_all_tasks_blocked()
        assert payloads[:2] == [GREETING, head(OPEN, 1)]
        assert trio.current_time() >= 1.0
        with trio.move_on_after(5) as scope:
            await listener.accept()
        assert scope.cancelled_caught
        nursery.cancel_scope.cancel()


async def test_no_more_channels_wait_for_an_answer_than_are_answered_soon() -> None:
    inner = MemoryTransport()
    connected: list[Channel] = []
    async with await inner.open_listener() as listener, trio.open_nursery() as nursery:
        shared = SharedTransport(inner, nursery)

        async def connect() -> None:
            connected.append(await shared.connect(listener.address))

        for _ in range(300):
            nursery.start_soon(connect)
        connection = await listener.accept()
        payloads = await connection.receive()
        far = Carrier(connection, most=300, early_payloads=payloads[1:])
        nursery.start_soon(far.run)
        await trio.testing.wait_all_tasks_blocked()
        assert len(connected) == 256
        for _ in range(40):
            await (await far.accept()).send([b"answer"])
        for channel in connected[-4:]:
            channel.close()
        await trio.testing.wait_all_tasks_blocked()
        assert len(connected) == 300
        nursery.cancel_scope.cancel()


async def test_who_waits_for_its_turn_leaves_a_server_that_says_nothing_at_all(
    autojump_clock: trio.testing.MockClock,
) -> None:
    del autojump_clock  # time passes by itself
    inner = MemoryTransport()
    ended: list[float] = []
    async with await inner.open_listener() as listener, trio.open_nursery() as nursery:
        shared = SharedTransport(inner, nursery, answer_seconds=60.0)

        async def connect() -> None:
            try:
                await shared.connect(listener.address)
            except TimeoutError:
                ended.append(trio.current_time())

        for _ in range(300):
            nursery.start_soon(connect)
        connection = await listener.accept()
        await connection.receive()
        await trio.sleep(50)
        await connection.send([head(CLOSE, 1)])
        await trio.sleep(60)
        assert not ended
        await trio.sleep(60)
        nursery.cancel_scope.cancel()
    assert ended == [120.0] * 44
