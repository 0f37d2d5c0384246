"""A conformance suite for the authors of transports, for any test runner.

    import trio
    from psephos.transports.testing import check_transport

    def test_pigeons_keep_the_contract():
        trio.run(check_transport, PigeonTransport)

Every row of the table in `psephos.transports.abc` is checked, for both ends of a channel, but for the one about
announced sizes: no end that keeps the contract can send such bytes. A transport that passes may still be wrong; one
that fails is, and the sentence says which of `PROMISES` it broke.
"""

import contextlib
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from typing import Final, NamedTuple, TypeAlias

import trio
import trio.testing

from .abc import Channel, Listener, Transport
from .framing import MAX_FRAME_BYTES
from .promises import keeping, require, sentence_of

__all__ = ["PROMISES", "check_transport"]

# Real time in which nothing happens: then what was started is waiting for something.
_QUIET_SECONDS: Final = 0.01
_FLOOD_PAYLOAD_BYTES: Final = 1 << 18
_MIN_FLOOD_PAYLOADS: Final = 256
_FLOOD_BATCH: Final = 8
# How often the news that the other end has closed may be late, and how long we wait in between.
_LATE_SENDS: Final = 200
_NEWS_SECONDS: Final = 0.01
_SHOWN_BYTES: Final = 32


class _Settings(NamedTuple):
    make_transport: Callable[[], Transport]
    max_payload_bytes: int
    flood_bytes: int


_ChannelCheck: TypeAlias = Callable[[Channel, Channel, _Settings], Awaitable[None]]
_ListenerCheck: TypeAlias = Callable[[Transport, Listener], Awaitable[None]]


async def check_transport(
    make_transport: Callable[[], Transport],
    *,
    max_payload_bytes: int = MAX_FRAME_BYTES,
    flood_bytes: int = 1 << 25,
    patience_seconds: float = 60.0,
) -> None:
    """Check that a transport keeps the contract of `psephos.transports.abc`.

    Args:
        make_transport: returns a new transport; called many times.
        max_payload_bytes: the greatest payload that the transport takes.
        flood_bytes: more than a channel holds between its ends (what the operating system buffers included).
        patience_seconds: how long one check may take before it counts as stuck.

    Raises:
        AssertionError: a promise was broken; the message begins with the promise.
    """
    settings = _Settings(make_transport, max_payload_bytes, flood_bytes)
    for channel_check in _CHANNEL_CHECKS:
        for is_flipped in (False, True):
            with keeping(sentence_of(channel_check)), trio.fail_after(patience_seconds):
                async with _open_pair(make_transport, is_flipped=is_flipped) as (near, far):
                    await channel_check(near, far, settings)
    for listener_check in _LISTENER_CHECKS:
        with keeping(sentence_of(listener_check)), trio.fail_after(patience_seconds):
            transport = make_transport()
            async with await transport.open_listener() as listener:
                await listener_check(transport, listener)


# What is checked on a channel: `near` sends to `far`, whichever of the two was accepted.


async def _check_order(near: Channel, far: Channel, _: _Settings) -> None:
    """Payloads arrive in order, each once, as they were, and none is lost."""
    numbered = [f"payload {number} ".encode() + bytes(range(number % 256)) for number in range(500)]

    async def send() -> None:
        at = 0
        for batch in range(10_000):
            if at >= len(numbered):
                break
            size = batch % 7
            await near.send(numbered[at : at + size])
            at += size
        await near.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        await _expect(far, numbered)


async def _check_empty_payloads(near: Channel, far: Channel, _: _Settings) -> None:
    """An empty payload is a payload like any other."""
    payloads = [b"", b"a", b"", b"", b"b"]
    await near.send(payloads)
    await near.send([b""])
    await near.aclose()
    await _expect(far, [*payloads, b""])


