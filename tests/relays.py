"""Somebody between the parties and their server, who sees all bytes, and decides what becomes of them."""

import contextlib
import socket
import struct
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final

import trio
from deployments import PATIENCE
from psephos.protocol.roles import Side
from psephos.transports.addresses import parse_address

SHORTER_THAN_A_HELLO: Final = 60
"""Bytes of a report of few numbers, encrypted: whatever else a party says over TLS before its release is longer."""
_RESET: Final = struct.pack("ii", 1, 0)
"""Of SO_LINGER: to close is to reset, and what was not yet sent is gone."""
_MOMENT: Final = 0.005

Pump = Callable[[trio.SocketStream, trio.SocketStream], Awaitable[None]]
"""Passes on what comes from one end, changed or not, to the other."""


@contextlib.asynccontextmanager
async def between(server: str, up: Pump, down: Pump) -> AsyncGenerator[str]:
    """Yield an address at which one connection is taken and passed on to a server, each way by a pump."""

    async def stand(front: trio.SocketListener) -> None:
        async with (
            await front.accept() as near,
            await trio.open_tcp_stream(*parse_address(server)) as far,
            trio.open_nursery() as both,
        ):
            both.start_soon(up, near, far)
            both.start_soon(down, far, near)

    front, *_ = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with front, trio.open_nursery() as nursery:
        nursery.start_soon(stand, front)
        yield f"127.0.0.1:{front.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


class Connection:
    """One connection of a party's, and the one to the server that goes with it.

    Attributes:
        number: of the connection, from 0.
        sent: what the party sent, piece by piece.
        num_passed: how many of these pieces the server has, or has in its socket.
        is_deaf: what the server says from now on does not reach the party.
        is_held: what the party says waits here.
        is_silent: nothing passes either way any more, and neither side is told.
    """

    def __init__(self, number: int, client: trio.SocketStream, server: trio.SocketStream) -> None:
        self.number = number
        self.sent: list[bytes] = []
        self.num_passed = 0
        self.is_deaf = False
        self.is_held = False
        self.is_silent = False
        self.ends = (client, server)
        self.scope = trio.CancelScope()

    def reset(self) -> None:
        """Break it by a TCP reset on both sides; called by who runs the relay."""
        for end in self.ends:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            end.socket.close()
        self.scope.cancel()


class Relay:
    """Somebody between parties and a server, who keeps all bytes.

    Args:
        server: its address.
        change: what becomes of bytes from the n-th connection on their way to the server.
        watch: told of each piece from a party before it goes on; may decide what becomes of the connection.
        delay: how many seconds the next piece takes to go on.
    """

    def __init__(
        self,
        server: str,
        change: Callable[[int, bytes], bytes] = lambda _, data: data,
        *,
        watch: Callable[[Connection, bytes], None] = lambda _, __: None,
        delay: Callable[[], float] | None = None,
    ) -> None:
        self.address = ""
        self.seen = bytearray()
        self.connections: list[Connection] = []
        self._server = parse_address(server)
        self._change = change
        self._watch = watch
        self._delay = delay
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._relay,), daemon=True)
        self._thread.start()
        assert self._is_up.wait(PATIENCE)

    async def _relay(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        self.address = f"127.0.0.1:{listener.socket.getsockname()[1]}"
        with trio.CancelScope() as self._scope:
            self._is_up.set()
            await trio.serve_listeners(self._connect, [listener])

    async def _connect(self, client: trio.SocketStream) -> None:
        async with client:
            try:
                server = await trio.open_tcp_stream(*self._server)
            except OSError:
                return  # as who calls a server that is away
            connection = Connection(len(self.connections), client, server)
            self.connections.append(connection)
            async with server:
                with contextlib.suppress(BaseExceptionGroup):  # who breaks one half breaks both
                    async with trio.open_nursery() as both:
                        connection.scope = both.cancel_scope
                        both.start_soon(self._pump, client, server, connection, Side.CLIENT)
                        both.start_soon(self._pump, server, client, connection, Side.SERVER)

    async def _pump(
        self, source: trio.SocketStream, sink: trio.SocketStream, connection: Connection, side: Side
    ) -> None:
        is_partys = side is Side.CLIENT
        async for received in source:
            data = bytes(received)
            self.seen += data
            if is_partys:
                connection.sent.append(data)
                self._watch(connection, data)
                data = self._change(connection.number, data)
            if self._delay is not None:
                await trio.sleep(self._delay())
            while connection.is_silent or (is_partys and connection.is_held):  # noqa: ASYNC110  set by other threads
                await trio.sleep(_MOMENT)
            if is_partys or not connection.is_deaf:
                await sink.send_all(data)
            connection.num_passed += is_partys
        while connection.is_silent:  # noqa: ASYNC110  as above
            await trio.sleep(_MOMENT)
        await sink.send_eof()

    def wait_for(self, num_pieces: int) -> bytes:
        """Wait until the first connection has sent so much, and return it."""
        self.wait_until(lambda: bool(self.connections) and len(self.connections[0].sent) >= num_pieces)
        return b"".join(self.connections[0].sent)

    def wait_until(self, happens: Callable[[], bool]) -> None:
        """Wait until something that depends on the relay happens."""
        watchdog = threading.Timer(PATIENCE, self.close)
        watchdog.start()
        try:
            while not happens():
                assert self._thread.is_alive()
                threading.Event().wait(_MOMENT)
        finally:
            watchdog.cancel()

    def reset(self) -> None:
        """Reset every connection that there is; new ones may come."""
        is_done = threading.Event()

        def reset() -> None:
            for connection in self.connections:
                if not connection.scope.cancel_called:
                    connection.reset()
            is_done.set()

        self._token.run_sync_soon(reset)
        assert is_done.wait(PATIENCE)

    def close(self) -> None:
        """Hang up on everybody."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._scope.cancel)
        self._thread.join(PATIENCE)
