"""The checks of a listener and of connections to it.

Each check's docstring begins with the promise that it checks.
"""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import trio
import trio.testing

from ..abc import Channel, Listener, Transport
from ..promises import require
from ..tap import TappedTransport, Traffic
from .expecting import cancel_soon, checkpoint, expect, expect_next, let_everything_wait, raises

# Payloads of the same size, like reports of one phase, which a compressor would reduce to 12, 16 and 137 bytes.
_REPORTS: Final = (bytes(123), b"\0\1" * 61 + b"\0", bytes(number * number % 251 for number in range(123)))

_ListenerCheck: TypeAlias = Callable[[Transport, Listener], Awaitable[None]]


async def _check_many_channels(transport: Transport, listener: Listener) -> None:
    """A listener yields one channel for each connection; they have names and do not mix."""
    require(listener.address, f"the address is {listener.address!r}")

    async def call(number: int) -> None:
        async with await transport.connect(listener.address) as channel:
            require(channel.peer, f"the peer is {channel.peer!r}")
            await channel.send([b"%d" % number])
            await expect(channel, [b"hello %d" % number])

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
                nursery.start_soon(cancel_soon, scope, number % 6)
                await call()
            if len(accepted) < len(calling):
                accepted.append(await stack.enter_async_context(await listener.accept()))


async def _check_closed_listener(transport: Transport, listener: Listener) -> None:
    """A closed listener raises ClosedResourceError, before and during accept, and nobody can connect to it."""

    async def accept() -> None:
        with raises(trio.ClosedResourceError, "a waiting accept whose listener was closed"):
            await listener.accept()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(accept)
        await let_everything_wait()
        with trio.CancelScope() as scope:
            scope.cancel()
            await listener.aclose()
    with raises(trio.ClosedResourceError, "accept after the listener was closed"):
        await listener.accept()
    with raises(OSError, "connect to a closed listener"):
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
            with raises((trio.EndOfChannel, trio.BrokenResourceError), "receive on a channel that nobody accepted"):
                await channel.receive()
        await near.send([b"still here"])
        await expect_next(far, [b"still here"])
        await far.send([b"here too"])
        await expect_next(near, [b"here too"])


async def _check_taken_address(transport: Transport, listener: Listener) -> None:
    """An address that is taken is refused with OSError."""
    with raises(OSError, "open_listener at a taken address"):
        await (await transport.open_listener(listener.address)).aclose()


async def _check_listener_checkpoints(transport: Transport, listener: Listener) -> None:
    """Opening, connecting, accepting and closing are checkpoints."""
    with checkpoint("connect"):
        near = await transport.connect(listener.address)
    async with near:
        await let_everything_wait()
        with checkpoint("accept"):
            far = await listener.accept()
        await far.aclose()
    with checkpoint("open_listener"):
        other = await transport.open_listener()
    with checkpoint("a listener's aclose"):
        await other.aclose()


async def _check_sizes(transport: Transport, _: Listener) -> None:
    """What travels for payloads of one size has one size, whatever they say: the reports of a phase."""
    if transport.is_authenticated and not transport.is_over_tcp:
        return  # its traffic cannot be observed
    num_bytes = {True: 0, False: 0}

    def count(traffic: Traffic) -> None:
        num_bytes[traffic.is_upstream] += traffic.num_bytes

    tapped = TappedTransport(transport, count)
    async with await tapped.open_listener() as listener, await tapped.connect(listener.address) as near:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(near.send, [b"hello"])  # runs the handshake, if there is one
            far = await listener.accept()
            await expect_next(far, [b"hello"])
        async with far:
            for sender, receiver, is_upstream in ((near, far, True), (far, near, False)):
                sizes: list[int] = []
                for payload in _REPORTS:
                    await let_everything_wait()
                    before = num_bytes[is_upstream]
                    await sender.send([payload])
                    await expect_next(receiver, [payload])
                    await let_everything_wait()
                    sizes.append(num_bytes[is_upstream] - before)
                require(len(set(sizes)) == 1, f"payloads of {len(_REPORTS[0])} bytes traveled as {sizes} bytes")


LISTENER_CHECKS: Final[tuple[_ListenerCheck, ...]] = (
    _check_many_channels,
    _check_cancelled_accept,
    _check_closed_listener,
    _check_what_a_listener_leaves,
    _check_taken_address,
    _check_listener_checkpoints,
    _check_sizes,
)
"""All checks, in their order."""