async def _check_greatest_payload(near: Channel, far: Channel, settings: _Settings) -> None:
    """A payload of the greatest size arrives whole."""
    pattern = bytes(range(256)) * (settings.max_payload_bytes // 256 + 1)
    payloads = [pattern[: settings.max_payload_bytes], b"behind it", pattern[1 : settings.max_payload_bytes]]

    async def send() -> None:
        await near.send(payloads)
        await near.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        await _expect(far, payloads)


async def _check_oversized_payload(near: Channel, far: Channel, settings: _Settings) -> None:
    """A payload above the limit is refused with ValueError, and nothing of its call is sent."""
    oversized = bytes(settings.max_payload_bytes + 1)
    with _raises(ValueError, "send of a payload above the limit"):
        await near.send([b"before it", oversized, b"behind it"])
    with _raises((ValueError, trio.WouldBlock), "send_nowait of a payload above the limit"):
        near.send_nowait(oversized)
    await near.send([b"afterwards"])
    await near.aclose()
    await _expect(far, [b"afterwards"])


async def _check_back_pressure(near: Channel, far: Channel, settings: _Settings) -> None:
    """A channel holds a bounded amount: send waits until the other end receives."""
    flood = _Flood(near, settings)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood.send)
        await _let_everything_wait()
        require(not flood.is_sent, f"{flood.num_bytes} bytes were sent and nobody has received")
        await _expect_next(far, flood.payloads)


async def _check_both_directions(near: Channel, far: Channel, settings: _Settings) -> None:
    """Large volumes travel in both directions at once."""
    there, back = _Flood(near, settings), _Flood(far, settings)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(there.send)
        nursery.start_soon(back.send)
        await _let_everything_wait()
        nursery.start_soon(_expect_next, near, back.payloads)
        nursery.start_soon(_expect_next, far, there.payloads)


async def _check_send_nowait(near: Channel, far: Channel, settings: _Settings) -> None:
    """send_nowait sends at once and in its turn, or says WouldBlock and sends nothing."""
    sent: list[bytes] = []
    for number in range(1000):
        payload = f"{number} without waiting".encode()
        try:
            near.send_nowait(payload)
        except trio.WouldBlock:
            continue
        sent.append(payload)
    flood = _Flood(near, settings)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood.send)
        await _let_everything_wait()
        with _raises(trio.WouldBlock, "send_nowait while a send was waiting"):
            near.send_nowait(b"overtakes")
        await _expect_next(far, [*sent, *flood.payloads])
    await near.aclose()
    await _expect(far, [])


async def _check_end(near: Channel, far: Channel, _: _Settings) -> None:
    """EndOfChannel follows everything that the other end had sent before it closed, and stays."""
    payloads = [b"%d" % number for number in range(50)]
    await near.send(payloads)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_expect, far, payloads)
        await _let_everything_wait()
        await near.aclose()  # while `far` waits for more
    with _raises(trio.EndOfChannel, "receive after the end"):
        await far.receive()


async def _check_end_of_unread(near: Channel, far: Channel, _: _Settings) -> None:
    """What was sent before a close is received after it."""
    payloads = [b"%d" % number for number in range(50)]
    await near.send(payloads)
    await near.aclose()
    await _let_everything_wait()
    await _expect(far, payloads)


async def _check_broken(near: Channel, far: Channel, _: _Settings) -> None:
    """Sending to an end that has closed raises BrokenResourceError."""
    await far.aclose()
    with _raises(trio.BrokenResourceError, f"{_LATE_SENDS} sends after the other end had closed"):
        for _attempt in range(_LATE_SENDS):
            await near.send([b"too late"])
            await trio.sleep(_NEWS_SECONDS)
    with _raises((trio.BrokenResourceError, trio.WouldBlock), "send_nowait after the other end had closed"):
        near.send_nowait(b"too late")


async def _check_broken_while_sending(near: Channel, far: Channel, settings: _Settings) -> None:
    """A send that waits raises BrokenResourceError when the other end closes."""
    flood = _Flood(near, settings)

    async def send() -> None:
        with _raises(trio.BrokenResourceError, "a waiting send whose other end closed"):
            await flood.send()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        await _let_everything_wait()
        await far.aclose()


async def _check_closed(near: Channel, far: Channel, _: _Settings) -> None:
    """After its own close, an end raises ClosedResourceError."""
    await far.send([b"unread"])
    await near.aclose()
    with _raises(trio.ClosedResourceError, "send after this end's close"):
        await near.send([b"too late"])
    with _raises(trio.ClosedResourceError, "receive after this end's close"):
        await near.receive()
    with _raises((trio.ClosedResourceError, trio.WouldBlock), "send_nowait after this end's close"):
        near.send_nowait(b"too late")


async def _check_closed_while_receiving(near: Channel, _far: Channel, _: _Settings) -> None:
    """A receive that waits raises ClosedResourceError when its own end is closed."""

    async def receive() -> None:
        with _raises(trio.ClosedResourceError, "a waiting receive whose end was closed"):
            await near.receive()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(receive)
        await _let_everything_wait()
        await near.aclose()


