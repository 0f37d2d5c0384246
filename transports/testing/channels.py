"""The checks of a channel: `near` sends to `far`, and either of the two may be the accepted end.

Each check's docstring begins with the promise that it checks.
"""

import contextlib
import itertools
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import trio

from ...protocol.errors import MalformedMessageError
from ..abc import Channel
from ..promises import require
from .expecting import (
    cancel_soon,
    checkpoint,
    compare,
    expect,
    expect_next,
    let_everything_wait,
    raises,
    receive_from,
    take_steps,
)
from .pairs import Flood, Sizes

# The most sends until the other end's close must be noticed, and the pause in between.
_LATE_SENDS: Final = 200
_NEWS_SECONDS: Final = 0.01
# A limit that the receiver sets.
_LIMIT_BYTES: Final = 100

_ChannelCheck: TypeAlias = Callable[[Channel, Channel, Sizes], Awaitable[None]]


async def _check_order(near: Channel, far: Channel, _: Sizes) -> None:
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
        await expect(far, numbered)


async def _check_empty_payloads(near: Channel, far: Channel, _: Sizes) -> None:
    """An empty payload is a payload like any other."""
    payloads = [b"", b"a", b"", b"", b"b"]
    await near.send(payloads)
    await near.send([b""])
    await near.aclose()
    await expect(far, [*payloads, b""])


