"""A network observer: a relay between clients and a server that records only sizes, times and order.

It has the position of a network provider: clients connect to the relay's address, and the relay connects to the server.
Over TCP it forwards bytes without interpreting them, so it also works for a transport that encrypts above TCP and says
so (`Transport.is_over_tcp`). For any other transport it forwards payloads, and counts each as a frame on a socket. Such
a relay acts as the server, so a transport with authentication is refused.

It differs from a cable in one point: the relay accepts for the server. So if the server's listener has just closed, a
client's connection succeeds and then ends.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import trio

from ..protocol.errors import RemoteProtocolError, refuse
from .abc import Channel, Listener, Transport
from .addresses import format_address, parse_address
from .framing import encode_frames
from .tcp import open_socket

_READ_BYTES: Final = 1 << 16
_PAUSE_SECONDS: Final = 0.1
"""The seconds until the next attempt to accept after a failure; descriptors may be free again by then."""


class Traffic(NamedTuple):
    """An eavesdropper's record of one piece of data.

    Args:
        seconds: its time since the listener was opened, by trio's clock.
        connection: the number of the connection, from 0 in order of creation.
        is_upstream: whether it goes from the client to the server.
        num_bytes: its number of bytes; 0 for the end of this direction.
    """

    seconds: float
    connection: int
    is_upstream: bool
    num_bytes: int


def check_tapped(transport: Transport) -> None:
    """Raise ConfigurationError for a transport that cannot be relayed.

    Examples:
        >>> from psephos.transports import MemoryTransport
        >>> check_tapped(MemoryTransport())
    """
    allowed = "one over TCP, or one whose ends do not know each other: an observer can relay no other's bytes"
    refuse(transport.is_authenticated and not transport.is_over_tcp, "transport", transport.name, allowed)


class TappedTransport(Transport):
    """Another transport, observed.

    Relays run in trio's system tasks, since users of a transport do not wait for them; each ends with its connection.

    Args:
        inner: the transport; its default address must be reachable from here.
        record: called with each piece of traffic as it arrives; must not wait or raise.

    Raises:
        ConfigurationError: as `check_tapped`.
    """

    def __init__(self, inner: Transport, record: Callable[[Traffic], object]) -> None:
        check_tapped(inner)
        self.name = inner.name
        self._inner = inner
        self._record = record

    async def open_listener(self, address: str | None = None) -> Listener:
        """Listen at an address, and relay to a listener of the inner transport. See `Transport.open_listener`."""
        server = await self._inner.open_listener()
        try:
            if self._inner.is_over_tcp:
                front = _SocketFront(await open_socket(address), server.address)
            else:
                front = _ChannelFront(await self._inner.open_listener(address), server.address, self._inner)
        except BaseException:
            with trio.CancelScope() as scope:
                scope.cancel()
                await server.aclose()
            raise
        relay = _Relay(front, self._record)
        trio.lowlevel.spawn_system_task(relay.run)
        return _TappedListener(front, server)

    async def connect(self, address: str) -> Channel:
        return await self._inner.connect(address)


class _SocketEnd:
    """One end of a relayed connection: what is read is nothing once its end was reached."""

    __slots__ = ("_stream",)

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream

    async def read(self) -> Sequence[bytes]:
        data = await self._stream.receive_some(_READ_BYTES)
        return [bytes(data)] if data else []

    async def write(self, pieces: Sequence[bytes]) -> None:
        await self._stream.send_all(b"".join(pieces))

    def size_of(self, piece: bytes) -> int:
        return len(piece)

    async def finish(self) -> None:
        await self._stream.send_eof()

    def close(self) -> None:
        self._stream.socket.close()


class _ChannelEnd:
    """The end of a tapped channel in memory: payloads, each of the size that it would have on a socket."""

    __slots__ = ("_channel",)

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def read(self) -> Sequence[bytes]:
        try:
            return await self._channel.receive()
        except trio.EndOfChannel:
            return []

    async def write(self, pieces: Sequence[bytes]) -> None:
        await self._channel.send(pieces)

    def size_of(self, piece: bytes) -> int:
        return len(encode_frames([piece]))

    async def finish(self) -> None:
        self._channel.close()  # a channel cannot close a single direction
        await trio.lowlevel.checkpoint()

    def close(self) -> None:
        self._channel.close()


_End: TypeAlias = _SocketEnd | _ChannelEnd


class _SocketFront:
    """A front for clients on a socket, and the address of the server behind it."""

    def __init__(self, listener: trio.SocketListener, server: str) -> None:
        self._listener = listener
        self._server = parse_address(server)
        self.address = format_address(*listener.socket.getsockname()[:2])

    async def accept(self) -> _End:
        while True:
            try:
                return _SocketEnd(await self._listener.accept())
            except OSError:  # too few descriptors, or a connection that failed before it was accepted
                await trio.sleep(_PAUSE_SECONDS)

    async def connect(self) -> _End:
        return _SocketEnd(await trio.open_tcp_stream(*self._server))

    async def aclose(self) -> None:
        await self._listener.aclose()


class _ChannelFront:
    def __init__(self, listener: Listener, server: str, transport: Transport) -> None:
        self._listener = listener
        self._server = server
        self._transport = transport
        self.address = listener.address

    async def accept(self) -> _End:
        return _ChannelEnd(await self._listener.accept())

    async def connect(self) -> _End:
        return _ChannelEnd(await self._transport.connect(self._server))

    async def aclose(self) -> None:
        await self._listener.aclose()


_Front: TypeAlias = _SocketFront | _ChannelFront


class _TappedListener(Listener):
    def __init__(self, front: _Front, server: Listener) -> None:
        self._front = front
        self._server = server

    @property
    def address(self) -> str:
        return self._front.address

    async def accept(self) -> Channel:
        return await self._server.accept()

    async def aclose(self) -> None:
        try:
            await self._front.aclose()
        finally:
            await self._server.aclose()


class _Relay:
    """Takes clients in at one listener, and passes each on to the server."""

    def __init__(self, front: _Front, record: Callable[[Traffic], object]) -> None:
        self._front = front
        self._record = record
        self._opened_at = trio.current_time()

    async def run(self) -> None:
        """Relay until the listener is closed, and then what is under way."""
        async with trio.open_nursery() as nursery:
            for number in itertools.count():
                try:
                    client = await self._front.accept()
                except trio.ClosedResourceError:
                    return  # the nursery waits for the connections
                nursery.start_soon(self._connect, number, client)

    async def _connect(self, number: int, client: _End) -> None:
        try:
            server = await self._front.connect()
        except OSError:
            client.close()  # the server no longer listens
            return
        except BaseException:
            client.close()
            raise
        try:
            async with trio.open_nursery() as nursery:
                pump = functools.partial(self._pump, nursery.cancel_scope, number)
                nursery.start_soon(functools.partial(pump, client, server, is_upstream=True))
                nursery.start_soon(functools.partial(pump, server, client, is_upstream=False))
        finally:
            client.close()
            server.close()

    async def _pump(
        self,
        whole: trio.CancelScope,
        number: int,
        source: _End,
        sink: _End,
        *,
        is_upstream: bool,
    ) -> None:
        """Forward one direction until it ends.

        If the source fails, both directions end at once. If the sink fails, only this direction ends: what that side
        sent before is still forwarded in the other direction, until its end.
        """
        while True:
            try:
                pieces = await source.read()
            except (trio.BrokenResourceError, trio.ClosedResourceError, RemoteProtocolError):
                whole.cancel()
                return
            for piece in pieces:
                self._note(number, is_upstream=is_upstream, num_bytes=source.size_of(piece))
            try:
                if pieces:
                    await sink.write(pieces)
                    continue
                self._note(number, is_upstream=is_upstream, num_bytes=0)
                await sink.finish()
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            return

    def _note(self, number: int, *, is_upstream: bool, num_bytes: int) -> None:
        self._record(Traffic(trio.current_time() - self._opened_at, number, is_upstream, num_bytes))