async def _check_closed_while_sending(near: Channel, _far: Channel, settings: _Settings) -> None:
    """A send that waits raises ClosedResourceError when its own end is closed."""
    flood = _Flood(near, settings)

    async def send() -> None:
        with _raises(trio.ClosedResourceError, "a waiting send whose end was closed"):
            await flood.send()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        await _let_everything_wait()
        await near.aclose()


async def _check_busy_receive(near: Channel, far: Channel, _: _Settings) -> None:
    """A second task in receive gets BusyResourceError, and the first goes on."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_expect_next, far, [b"for the first"])
        await _let_everything_wait()
        with _raises(trio.BusyResourceError, "a second receive"):
            await far.receive()
        await near.send([b"for the first"])


async def _check_busy_send(near: Channel, far: Channel, settings: _Settings) -> None:
    """A second task in send gets BusyResourceError, and the first goes on."""
    flood = _Flood(near, settings)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood.send)
        await _let_everything_wait()
        with _raises(trio.BusyResourceError, "a second send"):
            await near.send([b"from the second"])
        await _expect_next(far, flood.payloads)
    await near.aclose()
    await _expect(far, [])


async def _check_cancelled_receive(near: Channel, far: Channel, settings: _Settings) -> None:
    """A cancelled receive ends at once and loses nothing."""
    large = bytes(settings.max_payload_bytes)
    sent = [large if number % 20 == 0 else b"%d" % number for number in range(100)]

    async def send() -> None:
        for number, payload in enumerate(sent):
            await near.send([payload])
            await _take_steps(number % 7)
        await near.aclose()

    with trio.CancelScope() as scope:
        scope.cancel()
        await far.receive()
    require(scope.cancelled_caught, "a receive in a cancelled scope returned")
    await near.send([b"ready"])
    await _let_everything_wait()
    with trio.CancelScope() as scope:
        scope.cancel()
        await far.receive()
    require(scope.cancelled_caught, "a receive in a cancelled scope returned what was ready")
    arrived: list[bytes] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        with contextlib.suppress(trio.EndOfChannel):
            for number in itertools.count():
                scope = trio.CancelScope()
                nursery.start_soon(_cancel_soon, scope, number % 5)
                with scope:
                    arrived += await _receive(far)
                _compare(arrived, [b"ready", *sent], is_complete=False)
    _compare(arrived, [b"ready", *sent])


async def _check_close(near: Channel, far: Channel, _: _Settings) -> None:
    """Closing twice does nothing the second time, and a cancelled close closes all the same."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await near.aclose()
    with _raises(trio.ClosedResourceError, "receive after a cancelled close"):
        await near.receive()
    await _expect(far, [])
    await near.aclose()
    await far.aclose()
    await far.aclose()


async def _check_close_at_once(near: Channel, far: Channel, _: _Settings) -> None:
    """Closing without waiting closes at once, loses nothing that was sent, and may be repeated."""
    await near.send([b"last"])
    near.close()
    near.close()
    with _raises(trio.ClosedResourceError, "receive after close"):
        await near.receive()
    await _expect(far, [b"last"])
    far.close()


async def _check_checkpoints(near: Channel, far: Channel, _: _Settings) -> None:
    """Every call on a channel that may wait is a checkpoint, also where it need not wait."""
    with _checkpoint("send"):
        await near.send([b"a"])
    with _checkpoint("send of nothing"):
        await near.send([])
    await _let_everything_wait()
    with _checkpoint("receive"):
        await far.receive()
    with _checkpoint("aclose"):
        await near.aclose()
    with _checkpoint("a second aclose"):
        await near.aclose()


# What is checked on a listener.


async def _check_many_channels(transport: Transport, listener: Listener) -> None:
    """A listener yields one channel for each connection; they have names and do not mix."""
    require(listener.address, f"the address is {listener.address!r}")

    async def call(number: int) -> None:
        async with await transport.connect(listener.address) as channel:
            require(channel.peer, f"the peer is {channel.peer!r}")
            await channel.send([b"%d" % number])
            await _expect(channel, [b"hello %d" % number])

    async def answer(channel: Channel) -> None:
        async with channel:
            require(channel.peer, f"the peer is {channel.peer!r}")
            (payload,) = await channel.receive()
            await channel.send([b"hello " + payload])

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(call, number)
        for _connection in range(10):
            nursery.start_soon(answer, await listener.accept())