async def _check_greatest_payload(near: Channel, far: Channel, sizes: Sizes) -> None:
    """A payload of the greatest size arrives whole."""
    pattern = bytes(range(256)) * (sizes.max_payload_bytes // 256 + 1)
    payloads = [pattern[: sizes.max_payload_bytes], b"behind it", pattern[1 : sizes.max_payload_bytes]]

    async def send() -> None:
        await near.send(payloads)
        await near.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        await expect(far, payloads)


async def _check_oversized_payload(near: Channel, far: Channel, sizes: Sizes) -> None:
    """A payload above the limit is refused with ValueError, and nothing of its call is sent."""
    oversized = bytes(sizes.max_payload_bytes + 1)
    with raises(ValueError, "send of a payload above the limit"):
        await near.send([b"before it", oversized, b"behind it"])
    with raises((ValueError, trio.WouldBlock), "send_nowait of a payload above the limit"):
        near.send_nowait(oversized)
    await near.send([b"afterwards"])
    await near.aclose()
    await expect(far, [b"afterwards"])


async def _check_limit(near: Channel, far: Channel, _: Sizes) -> None:
    """A payload above a limit of the receiver's own is refused by it with MalformedMessageError, and no other is."""
    far.limit_payloads(_LIMIT_BYTES)
    await near.send([bytes(_LIMIT_BYTES), bytes(_LIMIT_BYTES + 1)])
    await expect_next(far, [bytes(_LIMIT_BYTES)])
    with raises(MalformedMessageError, "receive of a payload above the limit of its own"):
        await far.receive()


async def _check_limit_lifted(near: Channel, far: Channel, sizes: Sizes) -> None:
    """A limit that is lifted is the transport's own again."""
    far.limit_payloads(_LIMIT_BYTES)
    await near.send([b"below it"])
    await expect_next(far, [b"below it"])
    far.limit_payloads(sizes.max_payload_bytes)
    await near.send([bytes(_LIMIT_BYTES + 1)])
    await expect_next(far, [bytes(_LIMIT_BYTES + 1)])


async def _check_back_pressure(near: Channel, far: Channel, sizes: Sizes) -> None:
    """A channel holds a bounded amount: send waits until the other end receives."""
    flood = Flood(near, sizes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood.send)
        await let_everything_wait()
        require(not flood.is_sent, f"{flood.num_bytes} bytes were sent and nobody has received")
        await expect_next(far, flood.payloads)


async def _check_both_directions(near: Channel, far: Channel, sizes: Sizes) -> None:
    """Large volumes travel in both directions at once."""
    there, back = Flood(near, sizes), Flood(far, sizes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(there.send)
        nursery.start_soon(back.send)
        await let_everything_wait()
        nursery.start_soon(expect_next, near, back.payloads)
        nursery.start_soon(expect_next, far, there.payloads)


async def _check_send_nowait(near: Channel, far: Channel, sizes: Sizes) -> None:
    """send_nowait sends at once and in its turn, or says WouldBlock; then its payload is sent before any other."""
    sent: list[bytes] = []
    payloads_sent: list[bytes] = []
    for number in range(1000):
        payload = f"{number} without waiting".encode()
        try:
            near.send_nowait(payload)
        except trio.WouldBlock:
            payloads_sent.append(payload)
            break
        sent.append(payload)
    flood = Flood(near, sizes)

    async def send_all() -> None:
        await near.send(payloads_sent)
        await flood.send()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(send_all)
        await let_everything_wait()
        with raises(trio.WouldBlock, "send_nowait while a send was waiting"):
            near.send_nowait(b"overtakes")
        await expect_next(far, [*sent, *payloads_sent, *flood.payloads])
    await near.aclose()
    await expect(far, [])


async def _check_end(near: Channel, far: Channel, _: Sizes) -> None:
    """EndOfChannel follows everything that the other end had sent before it closed, and stays."""
    payloads = [b"%d" % number for number in range(50)]
    await near.send(payloads)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(expect, far, payloads)
        await let_everything_wait()
        await near.aclose()  # while `far` waits for more
    with raises(trio.EndOfChannel, "receive after the end"):
        await far.receive()


async def _check_end_of_unread(near: Channel, far: Channel, _: Sizes) -> None:
    """Payloads that were sent before a close are received after it."""
    payloads = [b"%d" % number for number in range(50)]
    await near.send(payloads)
    await near.aclose()
    await let_everything_wait()
    await expect(far, payloads)


async def _check_broken(near: Channel, far: Channel, _: Sizes) -> None:
    """Sending to an end that has closed raises BrokenResourceError."""
    await far.aclose()
    with raises(trio.BrokenResourceError, f"{_LATE_SENDS} sends after the other end had closed"):
        for _attempt in range(_LATE_SENDS):
            await near.send([b"too late"])
            await trio.sleep(_NEWS_SECONDS)
    with raises((trio.BrokenResourceError, trio.WouldBlock), "send_nowait after the other end had closed"):
        near.send_nowait(b"too late")


async def _check_interrupted(
    call: Callable[[], Awaitable[object]], end: Channel, kind: type[Exception], complaint: str
) -> None:
    """Close an end while a call waits: the call raises this."""

    async def wait() -> None:
        with raises(kind, complaint):
            await call()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await let_everything_wait()
        await end.aclose()


async def _check_broken_while_sending(near: Channel, far: Channel, sizes: Sizes) -> None:
    """A send that waits raises BrokenResourceError when the other end closes."""
    send = Flood(near, sizes).send
    await _check_interrupted(send, far, trio.BrokenResourceError, "a waiting send whose other end closed")


async def _check_closed(near: Channel, far: Channel, _: Sizes) -> None:
    """After its own close, an end raises ClosedResourceError."""
    await far.send([b"unread"])
    await near.aclose()
    with raises(trio.ClosedResourceError, "send after this end's close"):
        await near.send([b"too late"])
    with raises(trio.ClosedResourceError, "receive after this end's close"):
        await near.receive()
    with raises((trio.ClosedResourceError, trio.WouldBlock), "send_nowait after this end's close"):
        near.send_nowait(b"too late")


async def _check_closed_while_receiving(near: Channel, _far: Channel, _: Sizes) -> None:
    """A receive that waits raises ClosedResourceError when its own end is closed."""
    await _check_interrupted(near.receive, near, trio.ClosedResourceError, "a waiting receive whose end was closed")


async def _check_closed_while_sending(near: Channel, _far: Channel, sizes: Sizes) -> None:
    """A send that waits raises ClosedResourceError when its own end is closed."""
    send = Flood(near, sizes).send
    await _check_interrupted(send, near, trio.ClosedResourceError, "a waiting send whose end was closed")


async def _check_busy_receive(near: Channel, far: Channel, _: Sizes) -> None:
    """A second task in receive gets BusyResourceError, and the first goes on."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(expect_next, far, [b"for the first"])
        await let_everything_wait()
        with raises(trio.BusyResourceError, "a second receive"):
            await far.receive()
        await near.send([b"for the first"])


async def _check_busy_send(near: Channel, far: Channel, sizes: Sizes) -> None:
    """A second task in send gets BusyResourceError, and the first goes on."""
    flood = Flood(near, sizes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(flood.send)
        await let_everything_wait()
        with raises(trio.BusyResourceError, "a second send"):
            await near.send([b"from the second"])
        await expect_next(far, flood.payloads)
    await near.aclose()
    await expect(far, [])


async def _check_cancelled_receive(near: Channel, far: Channel, sizes: Sizes) -> None:
    """A cancelled receive ends at once and loses nothing."""
    large = bytes(sizes.max_payload_bytes)
    sent = [large if number % 20 == 0 else b"%d" % number for number in range(100)]

    async def send() -> None:
        for number, payload in enumerate(sent):
            await near.send([payload])
            await take_steps(number % 7)
        await near.aclose()

    with trio.CancelScope() as scope:
        scope.cancel()
        await far.receive()
    require(scope.cancelled_caught, "a receive in a cancelled scope returned")
    await near.send([b"ready"])
    await let_everything_wait()
    with trio.CancelScope() as scope:
        scope.cancel()
        await far.receive()
    require(scope.cancelled_caught, "a receive in a cancelled scope returned what was ready")
    arrivals: list[bytes] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send)
        with contextlib.suppress(trio.EndOfChannel):
            for number in itertools.count():
                scope = trio.CancelScope()
                nursery.start_soon(cancel_soon, scope, number % 5)
                with scope:
                    arrivals += await receive_from(far)
                compare(arrivals, [b"ready", *sent], is_complete=False)
    compare(arrivals, [b"ready", *sent])


async def _check_close(near: Channel, far: Channel, _: Sizes) -> None:
    """Closing twice does nothing the second time, and a cancelled close closes all the same."""
    with trio.CancelScope() as scope:
        scope.cancel()
        await near.aclose()
    with raises(trio.ClosedResourceError, "receive after a cancelled close"):
        await near.receive()
    await expect(far, [])
    await near.aclose()
    await far.aclose()
    await far.aclose()


async def _check_close_at_once(near: Channel, far: Channel, _: Sizes) -> None:
    """Closing without waiting closes at once, loses nothing that was sent, and may be repeated."""
    await near.send([b"last"])
    near.close()
    near.close()
    with raises(trio.ClosedResourceError, "receive after close"):
        await near.receive()
    await expect(far, [b"last"])
    far.close()


async def _check_checkpoints(near: Channel, far: Channel, _: Sizes) -> None:
    """Every call on a channel that may wait is a checkpoint, also where it need not wait."""
    with checkpoint("send"):
        await near.send([b"a"])
    with checkpoint("send of nothing"):
        await near.send([])
    await let_everything_wait()
    with checkpoint("receive"):
        await far.receive()
    with checkpoint("aclose"):
        await near.aclose()
    with checkpoint("a second aclose"):
        await near.aclose()


CHANNEL_CHECKS: Final[tuple[_ChannelCheck, ...]] = (
    _check_order,
    _check_empty_payloads,
    _check_greatest_payload,
    _check_oversized_payload,
    _check_limit,
    _check_limit_lifted,
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
"""All checks, in their order."""
