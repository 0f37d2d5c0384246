"""The two ends of a channel, and more payloads than it holds between them."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Final, NamedTuple

import trio

from ..abc import Channel, Transport

_FLOOD_PAYLOAD_BYTES: Final = 1 << 18
_MIN_FLOOD_PAYLOADS: Final = 256
_FLOOD_BATCH: Final = 8


class Sizes(NamedTuple):
    """The sizes of payloads that a transport takes and queues."""

    max_payload_bytes: int
    flood_bytes: int


class Flood:
    """More payloads than a channel holds."""

    def __init__(self, channel: Channel, sizes: Sizes) -> None:
        size = min(_FLOOD_PAYLOAD_BYTES, sizes.max_payload_bytes, sizes.flood_bytes // _MIN_FLOOD_PAYLOADS)
        number = max(_MIN_FLOOD_PAYLOADS, -(-sizes.flood_bytes // max(1, size)))
        self._channel = channel
        self.payloads = [bytes([place % 251]) * size for place in range(number)]
        self.num_bytes = number * size
        self.is_sent = False

    async def send(self) -> None:
        """Send all of them, a few at a time."""
        for at in range(0, len(self.payloads), _FLOOD_BATCH):
            await self._channel.send(self.payloads[at : at + _FLOOD_BATCH])
        self.is_sent = True


@contextlib.asynccontextmanager
async def open_pair(
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


async def _close(channel: Channel) -> None:
    """Close after a check; what closing does wrong is a check of its own."""
    with contextlib.suppress(Exception):
        await channel.aclose()