async def _check_cancelled_accept(transport: Transport, listener: Listener) -> None:
    """A cancelled accept ends at once and loses no channel."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await listener.accept()
    require(scope.cancelled_caught, "an accept in a cancelled scope returned")
    async with contextlib.AsyncExitStack() as stack:
        calling: list[Channel] = []
        accepted: list[Channel] = []

        async def accept(scope: trio.CancelScope) -> None:
            with scope:
                accepted.append(await stack.enter_async_context(await listener.accept()))

        async def call() -> None:
            calling.append(await stack.enter_async_context(await transport.connect(listener.address)))

        for number in range(24):
            scope = trio.CancelScope()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(accept, scope)
                await trio.testing.wait_all_tasks_blocked()
                nursery.start_soon(_cancel_soon, scope, number % 6)
                await call()
            if len(accepted) < len(calling):
                accepted.append(await stack.enter_async_context(await listener.accept()))


async def _check_closed_listener(transport: Transport, listener: Listener) -> None:
    """A closed listener raises ClosedResourceError, before and during accept, and nobody can connect to it."""

    async def accept() -> None:
        with _raises(trio.ClosedResourceError, "a waiting accept whose listener was closed"):
            await listener.accept()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(accept)
        await _let_everything_wait()
        with trio.CancelScope() as scope:
            scope.cancel()
            await listener.aclose()
    with _raises(trio.ClosedResourceError, "accept after the listener was closed"):
        await listener.accept()
    with _raises(OSError, "connect to a closed listener"):
        await (await transport.connect(listener.address)).aclose()
    await listener.aclose()


async def _check_what_a_listener_leaves(transport: Transport, listener: Listener) -> None:
    """Closing a listener leaves accepted channels as they are and ends the others, even when cancelled."""
    async with contextlib.AsyncExitStack() as stack:
        near = await stack.enter_async_context(await transport.connect(listener.address))
        far = await stack.enter_async_context(await listener.accept())
        forgotten = [
            await stack.enter_async_context(await transport.connect(listener.address)) for _connection in range(3)
        ]
        with trio.CancelScope() as scope:
            scope.cancel()
            await listener.aclose()
        for channel in forgotten:
            with _raises((trio.EndOfChannel, trio.BrokenResourceError), "receive on a channel that nobody accepted"):
                await channel.receive()
        await near.send([b"still here"])
        await _expect_next(far, [b"still here"])
        await far.send([b"here too"])
        await _expect_next(near, [b"here too"])


async def _check_taken_address(transport: Transport, listener: Listener) -> None:
    """An address that is taken is refused with OSError."""
    with _raises(OSError, "open_listener at a taken address"):
        await (await transport.open_listener(listener.address)).aclose()


async def _check_listener_checkpoints(transport: Transport, listener: Listener) -> None:
    """Opening, connecting, accepting and closing are checkpoints."""
    with _checkpoint("connect"):
        near = await transport.connect(listener.address)
    async with near:
        await _let_everything_wait()
        with _checkpoint("accept"):
            far = await listener.accept()
        await far.aclose()
    with _checkpoint("open_listener"):
        other = await transport.open_listener()
    with _checkpoint("a listener's aclose"):
        await other.aclose()


_CHANNEL_CHECKS: Final[tuple[_ChannelCheck, ...]] = (
    _check_order,
    _check_empty_payloads,
    _check_greatest_payload,
    _check_oversized_payload,
    _check_back_pressure,
    _check_both_directions,
    _check_send_nowait,
    _check_end,
    _check_end_of_unread,
    _check_broken,
    _check_broken_while_sending,
    _check_closed,
    _check_closed_while_receiving,
    _check_closed_while_sending,
    _check_busy_receive,
    _check_busy_send,
    _check_cancelled_receive,
    _check_close,
    _check_close_at_once,
    _check_checkpoints,
)

_LISTENER_CHECKS: Final[tuple[_ListenerCheck, ...]] = (
    _check_many_channels,
    _check_cancelled_accept,
    _check_closed_listener,
    _check_what_a_listener_leaves,
    _check_taken_address,
    _check_listener_checkpoints,
)


PROMISES: Final = tuple(sentence_of(check) for check in (*_CHANNEL_CHECKS, *_LISTENER_CHECKS))
"""What is checked, in this order."""


class _Flood:
    """More payloads than a channel holds."""

    def __init__(self, channel: Channel, settings: _Settings) -> None:
        size = min(_FLOOD_PAYLOAD_BYTES, settings.max_payload_bytes, settings.flood_bytes // _MIN_FLOOD_PAYLOADS)
        number = max(_MIN_FLOOD_PAYLOADS, -(-settings.flood_bytes // max(1, size)))
        self._channel = channel
        self.payloads = [bytes([place % 251]) * size for place in range(number)]
        self.num_bytes = number * size
        self.is_sent = False

    async def send(self) -> None:
        for at in range(0, len(self.payloads), _FLOOD_BATCH):
            await self._channel.send(self.payloads[at : at + _FLOOD_BATCH])
        self.is_sent = True


@contextlib.asynccontextmanager
async def _open_pair(
    make_transport: Callable[[], Transport], *, is_flipped: bool
) -> AsyncGenerator[tuple[Channel, Channel]]:
    """Yield the two ends of a channel, the connecting one first unless flipped; close both."""
    transport = make_transport()
    ends: dict[str, Channel] = {}

    async def connect(address: str) -> None:
        ends["connected"] = await transport.connect(address)

    async with await transport.open_listener() as listener, contextlib.AsyncExitStack() as stack:
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(connect, listener.address)
                ends["accepted"] = await listener.accept()
        finally:
            for end in ends.values():
                stack.push_async_callback(_close, end)
        near, far = ends["connected"], ends["accepted"]
        yield (far, near) if is_flipped else (near, far)


@contextlib.contextmanager
def _raises(kinds: type[Exception] | tuple[type[Exception], ...], what: str) -> Generator[None]:
    """Check that the block raises one of these."""
    allowed = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
    try:
        yield
    except kinds:
        return
    except Exception as error:
        raise AssertionError(f"{what} raised {error!r} instead of {allowed}") from error
    raise AssertionError(f"{what} raised nothing instead of {allowed}")


@contextlib.contextmanager
def _checkpoint(what: str) -> Generator[None]:
    """Check that the block passes a checkpoint."""
    try:
        with trio.testing.assert_checkpoints():
            yield
    except AssertionError:
        raise AssertionError(f"{what} was no checkpoint") from None


async def _let_everything_wait() -> None:
    """Return when every task waits and nothing happens any more."""
    await trio.testing.wait_all_tasks_blocked(_QUIET_SECONDS)


async def _close(channel: Channel) -> None:
    """Close after a check; what closing does wrong is a check of its own."""
    with contextlib.suppress(Exception):
        await channel.aclose()


async def _take_steps(number: int) -> None:
    for _step in range(number):
        await trio.lowlevel.checkpoint()


async def _cancel_soon(scope: trio.CancelScope, num_steps: int) -> None:
    await _take_steps(num_steps)
    scope.cancel()


async def _expect(channel: Channel, expected: Sequence[bytes]) -> None:
    """Receive until the end of the channel; exactly these payloads must arrive."""
    arrived: list[bytes] = []
    while True:
        try:
            arrived += await _receive(channel)
        except trio.EndOfChannel:
            break
        _compare(arrived, expected, is_complete=False)
    _compare(arrived, expected)


async def _expect_next(channel: Channel, expected: Sequence[bytes]) -> None:
    """Receive these payloads, and nothing with them."""
    arrived: list[bytes] = []
    while len(arrived) < len(expected):
        try:
            arrived += await _receive(channel)
        except trio.EndOfChannel:
            break
    _compare(arrived, expected)


async def _receive(channel: Channel) -> list[bytes]:
    payloads = await channel.receive()
    require(payloads, f"receive returned {payloads!r}")
    return payloads


def _compare(arrived: Sequence[bytes], expected: Sequence[bytes], *, is_complete: bool = True) -> None:
    """Check that what has arrived is what was sent, or the beginning of it."""
    for place, (payload, sent) in enumerate(zip(arrived, expected, strict=False)):
        require(payload == sent, f"payload {place} was sent as {_show(sent)} and arrived as {_show(payload)}")
    num_lost = len(expected) - len(arrived)
    require(num_lost >= 0, f"{len(expected)} payloads were sent and {len(arrived)} arrived")
    require(not is_complete or not num_lost, f"{num_lost} of {len(expected)} payloads were lost")


def _show(payload: bytes) -> str:
    more = "" if len(payload) <= _SHOWN_BYTES else f" ... ({len(payload)} bytes)"
    return f"{payload[:_SHOWN_BYTES]!r}{more}"
