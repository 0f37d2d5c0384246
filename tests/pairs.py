"""Both ends of a connection, for tests of what they say to each other."""

import contextlib
from collections.abc import AsyncGenerator

import trio
from psephos.transports import Channel, MemoryTransport, Transport


@contextlib.asynccontextmanager
async def open_pair(
    server: Transport | None = None, client: Transport | None = None
) -> AsyncGenerator[tuple[Channel, Channel]]:
    """Connect two ends, by default in memory; give the connecting one and the listening one."""
    server = server or MemoryTransport()
    with trio.fail_after(240):
        async with (
            await server.open_listener() as listener,
            await (client or server).connect(listener.address) as near,
            await listener.accept() as far,
        ):
            yield near, far
